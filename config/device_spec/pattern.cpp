#include "config/device_spec/pattern.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/check.h"

namespace reclaim::config {
namespace {

constexpr unsigned kUnlimited = 1000;  // far more than there are positions
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWord =
    "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kSpace = " \t\n\r\f\v";

using Bytes = std::bitset<256>;

Bytes bytes_of(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.set(static_cast<unsigned char>(c));
  return bytes;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Bytes fold(Bytes bytes) {
  for (std::size_t c = 'A'; c <= 'Z'; ++c) {
    const bool either = bytes[c] || bytes[c + 32];
    bytes[c] = either;
    bytes[c + 32] = either;
  }
  return bytes;
}

Error invalid(std::string_view what) {
  return Error{Errc::invalid, std::string(what)};
}

}  // namespace

// Recursive descent; the depth is bounded by kPatternBytesMax. After the first error it stands
// still.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : rest_(text) {}

  Result<Pattern> run() {
    choice();
    if (!failed_ && !rest_.empty()) fail("a ')' without its '('");
    if (failed_) return invalid(why_);
    return std::move(pattern_);
  }

 private:
  using Kind = Pattern::Kind;
  using Node = Pattern::Node;

  std::size_t add(Node node) {
    pattern_.nodes_.push_back(node);
    return pattern_.nodes_.size() - 1;
  }

  std::size_t fail(std::string_view why) {
    if (!failed_) why_ = why;
    failed_ = true;
    rest_ = {};
    return 0;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::size_t choice() {
    std::size_t left = sequence();
    while (!failed_ && take('|')) {
      Node node{.kind = Kind::choice};
      node.first = left;
      node.second = sequence();
      left = add(node);
    }
    return left;
  }

  std::size_t sequence() {
    std::size_t left = add({});
    while (!failed_ && !rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      Node node{.kind = Kind::sequence};
      node.first = left;
      node.second = repeated();
      left = add(node);
    }
    return left;
  }

  std::size_t repeated() {
    std::size_t child = atom();
    bool before = false;
    while (!failed_ && !rest_.empty()) {
      Node node{.kind = Kind::repeat};
      node.first = child;
      if (take('*')) {
        node.max = kUnlimited;
      } else if (take('+')) {
        node.min = 1;
        node.max = kUnlimited;
      } else if (take('?')) {
        node.max = 1;
      } else if (rest_.front() == '{') {
        counts(node);
      } else {
        break;
      }
      if (failed_) break;
      if (before) return fail("two repetitions in a row");
      before = true;
      child = add(node);
      take('?');  // "as few as possible" makes no difference to whether it matches
    }
    return child;
  }

  // {m}, {m,}, {,n}, {m,n}
  void counts(Node& node) {
    take('{');
    const auto low = number();
    bool ranged = take(',');
    const auto high = number();
    if (!take('}') || (!ranged && !low.given) || (ranged && !low.given && !high.given)) {
      fail("a '{' without a count like {2} or {1,3}");
      return;
    }
    node.min = low.value;
    node.max = !ranged ? low.value : high.given ? high.value : kUnlimited;
    if (node.min > node.max) fail("a count whose minimum is greater than its maximum");
  }

  struct Number {
    unsigned value = 0;
    bool given = false;
  };
  Number number() {
    Number result;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      result.value =
          std::min(result.value * 10 + static_cast<unsigned>(rest_.front() - '0'), kUnlimited);
      result.given = true;
      rest_.remove_prefix(1);
    }
    return result;
  }

  std::size_t atom() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case '(':
        return group();
      case '[':
        return set();
      case '.':
        return one_of(Bytes{}.set());
      case '^':
        return add({.kind = Kind::start});
      case '$':
        return add({.kind = Kind::end});
      case '*':
      case '+':
      case '?':
      case '{':
        return fail("nothing to repeat");
      case '\\': {
        const auto bytes = escape();
        return failed_ ? 0 : one_of(bytes);
      }
      default:
        return one_of(bytes_of({&c, 1}));
    }
  }

  std::size_t one_of(const Bytes& bytes) {
    Node node{.kind = Kind::one_of};
    node.bytes = fold(bytes);
    return add(node);
  }

  std::size_t group() {
    if (rest_.starts_with('?') && !rest_.starts_with("?:")) {
      return fail("look-around, named groups and flags '(?...)' are not supported");
    }
    if (rest_.starts_with("?:")) rest_.remove_prefix(2);
    const std::size_t inner = choice();
    if (!failed_ && !take(')')) return fail("a '(' without its ')'");
    return inner;
  }

  // What follows a backslash.
  Bytes escape() {
    if (rest_.empty()) {
      fail("a '\\' at the end");
      return {};
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case 'd':
        return bytes_of(kDigits);
      case 'D':
        return ~bytes_of(kDigits);
      case 'w':
        return bytes_of(kWord);
      case 'W':
        return ~bytes_of(kWord);
      case 's':
        return bytes_of(kSpace);
      case 'S':
        return ~bytes_of(kSpace);
      default:
        break;
    }
    if (is_letter(c) || (c >= '0' && c <= '9')) {
      fail("back-references and escapes other than \\d \\w \\s are not supported");
      return {};
    }
    return bytes_of({&c, 1});
  }

  std::size_t set() {
    const bool negated = take('^');
    Bytes bytes;
    bool first = true;
    while (!failed_) {
      if (rest_.empty()) return fail("a '[' without its ']'");
      if (!first && take(']')) break;
      first = false;
      const Item low = item();
      const bool range = !failed_ && rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']';
      if (!range) {
        bytes |= low.bytes;
        continue;
      }
      rest_.remove_prefix(1);
      const Item high = item();
      if (failed_) break;
      if (!low.single || !high.single || low.byte > high.byte) return fail("a range that is none");
      for (std::size_t b = low.byte; b <= high.byte; ++b) bytes.set(b);
    }
    if (failed_) return 0;
    Node node{.kind = Kind::one_of};
    node.bytes = negated ? ~fold(bytes) : fold(bytes);
    return add(node);
  }

  struct Item {
    Bytes bytes;
    bool single = false;
    unsigned char byte = 0;
  };
  Item item() {
    Item result;
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\\') {
      if (!rest_.empty()) c = rest_.front();
      result.bytes = escape();
    } else {
      result.bytes = bytes_of({&c, 1});
    }
    result.single = result.bytes.count() == 1;
    result.byte = static_cast<unsigned char>(c);
    return result;
  }

  std::string_view rest_;
  Pattern pattern_;
  bool failed_ = false;
  std::string_view why_;
};

Result<Pattern> Pattern::create(std::string_view text) {
  if (text.size() > kPatternBytesMax) {
    return Error{Errc::limit, fmt::format("it is longer than {} bytes", kPatternBytesMax)};
  }
  return PatternParser(text).run();
}

// Where `node` may end if it starts at `at`; `known` has the answer for all its children.
Pattern::Ends Pattern::ends_of(const Node& node, std::size_t at, std::string_view text,
                               const std::vector<std::vector<Ends>>& known) const {
  const auto follow = [&](std::size_t child, Ends from) {
    Ends to = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if ((from >> i & 1U) != 0) to |= known[child][i];
    }
    return to;
  };
  const Ends here = Ends{1} << at;
  switch (node.kind) {
    case Kind::nothing:
      return here;
    case Kind::start:
      return at == 0 ? here : 0;
    case Kind::end:
      return at == text.size() ? here : 0;
    case Kind::one_of:
      return at < text.size() && node.bytes[static_cast<unsigned char>(text[at])] ? here << 1U : 0;
    case Kind::sequence:
      return follow(node.second, known[node.first][at]);
    case Kind::choice:
      return known[node.first][at] | known[node.second][at];
    case Kind::repeat:
      break;
  }
  // Positions only grow, so that after as many rounds as there are positions nothing changes any
  // more.
  Ends now = here;
  for (unsigned round = 0; round < node.min && now != 0; ++round) {
    const Ends next = follow(node.first, now);
    if (next == now) break;
    now = next;
  }
  Ends all = now;
  for (unsigned round = node.min; round < node.max && now != 0; ++round) {
    now = follow(node.first, now) & ~all;
    all |= now;
  }
  return all;
}

bool Pattern::matches_start(std::string_view text) const {
  CHECK(text.size() <= kPatternTextBytesMax);
  CHECK(!nodes_.empty());
  std::vector<std::vector<Ends>> known(nodes_.size(), std::vector<Ends>(text.size() + 1));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    CHECK(nodes_[i].first <= i && nodes_[i].second <= i);
    for (std::size_t at = 0; at <= text.size(); ++at) {
      known[i][at] = ends_of(nodes_[i], at, text, known);
    }
  }
  return known.back()[0] != 0;
}

}  // namespace reclaim::config
