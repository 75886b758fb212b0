// The texts of many workers as one: of each metric its head once, then the samples of all hosts.
// What stands in Redis may have been written by another version, or by somebody else. Only samples
// of a worker's own metrics (handlers/worker_metric_rows.h) with their labels, of the host
// itself, pass: a line that Prometheus cannot read would cost it all the others.
//
// Thread: any. Owns the text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::api {

// A text as a label has it between its quotes: what a host calls itself may be anything.
[[nodiscard]] std::string label_value(std::string_view text);

class WorkerFamilies final {
 public:
  WorkerFamilies();

  // Adds a host's text, each host's once.
  void add(std::string_view host, std::string_view text);
  // Appends the next metric to `out`, in the order of the table; false: all are written.
  [[nodiscard]] bool write_one(std::string& out, bool openmetrics);

 private:
  void add_line(std::string_view host, std::string_view line, std::set<std::string_view>& seen);

  std::vector<std::string> samples_;  // by row
  std::size_t next_ = 0;              // row to be written
};

}  // namespace reclaim::api
