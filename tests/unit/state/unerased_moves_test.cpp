// A drive that went from one host to another without an erasure: what two chains tell together.
#include <gmock/gmock.h>

#include "state/ledger/audit.h"

namespace reclaim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Kind = DriveEvent::Kind;
using Events = std::vector<DriveEvent>;

DriveEvent at(Kind kind, const char* instance, std::int64_t ms, const char* model = "",
              const char* drive = "S1") {
  return {drive, kind, instance, WallMs{ms}, static_cast<std::uint64_t>(ms), model};
}

struct Case {
  const char* name;
  std::vector<Events> chains;
  std::vector<std::string> found;  // "CHAIN/SEQUENCE to CHAIN/SEQUENCE"
};

std::vector<std::string> moves_of(const std::vector<DriveEvents>& chains) {
  std::vector<std::string> found;
  for (const UnerasedMove& it : find_unerased_moves(chains)) {
    found.push_back(std::to_string(it.from) + "/" + std::to_string(it.missing.tenancy.sequence) +
                    " to " + std::to_string(it.to) + "/" +
                    std::to_string(it.missing.next.sequence));
  }
  return found;
}

void expect_found(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    std::vector<DriveEvents> proven;
    for (const Events& events : each.chains) proven.push_back({events, {}});
    EXPECT_EQ(moves_of(proven), each.found) << each.name;
  }
}

TEST(UnerasedMoves, ADriveIsErasedOnOneOfTheTwoHosts) {
  const Events of_a = {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2)};
  const Events of_b = {at(Kind::tenancy, "b", 4)};
  Events erased_there = of_a;
  erased_there.push_back(at(Kind::erasure, "a", 3));
  expect_found({
      {"nothing", {}, {}},
      {"one chain", {{at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 4)}}, {}},
      {"not erased", {of_a, of_b}, {"0/1 to 1/4"}},
      {"whichever chain is read first", {of_b, of_a}, {"1/1 to 0/4"}},
      {"it still runs there", {{at(Kind::tenancy, "a", 1)}, of_b}, {"0/1 to 1/4"}},
      {"erased before it left", {erased_there, of_b}, {}},
      {"erased where it came", {of_a, {at(Kind::erasure, "", 3), at(Kind::tenancy, "b", 4)}}, {}},
      {"erased on its way", {of_a, {at(Kind::erasure, "", 3)}, of_b}, {}},
      {"erased too late",
       {of_a, {at(Kind::tenancy, "b", 4), at(Kind::erasure, "b", 5)}},
       {"0/1 to 1/4"}},
      {"and back",
       {{at(Kind::tenancy, "a", 1), at(Kind::erasure, "a", 5)},
        {at(Kind::tenancy, "b", 2), at(Kind::erasure, "b", 3)}},
       {"0/1 to 1/2"}},
      {"the begin is in no chain", {{at(Kind::ended, "a", 2)}, of_b}, {"0/2 to 1/4"}},
      {"over three hosts", {of_a, {at(Kind::tenancy, "c", 3)}, of_b}, {"0/1 to 1/3", "1/3 to 2/4"}},
      {"the instance went with it", {of_a, {at(Kind::tenancy, "a", 4)}}, {}},
      {"two that nobody knows",
       {{at(Kind::tenancy, "", 1)}, {at(Kind::tenancy, "", 4)}},
       {"0/1 to 1/4"}},
      {"another drive", {of_a, {at(Kind::tenancy, "b", 4, "", "S2")}}, {}},
      {"sealed late, before it left",
       {{at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2), at(Kind::tenancy, "c", 7),
         at(Kind::erasure, "a", 3)},
        {at(Kind::tenancy, "b", 4), at(Kind::erasure, "b", 5)}},
       {}},
      {"its clock was set back between the two, and the chain's order counts",
       {{at(Kind::tenancy, "a", 3), at(Kind::erasure, "a", 2)}, of_b},
       {}},
  });
}

TEST(UnerasedMoves, ASerialOfTwoModelsIsOfTwoDrives) {
  const Events of_m = {at(Kind::erasure, "x", 1, "M"), at(Kind::tenancy, "a", 3)};
  const Events of_n = {at(Kind::erasure, "y", 2, "N"), at(Kind::tenancy, "b", 4)};
  const Events of_any = {at(Kind::tenancy, "c", 5)};
  expect_found({
      {"two models", {of_m, of_n}, {}},
      {"one model",
       {of_m, {at(Kind::erasure, "y", 2, "M"), at(Kind::tenancy, "b", 4)}},
       {"0/3 to 1/4"}},
      {"of a drive that no certificate names, either",
       {of_m, of_n, of_any},
       {"0/3 to 2/5", "1/4 to 2/5"}},
      {"what is not known is told once",
       {of_m, of_n, of_any, {at(Kind::tenancy, "d", 6)}},
       {"0/3 to 2/5", "1/4 to 2/5", "2/5 to 3/6"}},
      {"another's erasure is none of its own",
       {of_m, {at(Kind::erasure, "y", 4, "N")}, of_any},
       {"0/3 to 2/5"}},
  });
}

// Whoever may write a copy of a chain puts it there.
TEST(UnerasedMoves, WhatIsNotProvenHidesNothing) {
  const Events of_a = {at(Kind::erasure, "x", 1, "M"), at(Kind::tenancy, "a", 2)};
  const DriveEvents chain_a{of_a, {}};
  const DriveEvents chain_b{{at(Kind::tenancy, "b", 6)}, {}};
  const auto with = [](Events events, const Events& unproven) {
    DriveEvents told{events, std::move(events)};
    told.with_unproven.insert(told.with_unproven.end(), unproven.begin(), unproven.end());
    return told;
  };
  const DriveEvents erased{{}, {at(Kind::erasure, "", 4)}};
  EXPECT_THAT(moves_of({chain_a, erased, chain_b}), ElementsAre("0/2 to 2/6"));
  const DriveEvents erased_there = with(of_a, {at(Kind::erasure, "a", 4)});
  EXPECT_THAT(moves_of({erased_there, chain_b}), ElementsAre("0/2 to 1/6"));
  const DriveEvents another_model{{at(Kind::tenancy, "b", 6)},
                                  {at(Kind::erasure, "y", 4, "N"), at(Kind::tenancy, "b", 6)}};
  EXPECT_THAT(moves_of({chain_a, another_model}), ElementsAre("0/2 to 1/6"));
  const DriveEvents a_tenancy{{}, {at(Kind::tenancy, "c", 4)}};
  EXPECT_THAT(moves_of({chain_a, a_tenancy, chain_b}),
              ElementsAre("0/2 to 1/4", "0/2 to 2/6", "1/4 to 2/6"));
  const DriveEvents only_unproven{{}, {at(Kind::tenancy, "a", 2), at(Kind::erasure, "a", 4)}};
  EXPECT_THAT(moves_of({only_unproven, chain_b}), IsEmpty());

  const Events handed_on = {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 3)};
  const auto missing = find_missing_erasures(with(handed_on, {at(Kind::erasure, "a", 2)}));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_TRUE(missing[0].is_proven);
  const auto more = find_missing_erasures(with(handed_on, {at(Kind::tenancy, "c", 4)}));
  ASSERT_EQ(more.size(), 2U);
  EXPECT_FALSE(more[1].is_proven);
  EXPECT_EQ(more[1].next.instance, "c");
}

}  // namespace
}  // namespace reclaim
