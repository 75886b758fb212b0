#include "cli/record_cells.h"

#include <type_traits>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/device/record_fields.h"

namespace reclaim::cli {
namespace {

// Makes a JSON cell of a text that is JSON. One that only begins so stays a text: it is not known
// who wrote it.
Cell text_cell(const std::string& text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return text;
  const auto parsed = parse_shallow(text, text.size());
  return parsed ? Cell(RawJson{json::to_text(*parsed)}) : Cell(text);
}

// A visitor of visit_fields (state/base/fields.h).
class CellWriter final {
 public:
  explicit CellWriter(Fields& fields) : fields_(fields) {}

  [[nodiscard]] static bool wants(bool written) { return written; }

  template <typename T>
  void operator()(const char* name, const T& value, field::Rule /*rule*/ = field::Rule::required) {
    if constexpr (std::is_same_v<T, bool>) {
      fields_.emplace_back(name, value);
    } else if constexpr (std::is_integral_v<T>) {
      fields_.emplace_back(name, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_same_v<T, WallMs>) {
      fields_.emplace_back(name, field::time_text(value));
    } else if constexpr (field::kIsOptional<T>) {
      fields_.emplace_back(name, value ? Cell(static_cast<std::int64_t>(*value)) : Cell());
    } else {
      fields_.emplace_back(name, text_cell(value));
    }
  }
  template <typename T, typename Read, typename Write = field::ToText>
  void text(const char* name, const T& value, const Read& /*read*/,
            field::Rule /*rule*/ = field::Rule::required, const Write& write = {}) {
    fields_.emplace_back(name, text_cell(write(value)));
  }
  void percent(const char* name, double value) { fields_.emplace_back(name, value); }
  void derived(const char* name, std::string_view value) {
    fields_.emplace_back(name, std::string(value));
  }

 private:
  Fields& fields_;
};

}  // namespace

Fields record_cells(const Record& record) {
  Fields fields;
  CellWriter writer(fields);
  visit_fields(writer, record);
  return fields;
}

}  // namespace reclaim::cli
