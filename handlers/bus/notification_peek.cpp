// The quick look at a message's event type. Most messages are of no interest, and oslo.messaging
// writes event_type among the first members: so most bodies are done with after some 200 bytes.
#include <cstdint>

#include "handlers/bus/notification.h"

namespace reclaim {
namespace {

constexpr std::size_t kPeekTextBytesMax = 255;

// Reads plain text only; every surprise makes it stop, and the exact decoder takes over.
class Peek final {
 public:
  explicit Peek(std::string_view text) : text_(text) {}

  // From here on only blanks are white space: a raw line break may not stand inside a string.
  void enter_string() { in_string_ = true; }
  [[nodiscard]] bool take(std::string_view literal) {
    if (text_.substr(at_, literal.size()) != literal) return false;
    at_ += literal.size();
    return true;
  }
  // A text of printable ASCII without any escape, in quotes spelled `quote`.
  [[nodiscard]] bool take_text(std::string_view quote, std::string_view& out) {
    if (!take(quote)) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
    out = text_.substr(begin, at_ - begin);
    return out.size() <= kPeekTextBytesMax && take(quote);
  }
  [[nodiscard]] bool take_between(std::string_view literal) {
    space();
    const bool taken = take(literal);
    space();
    return taken;
  }

 private:
  void space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  [[nodiscard]] bool is_space(char c) const {
    return c == ' ' || (!in_string_ && (c == '\n' || c == '\r' || c == '\t'));
  }
  static bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

  std::string_view text_;
  std::size_t at_ = 0;
  bool in_string_ = false;
};

// Inside the JSON string every quote is escaped once.
std::optional<std::string_view> peek_inner(Peek& peek) {
  constexpr std::string_view kQuote = "\\\"";
  if (!peek.take_between("{")) return std::nullopt;
  while (true) {
    std::string_view name;
    std::string_view value;
    if (!peek.take_text(kQuote, name)) return std::nullopt;
    if (!peek.take_between(":")) return std::nullopt;
    if (!peek.take_text(kQuote, value)) return std::nullopt;
    if (name == "event_type") return value;
    if (!peek.take_between(",")) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string_view> NotificationDecoder::peek_event_type(std::string_view body) {
  Peek peek(body);
  std::string_view text;
  if (!peek.take_between("{")) return std::nullopt;
  if (!peek.take_text("\"", text) || text != "oslo.version") return std::nullopt;
  if (!peek.take_between(":")) return std::nullopt;
  if (!peek.take_text("\"", text) || text != "2.0") return std::nullopt;
  if (!peek.take_between(",")) return std::nullopt;
  if (!peek.take_text("\"", text) || text != "oslo.message") return std::nullopt;
  if (!peek.take_between(":")) return std::nullopt;
  if (!peek.take("\"")) return std::nullopt;
  peek.enter_string();
  return peek_inner(peek);
}

}  // namespace reclaim
