// The INI dialect of oslo.config, read the way its iniparser reads it, so that a file that Nova or
// Cyborg understands means the same here. Pure: text in, entries out. Thread: any.
//
// The rules (oslo_config/iniparser.py): white space at a line's end is dropped; a blank line ends a
// value; a line that starts with a space or a tab continues the value before it; '#' and ';' start
// a comment only in column 0; the first of ':' and '=' separates key and value; a value that starts
// and ends with the same quote loses both; a repeated key is a list. There are no comments after a
// value,
// '%' is plain, and '$' is the business of config/oslo/options.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reclaim::config {

// The place where something was written. `line` counts from 1; 0 means the file as a whole, and an
// empty file name means a default, which nobody wrote.
struct Location {
  std::string file;
  int line = 0;

  friend bool operator==(const Location&, const Location&) = default;
};

// "FILE:LINE", "FILE" or "default".
[[nodiscard]] std::string to_string(const Location& at);

// One thing that is wrong, or worth a warning, in words an operator understands.
struct Problem {
  Location at;
  std::string text;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// "FILE:LINE: TEXT"; the text alone where there is no file.
[[nodiscard]] std::string to_string(const Problem& problem);

struct IniEntry {
  std::string
      group;  // as written; oslo folds every group but DEFAULT to lower case, see fold_group()
  std::string key;
  std::string value;  // continuation lines are joined with '\n'
  Location at;        // the line of the key
};

struct IniSection {
  std::string group;
  Location at;
};

struct IniFile {
  std::vector<IniEntry> entries;  // in the order of the file
  std::vector<IniSection> sections;
  std::vector<Problem> problems;  // empty: the file is well formed
};

struct IniLimits {
  std::size_t file_bytes = std::size_t{1024} * 1024;
  int file_lines = 20'000;
};

// Reads a whole file's text. A line that is wrong is reported and skipped, so that all that is
// wrong is seen at once; a file with problems must not be used.
[[nodiscard]] IniFile parse_ini(std::string_view text, std::string_view file,
                                const IniLimits& limits = {});

// oslo compares group names in lower case, but "DEFAULT" only as itself.
[[nodiscard]] std::string fold_group(std::string_view group);

// Python's str.strip(), str.rstrip(): white space is Unicode's, for a no-break space that came with
// a value pasted from a web page is otherwise an invisible part of a password.
[[nodiscard]] std::string_view rstrip(std::string_view text);
[[nodiscard]] std::string_view strip(std::string_view text);

}  // namespace reclaim::config
