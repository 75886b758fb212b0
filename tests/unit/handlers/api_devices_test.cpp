// The Cyborg specification's device calls ("REST API impact"), rule by rule.
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using testing::HasSubstr;
using testing::Not;

class ApiDevicesTest : public ApiTest {
 protected:
  // The two devices of the specification's examples, and one that is no drive.
  void examples() {
    available = drive("compute-1", "0000:01:00.0", Stage::available).uuid;
    Record& broken = drive("compute-2", "0000:02:00.0", Stage::error, "144d", "a808");
    broken.created_at = *from_iso8601("2026-05-15T14:00:00Z");
    broken.updated_at = *from_iso8601("2026-05-15T16:30:15Z");
    broken.last_error = "sanitize failed: status 0x1D";
    error = broken.uuid;
    Record& card = drive("compute-2", "0000:25:00.4", Stage::allocated, "10de", "25b6");
    card.type = "GPU";
    card.cyborg_status = "maintaining";
    gpu = card.uuid;
  }

  static std::vector<std::string> uuids(const Response& response) {
    std::vector<std::string> found;
    const auto parsed = json::parse(response.body, 1U << 20U);
    if (!parsed) return {"no JSON"};
    for (const auto& device : (*parsed)["devices"].GetArray()) {
      found.emplace_back(device["uuid"].GetString());
    }
    return found;
  }

  std::string available, error, gpu;
};

TEST_F(ApiDevicesTest, OlderMicroversionsAreByteForByteWithoutTheNewFields) {
  examples();
  for (const std::string version : {"2.0", "2.3", "2.4", "2.5"}) {
    const Response list = get("/v2/devices", version);
    EXPECT_EQ(list.status, 200);
    expect_golden("devices-" + version + ".json", list.body);
    const Response one = get("/v2/devices/" + error, version);
    EXPECT_EQ(one.status, 200);
    expect_golden("device-" + version + ".json", one.body);
    EXPECT_EQ(version >= "2.3", one.body.find("\"status\"") != std::string::npos) << version;
    EXPECT_EQ(version >= "2.5", one.body.find("device_state") != std::string::npos) << version;
  }
}

}  // namespace
}  // namespace reclaim::api
