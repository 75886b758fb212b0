#include "handlers/conductor/reserver.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/survey/taken.h"
#include "state/base/enum_names.h"
#include "state/base/fields.h"

namespace reclaim {
namespace {

constexpr std::int64_t kRetriesMergeMs = 200;  // retries so close together are one

constexpr auto kTakenOut = enum_names<WhyReserved::unknown>(
    "", "as an operator ordered", "because its policy cannot be satisfied",
    "because nobody knows what is on it");

bool is_being_released(const Record& record) {
  return record.stage == Stage::releasing || record.stage == Stage::confirming;
}

}  // namespace

bool Reserver::reserve(const PciAddress& address, const std::string& provider, WhyReserved why) {
  if (!context_.stays_ours(address) || context_.options.observes()) return false;
  Tries& tries = tries_[address];
  if (!tries.under_way.insert(provider).second) return false;
  const bool is_first = tries.retry_ms == 0;
  ledger_.note_offered(address, [this, address, provider, why] { put(address, provider, why); });
  return is_first;
}

void Reserver::nothing_to_reserve(const PciAddress& address) {
  Tries& tries = tries_[address];
  tries.retry_ms = tries.due_ms = 0;
}

void Reserver::put(const PciAddress& address, const std::string& provider, WhyReserved why) {
  const std::string& certificate = context_.record_of(address).certificate_id;
  context_.ports.providers.read(
      provider, context_.stopping.unless_begun([this, address, provider, why,
                                                certificate](Result<placement::ProviderView> view) {
        if (view && !view->is_device()) {
          view = Error{Errc::refused, "its provider has not exactly one inventory with total = 1"};
        }
        if (!view) return answered(address, provider, view);
        const Record& record = context_.record_of(address);
        const bool released = is_being_released(record) || record.certificate_id != certificate;
        if (!released) stop_work(address, *view);
        // Nova burns what it takes, and nobody does so for Cyborg.
        const bool bound = record.flow == Flow::cyborg && !view->free();
        if (view->burned() || (released && !bound) || !context_.stays_ours(address)) {
          tries_[address].under_way.erase(provider);
          return nothing_to_reserve(address);
        }
        tell(address, *view, why);
        fence_.put(address, *view, view->inventories.front().total,
                   [this, address, provider](const Result<placement::ProviderView>& after) {
                     answered(address, provider, after);
                   });
      }));
}

// Dirty and to be had is worse than reserved late.
void Reserver::tell(const PciAddress& address, const placement::ProviderView& view,
                    WhyReserved why) {
  if (why != WhyReserved::offered) {
    return context_.ports.log.info(
        log_name::kConductor,
        fmt::format("{} is taken out of the pool, {}", to_string(address), kTakenOut[why]));
  }
  const LedgerEntry* known = context_.on_ledger(address);
  if (!view.free() || known == nullptr || !known->dirty) {
    return context_.ports.log.warning(
        log_name::kConductor,
        fmt::format("{} is not clean, or taken, but is not reserved: reserving it",
                    to_string(address)));
  }
  context_.ports.log.error(
      log_name::kConductor,
      fmt::format("{} is on offer, and dirty since {}: reserving it; find out who un-reserved it: "
                  "whoever gets it has the last tenant's data",
                  to_string(address), field::time_text(known->dirty_since)));
}

void Reserver::see_moved(const PciAddress& address, const placement::ProviderView& view) {
  if (context_.stays_ours(address) && !is_being_released(context_.record_of(address))) {
    stop_work(address, view);
  }
}

// Stops the work on a device that somebody got: he may start on it at any moment.
void Reserver::stop_work(const PciAddress& address, const placement::ProviderView& view) {
  if (!is_busy(context_.record_of(address).stage) || view.free()) return;
  Assessment taken = given_in_cleaning(context_.record_of(address), view);
  context_.ports.log.error(log_name::kConductor,
                           fmt::format("{}: {}", to_string(address), taken.alarm));
  context_.post(address, Event{Trigger::allocation_seen, 0, std::move(taken.facts)});
}

// Success or not: a survey says where it stands now. What is refused once is refused again.
void Reserver::answered(const PciAddress& address, const std::string& provider,
                        const Result<placement::ProviderView>& after) {
  Tries& tries = tries_[address];
  tries.under_way.erase(provider);
  if (after) {
    tries.retry_ms = tries.due_ms = 0;
    if (is_busy(context_.record_of(address).stage)) in_cleaning_ += 1;
    return context_.want_survey(0);
  }
  // Surveys that kicks asked for try as well, and begin no retries of their own.
  const std::int64_t mono_ms = context_.ports.clock.now().mono.ms;
  if (mono_ms + kRetriesMergeMs < tries.due_ms) return;
  const ConductorOptions& options = context_.options;
  tries.retry_ms = std::clamp(tries.retry_ms * 2, options.retry_min_ms, options.retry_max_ms);
  tries.due_ms = mono_ms + tries.retry_ms;
  context_.ports.log.error(
      log_name::kConductor,
      fmt::format("{} is on offer and could not be reserved; trying again in {} ms",
                  to_string(address), tries.retry_ms),
      {{"why", after.error().what}});
  context_.want_survey(tries.retry_ms);
}

}  // namespace reclaim
