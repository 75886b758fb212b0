// A policy's expression: whatever is accepted gets an answer, and the language's own laws hold for
// it, whoever asks.
#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/api/policy_check.h"
#include "state/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reclaim;
  using namespace reclaim::api;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(Policy::create({{"cyborg:device:clean", text}}));
  auto check = parse_check(text);
  if (!check) {
    CHECK(!check.error().what.empty());
    return 0;
  }
  CheckMap rules;
  const auto add = [&](const std::string& name, const std::string& rule) {
    auto made = parse_check(rule);
    if (!made) {
      CHECK(made.error().code == Errc::limit);  // one level deeper, some bytes longer
      return;
    }
    rules[name] = std::make_shared<const Policy::Check>(*std::move(made));
  };
  const std::string inner = text.empty() ? "@" : text;
  add("itself", inner);
  add("not", "not ( " + inner + " )");
  add("always", "( " + inner + " ) or @");
  add("never", "( " + inner + " ) and !");

  placement::Identity who;
  who.user_id = "u1";
  who.project_id = "p1";
  who.roles = {"admin", "reader"};
  for (const Target& target : {Target{}, Target{{"project_id", "p1"}, {"user_id", "u2"}}}) {
    const bool itself = rule_allows(rules, "itself", who, target);
    if (rules.contains("not")) CHECK(rule_allows(rules, "not", who, target) != itself);
    if (rules.contains("always")) CHECK(rule_allows(rules, "always", who, target));
    if (rules.contains("never")) CHECK(!rule_allows(rules, "never", who, target));
  }
  return 0;
}
