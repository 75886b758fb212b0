// What Cyborg's lists mean for one host, with the samples of its own repository.
#include "placement/cyborg/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/source_path.h"
#include "tests/unit/placement/fake_http.h"

namespace reclaim::placement {
namespace {

using ::testing::HasSubstr;

constexpr CyborgLimits kLimits{1 << 20, 100};
constexpr WallMs kNow{1'700'000'000'000};
constexpr const char* kUuid = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";

std::string sample(const std::string& name) {
  std::ifstream file(source_path("tests/data/cyborg-samples/") + name + "-resp.json");
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A list of one ARQ of host "h" with these members changed.
std::string arq_list(const std::string& members) {
  return R"({"arqs": [{"uuid": ")" + std::string(kUuid) + R"(", )" + members + "}]}";
}
std::string bound(const std::string& handle) {
  return arq_list(
      R"("state": "Bound", "hostname": "h", "device_rp_uuid": null, "attach_handle_type": "PCI",
         "attach_handle_info": )" +
      handle);
}
constexpr const char* kHandle = R"("domain": "0000", "bus": "0c", "device": "01", "function": "2")";

Result<std::vector<Arq>> arqs(const std::string& body, const std::string& host = "h") {
  return parse_arqs(body, {host, {"h.node"}}, kNow, kLimits);
}

TEST(CyborgArqs, ReadsTheSampleOfItsOwnHost) {
  const auto read = arqs(sample("accelerator_requests-list"), "ubuntu-80");
  ASSERT_TRUE(read.ok()) << read.error().what;
  ASSERT_EQ(read->size(), 1U);
  const Arq& arq = read->front();
  EXPECT_EQ(arq.uuid, kUuid);
  EXPECT_EQ(arq.state, ArqState::bound);
  EXPECT_EQ(arq.project_id, "4e01a8e0-52b4-42e4-be67-20dd82f0ef77");
  EXPECT_EQ(arq.device_profile_name, "temp-dp1");
  EXPECT_EQ(arq.device_rp_uuid, "03631f82-20a9-3f67-a29d-dc1abe4041bf");
  EXPECT_EQ(arq.instance_uuid, "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc");
  EXPECT_EQ(arq.attach_handle_type, "TEST_PCI");
  EXPECT_EQ(arq.attach_handle_uuid, "c5e65f39-2647-4e93-b8b3-26e428409042");
  EXPECT_EQ(to_string(*arq.address), "0000:0c:00.0");
  EXPECT_FALSE(arq.managed.has_value());
  EXPECT_EQ(arq.other_info, "");
  EXPECT_EQ(arq.updated_at, "2019-10-25T08:27:46+00:00");
  EXPECT_EQ(arq.heard_at, kNow);
  EXPECT_TRUE(arqs(sample("accelerator_requests-list"), "ubuntu")->empty());
}

TEST(CyborgArqs, ManagedIsAFlexibleBooleanAndAbsentMeansNotTold) {
  const auto managed = [](const std::string& value) {
    return arqs(bound("{" + std::string(kHandle) + R"(, "managed": )" + value + "}"));
  };
  EXPECT_EQ(managed("false")->front().managed, false);
  EXPECT_EQ(managed("\"No\"")->front().managed, false);
  EXPECT_EQ(managed("\"true\"")->front().managed, true);
  EXPECT_FALSE(managed("null")->front().managed.has_value());
  EXPECT_THAT(managed("\"maybe\"").error().what, HasSubstr("'managed'"));
  EXPECT_THAT(managed("1").error().what, HasSubstr("'managed'"));
}

TEST(CyborgArqs, KeepsWhatADriverAddsToTheHandle) {
  const auto read =
      arqs(bound("{" + std::string(kHandle) + R"(, "asked_type": "nvidia-35", "x": 1})"));
  EXPECT_EQ(read->front().other_info, R"({"asked_type":"nvidia-35"})");
  EXPECT_EQ(to_string(*read->front().address), "0000:0c:01.2");
}

TEST(CyborgArqs, AreOfTheHostByAnyOfItsNames) {
  const auto of = [](const std::string& name) {
    const auto read = arqs(arq_list(R"("state": "BindStarted", "hostname": ")" + name + "\""));
    return read.ok() ? read->size() : 99;
  };
  EXPECT_EQ(of("H"), 1U);
  EXPECT_EQ(of("h.node"), 1U);
  EXPECT_EQ(of("H.Node"), 1U);
  EXPECT_EQ(of("h.nod"), 0U);
}

// An unbinding that fails half way wipes the host: only the UUID tells which ARQ it was.
TEST(CyborgArqs, TakesWhatHoldsADeviceAndNamesNoHost) {
  const auto of_state = [](const std::string& state) {
    return arqs(arq_list(R"("hostname": null, "state": ")" + state + "\""));
  };
  for (const char* holds : {"UnbindFailed", "Deleting", "BindStarted", "Bound"}) {
    const auto read = of_state(holds);
    if (std::string(holds) == "Bound") {
      EXPECT_THAT(read.error().what, HasSubstr("neither a PCI address nor a provider"));
    } else {
      ASSERT_TRUE(read.ok()) << read.error().what;
      EXPECT_EQ(read->size(), 1U) << holds;
    }
  }
  for (const char* free : {"Initial", "Unbound", "BindFailed"}) {
    EXPECT_TRUE(of_state(free)->empty()) << free;
  }
}

TEST(CyborgArqs, OneThatCannotBeReadFailsThemAll) {
  const auto why = [](const std::string& members) {
    const auto read = arqs(arq_list(members));
    EXPECT_FALSE(read.ok()) << members;
    return read.ok() ? std::string() : read.error().what;
  };
  EXPECT_THAT(why(R"("hostname": "h", "state": "Sleeping")"),
              AllOf(HasSubstr("'arqs'[0]"), HasSubstr(kUuid), HasSubstr("Sleeping")));
  EXPECT_THAT(why(R"("hostname": "h")"), HasSubstr("'state'"));
  EXPECT_THAT(why(R"("hostname": 7, "state": "Bound")"), HasSubstr("'hostname'"));
  EXPECT_THAT(why(R"("hostname": "h", "state": "Bound", "attach_handle_info": {"domain": "0"})"),
              HasSubstr("'bus'"));
  EXPECT_THAT(why(R"("hostname": "h", "state": "Bound", "attach_handle_info": [])"),
              HasSubstr("'attach_handle_info'"));
  EXPECT_THAT(why(R"("hostname": "h", "state": "Bound", "device_rp_uuid": "x")"),
              HasSubstr("'device_rp_uuid' is 'x', not a UUID"));
  EXPECT_THAT(why(R"("hostname": "h", "state": "Bound", "attach_handle_info":
                     {"domain": "0000", "bus": "zz", "device": "00", "function": "0"})"),
              HasSubstr("'bus' is 'zz'"));
  EXPECT_THAT(
      why(R"("hostname": "h", "state": "Bound", "project_id": ")" + std::string(256, 'x') + "\""),
      HasSubstr("over the limit of 255"));
  EXPECT_THAT(arqs(R"({"arqs": [{"hostname": "h", "state": "Bound"}]})").error().what,
              HasSubstr("'uuid' is missing"));
  EXPECT_THAT(arqs(R"({"arqs": [7]})").error().what, HasSubstr("not an object"));
}

TEST(CyborgArqs, WhatIsWrongOnAnotherHostIsNoTroubleHere) {
  EXPECT_TRUE(arqs(arq_list(R"("hostname": "other", "state": "Sleeping")"))->empty());
}

TEST(CyborgArqs, NoListNoAnswer) {
  EXPECT_THAT(arqs(R"({"devices": []})").error().what, HasSubstr("'arqs': a list is needed"));
  EXPECT_THAT(arqs("<html>").error().what, HasSubstr("Cyborg's answer"));
  EXPECT_EQ(
      parse_arqs(sample("accelerator_requests-list"), {"h", {}}, kNow, {1 << 20, 1}).error().code,
      Errc::limit);
  EXPECT_FALSE(parse_arqs(sample("accelerator_requests-list"), {"h", {}}, kNow, {100, 100}).ok());
}

TEST(CyborgDevices, ReadsTheSample) {
  const auto read = parse_devices(sample("devices-list"), "computenode", false, kLimits);
  ASSERT_TRUE(read.ok()) << read.error().what;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().uuid, "359c0990-0258-44fd-8b05-fc510ac3d022");
  EXPECT_EQ(read->front().type, "FPGA");
  EXPECT_EQ(read->front().status, "");
  EXPECT_FALSE(read->front().address.has_value());
  EXPECT_TRUE(parse_devices(sample("devices-list"), "another", false, kLimits)->empty());
}

TEST(CyborgDevices, AStatusThatIsNotToldOrNotKnownIsAnError) {
  EXPECT_THAT(parse_devices(sample("devices-list"), "computenode", true, kLimits).error().what,
              HasSubstr("'status' is missing"));
  const auto of_status = [](const std::string& status) {
    return parse_devices(R"({"devices": [{"uuid": ")" + std::string(kUuid) +
                             R"(", "hostname": "h", "status": )" + status + "}]}",
                         "h", true, kLimits);
  };
  EXPECT_EQ(of_status("\"maintaining\"")->front().status, "maintaining");
  EXPECT_THAT(of_status("\"broken\"").error().what, HasSubstr("'broken'"));
  EXPECT_THAT(of_status("3").error().what, HasSubstr("'status'"));
}

// A row that Cyborg's migration has not reached: its ARQs and Placement say what it is.
TEST(CyborgDevices, OneWhoseStateIsNullIsReadAsAnyOther) {
  for (const std::string state : {"null", "\"available\"", "\"no such state\""}) {
    const auto read = parse_devices(R"({"devices": [{"uuid": ")" + std::string(kUuid) +
                                        R"(", "hostname": "h", "status": "enabled", )" +
                                        R"("device_state": )" + state + "}]}",
                                    "h", true, kLimits);
    ASSERT_TRUE(read.ok()) << state << read.error().what;
    ASSERT_EQ(read->size(), 1U) << state;
    EXPECT_EQ(read->front().uuid, kUuid) << state;
  }
}

// Whatever the database takes for the same host: a device that is disabled must not be passed over.
TEST(CyborgDevices, AreOfTheHostInAnyCaseOfLetters) {
  const auto read = parse_devices(sample("devices-list"), "ComputeNode", false, kLimits);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size(), 1U);
}

TEST(CyborgDevices, ABoardsInfoIsJsonOrPythonOrAnything) {
  const auto address = [](const char* text) {
    const auto found = board_address(text);
    return found ? to_string(*found) : std::string();
  };
  EXPECT_EQ(address(R"({"product_id": "0010", "pci_address": "0000:C1:00.0"})"), "0000:c1:00.0");
  EXPECT_EQ(address("{'address': '0000:c1:00.1', 'controller': None}"), "0000:c1:00.1");
  EXPECT_EQ(address("{'device_id': '0xabcd', 'class': 'Fake class'}"), "");
  EXPECT_EQ(address(R"({"address": "slot 7"})"), "");
  EXPECT_EQ(address("miss_std_info"), "");
  EXPECT_EQ(address(""), "");
  EXPECT_EQ(address("[1]"), "");
}

std::string deployable(const std::string& name, const std::string& rest) {
  return R"({"deployables": [{"uuid": ")" + std::string(kUuid) + R"(", "name": ")" + name +
         R"(", "device_id": 4, )" + rest + "}]}";
}

TEST(CyborgDeployables, AreOfTheHostWhoseNameTheyBear) {
  const auto count = [](const std::string& name, const std::string& host) {
    const auto read = parse_deployables(deployable(name, R"("rp_uuid": null)"), host, kLimits);
    EXPECT_TRUE(read.ok());
    return read.ok() ? read->size() : 0;
  };
  EXPECT_EQ(count("h_0000:c1:00.0", "h"), 1U);
  EXPECT_EQ(count("H_0000:C1:00.0", "h"), 1U);
  EXPECT_EQ(count("h_1_0000:c1:00.0", "h_1"), 1U);
  EXPECT_EQ(count("h_1_0000:c1:00.0", "h"), 0U);
  EXPECT_EQ(count("h_0000:c1:00.0", "h2"), 0U);
  EXPECT_EQ(count("h", "h"), 0U);
  EXPECT_EQ(count("h_FakeDevice", "h"), 0U);
  EXPECT_TRUE(parse_deployables(sample("deployables-list"), "computenode", kLimits)->empty());
  const auto read = parse_deployables(
      deployable("h_0000:C1:00.0", R"("rp_uuid": "853f07a6-19de-3dd6-b9f6-6c782daa3f7b")"), "h",
      kLimits);
  EXPECT_EQ(to_string(read->front().address), "0000:c1:00.0");
  EXPECT_EQ(read->front().provider, "853f07a6-19de-3dd6-b9f6-6c782daa3f7b");
  EXPECT_EQ(read->front().device_id, 4);
  EXPECT_THAT(parse_deployables(deployable("h_0000:c1:00.0", R"("rp_uuid": "x")"), "h", kLimits)
                  .error()
                  .what,
              HasSubstr("'rp_uuid'"));
}

// Connecting.

DeviceAnswer device(const std::string& uuid, const std::string& status,
                    const std::string& address = "") {
  DeviceAnswer made{uuid, "SSD", "h", status, std::nullopt};
  if (!address.empty()) made.address = *parse_pci_address(address);
  return made;
}
DeployableAnswer deployed(const std::string& address, std::int64_t device_id,
                          const std::string& device_uuid = "") {
  return {"rp-" + address, device_uuid, device_id, *parse_pci_address(address)};
}
std::string told(const std::vector<CyborgDevice>& devices) {
  std::string all;
  for (const CyborgDevice& each : devices) {
    all += each.uuid + "@" + (each.address ? to_string(*each.address) : "") + "=" + each.status +
           (each.provider.empty() ? "" : "+") + " ";
  }
  return all;
}

TEST(ConnectDevices, ByAddressOrByUuidOrWhereThereIsOneOnly) {
  EXPECT_EQ(told(connect_devices({device("a", "maintaining", "0000:01:00.0"),
                                  device("b", "enabled", "0000:02:00.0")},
                                 {deployed("0000:02:00.0", 7), deployed("0000:01:00.0", 9)})),
            "b@0000:02:00.0=enabled+ a@0000:01:00.0=maintaining+ ");
  EXPECT_EQ(
      told(connect_devices({device("a", "maintaining"), device("b", "enabled")},
                           {deployed("0000:02:00.0", 7, "b"), deployed("0000:01:00.0", 9, "a")})),
      "b@0000:02:00.0=enabled+ a@0000:01:00.0=maintaining+ ");
  EXPECT_EQ(told(connect_devices({device("a", "maintaining")}, {deployed("0000:01:00.0", 9)})),
            "a@0000:01:00.0=maintaining+ ");
  EXPECT_EQ(
      told(connect_devices({device("a", "maintaining"), device("b", "enabled", "0000:02:00.0")},
                           {deployed("0000:02:00.0", 7), deployed("0000:01:00.0", 9)})),
      "b@0000:02:00.0=enabled+ a@0000:01:00.0=maintaining+ ");
}

TEST(ConnectDevices, InDoubtTheWorstStatusStandsForAll) {
  EXPECT_EQ(told(connect_devices({device("a", "enabled"), device("b", "maintaining")},
                                 {deployed("0000:01:00.0", 1), deployed("0000:02:00.0", 2)})),
            "a@=enabled b@=maintaining @0000:01:00.0=maintaining+ @0000:02:00.0=maintaining+ ");
  EXPECT_EQ(told(connect_devices({device("a", "enabled"), device("b", "enabled")},
                                 {deployed("0000:01:00.0", 1), deployed("0000:02:00.0", 2)})),
            "a@=enabled b@=enabled @0000:01:00.0=enabled+ @0000:02:00.0=enabled+ ");
}

TEST(ConnectDevices, WhatHasNoCounterpartIsToldAllTheSame) {
  EXPECT_EQ(told(connect_devices({}, {deployed("0000:01:00.0", 1)})), "@0000:01:00.0=+ ");
  EXPECT_EQ(told(connect_devices({device("a", "enabled", "0000:01:00.0")}, {})),
            "a@0000:01:00.0=enabled ");
  EXPECT_EQ(told(connect_devices({device("a", "enabled")}, {})), "a@=enabled ");
}

}  // namespace
}  // namespace reclaim::placement
