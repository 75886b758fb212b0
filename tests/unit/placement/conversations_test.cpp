// The conversations of several requests, played with recorded answers.
#include "placement/conversations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "placement/lookups.h"
#include "tests/unit/placement/fake_http.h"
#include "tests/unit/placement/play.h"

namespace reclaim::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRoot = "5d273a28-07c3-4c08-822a-3699d9ea7392";
constexpr const char* kProvider = "e562c0c8-db6a-4852-a551-284cb71543d2";
constexpr const char* kEmpty = R"({"resource_providers": []})";

Options options_for(std::vector<std::string> names = {"compute-2"}) {
  Options options;
  options.root_provider_names = std::move(names);
  return options;
}

// The recorded tree has only the children; Placement lists the root as well.
HttpResponse tree_with_root() {
  HttpResponse tree = recorded("placement-16/get-in-tree.http");
  const std::string root = recorded("placement-16/get-root.http").body;
  const auto open = root.find('[');
  tree.body.insert(tree.body.find('[') + 1,
                   root.substr(open + 1, root.rfind(']') - open - 1) + ", ");
  return tree;
}

TEST(ListTree, FindsTheRootAndMarksItsRows) {
  const Options options = options_for();
  const auto played = play(ListTree(options, std::nullopt),
                           {recorded("placement-16/get-root.http"), tree_with_root(),
                            recorded("placement-16/get-in-tree.http")});
  EXPECT_THAT(played.asked, ElementsAre("GET /resource_providers?name=compute-2",
                                        std::string("GET /resource_providers?in_tree=") + kRoot,
                                        std::string("GET /resource_providers?in_tree=") + kRoot +
                                            "&required=HW_PCI_ONE_TIME_USE,!OWNER_CYBORG"));
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  const Tree& tree = *played.result;
  EXPECT_EQ(tree.root_uuid, kRoot);
  EXPECT_EQ(tree.root_name, "compute-2");
  ASSERT_EQ(tree.rows.size(), 3U);
  EXPECT_TRUE(tree.rows[0].one_time_use);
  EXPECT_FALSE(tree.rows[0].owner_cyborg);
  EXPECT_EQ(tree.rows[2].generation, 7);
}

TEST(ListTree, KeepsTheMarksOfRowsThatDidNotMove) {
  const Options options = options_for();
  const auto first = play(ListTree(options, Root{kRoot, "compute-2"}),
                          {tree_with_root(), recorded("placement-16/get-in-tree.http")});
  ASSERT_TRUE(first.result.ok());
  const Tree known = *first.result;
  ASSERT_TRUE(known.rows[0].one_time_use);

  auto again = play(ListTree(options, Root{kRoot, "compute-2"}, known), {tree_with_root()});
  ASSERT_TRUE(again.result.ok());
  EXPECT_TRUE(again.result->rows[0].one_time_use);
  EXPECT_EQ(again.result->root_generation, known.root_generation);
  EXPECT_EQ(again.result->rows.size(), known.rows.size());

  // Of rows that moved, came, went, or are called otherwise, none is believed.
  for (const auto& change : std::vector<std::function<void(Tree&)>>{
           [](Tree& tree) { tree.rows[1].generation += 1; },
           [](Tree& tree) { tree.rows.pop_back(); },
           [](Tree& tree) { tree.rows.push_back(tree.rows.front()); },
           [](Tree& tree) { tree.rows[1].name += "1"; },
           [](Tree& tree) { tree.rows[1].parent_uuid = kProvider; },
           [](Tree& tree) { tree.root_uuid = kProvider; }}) {
    Tree other = known;
    change(other);
    again = play(ListTree(options, Root{kRoot, "compute-2"}, other),
                 {tree_with_root(), recorded("placement-16/get-in-tree.http")});
    EXPECT_TRUE(again.result.ok());
  }
}

TEST(ReadConsumers, TellsWhoHasAllocations) {
  const Options options = options_for();
  const std::string path = std::string("GET /resource_providers/") + kRoot + "/allocations";
  const auto played = play(ask_consumers(options, kRoot),
                           {answer(200, R"({"allocations": {"vm-1": {"resources": {"VCPU": 1}}},)"
                                        R"( "resource_provider_generation": 7})")});
  EXPECT_THAT(played.asked, ElementsAre(path));
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  EXPECT_THAT(*played.result, ElementsAre("vm-1"));
  EXPECT_EQ(play(ask_consumers(options, "x"), {}).result.error().code, Errc::invalid);
}

TEST(ListTree, ListsRowsWithoutTheTraitToo) {
  const Options options = options_for();
  const auto played =
      play(ListTree(options, Root{kRoot, "compute-2"}),
           {tree_with_root(), answer(200, kEmpty), answer(200, kEmpty), answer(200, kEmpty)});
  ASSERT_EQ(played.asked.size(), 4U);
  ASSERT_TRUE(played.result.ok());
  ASSERT_EQ(played.result->rows.size(), 3U);
  for (const ProviderRow& row : played.result->rows) EXPECT_FALSE(row.one_time_use);
}

TEST(ListTree, AnUnknownTraitMeansNoneBearsIt) {
  const Options options = options_for();
  const auto unknown = replaced(recorded("placement-16/get-required-unknown-trait.http"),
                                "HW_NO_SUCH_TRAIT", "HW_PCI_ONE_TIME_USE");
  const auto played = play(ListTree(options, Root{kRoot, "compute-2"}),
                           {tree_with_root(), unknown, answer(200, kEmpty)});
  ASSERT_TRUE(played.result.ok());
  EXPECT_FALSE(played.result->rows[0].one_time_use);
  // Another 400 is not that.
  const auto other = play(ListTree(options, Root{kRoot, "compute-2"}),
                          {tree_with_root(), recorded("placement-16/put-inventory-bad-body.http")});
  EXPECT_EQ(other.result.error().code, Errc::refused);
}

TEST(ListTree, MarksCyborgsRows) {
  const Options options = options_for();
  const auto played =
      play(ListTree(options, Root{kRoot, "compute-2"}),
           {tree_with_root(), answer(200, kEmpty), recorded("placement-16/get-in-tree.http")});
  EXPECT_THAT(played.asked[2], HasSubstr("&required=OWNER_CYBORG"));
  EXPECT_FALSE(played.result->rows[1].one_time_use);
  EXPECT_TRUE(played.result->rows[1].owner_cyborg);
}

std::string row(const std::string& uuid, const std::string& name) {
  return R"({"uuid": ")" + uuid + R"(", "name": ")" + name + R"(", "generation": 1, )" +
         R"("parent_provider_uuid": ")" + kRoot + R"(", "root_provider_uuid": ")" + kRoot + "\"}";
}
HttpResponse listed(const std::vector<std::string>& rows) {
  std::string body;
  for (const std::string& each : rows) body += (body.empty() ? "" : ", ") + each;
  return answer(200, R"({"resource_providers": [)" + body + "]}");
}

// A device of two owners must not be taken for the one whose trait was asked for first.
TEST(ListTree, MarksARowOfBothOwnersAsThat) {
  const Options options = options_for();
  const std::string root = row(kRoot, "compute-2");
  const std::string nova = row(kProvider, "compute-2_0000:01:00.0");
  const std::string second = row("22222222-2222-4333-8444-555555555555", "compute-2_0000:02:00.0");
  // Alone on its host.
  auto played = play(ListTree(options, Root{kRoot, "compute-2"}),
                     {listed({root, second}), listed({}), listed({}), listed({second})});
  ASSERT_TRUE(played.result.ok());
  EXPECT_THAT(played.asked[2], HasSubstr("&required=OWNER_CYBORG,!HW_PCI_ONE_TIME_USE"));
  EXPECT_THAT(played.asked[3], HasSubstr("&required=HW_PCI_ONE_TIME_USE,OWNER_CYBORG"));
  EXPECT_TRUE(played.result->rows[0].one_time_use && played.result->rows[0].owner_cyborg);
  // Beside one of Nova's.
  played = play(ListTree(options, Root{kRoot, "compute-2"}),
                {listed({root, nova, second}), listed({nova}), listed({second}), listed({second})});
  ASSERT_TRUE(played.result.ok());
  EXPECT_TRUE(played.result->rows[0].one_time_use && !played.result->rows[0].owner_cyborg);
  EXPECT_TRUE(played.result->rows[1].one_time_use && played.result->rows[1].owner_cyborg);
}

// What is neither Nova's nor Cyborg's costs a host of Nova's no request more.
TEST(ListTree, AsksForBothOwnersOnlyWhereOneRowMayHaveThem) {
  const Options options = options_for();
  const std::string root = row(kRoot, "compute-2");
  const std::string nova = row(kProvider, "compute-2_0000:01:00.0");
  const std::string plain = row("22222222-2222-4333-8444-555555555555", "compute-2_0000:02:00.0");
  EXPECT_EQ(play(ListTree(options, Root{kRoot, "compute-2"}),
                 {listed({root, nova, plain}), listed({nova}), listed({})})
                .asked.size(),
            3U);
  // Nor one of Cyborg's, where nothing else is a device.
  const std::string bridge = row("33333333-2222-4333-8444-555555555555", "compute-2:br-ex");
  EXPECT_EQ(play(ListTree(options, Root{kRoot, "compute-2"}),
                 {listed({root, nova, bridge}), listed({}), listed({nova})})
                .asked.size(),
            3U);
}

std::string row(const std::string& uuid) {
  return R"({"uuid": ")" + uuid + R"(", "name": "n", "generation": 1, "parent_provider_uuid": ")" +
         kRoot + R"(", "root_provider_uuid": ")" + kRoot + R"("})";
}

TEST(ListTree, TraitsThatChooseAPolicyAreMarked) {
  Options options = options_for();
  options.policy_trait_prefix = "CUSTOM_RECLAIM_";
  const std::string bearers = R"({"resource_providers": [)" + row(kProvider) + "]}";
  const auto unknown = replaced(recorded("placement-16/get-required-unknown-trait.http"),
                                "HW_NO_SUCH_TRAIT", "CUSTOM_RECLAIM_GONE");
  const auto played =
      play(ListTree(options, Root{kRoot, "compute-2"}),
           {tree_with_root(), recorded("placement-16/get-in-tree.http"),
            answer(200, R"({"traits": ["CUSTOM_RECLAIM_GOLD", "CUSTOM_RECLAIM_ALL", "CUSTOM_OTHER",
                                  "CUSTOM_RECLAIM_GONE"]})"),
            answer(200, bearers), answer(200, bearers), unknown});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  const std::string tree = std::string("GET /resource_providers?in_tree=") + kRoot + "&required=";
  ASSERT_EQ(played.asked.size(), 6U);
  EXPECT_EQ(played.asked[2], "GET /traits?name=startswith:CUSTOM_RECLAIM_&associated=true");
  EXPECT_EQ(played.asked[3], tree + "CUSTOM_RECLAIM_ALL");
  EXPECT_EQ(played.asked[4], tree + "CUSTOM_RECLAIM_GOLD");
  EXPECT_EQ(played.asked[5], tree + "CUSTOM_RECLAIM_GONE");
  for (const ProviderRow& each : played.result->rows) {
    if (each.uuid == kProvider) {
      EXPECT_THAT(each.policy_traits, ElementsAre("CUSTOM_RECLAIM_ALL", "CUSTOM_RECLAIM_GOLD"));
    } else {
      EXPECT_TRUE(each.policy_traits.empty());
    }
  }
}

TEST(ListTree, ManyTraitsThatChooseAPolicyAreAnError) {
  Options options = options_for();
  options.policy_trait_prefix = "CUSTOM_RECLAIM_";
  options.policy_traits_max = 1;
  const auto played =
      play(ListTree(options, Root{kRoot, "compute-2"}),
           {tree_with_root(), recorded("placement-16/get-in-tree.http"),
            answer(200, R"({"traits": ["CUSTOM_RECLAIM_A", "CUSTOM_RECLAIM_B"]})")});
  EXPECT_THAT(played.result.error().what, HasSubstr("1 are the limit"));
  // A survey that does not know the traits knows nothing.
  const auto lost = play(
      ListTree(options, Root{kRoot, "compute-2"}),
      {tree_with_root(), recorded("placement-16/get-in-tree.http"), Error{Errc::unavailable, "x"}});
  EXPECT_FALSE(lost.result.ok());
}

TEST(ListTree, TriesTheNamesInOrderAndEncodesThem) {
  const Options options = options_for({"a host/1", "other", "compute-2"});
  const HttpResponse child =
      replaced(replaced(recorded("placement-16/get-root.http"), "\"compute-2\"", "\"other\""),
               "\"root_provider_uuid\": \"5d27", "\"root_provider_uuid\": \"6d27");
  const auto played =
      play(ListTree(options, std::nullopt),
           {answer(200, kEmpty), child, recorded("placement-16/get-root.http"), tree_with_root(),
            answer(200, kEmpty), answer(200, kEmpty), answer(200, kEmpty)});
  EXPECT_EQ(played.asked[0], "GET /resource_providers?name=a%20host%2F1");
  EXPECT_EQ(played.asked[1], "GET /resource_providers?name=other");
  ASSERT_TRUE(played.result.ok());
  EXPECT_EQ(played.result->root_name, "compute-2");
}

TEST(ListTree, SaysWhichNamesItTried) {
  const Options options = options_for({"one", "two"});
  const auto played =
      play(ListTree(options, std::nullopt), {answer(200, kEmpty), answer(200, kEmpty)});
  EXPECT_EQ(played.result.error().code, Errc::not_found);
  EXPECT_THAT(played.result.error().what, HasSubstr("'one' or 'two'"));
  EXPECT_EQ(play(ListTree(options_for({}), std::nullopt), {}).result.error().code, Errc::invalid);
}

TEST(ListTree, LooksTheRootUpAgainWhenItIsGone) {
  const Options options = options_for();
  const std::string former = "11111111-2222-4333-8444-555555555555";
  for (const HttpResponse& gone :
       {answer(200, kEmpty), recorded("placement-16/get-provider-not-found.http")}) {
    const auto played = play(ListTree(options, Root{former, "compute-2"}),
                             {gone, recorded("placement-16/get-root.http"), tree_with_root(),
                              answer(200, kEmpty), answer(200, kEmpty), answer(200, kEmpty)});
    ASSERT_TRUE(played.result.ok());
    EXPECT_EQ(played.result->root_uuid, kRoot);
    EXPECT_EQ(played.asked.size(), 6U);
  }
  // But not for ever.
  const auto played = play(ListTree(options, std::nullopt),
                           {recorded("placement-16/get-root.http"), answer(200, kEmpty)});
  EXPECT_EQ(played.result.error().code, Errc::not_found);
}

TEST(ListTree, PassesErrorsOn) {
  const Options options = options_for();
  EXPECT_EQ(
      play(ListTree(options, std::nullopt), {Error{Errc::unavailable, "x"}}).result.error().code,
      Errc::unavailable);
  EXPECT_EQ(play(ListTree(options, std::nullopt), {answer(200, "<html>")}).result.error().code,
            Errc::invalid);
}

TEST(ReadProvider, TakesTwoRequestsWhenNothingMoves) {
  const Options options = options_for();
  const auto played =
      play(ReadProvider(options, kProvider), {recorded("placement-16/get-inventories.http"),
                                              recorded("placement-16/get-allocations.http")});
  EXPECT_THAT(played.asked,
              ElementsAre(std::string("GET /resource_providers/") + kProvider + "/inventories",
                          std::string("GET /resource_providers/") + kProvider + "/allocations"));
  ASSERT_TRUE(played.result.ok());
  EXPECT_EQ(played.result->generation, 15);
  EXPECT_TRUE(played.result->burned());
  EXPECT_TRUE(played.result->free());
}

TEST(ReadProvider, ReadsOnUntilTheGenerationsAgree) {
  const Options options = options_for();
  const auto played =
      play(ReadProvider(options, kProvider),
           {inventories(15, 0), allocations(16, "c1"), inventories(17, 1), allocations(17, "c1")});
  ASSERT_TRUE(played.result.ok());
  EXPECT_EQ(played.result->generation, 17);
  EXPECT_TRUE(played.result->burned());
  EXPECT_THAT(played.result->consumers, ElementsAre("c1"));
  EXPECT_EQ(play(ReadProvider(options, kProvider),
                 {inventories(15, 0), allocations(16), inventories(16, 1)})
                .asked.size(),
            3U);
}

TEST(ReadProvider, GivesUpOnAProviderThatKeepsMoving) {
  Options options = options_for();
  options.rereads_max = 2;
  const auto played = play(ReadProvider(options, kProvider),
                           {inventories(1, 1), allocations(2), inventories(3, 1), allocations(4)});
  EXPECT_EQ(played.result.error().code, Errc::conflict);
}

TEST(ReadProvider, AsksNothingForWhatIsNoUuid) {
  const Options options = options_for();
  EXPECT_EQ(play(ReadProvider(options, "../../x"), {}).result.error().code, Errc::invalid);
}

TEST(ReadProvider, ReportsAProviderThatIsGone) {
  const Options options = options_for();
  const auto gone = recorded("placement-16/get-provider-not-found.http");
  EXPECT_EQ(play(ReadProvider(options, kProvider), {gone}).result.error().code, Errc::not_found);
  EXPECT_EQ(play(ReadProvider(options, kProvider), {inventories(1, 1), gone}).result.error().code,
            Errc::not_found);
}

ProviderView burned_view() {
  return {kProvider, 15, {{"CUSTOM_PCI_1B36_0010", 1, 1, 1, 1, 1, 1.0}}, {}};
}

Played<ProviderView> release(std::deque<Result<HttpResponse>> answers) {
  static const Options options = options_for();
  return play(SetReserved(options, burned_view(), 0), std::move(answers));
}

TEST(SetReserved, EchoesAllFieldsAndConfirmsByARead) {
  const auto played = release({recorded("placement-16/put-inventory-ok.http"), inventories(16, 0)});
  const std::string base = std::string("/resource_providers/") + kProvider + "/inventories";
  EXPECT_THAT(
      played.asked,
      ElementsAre("PUT " + base + "/CUSTOM_PCI_1B36_0010 " +
                      R"({"resource_provider_generation":15,"total":1,"reserved":0,"min_unit":1,)" +
                      R"("max_unit":1,"step_size":1,"allocation_ratio":1.0})",
                  "GET " + base));
  ASSERT_TRUE(played.result.ok());
  EXPECT_EQ(played.result->generation, 16);
  EXPECT_FALSE(played.result->burned());
}

TEST(SetReserved, AStaleGenerationIsAConflict) {
  const auto played = release({recorded("placement-16/put-inventory-stale-generation.http")});
  EXPECT_EQ(played.result.error().code, Errc::conflict);
}

TEST(SetReserved, IsRefusedBeforeTheWireWhereItCannotBeRight) {
  const Options options = options_for();
  const auto refused = [&](auto change, std::int64_t reserved) {
    ProviderView view = burned_view();
    change(view);
    const auto played = play(SetReserved(options, view, reserved), {});
    return played.asked.empty() && played.result.error().code == Errc::refused;
  };
  EXPECT_TRUE(refused([](ProviderView& v) { v.consumers = {"c"}; }, 0));
  EXPECT_TRUE(refused([](ProviderView& v) { v.inventories.clear(); }, 0));
  EXPECT_TRUE(refused([](ProviderView& v) { v.inventories[0].total = 2; }, 0));
  EXPECT_TRUE(refused([](ProviderView& v) { v.uuid = "x/../y"; }, 0));
  EXPECT_TRUE(refused([](ProviderView& v) { v.inventories[0].resource_class = "A/B"; }, 0));
  EXPECT_TRUE(refused([](ProviderView&) {}, 2));
  EXPECT_TRUE(refused([](ProviderView&) {}, -1));
}

TEST(SetReserved, ReservesAgainWhatIsAllocated) {
  const Options options = options_for();
  ProviderView view = burned_view();
  view.inventories[0].reserved = 0;
  view.consumers = {"c"};
  const auto played = play(SetReserved(options, view, 1),
                           {recorded("placement-16/put-inventory-ok.http"), inventories(16, 1)});
  ASSERT_TRUE(played.result.ok());
  EXPECT_TRUE(played.result->burned());
  EXPECT_THAT(played.result->consumers, ElementsAre("c"));
}

TEST(SetReserved, NoFailureAfterTheWriteIsNotDone) {
  const HttpResponse written = recorded("placement-16/put-inventory-ok.http");
  for (const Errc code : {Errc::unavailable, Errc::refused, Errc::limit, Errc::unknown}) {
    const auto played = release({written, Error{code, "x"}});
    EXPECT_EQ(played.result.error().code, Errc::unknown);
    EXPECT_THAT(played.result.error().what, HasSubstr("was written"));
  }
  EXPECT_EQ(release({written, answer(200, "<html>")}).result.error().code, Errc::unknown);
  EXPECT_EQ(release({written, answer(503, "")}).result.error().code, Errc::unknown);
  // A provider that went away is its own thing: the ledger stays dirty.
  EXPECT_EQ(
      release({written, recorded("placement-16/get-provider-not-found.http")}).result.error().code,
      Errc::not_found);
  // The same generation, but not our value: that is not a Placement's doing.
  EXPECT_EQ(release({written, inventories(16, 1)}).result.error().code, Errc::unknown);
}

TEST(SetReserved, ReadsInFullWhenSomebodyMovedOn) {
  const HttpResponse written = recorded("placement-16/put-inventory-ok.http");
  // Allocated right after the release: ours was done, and the view says by whom.
  const auto allocated =
      release({written, inventories(17, 0), inventories(17, 0), allocations(17, "c9")});
  ASSERT_TRUE(allocated.result.ok());
  EXPECT_THAT(allocated.result->consumers, ElementsAre("c9"));
  // Burned again by Nova: read again, decide again.
  const auto burned =
      release({written, inventories(18, 1), inventories(18, 1), allocations(18, "c9")});
  EXPECT_EQ(burned.result.error().code, Errc::conflict);
  const auto lost = release({written, inventories(17, 0), Error{Errc::unavailable, "x"}});
  EXPECT_EQ(lost.result.error().code, Errc::unknown);
}

TEST(SetReserved, AnAnswerWithoutGenerationIsReadInFull) {
  const auto played =
      release({answer(200, "garbage"), inventories(16, 0), inventories(16, 0), allocations(16)});
  ASSERT_TRUE(played.result.ok());
}

TEST(SetReserved, NoticesAChangedField) {
  const auto changed = replaced(inventories(16, 0), "\"max_unit\": 1", "\"max_unit\": 2147483647");
  EXPECT_FALSE(release({recorded("placement-16/put-inventory-ok.http"), changed}).result.ok());
}

TEST(Lookups, TheInventoriesAloneAreOneRequest) {
  const Options options = options_for();
  const auto played =
      play(ask_inventories(options, kProvider),
           {answer(200, R"({"resource_provider_generation": 4, "inventories": {"CUSTOM_A":
             {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1,
              "allocation_ratio": 1.0}}})")});
  EXPECT_THAT(played.asked,
              ElementsAre(std::string("GET /resource_providers/") + kProvider + "/inventories"));
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  ASSERT_EQ(played.result->size(), 1U);
  EXPECT_EQ(played.result->front().reserved, 0);
}

TEST(Lookups, TheRowsOfATreeAreOneRequest) {
  const Options options = options_for();
  const auto rows = play(ask_rows(options, kRoot), {recorded("placement-16/get-in-tree.http")});
  EXPECT_THAT(rows.asked, ElementsAre(std::string("GET /resource_providers?in_tree=") + kRoot));
  ASSERT_TRUE(rows.result.ok()) << rows.result.error().what;
  EXPECT_GT(rows.result->size(), 1U);
  const auto unlisted = play(ask_rows(options, ""), {});
  EXPECT_TRUE(unlisted.asked.empty());
  EXPECT_EQ(unlisted.result.error().code, Errc::not_found);
}

TEST(Lookups, AProviderIsFoundByItsName) {
  const Options options = options_for();
  const auto found =
      play(ask_for_name(options, "compute-2"), {recorded("placement-16/get-root.http")});
  EXPECT_THAT(found.asked, ElementsAre("GET /resource_providers?name=compute-2"));
  ASSERT_TRUE(found.result.ok()) << found.result.error().what;
  EXPECT_EQ(*found.result, kRoot);
  const auto gone = play(ask_for_name(options, "host_0000:C1:00.0"), {answer(200, kEmpty)});
  ASSERT_FALSE(gone.result.ok());
  EXPECT_EQ(gone.result.error().code, Errc::not_found);
}

}  // namespace
}  // namespace reclaim::placement
