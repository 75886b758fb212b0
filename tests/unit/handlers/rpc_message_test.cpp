// Requests to a cyborg-agent: which are served, what a Device looks like, and what a caller is
// told.
#include "handlers/bus/rpc_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/base/json.h"
#include "tests/unit/handlers/kick_messages.h"

namespace reclaim {
namespace {

using reclaim::testing::enveloped;
using ::testing::HasSubstr;
using ::testing::Not;

std::string device(std::string_view data, std::string_view name = "Device",
                   std::string_view version = "1.3") {
  return R"({"cyborg_object.name": ")" + std::string(name) +
         R"(", "cyborg_object.namespace": "cyborg", "cyborg_object.version": ")" +
         std::string(version) + R"(", "cyborg_object.data": )" + std::string(data) +
         R"(, "cyborg_object.changes": ["device_state"]})";
}

const std::string kData =
    R"({"id": 3, "uuid": "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e", "type": "NVME", )"
    R"("vendor": "8086", "model": "0001", "hostname": "cmp1", "status": "enabled", )"
    R"("device_state": "error", "vendor_board_info": null, )"
    R"("std_board_info": "{\"product_id\": \"0001\", \"pci_address\": \"0000:0C:00.0\"}"})";

std::string request(std::string_view version, std::string_view args,
                    std::string_view method = "cleanup_device", std::string_view more = "") {
  return R"({"method": ")" + std::string(method) + R"(", "args": )" + std::string(args) +
         R"(, "version": ")" + std::string(version) + R"(", "_unique_id": "0f3c")" +
         std::string(more) +
         R"(, "_context_request_id": "req-1", "_context_auth_token": "gAAAAABsecret"})";
}

std::string args_of(std::string_view device_json) {
  return R"({"device": )" + std::string(device_json) + "}";
}

RpcDecision decide(const std::string& message) {
  const RpcDecision bare = decide_rpc(message, "cmp1");
  RpcDecision inside = decide_rpc(enveloped(message), "cmp1");
  EXPECT_EQ(bare.verdict, inside.verdict) << message;
  EXPECT_THAT(inside.why, Not(HasSubstr("secret")));
  return inside;
}

TEST(RpcMessage, CleanupDeviceIsAKickForItsAddress) {
  const RpcDecision decision = decide(request("1.1", args_of(device(kData))));
  EXPECT_EQ(decision.verdict, Verdict::kick) << decision.why;
  EXPECT_EQ(decision.method, "cleanup_device");
  EXPECT_EQ(decision.request_id, "req-1");
  EXPECT_FALSE(decision.is_call());
  EXPECT_FALSE(decision.failure);
  EXPECT_EQ(decision.device.uuid, "7c8a5f3b-2d4e-4a9c-b1e7-9f8d3c2a1b0e");
  EXPECT_EQ(decision.device.type, "NVME");
  EXPECT_EQ(decision.device.hostname, "cmp1");
  EXPECT_EQ(decision.device.device_state, "error");
  ASSERT_TRUE(decision.device.address);
  EXPECT_EQ(to_string(*decision.device.address), "0000:0c:00.0");
}

TEST(RpcMessage, TheBoardInfoMayBePythonsOrAbsent) {
  const auto address = [](std::string_view board) {
    const RpcDecision decision = decide(request(
        "1.1", args_of(device(R"({"uuid": "u", "std_board_info": )" + std::string(board) + "}"))));
    EXPECT_EQ(decision.verdict, Verdict::kick) << board;
    return decision.device.address ? to_string(*decision.device.address) : "none";
  };
  EXPECT_EQ(address(R"("{'pci_address': '0000:0c:00.0', 'controller': None}")"), "0000:0c:00.0");
  EXPECT_EQ(address(R"({"pci_address": "0000:0c:00.0"})"), "0000:0c:00.0");
  EXPECT_EQ(address(R"("{\"product_id\": \"0001\"}")"), "none");
  EXPECT_EQ(address(R"("{\"pci_address\": \"nowhere\"}")"), "none");
  EXPECT_EQ(address("null"), "none");
  EXPECT_EQ(address(R"("garbage")"), "none");
}

TEST(RpcMessage, VersionsAreServedAsOsloMessagingDoes) {
  for (const char* version : {"1.1", "1.0", "1.0.9", "1.1.0"}) {
    EXPECT_TRUE(rpc_version_is_served(version)) << version;
  }
  for (const char* version : {"1.2", "2.0", "0.1", "1.1.1", "", "1", "1.", ".1", "1.x", "1.1.1.1",
                              "-1.1", "1.-1", "1,1", "99999999999999999999.1"}) {
    EXPECT_FALSE(rpc_version_is_served(version)) << version;
  }
  const RpcDecision newer = decide(request("1.2", args_of(device(kData))));
  EXPECT_EQ(newer.verdict, Verdict::ignore);
  ASSERT_TRUE(newer.failure);
  EXPECT_EQ(newer.failure->module, "oslo_messaging.rpc.dispatcher");
  EXPECT_EQ(newer.failure->name, "UnsupportedVersion");
  EXPECT_THAT(newer.failure->message, HasSubstr("RPC version 1.2. Attempted method: cleanup"));
  // Without a version it is 1.0, as oslo.messaging has it.
  EXPECT_EQ(
      decide(R"({"method": "cleanup_device", "args": )" + args_of(device(kData)) + "}").verdict,
      Verdict::kick);
  const RpcDecision elsewhere =
      decide(request("1.1", args_of(device(kData)), "cleanup_device", R"(, "namespace": "x")"));
  EXPECT_EQ(elsewhere.verdict, Verdict::ignore);
  EXPECT_EQ(elsewhere.failure->name, "UnsupportedVersion");
  EXPECT_EQ(
      decide(request("1.1", args_of(device(kData)), "cleanup_device", R"(, "namespace": null)"))
          .verdict,
      Verdict::kick);
}

TEST(RpcMessage, OtherMethodsAreTheAgents) {
  for (const char* method :
       {"fpga_program", "create_vgpu_mdev", "_private", "oslo_rpc_server_ping"}) {
    const RpcDecision decision = decide(request("1.0", "{}", method));
    EXPECT_EQ(decision.verdict, Verdict::ignore) << method;
    ASSERT_TRUE(decision.failure);
    EXPECT_EQ(decision.failure->name, "NoSuchMethod");
    EXPECT_THAT(decision.failure->message, HasSubstr(method));
  }
}

TEST(RpcMessage, TheDeviceIsTakenByNameAndVersion) {
  const auto failure = [](std::string_view args) {
    const RpcDecision decision = decide(request("1.1", args));
    EXPECT_EQ(decision.verdict, Verdict::ignore) << args;
    return decision.failure ? decision.failure->name + ": " + decision.failure->message : "none";
  };
  EXPECT_THAT(failure("{}"), HasSubstr("TypeError: cleanup_device() missing"));
  EXPECT_THAT(failure(args_of(device(kData, "Deployable"))),
              HasSubstr("UnsupportedObjectError: Unsupported object type Deployable"));
  EXPECT_THAT(failure(args_of(kData)), HasSubstr("UnsupportedObjectError"));
  EXPECT_THAT(failure(args_of("7")), HasSubstr("UnsupportedObjectError"));
  EXPECT_THAT(failure(args_of(device("[]"))), HasSubstr("UnsupportedObjectError"));
  EXPECT_THAT(failure(args_of(device(kData, "Device", "2.0"))),
              HasSubstr("IncompatibleObjectVersion: Version 2.0"));
  EXPECT_THAT(failure(args_of(device(R"({"uuid": 7})"))),
              HasSubstr("ValueError: the Device's uuid is not text"));
  // A device of another host's in this host's queue is nobody's order to this host.
  EXPECT_THAT(failure(args_of(device(R"({"hostname": "cmp2"})"))), HasSubstr("of host 'cmp2'"));
  EXPECT_EQ(decide(request("1.1", args_of(device(R"({"hostname": "CMP1"})")))).verdict,
            Verdict::kick);
}

TEST(RpcMessage, ACallNamesWhereItsAnswerGoes) {
  const RpcDecision call = decide(request("1.1", args_of(device(kData)), "cleanup_device",
                                          R"(, "_msg_id": "m1", "_reply_q": "reply_1")"));
  EXPECT_EQ(call.verdict, Verdict::kick);
  EXPECT_TRUE(call.is_call());
  EXPECT_EQ(call.msg_id, "m1");
  EXPECT_EQ(call.reply_queue, "reply_1");
  EXPECT_FALSE(decide(request("1.1", args_of(device(kData)), "cleanup_device",
                              R"(, "_msg_id": null, "_reply_q": null)"))
                   .is_call());
}

TEST(RpcMessage, WhatNobodyCanReadIsRejected) {
  const auto why = [](const std::string& body) {
    const RpcDecision decision = decide_rpc(body, "cmp1");
    EXPECT_EQ(decision.verdict, Verdict::reject) << body.substr(0, 200);
    return decision.why;
  };
  EXPECT_THAT(why(""), HasSubstr("not JSON"));
  EXPECT_THAT(why("[]"), HasSubstr("a JSON object is needed"));
  EXPECT_THAT(why(enveloped("[]")), HasSubstr("the message is not a JSON object"));
  EXPECT_THAT(why(enveloped("{}")), HasSubstr("method is absent"));
  EXPECT_THAT(why(enveloped(R"({"method": 7})")), HasSubstr("method is not text"));
  EXPECT_THAT(why(enveloped(R"({"method": "x", "args": []})")), HasSubstr("args is not an object"));
  EXPECT_THAT(why(enveloped(R"({"method": "x", "version": 1.1})")),
              HasSubstr("version is not text"));
  EXPECT_THAT(why(R"({"oslo.version": "3.0", "oslo.message": "{}"})"), HasSubstr("'3.0'"));
  EXPECT_THAT(why(std::string(kRpcBodyBytesMax + 1, ' ')), HasSubstr("over the limit"));
}

// The form that amqpdriver's reply waiter reads.
TEST(RpcMessage, RepliesAreOsloMessagings) {
  const auto inner = [](const std::string& body) {
    const auto outer = json::parse(body, 10'000);
    EXPECT_EQ(*json::get_string(*outer, "oslo.version"), "2.0");
    return *json::get_string(*outer, "oslo.message");
  };
  EXPECT_EQ(inner(rpc_reply("m1", "u1", std::nullopt)),
            R"({"result":null,"failure":null,"ending":true,"_msg_id":"m1","_unique_id":"u1"})");
  const auto failed = json::parse(
      inner(rpc_reply("m1", "u1", RpcFailure{"builtins", "ValueError", "no \"x\""})), 10'000);
  const auto remote = json::parse(*json::get_string(*failed, "failure"), 10'000);
  EXPECT_EQ(json::to_text(*remote),
            R"({"class":"ValueError","module":"builtins","message":"no \"x\"",)"
            R"("tb":["answered by reclaim, in the place of a cyborg-agent"],)"
            R"("args":["no \"x\""],"kwargs":{}})");
}

}  // namespace
}  // namespace reclaim
