// Remembers what earlier surveys read of the providers, and tells whether it still stands, so that
// an idle survey asks Placement for no device. Pure.
//
// Placement (objects/resource_provider.py and allocation.py) moves the generation of a provider
// with every change of its inventories and traits and with every allocation that is made or
// replaced, and the listing of the tree shows the generations. Allocations that end move none: a
// DELETE of the consumer's takes those of the root provider too, which shows in the list of the
// root's consumers; a PUT that leaves the device out writes the root's again, which moves the root.
// So what was read stands if the generation of the provider is the same, and, where it was
// allocated, the root's is too and its consumers are still among the root's.
//
// A provider that is deleted and made again may come to a generation that it had before. Nova draws
// another UUID for it; Cyborg makes the UUID from the name. What was read of such a provider stands
// only if nothing in the tree was changed or made since, which the listing's Last-Modified tells.
// Placement's servers have clocks of their own: that time counts where it had not moved for
// kClocksApartMs before the reading, so that all that comes later is later by each clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "placement/providers.h"
#include "state/base/clock.h"

namespace reclaim {

// Thread: the loop's.
class ReadingMemory final {
 public:
  // Nothing stands longer than `full_interval_ms`, whatever the generations say; 0: nothing does.
  explicit ReadingMemory(std::int64_t full_interval_ms) : full_interval_ms_(full_interval_ms) {}

  // The tree of an earlier survey, for Providers::list_tree_again; empty: it is to be listed whole.
  [[nodiscard]] placement::Tree tree(MonoMs now) const;
  // Notes the tree as listed from `now` to `answered`. What was read of providers that are gone is
  // forgotten.
  void note_tree(placement::Tree tree, MonoMs now, MonoMs answered);

  // True if what was read of one of `rows` can only stand if its consumers are among the root's.
  [[nodiscard]] bool needs_consumers(const std::vector<placement::ProviderRow>& rows,
                                     MonoMs now) const;
  // The view of the provider that `row` of the tree noted last is of, if what was read of it
  // stands; else null. `on_root`: the consumers of the root, asked for after the tree. Valid until
  // the next call.
  [[nodiscard]] const placement::ProviderView* recall(const placement::ProviderRow& row,
                                                      const std::vector<std::string>& on_root,
                                                      MonoMs now) const;
  // Read after the tree noted last was listed.
  void keep(const placement::ProviderView& view, MonoMs now);

  // These are to be read again: a provider that could not be read, what a consumer has, and all,
  // the tree as well.
  void doubt_provider(const std::string& provider_uuid) { readings_.erase(provider_uuid); }
  void doubt_consumer(const std::string& consumer);
  void forget();
  // Moves with each doubt: what was asked for before one is not to be kept after it.
  [[nodiscard]] std::uint64_t doubts() const { return doubts_; }

 private:
  static constexpr std::int64_t kClocksApartMs = 30'000;

  struct Reading {
    placement::ProviderView view;
    std::int64_t root_generation = 0;
    std::string tree_modified;  // empty: by a clock, something may have been changed since
    MonoMs at;
  };

  // The reading that stands by its generation and age alone; null: it does not.
  [[nodiscard]] const Reading* reading_of(const placement::ProviderRow& row, MonoMs now) const;

  const std::int64_t full_interval_ms_;
  placement::Tree tree_;
  MonoMs tree_at_;                           // when it was listed whole
  MonoMs modified_at_;                       // when its last_modified was new
  std::map<std::string, Reading> readings_;  // by the provider's UUID
  std::uint64_t doubts_ = 0;
};

}  // namespace reclaim
