// Reading foreign JSON without building it: a strict pull scanner over bytes that somebody else
// owns, used on what stands on the message bus. Nothing recurses, so nesting cannot overflow the
// stack; depth is bounded all the same. Pure; thread: any, one scanner a thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

namespace reclaim {

// Nova's deepest payload is about ten levels deep.
inline constexpr std::size_t kJsonDepthMax = 512;

// Strict RFC 8259 with one leniency: an unpaired surrogate escape inside a string is let through
// (Python writes them) and becomes U+FFFD when the string is unescaped.
class JsonScanner final {
 public:
  enum class Token {
    object_begin,
    object_end,
    array_begin,
    array_end,
    key,      // raw() is the text between the quotes; the colon has been read
    string,   // raw() is the text between the quotes
    number,   // raw() is the number as it stands
    literal,  // raw() is true, false or null
    end,      // the one value has ended and nothing but white space follows
    error,    // error() says why; stays so
  };

  // `text` must outlive the scanner and every raw() taken from it.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] Token next();
  // Having read object_begin or array_begin, runs to its end; false on an error.
  [[nodiscard]] bool skip_container();

  [[nodiscard]] std::string_view raw() const { return raw_; }
  [[nodiscard]] bool escaped() const {
    return escaped_;
  }  // raw() of a key or string holds a backslash
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::size_t offset() const { return at_; }
  // "a control character in a string at byte 17"
  [[nodiscard]] std::string error() const;

 private:
  enum class Expect { value, first_key, next_key, first_element, after_value, nothing };

  [[nodiscard]] Token fail(const char* what);
  [[nodiscard]] Token value();
  [[nodiscard]] Token open(bool object);
  [[nodiscard]] Token close(bool object);
  [[nodiscard]] Token key();
  [[nodiscard]] bool scan_string();
  [[nodiscard]] bool scan_escape();
  [[nodiscard]] bool scan_utf8();
  [[nodiscard]] Token scan_number();
  [[nodiscard]] Token scan_literal();
  void skip_space();
  void after_value() { expect_ = depth_ == 0 ? Expect::nothing : Expect::after_value; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Expect expect_ = Expect::value;
  std::bitset<kJsonDepthMax> is_object_;
  std::string_view raw_;
  bool escaped_ = false;
  const char* error_ = nullptr;
};

// Replaces `out` by the text a scanned string's raw() stands for. `raw` must come from a
// JsonScanner.
void json_unescape(std::string_view raw, std::string& out);

// Appends `text` as a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
void json_append_string(std::string_view text, std::string& out);

}  // namespace reclaim
