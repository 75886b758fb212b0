// docs/commands.md against what `reclaim status -f json` prints.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli/fleet_status.h"
#include "state/base/json.h"
#include "tests/source_path.h"

namespace reclaim::cli {
namespace {

// A member, and the names within it: of an object, or of each row of a list.
struct Member {
  std::string name;
  std::set<std::string> within;
};

// Those that the page names between backticks.
std::vector<Member> documented() {
  std::ifstream page(source_path("docs/commands.md"));
  std::vector<Member> members;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == "## What `reclaim status -f json` has";
    if (!here || !line.starts_with("| `")) continue;
    Member& member = members.emplace_back();
    for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
      const std::size_t end = line.find('`', at + 1);
      const std::string name = line.substr(at + 1, end - at - 1);
      if (member.name.empty()) {
        member.name = name;
      } else if (!name.starts_with('[')) {  // an option
        member.within.insert(name);
      }
      at = end;
    }
  }
  return members;
}

std::vector<Member> printed() {
  FleetStatus status;
  status.attention.emplace_back();
  status.allocated_dirty.emplace_back();
  status.offered_dirty.emplace_back();
  status.worn.emplace_back();
  status.paused.emplace_back();
  View view;
  view.format = Format::json;
  const auto text = format_show(status_fields(status), view);
  const auto document = json::parse(*text, 100'000);
  std::vector<Member> members;
  for (const auto& each : document->GetObject()) {
    Member& member = members.emplace_back();
    member.name = each.name.GetString();
    const auto& value = each.value.IsArray() ? each.value[0] : each.value;
    if (!value.IsObject()) continue;
    for (const auto& inner : value.GetObject()) member.within.insert(inner.name.GetString());
  }
  return members;
}

TEST(StatusJson, ItsMembersAreThoseOfThePage) {
  const auto told = documented();
  const auto shown = printed();
  ASSERT_EQ(told.size(), shown.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].name, shown[i].name);
    EXPECT_EQ(told[i].within, shown[i].within) << told[i].name;
  }
}

}  // namespace
}  // namespace reclaim::cli
