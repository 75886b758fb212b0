// Cleans a foreign message for storage: everything may be kept but the request's context, which
// with older senders holds a live token. When in doubt less is kept.
#include <fmt/core.h>

#include <algorithm>
#include <bitset>
#include <optional>

#include "handlers/bus/notification.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

using json::Token;

constexpr std::size_t kExcerptBytesMax = 1024;
constexpr std::string_view kRemoved = "(removed: it may hold a request's context)";

// The first place where a text could begin to speak of a context. The name can be spelled with \u
// escapes at any level of quoting, so a backslash before a 'u' counts, and so does the token's own
// name.
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
    json::append_string(printable_excerpt(safe, std::min(bytes_max, kExcerptBytesMax)), out);
  }
  out += '}';
  return out;
}

bool is_context_name(std::string_view name) {
  return name.find("_context") != std::string_view::npos;
}

// Copies a JSON text part by part, leaving out what may not be kept.
class Cleaner final : public json::Parts {
 public:
  Cleaner(bool envelope, std::string& out) : envelope_(envelope), out_(out) {}

  void on(Token token, std::string_view text, std::size_t /*offset*/) override {
    const bool opens = token == Token::object_begin || token == Token::array_begin;
    const bool closes = token == Token::object_end || token == Token::array_end;
    if (closes) --depth_;
    if (!leaves_out(token, opens)) copy(token, text);
    if (opens) filled_[++depth_] = false;
  }

 private:
  // True if the part is of a member that is left out: its value, up to its end.
  bool leaves_out(Token token, bool opens) {
    if (!outside_) return false;
    if (depth_ == *outside_ && token != Token::key && !opens) outside_.reset();
    return true;
  }

  void copy(Token token, std::string_view text) {
    switch (token) {
      case Token::object_end:
        out_ += '}';
        break;
      case Token::array_end:
        out_ += ']';
        break;
      case Token::key:
        copy_key(text);
        break;
      case Token::string:
        copy_string(text);
        break;
      case Token::object_begin:
        separate();
        out_ += '{';
        break;
      case Token::array_begin:
        separate();
        out_ += '[';
        break;
      default:
        separate();
        out_ += text;
    }
  }

  // A comma before every value or member but the first; a member's value follows its colon.
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (filled_[depth_]) out_ += ", ";
    filled_[depth_] = true;
  }

  void copy_key(std::string_view name) {
    if (is_context_name(name)) {
      outside_ = depth_;
      return;
    }
    is_message_ = envelope_ && depth_ == 1 && name == "oslo.message";
    separate();
    json::append_string(first_context(name) == std::string::npos ? name : "removed", out_);
    out_ += ": ";
    after_key_ = true;
  }

  void copy_string(std::string_view text) {
    const bool is_message = after_key_ && is_message_ && !message_;  // the first one counts
    separate();
    if (is_message) {
      message_at_ = out_.size();
      message_ = text;
      return;
    }
    json::append_string(first_context(text) == std::string::npos ? text : kRemoved, out_);
  }

  friend std::optional<std::string> cleaned(std::string_view text, bool envelope);

  bool envelope_;
  std::string& out_;
  std::size_t depth_ = 0;
  std::optional<std::size_t> outside_;  // a member is left out, of the object at this depth
  bool after_key_ = false;
  bool is_message_ = false;
  std::bitset<json::kReadDepthMax + 2> filled_;
  std::size_t message_at_ = 0;
  std::optional<std::string> message_;
};

// The text without what may not be kept; nothing: it is not JSON.
std::optional<std::string> cleaned(std::string_view text, bool envelope) {
  std::string out;
  std::string paired;
  out.reserve(text.size());
  Cleaner cleaner(envelope, out);
  if (!json::read(json::pair_surrogates(text, paired), cleaner)) return std::nullopt;
  if (cleaner.message_) {
    const auto inner = cleaned(*cleaner.message_, false);
    std::string quoted;
    json::append_string(inner.value_or(excerpt_of_text(*cleaner.message_, kExcerptBytesMax)),
                        quoted);
    out.insert(cleaner.message_at_, quoted);
  }
  return out;
}

}  // namespace

std::string clean_for_storage(std::string_view body, std::size_t bytes_max) {
  if (body.size() > bytes_max) return excerpt_of_text(body, bytes_max);
  return cleaned(body, true).value_or(excerpt_of_text(body, bytes_max));
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
