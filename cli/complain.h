// Tells people a line on a stream: wrapped where a terminal is behind it.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::cli {

// The columns of the terminal behind a stream; 0, as at first: there is none.
void set_line_width(std::ostream& stream, std::size_t width);
[[nodiscard]] std::size_t line_width(std::ostream& stream);

// One line, which may hold foreign words; what does not fit the terminal goes on below, indented.
void say(std::ostream& stream, std::string_view text);

// Tells on `err` that a command failed, and why; the exit code: 2 for Errc::usage, else 1.
int complain(std::ostream& err, const Error& error);

}  // namespace reclaim::cli
