// `GET /metrics`: what Redis has of the fleet, as Prometheus reads it. First what stands in the
// records and in the workers' heartbeats, all of it gauges; then what each worker measures of
// itself (handlers/worker_samples.h). docs/metrics.md is made from the tables of both.
//
// Thread: any. Owns what it is made from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/api/fleet.h"
#include "state/base/clock.h"
#include "state/device/record.h"
#include "state/device/store.h"

namespace reclaim::api {

inline constexpr std::size_t kFlows = static_cast<std::size_t>(Flow::cyborg) + 1;
inline constexpr std::size_t kDeviceStates = static_cast<std::size_t>(DeviceState::error) + 1;

// A device that has to come out of its state.
struct Unavailable {
  std::string address;
  DeviceState state = DeviceState::error;
  WallMs since;  // in it; of cleaning, in its present stage
};

// The figures that the metrics tell of one host.
struct HostFigures {
  HostInfo info;
  bool up = false;
  std::array<std::array<std::size_t, kDeviceStates>, kFlows> devices{};
  std::array<std::optional<WallMs>, kDeviceStates> oldest{};  // since when, of the oldest in it
  std::vector<Unavailable> unavailable;                       // without those in maintenance
  std::size_t held = 0;
  std::size_t waiting = 0;
  std::size_t maintenance = 0;
  std::size_t certificates_pending = 0;
};

class Samples;

struct Metric {
  std::string_view name;
  std::string_view labels;  // in their order, separated by commas
  std::string_view help;
  void (*write)(Samples& out, const HostFigures& host);
};

[[nodiscard]] std::span<const Metric> metrics();

class MetricsPage final {
 public:
  struct Fleet {
    std::vector<HostInfo> hosts;
    std::shared_ptr<const Devices> devices;
    std::shared_ptr<const WorkerTexts> worker_texts;
  };
  // A worker whose heartbeat is older than `silence_max_ms` is down. `openmetrics`: as that
  // specification has counters' heads.
  MetricsPage(Fleet fleet, WallMs now, std::int64_t silence_max_ms, bool openmetrics);

  // Goes on with it, by as much as one turn of the loop takes; false: take() has the text.
  [[nodiscard]] bool go_on();
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void count(const std::vector<Device>& devices);
  void write_some();
  void read_worker(const std::string& host, const std::string& text);
  void write_worker_metric();

  std::map<std::string, HostFigures> hosts_;
  std::shared_ptr<const Devices> devices_;
  std::shared_ptr<const WorkerTexts> worker_texts_;
  WorkerTexts::const_iterator next_text_;
  std::vector<std::string> worker_lines_;  // by row
  std::size_t row_ = 0;                    // to be written
  bool openmetrics_;
  std::size_t counted_ = 0;  // of devices_
  std::size_t metric_ = 0;
  std::map<std::string, HostFigures>::const_iterator next_;  // to be written of metric_
  std::string text_;
};

// True if the request's Accept names OpenMetrics 1.0; else Prometheus' text format 0.0.4 is sent.
[[nodiscard]] bool accepts_openmetrics(std::string_view accept);
inline constexpr std::string_view kOpenMetricsEnd = "# EOF\n";
inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace reclaim::api
