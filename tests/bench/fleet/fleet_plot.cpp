// From the figures of several runs of fleet_bench (-f json), of fleets of different sizes: the
// pictures of docs/scaling.md, and its tables in Markdown on standard output.
//
//   fleet_plot FOLDER RUN.json...      the pictures go to FOLDER
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "cli/chart.h"
#include "state/base/check.h"
#include "state/base/json.h"

namespace reclaim::fleet {
namespace {

constexpr std::size_t kRunBytesMax = 1U << 20U;
constexpr std::string_view kGreen = "#17693a";
constexpr std::string_view kOchre = "#c98b1b";
constexpr std::string_view kRed = "#a3342a";
constexpr std::array<std::size_t, 7> kSizes{100, 500, 1'000, 2'000, 3'000, 5'000, 10'000};
constexpr double kDevices = 8;

class Run final {
 public:
  explicit Run(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto read = json::parse(text, kRunBytesMax);
    if (!read) {
      fmt::print(stderr, "{}: {}; the output of fleet_bench -f json is needed\n", path,
                 read.error().what);
      std::exit(2);
    }
    document_ = *std::move(read);
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return json::get_number(document_, name).ok();
  }
  // 0 where the run did not measure it.
  [[nodiscard]] double operator[](std::string_view name) const {
    const auto value = json::get_number(document_, name);
    return value.ok() ? *value : 0;
  }
  [[nodiscard]] std::size_t rounded(std::string_view name, double times = 1) const {
    return static_cast<std::size_t>(std::llround(std::max((*this)[name] * times, 0.0)));
  }

 private:
  rapidjson::Document document_;
};

// A picture that stands in a file of its own says what it is.
void write_picture(const std::string& path, std::string svg) {
  const std::string element = "<svg ";
  svg.replace(0, element.size(), element + "xmlns=\"http://www.w3.org/2000/svg\" ");
  std::ofstream file(path);
  file << svg;
  CHECK(file.good());
}

std::vector<std::string> sizes_of(const std::vector<Run>& runs) {
  std::vector<std::string> labels;
  labels.reserve(runs.size());
  for (const Run& run : runs) labels.push_back(fmt::format("{} hosts", run.rounded("hosts")));
  return labels;
}

cli::Series series(const std::vector<Run>& runs, const std::string& name, std::string_view color,
                   std::string_view field, double times) {
  cli::Series out{name, std::string(color), {}};
  for (const Run& run : runs) out.values.push_back(run.rounded(field, times));
  return out;
}

// Stacked: half of the cleanings end within the first part, 95 of 100 within the second.
void draw_times(const std::string& folder, const std::vector<Run>& runs) {
  cli::Series half{"half within", std::string(kGreen), {}};
  cli::Series most{"95 % within", std::string(kOchre), {}};
  cli::Series nearly_all{"99 % within", std::string(kRed), {}};
  for (const Run& run : runs) {
    const std::size_t p50 = run.rounded("clean_p50_s", 1'000);
    const std::size_t p95 = std::max(run.rounded("clean_p95_s", 1'000), p50);
    half.values.push_back(p50);
    most.values.push_back(p95 - p50);
    nearly_all.values.push_back(std::max(run.rounded("clean_p99_s", 1'000), p95) - p95);
  }
  write_picture(folder + "/time-to-clean.svg",
                cli::column_chart("Milliseconds from the notification to reserved = 0",
                                  sizes_of(runs), {half, most, nearly_all}));
}

void draw(const std::string& folder, const std::vector<Run>& runs) {
  const auto draw_one = [&](const std::string& file, const std::string& title,
                            const std::string& name, std::string_view field, double times) {
    write_picture(
        folder + "/" + file,
        cli::column_chart(title, sizes_of(runs), {series(runs, name, kGreen, field, times)}));
  };
  draw_one("idle-placement.svg", "Placement requests a minute and idle host",
           "Placement, a minute and host", "idle_placement_per_host_minute", 1);
  draw_one("idle-redis.svg", "Redis commands a minute and idle host", "Redis, a minute and host",
           "idle_redis_per_host_minute", 1);
  draw_one("idle-processor.svg", "Percent of a processor for 1,000 idle hosts",
           "percent for 1,000 hosts", "idle_cpu_percent_per_1000_hosts", 1);
  draw_one("redis-memory.svg", "Bytes of Redis a device", "bytes a device",
           "redis_bytes_per_device", 1);
  draw_times(folder, runs);
}

void print_measured(const std::vector<Run>& runs) {
  struct Row {
    const char* text;
    const char* field;
    int decimals;
  };
  constexpr std::array<Row, 22> kRows{{
      {"idle: Placement requests, a minute and host", "idle_placement_per_host_minute", 1},
      {"idle: Placement requests a second", "idle_placement_per_s", 1},
      {"idle: Redis commands, a minute and host", "idle_redis_per_host_minute", 1},
      {"idle: Redis commands a second", "idle_redis_per_s", 1},
      {"idle: RabbitMQ, percent of a processor", "idle_rabbit_cpu_percent", 1},
      {"idle: percent of a processor for 1,000 hosts", "idle_cpu_percent_per_1000_hosts", 1},
      {"Redis: bytes a device", "redis_bytes_per_device", 0},
      {"resident memory, MB a host", "resident_mb_per_host", 2},
      {"deletions", "deletions", 0},
      {"deletions: events that RabbitMQ delivered", "messages_delivered", 0},
      {"deletions: tokens of Keystone", "storm_tokens", 0},
      {"restart of all: tokens of Keystone", "restart_tokens", 0},
      {"time to clean: half within, s", "clean_p50_s", 2},
      {"time to clean: 95 % within, s", "clean_p95_s", 2},
      {"time to clean: 99 % within, s", "clean_p99_s", 2},
      {"cleaned a second", "cleaned_per_s", 1},
      {"deletions: Placement requests a cleaning, idle ones included", "placement_per_clean", 1},
      {"deletions: Placement requests in the busiest second", "storm_placement_peak_per_s", 0},
      {"deletions: Redis commands a cleaning, idle ones included", "redis_per_clean", 1},
      {"deletions: the workers' processor time a cleaning, ms", "workers_cpu_ms_per_clean", 1},
      {"restart of all: seconds until each host was surveyed", "restart_s", 1},
      {"restart of all: Placement requests in the busiest second", "restart_placement_peak_per_s",
       0},
  }};
  fmt::print("| hosts, each with {:.0f} devices |", runs.back()["drives_per_host"]);
  for (const Run& run : runs) fmt::print(" {} |", run.rounded("hosts"));
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < runs.size(); ++i) fmt::print("---|");
  for (const Row& row : kRows) {
    fmt::print("\n| {} |", row.text);
    for (const Run& run : runs) {
      fmt::print(" {} |",
                 run.has(row.field) ? fmt::format("{:.{}f}", run[row.field], row.decimals) : "");
    }
  }
  fmt::print("\n\n");
}

// What the cleanings took beyond what the fleet takes anyway.
double beyond_idle(const Run& run, const std::string& service) {
  const double a_second = run["storm_" + service + "_per_s"] - run["idle_" + service + "_per_s"];
  return a_second * run["storm_s"] / std::max(run["deletions"], 1.0);
}

// From the largest run, for nothing grows with the fleet but what each host brings.
void print_sizing(const Run& run) {
  const double placement = run["idle_placement_per_host_minute"] / 60;
  const double redis = run["idle_redis_per_host_minute"] / 60;
  const double redis_cpu_us =
      10'000 * run["idle_redis_cpu_percent"] / std::max(run["idle_redis_per_s"], 1.0);
  const double clean = beyond_idle(run, "placement");
  fmt::print(
      "a second and idle host: {:.3f} requests of Placement, {:.3f} commands of Redis at "
      "{:.0f} us; a cleaning: {:.0f} requests, {:.0f} commands; a device: {:.0f} bytes\n\n",
      placement, redis, redis_cpu_us, clean, beyond_idle(run, "redis"),
      run["redis_bytes_per_device"]);
  fmt::print(
      "| hosts | devices | idle: Placement, requests a second | idle: Redis, commands a second | "
      "idle: Redis, % of a processor | Redis, MB | a tenth of the devices cleaned: Placement, "
      "requests |\n|---|---|---|---|---|---|---|\n");
  for (const std::size_t hosts : kSizes) {
    const auto count = static_cast<double>(hosts);
    const double devices = count * kDevices;
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.1f} | {:.0f} | {:.0f} |\n", hosts, devices,
               count * placement, count * redis, count * redis * redis_cpu_us / 10'000,
               devices * run["redis_bytes_per_device"] / 1e6, devices / 10 * clean);
  }
}

int plot_main(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) == "--help") {
    fmt::print(
        "fleet_plot FOLDER RUN.json...   the pictures and tables of docs/scaling.md, from "
        "what\n                                fleet_bench -f json printed\n");
    return argc < 3 ? 2 : 0;
  }
  std::vector<Run> runs;
  for (int i = 2; i < argc; ++i) runs.emplace_back(argv[i]);
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a["hosts"] < b["hosts"]; });
  draw(argv[1], runs);
  print_measured(runs);
  print_sizing(runs.back());
  return 0;
}

}  // namespace
}  // namespace reclaim::fleet

int main(int argc, char** argv) {
  return reclaim::fleet::plot_main(argc, argv);
}
