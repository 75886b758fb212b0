// What of a foreign message may be kept: everything but the request's context, which with older
// senders holds a live token. When in doubt less is kept.
#include <fmt/core.h>

#include <algorithm>
#include <bitset>

#include "handlers/bus/json_scanner.h"
#include "handlers/bus/notification.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

using Token = JsonScanner::Token;

constexpr std::size_t kExcerptBytesMax = 1024;
constexpr std::string_view kRemoved = "(removed: it may hold a request's context)";

// Where a text first could begin to speak of a context. The name can be spelled with \u escapes at
// any level of quoting, so a backslash before a 'u' counts, and so does the token's own name.
std::size_t first_context(std::string_view text) {
  std::size_t at = std::string_view::npos;
  for (const std::string_view word : {"_context", "\\u", "auth_token"}) {
    at = std::min(at, text.find(word));
  }
  return at;
}

std::string excerpt_of_text(std::string_view body, std::size_t bytes_max) {
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  std::string out = "{\"reclaim_body_bytes\": ";
  out += fmt::format("{}", body.size());
  if (start != std::string_view::npos && body[start] == '{') {
    const std::string_view safe = body.substr(start, first_context(body.substr(start)));
    out += ", \"reclaim_excerpt\": ";
    json_append_string(printable_excerpt(safe, std::min(bytes_max, kExcerptBytesMax)), out);
  }
  out += '}';
  return out;
}

bool is_context_name(std::string_view name) {
  return name.find("_context") != std::string_view::npos;
}

// Copies a JSON text token by token, leaving out what may not be kept. False: it is no JSON.
class Cleaner final {
 public:
  Cleaner(std::string_view text, bool envelope) : scanner_(text), envelope_(envelope) {}

  [[nodiscard]] bool run(std::string& out) {
    while (true) {
      const Token token = scanner_.next();
      if (token == Token::error) return false;
      if (token == Token::end) return true;
      if (!copy(token, out)) return false;
    }
  }

 private:
  bool copy(Token token, std::string& out) {
    switch (token) {
      case Token::object_begin:
      case Token::array_begin:
        separate(scanner_.depth() - 1, out);
        out += token == Token::object_begin ? '{' : '[';
        filled_[scanner_.depth()] = false;
        return true;
      case Token::object_end:
        out += '}';
        return true;
      case Token::array_end:
        out += ']';
        return true;
      case Token::key:
        return copy_key(out);
      case Token::string:
        copy_string(out);
        return true;
      default:
        separate(scanner_.depth(), out);
        out += scanner_.raw();
        return true;
    }
  }

  // A comma before every value or member but the first; a member's value follows its colon.
  void separate(std::size_t depth, std::string& out) {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (filled_[depth]) out += ", ";
    filled_[depth] = true;
  }

  bool copy_key(std::string& out) {
    json_unescape(scanner_.raw(), text_);
    if (is_context_name(text_)) {
      const Token value = scanner_.next();
      if (value == Token::object_begin || value == Token::array_begin) {
        return scanner_.skip_container();
      }
      return value != Token::error;
    }
    is_message_ = envelope_ && scanner_.depth() == 1 && text_ == "oslo.message";
    separate(scanner_.depth(), out);
    if (first_context(text_) != std::string::npos) text_ = "removed";
    json_append_string(text_, out);
    out += ": ";
    after_key_ = true;
    return true;
  }

  void copy_string(std::string& out) {
    const bool is_message = after_key_ && is_message_;
    separate(scanner_.depth(), out);
    json_unescape(scanner_.raw(), text_);
    if (is_message) {
      std::string inner;
      if (!Cleaner(text_, false).run(inner)) inner = excerpt_of_text(text_, kExcerptBytesMax);
      json_append_string(inner, out);
      return;
    }
    json_append_string(first_context(text_) == std::string::npos ? text_ : kRemoved, out);
  }

  JsonScanner scanner_;
  bool envelope_;
  bool after_key_ = false;
  bool is_message_ = false;
  std::bitset<kJsonDepthMax + 1> filled_;
  std::string text_;
};

}  // namespace

std::string clean_for_storage(std::string_view body, std::size_t bytes_max) {
  if (body.size() > bytes_max) return excerpt_of_text(body, bytes_max);
  std::string out;
  out.reserve(body.size());
  if (!Cleaner(body, true).run(out)) return excerpt_of_text(body, bytes_max);
  return out;
}

std::string unread_excerpt(std::string_view body) {
  return excerpt_of_text(body, kExcerptBytesMax);
}

std::string safe_excerpt(std::string_view body, std::size_t bytes_max) {
  // Ten times the excerpt is enough of a message to clean; a longer one is cut before its context.
  return printable_excerpt(clean_for_storage(body, std::max<std::size_t>(10 * bytes_max, 16384)),
                           bytes_max);
}

}  // namespace reclaim
