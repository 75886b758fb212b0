// The device API of a running worker, put together: the HTTP server, the API behind it, the policy,
// and the validation of tokens with a transport of its own.
//
// Thread: the loop's. Owns all of these; the store, clock and log are the worker's.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "handlers/api/api.h"
#include "listener/http/loop_budget.h"
#include "listener/http/server.h"
#include "placement/http/curl_transport.h"
#include "placement/keystone/token_validator.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/uv_timers.h"
#include "state/redis/store.h"

namespace reclaim::listener {

class DeviceApi final {
 public:
  // Binds at once; [api] must be on. Errc::invalid or what the system said of an address.
  [[nodiscard]] static Result<std::unique_ptr<DeviceApi>> create(uv_loop_t* loop,
                                                                 const config::Settings& settings,
                                                                 RedisStore& store,
                                                                 const Clock& clock, Logger& log);
  ~DeviceApi();
  DeviceApi(const DeviceApi&) = delete;
  DeviceApi& operator=(const DeviceApi&) = delete;

  [[nodiscard]] std::vector<std::string> addresses() const { return server_->addresses(); }
  [[nodiscard]] HttpServerCounters counters() const { return server_->counters(); }

  // Reads the policy file and the certificate anew. What cannot be used is told in the log, and
  // what was read before it stays.
  void reload(const config::Settings& settings);

  // Stops as HttpServer::stop() does.
  void stop(Once<> stopped) { server_->stop(std::move(stopped)); }

 private:
  DeviceApi(uv_loop_t* loop, Logger& log);

  [[nodiscard]] Status validate_tokens(uv_loop_t* loop, const config::Settings& settings,
                                       const Clock& clock, Logger& log);
  [[nodiscard]] Status reload_policy(const config::Settings& settings);

  Logger& log_;
  HttpLoopBudget turns_;  // of the API's own work; the server has as much again for its connections
  UvTimers timers_;
  std::unique_ptr<placement::CurlTransport> transport_;
  std::unique_ptr<placement::TokenValidator> tokens_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<HttpServer> server_;
};

// [api] in the words of what it is told to. Pure.
[[nodiscard]] api::Options api_options(const config::Settings& settings);

}  // namespace reclaim::listener
