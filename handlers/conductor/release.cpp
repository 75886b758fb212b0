#include "handlers/conductor/release.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/evidence.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

// A drive answers in milliseconds. Where it takes longer, or the process was frozen meanwhile, the
// answer tells of a moment that is gone, and a tenant may have come since.
constexpr std::int64_t kLastAnswerMaxMs = 10'000;

// The drive's counters when it was verified. Another device counts nothing.
Result<nvme::Counters> counters_since(const Record& record) {
  return record.by_steps ? nvme::Counters{} : counters_of_verification(record.verification);
}

// True if the drive of that certificate was written to since it was verified.
bool was_written_since(const Certificate& certificate, const PciAddress& address,
                       const std::vector<nvme::DriveFacts>& drives) {
  const auto verified = counters_of_verification(certificate.verification);
  return verified && std::any_of(drives.begin(), drives.end(), [&](const nvme::DriveFacts& drive) {
           return drive.address == address && drive.identity && !certificate.serial.empty() &&
                  drive.identity->serial == certificate.serial && drive.counters &&
                  drive.counters->host_writes > verified->host_writes;
         });
}

}  // namespace

void Release::look(const PciAddress& address, std::uint64_t epoch) {
  kept_.look_when_due(address, epoch);
}

void Release::look_now(const PciAddress& address, std::uint64_t epoch) {
  const auto since = counters_since(context_.record_of(address));
  if (!since) return context_.answer(address, epoch, Trigger::look_changed, said(since.error()));
  context_.ports.drives.still_ours(
      address, *since, [this, address, epoch](Result<nvme::Counters> now) {
        if (context_.is_stale(address, epoch)) return;
        if (!now && now.error().code == Errc::busy) {
          return kept_.withhold(address, epoch,
                                {now.error().what, Trigger::placement_changed, true});
        }
        if (!now) return context_.answer(address, epoch, Trigger::look_changed, said(now.error()));
        const auto maintaining = [this, address, epoch](const std::string& why) {
          kept_.withhold(address, epoch, {why, Trigger::placement_changed, true});
        };
        arqs_.ask_once_more(address, epoch, maintaining,
                            [this, address, epoch] { look_at_placement(address, epoch); });
      });
}

void Release::look_at_placement(const PciAddress& address, std::uint64_t epoch) {
  const std::string provider = context_.record_of(address).provider;
  const auto seen = [this, address, epoch](Result<placement::ProviderView> view) {
    if (context_.is_stale(address, epoch)) return;
    if (!view) {
      // Only a provider that is gone is a change; a refusal (a role, a proxy) is asked about again,
      // for the drive is clean and the claim holds.
      if (view.error().code != Errc::not_found) {
        return context_.answer_later(address, epoch, Trigger::placement_away, said(view.error()));
      }
      const KeptErase::Reason gone{"its provider is gone from Placement"};
      return kept_.find_provider(address, epoch, gone, [this, address, epoch, gone] {
        kept_.withhold(address, epoch, gone);
      });
    }
    looked(address, epoch, std::move(view).value());
  };
  const auto known = recheck_.take_view(address);
  if (!known || known->uuid != provider) return context_.ports.providers.read(provider, seen);
  context_.ports.providers.read_again(*known, seen);
}

void Release::looked(const PciAddress& address, std::uint64_t epoch, placement::ProviderView view) {
  const Record& record = context_.record_of(address);
  const bool withheld = KeptErase::is_withheld(record);
  if (!view.free()) {
    Facts facts = said(fmt::format("consumer {}", view.consumers.front()));
    // While it was waited for somebody un-reserved it, and so it was taken: nothing went wrong
    // here.
    if (withheld) return context_.answer(address, epoch, Trigger::look_changed, std::move(facts));
    facts.name_tenant(view.consumers.front(), InstanceSource::allocation);
    return context_.answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  }
  if (view.is_device() && view.inventories.front().resource_class != record.resource_class) {
    return context_.answer(address, epoch, Trigger::placement_changed,
                           said("its inventory has another resource class"));
  }
  if (!view.burned()) return kept_.withhold(address, epoch, {"not burned any more"});
  if (!withheld) return look_is_ok(address, epoch, std::move(view));
  // Whoever made its provider again may have made it for another owner.
  kept_.find_provider(
      address, epoch, {"its provider's traits do not name its owner"},
      [this, address, epoch, view = std::move(view)] { look_is_ok(address, epoch, view); });
}

void Release::look_is_ok(const PciAddress& address, std::uint64_t epoch,
                         placement::ProviderView view) {
  if (arqs_.is_bound_meanwhile(address, epoch)) return;
  // A PUT that was sent for the provider before this one must not be made to it.
  if (KeptErase::is_withheld(context_.record_of(address)) && fence_.is_needed(address)) {
    return fence_.raise(
        address, view, [this, address, epoch](Result<placement::ProviderView> fenced) {
          if (context_.is_stale(address, epoch)) return;
          if (fenced) return looked(address, epoch, std::move(fenced).value());
          context_.answer_later(address, epoch, Trigger::placement_away, said(fenced.error()));
        });
  }
  Facts facts;
  facts.release_generation = view.generation;
  views_[address] = std::move(view);
  context_.answer(address, epoch, Trigger::look_ok, std::move(facts));
}

void Release::begin(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto view = views_.find(address);
  sent_[address] = false;
  // Decided in `looking`, checked again where it is made: what is PUT is what was looked at, the
  // lock is ours, and an erasure and its verification stand in the record.
  CHECK(record.stage == Stage::releasing);
  CHECK(view != views_.end() && view->second.burned() && view->second.free());
  CHECK(view->second.uuid == record.provider);
  CHECK(locks_.holds(address) && !record.evidence.empty() && !record.verification.empty());
  const LedgerEntry* known = context_.on_ledger(address);
  CHECK(known != nullptr && !record.cleaning_nonce.empty() &&
        known->cleaning.nonce == record.cleaning_nonce);
  const auto method = erase_of(record.plan);
  if (record.by_steps) {
    CHECK(!method && is_whole_function_plan(record.plan));
  } else {
    CHECK(method && claims_.permitted(address) == *method);
  }
  const Status fit = is_fit_by(record.verification);
  if (judges_health(record.plan) && !fit) {
    views_.erase(view);
    return context_.answer(address, epoch, Trigger::release_refused, said(fit.error()));
  }
  if (!retirement_of(context_.ports.ledger.entries(), record).empty()) {
    views_.erase(view);
    return context_.answer(address, epoch, Trigger::release_refused,
                           said("an operator has retired it: `reclaim device clean` it"));
  }
  // The findings are a drive's words: that a step is missing there is an error, and no fault of
  // this program's.
  const std::string missing = uncovered_step(record.plan, known->cleaning.findings);
  if (!missing.empty()) {
    views_.erase(view);
    return context_.answer(
        address, epoch, Trigger::release_refused,
        said(fmt::format("the ledger has no finding of {}: `reclaim device clean` it", missing)));
  }
  // From here on the drive may become somebody else's. Should Redis lose what follows and remember
  // the erasure, the ledger tells that it is of an earlier life: it is not adopted any more.
  LedgerEntry entry = ledger_.dirty_entry(record, erased_at(record));
  entry.cleaning.baseline_digest.clear();
  entry.certificate_pending = encode_certificate(certificate_to_be(record));
  entry.release_generation = record.release_generation;
  entry.fence_generation = -1;
  // An operator's order ended it, or the record would say so; the ledger may not have heard.
  entry.error = entry.aborted = false;
  // A reservation of ours ends with the release. What is reserved from then on may be an
  // operator's, or ours again.
  if (!entry.maintenance) {
    entry.taken_out = false;
    entry.asked = {};
  }
  ledger_.put(address, entry, [this, address, epoch](Status kept) {
    if (context_.is_stale(address, epoch)) return;
    // A full disk may have kept us longer than the lock stood.
    if (!locks_.holds(address)) return context_.answer(address, epoch, Trigger::lock_lost);
    if (kept) return ask_the_drive(address, epoch);
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the ledger cannot be written, not given back", to_string(address)),
        {{"why", kept.error().what}});
    context_.ports.timers.after(context_.options.retry_max_ms, [this, address, epoch] {
      if (context_.is_stale(address, epoch)) return;
      if (!locks_.holds(address)) return context_.answer(address, epoch, Trigger::lock_lost);
      begin(address, epoch);
    });
  });
}

// The certificate as it will be sealed, should the release come about.
Certificate Release::certificate_to_be(const Record& record) const {
  Record released = record;
  released.certificate_id = context_.policies.make_id();
  released.certificate_at =
      std::max({context_.ports.clock.now().wall, record.tenancy_seen_at, erased_at(record)});
  return certificate_of(released, context_.options.version);
}

// The certificate that the release under way, or read back, will have or has; none: the ledger
// knows of no such release, whatever Redis says.
std::optional<Certificate> Release::certificate_asked_for(const Record& record) const {
  return release_asked_for(context_.on_ledger(record.address), record);
}

// Its id; empty: there is none.
std::string Release::certificate_of_release(const Record& record) const {
  const auto certificate = certificate_asked_for(record);
  return certificate ? certificate->id : std::string();
}

// Making the record and the ledger durable may have taken long: the drive is asked once more, right
// before.
void Release::ask_the_drive(const PciAddress& address, std::uint64_t epoch) {
  const auto since = counters_since(context_.record_of(address));
  CHECK(since);
  const MonoMs asked = context_.ports.clock.now().mono;
  context_.ports.drives.still_ours(
      address, *since, [this, address, epoch, asked](Result<nvme::Counters> now) {
        if (context_.is_stale(address, epoch)) return;
        if (!now)
          return context_.answer(address, epoch, Trigger::release_conflict, said(now.error()));
        const std::int64_t took_ms = context_.ports.clock.now().mono.ms - asked.ms;
        if (took_ms > kLastAnswerMaxMs) {
          return context_.answer(address, epoch, Trigger::release_conflict,
                                 said(fmt::format("the drive's answer took {} s", took_ms / 1000)));
        }
        put(address, epoch);
      });
}

// True if Cyborg's agent un-reserves the device. Of Cyborg's devices alone: the agent of a Cyborg
// that has the specification does it after each cleaning, and today's does it when it is told of a
// device for the first time.
bool Release::is_agents_to_unreserve(const Record& record) const {
  return record.flow == Flow::cyborg &&
         (record.handed_over || context_.options.cyborg_owner == CyborgOwner::agent);
}

void Release::put(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  if (!locks_.holds(address)) return context_.answer(address, epoch, Trigger::lock_lost);
  if (const auto arq = arqs_.binding_of(record)) {
    views_.erase(address);
    return context_.answer(address, epoch, Trigger::release_conflict, said("ARQ " + arq->uuid));
  }
  if (const std::string why = cyborg_.why_withheld(record); !why.empty()) {
    views_.erase(address);
    return context_.answer(address, epoch, Trigger::release_conflict, said(why));
  }
  if (is_agents_to_unreserve(record)) {
    return hand_over(address, epoch);
  }
  const placement::ProviderView view = views_.extract(address).mapped();
  sent_[address] = true;
  fence_.put(address, view, 0, [this, address, epoch](Result<placement::ProviderView> after) {
    if (context_.is_stale(address, epoch)) return;
    if (after) return released(address, epoch, Trigger::released, said("reserved 1 -> 0"));
    const Error& error = after.error();
    switch (error.code) {
      case Errc::conflict:  // somebody wrote before ours, or right after it: a read tells which
      case Errc::not_found:
        return context_.answer(address, epoch, Trigger::release_conflict, said(error));
      case Errc::unavailable:
        return context_.answer_later(address, epoch, Trigger::release_conflict, said(error));
      case Errc::refused:
        return context_.answer(address, epoch, Trigger::release_refused, said(error));
      default:
        return context_.answer(address, epoch, Trigger::release_unknown, said(error));
    }
  });
}

// Reads the provider once more: the last look may be long ago by now, for the ledger, or Redis, was
// away, and nothing that is written would be refused for it.
void Release::hand_over(const PciAddress& address, std::uint64_t epoch) {
  views_.erase(address);
  context_.ports.providers.read(
      context_.record_of(address).provider,
      [this, address, epoch](const Result<placement::ProviderView>& view) {
        if (context_.is_stale(address, epoch)) return;
        if (!view) {
          return context_.answer_later(address, epoch, Trigger::release_conflict,
                                       said(view.error()));
        }
        const bool stands = view->burned() && view->free() &&
                            view->generation == context_.record_of(address).release_generation;
        if (stands) return released(address, epoch, Trigger::handed_over, said("reserved stays 1"));
        context_.answer(address, epoch, Trigger::release_conflict,
                        said("its provider was written to since the last look"));
      });
}

void Release::released(const PciAddress& address, std::uint64_t epoch, Trigger how, Facts facts) {
  // The next instance may come at once, and must not find the drive open because Redis is slow to
  // take the record. The lock stays until it did.
  claims_.close(address, [] {});
  facts.certificate_id = certificate_of_release(context_.record_of(address));
  CHECK(!facts.certificate_id->empty());
  if (const auto counters = counters_of_verification(context_.record_of(address).verification)) {
    facts.host_reads = counters->host_reads;
    facts.host_writes = counters->host_writes;
  }
  count_ += 1;
  context_.answer(address, epoch, how, std::move(facts));
}

void Release::confirm(const PciAddress& address, std::uint64_t epoch) {
  const std::string provider = context_.record_of(address).provider;
  context_.ports.providers.read(
      provider, [this, address, epoch](Result<placement::ProviderView> view) {
        if (context_.is_stale(address, epoch)) return;
        if (view) return confirmed(address, epoch, *view, view->generation);
        if (view.error().code == Errc::not_found) {
          return kept_.withhold(address, epoch, {view.error().what});
        }
        context_.answer_later(address, epoch, Trigger::placement_away, said(view.error()));
      });
}

// `generation`: as it was read first, before a write of this worker's fence moved it.
void Release::confirmed(const PciAddress& address, std::uint64_t epoch,
                        const placement::ProviderView& view, std::int64_t generation) {
  // A record of an older cleaning, that Redis took back or somebody put back, proves nothing of
  // what came after it.
  const bool outdated = certificate_of_release(context_.record_of(address)).empty();
  if (!view.free()) {
    Facts facts = said(fmt::format("consumer {}", view.consumers.front()));
    if (!outdated) return released(address, epoch, Trigger::released_taken, std::move(facts));
    facts.name_tenant(view.consumers.front(), InstanceSource::allocation);
    return context_.answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  }
  if (!view.is_device()) {
    return kept_.withhold(address, epoch, {"its inventory changed"});
  }
  if (!view.burned()) {
    if (outdated) {
      return context_.answer(address, epoch, Trigger::placement_changed,
                             said("the ledger knows of no release of this erasure"));
    }
    if (fence_.may_be_reserved(address, view)) return overtake(address, epoch, view);
    return released(address, epoch, Trigger::released, said("reserved = 0, read back"));
  }
  // A write that was not made yet may be made later: it is fenced first.
  if (fence_.is_needed(address)) {
    return fence_.raise(
        address, view, [this, address, epoch, generation](Result<placement::ProviderView> fenced) {
          if (context_.is_stale(address, epoch)) return;
          if (fenced) return confirmed(address, epoch, *fenced, generation);
          context_.answer_later(address, epoch, Trigger::placement_away, said(fenced.error()));
        });
  }
  ask_the_claim(address, epoch, trace_of_put(context_.record_of(address), generation));
}

// Another hand released it, and a reservation of ours is on its way, as which it would stay for
// nothing: it is reserved by one more, and released as from the last look. Where this worker may
// not write, neither was the one before.
void Release::overtake(const PciAddress& address, std::uint64_t epoch,
                       const placement::ProviderView& view) {
  context_.ports.log.info(
      log_name::kConductor,
      fmt::format("{} is un-reserved by another hand, and a reservation of this worker's may still "
                  "come: it is reserved and released once more",
                  to_string(address)));
  sent_[address] = true;  // whoever got it meanwhile is asked about, as after a release of ours
  const auto overtaken = [this, address, epoch, generation = view.generation](
                             const Result<placement::ProviderView>& fenced) {
    if (context_.is_stale(address, epoch)) return;
    if (fenced) return confirmed(address, epoch, *fenced, generation);
    if (fenced.error().code == Errc::refused) {
      return released(address, epoch, Trigger::released, said("reserved = 0, read back"));
    }
    context_.answer_later(address, epoch, Trigger::placement_away, said(fenced.error()));
  };
  fence_.put(address, view, view.inventories.front().total, overtaken);
}

// A write moves the generation. That of a provider of Cyborg's, which gets the same UUID when it is
// made anew, may come to where it was.
Release::Trace Release::trace_of_put(const Record& record, std::int64_t generation) const {
  const auto sent = sent_.find(record.address);
  if (sent != sent_.end() && !sent->second) return Trace::unmade;
  if (record.release_generation < 0) return Trace::none;
  if (!shows_no_release(context_.on_ledger(record.address), record, generation)) {
    return Trace::written;
  }
  return record.flow == Flow::nova ? Trace::unmade : Trace::none;
}

// Reserved, and no release of ours can change that any more. It may have been released and reserved
// again since: whoever had it broke the claim.
void Release::ask_the_claim(const PciAddress& address, std::uint64_t epoch, Trace trace) {
  const auto since = counters_since(context_.record_of(address));
  if (!since || !claims_.is_claimed(address) || !locks_.holds(address)) {
    return claim_is_gone(address, epoch, trace, {});
  }
  context_.ports.drives.still_ours(
      address, *since, [this, address, epoch, trace](const Result<nvme::Counters>& now) {
        if (context_.is_stale(address, epoch)) return;
        if (now) return context_.answer(address, epoch, Trigger::still_reserved);
        claim_is_gone(address, epoch, trace, said(now.error()));
      });
}

// The provider was written to since the release was asked for, and the drive since it was verified:
// it was released, and somebody had it. A generation that moved shows nothing by itself, for others
// write the provider too.
void Release::claim_is_gone(const PciAddress& address, std::uint64_t epoch, Trace trace,
                            Facts facts) {
  const Record& record = context_.record_of(address);
  if (trace != Trace::written || !record.is_drive() || !certificate_asked_for(record)) {
    return start_over(address, epoch, trace, std::move(facts));
  }
  // Its counters are read where nothing of ours has it open.
  claims_.close(address, [this, address, epoch, facts = std::move(facts)] {
    if (context_.is_stale(address, epoch)) return;
    context_.ports.drives.discover(
        {}, [this, address, epoch, facts](const Result<std::vector<nvme::DriveFacts>>& drives) {
          if (context_.is_stale(address, epoch)) return;
          const auto certificate = certificate_asked_for(context_.record_of(address));
          if (!drives || !certificate || !was_written_since(*certificate, address, *drives)) {
            return start_over(address, epoch, Trace::none, facts);
          }
          released(address, epoch, Trigger::released_unseen,
                   said("the drive was written to since it was verified"));
        });
  });
}

// Nobody can have had it since only where the PUT was not made.
void Release::start_over(const PciAddress& address, std::uint64_t epoch, Trace trace, Facts facts) {
  const Record& record = context_.record_of(address);
  if (trace == Trace::unmade) {
    facts.name_tenant(record.instance, record.instance_source);
    facts.request_id = record.request_id;
  }
  context_.answer(address, epoch, Trigger::look_changed, std::move(facts));
}

}  // namespace reclaim
