#include "handlers/bus/json_members.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace reclaim {
namespace {

using json::Token;

std::string_view describe(Token token, bool null) {
  switch (token) {
    case Token::object_begin:
      return "an object";
    case Token::array_begin:
      return "a list";
    case Token::string:
      return "a text";
    case Token::number:
      return "a number";
    case Token::literal:
      return null ? "null" : "a truth value";
    default:
      return "nothing";
  }
}

bool is_end(Token token) {
  return token == Token::object_end || token == Token::array_end;
}

class Picker final : public json::Parts {
 public:
  Picker(std::string_view text, std::span<const JsonPick> picks) : text_(text), picks_(picks) {}

  void on(Token token, std::string_view text, std::size_t offset) override {
    if (is_end(token)) return end(offset);
    if (token == Token::key) return key(text);
    const JsonPick* pick = next_;
    next_ = nullptr;
    if (depth_ == 0) {
      root_ = token;
      root_null_ = text == "null";
      if (token == Token::object_begin) levels_.push_back({1, picks_, nullptr, 0});
    } else if (pick != nullptr) {
      take(*pick, token, text, offset);
    }
    if (token == Token::object_begin || token == Token::array_begin) ++depth_;
  }

  // The kind of the text, if it is not an object.
  [[nodiscard]] std::optional<std::string_view> other_root() const {
    if (root_ == Token::object_begin) return std::nullopt;
    return describe(root_, root_null_);
  }

 private:
  // An object that is being read and whose members, or whose end, are asked for.
  struct Level {
    std::size_t depth;
    std::span<const JsonPick> picks;
    JsonMember* member;
    std::size_t begin;
  };

  void key(std::string_view name) {
    if (levels_.empty() || levels_.back().depth != depth_) return;
    for (const JsonPick& pick : levels_.back().picks) {
      const bool named = pick.ending ? name.size() > pick.name.size() && name.ends_with(pick.name)
                                     : name == pick.name;
      if (named && !pick.member->seen()) next_ = &pick;
      if (named) return;
    }
  }

  void take(const JsonPick& pick, Token token, std::string_view text, std::size_t offset) {
    JsonMember& member = *pick.member;
    member.token = token;
    if (token == Token::string) member.text = text;
    member.null = token == Token::literal && text == "null";
    if (token == Token::object_begin) {
      levels_.push_back({depth_ + 1, pick.inside, &member, offset - 1});
    }
  }

  void end(std::size_t offset) {
    if (!levels_.empty() && levels_.back().depth == depth_) {
      const Level& level = levels_.back();
      if (level.member != nullptr) {
        level.member->span = text_.substr(level.begin, offset - level.begin);
      }
      levels_.pop_back();
    }
    --depth_;
  }

  std::string_view text_;
  std::span<const JsonPick> picks_;
  std::vector<Level> levels_;
  const JsonPick* next_ = nullptr;  // asks for the value that comes
  std::size_t depth_ = 0;
  Token root_ = Token::literal;
  bool root_null_ = false;
};

}  // namespace

std::string_view JsonMember::kind() const {
  return token ? describe(*token, null) : "absent";
}

std::string JsonMember::lenient() const {
  return text.size() <= kMemberTextBytesMax ? text : std::string();
}

Result<std::string> JsonMember::strict(std::string_view name) const {
  if (!is_text()) {
    return Error{Errc::invalid, fmt::format("{} is {}, a text is needed", name, kind())};
  }
  if (text.size() > kMemberTextBytesMax) {
    return Error{Errc::invalid, fmt::format("{} is {} bytes long, at most {} make sense", name,
                                            text.size(), kMemberTextBytesMax)};
  }
  return text;
}

Status pick_members(std::string_view text, std::string_view what, std::span<const JsonPick> picks) {
  Picker picker(text, picks);
  if (const Status read = json::read(text, picker); !read) {
    const bool too_much = read.error().code == Errc::limit;
    return read.error().wrap(too_much ? std::string(what) : fmt::format("{} is not JSON", what));
  }
  if (const auto other = picker.other_root()) {
    return Error{Errc::invalid, fmt::format("{} is {}, a JSON object is needed", what, *other)};
  }
  return Ok{};
}

}  // namespace reclaim
