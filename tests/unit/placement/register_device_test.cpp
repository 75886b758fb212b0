// Registering a device, played: what is written and in which order, what is left alone, and what a
// race makes of it.
#include "placement/register_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/placement/fake_http.h"
#include "tests/unit/placement/play.h"

namespace reclaim::placement {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kRoot = "5d273a28-07c3-4c08-822a-3699d9ea7392";
constexpr const char* kOurs = "e562c0c8-db6a-5852-a551-284cb71543d2";
constexpr const char* kTheirs = "17652caa-28dd-4ccb-8350-6e134c33e9bd";
constexpr const char* kName = "compute-1_0000:01:00.0";
constexpr const char* kClass = "CUSTOM_NVME_8086_0001";

NewDevice device() {
  return {kOurs, kName, kRoot, kClass, {"OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_BES"}};
}

HttpResponse known(const std::string& names = R"("OWNER_CYBORG","HW_NVME_CES","HW_NVME_BES")") {
  return answer(200, "{\"traits\": [" + names + "]}");
}
HttpResponse nobody() {
  return answer(200, R"({"resource_providers": []})");
}
HttpResponse found(const std::string& uuid = kOurs, const std::string& parent = kRoot,
                   const std::string& name = kName) {
  return answer(200, "{\"resource_providers\": [{\"uuid\": \"" + uuid + "\", \"name\": \"" + name +
                         "\", \"generation\": 0, \"parent_provider_uuid\": \"" + parent +
                         "\", \"root_provider_uuid\": \"" + kRoot + "\"}]}");
}
HttpResponse traits(int generation, const std::string& names) {
  return answer(200, "{\"traits\": [" + names + "], \"resource_provider_generation\": " +
                         std::to_string(generation) + "}");
}
const std::string kAll = R"("OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_BES")";
HttpResponse no_inventory(int generation) {
  return answer(200, "{\"inventories\": {}, \"resource_provider_generation\": " +
                         std::to_string(generation) + "}");
}
HttpResponse inventory(int generation, int reserved) {
  return replaced(inventories(generation, reserved), "CUSTOM_PCI_1B36_0010", kClass);
}
HttpResponse made() {
  return answer(201, "");
}
HttpResponse stale() {
  return recorded("placement-16/put-inventory-stale-generation.http");
}
// As Placement answers when two write a provider's traits at once: it catches this nowhere.
HttpResponse overtaken() {
  return answer(500, R"({"errors": [{"status": 500, "title": "Internal Server Error", "detail":
      "Another thread concurrently updated the resource provider data. Please retry"}]})");
}
HttpResponse duplicate() {
  return answer(409, R"({"errors": [{"status": 409, "code": "placement.duplicate_name", "detail":
                     "Conflicting resource provider name already exists."}]})");
}

Played<Registered> registered(std::deque<Result<HttpResponse>> answers) {
  static const Options options;
  return play(RegisterDevice(options, device()), std::move(answers));
}
std::vector<std::string> writes(const Played<Registered>& played) {
  std::vector<std::string> found;
  for (const std::string& each : played.asked) {
    if (each.compare(0, 4, "GET ") != 0) found.push_back(each);
  }
  return found;
}

TEST(RegisterDevice, MakesClassProviderTraitsAndLastAReservedInventory) {
  const auto played =
      registered({known(), nobody(), made(), answer(200, "{}"), traits(0, ""), no_inventory(0),
                  traits(1, kAll), traits(1, kAll), no_inventory(1), inventory(2, 1),
                  inventory(2, 1), allocations(2)});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  const std::string provider = std::string("/resource_providers/") + kOurs;
  EXPECT_THAT(
      writes(played),
      ElementsAre(std::string("PUT /resource_classes/") + kClass,
                  std::string("POST /resource_providers {\"uuid\":\"") + kOurs + "\",\"name\":\"" +
                      kName + "\",\"parent_provider_uuid\":\"" + kRoot + "\"}",
                  "PUT " + provider +
                      "/traits {\"resource_provider_generation\":0,\"traits\":[\"OWNER_CYBORG\","
                      "\"HW_NVME_CES\",\"HW_NVME_BES\"]}",
                  "PUT " + provider +
                      "/inventories {\"resource_provider_generation\":1,\"inventories\":{\"" +
                      kClass +
                      "\":{\"total\":1,\"reserved\":1,\"min_unit\":1,\"max_unit\":1,"
                      "\"step_size\":1,\"allocation_ratio\":1.0}}}"));
  EXPECT_EQ(played.asked.size(), 12U);
  EXPECT_EQ(played.asked[0], "GET /traits?name=in:OWNER_CYBORG,HW_NVME_CES,HW_NVME_BES");
  EXPECT_EQ(played.asked[1], "GET /resource_providers?name=compute-1_0000%3A01%3A00.0");
  EXPECT_TRUE(played.result->view.burned());
  EXPECT_EQ(played.result->view.uuid, kOurs);
  EXPECT_THAT(played.result->traits_left_out, IsEmpty());
}

TEST(RegisterDevice, WhatIsThereIsLeftAsItIs) {
  for (const int reserved : {0, 1}) {
    const auto played =
        registered({known(), found(), traits(3, kAll + ", \"CUSTOM_TAG\""), inventory(3, reserved),
                    inventory(3, reserved), allocations(3)});
    ASSERT_TRUE(played.result.ok()) << played.result.error().what;
    EXPECT_THAT(writes(played), IsEmpty());
    EXPECT_EQ(played.result->view.burned(), reserved == 1);
  }
}

TEST(RegisterDevice, OnlyMissingTraitsAreAddedAndTheOthersKept) {
  const auto played = registered({known(), found(), traits(3, R"("CUSTOM_TAG", "OWNER_CYBORG")"),
                                  inventory(3, 1), traits(4, kAll), traits(4, kAll),
                                  inventory(4, 1), inventory(4, 1), allocations(4)});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  EXPECT_THAT(writes(played),
              ElementsAre(std::string("PUT /resource_providers/") + kOurs +
                          "/traits {\"resource_provider_generation\":3,\"traits\":[\"CUSTOM_TAG\","
                          "\"OWNER_CYBORG\",\"HW_NVME_CES\",\"HW_NVME_BES\"]}"));
}

TEST(RegisterDevice, AnInventoryThatVanishedIsMadeAnewReserved) {
  const auto played = registered({known(), found(), traits(7, kAll), no_inventory(7), made(),
                                  inventory(8, 1), inventory(8, 1), allocations(8)});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  EXPECT_THAT(writes(played),
              ElementsAre(StartsWith("PUT /resource_classes/"), HasSubstr("\"reserved\":1,")));
}

TEST(RegisterDevice, AProviderWithoutOwnerCyborgIsSomebodyElsesAndNeverWritten) {
  for (const char* has : {"", "\"COMPUTE_MANAGED_PCI_DEVICE\"", "\"OWNER_NOVA\""}) {
    const auto played = registered({known(), found(kTheirs), traits(3, has)});
    EXPECT_EQ(played.result.error().code, Errc::refused);
    EXPECT_THAT(played.result.error().what, AllOf(HasSubstr(kTheirs), HasSubstr(kName)));
    EXPECT_THAT(writes(played), IsEmpty());
  }
}

TEST(RegisterDevice, ANameOfOtherCaseIsTheSameName) {
  NewDevice lettered = device();
  lettered.name = "compute-1_0000:c1:00.0";
  const Options options;
  const auto played = play(RegisterDevice(options, lettered),
                           {known(), found(kTheirs, kRoot, "compute-1_0000:C1:00.0"),
                            traits(3, "\"COMPUTE_MANAGED_PCI_DEVICE\"")});
  EXPECT_EQ(played.result.error().code, Errc::refused);
  EXPECT_THAT(writes(played), IsEmpty());
}

TEST(RegisterDevice, OursWithNovasTraitsHasTwoOwners) {
  for (const char* has : {"\"OWNER_NOVA\"", "\"OWNER_CYBORG\", \"HW_PCI_ONE_TIME_USE\""}) {
    const auto played = registered({known(), found(), traits(3, has)});
    EXPECT_EQ(played.result.error().code, Errc::refused);
    EXPECT_THAT(played.result.error().what, HasSubstr("Nova has the device too"));
    EXPECT_THAT(writes(played), IsEmpty());
  }
}

TEST(RegisterDevice, CyborgsOwnProviderOfTheNameIsTaken) {
  const auto played = registered(
      {known(), found(kTheirs), traits(3, kAll), inventory(3, 0), inventory(3, 0), allocations(3)});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  EXPECT_EQ(played.result->view.uuid, kTheirs);
  EXPECT_THAT(writes(played), IsEmpty());
}

TEST(RegisterDevice, AProviderElsewhereOrWithAnotherInventoryIsRefused) {
  const auto elsewhere = registered({known(), found(kOurs, kTheirs)});
  EXPECT_EQ(elsewhere.result.error().code, Errc::refused);
  EXPECT_THAT(elsewhere.result.error().what, HasSubstr("root provider"));
  const auto other = registered({known(), found(), traits(3, ""), inventories(3, 1)});
  EXPECT_EQ(other.result.error().code, Errc::refused);
  EXPECT_THAT(other.result.error().what, HasSubstr("CUSTOM_PCI_1B36_0010"));
  EXPECT_THAT(writes(elsewhere), IsEmpty());
  EXPECT_THAT(writes(other), IsEmpty());
}

TEST(RegisterDevice, TraitsThatPlacementDoesNotKnowAreLeftOut) {
  const auto played =
      registered({known("\"OWNER_CYBORG\""), found(), traits(0, ""), no_inventory(0),
                  traits(1, "\"OWNER_CYBORG\""), traits(1, "\"OWNER_CYBORG\""), no_inventory(1),
                  made(), inventory(2, 1), inventory(2, 1), allocations(2)});
  ASSERT_TRUE(played.result.ok()) << played.result.error().what;
  EXPECT_THAT(played.result->traits_left_out, ElementsAre("HW_NVME_CES", "HW_NVME_BES"));
  EXPECT_THAT(played.asked, Each(Not(HasSubstr("\"HW_NVME"))));
}

TEST(RegisterDevice, WithoutOwnerCyborgNothingIsMade) {
  const auto played = registered({known("\"HW_NVME_CES\"")});
  EXPECT_EQ(played.result.error().code, Errc::refused);
  EXPECT_THAT(played.result.error().what, HasSubstr("os-traits"));
}

TEST(RegisterDevice, ARaceIsReadAgainAndDecidedAnew) {
  // Somebody made the provider meanwhile: another worker with our UUID, or Nova.
  const auto ours = registered({known(), nobody(), made(), duplicate(), found(), traits(1, kAll),
                                inventory(2, 1), inventory(2, 1), allocations(2)});
  EXPECT_TRUE(ours.result.ok()) << ours.result.error().what;
  const auto novas = registered(
      {known(), nobody(), made(), duplicate(), found(kTheirs), traits(1, "\"OWNER_NOVA\"")});
  EXPECT_EQ(novas.result.error().code, Errc::refused);
  // The generation moved between reading and writing; by then the inventory was there.
  const auto moved =
      registered({known(), found(), traits(1, ""), no_inventory(1), stale(), found(),
                  traits(2, kAll), no_inventory(2), made(), stale(), found(), traits(3, kAll),
                  inventory(3, 0), inventory(3, 0), allocations(3)});
  ASSERT_TRUE(moved.result.ok()) << moved.result.error().what;
  EXPECT_FALSE(moved.result->view.burned());
  const auto slower =
      registered({known(), found(), traits(1, ""), no_inventory(1), overtaken(), found(),
                  traits(2, kAll), inventory(2, 1), inventory(2, 1), allocations(2)});
  ASSERT_TRUE(slower.result.ok()) << slower.result.error().what;
  EXPECT_TRUE(slower.result->view.burned());
}

TEST(RegisterDevice, ReadsAgainABoundedNumberOfTimes) {
  Options options;
  options.rereads_max = 1;
  const auto named = play(RegisterDevice(options, device()),
                          {known(), nobody(), made(), duplicate(), nobody(), made(), duplicate()});
  EXPECT_EQ(named.result.error().code, Errc::refused);
  const auto moved = play(RegisterDevice(options, device()),
                          {known(), found(), traits(1, kAll), no_inventory(1), made(), stale(),
                           found(), traits(2, kAll), no_inventory(2), stale()});
  EXPECT_EQ(moved.result.error().code, Errc::conflict);
  const auto taken = play(RegisterDevice(options, device()),
                          {known(), found(), traits(1, ""), no_inventory(1), made(), traits(2, ""),
                           no_inventory(2), made(), traits(3, ""), no_inventory(3)});
  EXPECT_EQ(taken.result.error().code, Errc::conflict);
  EXPECT_THAT(taken.asked, Each(Not(HasSubstr("inventories {"))));
}

TEST(RegisterDevice, AWriteWithoutAnswerIsUnknown) {
  const Error lost{Errc::unknown, "x"};
  EXPECT_EQ(registered({known(), nobody(), made(), lost}).result.error().code, Errc::unknown);
  EXPECT_EQ(registered({known(), nobody(), answer(503, "")}).result.error().code, Errc::unknown);
  const auto broken =
      registered({known(), found(), traits(1, ""), no_inventory(1), answer(500, "")});
  EXPECT_EQ(broken.result.error().code, Errc::unknown);
  const auto unread = registered({known(), found(), traits(7, kAll), no_inventory(7), made(),
                                  inventory(8, 1), Error{Errc::unavailable, "x"}});
  EXPECT_EQ(unread.result.error().code, Errc::unknown);
  // And what a read shows counts, not what was answered.
  const auto freed = registered({known(), found(), traits(7, kAll), no_inventory(7), made(),
                                 inventory(8, 1), inventory(9, 0), allocations(9)});
  EXPECT_EQ(freed.result.error().code, Errc::conflict);
}

TEST(RegisterDevice, SendsNothingThatCannotBeRight) {
  const Options options;
  const auto refused = [&](auto change) {
    NewDevice bad = device();
    change(bad);
    const auto played = play(RegisterDevice(options, bad), {});
    return played.asked.empty() && played.result.error().code == Errc::invalid;
  };
  EXPECT_TRUE(refused([](NewDevice& d) { d.uuid = "x/../y"; }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.parent_uuid.clear(); }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.name.clear(); }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.name.assign(201, 'n'); }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.resource_class = "CUSTOM_NVME_8086/x"; }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.traits = {"HW_NVME_CES"}; }));
  EXPECT_TRUE(refused([](NewDevice& d) { d.traits.emplace_back("a,b"); }));
}

TEST(RegisterDevice, PassesErrorsOn) {
  EXPECT_EQ(registered({Error{Errc::unavailable, "x"}}).result.error().code, Errc::unavailable);
  EXPECT_EQ(registered({known(), answer(200, "<html>")}).result.error().code, Errc::invalid);
  EXPECT_EQ(registered({known(), found(), answer(403, "")}).result.error().code, Errc::refused);
  EXPECT_EQ(registered({answer(200, R"({"traits": [1]})")}).result.error().code, Errc::invalid);
}

}  // namespace
}  // namespace reclaim::placement
