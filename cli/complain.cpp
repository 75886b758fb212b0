#include "cli/complain.h"

#include <ostream>
#include <string>

#include "cli/fit.h"
#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

// Each stream has a place of this index for its terminal's columns.
int place_of_width() {
  static const int kPlace = std::ios_base::xalloc();
  return kPlace;
}

}  // namespace

void set_line_width(std::ostream& stream, std::size_t width) {
  stream.iword(place_of_width()) = static_cast<long>(width);
}

std::size_t line_width(std::ostream& stream) {
  return static_cast<std::size_t>(stream.iword(place_of_width()));
}

void say(std::ostream& stream, std::string_view text) {
  stream << hanging(visible(text), line_width(stream)) << std::flush;
}

int complain(std::ostream& err, const Error& error) {
  say(err, "reclaim: " + error.what);
  return error.code == Errc::usage ? 2 : 1;
}

}  // namespace reclaim::cli
