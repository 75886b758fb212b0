// How a server is made to run our Lua: the conversation, and the library that it is about.
#include "state/redis/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "state/redis/library.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Answer = Result<RedisReply>;

const RedisLibrary& ours() {
  return RedisLibrary::ours();
}

std::vector<std::string> call_of(RedisScript script) {
  return {"FCALL", ours().function(script), "1", "k", "arg"};
}

// "settled", the first words of the next question, or the error.
std::string next(RedisCalls& calls, const Answer& answer) {
  const auto question = calls.next(answer);
  if (!question.ok()) return question.error().what;
  return question->empty() ? "settled" : question->at(0) + " " + question->at(1);
}

std::string next(RedisCalls& calls, std::string_view said) {
  return next(calls, error_from_redis(said));
}

TEST(RedisLibrary, EveryNameEndsWithADigestOfTheText) {
  const std::string suffix = ours().name().substr(std::string("reclaim_").size());
  EXPECT_EQ(suffix.size(), 12U);
  EXPECT_THAT(ours().text(), ::testing::StartsWith("#!lua name=" + ours().name() + "\n"));
  std::set<std::string> names{ours().probe()};
  std::set<std::string> sha1s;
  for (const RedisScriptText& script : redis_scripts()) {
    names.insert(ours().function(script.script));
    sha1s.insert(ours().sha1_of(ours().function(script.script)).value_or("none"));
  }
  EXPECT_EQ(names.size(), kRedisScriptCount + 1);
  EXPECT_EQ(sha1s.size(), kRedisScriptCount);
  for (const std::string& name : names) {
    EXPECT_THAT(name, ::testing::EndsWith("_" + suffix));
    EXPECT_THAT(ours().text(), HasSubstr("'" + name + "'"));
  }
  EXPECT_FALSE(ours().sha1_of("reclaim_save_"));
  EXPECT_FALSE(ours().sha1_of(ours().probe()));
}

TEST(RedisCalls, AsFunctionsWhereTheLibraryIsThereOrMayBeLoaded) {
  RedisCalls calls;
  EXPECT_EQ(calls.first_question()[1], ours().probe());
  EXPECT_EQ(next(calls, RedisReply{}), "settled");
  EXPECT_EQ(next(calls, "ERR Function not found"), "FUNCTION LOAD");
  EXPECT_EQ(next(calls, RedisReply{}), "settled");
  EXPECT_EQ(next(calls, "ERR Function not found"), "FUNCTION LOAD");
  EXPECT_EQ(next(calls, "ERR Library '" + ours().name() + "' already exists"), "settled");
  EXPECT_EQ(calls.lua(), RedisLua::functions);
  auto words = call_of(RedisScript::save);
  calls.fit(words);
  EXPECT_EQ(words, call_of(RedisScript::save));
  EXPECT_THAT(why_no_functions(calls.lua()), IsEmpty());
}

TEST(RedisCalls, AsScriptsWhereThereAreNone) {
  for (const char* said : {"ERR unknown command 'FCALL', with args beginning with: 'x' '0' ",
                           "ERR unknown command `FCALL`, with args beginning with: `x`, `0`, "}) {
    RedisCalls calls;
    EXPECT_EQ(next(calls, said), "settled") << said;
    EXPECT_EQ(calls.lua(), RedisLua::server_has_none) << said;
    auto words = call_of(RedisScript::save);
    calls.fit(words);
    EXPECT_EQ(words, (std::vector<std::string>{"EVALSHA",
                                               *ours().sha1_of(ours().function(RedisScript::save)),
                                               "1", "k", "arg"}));
    words = {"FCALL", "another", "0"};
    calls.fit(words);
    EXPECT_EQ(words[0], "FCALL");
    words = {"GET", "k"};
    calls.fit(words);
    EXPECT_EQ(words[0], "GET");
    // It was replaced.
    EXPECT_EQ(next(calls, RedisReply{}), "settled");
    EXPECT_EQ(calls.lua(), RedisLua::functions);
  }
}

TEST(RedisCalls, NotAtAllWhereTheLoginMayCallNone) {
  for (const char* said : {"NOPERM this user has no permissions to run the 'fcall' command",
                           "NOPERM User reclaim-x has no permissions to run the 'fcall' command"}) {
    RedisCalls calls;
    EXPECT_THAT(next(calls, said), HasSubstr("make it as docs/redis.md says"));
  }
}

TEST(RedisCalls, NotAtAllWhereTheyAreMissingAndMayNotBeLoaded) {
  RedisCalls calls;
  EXPECT_EQ(next(calls, "ERR Function not found"), "FUNCTION LOAD");
  const std::string why =
      next(calls, "NOPERM User function-1 has no permissions to run the 'function|load' command");
  EXPECT_THAT(why, HasSubstr("`reclaim redis install` with an operator's user"));
  EXPECT_EQ(calls.lua(), RedisLua::missing);
  // What is no word about functions, a passage of the server: asked again with the next connection.
  EXPECT_THAT(next(calls, "LOADING Redis is loading the dataset in memory"), HasSubstr("LOADING"));
  EXPECT_THAT(next(calls, "ERR Error compiling function"), HasSubstr("compiling"));
  EXPECT_THAT(next(calls, "ERR unknown command 'FUNCTION', with args"), HasSubstr("FUNCTION"));
  EXPECT_THAT(next(calls, "ERR unknown command "), HasSubstr("unknown"));
  EXPECT_EQ(calls.lua(), RedisLua::functions);
}

TEST(RedisCalls, AreSettledAnewWhenTheServerSaysSo) {
  const Answer gone = error_from_redis("ERR Function not found");
  const Answer no_fcall =
      error_from_redis("NOPERM this user has no permissions to run the 'fcall' command");
  const Answer no_key = error_from_redis(
      "NOPERM this user has no permissions to access one of the keys used as arguments");
  EXPECT_EQ(gone.error().code, Errc::unavailable) << "nothing was done";
  RedisCalls calls;
  EXPECT_TRUE(calls.is_outdated_by(gone));
  EXPECT_TRUE(calls.is_outdated_by(no_fcall));
  EXPECT_FALSE(calls.is_outdated_by(no_key));
  EXPECT_FALSE(calls.is_outdated_by(RedisReply{}));
  EXPECT_FALSE(calls.is_outdated_by(
      error_from_redis("NOPERM this user has no permissions to run the 'fcall_ro' command")))
      << "the next connection has none either";
}

}  // namespace
}  // namespace reclaim
