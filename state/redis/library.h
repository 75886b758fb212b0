// RedisLibrary: our scripts as one library of Redis functions (Redis 7.0 and later). Its name and
// its functions' end with a digest of the text: versions of Reclaim stand beside each other in one
// Redis, and a call reaches the text that this one was built with or none.
//
// Immutable; thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/redis/scripts.h"

namespace reclaim {

class RedisLibrary final {
 public:
  [[nodiscard]] static const RedisLibrary& ours();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }  // for FUNCTION LOAD
  // Answers "ok" and does nothing else: whether the library is there.
  [[nodiscard]] const std::string& probe() const { return probe_; }
  [[nodiscard]] const std::string& function(RedisScript script) const;
  // The SHA-1 by which EVALSHA names the script that the function is made of. Nothing: not one of
  // ours.
  [[nodiscard]] std::optional<std::string> sha1_of(std::string_view function) const;

 private:
  struct Entry {
    std::string function;
    std::string sha1;
  };

  RedisLibrary();

  std::string name_;
  std::string text_;
  std::string probe_;
  std::vector<Entry> entries_;  // by the script's number
};

}  // namespace reclaim
