// What a run of the fleet bench has measured, for a table and for docs/scaling.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/format.h"
#include "tests/bench/fleet/fleet.h"

namespace reclaim::fleet {

// What happened between two moments.
struct Rates {
  double seconds = 0;
  double placement = 0;       // requests
  double placement_peak = 0;  // in the busiest second
  double keystone = 0;        // tokens
  double redis = 0;           // commands
  double redis_sent = 0;      // bytes
  double received = 0;        // messages by RabbitMQ
  double delivered = 0;       // and from it
  double redelivered = 0;
  double workers_cpu_s = 0;
  double redis_cpu_s = 0;
  double rabbit_cpu_s = 0;
};
[[nodiscard]] Rates between(const Moment& before, const Moment& after);

// Of sorted or unsorted values; 0 of none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

// Names and values, in the order they are shown; numbers are rounded to what they are good for.
class Figures final {
 public:
  void add(const std::string& name, double value, int decimals = 2);
  void add(const std::string& name, std::int64_t value);
  void add(const std::string& name, const std::string& json_object);
  [[nodiscard]] const cli::Fields& fields() const { return fields_; }

 private:
  cli::Fields fields_;
};

// The most frequent of what was called between two moments, with their number, as a JSON object.
[[nodiscard]] std::string most_frequent(const std::map<std::string, std::uint64_t>& before,
                                        const std::map<std::string, std::uint64_t>& after);

}  // namespace reclaim::fleet
