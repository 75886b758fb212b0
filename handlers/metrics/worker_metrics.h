// Counts what a worker measures of itself since its start. The worker opens no socket for it: the
// numbers go to Redis, from where `reclaim api` answers GET /metrics, and to a file for
// node_exporter ([metrics] textfile). Which there are: worker_metric_rows.h.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/worker_samples.h"
#include "state/base/bus_queue.h"
#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/device/record.h"
#include "state/device/store.h"

namespace reclaim {

// Totals that others count; each never shrinks while the worker runs.
struct WorkerTotals {
  std::int64_t survey_interval_ms = 0;
  std::uint64_t surveys = 0;  // that went through
  std::uint64_t surveys_failed = 0;
  std::optional<WallMs> survey_at = {};  // of the last that went through; none yet
  std::uint64_t messages = 0;            // from RabbitMQ
  std::uint64_t dead_letters = 0;
  bool bus_connected = false;
  std::vector<BusQueue> bus_queues = {};   // of Nova's notifier, at the last look
  std::uint64_t reserved_in_cleaning = 0;  // somebody had un-reserved them
  WallMs redis_server_ends_at = {};        // of the TLS connection, its certificate; 0: none
  WallMs redis_client_ends_at = {};        // ours; 0: none

  friend bool operator==(const WorkerTotals&, const WorkerTotals&) = default;
};

class WorkerMetrics final {
 public:
  explicit WorkerMetrics(WallMs started) : started_(started) {}

  // A transition that is durable, as the journal has it.
  void transition(const Record& record, const JournalEntry& entry);
  void kick(const std::string& reason);
  // One request to `peer` (redis, placement, cyborg) and its outcome: "ok", or what went wrong in
  // one word.
  void request(std::string_view peer, std::string_view outcome, std::int64_t ms);
  // Counts the age of a notification that became a kick, from its sender's clock to ours.
  void message_age(std::int64_t ms);
  void loop_lag(std::int64_t ms);

  // Gives what was counted, with what others know as it stands now.
  [[nodiscard]] WorkerSamples samples(const WorkerTotals& totals,
                                      const std::vector<Record>& records) const;

 private:
  void count(MetricId metric, std::vector<std::string> labels);
  void observe(MetricId metric, std::vector<std::string> labels, std::int64_t ms);
  std::string bounded(MetricId metric, std::string_view text);

  WallMs started_;
  WorkerSamples counted_;
  std::map<MetricId, std::set<std::string>> values_;  // of labels that come from elsewhere
  std::uint64_t offered_ = 0;                         // while not clean, at rest
  std::uint64_t allocated_ = 0;                       // while not known to be clean
  std::map<PciAddress, std::string> running_;  // the step that a record names: a transition ends it
};

}  // namespace reclaim
