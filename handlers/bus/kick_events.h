// The kick table: every event type Reclaim reacts to, what it means for devices, and why. An event
// type that is not here is ignored. Nova's names: doc/notification_samples for the versioned ones,
// nova/rpc.py LegacyValidatingNotifier for the legacy ones.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "state/device/life.h"

namespace reclaim {

enum class KickScope {
  named,  // the payload's host and the publishing nova-compute's; every host if neither is named
  named_by_payload,  // the same, but where the payload names none a legacy publisher does not
                     // count: nova-api publishes it too, of a local delete, and says "compute.HOST"
                     // of its own host
  any,               // the host that owns the freed device is not named in the message
};

struct KickRow {
  std::string_view versioned;
  std::string_view legacy;
  KickScope scope;
  bool mark;  // a tenancy begins or still stands: look once, soon, and record the allocations
  Life life;  // of the instance, on the host that publishes; of one named by the payload, there
  std::string_view why;
};

inline constexpr auto kKickTable = std::to_array<KickRow>({
    {"instance.delete.end", "compute.instance.delete.end", KickScope::named_by_payload, false,
     Life::ends,
     "the instance is gone and so are its allocations; if its compute was down the guest may still "
     "run, which the guards on the host find out"},
    {"instance.shelve_offload.end", "compute.instance.shelve_offload.end", KickScope::named, false,
     Life::ends,
     "the instance left its host when it was offloaded; the payload's host is already null, so the "
     "publisher names it"},
    {"instance.resize_confirm.end", "compute.instance.resize.confirm.end", KickScope::named, false,
     Life::ends,
     "the source's device is freed just after this event; the payload names the destination, the "
     "publisher the source"},
    {"instance.resize_revert.end", "compute.instance.resize.revert.end", KickScope::any, false,
     Life::untold,
     "the destination's device was freed and the message does not say where that was"},
    {"instance.live_migration_post.end", "compute.instance.live_migration._post.end",
     KickScope::named, false, Life::ends, "the source's device is freed just after this event"},
    {"instance.live_migration_rollback.end", "compute.instance.live_migration._rollback.end",
     KickScope::named, false, Life::untold,
     "the migration was undone and its claims are taken back; the destination sends an event of "
     "its own"},
    {"instance.live_migration_rollback_dest.end",
     "compute.instance.live_migration.rollback.dest.end", KickScope::named, false, Life::ends,
     "the destination's claim was taken back; the payload names the source, the publisher the "
     "destination"},
    {"instance.evacuate", "compute.instance.evacuate", KickScope::any, false, Life::untold,
     "the instance is being rebuilt elsewhere; its old host frees the device without a word when "
     "its nova-compute starts again"},
    {"instance.create.error", "compute.instance.create.error", KickScope::named, false, Life::fails,
     "the build failed after it may have claimed a device"},
    {"instance.resize.error", "compute.instance.resize.error", KickScope::named, false, Life::ends,
     "the resize failed after the destination, which publishes, may have claimed a device"},
    {"instance.rebuild.error", "compute.instance.rebuild.error", KickScope::named, false,
     Life::untold, "the rebuild failed; of an evacuation the new host may have claimed a device"},
    {"instance.create.end", "compute.instance.create.end", KickScope::named, true, Life::begins,
     "a tenancy begins: the devices allocated on the host are recorded as allocated"},
    {"instance.unshelve.end", "compute.instance.unshelve.end", KickScope::named, true, Life::begins,
     "a tenancy begins: the instance is back from the shelf"},
    {"instance.rebuild.end", "compute.instance.rebuild.end", KickScope::named, true, Life::begins,
     "a tenancy begins if the instance was evacuated to this host, and goes on if not"},
    {"instance.resize_prep.start", "compute.instance.resize.prep.start", KickScope::named, true,
     Life::begins,
     "a tenancy begins at the destination, which publishes; the payload names the source"},
    {"instance.resize_prep.end", "compute.instance.resize.prep.end", KickScope::named, true,
     Life::begins, "the destination, which publishes, has claimed its devices, or failed to"},
    {"instance.resize_finish.end", "compute.instance.finish_resize.end", KickScope::named, true,
     Life::begins,
     "the instance runs at the destination; the source's devices are the migration's"},
    {"instance.live_migration_pre.end", "compute.instance.live_migration.pre.end", KickScope::named,
     true, Life::begins,
     "a tenancy begins at the destination, which publishes; the payload names the source"},
    {"instance.live_migration_post_dest.end", "compute.instance.live_migration.post.dest.end",
     KickScope::named, true, Life::begins, "the instance runs at the destination"},
    {"instance.delete.start", "compute.instance.delete.start", KickScope::named, true, Life::untold,
     "a tenancy is about to end: the devices still allocated on the host are recorded as "
     "allocated, where those of the instance are not yet"},
});

// Seconds after the event. Some events come before the allocation is gone, so the host is looked at
// again; repeats for one host coalesce. A mark is worth nothing later than now.
inline constexpr std::array<int, 3> kKickDelaysS{0, 5, 30};
inline constexpr std::array<int, 1> kMarkDelaysS{0};

constexpr const KickRow* find_kick_row(std::string_view event_type) {
  for (const KickRow& row : kKickTable) {
    if (event_type == row.versioned || event_type == row.legacy) return &row;
  }
  return nullptr;
}

namespace kick_table_rules {

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < kKickTable.size(); ++i) {
    for (std::size_t j = 0; j < kKickTable.size(); ++j) {
      if (kKickTable[i].versioned == kKickTable[j].legacy) return false;
      if (i == j) continue;
      if (kKickTable[i].versioned == kKickTable[j].versioned) return false;
      if (kKickTable[i].legacy == kKickTable[j].legacy) return false;
    }
  }
  return true;
}

constexpr bool every_row_says_why() {
  for (const KickRow& row : kKickTable) {
    if (row.why.empty() || row.versioned.empty() || row.legacy.empty()) return false;
    if (row.legacy.substr(0, 17) != "compute.instance.") return false;
    if (row.mark && row.scope == KickScope::any) return false;
    if (row.mark && (row.life == Life::ends || row.life == Life::fails)) return false;
    if (!row.mark && row.life == Life::begins) return false;
  }
  return true;
}

static_assert(names_are_unique(), "an event type is in one row only");
static_assert(every_row_says_why(), "every row has both names and a reason");

}  // namespace kick_table_rules
}  // namespace reclaim
