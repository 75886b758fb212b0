// The device API of the Cyborg specification as a function from a request to a response, without
// sockets: routing, microversions, who may do what, and what is in Redis for the whole fleet.
// listener/http/server.h brings the requests.
//
// Thread: the loop's. Owns the short-lived view of the fleet it answers from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/api/loop_budget.h"
#include "handlers/api/policy.h"
#include "placement/keystone/tokens.h"
#include "state/base/callback.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/device/certificates.h"
#include "state/device/metrics_texts.h"
#include "state/device/store.h"

namespace reclaim::api {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;  // upper case
  std::string target;  // as it stood in the request line: "/v2/devices?type=NVME"
  std::vector<Header> headers;
  std::string body;
  std::string request_id;  // "req-<uuid>", made by the server, echoed as X-Openstack-Request-Id
  std::string base_url;    // "http://host:port" as the client called it, for links; no slash
};

struct Response {
  int status = 200;
  std::vector<Header> headers;  // without Content-Length, Date and Connection, which HTTP adds
  std::string body;
  // The caller, for the access log, where authentication got that far; never a token.
  std::string user_id;
  std::string project_id;
};

struct Options {
  bool authenticate = true;          // [api] auth = keystone; false: every caller is the admin
  std::string www_authenticate_uri;  // of a 401's WWW-Authenticate: Keystone uri="…"
  // A worker whose heartbeat is older cannot be said to clean anything.
  std::int64_t heartbeat_max_ms = 300'000;
  bool metrics = false;                // /metrics is answered, without a token
  std::int64_t fleet_view_ms = 1'000;  // how long what was read of Redis may be answered from
};

struct Ports {
  Store& store;
  Certificates& certificates;
  MetricsTexts& worker_metrics;
  placement::Tokens* tokens;  // null with Options::authenticate = false
  const Clock& clock;
  Logger& log;
  LoopBudget& turns;
  // Gives an order for `host` its code (state/certificate/order_seal.h); none, or one that leaves
  // it without: this node has no key for orders that accept something.
  std::function<void(const std::string& host, Order& order)> seal = nullptr;
};

class Api final {
 public:
  Api(Ports ports, Policy policy, Options options);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // `done` is called exactly once, perhaps before handle() returns; never after the Api is gone.
  void handle(Request request, Once<Response> done);

  // Judges by these rules from now on.
  void use(Policy policy);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reclaim::api
