// What each event means: the kick table, row by row, and which hosts it names.
#include "handlers/bus/kick.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/bus/kick_events.h"
#include "tests/unit/handlers/kick_messages.h"

namespace reclaim {
namespace {

using reclaim::testing::enveloped;
using reclaim::testing::legacy_payload;
using reclaim::testing::message;
using reclaim::testing::versioned_payload;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Decision decide_body(const std::string& body) {
  KickDecider decider;
  return decider.decide_exact(body);
}

Decision decide_versioned(std::string_view event_type, std::string_view publisher,
                          std::string_view host) {
  return decide_body(enveloped(message(event_type, publisher, versioned_payload(host))));
}

Decision decide_legacy(std::string_view event_type, std::string_view publisher,
                       std::string_view host) {
  return decide_body(enveloped(message(event_type, publisher, legacy_payload(host))));
}

TEST(Kick, DeleteEndNamesItsHost) {
  for (const Decision& decision :
       {decide_versioned("instance.delete.end", "nova-compute:cmp1", "\"cmp1\""),
        decide_legacy("compute.instance.delete.end", "compute.cmp1", "\"cmp1\"")}) {
    EXPECT_EQ(decision.verdict, Verdict::kick) << decision.why;
    EXPECT_THAT(decision.hosts, ElementsAre("cmp1"));
    EXPECT_FALSE(decision.any_host);
    EXPECT_FALSE(decision.mark_allocated);
    EXPECT_THAT(decision.delays_s, ElementsAre(0, 5, 30));
    EXPECT_EQ(decision.instance_uuid, "178b0921-8f85-4257-88b6-2e743b5a975c");
    EXPECT_EQ(decision.request_id, "req-1");
    EXPECT_EQ(decision.message_id, "3f1a0a2e-8b0f-4c6b-9a4b-2c1f0e1d9a77");
  }
}

TEST(Kick, AnApiDeletingForADeadComputeIsNoHost) {
  const Decision decision = decide_versioned("instance.delete.end", "nova-api:api1", "\"cmp1\"");
  EXPECT_THAT(decision.hosts, ElementsAre("cmp1"));
}

TEST(Kick, NothingNamedMeansAnyHost) {
  const Decision decision = decide_versioned("instance.delete.end", "nova-api:api1", "null");
  EXPECT_EQ(decision.verdict, Verdict::kick);
  EXPECT_THAT(decision.hosts, IsEmpty());
  EXPECT_TRUE(decision.any_host);
  EXPECT_THAT(decision.why, HasSubstr("names no host"));
}

// nova-api publishes it as "compute.APIHOST", and an instance whose host is not known has none.
TEST(Kick, ALegacyLocalDeleteWithoutAHostLooksEverywhere) {
  const Decision decision = decide_legacy("compute.instance.delete.end", "compute.api1", "null");
  EXPECT_EQ(decision.verdict, Verdict::kick);
  EXPECT_TRUE(decision.any_host);
  EXPECT_THAT(decision.hosts, IsEmpty());
  EXPECT_THAT(decide_legacy("compute.instance.delete.end", "compute.api1", "\"cmp1\"").hosts,
              ElementsAre("api1", "cmp1"));
  EXPECT_THAT(decide_versioned("instance.delete.end", "nova-compute:cmp1", "null").hosts,
              ElementsAre("cmp1"));
}

// The event's payload still names the source.
TEST(Kick, AFailedOrBegunResizeLooksAtTheDestination) {
  for (const char* event_type : {"instance.resize.error", "instance.resize_prep.start",
                                 "instance.resize_prep.end", "instance.live_migration_pre.end"}) {
    EXPECT_THAT(decide_versioned(event_type, "nova-compute:dest", "\"src\"").hosts,
                ElementsAre("dest", "src"))
        << event_type;
  }
  EXPECT_THAT(decide_legacy("compute.instance.resize.error", "compute.dest", "\"src\"").delays_s,
              ElementsAre(0, 5, 30));
}

TEST(Kick, ShelveOffloadIsNamedByItsPublisher) {
  EXPECT_THAT(decide_versioned("instance.shelve_offload.end", "nova-compute:cmp1", "null").hosts,
              ElementsAre("cmp1"));
  EXPECT_THAT(
      decide_legacy("compute.instance.shelve_offload.end", "compute.cmp1.example.org", "null")
          .hosts,
      ElementsAre("cmp1.example.org"));
}

TEST(Kick, ResizeConfirmNamesSourceAndDestination) {
  EXPECT_THAT(decide_versioned("instance.resize_confirm.end", "nova-compute:src", "\"dest\"").hosts,
              ElementsAre("dest", "src"));
  EXPECT_THAT(decide_legacy("compute.instance.resize.confirm.end", "compute.src", "\"dest\"").hosts,
              ElementsAre("dest", "src"));
}

std::string life_of(const Decision& decision) {
  return std::string(to_string(decision.life)) + " at " + decision.life_host;
}

// Where the payload names the other host of a move, the publisher's is meant.
TEST(Kick, TellsOnWhichHostALifeBeginsOrEnds) {
  const auto of = [](std::string_view event_type) {
    return life_of(decide_versioned(event_type, "nova-compute:publisher", "\"payload\""));
  };
  EXPECT_EQ(of("instance.create.end"), "begins at publisher");
  EXPECT_EQ(of("instance.resize_prep.start"), "begins at publisher");
  EXPECT_EQ(of("instance.live_migration_pre.end"), "begins at publisher");
  EXPECT_EQ(of("instance.resize_confirm.end"), "ends at publisher");
  EXPECT_EQ(of("instance.live_migration_post.end"), "ends at publisher");
  EXPECT_EQ(of("instance.live_migration_rollback_dest.end"), "ends at publisher");
  EXPECT_EQ(of("instance.resize.error"), "ends at publisher");
  EXPECT_EQ(of("instance.create.error"), "fails at publisher");
  EXPECT_EQ(of("instance.delete.start"), " at publisher");
  EXPECT_EQ(of("instance.delete.end"), "ends at payload");
  EXPECT_EQ(of("instance.evacuate"), " at ");
  EXPECT_EQ(life_of(decide_legacy("compute.instance.finish_resize.end", "compute.a", "\"b\"")),
            "begins at a");
  EXPECT_EQ(life_of(decide_versioned("instance.shelve_offload.end", "nova-compute:a", "null")),
            "ends at a");
  EXPECT_EQ(life_of(decide_versioned("instance.delete.end", "nova-compute:a", "null")),
            "ends at a");
  EXPECT_EQ(life_of(decide_versioned("instance.delete.end", "nova-api:api1", "\"a\"")),
            "ends at a");
  EXPECT_EQ(life_of(decide_versioned("instance.delete.end", "nova-api:api1", "null")), "ends at ");
  EXPECT_EQ(life_of(decide_legacy("compute.instance.delete.end", "compute.api1", "null")),
            "ends at ");
}

TEST(Kick, WhatNamesTheWrongHostLooksEverywhere) {
  for (const auto& [versioned, legacy] :
       {std::pair{"instance.resize_revert.end", "compute.instance.resize.revert.end"},
        std::pair{"instance.evacuate", "compute.instance.evacuate"}}) {
    for (const Decision& decision : {decide_versioned(versioned, "nova-compute:src", "\"src\""),
                                     decide_legacy(legacy, "compute.src", "\"src\"")}) {
      EXPECT_EQ(decision.verdict, Verdict::kick);
      EXPECT_TRUE(decision.any_host) << decision.event_type;
      EXPECT_THAT(decision.hosts, IsEmpty());
    }
  }
}

TEST(Kick, EveryRowKicksInBothFormats) {
  for (const KickRow& row : kKickTable) {
    for (const Decision& decision : {decide_versioned(row.versioned, "nova-compute:a", "\"b\""),
                                     decide_legacy(row.legacy, "compute.a", "\"b\"")}) {
      EXPECT_EQ(decision.verdict, Verdict::kick) << decision.event_type;
      EXPECT_EQ(decision.any_host, row.scope == KickScope::any) << decision.event_type;
      EXPECT_EQ(decision.hosts.size(), row.scope == KickScope::any ? 0U : 2U);
      EXPECT_EQ(decision.mark_allocated, row.mark);
      EXPECT_EQ(decision.why, row.why);
    }
  }
}

TEST(Kick, MarksLookOnceAndNow) {
  for (const char* event_type :
       {"instance.create.end", "instance.delete.start", "instance.unshelve.end",
        "instance.rebuild.end", "instance.resize_prep.start", "instance.resize_prep.end",
        "instance.resize_finish.end", "instance.live_migration_pre.end",
        "instance.live_migration_post_dest.end"}) {
    const Decision decision = decide_versioned(event_type, "nova-compute:cmp1", "\"cmp1\"");
    EXPECT_TRUE(decision.mark_allocated);
    EXPECT_THAT(decision.delays_s, ElementsAre(0));
  }
}

TEST(Kick, IgnoresWhatFreesNothing) {
  for (const char* event_type :
       {"instance.update", "compute.instance.update", "instance.soft_delete.end",
        "instance.shelve.end", "instance.resize_revert.start",
        "instance.live_migration_post_dest.start", "instance.resize_finish.start",
        "instance.rebuild.start", "service.update", "instance.shutdown.end", "instance.delete.end.",
        "Instance.delete.end", "instance.delete", "compute.exception",
        "compute.instance.force_delete.end", "live_migration_abort"}) {
    const Decision decision = decide_versioned(event_type, "nova-compute:cmp1", "\"cmp1\"");
    EXPECT_EQ(decision.verdict, Verdict::ignore) << event_type;
    EXPECT_THAT(decision.hosts, IsEmpty());
    EXPECT_THAT(decision.delays_s, IsEmpty());
    EXPECT_FALSE(decision.any_host);
    EXPECT_FALSE(decision.why.empty());
  }
}

TEST(Kick, AHostThatCannotBeOneIsRejected) {
  for (const char* host :
       {R"("a b")", R"("x}:lock:{y")", R"("*")", R"("k\u00e4se")", R"("a\nb")"}) {
    const Decision decision = decide_versioned("instance.delete.end", "nova-compute:cmp1", host);
    EXPECT_EQ(decision.verdict, Verdict::reject) << host;
    EXPECT_THAT(decision.hosts, IsEmpty());
    EXPECT_EQ(decision.event_type, "instance.delete.end");
  }
  const std::string long_host = "\"" + std::string(300, 'h') + "\"";
  EXPECT_EQ(decide_versioned("instance.delete.end", "nova-compute:cmp1", long_host).verdict,
            Verdict::reject);
  EXPECT_EQ(decide_versioned("instance.delete.end", "nova-compute:c{}", "null").verdict,
            Verdict::reject);
}

TEST(Kick, OtherServicesAreNoHosts) {
  for (const char* publisher : {"nova-conductor:c1", "conductor.c1", "api.a1", "computer.c1",
                                "nova-compute", "nova-compute:", "compute.", ""}) {
    EXPECT_TRUE(decide_versioned("instance.create.error", publisher, "null").any_host) << publisher;
  }
}

}  // namespace
}  // namespace reclaim
