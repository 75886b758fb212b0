// The users of docs/redis.md, as the tests make them.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "state/base/check.h"
#include "tests/source_path.h"

namespace reclaim::test {

// The command of docs/redis.md that makes the user, as redis-cli splits it; HOST is `host`.
inline std::vector<std::string> documented_user(const std::string& user,
                                                const std::string& host = "") {
  std::ifstream file(source_path("docs/redis.md"));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t from = text.find("ACL SETUSER " + user);
  CHECK(from != std::string::npos);
  text = text.substr(from, text.find("```", from) - from);
  std::vector<std::string> words{""};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == ' ' || text[i] == '\n')) {
      if (!words.back().empty()) words.emplace_back();
    } else if (text.substr(i, 4) == "HOST") {
      words.back() += host;
      i += 3;
    } else {
      words.back() += text[i];
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// A host's.
inline std::vector<std::string> documented_acl(const std::string& host) {
  return documented_user("reclaim-HOST", host);
}

}  // namespace reclaim::test
