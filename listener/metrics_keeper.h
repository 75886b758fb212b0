// Keeps a worker's metrics: in Redis, from where `reclaim api` answers GET /metrics, and in the
// file that node_exporter reads ([metrics] textfile), which has the devices' states as well.
//
// Thread: the loop's. The file is written beside and renamed, so that a reader has all of it; it is
// not synced, for nobody needs it after a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handlers/metrics/worker_metrics.h"
#include "state/base/log.h"
#include "state/base/uv.h"
#include "state/device/metrics_texts.h"
#include "state/device/store.h"

namespace reclaim::listener {

struct MetricsKeeperOptions {
  std::string host;
  std::string textfile;  // empty: none
};

class MetricsKeeper final {
 public:
  struct Snapshot {
    WorkerTotals totals;
    std::vector<Record> records;
    HostInfo host;
  };

  // All of these outlive it.
  MetricsKeeper(uv_loop_t* loop, MetricsKeeperOptions options, WorkerMetrics& metrics,
                MetricsTexts& texts, Logger& log);

  void start(std::function<Snapshot()> look);
  // The file says that the worker was stopped, and nothing more of what it measured.
  void stop();

 private:
  void keep();
  [[nodiscard]] bool is_news(const Snapshot& now);
  [[nodiscard]] std::string page(const Snapshot& now, bool stopped, std::string samples) const;
  void write(const std::string& text);

  MetricsKeeperOptions options_;
  WorkerMetrics& metrics_;
  MetricsTexts& texts_;
  Logger& log_;
  std::function<Snapshot()> look_;
  uv::Timer timer_;
  std::string problem_;                                         // with the file, told once
  std::optional<std::pair<WorkerTotals, std::uint64_t>> told_;  // to Redis, as far as it is news
  int quiet_ = 0;
};

}  // namespace reclaim::listener
