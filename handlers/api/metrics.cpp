#include "handlers/api/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "handlers/worker_samples.h"
#include "state/base/visible.h"

namespace reclaim::api {

// Lines of one metric, in Prometheus' text format.
class Samples final {
 public:
  struct Label {
    std::string_view name;
    std::string_view value;
  };

  Samples(std::string& text, std::string_view metric) : text_(text), metric_(metric) {}

  void add(std::span<const Label> labels, std::string_view value) {
    text_ += metric_;
    char before = '{';
    for (const Label& label : labels) {
      text_ += before;
      text_ += label.name;
      text_ += "=\"";
      text_ += label_value(label.value);
      text_ += '"';
      before = ',';
    }
    text_ += "} ";
    text_ += value;
    text_ += '\n';
  }
  void add(std::initializer_list<Label> labels, std::string_view value) {
    add(std::span(labels.begin(), labels.size()), value);
  }
  void add(std::initializer_list<Label> labels, std::size_t value) {
    add(labels, fmt::format("{}", value));
  }
  void add_time(std::initializer_list<Label> labels, WallMs at) {
    add(labels, fmt::format("{}.{:03}", at.ms / 1000, at.ms % 1000));
  }

 private:
  // A text as a label has it between its quotes: what a host calls itself may be anything.
  static std::string label_value(std::string_view text) {
    std::string value;
    for (const char c : visible(text)) {
      if (c == '\\' || c == '"') value += '\\';
      value += c;
    }
    return value;
  }

  std::string& text_;
  std::string_view metric_;
};

namespace {

// A piece of the answer: as many hosts as are written well within a millisecond.
constexpr std::size_t kHostsPerPiece = 128;

constexpr Metric kMetrics[] = {
    {.name = "reclaim_worker_up",
     .labels = "host",
     .help = "1: the worker's heartbeat is fresh; 0: it was stopped, or is silent.",
     .write =
         [](Samples& out, const HostFigures& host) {
           out.add({{"host", host.info.host}}, host.up ? std::size_t{1} : std::size_t{0});
         }},
    {.name = "reclaim_worker_heartbeat_timestamp_seconds",
     .labels = "host",
     .help = "When the worker was last heard of; no sample: its heartbeat has expired.",
     .write =
         [](Samples& out, const HostFigures& host) {
           if (host.info.heartbeat_at.ms == 0) return;
           out.add_time({{"host", host.info.host}}, host.info.heartbeat_at);
         }},
    {.name = "reclaim_worker_info",
     .labels = "host, version, mode",
     .help = "1, with the worker's version and its mode: serve or observe.",
     .write =
         [](Samples& out, const HostFigures& host) {
           if (host.info.heartbeat_at.ms == 0) return;
           out.add({{"host", host.info.host},
                    {"version", host.info.version},
                    {"mode", host.info.observes ? "observe" : "serve"}},
                   std::size_t{1});
         }},
    {.name = "reclaim_host_paused_until_timestamp_seconds",
     .labels = "host",
     .help = "Until when no cleaning begins on the host, by an operator's word; no sample: it is "
             "not paused.",
     .write =
         [](Samples& out, const HostFigures& host) {
           if (host.info.paused_until.ms == 0) return;
           out.add_time({{"host", host.info.host}}, host.info.paused_until);
         }},
    {.name = "reclaim_devices",
     .labels = "host, flow, state",
     .help = "Devices by flow (nova, cyborg) and state.",
     .write =
         [](Samples& out, const HostFigures& host) {
           for (std::size_t flow = 0; flow < kFlows; ++flow) {
             for (std::size_t state = 0; state < kDeviceStates; ++state) {
               out.add({{"host", host.info.host},
                        {"flow", to_string(static_cast<Flow>(flow))},
                        {"state", to_string(static_cast<DeviceState>(state))}},
                       host.devices[flow][state]);
             }
           }
         }},
    {.name = "reclaim_device_state_since_timestamp_seconds",
     .labels = "host, state",
     .help = "Since when the device that is longest in the state is in it (of cleaning: in its "
             "present stage), without those in maintenance; no sample: there is none.",
     .write =
         [](Samples& out, const HostFigures& host) {
           for (std::size_t state = 0; state < kDeviceStates; ++state) {
             if (!host.oldest[state]) continue;
             out.add_time(
                 {{"host", host.info.host}, {"state", to_string(static_cast<DeviceState>(state))}},
                 *host.oldest[state]);
           }
         }},
    {.name = "reclaim_device_unavailable_since_timestamp_seconds",
     .labels = "host, address, state",
     .help = "Since when this device is in a state that has to end: pending_cleaning, cleaning (in "
             "its present stage) or error; no sample: it is in none of them, or in maintenance.",
     .write =
         [](Samples& out, const HostFigures& host) {
           for (const Unavailable& device : host.unavailable) {
             out.add_time({{"host", host.info.host},
                           {"address", device.address},
                           {"state", to_string(device.state)}},
                          device.since);
           }
         }},
    {.name = "reclaim_devices_held",
     .labels = "host",
     .help = "Devices that an operator holds reserved.",
     .write =
         [](Samples& out, const HostFigures& host) {
           out.add({{"host", host.info.host}}, host.held);
         }},
    {.name = "reclaim_devices_waiting",
     .labels = "host",
     .help = "Devices with which nothing happens though something should, without those in "
             "maintenance: waiting_for says what.",
     .write =
         [](Samples& out, const HostFigures& host) {
           out.add({{"host", host.info.host}}, host.waiting);
         }},
    {.name = "reclaim_devices_maintenance",
     .labels = "host",
     .help = "Devices in maintenance.",
     .write =
         [](Samples& out, const HostFigures& host) {
           out.add({{"host", host.info.host}}, host.maintenance);
         }},
    {.name = "reclaim_certificates_pending",
     .labels = "host",
     .help = "Devices whose last certificate is not sealed into the host's ledger yet.",
     .write =
         [](Samples& out, const HostFigures& host) {
           out.add({{"host", host.info.host}}, host.certificates_pending);
         }},
};

using Labels = std::vector<Samples::Label>;

// The lines of one sample of a histogram: each bucket has those of the buckets below it, too.
void write_histogram(const WorkerMetricRow& row, Labels labels, const std::vector<double>& numbers,
                     std::string& text) {
  const std::string name(row.name);
  double count = 0;
  const std::string bucket = name + "_bucket";
  Samples buckets(text, bucket);
  for (std::size_t i = 0; i <= row.bounds.size(); ++i) {
    count += numbers[i];
    const std::string bound =
        i < row.bounds.size() ? fmt::format("{}", row.bounds[i]) : std::string("+Inf");
    labels.push_back({"le", bound});
    buckets.add(labels, fmt::format("{}", count));
    labels.pop_back();
  }
  Samples(text, name + "_sum").add(labels, fmt::format("{}", numbers.back()));
  Samples(text, name + "_count").add(labels, fmt::format("{}", count));
}

void write_sample(const std::string& host, const SampleKey& key, const std::vector<double>& numbers,
                  std::string& text) {
  const WorkerMetricRow& row = row_of(key.first);
  const std::vector<std::string_view> names = row.label_names();
  Labels labels{{names[0], host}};
  for (std::size_t i = 0; i < key.second.size(); ++i) {
    labels.push_back({names[i + 1], key.second[i]});
  }
  if (row.type == MetricType::histogram) {
    return write_histogram(row, std::move(labels), numbers, text);
  }
  Samples(text, row.name).add(labels, fmt::format("{}", numbers[0]));
}

bool has_to_end(DeviceState state) {
  return state == DeviceState::pending_cleaning || state == DeviceState::cleaning ||
         state == DeviceState::error;
}

}  // namespace

std::span<const Metric> metrics() {
  return kMetrics;
}

MetricsPage::MetricsPage(Fleet fleet, WallMs now, std::int64_t silence_max_ms, bool openmetrics)
    : devices_(std::move(fleet.devices)),
      worker_texts_(std::move(fleet.worker_texts)),
      next_text_(worker_texts_->begin()),
      worker_lines_(worker_metric_rows().size()),
      openmetrics_(openmetrics) {
  for (HostInfo& info : fleet.hosts) {
    HostFigures& figures = hosts_[info.host];
    figures.up = info.heartbeat_at.ms != 0 && !info.stopped &&
                 now.ms - info.heartbeat_at.ms <= silence_max_ms;
    figures.info = std::move(info);
  }
}

bool MetricsPage::go_on() {
  if (counted_ < devices_->hosts.size()) {
    count(*devices_->hosts[counted_]);
    counted_ += 1;
    return true;
  }
  if (metric_ < std::size(kMetrics)) {
    write_some();
    return true;
  }
  if (next_text_ != worker_texts_->end()) {
    read_worker(next_text_->first, next_text_->second);
    ++next_text_;
    return true;
  }
  if (row_ == worker_lines_.size()) return false;
  write_worker_metric();
  row_ += 1;
  return true;
}

// Nothing is measured of a worker that is gone.
void MetricsPage::read_worker(const std::string& host, const std::string& text) {
  const auto figures = hosts_.find(host);
  if (figures == hosts_.end() || !figures->second.up) return;
  for (const auto& [key, numbers] : decode_worker_samples(text)) {
    write_sample(host, key, numbers, worker_lines_[static_cast<std::size_t>(key.first)]);
  }
}

void MetricsPage::write_worker_metric() {
  constexpr std::string_view kCounterEnd = "_total";
  const WorkerMetricRow& row = worker_metric_rows()[row_];
  if (worker_lines_[row_].empty()) return;
  std::string_view name = row.name;
  // A counter's head is without its end there.
  if (openmetrics_ && row.type == MetricType::counter) name.remove_suffix(kCounterEnd.size());
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, row.help, to_string(row.type));
  text_ += worker_lines_[row_];
}

void MetricsPage::count(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    HostFigures& figures = hosts_[device.host];
    figures.info.host = device.host;
    const auto state = static_cast<std::size_t>(device.state);
    figures.devices.at(static_cast<std::size_t>(device.flow)).at(state) += 1;
    if (device.certificate_pending) figures.certificates_pending += 1;
    if (device.maintenance) {
      figures.maintenance += 1;
      continue;
    }
    if (device.held) figures.held += 1;
    if (device.waits) figures.waiting += 1;
    if (has_to_end(device.state)) {
      figures.unavailable.push_back({device.address, device.state, device.state_since});
    }
    std::optional<WallMs>& oldest = figures.oldest.at(state);
    if (!oldest || device.state_since < *oldest) oldest = device.state_since;
  }
}

void MetricsPage::write_some() {
  const Metric& metric = kMetrics[metric_];
  if (text_.empty()) next_ = hosts_.begin();  // the first of all pieces: all hosts are known now
  if (next_ == hosts_.begin()) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", metric.name, metric.help);
  }
  Samples out(text_, metric.name);
  for (std::size_t n = 0; n < kHostsPerPiece && next_ != hosts_.end(); ++n, ++next_) {
    metric.write(out, next_->second);
  }
  if (next_ != hosts_.end()) return;
  metric_ += 1;
  next_ = hosts_.begin();
}

bool accepts_openmetrics(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos;
}

}  // namespace reclaim::api
