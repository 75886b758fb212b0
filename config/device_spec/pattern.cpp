#include "config/device_spec/pattern.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "state/base/check.h"

namespace reclaim::config {
namespace {

// A text has fewer bytes, so that a higher count in '{m,n}' means the same.
constexpr unsigned kCountMax = kPatternTextBytesMax + 1;

Error invalid(std::string_view what) {
  return Error{Errc::invalid, std::string(what)};
}

// Writes Python's syntax as RE2's, and refuses what the two read differently, such as '\b', "(?i)",
// "[[:alpha:]]" and "{,3}". After the first error it stops.
class Translation {
 public:
  explicit Translation(std::string_view text) : rest_(text) {}

  Result<std::string> run() {
    while (why_.empty() && !rest_.empty()) one();
    if (why_.empty() && open_groups_ > 0) fail("a '(' without its ')'");
    if (!why_.empty()) return invalid(why_);
    return std::move(out_);
  }

 private:
  void fail(std::string_view why) {
    if (why_.empty()) why_ = why;
    rest_ = {};
  }

  char next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void literal(char c) { out_ += fmt::format("\\x{:02x}", static_cast<unsigned char>(c)); }

  void one() {
    const char c = next();
    switch (c) {
      case '\\':
        return escape();
      case '[':
        return set();
      case '{':
        return counts();
      case '(':
        ++open_groups_;
        if (rest_.starts_with('?') && !rest_.starts_with("?:")) {
          return fail("look-around, named groups and flags '(?...)' are not supported");
        }
        break;
      case ')':
        if (open_groups_-- == 0) return fail("a ')' without its '('");
        break;
      default:
        break;
    }
    out_ += c;
  }

  // Translates what follows a backslash.
  void escape() {
    if (rest_.empty()) return fail("a '\\' at the end");
    const char c = next();
    if (std::string_view("dDwWsS").find(c) != std::string_view::npos) {
      out_ += '\\';
      out_ += c;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      fail("back-references and escapes other than \\d \\w \\s are not supported");
    } else {
      literal(c);
    }
  }

  void set() {
    out_ += '[';
    if (take('^')) out_ += '^';
    bool first = true;
    while (why_.empty()) {
      if (rest_.empty()) return fail("a '[' without its ']'");
      const char c = next();
      if (c == ']' && !first) break;
      first = false;
      if (c == '\\') {
        const bool letter = !rest_.empty() && std::isalnum(static_cast<unsigned char>(rest_[0]));
        escape();
        if (letter && rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']') {
          return fail("not a valid range");
        }
      } else if (c == '[' || c == ']') {
        literal(c);
      } else {
        out_ += c;
      }
    }
    out_ += ']';
  }

  // {m}, {m,}, {,n}, {m,n}
  void counts() {
    const auto low = number();
    const bool ranged = take(',');
    const auto high = ranged ? number() : low;
    if (!take('}') || (!low && !high)) return fail("a '{' without a count like {2} or {1,3}");
    if (low && high && *low > *high) {
      return fail("a count whose minimum is greater than its maximum");
    }
    out_ += fmt::format("{{{},", std::min(low.value_or(0), kCountMax));
    if (high) out_ += std::to_string(std::min(*high, kCountMax));
    out_ += '}';
  }

  std::optional<unsigned> number() {
    std::optional<unsigned> value;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = std::min(value.value_or(0) * 10 + static_cast<unsigned>(next() - '0'), 1000U);
    }
    return value;
  }

  std::string_view rest_;
  std::string out_;
  std::string_view why_;
  int open_groups_ = 0;
};

Error refused(const re2::RE2& compiled) {
  switch (compiled.error_code()) {
    case re2::RE2::ErrorRepeatArgument:
      return invalid("nothing to repeat");
    case re2::RE2::ErrorRepeatOp:
      return invalid("two repetitions in a row");
    case re2::RE2::ErrorBadCharRange:
    case re2::RE2::ErrorBadEscape:  // "[a-\\d]": the others are gone
      return invalid("not a valid range");
    case re2::RE2::ErrorRepeatSize:
    case re2::RE2::ErrorPatternTooLarge:
      return Error{Errc::limit, "its repetition counts are too large: nest fewer of them"};
    default:
      return invalid(compiled.error());
  }
}

}  // namespace

Result<Pattern> Pattern::create(std::string_view text) {
  if (text.size() > kPatternBytesMax) {
    return Error{Errc::limit, fmt::format("it is longer than {} bytes", kPatternBytesMax)};
  }
  const auto translated = Translation(text).run();
  if (!translated.ok()) return translated.error();
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_case_sensitive(false);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(*translated, options);
  if (!compiled->ok()) return refused(*compiled);
  return Pattern(std::move(compiled));
}

bool Pattern::matches_start(std::string_view text) const {
  CHECK(text.size() <= kPatternTextBytesMax);
  return compiled_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::ANCHOR_START,
                          nullptr, 0);
}

}  // namespace reclaim::config
