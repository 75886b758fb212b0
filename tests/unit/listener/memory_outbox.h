// An outbox in memory, whose removals can be lost, and a loop that waits: what notifiers are tested
// over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "state/base/uv.h"
#include "state/device/outbox.h"

namespace reclaim::testing {

class MemoryOutbox final : public Outbox {
 public:
  std::vector<OutboxEntry> entries;
  bool away = false;           // Redis cannot be reached
  bool keeps_removed = false;  // and what is removed stays
  std::uint64_t dropped = 0;
  int removals_refused = 0;

  void post(const std::string& id, const std::string& message,
            const std::string& priority = "info") {
    entries.push_back({id, {{"message", message}, {"priority", priority}}});
  }

  void read_outbox(std::size_t count_max, Callback<OutboxPage> done) override {
    if (away) return done(Error{Errc::unavailable, "Redis is away"});
    OutboxPage page;
    page.waiting = entries.size();
    page.dropped = dropped;
    page.entries.assign(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                               count_max, entries.size())));
    done(std::move(page));
  }
  void remove_from_outbox(const std::vector<std::string>& ids, Callback<Ok> done) override {
    if (keeps_removed) {
      removals_refused += 1;
      return done(Error{Errc::unavailable, "Redis is away"});
    }
    std::erase_if(entries, [&](const OutboxEntry& entry) {
      return std::find(ids.begin(), ids.end(), entry.id) != ids.end();
    });
    done(Ok{});
  }
};

// Runs the loop until `done`, or gives up after a generous while.
[[nodiscard]] inline bool run_until(uv::Loop& loop, const std::function<bool()>& done) {
  bool late = false;
  uv::Timer patience(loop.raw());
  patience.start(300'000, 0, [&] { late = true; });
  uv::Timer tick(loop.raw());
  tick.start(20, 20, [] {});
  while (!done() && !late) loop.run_once();
  return !late;
}

}  // namespace reclaim::testing
