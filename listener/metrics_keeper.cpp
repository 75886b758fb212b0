#include "listener/metrics_keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "handlers/api/metrics.h"
#include "state/base/durable_file.h"

namespace reclaim::listener {
namespace {

constexpr std::uint64_t kIntervalMs = 15'000;
constexpr int kQuietMax = 3;    // intervals in which nothing is told to Redis: one in four is
constexpr mode_t kMode = 0644;  // node_exporter is another user

Status replace(const std::string& path, const std::string& text) {
  // node_exporter reads what ends in .prom.
  const std::string beside = path + ".tmp";
  {
    // The file is our own, whatever another user of the folder has put there.
    ::unlink(beside.c_str());
    const auto file =
        durable_file::File::open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
    if (!file) return file.error();
    if (::fchmod(file->fd(), kMode) != 0) {
      return Error{Errc::failed, beside + ": " + std::strerror(errno), errno};
    }
    if (Status written = file->write_all(text); !written) return written;
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    return Error{Errc::failed, path + ": " + std::strerror(errno), errno};
  }
  return Ok{};
}

}  // namespace

MetricsKeeper::MetricsKeeper(uv_loop_t* loop, MetricsKeeperOptions options, WorkerMetrics& metrics,
                             MetricsTexts& texts, Logger& log)
    : options_(std::move(options)), metrics_(metrics), texts_(texts), log_(log), timer_(loop) {}

void MetricsKeeper::start(std::function<Snapshot()> look) {
  look_ = std::move(look);
  timer_.start(0, kIntervalMs, [this] { keep(); });
}

void MetricsKeeper::stop() {
  timer_.stop();
  if (!options_.textfile.empty() && look_) write(page(look_(), true, {}));
}

void MetricsKeeper::keep() {
  const Snapshot now = look_();
  std::string samples = encode(metrics_.samples(now.totals, now.records));
  if (is_news(now) || ++quiet_ > kQuietMax) {
    quiet_ = 0;
    // The next ones have what is lost while Redis is away.
    texts_.save_metrics(options_.host, samples, [](const Result<Ok>& /*saved*/) {});
  }
  if (!options_.textfile.empty()) write(page(now, false, std::move(samples)));
}

// True if more has changed than a survey and its requests, which an idle worker makes each minute.
bool MetricsKeeper::is_news(const Snapshot& now) {
  WorkerTotals totals = now.totals;
  totals.surveys = 0;
  totals.survey_at.reset();
  std::uint64_t moves = 0;
  for (const Record& record : now.records) moves += record.epoch;
  const bool same = told_ == std::make_pair(totals, moves);
  told_ = {std::move(totals), moves};
  return !same;
}

std::string MetricsKeeper::page(const Snapshot& now, bool stopped, std::string samples) const {
  HostInfo info = now.host;
  info.stopped = stopped;
  std::vector<api::Device> devices;
  devices.reserve(now.records.size());
  for (const Record& record : now.records) devices.push_back(api::device_of(record));
  api::MetricsPage made(
      {{info},
       std::make_shared<const api::Devices>(api::Devices{
           {std::make_shared<const std::vector<api::Device>>(std::move(devices))}, {}}),
       std::make_shared<const api::WorkerTexts>(
           api::WorkerTexts{{options_.host, std::move(samples)}})},
      info.heartbeat_at, 1, false);
  while (made.go_on()) {
  }
  return made.take();
}

void MetricsKeeper::write(const std::string& text) {
  const Status written = replace(options_.textfile, text);
  const std::string problem = written ? std::string() : written.error().what;
  if (problem != problem_ && !problem.empty()) {
    log_.warning(log_name::kService,
                 "[metrics] textfile: " + problem +
                     "; create the folder, and let the unit write there (ReadWritePaths= in "
                     "`systemctl edit reclaim`)");
  }
  problem_ = problem;
}

}  // namespace reclaim::listener
