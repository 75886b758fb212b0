// The conductor's last steps with a device: look again, give it back, read back what is not known,
// and reserve what cannot be recorded (design §5a and §6).
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/evidence.h"
#include "handlers/survey/plan.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
// A drive answers in milliseconds. Where it takes longer, or the process was frozen meanwhile, the
// answer tells of a moment that is gone, and a tenant may have come since.
constexpr std::int64_t kLastAnswerMaxMs = 10'000;

}  // namespace

void Conductor::look(const PciAddress& address, std::uint64_t epoch) {
  const auto since = counters_of_verification(devices_.at(address).record.verification);
  if (!since) return answer(address, epoch, Trigger::look_changed, said(since.error()));
  ports_.drives.still_ours(address, *since, [this, address, epoch](Result<nvme::Counters> now) {
    if (context_.is_stale(address, epoch)) return;
    if (!now) return answer(address, epoch, Trigger::look_changed, said(now.error()));
    ask_cyborg_once_more(address, epoch,
                         [this, address, epoch] { look_at_placement(address, epoch); });
  });
}

void Conductor::look_at_placement(const PciAddress& address, std::uint64_t epoch) {
  const std::string provider = devices_.at(address).record.provider;
  ports_.providers.read(provider, [this, address, epoch](Result<placement::ProviderView> view) {
    if (context_.is_stale(address, epoch)) return;
    if (!view) {
      // Only a provider that is gone is a change; a refusal (a role, a proxy) is asked about again,
      // for the drive is clean and the claim holds.
      if (view.error().code != Errc::not_found) {
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
    if (bound_meanwhile(address, epoch)) return;
    devices_.at(address).release_view = std::move(view).value();
    answer(address, epoch, Trigger::look_ok);
  });
}

void Conductor::release(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  // Decided in `looking`, checked again where it is made: what is PUT is what was looked at, the
  // lock is ours, and an erasure and its verification stand in the record.
  CHECK(device.record.stage == Stage::releasing);
  CHECK(device.release_view && device.release_view->burned() && device.release_view->free());
  CHECK(device.release_view->uuid == device.record.provider);
  CHECK(locks_.holds(address) && !device.record.evidence.empty() &&
        !device.record.verification.empty());
  const LedgerEntry* known = context_.on_ledger(address);
  CHECK(known != nullptr && !device.record.cleaning_nonce.empty() &&
        known->cleaning.nonce == device.record.cleaning_nonce);
  const auto method = erase_of(device.record.plan);
  CHECK(method && device.permitted == *method);
  // The findings are a drive's words: that a step is missing there is an error, and no fault of
  // this program's.
  const std::string missing = uncovered_step(device.record.plan, known->cleaning.findings);
  if (!missing.empty()) {
    device.release_view.reset();
    return answer(
        address, epoch, Trigger::release_refused,
        said(fmt::format("the ledger has no finding of {}: `reclaim device clean` it", missing)));
  }
  // From here on the drive may become somebody else's. Should Redis lose what follows and remember
  // the erasure, the ledger tells that it is of an earlier life: it is not adopted any more.
  LedgerEntry entry = ledger_.dirty_entry(device.record, erased_at(device.record));
  entry.cleaning.baseline_digest.clear();
  entry.certificate_pending = encode_certificate(certificate_to_be(device.record));
  ledger_.put(address, entry, [this, address, epoch](Status kept) {
    if (context_.is_stale(address, epoch)) return;
    // A full disk may have kept us longer than the lock stood.
    if (!locks_.holds(address)) return answer(address, epoch, Trigger::lock_lost);
    if (kept) return ask_the_drive(address, epoch);
    ports_.log.error(
        kLog, fmt::format("{}: the ledger cannot be written, not given back", to_string(address)),
        {{"why", kept.error().what}});
    ports_.timers.after(options_.retry_max_ms, [this, address, epoch] {
      if (context_.is_stale(address, epoch)) return;
      if (!locks_.holds(address)) return answer(address, epoch, Trigger::lock_lost);
      release(address, epoch);
    });
  });
}

// As it will be sealed, should the release come about.
Certificate Conductor::certificate_to_be(const Record& record) const {
  Record released = record;
  released.certificate_id = policies_.make_id();
  released.certificate_at =
      std::max({ports_.clock.now().wall, record.tenancy_seen_at, erased_at(record)});
  return certificate_of(released, options_.version);
}

// The id of the certificate that the release under way, or read back, will have or has; empty: the
// ledger knows of no such release, whatever Redis says.
std::string Conductor::certificate_of_release(const Device& device) const {
  const auto certificate =
      release_asked_for(context_.on_ledger(device.record.address), device.record);
  return certificate ? certificate->id : std::string();
}

// Making the record and the ledger durable may have taken long: the drive is asked once more, right
// before.
void Conductor::ask_the_drive(const PciAddress& address, std::uint64_t epoch) {
  const auto since = counters_of_verification(devices_.at(address).record.verification);
  CHECK(since);
  const MonoMs asked = ports_.clock.now().mono;
  ports_.drives.still_ours(
      address, *since, [this, address, epoch, asked](Result<nvme::Counters> now) {
        if (context_.is_stale(address, epoch)) return;
        if (!now) return answer(address, epoch, Trigger::release_conflict, said(now.error()));
        const std::int64_t took_ms = ports_.clock.now().mono.ms - asked.ms;
        if (took_ms > kLastAnswerMaxMs) {
          return answer(address, epoch, Trigger::release_conflict,
                        said(fmt::format("the drive's answer took {} s", took_ms / 1000)));
        }
        put_release(address, epoch);
      });
}

void Conductor::put_release(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  if (!locks_.holds(address)) return answer(address, epoch, Trigger::lock_lost);
  if (const auto arq = binding_of(device)) {
    device.release_view.reset();
    return answer(address, epoch, Trigger::release_conflict, said("ARQ " + arq->uuid));
  }
  if (const std::string why = cyborg_.why_withheld(device.record); !why.empty()) {
    device.release_view.reset();
    return answer(address, epoch, Trigger::release_conflict, said(why));
  }
  const placement::ProviderView view = *std::exchange(device.release_view, std::nullopt);
  device.fence = true;  // until its outcome is known
  ports_.providers.set_reserved(
      view, 0, [this, address, epoch](Result<placement::ProviderView> after) {
        if (context_.is_stale(address, epoch)) return;
        Device& now = devices_.at(address);
        if (after) {
          now.fence = false;
          return released(address, epoch, Trigger::released, said("reserved 1 -> 0"));
        }
        const Error& error = after.error();
        switch (error.code) {
          case Errc::conflict:
            // Somebody wrote before ours, or right after it: a read tells which.
            now.fence = false;
            return answer(address, epoch, Trigger::release_conflict, said(error));
          case Errc::unavailable:
            now.fence = false;
            return answer_later(address, epoch, Trigger::release_conflict, said(error));
          case Errc::not_found:
            now.fence = false;
            return answer(address, epoch, Trigger::release_conflict, said(error));
          case Errc::refused:
            now.fence = false;
            return answer(address, epoch, Trigger::release_refused, said(error));
          default:
            return answer(address, epoch, Trigger::release_unknown, said(error));
        }
      });
}

void Conductor::released(const PciAddress& address, std::uint64_t epoch, Trigger how, Facts facts) {
  // The next instance may come at once, and must not find the drive open because Redis is slow to
  // take the record. The lock stays until it did.
  devices_.at(address).claimed = false;
  ports_.drives.stop(address);
  ports_.drives.drop(address, [this, address] {
    Device& now = devices_.at(address);
    if (!now.claimed) now.lane_open = false;
  });
  facts.certificate_id = certificate_of_release(devices_.at(address));
  CHECK(!facts.certificate_id->empty());
  if (const auto counters = counters_of_verification(devices_.at(address).record.verification)) {
    facts.host_reads = counters->host_reads;
    facts.host_writes = counters->host_writes;
  }
  counters_.released += 1;
  answer(address, epoch, how, std::move(facts));
}

void Conductor::confirm(const PciAddress& address, std::uint64_t epoch) {
  const std::string provider = devices_.at(address).record.provider;
  ports_.providers.read(provider, [this, address, epoch](Result<placement::ProviderView> view) {
    if (context_.is_stale(address, epoch)) return;
    if (view) return confirmed(address, epoch, *view);
    if (view.error().code == Errc::not_found) {
      return answer(address, epoch, Trigger::placement_changed, said(view.error()));
    }
    answer_later(address, epoch, Trigger::placement_away, said(view.error()));
  });
}

void Conductor::confirmed(const PciAddress& address, std::uint64_t epoch,
                          const placement::ProviderView& view) {
  // A record of an older cleaning, that Redis took back or somebody put back, proves nothing of
  // what came after it.
  const bool outdated = certificate_of_release(devices_.at(address)).empty();
  if (!view.free()) {
    Facts facts = said(fmt::format("consumer {}", view.consumers.front()));
    if (!outdated) return released(address, epoch, Trigger::released_taken, std::move(facts));
    facts.name_tenant(view.consumers.front(), InstanceSource::allocation);
    return answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  }
  if (!view.is_device()) {
    return answer(address, epoch, Trigger::placement_changed, said("its inventory changed"));
  }
  if (!view.burned()) {
    if (outdated) {
      return answer(address, epoch, Trigger::placement_changed,
                    said("the ledger knows of no release of this erasure"));
    }
    return released(address, epoch, Trigger::released, said("reserved = 0, read back"));
  }
  const Device& device = devices_.at(address);
  // Not made yet is not the same as never made: first the write is kept from being made later.
  if (device.fence) {
    return raise_fence(
        address, view, [this, address, epoch](Result<placement::ProviderView> fenced) {
          if (context_.is_stale(address, epoch)) return;
          if (fenced) return confirmed(address, epoch, *fenced);
          answer_later(address, epoch, Trigger::placement_away, said(fenced.error()));
        });
  }
  const bool ours = device.claimed && locks_.holds(address);
  answer(address, epoch, ours ? Trigger::still_reserved : Trigger::look_changed);
}

// The certificate has been in the record since the release was.
void Conductor::finish(const PciAddress& address) {
  drop(address);
  certificates_.keep(devices_.at(address).record);
}

// A device at rest has no next transition that would say so.
void Conductor::settle_certificate(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (device.quarantined || is_busy(device.record.stage)) return;
  const auto next = certificates_.settle(device.record);
  if (!next) return;
  const auto saved = [this, address] {
    if (devices_.at(address).record.stage == Stage::pending_cleaning) want_survey(0);
  };
  save_note(*next, "certificate_kept", "the certificate of its last release is sealed and kept",
            next->certificate_id, saved);
}

// Towards safety only: what the ledger knows to be dirty must not be offered.
void Conductor::reserve_quarantined(const Device& device, const Sighting& sighting) {
  const LedgerEntry* known = context_.on_ledger(sighting.address);
  const bool dirty = known != nullptr && known->dirty && !device.other_kind;
  const bool bound = sighting.ours && sighting.is_drive() && sighting.rows.size() == 1 &&
                     sighting.rows.front().owner_cyborg && *sighting.ours && sighting.view &&
                     (sighting.holder || !sighting.view->free());
  if ((dirty || bound) && sighting.view && sighting.view->is_device() && !sighting.view->burned()) {
    reserver_.reserve(sighting.address, sighting.view->uuid);
  }
}

// The half of an assessment that goes towards safety waits for no record: one that was being saved
// when the survey began may not be for long.
void Conductor::reserve_unrecorded(const Device& device, const Sighting& sighting) {
  if (device.saving_since > survey_began_) return;
  const bool taken = sighting.view && !sighting.view->free();
  if (taken && device.record.stage == Stage::available && device.record.cleanable()) {
    ledger_.note_offered(sighting.address, [] {});
  }
  const auto& remembered = ports_.ledger.entries();
  const auto entry = remembered.find(sighting.address);
  const Record& record = device.unsaved ? *device.unsaved : device.record;
  if (must_be_reserved(sighting, record, entry == remembered.end() ? nullptr : &entry->second,
                       host_view_, ports_.clock.now().wall)) {
    reserver_.reserve(sighting.address, sighting.view->uuid);
  }
}

}  // namespace reclaim
