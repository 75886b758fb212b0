// `GET /v2/devices` in pages and sorted: limit, marker, sort_key, sort_dir, and the link to the
// next page.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Page {
  std::vector<std::string> uuids;
  std::string next;  // the target of the next page; empty: none
};

class ApiPagesTest : public ApiTest {
 protected:
  // Five on two hosts; d[0] to d[4] in the order of hosts and addresses.
  void five() {
    const char* places[][2] = {{"compute-1", "0000:01:00.0"},
                               {"compute-1", "0000:02:00.0"},
                               {"compute-2", "0000:01:00.0"},
                               {"compute-2", "0000:02:00.0"},
                               {"compute-2", "0000:03:00.0"}};
    const Stage stages[] = {Stage::error, Stage::available, Stage::error, Stage::allocated,
                            Stage::available};
    for (int i = 0; i < 5; ++i) {
      Record& record = drive(places[i][0], places[i][1], stages[i], i < 2 ? "144d" : "8086");
      record.updated_at = WallMs{1'780'000'000'000 - i * 1'000};
      d.push_back(record.uuid);
    }
  }
  Page page(const std::string& query) {
    const Response response = get("/v2/devices" + query, "2.6");
    EXPECT_EQ(response.status, 200) << query << fault_of(response);
    return page_of(response);
  }
  static Page page_of(const Response& response) {
    Page page;
    const auto parsed = json::parse(response.body, 1U << 22U);
    EXPECT_TRUE(parsed.ok()) << response.body;
    if (!parsed) return page;
    for (const auto& device : (*parsed)["devices"].GetArray()) {
      page.uuids.emplace_back(device["uuid"].GetString());
    }
    const rapidjson::Value* links = json::find(*parsed, "devices_links");
    if (links == nullptr) return page;
    EXPECT_EQ(json::maybe_string((*links)[0], "rel").value_or(""), "next");
    const std::string href = json::maybe_string((*links)[0], "href").value_or("");
    const std::string base = "http://reclaim:6667/v2/devices";
    EXPECT_EQ(href.rfind(base, 0), 0U) << href;
    page.next = href.substr(std::min(base.size(), href.size()));
    return page;
  }
  std::vector<std::string> all_pages(const std::string& query) {
    std::vector<std::string> uuids;
    std::string next = query;
    for (int pages = 0; pages < 20; ++pages) {
      const Page one = page(next);
      uuids.insert(uuids.end(), one.uuids.begin(), one.uuids.end());
      next = one.next;
      if (next.empty()) break;
    }
    return uuids;
  }
  std::string error_of(const std::string& query, const std::string& version = "2.6") {
    const Response response = get("/v2/devices" + query, version);
    EXPECT_EQ(response.status, 400) << query;
    return fault_of(response);
  }

  std::vector<std::string> d;
};

TEST_F(ApiPagesTest, APageHasItsLinkToTheNextAndTheLastHasNone) {
  five();
  const Page first = page("?limit=2");
  EXPECT_THAT(first.uuids, ElementsAre(d[0], d[1]));
  EXPECT_EQ(first.next, "?limit=2&marker=" + d[1]);
  const Page second = page(first.next);
  EXPECT_THAT(second.uuids, ElementsAre(d[2], d[3]));
  const Page third = page(second.next);
  EXPECT_THAT(third.uuids, ElementsAre(d[4]));
  EXPECT_EQ(third.next, "");
  EXPECT_EQ(page("?limit=5").next, "") << "exactly as many as there are";
  EXPECT_EQ(page("?limit=1000").uuids, d);
  EXPECT_THAT(page("?marker=" + d[3]).uuids, ElementsAre(d[4]));
  EXPECT_THAT(page("?limit=2&marker=" + d[4]).uuids, IsEmpty());
}

TEST_F(ApiPagesTest, TheAnswerIsTheGoldenOne) {
  drive("compute-1", "0000:01:00.0", Stage::available);
  drive("compute-2", "0000:02:00.0", Stage::error);
  expect_golden("devices-page-2.6.json", get("/v2/devices?type=NVME&limit=1", "2.6").body);
}

TEST_F(ApiPagesTest, LinksKeepTheFiltersAndStayBelowTheMountPoint) {
  five();
  drive("a host/&", "0000:01:00.0", Stage::error);
  store.workers.push_back({"a host/&", clock.now().wall, "1.0", "m3", 0});
  drive("a host/&", "0000:02:00.0", Stage::error);
  const Response response =
      get("/accelerator/v2/devices?hostname=a%20host/%26&limit=1&sort_key=uuid&marker=", "2.6");
  EXPECT_THAT(response.body,
              HasSubstr("\"http://reclaim:6667/accelerator/v2/devices?hostname=a%20host%2F%26&"
                        "limit=1&sort_key=uuid&marker="));
}

TEST_F(ApiPagesTest, PagesHaveEveryDeviceOnceInTheOrderOfTheWhole) {
  five();
  for (const std::string key : {"uuid", "type", "vendor", "model", "hostname", "status",
                                "device_state", "created_at", "updated_at"}) {
    for (const std::string dir : {"asc", "desc"}) {
      const std::string query = "?sort_key=" + key + "&sort_dir=" + dir;
      const std::vector<std::string> whole = page(query).uuids;
      EXPECT_EQ(whole.size(), 5U) << query;
      for (int limit = 1; limit <= 5; ++limit) {
        EXPECT_EQ(all_pages(fmt::format("{}&limit={}", query, limit)), whole) << query << limit;
      }
    }
  }
}

TEST_F(ApiPagesTest, SortsByTheKeyThenByPlaceAndBackwards) {
  five();
  EXPECT_THAT(page("?sort_key=device_state").uuids, ElementsAre(d[3], d[1], d[4], d[0], d[2]))
      << "allocated, available, error";
  EXPECT_THAT(page("?sort_key=device_state&sort_dir=desc").uuids,
              ElementsAre(d[2], d[0], d[4], d[1], d[3]));
  EXPECT_THAT(page("?sort_key=updated_at").uuids, ElementsAre(d[4], d[3], d[2], d[1], d[0]));
  EXPECT_THAT(page("?sort_key=vendor&sort_dir=asc").uuids,
              ElementsAre(d[0], d[1], d[2], d[3], d[4]));
  EXPECT_THAT(page("?sort_dir=desc").uuids, ElementsAre(d[4], d[3], d[2], d[1], d[0]));
  std::vector<std::string> by_uuid = d;
  std::sort(by_uuid.begin(), by_uuid.end());
  EXPECT_EQ(page("?sort_key=uuid").uuids, by_uuid);
}

TEST_F(ApiPagesTest, FiltersCountBeforeTheLimit) {
  five();
  const Page first = page("?device_state=error&limit=1");
  EXPECT_THAT(first.uuids, ElementsAre(d[0]));
  EXPECT_THAT(page(first.next).uuids, ElementsAre(d[2]));
  EXPECT_EQ(page(first.next).next, "");
  EXPECT_THAT(all_pages("?hostname=compute-2&type=NVME&limit=2"), ElementsAre(d[2], d[3], d[4]));
}

TEST_F(ApiPagesTest, ABadValueNamesTheParameterAndWhatIsAccepted) {
  five();
  for (const std::string value : {"0", "1001", "-1", "x", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(error_of("?limit=" + value),
                HasSubstr("limit = '" + value + "'; accepted is a number from 1 to 1000"));
  }
  EXPECT_THAT(error_of("?marker=x"), HasSubstr("marker = 'x'; accepted is the UUID of a device"));
  const std::string unknown = "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e";
  EXPECT_THAT(error_of("?marker=" + unknown), HasSubstr("marker = '" + unknown));
  EXPECT_THAT(error_of("?hostname=compute-2&marker=" + d[0]), HasSubstr("marker = '" + d[0]));
  EXPECT_THAT(error_of("?sort_key=serial"),
              HasSubstr("sort_key = 'serial'; accepted are uuid, type, vendor"));
  EXPECT_THAT(error_of("?sort_dir=up"), HasSubstr("sort_dir = 'up'; accepted are asc, desc"));
  EXPECT_THAT(error_of("?limit=1&limit=2"), HasSubstr("limit is given twice"));
  EXPECT_THAT(error_of("?colour=red"), HasSubstr("limit, marker, sort_key, sort_dir"));
}

TEST_F(ApiPagesTest, LowerMicroversionsKnowNoPages) {
  five();
  for (const std::string query : {"?limit=2", "?sort_key=uuid", "?sort_dir=asc"}) {
    EXPECT_THAT(error_of(query, "2.5"), Not(HasSubstr("sort_key,"))) << query;
  }
}

TEST_F(ApiPagesTest, APageOfALargeFleetIsMadeOverManyTurnsOfTheLoop) {
  store.workers.clear();
  for (int i = 0; i < 2'000; ++i) {
    const std::string host = fmt::format("compute-{:04}", i);
    store.workers.push_back({host, clock.now().wall, "1.0", "m", 0});
    d.push_back(drive(host, "0000:01:00.0", Stage::available).uuid);
  }
  const Page last = page("?limit=3&marker=" + d[1990]);
  EXPECT_THAT(last.uuids, ElementsAre(d[1991], d[1992], d[1993]));
  EXPECT_GE(turns.turns, 15) << "the marker is looked for, then the rows";
  turns.turns = 0;
  std::vector<std::string> by_uuid = d;
  std::sort(by_uuid.begin(), by_uuid.end());
  EXPECT_EQ(page("?sort_key=uuid").uuids, by_uuid);
  EXPECT_GE(turns.turns, 15) << "collected, then written";
}

}  // namespace
}  // namespace reclaim::api
