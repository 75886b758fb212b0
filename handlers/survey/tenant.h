// Tells whose tenancy it is that Placement shows, where another consumer holds a device than the
// one on record. Pure.
//
// Nova moves what an instance has on a host to its migration's UUID while it moves away, and back
// if it stays (move_allocations, one POST): the tenancy of that instance by another name. Until the
// scheduler has found it another place, and that may take a minute, the instance has nothing. Any
// other consumer that follows has got a device that nobody erased in between. Nova tells Placement
// no types of its consumers; what tells the two apart is
// - who named the consumer on record: one whom an accelerator request alone did, gives way at once;
// - the provider: Placement deletes none that has an allocation, so that behind another one the
//   device was free in between;
// - the project, which a migration has of its instance;
// - whether the consumer on record still has an allocation, here or on another host. One that lives
//   on elsewhere is not told from one who moves, if its project is that of the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "handlers/survey/survey.h"
#include "state/device/record.h"

namespace reclaim {

enum class Tenant : std::uint8_t {
  same,     // the one on record, by its own name or by that of its migration on record
  moving,   // the one on record: the consumer is its migration
  another,  // another one, and nobody erased the device in between
  unknown,  // Placement has not told it yet
};

// An instance that moves may have nothing for so long.
inline constexpr std::int64_t kMoveMs = 60'000;

// Judges the consumer of an allocated device. `sighting` has a view that has a consumer.
[[nodiscard]] Tenant tenant_of(const Sighting& sighting, const Record& record);

// SurveyRequest::asks. `record`: of the device; null: it has none. Of a tenancy whose project is
// not known yet, its consumer; and where another consumer follows, the former first: what that has
// not while the other is there still tells the two apart.
[[nodiscard]] std::optional<std::string> asks_about(const Sighting& sighting, const Record* record);

// The consumer as Placement told of it; null: it told nothing.
[[nodiscard]] const placement::Consumer* told_of(const Sighting& sighting,
                                                 const std::string& consumer);

}  // namespace reclaim
