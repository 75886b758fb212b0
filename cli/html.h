// A page of HTML that stands by itself: no script, no font, no image from elsewhere; it prints on
// A4. Well-formed as XML too. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>

namespace reclaim::cli {

// Text as it is shown: what a browser would obey is made harmless, control characters are visible.
[[nodiscard]] std::string html_text(std::string_view text);

// `body` is HTML, `title` is text.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body);

}  // namespace reclaim::cli
