// A drive that went from one host to another without an erasure: what two chains tell together.
#include <gmock/gmock.h>

#include "state/ledger/audit.h"

namespace reclaim {
namespace {

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

std::vector<std::string> moves_of(const std::vector<Events>& chains) {
  std::vector<std::string> found;
  for (const UnerasedMove& it : find_unerased_moves(chains)) {
    found.push_back(std::to_string(it.from) + "/" + std::to_string(it.missing.tenancy.sequence) +
                    " to " + std::to_string(it.to) + "/" +
                    std::to_string(it.missing.next.sequence));
  }
  return found;
}

void expect_found(const std::vector<Case>& cases) {
  for (const Case& each : cases) EXPECT_EQ(moves_of(each.chains), each.found) << each.name;
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

}  // namespace
}  // namespace reclaim
