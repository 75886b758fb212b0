#include "state/redis/calls.h"

#include <fmt/core.h>

#include "state/redis/library.h"

namespace reclaim {
namespace {

bool begins_with(const Error& error, std::string_view words) {
  return redis_words_of(error).starts_with(words);
}

// True if the error is as "unknown command 'FCALL', with args ...": Redis 6.2 quotes it otherwise
// than later ones.
bool is_unknown_command(const Error& error, std::string_view command) {
  constexpr std::string_view kUnknown = "ERR unknown command ";
  const std::string_view words = redis_words_of(error);
  return words.starts_with(kUnknown) && words.find(command) == kUnknown.size() + 1;
}

// Redis quotes the command, as in "no permissions to run the 'function|load' command".
bool may_not_run(const Error& error, std::string_view command) {
  const std::string_view words = redis_words_of(error);
  return words.starts_with("NOPERM") &&
         words.find("'" + std::string(command)) != std::string_view::npos;
}

}  // namespace

NoFunctions no_functions(RedisLua lua) {
  switch (lua) {
    case RedisLua::functions:
      return {};
    case RedisLua::missing:
      return {
          "Redis lacks the functions of this version of Reclaim, and this login may not load "
          "them",
          "run `reclaim redis install` with an operator's user (docs/redis.md)"};
    case RedisLua::server_has_none:
      return {
          "Redis is older than 7.0 and has no functions, so scripts are sent, and whoever has "
          "a host's login can stop it with one of his own",
          "install Redis 7.0 or later"};
  }
  return {};
}

std::string why_no_functions(RedisLua lua) {
  const auto [what, remedy] = no_functions(lua);
  return what.empty() ? std::string() : fmt::format("{}: {}", what, remedy);
}

std::vector<std::string> RedisCalls::first_question() {
  return {"FCALL", RedisLibrary::ours().probe(), "0"};
}

Result<std::vector<std::string>> RedisCalls::next(const Result<RedisReply>& answer) {
  const std::vector<std::string> settled;
  lua_ = RedisLua::functions;
  if (answer.ok()) return settled;
  const Error& error = answer.error();
  if (begins_with(error, "ERR Function not found")) {
    return std::vector<std::string>{"FUNCTION", "LOAD", RedisLibrary::ours().text()};
  }
  // Another was quicker.
  if (begins_with(error, "ERR Library '" + RedisLibrary::ours().name() + "' already exists")) {
    return settled;
  }
  if (is_unknown_command(error, "FCALL")) {
    lua_ = RedisLua::server_has_none;
    return settled;
  }
  if (may_not_run(error, "fcall")) {
    return Error{Errc::refused,
                 "the user of [redis] url may not call functions: make it as docs/redis.md says "
                 "(Access rights)"};
  }
  if (may_not_run(error, "function")) {
    lua_ = RedisLua::missing;
    return Error{Errc::refused, why_no_functions(lua_)};
  }
  return error.wrap("the functions of Reclaim");
}

void RedisCalls::fit(std::vector<std::string>& command) const {
  const bool calls = command.front() == "FCALL" || command.front() == "FCALL_RO";
  if (lua_ == RedisLua::functions || !calls) return;
  const auto sha1 = RedisLibrary::ours().sha1_of(command.at(1));
  if (!sha1) return;
  command[0] = "EVALSHA";
  command[1] = *sha1;
}

bool RedisCalls::is_outdated_by(const Result<RedisReply>& answer) const {
  if (answer.ok()) return false;
  return begins_with(answer.error(), "ERR Function not found") ||
         may_not_run(answer.error(), "fcall'");
}

}  // namespace reclaim
