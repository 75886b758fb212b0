// A kick as it is stored. Workers of other versions read and write them, and so may anybody who has
// a login of Redis.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "state/redis/keys.h"

namespace reclaim {
namespace {

TEST(StoredKick, HasAFieldAMember) {
  Kick kick{"1-0", "r", "cleanup_device", "0000:c1:00.1", "i1", "req", true, {0, 30}, "{}"};
  kick.life = Life::ends;
  kick.host = "compute-1";
  kick.sent_at = WallMs{1'763'673'764'123};
  kick.mac = "0a";
  EXPECT_EQ(fmt::format("{}", fmt::join(redis_keys::kick_fields(kick), "|")),
            "reason|r|command|cleanup_device|address|0000:c1:00.1|instance|i1|request_id|req|mark_"
            "allocated|true|delays_s|0,30|arq|{}|life|ends|host|compute-1|sent_at|2025-11-20T21:22:"
            "44.123Z|mac|0a");
  EXPECT_EQ(fmt::format("{}", fmt::join(redis_keys::kick_fields(Kick{}), "|")),
            "reason||command||address||instance||request_id||mark_allocated|false|delays_s||arq||"
            "life||host||sent_at||mac|");
}

TEST(StoredKick, IsReadAsFarAsItCanBe) {
  const Kick back = redis_keys::kick_from_fields("2-0", {{"reason", std::string(300, 'r')},
                                                         {"mark_allocated", "true"},
                                                         {"delays_s", "1,2"},
                                                         {"arq", std::string(300, 'a')},
                                                         {"life", "goes on"},
                                                         {"host", std::string(300, 'h')},
                                                         {"sent_at", "yesterday"},
                                                         {"new", "x"}});
  EXPECT_EQ(back.id, "2-0");
  EXPECT_EQ(back.reason, std::string(255, 'r'));
  EXPECT_EQ(back.arq, std::string(300, 'a'));
  EXPECT_EQ(back.life, Life::untold);
  EXPECT_EQ(back.host, std::string(255, 'h'));
  EXPECT_EQ(back.sent_at.ms, 0);
  EXPECT_TRUE(back.mark_allocated);
  EXPECT_EQ(back.delays_s, (std::vector<int>{1, 2}));
  EXPECT_TRUE(redis_keys::kick_from_fields("", {{"delays_s", "1,x"}}).delays_s.empty());
  EXPECT_EQ(redis_keys::kick_from_fields("", {{"life", "begins"}}).life, Life::begins);
}

}  // namespace
}  // namespace reclaim
