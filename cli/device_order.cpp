#include "cli/device_order.h"

#include <fmt/format.h>

#include "handlers/survey/admission.h"
#include "handlers/survey/cyborg_remarks.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/observed.h"

namespace reclaim::cli {

std::optional<Error> refusal_of(OrderKind order, bool with_steps, const Record& record) {
  const auto state = to_string(device_state(record.stage));
  const bool unsure = record.stage == Stage::available && !record.waiting_for.empty() &&
                      !record.waiting_for.starts_with(kLeakedArq) &&
                      !record.waiting_for.starts_with(kSwitchAstray) &&
                      record.waiting_for != kMaintenanceOver;
  // Nothing but an ARQ that was heard of says that somebody has it: an operator may know better.
  const bool only_bound =
      record.stage == Stage::allocated && record.consumer().empty() && !record.arq.empty();
  const bool due =
      record.stage == Stage::pending_cleaning &&
      (record.waiting_for.starts_with("ARQ ") || record.clean_start == CleanStart::awaited);
  if (order == OrderKind::clean && !record.cleanable() && !only_bound) {
    return Error{Errc::conflict,
                 fmt::format("{}: {}", to_string(record.address), std::string(kNotListed))};
  }
  const bool rests = record.stage == Stage::available && with_steps;
  if (order == OrderKind::clean && record.stage != Stage::error && !rests && !unsure &&
      !only_bound && !due) {
    return Error{
        Errc::conflict,
        fmt::format(
            "{} is {}; only a device in error is cleaned again{}", to_string(record.address), state,
            record.stage == Stage::available ? ", or one in the pool with --steps FILE" : "")};
  }
  if (order == OrderKind::abort && !is_busy(record.stage) &&
      record.stage != Stage::pending_cleaning) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}; there is no cleaning to abort, and nothing to do",
                             to_string(record.address), state)};
  }
  if (order == OrderKind::unhold && !record.clean_step.starts_with("hold.")) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}{}; only a plan that waits at a hold takes an approval",
                             to_string(record.address), state,
                             record.clean_step.empty() ? "" : ", at " + record.clean_step)};
  }
  if (order == OrderKind::enrol && find_row(record.stage, Trigger::operator_enrol) == nullptr) {
    return Error{Errc::conflict,
                 fmt::format("{} is {}; a drive is enrolled while it is available, waits to be "
                             "cleaned or is in error",
                             to_string(record.address), state)};
  }
  if (order == OrderKind::retire && !record.is_drive()) {
    return Error{Errc::conflict,
                 fmt::format("{} is no drive that Reclaim erases: only such a one is retired",
                             to_string(record.address))};
  }
  if (order == OrderKind::retire && find_row(record.stage, Trigger::operator_retire) == nullptr) {
    return Error{
        Errc::conflict,
        fmt::format("{} is {}; retire it when {}", to_string(record.address), state,
                    record.stage == Stage::allocated ? "the instance that has it is deleted"
                                                     : "its cleaning is over, or abort that")};
  }
  if (order == OrderKind::disown && is_busy(record.stage)) {
    return Error{Errc::conflict, fmt::format("{} is {}; abort the cleaning first, then disown it",
                                             to_string(record.address), state)};
  }
  if (order == OrderKind::enrol && record.held) {
    return Error{Errc::conflict,
                 record.maintenance
                     ? fmt::format("{} is in maintenance, which keeps it reserved; end that first: "
                                   "reclaim device set {} --maintenance off",
                                   to_string(record.address), to_string(record.address))
                     : fmt::format("{} is held by an operator; un-reserve it first",
                                   to_string(record.address))};
  }
  return std::nullopt;
}

bool has_acted(OrderKind order, const Record& before, const Record& now) {
  if (order == OrderKind::maintenance_on) {
    const bool on_offer = now.stage == Stage::available && now.cleanable() && !now.held;
    // Reserved already, for Cyborg's agent; or nothing is reserved here.
    const bool stays =
        now.handed_over || now.provider.empty() || now.waiting_for.starts_with(kObserved);
    return now.maintenance && (!on_offer || stays);
  }
  if (order == OrderKind::maintenance_off) return !now.maintenance;
  if (now.epoch == before.epoch) return false;
  if (order == OrderKind::abort) return now.stage == Stage::error;
  if (order == OrderKind::disown) return !now.cleanable();
  if (order == OrderKind::enrol) return now.serial != before.serial || now.accepted;
  if (order == OrderKind::retire) return !now.retired.empty();
  return true;  // a second try may have failed again by now
}

bool comes_later(OrderKind order, const Record& now) {
  return is_busy(now.stage) &&
         (order == OrderKind::maintenance_on || order == OrderKind::maintenance_off);
}

bool is_erased_and_retired(const Record& record) {
  const auto* row = find_row(Stage::verifying, Trigger::verified_unfit);
  return record.stage == Stage::error &&
         record.last_error.starts_with(fmt::format("{}: {}", row->why, kRetired));
}

Rest rest_of(OrderKind order, const Record& before, const Record& now) {
  if (now.clean_step.starts_with("hold.")) return Rest::well;
  if (is_busy(now.stage)) return Rest::not_yet;
  if (order == OrderKind::maintenance_on || order == OrderKind::abort) return Rest::well;
  if (now.stage == Stage::pending_cleaning) {
    return now.maintenance || now.clean_start == CleanStart::awaited ? Rest::well : Rest::not_yet;
  }
  const bool retired = order == OrderKind::retire && is_erased_and_retired(now);
  const bool was_so = order == OrderKind::maintenance_off && before.stage == Stage::error;
  return now.stage == Stage::error && !was_so && !retired ? Rest::error : Rest::well;
}

}  // namespace reclaim::cli
