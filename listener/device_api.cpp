#include "listener/device_api.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "config/load.h"
#include "config/module_options.h"
#include "state/certificate/order_seal.h"

namespace reclaim::listener {
namespace {

using Seal = std::function<void(const std::string& host, Order& order)>;

// Seals with this node's key of orders, usually the master; none: nothing is sealed.
Result<Seal> order_seal(const config::Settings& settings) {
  if (settings.order_key_file.empty()) return Seal(nullptr);
  auto key = OrderKey::load(settings.order_key_file);
  if (!key) return std::move(key).error();
  const auto seal = std::make_shared<const OrderSeal>(settings.host, std::nullopt, *std::move(key));
  return Seal([seal](const std::string& host, Order& order) { seal->seal(host, order); });
}

}  // namespace

DeviceApi::DeviceApi(uv_loop_t* loop, Logger& log) : log_(log), turns_(loop), timers_(loop) {}

// The server goes first, so that no request comes to an API that is gone.
DeviceApi::~DeviceApi() = default;

Result<std::unique_ptr<DeviceApi>> DeviceApi::create(uv_loop_t* loop,
                                                     const config::Settings& settings,
                                                     RedisStore& store, const Clock& clock,
                                                     Logger& log) {
  std::unique_ptr<DeviceApi> out(new DeviceApi(loop, log));  // NOLINT: private constructor
  if (settings.api.auth == config::ApiAuth::keystone) {
    if (Status made = out->validate_tokens(loop, settings, clock, log); !made) {
      return made.error().wrap("[keystone_authtoken]");
    }
  }
  auto policy = api::Policy::create(settings.policy_rules);
  if (!policy) return policy.error().wrap(settings.policy_file);
  auto seal = order_seal(settings);
  if (!seal) return seal.error().wrap("[security] order_key_file");
  out->api_ = std::make_unique<api::Api>(api::Ports{store, store, store, out->tokens_.get(), clock,
                                                    log, out->turns_, *std::move(seal)},
                                         *std::move(policy), api_options(settings));
  auto server = HttpServer::create(
      loop, settings.api.http,
      [api = out->api_.get()](api::Request request, Once<api::Response> done) {
        api->handle(std::move(request), std::move(done));
      },
      clock, log);
  if (!server) return server.error().wrap("[api]");
  out->server_ = std::move(server).value();
  return out;
}

void DeviceApi::reload(const config::Settings& settings) {
  const Status policy = reload_policy(settings);
  if (policy) {
    log_.info(log_name::kApi, fmt::format("policy file {} was read again", settings.policy_file));
  } else {
    log_.error(log_name::kApi, "the policy stays as it was read last, for the file cannot be used",
               {{"why", policy.error().what}});
  }
  if (settings.api.http.tls_cert_file.empty()) return;
  const Status tls = server_->reload_tls();
  if (tls) {
    log_.info(log_name::kApi,
              fmt::format("TLS certificate {} was read again, and new connections get it",
                          settings.api.http.tls_cert_file));
  } else {
    log_.error(log_name::kApi,
               "the TLS certificate stays as it was read last, for the files cannot be used",
               {{"why", tls.error().what}});
  }
}

Status DeviceApi::reload_policy(const config::Settings& settings) {
  const auto loaded = config::load_policy(settings);
  if (!loaded) return loaded.error();
  for (const config::Problem& warning : loaded->warnings) {
    log_.warning(log_name::kApi, config::to_text({warning}));
  }
  auto policy = api::Policy::create(loaded->rules);
  if (!policy) return policy.error().wrap(settings.policy_file);
  api_->use(*std::move(policy));
  return Ok{};
}

Status DeviceApi::validate_tokens(uv_loop_t* loop, const config::Settings& settings,
                                  const Clock& clock, Logger& log) {
  auto options = config::token_options(settings);
  if (!options) return std::move(options).error();
  auto transport = placement::CurlTransport::create(loop, options->session);
  if (!transport) return std::move(transport).error();
  transport_ = std::move(transport).value();
  auto tokens = placement::TokenValidator::create(
      *std::move(options), placement::Ports{*transport_, timers_, clock, log});
  if (!tokens) return std::move(tokens).error();
  tokens_ = std::move(tokens).value();
  return Ok{};
}

api::Options api_options(const config::Settings& settings) {
  api::Options out;
  out.authenticate = settings.api.auth == config::ApiAuth::keystone;
  out.www_authenticate_uri = settings.www_authenticate_uri;
  out.metrics = settings.api.metrics;
  // A worker beats once a survey; three that are missing are no accident.
  constexpr std::int64_t kMissedMax = 3;
  out.heartbeat_max_ms =
      std::max(out.heartbeat_max_ms, settings.conductor.survey_interval_ms * kMissedMax);
  return out;
}

}  // namespace reclaim::listener
