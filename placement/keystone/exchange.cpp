#include "placement/keystone/exchange.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/enum_names.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim::placement {
namespace {

constexpr std::int64_t kRenewBeforeExpiryMs = 120'000;
constexpr std::int64_t kAskedMaxS = 30;
constexpr std::size_t kErrorBodyBytesMax = std::size_t{64} * 1'024;
constexpr std::size_t kDetailBytesMax = 400;

bool overloaded(int status) {
  return status == 429 || status >= 500;
}

// "  There was a conflict.\n\n resource provider generation conflict  " -> one line.
std::string one_line(std::string_view text) {
  std::string line;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      blank = !line.empty();
      continue;
    }
    if (blank) line.push_back(' ');
    blank = false;
    line.push_back(c);
  }
  return line;
}

}  // namespace

std::string_view to_string(RequestKind kind) {
  return enum_names<RequestKind::validate>("token", "versions", "find_root", "list_tree",
                                           "list_by_trait", "inventories", "allocations",
                                           "set_inventory", "register_device", "traits", "arqs",
                                           "devices", "deployables", "validate")[kind];
}

std::string_view to_string(Method method) {
  return enum_names<Method::post>("GET", "PUT", "POST")[method];
}

std::optional<Pause> Backoff::next(std::int64_t asked_s) {
  if (left_ <= 0) return std::nullopt;
  --left_;
  const auto asked_ms = static_cast<int>(std::clamp(asked_s, std::int64_t{0}, kAskedMaxS) * 1'000);
  const Pause pause{std::max(std::min(delay_ms_, delay_max_ms_), asked_ms)};
  delay_ms_ = std::min(delay_ms_, delay_max_ms_ / 2) * 2;
  return pause;
}

Login::Login(Options options, std::optional<Session> former, const Service& service)
    : options_(std::move(options)),
      service_(service),
      former_(std::move(former)),
      connect_(options_.connect_retries, options_.connect_retry_delay_ms,
               options_.retry_delay_max_ms),
      status_(options_.status_code_retries, options_.status_code_retry_delay_ms,
              options_.retry_delay_max_ms) {}

Login::Step Login::start() {
  return send();
}

Login::Step Login::on_pause_over() {
  return send();
}

Login::Step Login::send() {
  if (has_token_) {
    return Send{RequestKind::versions,
                HttpRequest{"GET",
                            fmt::format("{}{}", session_.endpoint, service_.version_path),
                            {{"Accept", "application/json"}},
                            ""}};
  }
  auto request = token_request(options_);
  if (!request.ok()) return Finished<Session>{std::move(request).error()};
  return Send{RequestKind::token, *std::move(request)};
}

Login::Step Login::retry_or_fail(Error error, Backoff& backoff) {
  if (error.code == Errc::unavailable) {
    if (const auto pause = backoff.next()) return *pause;
  }
  return Finished<Session>{std::move(error)};
}

Login::Step Login::on_answer(const Result<HttpResponse>& answer, Now now) {
  if (answer.ok()) return has_token_ ? on_versions(*answer) : on_token(*answer, now);
  Error error = answer.error().wrap(has_token_ ? service_.name : "Keystone");
  // A login changes nothing that matters, so an answer that never came is as good as none sent.
  if (error.code == Errc::unknown) error.code = Errc::unavailable;
  return retry_or_fail(std::move(error), connect_);
}

Login::Step Login::on_token(const HttpResponse& response, Now now) {
  const auto body_bytes_max = static_cast<std::size_t>(options_.body_bytes_max);
  auto token = parse_token(response, body_bytes_max);
  if (!token.ok()) return retry_or_fail(std::move(token).error(), status_);
  auto endpoint = choose_endpoint(options_, token->catalog);
  if (endpoint.ok()) endpoint = service_.base_url(*endpoint);
  if (!endpoint.ok()) return Finished<Session>{std::move(endpoint).error()};
  // A token that lives for minutes only is renewed at half its life, lest every request renews it.
  const std::int64_t margin_ms = std::min(kRenewBeforeExpiryMs, token->life_ms / 2);
  session_.token = std::move(token->id);
  session_.endpoint = *std::move(endpoint);
  session_.roles = std::move(token->roles);
  session_.renew_at = MonoMs{now.mono.ms + token->life_ms - margin_ms};
  has_token_ = true;
  if (service_.api.empty()) return Finished<Session>{session_};
  if (former_ && former_->endpoint == session_.endpoint &&
      former_->microversion == service_.wanted) {
    session_.microversion = former_->microversion;
    session_.bare_version = former_->bare_version;
    return Finished<Session>{session_};
  }
  return send();
}

Login::Step Login::on_versions(const HttpResponse& response) {
  const auto body_bytes_max = static_cast<std::size_t>(options_.body_bytes_max);
  auto version = choose_microversion(response, body_bytes_max, service_);
  if (!version.ok()) return retry_or_fail(std::move(version).error(), status_);
  session_.microversion = *version;
  session_.bare_version = wants_bare_version(response);
  return Finished<Session>{session_};
}

Exchange::Exchange(const Options& options, ApiRequest request, const Service& service)
    : service_(service),
      request_(std::move(request)),
      connect_(options.connect_retries, options.connect_retry_delay_ms, options.retry_delay_max_ms),
      status_(options.status_code_retries, options.status_code_retry_delay_ms,
              options.retry_delay_max_ms) {}

Exchange::Step Exchange::start() {
  return NeedSession{};
}

Exchange::Step Exchange::on_session(const Result<Session>& session) {
  // Whatever kept us from logging in, the request itself was not sent.
  if (!session.ok()) return Finished<HttpResponse>{session.error()};
  session_ = *session;
  return send();
}

Exchange::Step Exchange::on_pause_over() {
  return send();
}

Exchange::Step Exchange::send() {
  HttpRequest request;
  request.method = to_string(request_.method);
  request.url = session_.endpoint + request_.path;
  request.headers = {{"X-Auth-Token", session_.token}};
  if (!service_.api.empty()) {
    const std::string version = to_string(session_.microversion);
    request.headers.push_back(
        {"OpenStack-API-Version",
         session_.bare_version ? version : fmt::format("{} {}", service_.api, version)});
  }
  request.headers.push_back({"Accept", "application/json"});
  request.headers.insert(request.headers.end(), request_.headers.begin(), request_.headers.end());
  if (!request_.body.empty()) request.headers.push_back({"Content-Type", "application/json"});
  request.body = request_.body;
  return Send{request_.kind, std::move(request)};
}

Exchange::Step Exchange::on_answer(Result<HttpResponse> answer) {
  if (!answer.ok()) return on_transport_error(std::move(answer).error());
  if (answer->status == 401 && !reauthenticated_) {
    // Refused before Placement looked at it, so that even a write may be sent again.
    reauthenticated_ = true;
    return NeedSession{session_.token};
  }
  if (!request_.writes() && overloaded(answer->status)) {
    if (const auto pause = status_.next(answer->retry_after_s)) return *pause;
  }
  return Finished<HttpResponse>{std::move(answer)};
}

Exchange::Step Exchange::on_transport_error(Error error) {
  error = error.wrap(service_.name);
  if (request_.writes()) {
    // The answer was too long to be taken in, but the request had been carried out by then.
    const bool sent = error.code == Errc::limit && error.raw != HttpTransport::kNotSent;
    if (sent) error.code = Errc::unknown;
    return Finished<HttpResponse>{std::move(error)};
  }
  if (error.code == Errc::unavailable || error.code == Errc::unknown) {
    if (const auto pause = connect_.next()) return *pause;
    error.code = Errc::unavailable;
  }
  return Finished<HttpResponse>{std::move(error)};
}

ErrorDetail error_detail(const HttpResponse& response) {
  ErrorDetail found;
  const auto document = json::parse(response.body, kErrorBodyBytesMax);
  if (!document.ok()) return found;
  const rapidjson::Value* errors = json::find(*document, "errors");
  if (errors == nullptr || !errors->IsArray() || errors->Empty()) {
    if (const auto message = json::maybe_string(*document, "error_message")) {
      // WSME's words stand inside, as JSON in a string.
      const auto fault = json::parse(*message, kErrorBodyBytesMax);
      const auto words =
          fault.ok() ? json::maybe_string(*fault, "faultstring") : std::optional<std::string>();
      found.detail = one_line(words.value_or(*message));
      return found;
    }
    // keystonemiddleware answers for itself, in Keystone's form.
    if (const rapidjson::Value* error = json::find(*document, "error")) {
      found.detail = one_line(json::maybe_string(*error, "message").value_or(""));
    }
    return found;
  }
  const rapidjson::Value& first = (*errors)[0];
  found.detail = one_line(json::maybe_string(first, "detail").value_or(""));
  found.code = json::maybe_string(first, "code").value_or("");
  found.max_version = json::maybe_string(first, "max_version").value_or("");
  return found;
}

Result<HttpResponse> triage(const ApiRequest& request, Result<HttpResponse> answer,
                            const Service& service) {
  if (!answer.ok() || (answer->status >= 200 && answer->status < 300)) return answer;
  const HttpResponse& response = *answer;
  const int status = response.status;
  ErrorDetail detail = error_detail(response);
  if (detail.max_version.empty()) {
    detail.max_version = response.header("OpenStack-API-Maximum-Version");
  }
  const auto fail = [&](Errc code, std::string_view why) {
    std::string what =
        fmt::format("{} answered {} to {} {}", service.name, status, to_string(request.method),
                    printable_excerpt(request.path, kDetailBytesMax));
    if (!why.empty()) what += fmt::format(": {}", why);
    if (!detail.detail.empty()) {
      what += fmt::format(": {}", printable_excerpt(detail.detail, kDetailBytesMax));
    }
    const std::string_view id = response.header("x-openstack-request-id");
    if (!id.empty()) what += fmt::format(" ({})", printable_excerpt(id, 60));
    return Error{code, std::move(what), status};
  };
  if (status >= 300 && status < 400) {
    return fail(Errc::invalid,
                "a redirect, which is not followed; set endpoint_override to the service's URL");
  }
  switch (status) {
    case 401:
      return fail(Errc::refused,
                  fmt::format("a new token was refused too; is {}'s keystonemiddleware set to the "
                              "same Keystone?",
                              service.name));
    case 403:
      return fail(Errc::refused,
                  fmt::format("the service user may not do this; {}", service.needed_role));
    case 404:
      return fail(Errc::not_found, "");
    case 406:
      return fail(Errc::invalid, fmt::format("it speaks at most microversion {}",
                                             printable_excerpt(detail.max_version, 20)));
    case 409:
      return detail.code == "placement.concurrent_update"
                 ? fail(Errc::conflict, "the provider was changed since it was read")
                 : fail(Errc::refused, "");
    case 429:
      return fail(Errc::unavailable, "too many requests");
    default:
      break;
  }
  // 408 comes from a proxy that may or may not have handed the request on.
  if (status == 408 || status >= 500) {
    return fail(request.writes() ? Errc::unknown : Errc::unavailable, "");
  }
  return fail(status >= 400 ? Errc::refused : Errc::invalid, "");
}

}  // namespace reclaim::placement
