// What is said of a state of the small world, so that worlds which differ in dates, numbers or
// names alone are said to be the same: times and epochs count by their order, names by which are
// the same or those of now, pending work by how soon it is due.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"

namespace reclaim::exhaustive {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

class Telling final {
 public:
  // What is there now; to outlive the telling.
  Telling(const sim::Drive& drive, const sim::Slot& slot, const placement::ProviderRow& provider)
      : drive_(drive), slot_(slot), provider_(provider) {}

  void add(std::string_view text) {
    text_ += '|';
    text_ += text;
  }
  void add(const Record& record);
  void add(const LedgerEntry& entry);
  // Only its times and names.
  void add_times(const Record& record);
  void add_time(std::int64_t ms) { times_.push_back(ms); }
  // Of what is still to come, in how many milliseconds each is due.
  void add_pending(const std::vector<std::int64_t>& pending_ms);

  [[nodiscard]] Digest digest() const;

 private:
  [[nodiscard]] std::string said(const Rest& rest) const;

  const sim::Drive& drive_;
  const sim::Slot& slot_;
  const placement::ProviderRow& provider_;
  std::string text_;
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> epochs_;
  std::vector<std::string> names_;
};

}  // namespace reclaim::exhaustive
