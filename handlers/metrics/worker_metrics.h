// Tells what a worker measures of itself, as Prometheus' text: counted since its start. The worker
// opens no socket for it: the text goes to Redis, from where `reclaim api` answers GET /metrics,
// and to a file for node_exporter ([metrics] textfile). Which there are: worker_metric_rows.h.
//
// Thread: the loop's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/worker_metric_rows.h"
#include "state/base/bus_queue.h"
#include "state/base/clock.h"
#include "state/base/result.h"
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
  WorkerMetrics(const std::string& host, WallMs started);
  ~WorkerMetrics();
  WorkerMetrics(const WorkerMetrics&) = delete;
  WorkerMetrics& operator=(const WorkerMetrics&) = delete;

  // A transition that is durable, as the journal has it.
  void transition(const Record& record, const JournalEntry& entry);
  void kick(const std::string& reason);
  // One request to `peer` (redis, placement, cyborg) and its outcome: "ok", or what went wrong in
  // one word.
  void request(std::string_view peer, std::string_view outcome, std::int64_t ms);
  // Counts the age of a notification that became a kick, from its sender's clock to ours.
  void message_age(std::int64_t ms);
  void loop_lag(std::int64_t ms);

  // Takes in what others know, as it stands now; then gives the text, sorted by nothing but the
  // table.
  [[nodiscard]] std::string text(const WorkerTotals& totals, const std::vector<Record>& records);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reclaim
