// Makes what is printed fit a terminal: a table's columns that are too wide for it are narrowed
// together, and texts are wrapped. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::cli {

// Narrower than this a text is hard to read; a column that is narrower by itself stays as it is.
inline constexpr std::size_t kColumnMin = 20;

// The width of the widest column so that a grid of such columns fits `width`, none of them narrowed
// below kColumnMin; nothing if they cannot.
[[nodiscard]] std::optional<std::size_t> widest_that_fits(const std::vector<std::size_t>& columns,
                                                          std::size_t width);

// The text in lines of at most `width` terminal columns, broken behind blanks, but for that between
// a number and its unit; a word that no line can hold behind a comma, dash or slash, and in the
// middle where it has none. At least one line.
// `width` is at least 4.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

// The text and its line break, in lines of at most `width`, all but the first one indented. `width`
// 0, or too narrow for that: in one line.
[[nodiscard]] std::string hanging(const std::string& text, std::size_t width);

// A text of --help with its long lines wrapped: what an option is for goes on in `column`, where it
// begins. `width` 0, or too narrow for that: as it is.
[[nodiscard]] std::string fit_help(const std::string& help, std::size_t column, std::size_t width);

}  // namespace reclaim::cli
