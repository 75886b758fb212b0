#include "handlers/conductor/admissions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/admitted_plan.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/observed.h"
#include "handlers/survey/strictest.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

constexpr std::int64_t kMayPassSoonMs = 5'000;

}  // namespace

void Admissions::provider_moved(const PciAddress& address, const placement::ProviderView& view) {
  if (auto& sighting = waiting_[address].sighting) sighting->view = view;
}

void Admissions::try_admit(const PciAddress& address) {
  const Device& device = devices_.at(address);
  Waiting& waiting = waiting_[address];
  if (context_.stopping || device.saving || device.record.stage != Stage::pending_cleaning ||
      !waiting.sighting || maintenance_begins_(address) || fence_.is_needed_first(address)) {
    return;
  }
  const Sighting sighting = *std::exchange(waiting.sighting, std::nullopt);
  if (sighting.remembered) return context_.look_afresh(address);
  if (device.record.erases >= context_.options.erases_max) {
    Facts facts;
    facts.detail =
        fmt::format("{} erases; last: {}", device.record.erases, device.record.waiting_for);
    return context_.post(address, Event{Trigger::erases_exhausted, 0, std::move(facts)});
  }
  if (!sighting.view || !sighting.view->burned() || !sighting.view->free()) return;
  // The ledger has what an operator said before the record does.
  Record decided = device.record;
  const auto remembered = context_.ports.ledger.entries().find(address);
  if (remembered != context_.ports.ledger.entries().end()) {
    decided.maintenance = decided.maintenance || remembered->second.maintenance;
  }
  certificates_.forget_kept(decided);
  const Planning planning = planning_for(context_, sighting);
  auto plan = admit(sighting, decided, context_.survey.host, planning);
  if (plan && context_.options.observes()) plan = Error{Errc::refused, would_clean(*plan)};
  const auto pause = host_pause(context_.ports.ledger.entries(), context_.ports.clock.now().wall);
  if (plan && pause) plan = Error{Errc::busy, paused_note(*pause, context_.options.host)};
  waiting.for_thread = plan && busy_count() >= context_.options.cleanings_max;
  if (waiting.for_thread) {
    plan = Error{Errc::busy, fmt::format("{} cleanings run on this host already, the limit",
                                         context_.options.cleanings_max)};
  }
  if (!plan) {
    Assessment refused;
    refused.waiting_for = plan.error().what;
    refused.awaits_operator = refused.waiting_for == kCleanedManually;
    // A refusal that has just come up may pass within seconds: a driver that is being bound.
    if (refused.waiting_for != device.record.waiting_for) context_.want_survey(kMayPassSoonMs);
    return annotate(address, refused);
  }
  forget_earlier_life(address);
  waiting.admitting = true;
  waiting.admitted_view = sighting.view;
  waiting.arqs_over = book_
                          .about({address, sighting.view->uuid, true, device.record.consumer(),
                                  context_.survey.began})
                          .over;
  Facts facts = facts_at_admission(sighting);
  facts.plan = *plan;
  facts.tags = planning.policy->tags;
  facts.policies = chosen_names(*planning.policy);
  if (!facts.policies->empty() || !facts.tags->empty()) {
    context_.ports.log.info(
        log_name::kConductor,
        fmt::format("{} is cleaned by {}", to_string(address), describe_origin(*planning.policy)),
        {{"tags", fmt::format("{}", fmt::join(*facts.tags, ", "))}});
  }
  context_.post(address, Event{Trigger::admitted, 0, std::move(facts)});
}

void Admissions::annotate(const PciAddress& address, const Assessment& assessment) {
  const Device& device = devices_.at(address);
  if (is_busy(device.record.stage) || device.saving) return;
  waiting_[address].admitting = false;
  Record known = device.record;
  known.found = device.found;
  const auto remembered = context_.ports.ledger.entries().find(address);
  if (remembered != context_.ports.ledger.entries().end()) {
    known.maintenance = known.maintenance || remembered->second.maintenance;
  }
  const Record next = note(known, assessment);
  const bool shown_at_last = is_shown_at_last(known, next);
  if (next == device.record && device.persisted) return;
  if (next.waiting_for != device.record.waiting_for && !next.waiting_for.empty()) {
    context_.ports.log.warning(log_name::kConductor,
                               fmt::format("{} waits: {}", to_string(address), next.waiting_for));
  }
  const char* why = device.persisted ? "a survey saw it" : "Redis had no record of it";
  const auto saved = [this, address, next, shown_at_last] {
    if (shown_at_last) {
      audits_.keep(address,
                   {audit_entry(AuditEvent::tenancy_seen, next,
                                "Placement shows it, as its accelerator request said")},
                   false);
    }
    if (context_.record_of(address).stage == Stage::pending_cleaning) try_admit(address);
  };
  const auto save = [this, next, why, saved, trigger = device.persisted ? "noted" : "first_seen"] {
    writer_.save_note(
        next, trigger, why,
        next.waiting_for.empty() && next.held ? "held by an operator" : next.waiting_for,
        IfUnsaved::given_up, saved);
  };
  // An entry that matches it since a tenant got it: it is ours now, and dirty.
  if (device.record.cleanable() || !next.cleanable() || next.stage == Stage::available) {
    return save();
  }
  writer_.decide(address, next);
  ledger_.mark_dirty_then(address, next, Trigger::allocation_seen, save);
}

std::size_t Admissions::busy_count() const {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(), [this](const auto& entry) {
        const auto& [address, device] = entry;
        return is_busy(device.record.stage) || (device.saving && is_admitting(address));
      }));
}

// The ledger may have learnt that the device was on offer since its record was loaded, or written.
void Admissions::forget_earlier_life(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (!knows_erase(context_.on_ledger(device.record.address), device.record,
                   context_.policies.digest)) {
    device.record.erase_begun = false;
  }
}

bool Admissions::is_one_waiting_for_thread() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [this](const auto& entry) {
    return entry.second.for_thread &&
           context_.record_of(entry.first).stage == Stage::pending_cleaning;
  });
}

void Admissions::thread_is_free() {
  if (is_one_waiting_for_thread()) context_.want_survey(0);
}

}  // namespace reclaim
