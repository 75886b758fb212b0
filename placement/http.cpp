#include "placement/http.h"

#include <algorithm>
#include <cctype>

namespace reclaim::placement {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  for (const HttpHeader& each : headers) {
    if (same_ignoring_case(each.name, name)) return each.value;
  }
  return {};
}

}  // namespace reclaim::placement
