#include "placement/keystone/keystone.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "placement/http/url.h"
#include "placement/keystone/role_names.h"
#include "state/base/clock.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim::placement {
namespace {

using rapidjson::Value;
using Allocator = rapidjson::Document::AllocatorType;

bool uses_password(const Options& options) {
  return options.auth_type == "password" || options.auth_type == "v3password";
}

Error bad_option(std::string text) {
  return Error{Errc::invalid, std::move(text)};
}

const std::string& first_set(const std::string& a, const std::string& b) {
  return a.empty() ? b : a;
}

Value text(const std::string& value, Allocator& allocator) {
  return Value(value.data(), static_cast<rapidjson::SizeType>(value.size()), allocator);
}

// {"id": …} if there is one, else {"name": …}.
Value by_id_or_name(const std::string& id, const std::string& name, Allocator& allocator) {
  Value object(rapidjson::kObjectType);
  if (!id.empty()) {
    object.AddMember("id", text(id, allocator), allocator);
  } else {
    object.AddMember("name", text(name, allocator), allocator);
  }
  return object;
}

// The default domain stands in only if neither name nor id is set.
Value domain_of(const std::string& id, const std::string& name, const Options& options,
                Allocator& allocator) {
  const bool own = !id.empty() || !name.empty();
  return by_id_or_name(own ? id : options.default_domain_id,
                       own ? name : options.default_domain_name, allocator);
}

// A user by id, or by name within a domain.
Value user_object(const Options& options, Allocator& allocator) {
  Value user = by_id_or_name(options.user_id, options.username, allocator);
  if (options.user_id.empty()) {
    user.AddMember("domain",
                   domain_of(options.user_domain_id, options.user_domain_name, options, allocator),
                   allocator);
  }
  return user;
}

Value identity_object(const Options& options, Allocator& allocator) {
  Value methods(rapidjson::kArrayType);
  Value identity(rapidjson::kObjectType);
  if (uses_password(options)) {
    methods.PushBack("password", allocator);
    Value user = user_object(options, allocator);
    user.AddMember("password", text(options.password, allocator), allocator);
    Value method(rapidjson::kObjectType);
    method.AddMember("user", user, allocator);
    identity.AddMember("methods", methods, allocator);
    identity.AddMember("password", method, allocator);
    return identity;
  }
  methods.PushBack("application_credential", allocator);
  Value method = by_id_or_name(options.application_credential_id,
                               options.application_credential_name, allocator);
  if (options.application_credential_id.empty()) {
    method.AddMember("user", user_object(options, allocator), allocator);
  }
  method.AddMember("secret", text(options.application_credential_secret, allocator), allocator);
  identity.AddMember("methods", methods, allocator);
  identity.AddMember("application_credential", method, allocator);
  return identity;
}

// The scope, or a null value for none.
Value scope_object(const Options& options, Allocator& allocator) {
  Value scope;
  if (!uses_password(options)) return scope;
  if (!options.project_id.empty() || !options.project_name.empty()) {
    Value project = by_id_or_name(options.project_id, options.project_name, allocator);
    if (options.project_id.empty()) {
      project.AddMember(
          "domain",
          domain_of(options.project_domain_id, options.project_domain_name, options, allocator),
          allocator);
    }
    scope.SetObject();
    scope.AddMember("project", project, allocator);
  } else if (!options.domain_id.empty() || !options.domain_name.empty()) {
    scope.SetObject();
    scope.AddMember("domain", by_id_or_name(options.domain_id, options.domain_name, allocator),
                    allocator);
  } else if (!options.system_scope.empty()) {
    Value system(rapidjson::kObjectType);
    system.AddMember("all", true, allocator);
    scope.SetObject();
    scope.AddMember("system", system, allocator);
  }
  return scope;
}

Status check_who(const Options& options) {
  const bool domain_known =
      !first_set(options.user_domain_id, options.user_domain_name).empty() ||
      !first_set(options.default_domain_id, options.default_domain_name).empty();
  const bool by_name = options.user_id.empty();
  if (uses_password(options)) {
    if (by_name && options.username.empty()) {
      return bad_option("username (or user_id) is not set; auth_type password needs one");
    }
    if (options.password.empty()) {
      return bad_option("password is not set; auth_type password needs one");
    }
    if (by_name && !domain_known) {
      return bad_option(
          "user_domain_name (or user_domain_id, or default_domain_name) is not set; "
          "a username needs its domain");
    }
    return Ok{};
  }
  if (options.application_credential_secret.empty()) {
    return bad_option(
        "application_credential_secret is not set; auth_type "
        "v3applicationcredential needs it");
  }
  if (!options.application_credential_id.empty()) return Ok{};
  if (options.application_credential_name.empty()) {
    return bad_option("application_credential_id (or application_credential_name) is not set");
  }
  if (by_name && (options.username.empty() || !domain_known)) {
    return bad_option(
        "an application_credential_name needs its user: user_id, or username with "
        "user_domain_name");
  }
  return Ok{};
}

Status check_scope(const Options& options) {
  const bool project = !first_set(options.project_id, options.project_name).empty();
  const bool domain = !first_set(options.domain_id, options.domain_name).empty();
  const bool system = !options.system_scope.empty();
  if (system && options.system_scope != "all") {
    return bad_option(fmt::format("system_scope is '{}'; the only scope there is, is 'all'",
                                  printable_excerpt(options.system_scope, 60)));
  }
  if (static_cast<int>(project) + static_cast<int>(domain) + static_cast<int>(system) > 1) {
    return bad_option(
        "more than one scope is set; one of project_name, domain_name and "
        "system_scope is accepted");
  }
  if (uses_password(options) && project && options.project_id.empty() &&
      first_set(options.project_domain_id, options.project_domain_name).empty() &&
      first_set(options.default_domain_id, options.default_domain_name).empty()) {
    return bad_option(
        "project_domain_name (or project_domain_id, or default_domain_name) is not "
        "set; a project_name needs its domain");
  }
  return Ok{};
}

// Curl takes 0 for "no limit", and we want one everywhere.
Status check_limits(const Options& options) {
  struct Limit {
    std::string_view name;
    std::int64_t value;
    std::int64_t least;
  };
  for (const Limit& limit :
       {Limit{"timeout", options.timeout_ms, 1},
        Limit{"connect_timeout", options.connect_timeout_ms, 1},
        Limit{"connect_retries", options.connect_retries, 0},
        Limit{"connect_retry_delay", options.connect_retry_delay_ms, 0},
        Limit{"status_code_retries", options.status_code_retries, 0},
        Limit{"status_code_retry_delay", options.status_code_retry_delay_ms, 0},
        Limit{"requests_in_flight", options.requests_in_flight_max, 1},
        Limit{"requests_waiting", options.requests_waiting_max, 1},
        Limit{"body_bytes", options.body_bytes_max, 1}}) {
    if (limit.value < limit.least) {
      return bad_option(fmt::format("the limit {} is {}; at least {} is accepted", limit.name,
                                    limit.value, limit.least));
    }
  }
  return Ok{};
}

// keystoneauth accepts publicURL for public, and so on.
std::string plain_interface(std::string_view name) {
  if (name.ends_with("URL")) name.remove_suffix(3);
  return std::string(name);
}

std::vector<CatalogEndpoint> parse_catalog(const Value& catalog) {
  std::vector<CatalogEndpoint> found;
  if (!catalog.IsArray()) return found;
  for (const Value& service : catalog.GetArray()) {
    const Value* endpoints = json::find(service, "endpoints");
    const auto type = json::maybe_string(service, "type");
    if (!type || endpoints == nullptr || !endpoints->IsArray()) continue;
    for (const Value& endpoint : endpoints->GetArray()) {
      const auto url = json::maybe_string(endpoint, "url");
      if (!url) continue;
      found.push_back({*type, json::maybe_string(service, "name").value_or(""),
                       json::maybe_string(endpoint, "interface").value_or(""),
                       json::maybe_string(endpoint, "region").value_or(""),
                       json::maybe_string(endpoint, "region_id").value_or(""), *url});
    }
  }
  return found;
}

// Keystone's own sentence, from {"error": {"message": …}}.
std::string keystone_says(const HttpResponse& response, std::size_t body_bytes_max) {
  const auto document = json::parse(response.body, body_bytes_max);
  if (document.ok()) {
    if (const Value* error = json::find(*document, "error")) {
      if (const auto message = json::maybe_string(*error, "message")) {
        return printable_excerpt(*message, 300);
      }
    }
  }
  return "no explanation";
}

}  // namespace

Status check_options(const Options& options) {
  if (!uses_password(options) && options.auth_type != "v3applicationcredential") {
    return bad_option(
        fmt::format("auth_type is '{}'; password, v3password and "
                    "v3applicationcredential are accepted",
                    printable_excerpt(options.auth_type, 60)));
  }
  if (options.auth_url.empty()) return bad_option("auth_url is not set");
  if (auto url = keystone_v3_url(options.auth_url); !url.ok()) return std::move(url).error();
  if (!options.endpoint_override.empty()) {
    auto url = check_base_url("endpoint_override", options.endpoint_override);
    if (!url.ok()) return std::move(url).error();
  }
  if (auto who = check_who(options); !who.ok()) return who;
  if (auto scope = check_scope(options); !scope.ok()) return scope;
  if (auto limits = check_limits(options); !limits.ok()) return limits;
  if (options.valid_interfaces.empty()) {
    return bad_option("valid_interfaces is empty; internal, public and admin are accepted");
  }
  for (const std::string& each : options.valid_interfaces) {
    const std::string name = plain_interface(each);
    if (name != "internal" && name != "public" && name != "admin") {
      return bad_option(
          fmt::format("valid_interfaces names '{}'; internal, public and admin are "
                      "accepted",
                      printable_excerpt(each, 60)));
    }
  }
  if (!options.keyfile.empty() && options.certfile.empty()) {
    return bad_option("keyfile is set but certfile is not");
  }
  return Ok{};
}

Result<HttpRequest> token_request(const Options& options) {
  auto base = keystone_v3_url(options.auth_url);
  if (!base.ok()) return std::move(base).error();
  rapidjson::Document document(rapidjson::kObjectType);
  Allocator& allocator = document.GetAllocator();
  Value auth(rapidjson::kObjectType);
  auth.AddMember("identity", identity_object(options, allocator), allocator);
  Value scope = scope_object(options, allocator);
  if (!scope.IsNull()) auth.AddMember("scope", scope, allocator);
  document.AddMember("auth", auth, allocator);
  return HttpRequest{"POST",
                     *base + "/auth/tokens",
                     {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                     json::to_text(document)};
}

Result<Token> parse_token(const HttpResponse& response, std::size_t body_bytes_max) {
  const auto fail = [&](Errc code, std::string_view what) {
    return Error{code, fmt::format("Keystone: {}", what), response.status};
  };
  if (response.status == 401 || response.status == 403) {
    return fail(Errc::refused,
                fmt::format("the credentials were refused ({}: {}); check user, password, domains "
                            "and project",
                            response.status, keystone_says(response, body_bytes_max)));
  }
  if (response.status == 429 || response.status >= 500) {
    return fail(Errc::unavailable, fmt::format("status {}: {}", response.status,
                                               keystone_says(response, body_bytes_max)));
  }
  if (response.status != 201) {
    return fail(Errc::invalid,
                fmt::format("status {} to a token request, 201 is expected ({}); is auth_url "
                            "Keystone's?",
                            response.status, keystone_says(response, body_bytes_max)));
  }
  Token token;
  token.id = std::string(response.header("X-Subject-Token"));
  if (token.id.empty() || token.id.find_first_of("\r\n") != std::string::npos) {
    return fail(Errc::invalid, "the answer has no usable header X-Subject-Token");
  }
  const auto document = json::parse(response.body, body_bytes_max);
  if (!document.ok()) return fail(Errc::invalid, document.error().what);
  const Value* body = json::find(*document, "token");
  if (body == nullptr) return fail(Errc::invalid, "the answer has no member 'token'");
  const auto stamp = [&](std::string_view name) -> Result<WallMs> {
    auto written = json::get_string(*body, name);
    if (!written.ok()) return fail(Errc::invalid, written.error().what);
    auto at = from_iso8601(*written);
    if (!at.ok()) return fail(Errc::invalid, fmt::format("'{}': {}", name, at.error().what));
    return at;
  };
  const auto issued = stamp("issued_at");
  if (!issued.ok()) return issued.error();
  const auto expires = stamp("expires_at");
  if (!expires.ok()) return expires.error();
  token.life_ms = expires->ms - issued->ms;
  if (token.life_ms <= 0) return fail(Errc::invalid, "the token expires before it is issued");
  if (const Value* catalog = json::find(*body, "catalog")) token.catalog = parse_catalog(*catalog);
  token.roles = role_names(*body);
  return token;
}

Result<std::string> choose_endpoint(const Options& options,
                                    const std::vector<CatalogEndpoint>& catalog) {
  if (!options.endpoint_override.empty()) {
    return check_base_url("endpoint_override", options.endpoint_override);
  }
  std::string seen;
  for (const std::string& wanted : options.valid_interfaces) {
    for (const CatalogEndpoint& each : catalog) {
      if (each.service_type != options.service_type) continue;
      if (!options.service_name.empty() && each.service_name != options.service_name) continue;
      if (each.interface != plain_interface(wanted)) continue;
      if (options.region_name.empty() || each.region == options.region_name ||
          each.region_id == options.region_name) {
        return check_base_url("the catalog's URL", each.url);
      }
    }
  }
  for (const CatalogEndpoint& each : catalog) {
    if (each.service_type != options.service_type) continue;
    seen += fmt::format("{}{} in {}", seen.empty() ? "" : ", ", each.interface,
                        each.region.empty() ? each.region_id : each.region);
  }
  if (catalog.empty()) seen = "no services at all; a token without scope has no catalog";
  if (seen.empty()) seen = "none of this type";
  return Error{Errc::refused,
               fmt::format("Keystone's catalog has no endpoint of type '{}' with interface {} in "
                           "region '{}'; it has: {}",
                           options.service_type, fmt::join(options.valid_interfaces, " or "),
                           options.region_name.empty() ? "any" : options.region_name,
                           printable_excerpt(seen, 300))};
}

}  // namespace reclaim::placement
