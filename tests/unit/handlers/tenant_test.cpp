// Whose tenancy it is where another consumer holds a device than the one on record: every row.
#include "handlers/survey/tenant.h"

#include <gtest/gtest.h>

namespace reclaim {
namespace {

constexpr const char* kA = "instance-a";
constexpr const char* kB = "another-b";
constexpr const char* kMigration = "migration-of-a";

placement::Consumer has(const char* project) {
  return {true, project, "a-user"};
}
const placement::Consumer kNothing;

Record held_by_a() {
  Record record;
  record.stage = Stage::allocated;
  record.provider = "provider-1";
  record.instance = kA;
  record.instance_source = InstanceSource::allocation;
  record.migration = kMigration;
  record.project = "project-1";
  return record;
}

Sighting held_by(const char* consumer, const char* provider = "provider-1") {
  Sighting sighting;
  const placement::Inventory reserved{"CUSTOM_X", 1, 1, 1, 1, 1, 1.0};
  sighting.view = placement::ProviderView{provider, 1, {reserved}, {consumer}};
  return sighting;
}

using Told = std::map<std::string, std::optional<placement::Consumer>>;

TEST(Tenant, IsToldByProviderProjectAndWhatTheFormerHas) {
  struct Case {
    const char* what;
    const char* consumer;
    const char* provider;
    Told told;
    std::int64_t for_ms;
    Tenant tenant;
  };
  const Told alike{{kB, has("project-1")}};
  const auto and_a = [&alike](std::optional<placement::Consumer> a) {
    Told told = alike;
    told[kA] = std::move(a);
    return told;
  };
  const Case cases[] = {
      {"its own name", kA, "provider-1", {}, 0, Tenant::same},
      {"its own name, and it left and came back", kA, "provider-2", {}, 0, Tenant::same},
      {"its migration on record", kMigration, "provider-1", {}, 0, Tenant::same},
      {"behind another provider", kB, "provider-2", and_a(has("project-1")), 0, Tenant::another},
      {"of another project",
       kB,
       "provider-1",
       {{kB, has("project-2")}, {kA, has("project-1")}},
       0,
       Tenant::another},
      {"nobody answers",
       kB,
       "provider-1",
       {{kB, std::nullopt}, {kA, std::nullopt}},
       kMoveMs,
       Tenant::unknown},
      {"of the former nothing is told", kB, "provider-1", and_a(std::nullopt), kMoveMs,
       Tenant::unknown},
      {"the former has a place", kB, "provider-1", and_a(has("project-1")), 0, Tenant::moving},
      {"the former has none yet", kB, "provider-1", and_a(kNothing), kMoveMs - 1, Tenant::unknown},
      {"the former has none any more", kB, "provider-1", and_a(kNothing), kMoveMs, Tenant::another},
      {"it has just gone itself, as the former may have",
       kB,
       "provider-1",
       {{kB, kNothing}, {kA, kNothing}},
       kMoveMs,
       Tenant::unknown},
  };
  for (const Case& each : cases) {
    Sighting sighting = held_by(each.consumer, each.provider);
    sighting.consumers = each.told;
    sighting.followed_for_ms = each.for_ms;
    EXPECT_EQ(tenant_of(sighting, held_by_a()), each.tenant) << each.what;
  }
}

TEST(Tenant, WhoIsFirstShownIsTheOneOnRecord) {
  Record record = held_by_a();
  record.instance.clear();
  EXPECT_EQ(tenant_of(held_by(kB, "provider-2"), record), Tenant::same);
}

// Whether that one lives elsewhere, and could be moving, tells nothing: anybody can name it.
TEST(Tenant, WhomAnAcceleratorRequestAloneNamedGivesWayAtOnce) {
  Record record = held_by_a();
  record.instance_source = InstanceSource::arq;
  EXPECT_EQ(tenant_of(held_by(kA), record), Tenant::same);
  Sighting sighting = held_by(kB);
  EXPECT_EQ(tenant_of(sighting, record), Tenant::another);
  sighting.consumers = {{kB, has("project-1")}, {kA, has("project-1")}};
  EXPECT_EQ(tenant_of(sighting, record), Tenant::another);
}

TEST(Tenant, OfARecordWithoutAProjectOnlyTheOtherTwoTell) {
  Record record = held_by_a();
  record.project.clear();
  Sighting sighting = held_by(kB);
  sighting.consumers = {{kB, has("project-2")}, {kA, has("project-1")}};
  EXPECT_EQ(tenant_of(sighting, record), Tenant::moving);
}

// -------------------------------------------------------------------------------------------------
// What Placement is asked for that.

// All that is asked of one sighting, each answered with `answer`.
std::vector<std::string> asked(Sighting sighting, const Record* record,
                               const std::optional<placement::Consumer>& answer) {
  std::vector<std::string> all;
  while (const auto who = asks_about(sighting, record)) {
    all.push_back(*who);
    sighting.consumers[*who] = answer;
    if (all.size() > 9) break;
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(AsksAbout, NobodyWhoIsKnown) {
  const Record record = held_by_a();
  EXPECT_EQ(asked(held_by(kA), &record, std::nullopt), Names{});
  EXPECT_EQ(asked(held_by(kMigration), &record, std::nullopt), Names{});
  Sighting free = held_by(kA);
  free.view->consumers.clear();
  EXPECT_EQ(asked(free, &record, std::nullopt), Names{});
  EXPECT_EQ(asked(Sighting{}, &record, std::nullopt), Names{});
}

TEST(AsksAbout, NobodyWhoseDeviceIsToBeReservedFirst) {
  const Record record = held_by_a();
  Sighting offered = held_by(kB);
  offered.view->inventories.front().reserved = 0;
  EXPECT_EQ(asked(offered, &record, has("project-1")), Names{});
  EXPECT_EQ(asked(offered, nullptr, has("project-1")), Names{});
}

TEST(AsksAbout, TheNewTenantOnce) {
  Record record;
  EXPECT_EQ(asked(held_by(kB), &record, has("project-1")), Names{kB});
  EXPECT_EQ(asked(held_by(kB), &record, std::nullopt), Names{kB});
  EXPECT_EQ(asked(held_by(kB), nullptr, std::nullopt), Names{kB});
  Record unnamed = held_by_a();
  unnamed.project.clear();
  EXPECT_EQ(asked(held_by(kA), &unnamed, std::nullopt), Names{kA}) << "an answer was lost";
}

TEST(AsksAbout, TheFormerAsWellAsLongAsThatDecides) {
  const Record record = held_by_a();
  EXPECT_EQ(asked(held_by(kB), &record, has("project-1")), (Names{kA, kB}));
  EXPECT_EQ(asked(held_by(kB), &record, std::nullopt), (Names{kA, kB}));
  EXPECT_EQ(asked(held_by(kB, "provider-2"), &record, has("project-1")), Names{kB});
}

TEST(AsksAbout, NothingOfWhatIsOnlyShown) {
  Record card = held_by_a();
  card.type = kTypeUnknown;
  EXPECT_EQ(asked(held_by(kB), &card, std::nullopt), Names{});
  Sighting remembered = held_by(kB);
  remembered.remembered = true;
  EXPECT_EQ(asked(remembered, nullptr, std::nullopt), Names{}) << "of which there is no record";
}

}  // namespace
}  // namespace reclaim
