// The picture of a device's life.
#include "state/device/machine_dot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "state/device/machine.h"
#include "tests/source_path.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    found += 1;
  }
  return found;
}

std::string edge_of(const Row& row) {
  return fmt::format("  {} -> {} [label=\"{}\"", to_string(row.from), to_string(row.to),
                     to_string(row.on));
}

// Each of its edges is a row of the table, from the pool to the pool again.
TEST(MachineDot, HasAPictureOfItsMainWay) {
  const std::string text = render_machine_dot(MachineView::main);
  std::size_t edges = 0;
  for (const Row& row : machine_rows()) edges += count(text, edge_of(row));
  EXPECT_EQ(edges, count(text, " -> "));
  for (const char* edge :
       {"available -> allocated", "verifying -> restoring",
        "releasing -> available [label=\"released\"", "error -> pending_cleaning"}) {
    EXPECT_THAT(text, HasSubstr(edge));
  }
  EXPECT_EQ(count(render_machine_dot(MachineView::all), " -> "), machine_rows().size());
}

// reclaim machine -f dot --view main | dot -Tsvg -Gsize=10 -Nfontname=sans-serif
//     -Efontname=sans-serif -Gfontname=sans-serif > docs/machine.svg
TEST(MachineDot, IsThePictureOfTheGuide) {
  std::ifstream file(source_path("docs/machine.svg"));
  std::ostringstream picture;
  picture << file.rdbuf();
  const std::string text = render_machine_dot(MachineView::main);
  EXPECT_EQ(count(picture.str(), "class=\"edge\""), count(text, " -> "));
  for (const Row& row : machine_rows()) {
    if (count(text, edge_of(row)) == 0) continue;
    EXPECT_THAT(picture.str(), HasSubstr(fmt::format("<title>{}&#45;&gt;{}</title>",
                                                     to_string(row.from), to_string(row.to))));
    EXPECT_THAT(picture.str(), HasSubstr(fmt::format(">{}</text>", to_string(row.on))));
  }
}

}  // namespace
}  // namespace reclaim
