#include "cli/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <type_traits>

#include "cli/fit.h"
#include "config/oslo/options.h"
#include "state/base/check.h"
#include "state/base/enum_names.h"
#include "state/base/text.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Enough of Unicode's tables for host names, models and serial numbers that people paste.
constexpr std::array kZeroWidth = {
    Range{0x0300, 0x036F}, Range{0x1AB0, 0x1AFF}, Range{0x20D0, 0x20FF}, Range{0x200B, 0x200F},
    Range{0x2060, 0x2064}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}};
constexpr std::array kDoubleWidth = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD}};

constexpr std::string_view kFormula = "=+-@";  // begin one; a tab or a line break is shown as \x09
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // for bytes that are not UTF-8

// Escapes a character that is_obeyed(): all of them are within 16 bits.
std::string json_escape(char32_t code) {
  return fmt::format("\\u{:04x}", static_cast<unsigned>(code));
}

template <typename Ranges>
bool within(const Ranges& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

// Python's str() of a float: always with a point.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// JSON as it was written, but for what a terminal would obey: it is inside of texts, where its
// escape means the same. The line breaks between them are the writer's.
std::string shown_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char next = first_utf8_char(text);
    if (!next.valid) {
      out += kReplacement;
    } else if (next.code != '\n' && is_obeyed(next.code)) {
      out += json_escape(next.code);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::string plain(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "None";
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return number(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return shown_json(std::get<RawJson>(cell).text);
}

// Prints a cell for scripts: on one line, but for JSON, whose line breaks are its own.
std::string one_line(const Cell& cell) {
  const bool foreign = std::holds_alternative<std::string>(cell);
  return foreign ? visible(plain(cell)) : plain(cell);
}

// A JSON string; bytes that are not UTF-8 become the replacement character.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Char next = first_utf8_char(text);
    const char c = text.front();
    if (!next.valid) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_obeyed(next.code)) {
      out += json_escape(next.code);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  out += '"';
  return out;
}

std::string json(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "null";
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&cell))
    return std::isfinite(*real) ? number(*real) : "null";
  if (const auto* text = std::get_if<std::string>(&cell)) return json_string(*text);
  return plain(cell);
}

std::string json_object(const std::vector<std::string>& names, const std::vector<Cell>& row,
                        std::string_view indent) {
  std::string out = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{}\n{}  {}: {}", i == 0 ? "" : ",", indent, json_string(names[i]),
                       json(row[i]));
  }
  out += fmt::format("{}{}}}", names.empty() ? "" : "\n", names.empty() ? "" : indent);
  return out;
}

std::string json_list(const Table& table) {
  std::string out = "[";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    out +=
        fmt::format("{}\n  {}", i == 0 ? "" : ",", json_object(table.columns, table.rows[i], "  "));
  }
  out += table.rows.empty() ? "]\n" : "\n]\n";
  return out;
}

// Python's csv.QUOTE_NONNUMERIC: everything that is not a number is in quotes, which are
// doubled within. A text that a spreadsheet would take for a formula has ' before it.
std::string csv_field(const Cell& cell) {
  const bool bare = std::holds_alternative<bool>(cell) ||
                    std::holds_alternative<std::int64_t>(cell) ||
                    std::holds_alternative<double>(cell);
  if (bare) return plain(cell);
  std::string out = "\"";
  if (!std::holds_alternative<std::monostate>(cell)) {
    const std::string text = one_line(cell);
    const bool foreign = std::holds_alternative<std::string>(cell);
    if (foreign && text.find_first_of(kFormula) == 0) out += '\'';
    for (const char c : text) {
      if (c == '"') out += '"';
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string csv(const Table& table) {
  std::string out;
  const auto line = [&](const std::vector<Cell>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ",", csv_field(row[i]));
    }
    out += '\n';
  };
  line({table.columns.begin(), table.columns.end()});
  for (const auto& row : table.rows) line(row);
  return out;
}

// A JSON text is YAML as well: all that is not a plain key is written so.
std::string yaml_entry(const std::string& name, const Cell& cell) {
  const bool plain_key = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ' ';
  });
  return fmt::format("{}: {}\n", plain_key ? name : json_string(name), json(cell));
}

std::string yaml_list(const Table& table) {
  std::string out = table.rows.empty() ? "[]\n" : "";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += (i == 0 ? "- " : "  ") + yaml_entry(table.columns[i], row[i]);
    }
  }
  return out;
}

std::string values(const Table& table) {
  std::string out;
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : " ", one_line(row[i]));
    }
    out += '\n';
  }
  return out;
}

// The lines of a cell. Tables are for people: None is nothing.
std::vector<std::string> lines_of(const Cell& cell) {
  std::vector<std::string> lines(1);
  if (std::holds_alternative<std::monostate>(cell)) return lines;
  for (const char c : plain(cell)) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c == '\t' ? ' ' : c;
    }
  }
  for (std::string& line : lines) line = visible(line);
  return lines;
}

bool right_aligned(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

// Cuts each time to the second, which does not break in the middle then.
void cut_times(Table& table) {
  constexpr std::string_view kForm = "2026-11-25T21:00:00.000Z";
  constexpr std::size_t kSecondsEnd = 19;
  for (auto& row : table.rows) {
    for (Cell& cell : row) {
      auto* text = std::get_if<std::string>(&cell);
      if (text == nullptr || text->size() != kForm.size()) continue;
      const bool time = (*text)[10] == 'T' && (*text)[kSecondsEnd] == '.' && text->back() == 'Z';
      if (time) text->replace(kSecondsEnd, std::string::npos, "Z");
    }
  }
}

struct Grid {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::vector<std::string>>> cells;  // row, column, line
};

Grid measure(const Table& table) {
  Grid grid;
  for (const std::string& column : table.columns) grid.widths.push_back(display_width(column));
  for (const auto& row : table.rows) {
    auto& shown = grid.cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      shown.push_back(lines_of(row[i]));
      for (const std::string& line : shown.back()) {
        grid.widths[i] = std::max(grid.widths[i], display_width(line));
      }
    }
  }
  return grid;
}

void narrow(Grid& grid, std::size_t widest) {
  for (std::size_t& width : grid.widths) width = std::min(width, widest);
  for (auto& row : grid.cells) {
    for (auto& cell : row) {
      std::vector<std::string> wrapped;
      for (const std::string& line : cell) {
        for (std::string& part : wrap(line, widest)) wrapped.push_back(std::move(part));
      }
      cell = std::move(wrapped);
    }
  }
}

// PrettyTable as cliff sets it up: numbers to the right (by the first row's types), all else to the
// left.
std::string draw(const Table& table, const Grid& grid, bool align_numbers, bool color) {
  const std::size_t count = table.columns.size();
  std::string rule = "+";
  for (const std::size_t width : grid.widths) rule += std::string(width + 2, '-') + '+';
  rule += '\n';

  const auto pad = [&](const std::string& text, std::size_t column) {
    const std::string gap(grid.widths[column] - display_width(text), ' ');
    const bool right = align_numbers && right_aligned(table.rows[0][column]);
    const std::string_view code = color ? color_of(text) : std::string_view{};
    const std::string shown = code.empty() ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
    return right ? fmt::format(" {}{} |", gap, shown) : fmt::format(" {}{} |", shown, gap);
  };
  std::string out = rule + "|";
  for (std::size_t i = 0; i < count; ++i) out += pad(table.columns[i], i);
  out += '\n' + rule;
  for (const auto& row : grid.cells) {
    std::size_t height = 1;
    for (const auto& cell : row) height = std::max(height, cell.size());
    for (std::size_t line = 0; line < height; ++line) {
      out += '|';
      for (std::size_t i = 0; i < count; ++i) {
        out += pad(line < row[i].size() ? row[i][line] : std::string(), i);
      }
      out += '\n';
    }
  }
  return out + rule;
}

void drop_column(Table& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.columns.erase(table.columns.begin() + at);
  for (auto& row : table.rows) row.erase(row.begin() + at);
}

// Nothing for a table without rows. `width` 0: as wide as it gets. What cannot be made to fit is as
// wide as it gets, too: a terminal that wraps whole lines is easier to read than columns of a few
// characters.
std::string grid(Table table, const View& view, bool align_numbers) {
  if (table.rows.empty()) return {};
  if (view.width > 0 && align_numbers) cut_times(table);
  Grid shown = measure(table);
  if (view.width == 0) return draw(table, shown, align_numbers, view.color);
  auto widest = widest_that_fits(shown.widths, view.width);
  std::string dropped;
  for (auto spare = table.spare.begin(); !widest && spare != table.spare.end(); ++spare) {
    const auto column = std::find(table.columns.begin(), table.columns.end(), *spare);
    if (column == table.columns.end() || !view.columns.empty()) continue;
    drop_column(table, static_cast<std::size_t>(column - table.columns.begin()));
    dropped += fmt::format("{}{}", dropped.empty() ? "" : ", ", *spare);
    shown = measure(table);
    widest = widest_that_fits(shown.widths, view.width);
  }
  const std::size_t natural = *std::max_element(shown.widths.begin(), shown.widths.end());
  if (widest && *widest < natural) narrow(shown, *widest);
  std::string out = draw(table, shown, align_numbers, view.color);
  if (dropped.empty()) return out;
  const std::string told = fmt::format("hidden columns: {} ({})", dropped, table.hidden_are);
  return out + fmt::format("{}\n", fmt::join(wrap(told, std::max(view.width, kColumnMin)), "\n"));
}

// Finds the indices of the columns that are to be shown.
Result<std::vector<std::size_t>> choose(const std::vector<std::string>& columns,
                                        const std::vector<std::string>& wanted) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto same = [&](const std::string& name) { return lower(name) == lower(columns[i]); };
    if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), same)) chosen.push_back(i);
  }
  for (const std::string& name : wanted) {
    const auto same = [&](const std::string& column) { return lower(name) == lower(column); };
    if (std::any_of(columns.begin(), columns.end(), same)) continue;
    const auto meant = config::did_you_mean(name, columns);
    return Error{Errc::usage,
                 fmt::format("no column '{}', there are: {}{}", name, fmt::join(columns, ", "),
                             meant ? fmt::format("; did you mean '{}'?", *meant) : "")};
  }
  return chosen;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Char next = first_utf8_char(text);
    if (!next.valid || !within(kZeroWidth, next.code)) {
      width += next.valid && within(kDoubleWidth, next.code) ? 2 : 1;
    }
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  if (count != 1 && many.empty()) return fmt::format("{} {}s", count, one);
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string age_text(std::int64_t seconds) {
  const std::int64_t s = std::max<std::int64_t>(seconds, 0);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d{}h", s / 86400, s % 86400 / 3600);
}

Result<Format> parse_format(std::string_view name) {
  constexpr auto kNames = enum_names<Format::value>("table", "json", "yaml", "csv", "value");
  if (const auto format = kNames.find(name)) return *format;
  return Error{Errc::usage, fmt::format("no format '{}', there are: {}", name, kFormats)};
}

std::string_view color_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kColors = {
      {{"available", "32"},
       {"allocated", "34"},
       {"pending_cleaning", "33"},
       {"cleaning", "36"},
       {"error", "31"},
       {"ok", "32"},
       {"warning", "33"},
       {"failed", "31"},
       {"BAD", "31"},
       {"UNERASED", "31"},
       {"refused", "31"},
       {"passed", "32"}}};
  const auto* found = std::find_if(kColors.begin(), kColors.end(),
                                   [&](const auto& each) { return each.first == word; });
  return found == kColors.end() ? std::string_view{} : found->second;
}

namespace {

// None first, then by kind; numbers by their value, texts as they are.
bool is_less(const Cell& a, const Cell& b) {
  if (a.index() != b.index()) return a.index() < b.index();
  if (const auto* json = std::get_if<RawJson>(&a)) return json->text < std::get<RawJson>(b).text;
  return std::visit(
      [&b](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, RawJson>) {
          return false;
        } else {
          return value < std::get<T>(b);
        }
      },
      a);
}

// Rows in the order that the view asks for; those that are equal in it stay as they come.
Result<std::vector<std::vector<Cell>>> sorted(const Table& table, const View& view) {
  std::vector<std::vector<Cell>> rows = table.rows;
  std::vector<std::string> keys = view.sort;
  std::reverse(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    const auto column = choose(table.columns, {key});
    if (!column.ok()) return column.error().wrap("--sort-column");
    std::stable_sort(rows.begin(), rows.end(),
                     [&, i = column->front()](const auto& a, const auto& b) {
                       return view.descending ? is_less(b[i], a[i]) : is_less(a[i], b[i]);
                     });
  }
  return rows;
}

}  // namespace

Result<std::string> format_list(const Table& table, const View& view) {
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  const auto rows = sorted(table, view);
  if (!rows.ok()) return rows.error();
  const auto chosen = choose(table.columns, view.columns);
  if (!chosen.ok()) return chosen.error();
  Table shown{{}, {}, table.spare, table.hidden_are};
  for (const std::size_t i : *chosen) shown.columns.push_back(table.columns[i]);
  for (const auto& row : *rows) {
    auto& part = shown.rows.emplace_back();
    for (const std::size_t i : *chosen) part.push_back(row[i]);
  }
  switch (view.format) {
    case Format::table:
      return grid(std::move(shown), view, true);
    case Format::json:
      return json_list(shown);
    case Format::yaml:
      return yaml_list(shown);
    case Format::csv:
      return csv(shown);
    case Format::value:
      return values(shown);
  }
  return std::string{};
}

Result<std::string> format_show(const Fields& fields, const View& view) {
  Table row;
  for (const auto& field : fields) row.columns.push_back(field.first);
  const auto chosen = choose(row.columns, view.columns);
  if (!chosen.ok()) return chosen.error();
  Table shown{{"Field", "Value"}, {}};
  std::vector<std::string> names;
  std::vector<Cell> cells;
  for (const std::size_t i : *chosen) {
    names.push_back(fields[i].first);
    cells.push_back(fields[i].second);
    shown.rows.push_back({fields[i].first, fields[i].second});
  }
  switch (view.format) {
    case Format::table:
      return grid(std::move(shown), view, false);
    case Format::json:
      return json_object(names, cells, "") + '\n';
    case Format::yaml: {
      std::string out;
      for (std::size_t i = 0; i < names.size(); ++i) out += yaml_entry(names[i], cells[i]);
      return out;
    }
    case Format::csv:
      return csv(shown);
    case Format::value:
      break;
  }
  std::string out;
  for (const Cell& cell : cells) out += one_line(cell) + '\n';
  return out;
}

}  // namespace reclaim::cli
