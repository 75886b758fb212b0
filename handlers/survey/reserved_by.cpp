#include "handlers/survey/reserved_by.h"

namespace reclaim {

ReservedBy reserved_by(bool marked, const WriteAsked& asked, const placement::ProviderView& view) {
  if (!marked) return ReservedBy::others;
  if (!asked) return view.burned() ? ReservedBy::us : ReservedBy::others;
  const bool same = asked.provider == view.uuid;
  if (same && view.generation == asked.generation) {
    if (view.burned()) return ReservedBy::us;
    return asked.reserved ? ReservedBy::us_late : ReservedBy::others;
  }
  if (!view.burned()) return ReservedBy::others;
  const bool made = same && asked.reserved && view.generation == asked.generation + 1;
  return made ? ReservedBy::us : ReservedBy::unknown;
}

}  // namespace reclaim
