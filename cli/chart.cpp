#include "cli/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/html.h"

namespace reclaim::cli {
namespace {

// Units of the viewBox; the page scales it to its width.
constexpr double kWidth = 640;
constexpr double kLeft = 34;   // the axis with its numbers
constexpr double kRight = 16;  // half of the last label
constexpr double kTop = 20;    // the legend
constexpr double kColumnsHeight = 90;
constexpr double kBottom = 16;  // the labels
constexpr double kGap = 0.25;   // of a column's place
constexpr double kColumnMax = 40;
constexpr std::size_t kLabelsMax = 16;
constexpr std::size_t kLinesMax = 5;  // of the grid
constexpr double kBarLeft = 120;
constexpr double kBarRight = 190;
constexpr double kBarStep = 15;
constexpr double kBarHeight = 9;
constexpr double kLegendStep = 110;
constexpr std::string_view kInk = "#444";

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_text(text));
}

std::string box(double x, double y, double width, double height, std::string_view color) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
      width, height, html_text(color));
}

std::string picture(std::string_view title, double height, const std::string& inside) {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\" font-size=\"9\" "
      "fill=\"{}\">\n{}</svg>\n",
      kWidth, height, html_text(title), kInk, inside);
}

// 1, 2 or 5 times a power of ten, so that no more than kLinesMax steps reach `highest`.
std::size_t step_of(std::size_t highest) {
  std::size_t power = 1;
  while (true) {
    for (const std::size_t factor : std::array<std::size_t, 3>{1, 2, 5}) {
      if (power * factor * kLinesMax >= highest) return power * factor;
    }
    power *= 10;
  }
}

std::string legend(const std::vector<Series>& series) {
  constexpr double kSide = 8;
  std::string out;
  double x = kLeft;
  for (const Series& each : series) {
    out +=
        box(x, 2, kSide, kSide, each.color) + text_at(x + kSide + 4, 2 + kSide, "start", each.name);
    x += kLegendStep;
  }
  return out;
}

}  // namespace

std::string column_chart(std::string_view title, const std::vector<std::string>& labels,
                         const std::vector<Series>& series) {
  std::vector<std::size_t> sums(labels.size(), 0);
  for (const Series& each : series) {
    for (std::size_t i = 0; i < labels.size(); ++i) sums[i] += each.values[i];
  }
  const std::size_t highest = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  const std::size_t step = step_of(highest);
  const std::size_t lines = std::max<std::size_t>(1, (highest + step - 1) / step);
  const double scale = kColumnsHeight / static_cast<double>(lines * step);
  const double floor = kTop + kColumnsHeight;
  std::string out = legend(series);
  for (std::size_t line = 0; line <= lines; ++line) {
    const double y = floor - static_cast<double>(line * step) * scale;
    out += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\n",
                       kLeft, y, kWidth) +
           text_at(kLeft - 4, y + 3, "end", std::to_string(line * step));
  }
  const double place =
      (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, sums.size()));
  const double wide = std::min(place * (1 - kGap), kColumnMax);
  const std::size_t every = labels.size() / kLabelsMax + 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double middle = kLeft + (static_cast<double>(i) + 0.5) * place;
    double y = floor;
    for (const Series& each : series) {
      const double height = static_cast<double>(each.values[i]) * scale;
      y -= height;
      if (each.values[i] > 0) out += box(middle - wide / 2, y, wide, height, each.color);
    }
    if (i % every == 0) out += text_at(middle, floor + 11, "middle", labels[i]);
  }
  return picture(title, floor + kBottom, out);
}

std::string bar_chart(std::string_view title, const std::vector<Bar>& bars,
                      std::string_view color) {
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.value);
  std::string out;
  double y = 0;
  for (const Bar& bar : bars) {
    const double length =
        longest > 0 ? std::max(0.0, bar.value / longest) * (kWidth - kBarLeft - kBarRight) : 0;
    out += text_at(kBarLeft - 4, y + kBarHeight, "end", bar.label);
    if (length > 0) out += box(kBarLeft, y + 1, std::max(length, 1.0), kBarHeight, color);
    out += text_at(kBarLeft + length + 4, y + kBarHeight, "start", bar.text);
    y += kBarStep;
  }
  return picture(title, std::max(y, 1.0), out);
}

}  // namespace reclaim::cli
