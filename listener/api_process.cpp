// `reclaim api`: what strangers send is parsed by a process that has no drive, no ledger and no
// privilege. It reads Redis for the whole fleet, asks Keystone whose token it is, and passes on
// orders that the worker of the device's host judges again.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "config/module_options.h"
#include "listener/device_api.h"
#include "listener/process.h"
#include "listener/service_manager.h"
#include "listener/signals.h"
#include "state/base/clock.h"
#include "state/base/uv.h"
#include "state/redis/store.h"
#include "version.h"

namespace reclaim::listener {
namespace {

constexpr std::uint64_t kReportMs = 600'000;
constexpr std::int64_t kStopMaxMs = 8'000;

class ApiProcess final {
 public:
  ApiProcess(uv_loop_t* loop, const config::Settings& settings, Logger& log)
      : loop_(loop),
        settings_(settings),
        log_(log),
        alive_timer_(loop),
        report_timer_(loop),
        stop_timer_(loop) {}

  Status start() {
    log_.info(log_name::kService,
              fmt::format("reclaim {} starting to answer the device API", kVersion));
    RedisStoreOptions redis;
    redis.redis = settings_.redis;
    redis.hosts_max = settings_.hosts_max;
    auto store = RedisStore::create(loop_, std::move(redis), clock_, log_);
    if (!store) return std::move(store).error();
    store_ = std::move(store).value();
    auto api = DeviceApi::create(loop_, settings_, *store_, clock_, log_);
    if (!api) return std::move(api).error();
    api_ = std::move(api).value();
    store_->on_state([this](const RedisState& state) { on_redis(state); });
    store_->start();
    for (const std::string& address : api_->addresses()) {
      log_.info(log_name::kService, "the device API listens at " + address);
    }
    report_timer_.start(kReportMs, kReportMs, [this] { report_counters(); });
    if (manager_.alive_interval_ms() > 0) {
      alive_timer_.start(0, manager_.alive_interval_ms(), [this] { manager_.alive(); });
    }
    // While Redis is away it answers with 503, which says more than a closed port.
    manager_.ready(fmt::format("listening at {}", fmt::join(api_->addresses(), ", ")));
    log_.info(log_name::kService, "ready");
    return Ok{};
  }

  void reload() {
    log_.reopen();
    if (!stopping_) api_->reload(settings_);
  }

  // Stops as Daemon::stop() does.
  void stop(Once<> stopped) {
    if (std::exchange(stopping_, true)) return stopped.drop();
    stopped_ = std::move(stopped);
    log_.info(log_name::kService, "stopping");
    manager_.stopping();
    report_timer_.stop();
    report_counters();
    stop_timer_.after(kStopMaxMs, [this] { finish(); });
    // Redis is needed for the callers that are still answered.
    api_->stop([this] { finish(); });
  }

 private:
  void on_redis(const RedisState& state) {
    if (stopping_ || state.connected == redis_was_connected_) return;
    redis_was_connected_ = state.connected;
    if (state.connected) return log_.info(log_name::kService, "connected to Redis");
    log_.warning(log_name::kService, "Redis is away: callers are answered with 503",
                 {{"why", state.last_error}});
  }

  // Shows the counters where `systemctl status` has them, and in the log now and then.
  void report_counters() {
    const HttpServerCounters seen = api_->counters();
    const std::string line =
        fmt::format("connections: {}; requests: {}, {} bad, {} turned away", seen.connections,
                    seen.requests, seen.bad_requests, seen.turned_away);
    manager_.status(line);
    log_.info(log_name::kService, line);
  }

  void finish() {
    if (finished_) return;
    finished_ = true;
    alive_timer_.stop();
    stop_timer_.stop();
    store_->close();
    log_.info(log_name::kService, "stopped");
    stopped_();
  }

  uv_loop_t* loop_;
  const config::Settings& settings_;
  Logger& log_;
  SystemClock clock_;
  ServiceManager manager_;
  std::unique_ptr<RedisStore> store_;
  std::unique_ptr<DeviceApi> api_;
  uv::Timer alive_timer_;
  uv::Timer report_timer_;
  uv::Timer stop_timer_;
  Once<> stopped_;
  bool stopping_ = false;
  bool redis_was_connected_ = false;
  bool finished_ = false;
};

}  // namespace

Result<int> run_api(const config::Settings& settings, const config::LoadRequest& /*files*/,
                    Logger& log) {
  uv::Loop loop;
  {
    ApiProcess process(loop.raw(), settings, log);
    if (const Status started = process.start(); !started) return started.error();
    const Signals signals(
        loop.raw(), [&process, &loop] { process.stop([&loop] { loop.stop(); }); },
        [&process] { process.reload(); });
    loop.run();
  }
  return 0;
}

}  // namespace reclaim::listener
