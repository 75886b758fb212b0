// The conductor's hands: each effect is carried out only after the record that asks for it is
// durable, and its answer comes back as an event stamped with that record's epoch.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/conductor/error_facts.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/plan.h"

namespace reclaim {
namespace {

// The specification names a drive's class after its ids; the classes of Cyborg's drivers of today
// say nothing of them.
std::string class_of_cyborg(const Record& record) {
  if (record.resource_class == "CUSTOM_PCI" || record.resource_class == "CUSTOM_SSD") {
    return record.resource_class;
  }
  std::string ids = fmt::format("CUSTOM_NVME_{}_{}", record.vendor_id, record.product_id);
  std::transform(ids.begin(), ids.end(), ids.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return ids;
}

}  // namespace

void Conductor::answer(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
                       Facts facts) {
  post(address, Event{trigger, epoch, std::move(facts)});
}

void Conductor::answer_later(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
                             Facts facts) {
  ports_.timers.after(backoff(address), [this, address, epoch, trigger, facts] {
    answer(address, epoch, trigger, facts);
  });
}

void Conductor::carry_out(const PciAddress& address, EffectKind effect) {
  const std::uint64_t epoch = devices_.at(address).record.epoch;
  switch (effect) {
    case EffectKind::none:
      return;
    case EffectKind::claim:
      return take_lock_and_claim(address, epoch);
    case EffectKind::recheck:
      return recheck(address, epoch);
    case EffectKind::run_step:
      return run_step(address, epoch);
    case EffectKind::take_baseline:
      return take_baseline(address, epoch);
    case EffectKind::erase:
      return erase(address, epoch);
    case EffectKind::verify:
      return verify(address, epoch);
    case EffectKind::restore_driver:
      return restore_driver(address, epoch);
    case EffectKind::look:
      return look(address, epoch);
    case EffectKind::release:
      return release(address, epoch);
    case EffectKind::confirm:
      return confirm(address, epoch);
    case EffectKind::finish:
      return finish(address);
    case EffectKind::drop:
      return drop(address);
    case EffectKind::reserve:
      return reserver_.reserve(address, devices_.at(address).record.provider);
  }
}

// -------------------------------------------------------------------------------------------------
// Lock and claim.

void Conductor::take_lock_and_claim(const PciAddress& address, std::uint64_t epoch) {
  locks_.take(address, epoch, [this, address, epoch](Status taken) {
    if (!taken) return answer(address, epoch, Trigger::lock_refused, said(taken.error()));
    claim(address, epoch);
  });
}

std::optional<nvme::ClaimRequest> Conductor::claim_request(const Record& record) const {
  nvme::ClaimRequest request;
  request.address = record.address;
  request.resource_class = record.resource_class;
  request.expected_serial = record.serial;
  const auto policy = policy_of(record);
  if (!policy) return std::nullopt;
  request.resource_class_override = policy->resource_class;
  if (!policy->resource_class && record.flow == Flow::cyborg) {
    request.resource_class_override = class_of_cyborg(record);
  }
  request.shared_subsystem_allowed = policy->shared_subsystem_allowed;
  request.managed = policy->managed;
  request.rules = policy->rules;
  return request;
}

// What device_spec and, of one of Cyborg's, its last ARQ say of a device on record.
std::optional<DevicePolicy> Conductor::policy_of(const Record& record) const {
  const auto id = [](const std::string& hex) {
    return static_cast<std::uint16_t>(std::strtoul(hex.c_str(), nullptr, 16));
  };
  auto policy =
      policies_.device_policy(id(record.vendor_id), id(record.product_id), record.address);
  if (policy) policy = as_bound(*policy, record);
  return policy;
}

void Conductor::claim(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  const auto request = claim_request(device.record);
  const auto policy = policy_of(device.record);
  if (!request || !policy) {
    return answer(address, epoch, Trigger::guards_wait, said("no device_spec entry matches it"));
  }
  device.claimed = true;
  device.lane_open = true;
  ports_.drives.claim(
      *request, [this, address, epoch, policy = *policy](Result<nvme::ClaimReport> report) {
        if (stopping_) return;
        if (!report) {
          const bool settled_by_operator = report.error().code == Errc::failed;
          return answer(address, epoch,
                        settled_by_operator ? Trigger::guards_failed : Trigger::guards_wait,
                        said(report.error()));
        }
        claimed(address, epoch, policy, *report);
      });
}

void Conductor::claimed(const PciAddress& address, std::uint64_t epoch, const DevicePolicy& policy,
                        const nvme::ClaimReport& report) {
  for (const nvme::GuardFinding& finding : report.findings) {
    ports_.log.info("reclaim.guards",
                    fmt::format("{} {}: {}", to_string(address), finding.guard,
                                finding.passed ? "passed" : "refused"),
                    {{"detail", finding.detail}});
  }
  Facts facts = said(fmt::format("{} guards passed", report.findings.size()));
  const auto& identity = report.facts.identity;
  if (identity) {
    facts.model = identity->model;
    facts.serial = identity->serial;
    facts.firmware = identity->firmware;
  }
  Device& device = devices_.at(address);
  device.found = found_drive(report.facts);
  const Status accepted =
      is_the_accepted_one(report.facts, device.record, context_.on_ledger(address));
  if (!accepted) return answer(address, epoch, Trigger::guards_failed, said(accepted.error()));
  const Status ours = is_nobody_elses(report.facts, device.record, ports_.ledger.entries());
  if (!ours) return answer(address, epoch, Trigger::guards_failed, said(ours.error()));
  note_claimed(report.facts, facts);
  // What an unmanaged drive can is only known now that it is open.
  if (!is_whole(device.record.plan)) {
    const auto method =
        identity ? policies_.choose_method(policy, identity->capabilities)
                 : Result<nvme::EraseMethod>(Error{Errc::failed, "it does not say what it can"});
    if (!method) return answer(address, epoch, Trigger::guards_failed, said(method.error()));
    facts.plan = make_plan(*method, options_);
    device.permitted = *method;
  } else {
    const auto locked = erase_of(device.record.plan);
    CHECK(locked);
    const Status allowed =
        identity ? check_method(policy, policies_.choose_method, identity->capabilities, *locked)
                 : Status(Error{Errc::failed, "it does not say what it can"});
    if (!allowed) return answer(address, epoch, Trigger::guards_failed, said(allowed.error()));
    device.permitted = *locked;
  }
  answer(address, epoch, Trigger::guards_passed, std::move(facts));
}

// Stops what runs, closes the drive, then gives the lock back: in this order, so that nobody else
// can begin while a descriptor of ours is open.
void Conductor::drop(const PciAddress& address) {
  Device& device = devices_.at(address);
  const LockToken lock = locks_.let_go(address);
  device.claimed = false;
  device.release_view.reset();
  ports_.drives.stop(address);
  ports_.drives.drop(address, [this, address, lock] {
    Device& now = devices_.at(address);
    if (!now.claimed) now.lane_open = false;
    if (lock.token != 0) locks_.give_back(address, lock);
    if (!stopping_) lane_is_free();
  });
}

// The first cleaning after a start writes what it read, reserved = total: the write succeeds only
// if nothing has moved since admission, and moves the generation itself, so that a release which
// an earlier worker sent and nobody saw answered can never be made any more.
void Conductor::recheck(const PciAddress& address, std::uint64_t epoch) {
  ask_cyborg_once_more(address, epoch,
                       [this, address, epoch] { recheck_placement(address, epoch); });
}

void Conductor::recheck_placement(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  const auto admitted = std::exchange(device.admitted_view, std::nullopt);
  const auto decide = [this, address, epoch](Result<placement::ProviderView> view) {
    if (!context_.is_stale(address, epoch)) rechecked(address, epoch, std::move(view));
  };
  if (device.fence && admitted && admitted->uuid == device.record.provider) {
    return raise_fence(address, *admitted, decide);
  }
  ports_.providers.read(device.record.provider, decide);
}

void Conductor::rechecked(const PciAddress& address, std::uint64_t epoch,
                          Result<placement::ProviderView> view) {
  if (!view) {
    if (away(view.error()) || view.error().code == Errc::conflict) {
      return answer_later(address, epoch, Trigger::placement_away, said(view.error()));
    }
    return answer(address, epoch, Trigger::placement_changed, said(view.error()));
  }
  if (!view->free()) {
    Facts facts = said(fmt::format("consumer {}", view->consumers.front()));
    facts.name_tenant(view->consumers.front(), InstanceSource::allocation);
    return answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  }
  if (!view->burned()) {
    return answer(address, epoch, Trigger::placement_changed, said("not burned any more"));
  }
  Device& device = devices_.at(address);
  if (device.fence) {
    return raise_fence(address, *view,
                       [this, address, epoch](Result<placement::ProviderView> fenced) {
                         if (context_.is_stale(address, epoch)) return;
                         rechecked(address, epoch, std::move(fenced));
                       });
  }
  // Only a sanitize goes on without us; of any other method there is nothing to adopt.
  const auto method = erase_of(device.record.plan);
  device.adopting = device.record.erase_begun && method && nvme::is_sanitize(*method);
  answer(address, epoch, device.adopting ? Trigger::still_burned_adopt : Trigger::still_burned);
}

void Conductor::raise_fence(const PciAddress& address, const placement::ProviderView& view,
                            std::function<void(Result<placement::ProviderView>)> done) {
  CHECK(view.burned());
  ports_.providers.set_reserved(
      view, view.inventories.front().total,
      [this, address, done = std::move(done)](Result<placement::ProviderView> after) {
        if (stopping_) return;
        if (after) devices_.at(address).fence = devices_.at(address).fence_first = false;
        done(std::move(after));
      });
}

// Of a device at rest that is not known to be clean: the write of an earlier worker may come when
// somebody has put another drive there, or while it waits for an operator.
void Conductor::raise_fence_first(const PciAddress& address, const placement::ProviderView& view) {
  Device& device = devices_.at(address);
  const bool at_rest = device.record.cleanable() && !is_busy(device.record.stage);
  if (device.fencing || !at_rest || !view.burned() || !view.free()) return;
  device.fencing = true;
  raise_fence(address, view, [this, address](Result<placement::ProviderView> after) {
    Device& now = devices_.at(address);
    now.fencing = false;
    if (!after) return want_survey(backoff(address));
    if (now.sighting) now.sighting->view = std::move(after).value();
    try_admit(address);
  });
}

}  // namespace reclaim
