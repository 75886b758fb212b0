// Placement's answers: the recorded ones are read, everything else is refused by name.
#include "placement/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/base/json.h"
#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytesMax = 1 << 20;

std::string body(const char* name) {
  return recorded(std::string("placement-16/") + name).body;
}

TEST(Answers, ReadsTheRecordedRows) {
  const auto rows = parse_rows(body("get-in-tree.http"), kBytesMax, 10);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[0].uuid, "e562c0c8-db6a-4852-a551-284cb71543d2");
  EXPECT_EQ((*rows)[0].name, "compute-2_0000:01:00.0");
  EXPECT_EQ((*rows)[0].parent_uuid, "5d273a28-07c3-4c08-822a-3699d9ea7392");
  EXPECT_EQ((*rows)[2].generation, 7);
  const auto root = parse_rows(body("get-root.http"), kBytesMax, 10);
  EXPECT_EQ(root->front().parent_uuid, "");
  EXPECT_EQ(parse_rows(body("get-in-tree.http"), kBytesMax, 2).error().code, Errc::limit);
  EXPECT_EQ(parse_rows(body("get-in-tree.http"), 100, 10).error().code, Errc::limit);
}

TEST(Answers, ReadsTheRecordedInventoriesAndAllocations) {
  const auto read = parse_inventories(body("get-inventories.http"), kBytesMax);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->generation, 15);
  const Inventory expected{"CUSTOM_PCI_1B36_0010", 1, 1, 1, 1, 1, 1.0};
  EXPECT_THAT(read->inventories, ::testing::ElementsAre(expected));
  const auto none = parse_allocations(body("get-allocations.http"), kBytesMax);
  EXPECT_EQ(none->generation, 15);
  EXPECT_TRUE(none->consumers.empty());
  EXPECT_THAT(parse_allocations(allocations(3, "some-consumer").body, kBytesMax)->consumers,
              ::testing::ElementsAre("some-consumer"));
  EXPECT_EQ(*parse_put_generation(body("put-inventory-ok.http"), kBytesMax), 16);
  EXPECT_FALSE(parse_put_generation("{}", kBytesMax).has_value());
  EXPECT_FALSE(parse_put_generation("<html>", kBytesMax).has_value());
}

TEST(Answers, EchoesEveryFieldOfAnInventory) {
  EXPECT_EQ(inventory_body({"CUSTOM_X", 1, 0, 1, 1, 1, 1.0}, 39),
            R"({"resource_provider_generation":39,"total":1,"reserved":0,"min_unit":1,)"
            R"("max_unit":1,"step_size":1,"allocation_ratio":1.0})");
}

TEST(Answers, NamesTheMemberThatIsWrong) {
  const std::string good = inventories(15, 1).body;
  const auto text_of = [&](const std::string& from, const std::string& to) {
    const auto read = parse_inventories(replaced(answer(200, good), from, to).body, kBytesMax);
    if (read.ok()) return std::string("accepted");
    EXPECT_EQ(read.error().code, Errc::invalid);
    return read.error().what;
  };
  EXPECT_THAT(text_of("\"reserved\": 1", "\"reserved\": \"1\""), HasSubstr("'reserved'"));
  EXPECT_THAT(text_of("\"reserved\": 1,", ""), HasSubstr("'reserved' is absent"));
  EXPECT_THAT(text_of("\"reserved\": 1", "\"reserved\": -1"), HasSubstr("less than zero"));
  EXPECT_THAT(text_of("\"reserved\": 1", "\"reserved\": 1.5"), HasSubstr("'reserved'"));
  EXPECT_THAT(text_of("\"total\": 1", "\"total\": 99999999999999999999"), HasSubstr("'total'"));
  EXPECT_THAT(text_of("\"max_unit\": 1,", ""), HasSubstr("'max_unit'"));
  EXPECT_THAT(text_of("1.0", "null"), HasSubstr("'allocation_ratio'"));
  EXPECT_THAT(text_of("CUSTOM_PCI_1B36_0010", "../../traits"), HasSubstr("not a resource class"));
  EXPECT_THAT(text_of("_generation\": 15", "_generation\": null"),
              HasSubstr("resource_provider_generation"));
  EXPECT_THAT(text_of("\"inventories\": {", "\"inventory\": {"), HasSubstr("'inventories'"));
}

TEST(Answers, RefusesAClassThatIsThereTwice) {
  std::string twice = inventories(1, 1).body;
  const auto at = twice.find("\"CUSTOM");
  const std::string one = twice.substr(at, twice.size() - 2 - at);
  twice.insert(at, one + ", ");
  EXPECT_THAT(parse_inventories(twice, kBytesMax).error().what, HasSubstr("twice"));
}

TEST(Answers, RefusesRowsThatCouldMisleadUs) {
  const HttpResponse good = recorded("placement-16/get-root.http");
  const auto text_of = [&](const std::string& from, const std::string& to) {
    const auto rows = parse_rows(replaced(good, from, to).body, kBytesMax, 10);
    if (rows.ok()) return std::string("accepted");
    EXPECT_EQ(rows.error().code, Errc::invalid);
    return rows.error().what;
  };
  EXPECT_THAT(text_of("\"uuid\": \"5d27", "\"uuid\": \"../x"), HasSubstr("not a UUID"));
  EXPECT_THAT(text_of("\"name\": \"compute-2\"", "\"name\": 5"), HasSubstr("'name'"));
  EXPECT_THAT(text_of("\"name\": \"compute-2\"", "\"name\": \"\""), HasSubstr("'name'"));
  EXPECT_THAT(text_of("\"root_provider_uuid\"", "\"r\""), HasSubstr("root_provider_uuid"));
  EXPECT_THAT(text_of("\"parent_provider_uuid\"", "\"p\""), HasSubstr("parent_provider_uuid"));
  EXPECT_THAT(text_of("\"resource_providers\": [", "\"other\": ["),
              HasSubstr("'resource_providers'"));
}

TEST(Answers, SurvivesGarbage) {
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("null"), std::string("[]"),
        std::string("\"\xff\""), std::string(900'000, '['), std::string("{\"inventories\":")}) {
    EXPECT_FALSE(parse_rows(text, kBytesMax, 10).ok());
    EXPECT_FALSE(parse_inventories(text, kBytesMax).ok());
    EXPECT_FALSE(parse_allocations(text, kBytesMax).ok());
    EXPECT_FALSE(parse_consumer(text, kBytesMax).ok());
  }
}

TEST(Answers, ReadsWhoAConsumerIs) {
  const std::string has = R"({"allocations": {"p": {"resources": {"CUSTOM_X": 1}}}, )";
  const auto told = parse_consumer(
      has + R"("consumer_generation": 1, "project_id": "b7e1", "user_id": "0f3c"})", kBytesMax);
  ASSERT_TRUE(told.ok()) << told.error().what;
  EXPECT_EQ(*told, (Consumer{true, "b7e1", "0f3c"}));
  EXPECT_EQ(*parse_consumer(R"({"allocations": {}})", kBytesMax), Consumer{});
  for (const char* bad : {R"("user_id": "0f3c"})", R"("project_id": "", "user_id": "0f3c"})",
                          R"("project_id": "b\u001b7", "user_id": "0f3c"})",
                          R"("project_id": 17, "user_id": "0f3c"})"}) {
    EXPECT_FALSE(parse_consumer(has + bad, kBytesMax).ok()) << bad;
  }
  EXPECT_FALSE(parse_consumer(R"({"allocations": []})", kBytesMax).ok());
  EXPECT_FALSE(parse_consumer(
                   has + R"("project_id": ")" + std::string(256, 'x') + R"(", "user_id": "0f3c"})",
                   kBytesMax)
                   .ok());
}

}  // namespace
}  // namespace reclaim::placement
