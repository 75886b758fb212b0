// Judges who may do what: oslo.policy's rule language, as much of it as operators' policy files
// use: role:NAME, rule:NAME, `and`, `or`, `not`, parentheses, "@" (everybody), "!" and "" (oslo:
// the empty rule allows, "!" denies), project_id:%(project_id)s and the like against the target,
// and literals ('all':%(system_scope)s). Pure; thread: any.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "placement/keystone/tokens.h"
#include "state/base/result.h"

namespace reclaim::api {

// Facts of what is asked for, by which a rule may judge: "project_id" of an ARQ.
using Target = std::map<std::string, std::string>;

class Policy final {
 public:
  // The defaults: those of Cyborg for what it has; for what is not Cyborg's yet, role:admin.
  [[nodiscard]] static Policy defaults();
  // The defaults, overridden by name. An unknown name, a rule that cannot be parsed, a reference to
  // a rule that is not there and a circle are errors that name the rule.
  [[nodiscard]] static Result<Policy> create(const std::map<std::string, std::string>& overrides);

  // Unknown rules are refused.
  [[nodiscard]] bool allows(std::string_view rule, const placement::Identity& who,
                            const Target& target) const;
  // Name → expression as written, for `reclaim config check` and the documentation.
  [[nodiscard]] const std::map<std::string, std::string>& texts() const { return texts_; }

  struct Check;

 private:
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::shared_ptr<const Check>> checks_;
};

}  // namespace reclaim::api
