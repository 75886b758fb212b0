// The conductor's ear for Cyborg: ARQs by notification and from Cyborg's API, what binds a device,
// and the specification's invariant between device state and reservation. None of it carries
// authority to touch a drive; all of it can keep one from being touched or given back.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/conductor/error_facts.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.cyborg";
// What is Cyborg's waits this long for its API; a later answer counts for the next survey.
constexpr std::int64_t kCyborgWaitMs = 3'000;

bool deletes_an_instance(std::string_view event_type) {
  return event_type == "instance.delete.end" || event_type == "compute.instance.delete.end";
}

}  // namespace

// Which devices an ARQ may bind: those on record, and those that this survey is about to assess for
// the first time. Before one has gone through, anything may be here.
void Conductor::know_cyborg_devices(const Survey& survey) {
  std::vector<ArqDevice> devices;
  for (const auto& [address, device] : devices_) {
    if (device.record.flow == Flow::cyborg) devices.push_back({address, device.record.provider});
  }
  for (const auto& [address, sighting] : survey.sightings) {
    for (const placement::ProviderRow& row : sighting.rows) {
      if (row.owner_cyborg) devices.push_back({address, row.uuid});
    }
  }
  has_cyborg_ = ports_.accelerators != nullptr || !devices.empty();
  if (!arqs_.know_devices(std::move(devices), survey_began_)) return;
  save_arqs();
  stop_what_is_bound();
}

void Conductor::hear_arq(const Kick& kick) {
  const Now now = ports_.clock.now();
  bool changed = deletes_an_instance(kick.reason) && arqs_.instance_deleted(kick.instance, now);
  if (!kick.arq.empty()) {
    auto arq = decode_arq(kick.arq);
    if (!arq) {
      ports_.log.warning(kLog, fmt::format("{}: its ARQ cannot be read", kick.reason),
                         {{"why", arq.error().what}});
    } else {
      changed = arqs_.hear(kick.reason, *std::move(arq), now) || changed;
    }
  }
  if (!changed) return;
  save_arqs();
  stop_what_is_bound();
}

// Whoever got a device that is being cleaned must not lose what he writes to it. At the release
// itself the last look, or the next survey, finds it.
void Conductor::stop_what_is_bound() {
  for (auto& [address, device] : devices_) {
    const Stage stage = device.record.stage;
    if (!is_busy(stage) || stage == Stage::releasing || stage == Stage::confirming) continue;
    const auto arq = binding_of(device);
    if (!arq) continue;
    Facts facts = said(fmt::format("ARQ {} binds it", arq->uuid));
    facts.arq = arq->uuid;
    facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
    ports_.log.error(kLog, fmt::format("{} is being cleaned, and ARQ {} binds it",
                                       to_string(address), arq->uuid));
    post(address, Event{Trigger::allocation_seen, 0, std::move(facts)});
  }
}

// Of a device that Placement showed free when its cleaning began, and since.
std::optional<Arq> Conductor::binding_of(const Device& device) const {
  if (device.record.flow != Flow::cyborg) return std::nullopt;
  return arqs_
      .about({device.record.address, device.record.provider, true, device.record.consumer(),
              ports_.clock.now().mono})
      .holder;
}

// Where either the ARQ that bound it or the configuration says that libvirt does not rebind it, the
// drive is to be taken from where it stands.
DevicePolicy Conductor::as_bound(DevicePolicy policy, const Record& record) {
  if (record.flow == Flow::cyborg && !record.arq.empty() && !record.managed) policy.managed = false;
  return policy;
}

// -------------------------------------------------------------------------------------------------
// Cyborg's API.

// Beside the survey of Nova's devices, and never in its way: only what is Cyborg's waits for the
// answer. One that is slow is not asked twice at a time, and not waited for long.
void Conductor::ask_cyborg() {
  if (ports_.accelerators == nullptr || cyborg_asked_) return;
  cyborg_asked_ = cyborg_awaited_ = true;
  const std::uint64_t ask = ++cyborg_asks_;
  const MonoMs asked_at = ports_.clock.now().mono;
  ports_.timers.after(kCyborgWaitMs, [this, ask] {
    if (stopping_ || ask != cyborg_asks_ || !cyborg_asked_) return;
    cyborg_.reset();
    cyborg_settled();
  });
  ports_.accelerators->read({options_.host, options_.node_names},
                            [this, asked_at](Result<placement::CyborgView> view) {
                              cyborg_asked_ = false;
                              if (stopping_) return;
                              cyborg_answered(std::move(view), asked_at);
                              cyborg_settled();
                            });
}

void Conductor::cyborg_settled() {
  cyborg_awaited_ = false;
  assess_cyborgs();
}

void Conductor::assess_cyborgs() {
  for (const auto& [address, sighting] : std::exchange(cyborgs_, {})) {
    assess_one(sighting, cyborgs_epochs_);
  }
  carry_out_orders();
  watch_.attend();
}

bool Conductor::waits_for_cyborg(const Sighting& sighting) {
  if (!cyborg_awaited_) return false;
  const Device* device = find(sighting.address);
  return (device != nullptr && device->record.flow == Flow::cyborg) ||
         std::any_of(sighting.rows.begin(), sighting.rows.end(),
                     [](const placement::ProviderRow& row) { return row.owner_cyborg; });
}

void Conductor::cyborg_answered(Result<placement::CyborgView> view, MonoMs asked_at) {
  if (!view) {
    cyborg_.reset();
    ports_.log.warning(kLog, "Cyborg's API does not answer: what Cyborg owns is not cleaned",
                       {{"why", view.error().what}});
    return;
  }
  cyborg_ = std::move(view).value();
  if (!arqs_.reconcile(cyborg_->arqs, asked_at, ports_.clock.now())) return;
  save_arqs();
  stop_what_is_bound();
}

const placement::CyborgDevice* Conductor::device_of(const placement::CyborgView& view,
                                                    const PciAddress& address,
                                                    const std::string& provider) {
  const placement::CyborgDevice* found = nullptr;
  for (const placement::CyborgDevice& device : view.devices) {
    const bool it_is =
        device.address == address || (!provider.empty() && device.provider == provider);
    if (!it_is) continue;
    if (device.status == kMaintaining) return &device;  // of two drivers, whichever was disabled
    if (found == nullptr) found = &device;
  }
  return found;
}

// Why a device of Cyborg's must be left as it is, as far as Cyborg's last answer goes; empty: no
// reason. One that did not answer may have been told meanwhile that the device is maintaining.
std::string Conductor::withheld_by_cyborg(const Device& device) const {
  if (device.record.flow != Flow::cyborg || ports_.accelerators == nullptr) return {};
  if (!cyborg_) return "Cyborg's API does not answer";
  const auto* known = device_of(*cyborg_, device.record.address, device.record.provider);
  const bool maintaining = known != nullptr && known->status == kMaintaining;
  return maintaining ? "Cyborg's status of it is maintaining" : "";
}

// A device whose status is `maintaining` is neither touched nor un-reserved, and an administrator
// may have said so since it was admitted. Where Cyborg does not answer, it is asked for as long as
// the claim holds, as Placement is. What was heard of an ARQ while the admission was being recorded
// counts where Cyborg cannot be asked as well.
void Conductor::ask_cyborg_once_more(const PciAddress& address, std::uint64_t epoch,
                                     std::function<void()> next) {
  if (ports_.accelerators == nullptr || devices_.at(address).record.flow != Flow::cyborg) {
    if (bound_meanwhile(address, epoch)) return;
    return next();
  }
  const MonoMs asked_at = ports_.clock.now().mono;
  ports_.accelerators->read(
      {options_.host, options_.node_names},
      [this, address, epoch, asked_at, next = std::move(next)](Result<placement::CyborgView> view) {
        if (stopping_ || stale(address, epoch)) return;
        if (!view) {
          return answer_later(address, epoch, Trigger::placement_away,
                              said(fmt::format("Cyborg's API: {}", view.error().what)));
        }
        const bool news = arqs_.reconcile(view->arqs, asked_at, ports_.clock.now());
        cyborg_ = std::move(view).value();
        const Device& device = devices_.at(address);
        if (news) {  // it may be of another device that is being cleaned
          save_arqs();
          stop_what_is_bound();
          if (binding_of(device)) return;
        }
        if (const std::string why = withheld_by_cyborg(device); !why.empty()) {
          return answer(address, epoch, Trigger::placement_changed, said(why));
        }
        if (bound_meanwhile(address, epoch)) return;
        next();
      });
}

bool Conductor::bound_meanwhile(const PciAddress& address, std::uint64_t epoch) {
  const auto arq = binding_of(devices_.at(address));
  if (!arq) return false;
  Facts facts = said("ARQ " + arq->uuid);
  facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
  answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  return true;
}

// -------------------------------------------------------------------------------------------------
// What a survey adds.

bool Conductor::is_ours(const Sighting& sighting) const {
  if (!sighting.drive) return false;
  if (sighting.is_drive()) {
    return policies_
        .device_policy(sighting.drive->vendor_id, sighting.drive->device_id, sighting.address)
        .has_value();
  }
  return policies_.whitelist && policies_.whitelist(sighting.drive->vendor_id,
                                                    sighting.drive->device_id, sighting.address);
}

bool Conductor::is_managed(const Sighting& sighting) const {
  if (!sighting.drive) return true;
  const auto policy = policies_.device_policy(sighting.drive->vendor_id, sighting.drive->device_id,
                                              sighting.address);
  return !policy || policy->managed;
}

void Conductor::know_of_cyborg(Sighting& sighting, const Record* record) {
  const bool one_row = sighting.rows.size() == 1;
  const bool cyborg = (one_row && sighting.rows.front().owner_cyborg) ||
                      (record != nullptr && record->flow == Flow::cyborg);
  if (sighting.drive) sighting.ours = is_ours(sighting);
  if (!cyborg) return;
  ArqQuestion question{sighting.address, one_row ? sighting.rows.front().uuid : "", false,
                       record == nullptr ? "" : record->consumer(), survey_began_};
  question.free = sighting.view && sighting.view->free();
  if (sighting.view && !sighting.view->free()) {
    question.consumers = sighting.view->consumers;
    arqs_.allocation_seen(question);
    save_arqs();
  }
  DeviceArqs arqs = arqs_.about(question);
  sighting.holder = std::move(arqs.holder);
  sighting.ended = std::move(arqs.ended);
  if (ports_.accelerators == nullptr) {
    sighting.cyborg_status = "";
  } else if (cyborg_) {
    const auto* device = device_of(*cyborg_, sighting.address, question.provider);
    sighting.cyborg_status = device == nullptr ? "" : device->status;
  } else {
    sighting.cyborg_silent = true;
  }
}

// Told once, until it is another one, or over.
void Conductor::say_mismatch(Device& device, const Assessment& assessment) {
  if (!assessment.alarm.empty()) {
    ports_.log.error(kLog,
                     fmt::format("{}: {}", to_string(device.record.address), assessment.alarm));
  }
  if (device.mismatch_told == assessment.mismatch) return;
  device.mismatch_told = assessment.mismatch;
  if (assessment.mismatch.empty()) return;
  ports_.log.warning(kLog,
                     fmt::format("{}: {}", to_string(device.record.address), assessment.mismatch));
}

// -------------------------------------------------------------------------------------------------
// The book in Redis.

void Conductor::save_arqs() {
  for (const ArqBook::Write& write : arqs_.take_unsaved()) {
    const auto done = [this, uuid = write.uuid](Result<Ok> saved) {
      if (saved || stopping_) return;
      arqs_.not_saved(uuid);  // with the next survey
      ports_.log.warning(kLog, fmt::format("ARQ {} is not written to Redis", uuid),
                         {{"why", saved.error().what}});
    };
    if (write.arq) {
      ports_.store.save_arq(options_.host, *write.arq, done);
    } else {
      ports_.store.remove_arq(options_.host, write.uuid, done);
    }
  }
}

// As mend_store does for the records: Redis may have lost what was written.
void Conductor::mend_arqs() {
  ports_.store.load_arqs(options_.host, [this](Result<std::vector<Arq>> stored) {
    if (!stored || stopping_) return;
    arqs_.compare(*stored);
    save_arqs();
  });
}

}  // namespace reclaim
