#include "config/policy_file.h"

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <map>

#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kWanted =
    "a mapping from a rule's name to its text is wanted, like \"cyborg:device:clean\": "
    "\"role:admin\"";

// One of libyaml's events, which is freed with it.
class Event final {
 public:
  Event() = default;
  ~Event() {
    if (filled_) yaml_event_delete(&event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] bool parse(yaml_parser_t& parser) {
    filled_ = yaml_parser_parse(&parser, &event_) == 1;
    return filled_;
  }
  [[nodiscard]] yaml_event_type_t type() const { return event_.type; }
  [[nodiscard]] int line() const { return static_cast<int>(event_.start_mark.line) + 1; }
  [[nodiscard]] std::string_view scalar() const {
    return {reinterpret_cast<const char*>(event_.data.scalar.value), event_.data.scalar.length};
  }
  // Nothing is written there: `rule:`, `rule: ~`, `rule: null`.
  [[nodiscard]] bool null() const {
    if (type() != YAML_SCALAR_EVENT || event_.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
      return false;
    }
    const std::string_view text = scalar();
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
  }
  [[nodiscard]] bool tagged() const {
    const yaml_char_t* tag = type() == YAML_SCALAR_EVENT           ? event_.data.scalar.tag
                             : type() == YAML_MAPPING_START_EVENT  ? event_.data.mapping_start.tag
                             : type() == YAML_SEQUENCE_START_EVENT ? event_.data.sequence_start.tag
                                                                   : nullptr;
    return tag != nullptr;
  }
  [[nodiscard]] bool anchored() const {
    return (type() == YAML_SCALAR_EVENT && event_.data.scalar.anchor != nullptr) ||
           (type() == YAML_MAPPING_START_EVENT && event_.data.mapping_start.anchor != nullptr) ||
           (type() == YAML_SEQUENCE_START_EVENT && event_.data.sequence_start.anchor != nullptr);
  }
  [[nodiscard]] bool opens() const {
    return type() == YAML_MAPPING_START_EVENT || type() == YAML_SEQUENCE_START_EVENT;
  }
  [[nodiscard]] bool closes() const {
    return type() == YAML_MAPPING_END_EVENT || type() == YAML_SEQUENCE_END_EVENT;
  }

 private:
  yaml_event_t event_{};
  bool filled_ = false;
};

class PolicyReader final {
 public:
  PolicyReader(std::string_view text, const std::string& file, const PolicyLimits& limits)
      : text_(text), file_(file), limits_(limits) {
    ready_ = yaml_parser_initialize(&parser_) == 1;
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text_.data()),
                                 text_.size());
  }
  ~PolicyReader() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  PolicyReader(const PolicyReader&) = delete;
  PolicyReader& operator=(const PolicyReader&) = delete;

  PolicyFile run() && {
    if (!ready_) {
      complain(0, "there is not enough memory to read it");
    } else {
      document();
    }
    return std::move(out_);
  }

 private:
  void complain(int line, std::string_view what) {
    if (out_.problems.size() < limits_.problems) {
      out_.problems.push_back({{file_, line}, std::string(what)});
    }
  }

  // False at what is not YAML, which was reported then.
  bool next(Event& event) {
    if (event.parse(parser_)) return true;
    const std::string_view why = parser_.problem == nullptr ? "it cannot be read" : parser_.problem;
    int line = static_cast<int>(parser_.problem_mark.line) + 1;
    if (parser_.error == YAML_READER_ERROR) {
      const std::size_t end = std::min(parser_.problem_offset, text_.size());
      line = 1 + static_cast<int>(std::count(
                     text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    }
    complain(line, fmt::format("no YAML: {} (a text that begins with '@', '!', '%' or '*' is "
                               "written in quotes)",
                               why));
    return false;
  }

  void document() {
    {
      Event start;
      if (!next(start)) return;  // of the stream
    }
    {
      Event start;
      if (!next(start) || start.type() == YAML_STREAM_END_EVENT) return;  // empty
    }
    {
      Event root;
      if (!next(root)) return;
      if (root.type() == YAML_MAPPING_START_EVENT) {
        if (root.anchored() || root.tagged()) return complain(root.line(), kPlain);
        if (!mapping()) return;
      } else if (!root.null() || root.anchored() || root.tagged()) {
        return complain(root.line(), kWanted);
      }
    }
    Event end;
    if (!next(end)) return;  // of the document
    Event after;
    if (!next(after)) return;
    if (after.type() != YAML_STREAM_END_EVENT) {
      complain(after.line(), "a second document: only one is read");
    }
  }

  // The rules up to the mapping's end; false when there is no going on.
  bool mapping() {
    while (true) {
      Event key;
      if (!next(key)) return false;
      if (key.type() == YAML_MAPPING_END_EVENT) return true;
      if (out_.rules.size() == limits_.rules) {
        complain(key.line(), fmt::format("more than {} rules", limits_.rules));
        return false;
      }
      if (!rule(key)) return false;
    }
  }

  bool rule(const Event& key) {
    const bool named = key.type() == YAML_SCALAR_EVENT && !key.anchored() && !key.tagged();
    if (!named) complain(key.line(), fmt::format("no rule's name: {}", kWanted));
    if (key.opens() && !skip()) return false;
    Event value;
    if (!next(value)) return false;
    if (named) take(key, value);
    return !value.opens() || skip();
  }

  void take(const Event& key, const Event& value) {
    const std::string shown = printable_excerpt(key.scalar());
    const auto wrong = [&](int line, std::string_view what) {
      complain(line, fmt::format("rule '{}': {}", shown, what));
    };
    if (key.scalar().empty() || key.scalar().size() > limits_.name_bytes) {
      return wrong(key.line(), fmt::format("a name has 1 to {} bytes", limits_.name_bytes));
    }
    const auto [at, first] = lines_.emplace(key.scalar(), key.line());
    if (!first) return wrong(key.line(), fmt::format("it is in line {} already", at->second));
    if (value.type() == YAML_ALIAS_EVENT || value.anchored() || value.tagged()) {
      return wrong(value.line(), kPlain);
    }
    if (value.opens()) {
      return wrong(value.line(),
                   "its text must be a string; lists, as older releases had them, "
                   "are not accepted");
    }
    if (value.null()) {
      return wrong(value.line(), "it has no text: write \"!\" for no user, \"@\" for every user");
    }
    if (value.scalar().size() > limits_.text_bytes) {
      return wrong(value.line(),
                   fmt::format("its text has more than {} bytes", limits_.text_bytes));
    }
    out_.rules.push_back({std::string(key.scalar()), std::string(value.scalar()), key.line()});
  }

  // Skips the collection that was opened, up to its end.
  bool skip() {
    int depth = 1;
    while (depth > 0) {
      Event event;
      if (!next(event)) return false;
      if (event.opens()) ++depth;
      if (event.closes()) --depth;
      if (depth > limits_.nesting) {
        complain(event.line(), fmt::format("nested more than {} deep", limits_.nesting));
        return false;
      }
    }
    return true;
  }

  static constexpr std::string_view kPlain =
      "anchors, aliases and tags ('&', '*', '!') are not "
      "accepted; write the text, in quotes";

  std::string_view text_;
  const std::string& file_;
  const PolicyLimits& limits_;
  yaml_parser_t parser_{};
  bool ready_ = false;
  std::map<std::string, int, std::less<>> lines_;  // of the names so far
  PolicyFile out_;
};

}  // namespace

PolicyFile parse_policy_file(std::string_view text, const std::string& file,
                             const PolicyLimits& limits) {
  if (text.size() > limits.file_bytes) {
    PolicyFile out;
    out.problems.push_back({{file, 0}, fmt::format("longer than {} bytes", limits.file_bytes)});
    return out;
  }
  return PolicyReader(text, file, limits).run();
}

}  // namespace reclaim::config
