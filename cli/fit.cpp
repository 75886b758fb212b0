#include "cli/fit.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "cli/format.h"
#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim::cli {
namespace {

// "| " before each cell and " " behind it, and the last "|".
std::size_t grid_width(const std::vector<std::size_t>& columns, std::size_t widest) {
  std::size_t sum = 1;
  for (const std::size_t column : columns) sum += std::min(column, widest) + 3;
  return sum;
}

// True if a line may end so; not with the slash that a path begins with.
bool may_end(std::string_view line) {
  const char last = line.back();
  if (last == '/') return line.size() > 1 && line[line.size() - 2] != ' ';
  return last == ' ' || last == ',' || last == '-';
}

// True between a number and its unit, which stay together.
bool parts_quantity(std::string_view line, std::string_view rest) {
  constexpr std::array<std::string_view, 10> kUnits = {"s",  "ms", "%",  "bytes", "kB",
                                                       "MB", "GB", "TB", "PB",    "MiB"};
  if (line.size() < 2 || line.back() != ' ' || !is_digit(line[line.size() - 2])) return false;
  const std::string_view word = rest.substr(0, rest.find_first_of(" ,;:.)"));
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

constexpr std::size_t kNamesIndent = 4;
constexpr std::size_t kHangingIndent = 2;

// The line from `from` on in lines, all but the first one below `indent`.
std::string break_line(const std::string& line, std::size_t from, std::size_t indent,
                       std::size_t width) {
  std::string out = line.substr(0, from);
  std::string lead;
  for (const std::string& part : wrap(line.substr(from), width - indent)) {
    out += lead + part + '\n';
    lead.assign(indent, ' ');
  }
  return out;
}

std::string_view without_blanks_at_the_end(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::size_t> widest_that_fits(const std::vector<std::size_t>& columns,
                                            std::size_t width) {
  if (columns.empty()) return std::nullopt;
  std::size_t widest = *std::max_element(columns.begin(), columns.end());
  while (grid_width(columns, widest) > width) {
    if (widest <= kColumnMin) return std::nullopt;
    --widest;
  }
  return widest;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  CHECK(width >= 4);  // one step has to fit: a wide character, or bytes that are not a character
  std::vector<std::string> lines;
  while (display_width(without_blanks_at_the_end(text)) > width) {
    std::size_t end = 0;
    std::size_t broken = 0;  // behind the last place where a line may end
    std::size_t blank = 0;   // behind the last blank
    while (end < text.size()) {
      const std::size_t next = end + first_utf8_char(text.substr(end)).bytes;
      const std::string_view line = text.substr(0, next);
      if (display_width(without_blanks_at_the_end(line)) > width) break;
      end = next;
      if (parts_quantity(line, text.substr(end))) continue;
      if (may_end(line)) broken = end;
      if (line.back() == ' ') blank = end;
    }
    const std::string_view word = text.substr(blank, text.find(' ', blank) - blank);
    if (blank != 0 && display_width(word) <= width) broken = blank;
    if (broken == 0) broken = end;
    lines.emplace_back(without_blanks_at_the_end(text.substr(0, broken)));
    text.remove_prefix(broken);
  }
  lines.emplace_back(without_blanks_at_the_end(text));
  return lines;
}

std::string hanging(const std::string& text, std::size_t width) {
  if (width < kHangingIndent + kColumnMin || display_width(text) <= width) return text + '\n';
  return break_line(text, 0, kHangingIndent, width);
}

std::string fit_help(const std::string& help, std::size_t column, std::size_t width) {
  if (width < column + kColumnMin) return help;
  std::string out;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool explains = line.starts_with(' ') && line.size() > column && line[column - 1] == ' ';
    const std::size_t indent = explains ? column : line.starts_with(' ') ? kNamesIndent : 0;
    out += display_width(line) <= width ? line + '\n'
                                        : break_line(line, explains ? column : 0, indent, width);
  }
  return out;
}

}  // namespace reclaim::cli
