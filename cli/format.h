// Tables as the openstack client prints them (cliff's formatters): -f table|json|yaml|csv|value, -c
// COLUMN, --sort-column. Pure: rows in, text out. Thread: any.
//
// A list has columns and rows; a show has one row, printed as Field and Value. Values are typed, so
// that JSON gets numbers and booleans; everywhere else they are printed as Python's str() does
// ("True", "None"), for scripts compare with that; in a table, which people read, None is empty. On
// a terminal a table fits its width, as with cliff's --fit-width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "state/base/result.h"

namespace reclaim::cli {

// A JSON text that is printed as it is: in JSON as a value, elsewhere as text. It must be valid
// JSON.
struct RawJson {
  std::string text;
  friend bool operator==(const RawJson&, const RawJson&) = default;
};

// std::monostate is None: null in JSON.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, RawJson>;

enum class Format { table, json, yaml, csv, value };

inline constexpr std::string_view kFormats = "table, json, yaml, csv, value";

// One of kFormats; the error lists them.
[[nodiscard]] Result<Format> parse_format(std::string_view name);

struct View {
  Format format = Format::table;
  std::vector<std::string> columns;    // of -c, in any case; empty: all
  std::size_t width = 0;               // of the terminal that a table has to fit; 0: no terminal
  bool color = false;                  // a table's words that have one are coloured
  std::vector<std::string> sort = {};  // by these columns, the first one first; empty: as they come
  bool descending = false;
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as `columns`
  // The columns that a terminal that is too narrow goes without, the first one first, unless -c
  // asks for one; a line below the table names them.
  std::vector<std::string> spare = {};
  std::string_view hidden_are = "show one with -c NAME";  // told behind their names
};

// An ANSI colour's code for a state or verdict ("error": red); empty: it has none.
[[nodiscard]] std::string_view color_of(std::string_view word);

// Field and value, in the order shown.
using Fields = std::vector<std::pair<std::string, Cell>>;

// The whole text, with its last line break. A column nobody knows is an error that lists the
// columns; the columns come out in the table's order, whatever the order of -c.
[[nodiscard]] Result<std::string> format_list(const Table& table, const View& view);
[[nodiscard]] Result<std::string> format_show(const Fields& fields, const View& view);

// A count with its word: "1 device", "2 devices". `many`: of which more there are; empty: an s
// more.
[[nodiscard]] std::string counted(std::size_t count, std::string_view one,
                                  std::string_view many = {});

// A duration in its two largest units: "42s", "5m10s", "3h2m", "12d4h". Less than 0, as where
// clocks differ: "0s".
[[nodiscard]] std::string age_text(std::int64_t seconds);

// Counts the terminal columns that a text takes: wide East Asian characters and emoji take two,
// combining marks none. Bytes that are not UTF-8 count as one each.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace reclaim::cli
