#include "placement/http/http.h"

#include "state/base/text.h"

namespace reclaim::placement {

std::string_view HttpResponse::header(std::string_view name) const {
  for (const HttpHeader& each : headers) {
    if (same_ignoring_case(each.name, name)) return each.value;
  }
  return {};
}

}  // namespace reclaim::placement
