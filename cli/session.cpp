#include "cli/session.h"

#include <fmt/core.h>

#include "config/machine_facts.h"

namespace reclaim::cli {

Session::Session(const config::Settings& settings, Logger& log)
    : settings_(settings), log_(log), deadline_(std::make_unique<uv::Timer>(loop_.raw())) {}

Session::~Session() {
  if (store_) store_->close();
}

bool Session::run_until(const std::function<bool()>& done, std::int64_t deadline_ms) {
  bool late = false;
  deadline_->start(static_cast<std::uint64_t>(deadline_ms), 0, [&late] { late = true; });
  while (!done() && !late) loop_.run_once();
  deadline_->stop();
  return done();
}

Status Session::wait_connected(const std::function<const RedisState&()>& state) {
  run_until([&state] { return state().connected || !state().last_error.empty(); },
            connect_patience_ms(settings_.redis));
  if (state().connected) return Ok{};
  const std::string& why = state().last_error;
  return Error{Errc::unavailable,
               "Redis: " + (why.empty() ? "no answer from " + describe(settings_.redis) : why)};
}

Result<config::MachineFacts> Session::machine() {
  return config::read_machine_facts(settings_);
}

Result<RedisStore*> Session::store() {
  if (!store_) {
    RedisStoreOptions options;
    options.redis = settings_.redis;
    options.hosts_max = settings_.hosts_max;
    auto store = RedisStore::create(loop_.raw(), std::move(options), clock_, log_);
    if (!store) return std::move(store).error();
    store_ = std::move(store).value();
    store_->start();
  }
  if (auto connected = wait_connected([this]() -> const RedisState& { return store_->state(); });
      !connected) {
    return std::move(connected).error();
  }
  return store_.get();
}

Result<placement::Client*> Session::providers() {
  if (providers_) return providers_.get();
  auto facts = machine();
  if (!facts) return std::move(facts).error();
  auto options = config::placement_options(settings_, *facts);
  if (!options) return std::move(options).error();
  auto transport = placement::CurlTransport::create(loop_.raw(), *options);
  if (!transport) return std::move(transport).error();
  transport_ = std::move(transport).value();
  timers_ = std::make_unique<UvTimers>(loop_.raw());
  auto client = placement::Client::create(*options, *transport_, *timers_, clock_, log_);
  if (!client) return std::move(client).error();
  providers_ = std::move(client).value();
  return providers_.get();
}

nvme::DriveThreads& Session::drives() {
  if (!drives_) {
    nvme::Options options = settings_.nvme;
    options.looks_at_sanitize = true;
    drives_ = std::make_unique<nvme::DriveThreads>(loop_.raw(), std::move(options), clock_, log_,
                                                   config::may_be_asked(settings_));
  }
  return *drives_;
}

Error with_login_remedy(Error error) {
  if (error.what.find("NOPERM") != std::string::npos) {
    error.what +=
        ": [redis] url has to name an operator's user, as docs/redis.md describes it "
        "(reclaim-operator)";
  }
  return error;
}

}  // namespace reclaim::cli
