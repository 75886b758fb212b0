// The policy file: no more rules and problems than the limits allow, each with a name or a place;
// and what was taken stands nowhere twice.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "config/policy_file.h"
#include "state/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reclaim;
  using namespace reclaim::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PolicyLimits limits;
  const PolicyFile file = parse_policy_file(text, "f", limits);
  CHECK(file.rules.size() <= limits.rules && file.problems.size() <= limits.problems);
  std::set<std::string> names;
  for (const PolicyRule& rule : file.rules) {
    CHECK(!rule.name.empty() && rule.name.size() <= limits.name_bytes);
    CHECK(rule.text.size() <= limits.text_bytes);
    CHECK(rule.line >= 1);
    CHECK(names.insert(rule.name).second);
  }
  for (const Problem& problem : file.problems) CHECK(!problem.text.empty());
  return 0;
}
