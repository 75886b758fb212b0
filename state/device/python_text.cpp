#include "state/device/python_text.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "state/base/embedded_json.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

bool is_word(char c) {
  return is_letter(c) || c == '_';
}

// Rewrites Python's words and strings as JSON's; whether the rest makes sense is the JSON reader's
// to say.
class Rewriter final {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  // Nothing: no literal of Python's.
  [[nodiscard]] std::optional<std::string> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool good = c == '\'' || c == '"' ? take_string() : is_word(c) ? take_word() : take();
      if (!good) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  bool take() {
    out_ += text_[at_++];
    return true;
  }

  bool take_word() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords{
        {{"None", "null"}, {"True", "true"}, {"False", "false"}}};
    if (text_[at_] == 'u' && at_ + 1 < text_.size() &&
        (text_[at_ + 1] == '\'' || text_[at_ + 1] == '"')) {
      ++at_;
      return take_string();
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    for (const auto& [python, json] : kWords) {
      if (text_.substr(begin, at_ - begin) != python) continue;
      out_ += json;
      return true;
    }
    return false;
  }

  bool take_string() {
    const char quote = text_[at_++];
    out_ += '"';
    while (at_ < text_.size() && text_[at_] != quote) {
      const char c = text_[at_];
      if (c == '\\') {
        if (!take_escape()) return false;
      } else if (c == '"') {
        out_ += "\\\"";
        ++at_;
      } else {
        take();
      }
    }
    if (at_ == text_.size()) return false;
    out_ += '"';
    ++at_;
    return true;
  }

  bool take_escape() {
    if (at_ + 1 >= text_.size()) return false;
    const char c = text_[at_ + 1];
    switch (c) {
      case '\'':
        out_ += '\'';
        at_ += 2;
        return true;
      case 'x':  // \x1b; the JSON reader sees whether these are hexadecimal digits
        if (at_ + 4 > text_.size()) return false;
        out_ += "\\u00";
        out_ += text_.substr(at_ + 2, 2);
        at_ += 4;
        return true;
      default:  // the others that Python prints are JSON's as well
        out_ += '\\';
        out_ += c;
        at_ += 2;
        return true;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

Result<rapidjson::Document> need_object(Result<rapidjson::Document> document) {
  if (document && !document->IsObject()) return Error{Errc::invalid, "it is not an object"};
  return document;
}

}  // namespace

Result<rapidjson::Document> parse_json_or_python(std::string_view text, std::size_t bytes_max) {
  Result<rapidjson::Document> as_json = need_object(parse_shallow(text, bytes_max));
  if (as_json || text.size() > bytes_max) return as_json;
  const std::optional<std::string> rewritten = Rewriter(text).run();
  if (!rewritten) return as_json;
  // No character becomes more than two.
  Result<rapidjson::Document> as_python = need_object(parse_shallow(*rewritten, 2 * bytes_max));
  if (as_python) return as_python;
  return as_json;
}

}  // namespace reclaim
