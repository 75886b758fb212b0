#include "nvme/host/mounts.h"

#include <fmt/core.h>

namespace reclaim::nvme {
namespace {

std::string_view next(std::string_view& rest, std::string_view separators) {
  const std::size_t begin = rest.find_first_not_of(separators);
  if (begin == std::string_view::npos) {
    rest = {};
    return {};
  }
  rest.remove_prefix(begin);
  const std::size_t end = rest.find_first_of(separators);
  const std::string_view token = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return token;
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// The kernel writes blank, tab, newline and backslash as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty()) continue;
    std::string_view rest = line;
    Mount mount;
    next(rest, " ");  // mount id
    next(rest, " ");  // parent id
    mount.number = next(rest, " ");
    next(rest, " ");  // root within the filesystem
    mount.where = unescape(next(rest, " "));
    next(rest, " ");  // options
    // Any number of optional fields, ended by a single hyphen.
    std::string_view token;
    do token = next(rest, " ");
    while (!token.empty() && token != "-");
    mount.type = next(rest, " ");
    mount.source = unescape(next(rest, " "));
    if (mount.number.find(':') == std::string::npos || mount.where.empty() || token != "-" ||
        mount.type.empty()) {
      return Error{Errc::failed, fmt::format("mountinfo has a line that cannot be read: '{}'",
                                             line.substr(0, 160))};
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<std::string> parse_swaps(std::string_view text) {
  std::vector<std::string> names;
  bool heading = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (!heading) {
      const std::string_view name = next(line, " \t");
      if (!name.empty()) names.push_back(unescape(name));
    }
    heading = false;
  }
  return names;
}

}  // namespace reclaim::nvme
