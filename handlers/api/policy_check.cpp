#include "handlers/api/policy_check.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::api {
namespace {

using Check = Policy::Check;
using Kind = Check::Kind;

// These may stand before the colon, besides `role`, `rule` and a literal: the caller's facts as
// oslo.context names them. is_public_api is never true of what a rule is asked for: the version
// documents need no rule.
constexpr std::array<std::string_view, 10> kCredentials{
    "is_admin",  "is_public_api",     "user_id", "user_domain_id", "project_id",
    "domain_id", "project_domain_id", "roles",   "service_roles",  "system_scope"};

// A rule may compare with these: who asks, for that is all a target holds (api.cpp). Of anything
// else the answer would always be no.
constexpr std::array<std::string_view, 2> kFacts{"project_id", "user_id"};

bool blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

Error wrong(std::string_view what, std::string_view token) {
  return Error{Errc::invalid, fmt::format("'{}' {}", printable_excerpt(token), what)};
}

// ------------------------------------------------------------------------------------- one check

// Reads a match as Python's % operator does, of which policies use two forms: %(name)s and %%.
Result<std::vector<Check::Part>> parse_match(std::string_view text) {
  std::vector<Check::Part> parts;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (text.substr(i, 2) == "%%") {
      plain += '%';
      i += 1;
      continue;
    }
    const std::size_t end = text.find(")s", i);
    if (text.substr(i, 2) != "%(" || end == std::string_view::npos || end == i + 2) {
      return wrong("has a '%' that begins neither %(name)s nor %%", text);
    }
    if (!plain.empty()) parts.push_back({false, std::exchange(plain, {})});
    parts.push_back({true, std::string(text.substr(i + 2, end - i - 2))});
    i = end + 1;
  }
  if (!plain.empty()) parts.push_back({false, plain});
  return parts;
}

// 'all', "all", True, False, None or a number, as Python writes it as text; nothing: no literal.
std::optional<std::string> parse_literal(std::string_view text) {
  if (text == "True" || text == "False" || text == "None") return std::string(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front()) {
    const std::string_view inner = text.substr(1, text.size() - 2);
    if (inner.find(text.front()) != std::string_view::npos ||
        inner.find('\\') != std::string_view::npos) {
      return std::nullopt;
    }
    return std::string(inner);
  }
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !digits || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  return std::string(text);
}

Result<Check> parse_one(std::string_view text) {
  Check check;
  if (text == "@" || text == "!") {
    check.kind = text == "@" ? Kind::always : Kind::never;
    return check;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return wrong("is not a check: KIND:MATCH, @ or ! is needed", text);
  }
  const std::string_view kind = text.substr(0, colon);
  const std::string_view match = text.substr(colon + 1);
  if (kind == "rule") {
    check.kind = Kind::rule;
    check.name = match;
    return check;
  }
  if (kind == "role") {
    check.kind = Kind::role;
  } else if (auto literal = parse_literal(kind)) {
    check.kind = Kind::literal;
    check.name = *std::move(literal);
  } else if (std::find(kCredentials.begin(), kCredentials.end(), kind) != kCredentials.end()) {
    check.kind = Kind::credential;
    check.name = kind;
  } else {
    return wrong(fmt::format("asks for '{}'; accepted are role, rule, a literal such as 'all', and "
                             "{}",
                             printable_excerpt(kind, 40), fmt::join(kCredentials, ", ")),
                 text);
  }
  auto parts = parse_match(match);
  if (!parts) return parts.error();
  if (kind == "is_admin" && match != "True" && match != "False") {
    return wrong("never holds: is_admin is True or False", text);
  }
  check.match = *std::move(parts);
  return check;
}

// -------------------------------------------------------------------------------- the expression

struct Token {
  enum class Kind { open, close, conjunction, disjunction, negation, check };
  Kind kind = Kind::check;
  std::string_view text;
};

// oslo.policy's own cut: words between blanks, with the parentheses at their ends taken off, since
// those in the middle belong to %(name)s.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (blank(text[at])) {
      at += 1;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !blank(text[end])) end += 1;
    std::string_view word = text.substr(at, end - at);
    at = end;
    for (; !word.empty() && word.front() == '('; word.remove_prefix(1)) {
      tokens.push_back({Token::Kind::open, word.substr(0, 1)});
    }
    std::size_t closing = 0;
    for (; !word.empty() && word.back() == ')'; word.remove_suffix(1)) closing += 1;
    const std::string keyword = lower(word);
    if (keyword == "and") {
      tokens.push_back({Token::Kind::conjunction, word});
    } else if (keyword == "or") {
      tokens.push_back({Token::Kind::disjunction, word});
    } else if (keyword == "not") {
      tokens.push_back({Token::Kind::negation, word});
    } else if (!word.empty()) {
      tokens.push_back({Token::Kind::check, word});
    }
    tokens.insert(tokens.end(), closing, Token{Token::Kind::close, ")"});
  }
  return tokens;
}

// `or` binds weakest, then `and`, then `not`. Recurses at most kPolicyNestingMax deep.
class Parser final {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Check> whole() {
    auto check = chain(Token::Kind::disjunction);
    if (check && at_ < tokens_.size()) {
      return wrong("is where `and`, `or` or the end is expected", tokens_[at_].text);
    }
    return check;
  }

 private:
  [[nodiscard]] bool is(Token::Kind kind) const {
    return at_ < tokens_.size() && tokens_[at_].kind == kind;
  }

  Result<Check> chain(Token::Kind joint) {
    const bool weakest = joint == Token::Kind::disjunction;
    Check joined;
    joined.kind = weakest ? Kind::any_of : Kind::all_of;
    while (true) {
      auto next = weakest ? chain(Token::Kind::conjunction) : unary();
      if (!next) return next;
      joined.children.push_back(*std::move(next));
      if (!is(joint)) break;
      at_ += 1;
    }
    if (joined.children.size() > 1) return joined;
    Check only = std::move(joined.children.front());
    return only;
  }

  Result<Check> unary() {
    if (at_ == tokens_.size()) {
      return Error{Errc::invalid, "it ends where a check is expected"};
    }
    const Token token = tokens_[at_++];
    if (token.kind == Token::Kind::check) return parse_one(token.text);
    if (token.kind != Token::Kind::negation && token.kind != Token::Kind::open) {
      return wrong("is where a check is expected", token.text);
    }
    if (++depth_ > kPolicyNestingMax) {
      return Error{Errc::limit, fmt::format("it is nested deeper than {}", kPolicyNestingMax)};
    }
    auto inner = token.kind == Token::Kind::open ? chain(Token::Kind::disjunction) : unary();
    depth_ -= 1;
    if (!inner) return inner;
    if (token.kind == Token::Kind::open) {
      if (!is(Token::Kind::close)) return Error{Errc::invalid, "a parenthesis is not closed"};
      at_ += 1;
      return inner;
    }
    Check negation;
    negation.kind = Kind::negation;
    negation.children.push_back(*std::move(inner));
    return negation;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

// ------------------------------------------------------------------------------------ the answer

class Question final {
 public:
  Question(const CheckMap& rules, const placement::Identity& who, const Target& target)
      : rules_(rules), who_(who), target_(target) {}

  bool rule(std::string_view name) {
    const auto known = known_.find(name);
    if (known != known_.end()) return known->second;
    const auto found = rules_.find(std::string(name));
    if (found == rules_.end()) return false;
    const bool answer = holds(*found->second);
    known_.emplace(found->first, answer);
    return answer;
  }

 private:
  bool holds(const Check& check) {
    const auto child = [this](const Check& one) { return holds(one); };
    switch (check.kind) {
      case Kind::always:
        return true;
      case Kind::never:
        return false;
      case Kind::all_of:
        return std::all_of(check.children.begin(), check.children.end(), child);
      case Kind::any_of:
        return std::any_of(check.children.begin(), check.children.end(), child);
      case Kind::negation:
        return !holds(check.children.front());
      case Kind::rule:
        return rule(check.name);
      case Kind::role:
      case Kind::credential:
      case Kind::literal:
        break;
    }
    const auto match = filled(check.match);
    if (!match) return false;
    if (check.kind == Kind::literal) return check.name == *match;
    if (check.kind == Kind::credential) return credential(check.name, *match);
    return std::any_of(who_.roles.begin(), who_.roles.end(),
                       [&](const std::string& role) { return lower(role) == lower(*match); });
  }

  // Nothing: the target has no such fact, and what is compared with it fails.
  [[nodiscard]] std::optional<std::string> filled(const std::vector<Check::Part>& match) const {
    std::string text;
    for (const Check::Part& part : match) {
      if (!part.of_target) {
        text += part.text;
        continue;
      }
      const auto fact = target_.find(part.text);
      if (fact == target_.end()) return std::nullopt;
      text += fact->second;
    }
    return text;
  }

  // An empty fact is one that the token does not have: it equals nothing, not even an empty match.
  [[nodiscard]] bool credential(std::string_view name, const std::string& match) const {
    const auto among = [&](const std::vector<std::string>& all) {
      return std::find(all.begin(), all.end(), match) != all.end();
    };
    const auto is = [&](const std::string& fact) { return !fact.empty() && fact == match; };
    if (name == "roles") return among(who_.roles);
    if (name == "service_roles") return among(who_.service_roles);
    if (name == "user_id") return is(who_.user_id);
    if (name == "user_domain_id") return is(who_.user_domain_id);
    if (name == "project_id") return is(who_.project_id);
    if (name == "project_domain_id") return is(who_.project_domain_id);
    if (name == "domain_id") return is(who_.domain_id);
    if (name == "system_scope") return is(who_.system_scope);
    if (name == "is_admin") {
      const auto& roles = who_.roles;
      const bool admin = std::find(roles.begin(), roles.end(), "admin") != roles.end();
      return match == (admin ? "True" : "False");
    }
    return false;
  }

  const CheckMap& rules_;
  const placement::Identity& who_;
  const Target& target_;
  std::map<std::string_view, bool> known_;
};

}  // namespace

Status check_facts(const Policy::Check& check) {
  for (const Check::Part& part : check.match) {
    if (!part.of_target || std::find(kFacts.begin(), kFacts.end(), part.text) != kFacts.end()) {
      continue;
    }
    return wrong(fmt::format("is not a fact of what is asked for, so that the check never holds; "
                             "accepted are {}",
                             fmt::join(kFacts, ", ")),
                 fmt::format("%({})s", part.text));
  }
  for (const Check& child : check.children) {
    if (Status status = check_facts(child); !status) return status;
  }
  return Ok{};
}

Result<Policy::Check> parse_check(std::string_view text) {
  if (text.size() > kPolicyRuleBytesMax) {
    return Error{Errc::limit, fmt::format("its {} bytes are over the limit of {} bytes",
                                          text.size(), kPolicyRuleBytesMax)};
  }
  if (text.empty()) {
    Check everybody;
    everybody.kind = Kind::always;
    return everybody;
  }
  return Parser(tokens_of(text)).whole();
}

bool rule_allows(const CheckMap& rules, std::string_view name, const placement::Identity& who,
                 const Target& target) {
  return Question(rules, who, target).rule(name);
}

}  // namespace reclaim::api
