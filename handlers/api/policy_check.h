// One rule of a policy as a tree: read from its text, and asked. handlers/api/policy.h keeps many
// of them by name. Pure; thread: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/api/policy.h"
#include "state/base/result.h"

namespace reclaim::api {

inline constexpr std::size_t kPolicyRuleBytesMax = 4'096;
// The nesting of parentheses and `not`s inside one rule.
inline constexpr std::size_t kPolicyNestingMax = 32;

struct Policy::Check {
  enum class Kind {
    always,      // "@", ""
    never,       // "!"
    all_of,      // and
    any_of,      // or
    negation,    // not
    role,        // the caller has it, in whatever case
    rule,        // another rule, by name
    credential,  // a fact of the caller equals the match
    literal,     // a constant equals the match
  };
  // A part of a match such as "%(project_id)s": a text that stands there, or the name of a target's
  // fact.
  struct Part {
    bool of_target = false;
    std::string text;
  };

  Kind kind = Kind::never;
  std::string name;             // of the rule or credential; a literal's text
  std::vector<Part> match;      // of role, credential and literal
  std::vector<Check> children;  // of all_of, any_of and negation
};

// The error says what is wrong in the text, without naming the rule.
[[nodiscard]] Result<Policy::Check> parse_check(std::string_view text);

// An error where it compares with a fact that no question to this API has. Recurses as deep as the
// rule is nested.
[[nodiscard]] Status check_facts(const Policy::Check& check);

using CheckMap = std::map<std::string, std::shared_ptr<const Policy::Check>>;

// True if the rule `name` allows it. Every rule is asked at most once, however often others refer
// to it. `rules` holds no circle and all that is referred to.
[[nodiscard]] bool rule_allows(const CheckMap& rules, std::string_view name,
                               const placement::Identity& who, const Target& target);

}  // namespace reclaim::api
