// Foreign text where it leaves: a log line, the journal on a terminal, a table of the command line.
// What could begin a line, move the cursor or turn the reading direction is shown, not obeyed.
// Pure; thread: any.
#pragma once

#include <string>
#include <string_view>

namespace reclaim {

// One line. Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \xNN; line and
// paragraph separators and the marks of Unicode's bidirectional algorithm become \uNNNN; all else
// stays as it is.
[[nodiscard]] std::string visible(std::string_view text);

// An id: letters, digits and "-_.:" stay, every other byte becomes \xNN.
[[nodiscard]] std::string visible_id(std::string_view text);

// True if the character ends a line, or is a control or a mark of reading direction.
[[nodiscard]] bool is_obeyed(char32_t code);

}  // namespace reclaim
