#include "config/oslo/ini.h"

#include <fmt/core.h>

#include <array>
#include <optional>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kExcerptBytes = 60;
constexpr std::size_t kProblems = 50;  // a file that is not INI at all is wrong in every line

// The white space of Python beyond ASCII, in UTF-8.
constexpr std::array<std::string_view, 19> kWideSpaces = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
    "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
    "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
    "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

std::size_t space_at_end(std::string_view text) {
  if (text.empty()) return 0;
  if (is_ascii_space(text.back())) return 1;
  for (const std::string_view space : kWideSpaces) {
    if (text.ends_with(space)) return space.size();
  }
  return 0;
}

std::size_t space_at_start(std::string_view text) {
  if (text.empty()) return 0;
  if (is_ascii_space(text.front())) return 1;
  for (const std::string_view space : kWideSpaces) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

std::string_view lstrip(std::string_view text) {
  while (const std::size_t bytes = space_at_start(text)) text.remove_prefix(bytes);
  return text;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, const IniLimits& limits)
      : rest_(text), name_(file), limits_(limits) {}

  IniFile run() && {
    if (rest_.size() > limits_.file_bytes) {
      complain(0, fmt::format("the file is larger than {} bytes", limits_.file_bytes));
      return std::move(file_);
    }
    if (rest_.starts_with("\xEF\xBB\xBF")) {
      complain(1, "the file starts with a byte order mark, save it as UTF-8 without one");
      rest_.remove_prefix(3);
    }
    while (!rest_.empty()) {
      if (++line_ > limits_.file_lines) {
        complain(line_, fmt::format("the file has more than {} lines", limits_.file_lines));
        break;
      }
      take(next_line());
    }
    return std::move(file_);
  }

 private:
  // Python opens text files with universal newlines: "\n", "\r\n" and a lone "\r" end a line.
  std::string_view next_line() {
    const std::size_t end = rest_.find_first_of("\r\n");
    const std::string_view line = rest_.substr(0, end);
    if (end == std::string_view::npos) {
      rest_ = {};
    } else {
      const bool two = rest_[end] == '\r' && end + 1 < rest_.size() && rest_[end + 1] == '\n';
      rest_.remove_prefix(end + (two ? 2 : 1));
    }
    return line;
  }

  void take(std::string_view raw) {
    const std::string_view line = rstrip(raw);
    if (const auto bad = find_invalid_utf8(line)) {
      open_ = Open::skipping;
      return complain(line_, fmt::format("the line is not UTF-8 (at byte {})", *bad + 1));
    }
    if (line.find('\0') != std::string_view::npos) {
      open_ = Open::skipping;
      return complain(line_, "the line holds a NUL byte");
    }
    if (line.empty()) {
      open_ = Open::none;
    } else if (line.front() == ' ' || line.front() == '\t') {
      continuation(line);
    } else {
      open_ = Open::none;
      if (line.front() == '[') {
        section(line);
      } else if (line.front() != '#' && line.front() != ';') {
        assignment(line);
      }
    }
  }

  void continuation(std::string_view line) {
    if (open_ == Open::entry) {
      file_.entries.back().value += '\n';
      file_.entries.back().value += lstrip(line);
    } else if (open_ == Open::none) {
      complain(line_,
               "unexpected continuation: a line that starts with white space belongs to the "
               "option right above it, and there is none");
    }
  }

  void section(std::string_view line) {
    in_section_ = false;
    bad_section_ = true;
    if (line.back() != ']') {
      return complain(line_,
                      fmt::format("invalid section '{}': it must end with ']', and nothing may "
                                  "follow it on the line",
                                  printable_excerpt(line, kExcerptBytes)));
    }
    if (line.size() <= 2) return complain(line_, "empty section name");
    in_section_ = true;
    bad_section_ = false;
    group_ = line.substr(1, line.size() - 2);
    file_.sections.push_back({group_, {name_, line_}});
  }

  // The text of a line is never quoted here, for it may hold a password.
  void assignment(std::string_view line) {
    const std::size_t separator = line.find_first_of(":=");
    open_ = Open::skipping;
    if (separator == std::string_view::npos) {
      return complain(line_, "no ':' or '=' found in assignment");
    }
    const std::string_view key = strip(line.substr(0, separator));
    if (key.empty()) return complain(line_, "the option has no name before the ':' or '='");
    if (!in_section_) {
      if (bad_section_) return;  // its header was complained about already
      return complain(line_, fmt::format("option '{}' is before the first [section]",
                                         printable_excerpt(key, kExcerptBytes)));
    }
    std::string_view value = strip(line.substr(separator + 1));
    if (!value.empty() && value.front() == value.back() &&
        (value.front() == '"' || value.front() == '\'')) {
      value = value.size() < 2 ? std::string_view{} : value.substr(1, value.size() - 2);
    }
    open_ = Open::entry;
    file_.entries.push_back({group_, std::string(key), std::string(value), {name_, line_}});
  }

  void complain(int line, std::string text) {
    if (file_.problems.size() > kProblems) return;
    if (file_.problems.size() == kProblems) text = "there is more wrong below, which is not listed";
    file_.problems.push_back({{name_, line}, std::move(text)});
  }

  // The thing that a continuation line would continue: an entry, or a bad line already complained
  // about.
  enum class Open { none, entry, skipping };

  std::string_view rest_;
  std::string name_;
  IniLimits limits_;
  IniFile file_;
  std::string group_;
  bool in_section_ = false;
  bool bad_section_ = false;
  Open open_ = Open::none;
  int line_ = 0;
};

}  // namespace

std::string to_string(const Location& at) {
  if (at.file.empty()) return "default";
  return at.line > 0 ? fmt::format("{}:{}", at.file, at.line) : at.file;
}

std::string to_string(const Problem& problem) {
  if (problem.at.file.empty()) return problem.text;
  return fmt::format("{}: {}", to_string(problem.at), problem.text);
}

IniFile parse_ini(std::string_view text, std::string_view file, const IniLimits& limits) {
  return Parser(text, file, limits).run();
}

std::string fold_group(std::string_view group) {
  return group == "DEFAULT" ? std::string(group) : lower(group);
}

std::string_view rstrip(std::string_view text) {
  while (const std::size_t bytes = space_at_end(text)) text.remove_suffix(bytes);
  return text;
}

std::string_view strip(std::string_view text) {
  return lstrip(rstrip(text));
}

}  // namespace reclaim::config
