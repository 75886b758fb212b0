#include "placement/keystone/token_answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "placement/keystone/role_names.h"
#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim::placement {
namespace {

using rapidjson::Value;

constexpr std::size_t kRolesMax = 256;

bool may_stand_in_token(char c) {
  return is_alnum(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
}

Error wrong(std::string_view what) {
  return Error{Errc::invalid, fmt::format("Keystone's answer: {}", what)};
}

std::string text_at(const Value& object, std::string_view name) {
  return json::maybe_string(object, name).value_or("");
}

// The id of the domain that a user or a project is in.
std::string domain_of(const Value& object) {
  const Value* domain = json::find(object, "domain");
  return domain == nullptr ? std::string() : text_at(*domain, "id");
}

Status read_scope(const Value& token, Identity& identity) {
  if (const Value* project = json::find(token, "project")) {
    auto id = json::get_string(*project, "id");
    if (!id.ok()) return wrong(fmt::format("'project': {}", id.error().what));
    identity.project_id = *std::move(id);
    identity.project_name = text_at(*project, "name");
    identity.project_domain_id = domain_of(*project);
  }
  if (const Value* domain = json::find(token, "domain")) {
    auto id = json::get_string(*domain, "id");
    if (!id.ok()) return wrong(fmt::format("'domain': {}", id.error().what));
    identity.domain_id = *std::move(id);
  }
  if (const Value* system = json::find(token, "system")) {
    const Value* all = json::find(*system, "all");
    if (all != nullptr && all->IsBool() && all->GetBool()) identity.system_scope = "all";
  }
  return Ok{};
}

// True if somebody or something may act in the user's name: by a trust, OAuth, or any method other
// than those by which a person shows who he is (an EC2 pair, which an admin can make for him, or an
// application credential are none of these). A token that was made of another names that one's
// methods too; a Keystone that does not know the method of EC2 pairs leaves it out, so that "token"
// alone shows nobody.
bool is_delegated(const Value& token) {
  constexpr std::string_view kOfAnother = "token";
  constexpr std::array<std::string_view, 7> kInPerson = {
      "password", "totp", "external", "kerberos", "mapped", "saml2", "openid"};
  if (json::find(token, "OS-TRUST:trust") != nullptr) return true;
  if (json::find(token, "OS-OAUTH1") != nullptr) return true;
  const Value* methods = json::find(token, "methods");
  if (methods == nullptr || !methods->IsArray() || methods->Empty()) return true;
  bool shows_person = false;
  for (const Value& method : methods->GetArray()) {
    if (!method.IsString()) return true;
    const std::string_view name(method.GetString(), method.GetStringLength());
    const bool in_person = std::find(kInPerson.begin(), kInPerson.end(), name) != kInPerson.end();
    if (!in_person && name != kOfAnother) return true;
    shows_person = shows_person || in_person;
  }
  return !shows_person;
}

}  // namespace

Status check_token_text(std::string_view token) {
  if (token.empty()) return Error{Errc::refused, "the token is empty"};
  if (token.size() > kTokenBytesMax) {
    return Error{Errc::refused, fmt::format("the token has {} bytes, over the limit of {}",
                                            token.size(), kTokenBytesMax)};
  }
  if (!std::all_of(token.begin(), token.end(), may_stand_in_token)) {
    return Error{Errc::refused,
                 "the token has characters that are in no token; letters, digits and -._~+/= are"};
  }
  return Ok{};
}

Result<SubjectToken> parse_subject_token(const HttpResponse& response, std::size_t body_bytes_max) {
  const auto document = json::parse(response.body, body_bytes_max);
  if (!document.ok()) return wrong(document.error().what);
  const Value* token = json::find(*document, "token");
  if (token == nullptr || !token->IsObject()) return wrong("it has no object 'token'");
  SubjectToken subject;
  const auto expires = json::get_string(*token, "expires_at");
  if (!expires.ok()) return wrong(expires.error().what);
  const auto at = from_iso8601(*expires);
  if (!at.ok()) return wrong(fmt::format("'expires_at': {}", at.error().what));
  subject.expires_at = *at;
  const Value* user = json::find(*token, "user");
  if (user == nullptr) return wrong("'user' is missing");
  auto user_id = json::get_string(*user, "id");
  if (!user_id.ok()) return wrong(fmt::format("'user': {}", user_id.error().what));
  Identity& identity = subject.identity;
  identity.user_id = *std::move(user_id);
  identity.user_name = text_at(*user, "name");
  identity.user_domain_id = domain_of(*user);
  if (auto scope = read_scope(*token, identity); !scope.ok()) return std::move(scope).error();
  identity.delegated = is_delegated(*token);
  identity.roles = role_names(*token);
  if (identity.roles.size() > kRolesMax) {
    return Error{Errc::limit, fmt::format("Keystone's answer: the token has {} roles, over the "
                                          "limit of {}",
                                          identity.roles.size(), kRolesMax)};
  }
  return subject;
}

}  // namespace reclaim::placement
