// RedisCalls: how one server is made to run our Lua (library.h). Settled each time when it is
// connected to, before any command: as functions, where it has them and the login may call them; a
// login that may load them does so where they are missing. Else as scripts.
//
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"
#include "state/redis/reply.h"

namespace reclaim {

enum class RedisLua : std::uint8_t {
  functions,
  missing,          // the server has no library of this version, and the login may load none
  server_has_none,  // older than 7.0: scripts
};
// The reason why our Lua is not called as functions, and the remedy; empty: it is.
struct NoFunctions {
  std::string_view what;
  std::string_view remedy;
};
[[nodiscard]] NoFunctions no_functions(RedisLua lua);
// The reason and the remedy as one text.
[[nodiscard]] std::string why_no_functions(RedisLua lua);

class RedisCalls final {
 public:
  [[nodiscard]] static std::vector<std::string> first_question();
  // Takes each answer in, and gives the next question; nothing: it is settled. An error: the server
  // cannot be used, with the remedy.
  [[nodiscard]] Result<std::vector<std::string>> next(const Result<RedisReply>& answer);

  [[nodiscard]] RedisLua lua() const { return lua_; }
  // Makes of a call of our function one of our script, where that is how it is settled.
  void fit(std::vector<std::string>& command) const;
  // True if the server says that what was settled is so no more: functions were removed, or the
  // user was made anew.
  [[nodiscard]] bool is_outdated_by(const Result<RedisReply>& answer) const;

 private:
  RedisLua lua_ = RedisLua::functions;
};

}  // namespace reclaim
