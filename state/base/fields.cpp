#include "state/base/fields.h"

#include <algorithm>
#include <cmath>

namespace reclaim::field {

void TextWriter::percent(const char* name, double value) {
  const double bounded = std::isfinite(value) ? std::min(100.0, std::max(0.0, value)) : 0.0;
  pairs_.emplace_back(name, fmt::format("{:.1f}", bounded));
}

void TextReader::percent(const char* name, double& value) {
  const std::string* told = find(name, Rule::required);
  if (told == nullptr) return;
  const auto number = parse_number<double>(*told);
  if (!number || !(*number >= 0 && *number <= 100)) {
    return wrong(name, *told, "a number from 0.0 to 100.0");
  }
  value = *number;
}

const std::string* TextReader::find(const std::string& name, Rule rule) {
  const auto it = texts_.find(name);
  if (it != texts_.end()) return &it->second;
  if (rule == Rule::required) {
    fail(Error{Errc::invalid, fmt::format("field '{}' is missing", name)});
  }
  return nullptr;
}

void TextReader::wrong(std::string_view name, std::string_view told, std::string_view needed,
                       Rule rule) {
  fail(Error{Errc::invalid, fmt::format("field '{}' is '{}', {} is needed", name,
                                        printable_excerpt(told), needed)},
       rule);
}

}  // namespace reclaim::field
