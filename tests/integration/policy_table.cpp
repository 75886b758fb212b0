// Answers tests/data/api/policy_table.json with our policy: every expression and every default rule
// for every caller and target. tests/integration/policy_oslo.py asks oslo.policy the same.
//
// usage: policy_table FILE. Prints one JSON object: "defaults" (name → text), "refused" (those
// expressions that we do not take), "answers" (text → "10…", one digit for each pair of a caller
// and a target, callers outermost).
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "handlers/api/json.h"
#include "handlers/api/policy_check.h"
#include "state/base/json.h"

namespace {

using namespace reclaim;
using namespace reclaim::api;

std::vector<std::string> list_of(const rapidjson::Value& value, std::string_view name) {
  std::vector<std::string> texts;
  const rapidjson::Value* list = json::find(value, name);
  if (list == nullptr) return texts;
  for (const auto& text : list->GetArray()) texts.emplace_back(text.GetString());
  return texts;
}

placement::Identity identity_of(const rapidjson::Value& value) {
  const auto text = [&](std::string_view name) {
    return json::maybe_string(value, name).value_or("");
  };
  placement::Identity who;
  who.user_id = text("user_id");
  who.user_domain_id = text("user_domain_id");
  who.project_id = text("project_id");
  who.project_domain_id = text("project_domain_id");
  who.domain_id = text("domain_id");
  who.system_scope = text("system_scope");
  who.roles = list_of(value, "roles");
  who.service_roles = list_of(value, "service_roles");
  return who;
}

Target target_of(const rapidjson::Value& value) {
  Target target;
  for (const auto& member : value.GetObject()) {
    target[member.name.GetString()] = member.value.GetString();
  }
  return target;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const auto table = json::parse(text.str(), 1U << 20U);
  if (!table) {
    fmt::print(stderr, "{}: {}\n", argv[1], table.error().what);
    return 1;
  }

  CheckMap rules;
  const Policy defaults = Policy::defaults();
  std::vector<std::string> names;
  for (const auto& [name, rule] : defaults.texts()) {
    rules[name] = std::make_shared<const Policy::Check>(*parse_check(rule));
    names.push_back(name);
  }
  std::vector<std::string> refused;
  for (const auto& expression : (*table)["expressions"].GetArray()) {
    const std::string name = expression.GetString();
    auto check = parse_check(name);
    if (!check) {
      refused.push_back(name);
      continue;
    }
    rules[name] = std::make_shared<const Policy::Check>(*std::move(check));
    names.push_back(name);
  }

  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  put_key(writer, "defaults");
  writer.StartObject();
  for (const auto& [name, rule] : defaults.texts()) put_member(writer, name, rule);
  writer.EndObject();
  put_key(writer, "refused");
  writer.StartArray();
  for (const std::string& name : refused) put(writer, name);
  writer.EndArray();
  put_key(writer, "answers");
  writer.StartObject();
  for (const std::string& name : names) {
    std::string digits;
    for (const auto& who : (*table)["callers"].GetArray()) {
      for (const auto& target : (*table)["targets"].GetArray()) {
        digits += rule_allows(rules, name, identity_of(who), target_of(target)) ? '1' : '0';
      }
    }
    put_member(writer, name, digits);
  }
  writer.EndObject();
  writer.EndObject();
  fmt::print("{}\n", text_of(buffer));
  return 0;
}
