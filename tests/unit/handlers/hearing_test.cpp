// Tenancies that end while the bus tells of nothing are counted, and the worker says so.
#include "handlers/survey/hearing.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

TEST(Hearing, CountsEndsThatNoNotificationIsNear) {
  Hearing hearing;
  const auto at = [](std::int64_t ms) { return Now{WallMs{1'000'000 + ms}, MonoMs{ms}}; };
  EXPECT_EQ(hearing.unheard_ends(), 0U);
  hearing.ended(at(10));
  hearing.ended(at(20));
  EXPECT_EQ(hearing.unheard_ends(), 2U);
  EXPECT_EQ(hearing.unheard_since().ms, 1'000'010);
  hearing.heard(MonoMs{30});
  EXPECT_EQ(hearing.unheard_ends(), 0U);
  EXPECT_EQ(hearing.unheard_since().ms, 0);
  // Many devices may have been one instance's, and the survey late.
  for (int i = 0; i < 8; ++i) hearing.ended(at(kHeardNearMs));
  EXPECT_EQ(hearing.unheard_ends(), 0U);
  hearing.ended(at(30 + kHeardNearMs));
  EXPECT_EQ(hearing.unheard_ends(), 1U);
  EXPECT_EQ(hearing.unheard_since().ms, 1'000'030 + kHeardNearMs);
}

// What the worker's heartbeat says of it.
HostInfo told_by(World& world) {
  HostInfo told;
  world.store.hosts([&](const Result<std::vector<HostInfo>>& hosts) {
    for (const HostInfo& info : *hosts) told = info;
  });
  world.pass(kMinuteMs);
  return told;
}

TEST(Hearing, IsToldByTheWorkersHeartbeat) {
  WorldOptions options;
  options.scripted = true;
  World world(options);
  world.start_worker();
  world.pass(kMinuteMs);
  const auto comes_and_goes = [&world](bool told) {
    world.tenancy_begins();
    world.pass(2 * kMinuteMs);
    world.tenancy_ends();
    world.drive().driver = "nvme";
    if (told) world.kick({0});
    world.pass(kHalfHourMs);
    EXPECT_EQ(world.record().stage, Stage::available);
  };
  comes_and_goes(false);
  comes_and_goes(false);
  EXPECT_EQ(told_by(world).unheard_ends, 2U);
  EXPECT_NE(told_by(world).unheard_since.ms, 0);
  comes_and_goes(true);
  EXPECT_EQ(told_by(world).unheard_ends, 0U);
  // What Cyborg asks for by RPC is no notification.
  comes_and_goes(false);
  Kick call;
  call.reason = "cyborg-agent rpc";
  call.command = "cleanup_device";
  world.conductor->take(call);
  world.pass(kMinuteMs);
  EXPECT_EQ(told_by(world).unheard_ends, 1U);
  EXPECT_EQ(world.failure.value_or(""), "");
}

}  // namespace
}  // namespace reclaim::sim
