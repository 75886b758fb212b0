// The rules by name: the defaults, what an operator's file puts in their place, and the checks that
// a set of rules must pass before anybody is asked by it.
#include "handlers/api/policy.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "handlers/api/policy_check.h"
#include "state/base/check.h"
#include "state/base/log.h"

namespace reclaim::api {
namespace {

constexpr std::size_t kRulesMax = 500;
// The depth of references. Asking is recursive: this times kPolicyNestingMax bounds it.
constexpr std::size_t kReferencesDepthMax = 32;

// Each rule that the API itself asks for begins with one of these.
constexpr std::array<std::string_view, 2> kApiRules{"cyborg:", "reclaim:"};

struct Default {
  std::string_view name;
  std::string_view text;
};

// Cyborg's own names and its new defaults (cyborg/policies/), so that one file serves both. What is
// not there: the deprecated fall-backs, by which Cyborg of today lets every member of any project
// list all devices.
constexpr Default kDefaults[] = {
    {"cyborg:device:get_all", "rule:project_manager_or_admin"},
    {"cyborg:device:get_one", "rule:project_manager_or_admin"},
    {"cyborg:device:clean", "role:admin"},
    {"cyborg:device:clean_error", "not role:service"},
    {"cyborg:device:clean_steps", "rule:operator_api"},
    {"cyborg:device:cleaning_steps", "role:admin"},
    {"cyborg:device:unhold", "rule:operator_api"},
    {"cyborg:device:disown", "rule:operator_api"},
    {"cyborg:device:retire", "rule:operator_api"},
    {"cyborg:device:abort", "rule:operator_api"},
    {"cyborg:device:enrol", "rule:operator_api"},
    {"cyborg:device:enable", "rule:operator_api"},
    {"cyborg:device:disable", "rule:operator_api"},
    {"reclaim:certificate:get", "role:admin"},
    {"cyborg:arq:get_all", "rule:project_reader_or_admin"},
    {"cyborg:arq:get_one", "rule:project_reader_or_admin"},
    // A service's login is no operator: it stands on hosts that may be another's by now.
    {"operator_api", "role:admin and not role:service"},
    {"admin_api", "role:admin"},
    {"project_admin_api", "role:admin and project_id:%(project_id)s"},
    {"project_manager_api", "role:manager and project_id:%(project_id)s"},
    {"project_member_api", "role:member and project_id:%(project_id)s"},
    {"project_reader_api", "role:reader and project_id:%(project_id)s"},
    {"project_manager_or_admin", "rule:project_manager_api or rule:admin_api"},
    {"project_member_or_admin", "rule:project_member_api or rule:admin_api"},
    {"project_reader_or_admin", "rule:project_reader_api or rule:admin_api"},
    {"project_member_or_service", "rule:project_member_api or rule:service_api"},
    {"service_api", "role:service"},
    {"public_api", "is_public_api:True"},
    {"allow", "@"},
    {"deny", "!"},
    {"default", "rule:admin_or_owner"},
    {"is_admin", "rule:admin_api"},
    {"admin_or_owner", "is_admin:True or project_id:%(project_id)s"},
    {"admin_or_user", "is_admin:True or user_id:%(user_id)s"},
};

// Cyborg's rules for calls that we do not answer: they may stand in a file that both read.
constexpr std::array<std::string_view, 14> kOfCyborgOnly{"cyborg:arq:create",
                                                         "cyborg:arq:delete",
                                                         "cyborg:arq:update",
                                                         "cyborg:attribute:create",
                                                         "cyborg:attribute:delete",
                                                         "cyborg:attribute:get_all",
                                                         "cyborg:attribute:get_one",
                                                         "cyborg:deployable:get_all",
                                                         "cyborg:deployable:get_one",
                                                         "cyborg:deployable:program",
                                                         "cyborg:device_profile:create",
                                                         "cyborg:device_profile:delete",
                                                         "cyborg:device_profile:get_all",
                                                         "cyborg:device_profile:get_one"};

Error wrong(std::string_view rule, std::string_view why) {
  return Error{Errc::invalid,
               fmt::format("policy rule '{}': {}", printable_excerpt(rule, 120), why)};
}

void collect_references(const Policy::Check& check, std::set<std::string>& names) {
  if (check.kind == Policy::Check::Kind::rule) names.insert(check.name);
  for (const Policy::Check& child : check.children) collect_references(child, names);
}

// The graph of which rule refers to which. Recurses no deeper than there are rules.
class References final {
 public:
  explicit References(const CheckMap& rules) {
    for (const auto& [name, check] : rules) collect_references(*check, of_[name]);
  }

  // The number of rules that a question to this one passes through, itself counted; the error names
  // a reference to nothing, a circle, or a chain that is too long.
  Result<std::size_t> depth(const std::string& name) {
    const auto known = depths_.find(name);
    if (known != depths_.end()) return known->second;
    const auto begin = std::find(path_.begin(), path_.end(), name);
    if (begin != path_.end()) {
      return wrong(name,
                   fmt::format("a circle: {} -> {}", fmt::join(begin, path_.end(), " -> "), name));
    }
    path_.push_back(name);
    std::size_t deepest = 0;
    for (const std::string& other : of_.at(name)) {
      if (!of_.contains(other)) {
        return wrong(name, fmt::format("refers to rule '{}', which is not there",
                                       printable_excerpt(other, 120)));
      }
      const auto below = depth(other);
      if (!below) return below;
      deepest = std::max(deepest, *below);
    }
    path_.pop_back();
    if (deepest + 1 > kReferencesDepthMax) {
      return wrong(name,
                   fmt::format("rules refer to rules more than {} deep", kReferencesDepthMax));
    }
    return depths_[name] = deepest + 1;
  }

  [[nodiscard]] bool anybody_asks_for(const std::string& name) const {
    return std::any_of(of_.begin(), of_.end(),
                       [&](const auto& rule) { return rule.second.contains(name); });
  }

 private:
  std::map<std::string, std::set<std::string>> of_;
  std::map<std::string, std::size_t> depths_;
  std::vector<std::string> path_;
};

bool is_default(std::string_view name) {
  return std::any_of(std::begin(kDefaults), std::end(kDefaults),
                     [&](const Default& rule) { return rule.name == name; });
}

bool is_of_cyborg_only(std::string_view name) {
  return std::find(kOfCyborgOnly.begin(), kOfCyborgOnly.end(), name) != kOfCyborgOnly.end();
}

// A rule that nobody asks for is a misspelt one, and what it was to forbid is allowed.
Status check_name(const std::string& name, const References& references) {
  if (is_default(name) || is_of_cyborg_only(name) || references.anybody_asks_for(name)) return Ok{};
  std::vector<std::string_view> asked;
  for (const Default& rule : kDefaults) {
    if (std::any_of(kApiRules.begin(), kApiRules.end(),
                    [&](std::string_view begin) { return rule.name.starts_with(begin); })) {
      asked.push_back(rule.name);
    }
  }
  return wrong(name, fmt::format("nothing asks for it, neither the API nor another rule; the API "
                                 "asks for {}",
                                 fmt::join(asked, ", ")));
}

}  // namespace

Policy Policy::defaults() {
  auto policy = create({});
  CHECK(policy.ok());
  return *std::move(policy);
}

Result<Policy> Policy::create(const std::map<std::string, std::string>& overrides) {
  if (overrides.size() > kRulesMax) {
    return Error{Errc::limit, fmt::format("{} policy rules are over the limit of {}",
                                          overrides.size(), kRulesMax)};
  }
  Policy policy;
  for (const auto& [name, text] : overrides) policy.texts_.emplace(name, text);
  for (const Default& rule : kDefaults) policy.texts_.emplace(rule.name, rule.text);
  for (const auto& [name, text] : policy.texts_) {
    auto check = parse_check(text);
    if (!check) return wrong(name, check.error().what);
    // Cyborg's own questions are asked with facts of Cyborg's.
    if (const Status known = check_facts(*check); !known && !is_of_cyborg_only(name)) {
      return wrong(name, known.error().what);
    }
    policy.checks_.emplace(name, std::make_shared<const Check>(*std::move(check)));
  }
  References references(policy.checks_);
  for (const auto& [name, text] : policy.texts_) {
    if (const auto depth = references.depth(name); !depth) return depth.error();
  }
  for (const auto& [name, text] : overrides) {
    if (auto status = check_name(name, references); !status) return status.error();
  }
  return policy;
}

bool Policy::allows(std::string_view rule, const placement::Identity& who,
                    const Target& target) const {
  return rule_allows(checks_, rule, who, target);
}

}  // namespace reclaim::api
