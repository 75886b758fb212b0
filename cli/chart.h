// Charts as inline SVG for a page of HTML: no script, nothing from elsewhere, readable in print.
// Every text is escaped here. Pure; thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::cli {

struct Series {
  std::string name;   // in the legend
  std::string color;  // "#17693a"
  std::vector<std::size_t> values;
};
// Stacked columns, one for each label; `series` have as many values. Where labels are many, some
// are left out. `title` is read aloud in place of the picture.
[[nodiscard]] std::string column_chart(std::string_view title,
                                       const std::vector<std::string>& labels,
                                       const std::vector<Series>& series);

struct Bar {
  std::string label;  // left of it
  double value = 0;   // its length; 0 and less: none
  std::string text;   // right of it
};
[[nodiscard]] std::string bar_chart(std::string_view title, const std::vector<Bar>& bars,
                                    std::string_view color);

}  // namespace reclaim::cli
