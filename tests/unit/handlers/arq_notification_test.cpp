// Notifications of accelerator requests: which are listened to, what their payloads may look like,
// what is taken of them, and whom they concern.
#include "handlers/arq/notification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "handlers/bus/kick.h"
#include "state/base/json.h"
#include "tests/source_path.h"
#include "tests/unit/handlers/kick_messages.h"

namespace reclaim {
namespace {

using reclaim::testing::enveloped;
using reclaim::testing::message;
using reclaim::testing::versioned_payload;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kUuid = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";

// Members of an ARQ as Cyborg's API shows it; `more` adds some, which win when they come first.
std::string members(std::string_view more = "") {
  return std::string(more) + R"("uuid": "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b", )"
                             R"("state": "Bound", "project_id": "p1", )"
                             R"("device_profile_name": "nvme-dp", "device_profile_group_id": 2, )"
                             R"("hostname": "cmp1", )"
                             R"("device_rp_uuid": "03631f82-20a9-3f67-a29d-dc1abe4041bf", )"
                             R"("instance_uuid": "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc", )"
                             R"("attach_handle_type": "PCI", )"
                             R"("attach_handle_uuid": "c5e65f39-2647-4e93-b8b3-26e428409042", )"
                             R"("attach_handle_info": {"domain": "0000", "bus": "0c", )"
                             R"("device": "00", "function": "0", "managed": false}, )"
                             R"("created_at": "2026-10-25T07:58:23+00:00", "updated_at": null)";
}

std::string flat(std::string_view more = "") {
  return "{" + members(more) + "}";
}

std::string object(std::string_view data, std::string_view version = "1.0",
                   std::string_view ns = "cyborg") {
  const std::string prefix = "\"" + std::string(ns) + "_object.";
  return "{" + prefix + R"(name": "ExtARQPayload", )" + prefix + R"(namespace": "cyborg", )" +
         prefix + R"(version": ")" + std::string(version) + R"(", )" + prefix + R"(data": )" +
         std::string(data) + "}";
}

Decision decide_body(const std::string& body) {
  KickDecider decider;
  const Decision fast = decider.decide_fast(body);
  Decision exact = decider.decide_exact(body);
  EXPECT_EQ(fast.verdict, exact.verdict) << body;
  EXPECT_EQ(fast.arq, exact.arq) << body;
  return exact;
}

Decision decide_arq(std::string_view event_type, std::string_view payload,
                    std::string_view publisher = "cyborg-conductor:ctl1") {
  return decide_body(enveloped(message(event_type, publisher, payload)));
}

Result<Arq> decode(std::string_view payload,
                   std::string_view event_type = "accelerator_request.bind.end") {
  const ArqRow* row = find_arq_row(event_type);
  CHECK(row != nullptr);
  return decode_arq_payload(payload, *row);
}

Result<Arq> decode_info(std::string_view info) {
  return decode(R"({"uuid": "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b", "attach_handle_info": )" +
                std::string(info) + "}");
}

// The number ended the process in RapidJSON's reader, and the message came again and again.
TEST(ArqNotification, ANumberThatTheJsonReaderCannotTakeRejectsTheMessage) {
  const Decision decision = decide_arq("accelerator_request.bind.end",
                                       flat(R"("more": 1.00000000000000000000e-2147483639, )"));
  EXPECT_EQ(decision.verdict, Verdict::reject);
  EXPECT_THAT(decision.why, HasSubstr("exponent"));
}

TEST(ArqNotification, EveryFieldIsTaken) {
  for (const std::string& payload : {flat(), object(flat())}) {
    const Result<Arq> arq = decode(payload);
    ASSERT_TRUE(arq.ok()) << arq.error().what;
    EXPECT_EQ(arq->uuid, kUuid);
    EXPECT_EQ(arq->state, ArqState::bound);
    EXPECT_EQ(arq->project_id, "p1");
    EXPECT_EQ(arq->device_profile_name, "nvme-dp");
    EXPECT_EQ(arq->device_profile_group_id, 2);
    EXPECT_EQ(arq->hostname, "cmp1");
    EXPECT_EQ(arq->device_rp_uuid, "03631f82-20a9-3f67-a29d-dc1abe4041bf");
    EXPECT_EQ(arq->instance_uuid, "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc");
    EXPECT_EQ(arq->attach_handle_type, "PCI");
    EXPECT_EQ(arq->attach_handle_uuid, "c5e65f39-2647-4e93-b8b3-26e428409042");
    ASSERT_TRUE(arq->address);
    EXPECT_EQ(to_string(*arq->address), "0000:0c:00.0");
    EXPECT_EQ(arq->managed, false);
    EXPECT_EQ(arq->other_info, "");
    EXPECT_EQ(arq->created_at, "2026-10-25T07:58:23+00:00");
    EXPECT_EQ(arq->updated_at, "");
    EXPECT_EQ(*decode_arq(encode_arq(*arq)), *arq);
  }
}

TEST(ArqNotification, AnUnboundOneMayNameNothing) {
  const Result<Arq> arq =
      decode(R"({"uuid": "7E88A0A5-6DD9-497E-A7E0-FA2D75728A3B", "state": "Unbound", )"
             R"("hostname": null, "device_rp_uuid": null, "instance_uuid": null, )"
             R"("device_profile_group_id": null, "attach_handle_type": "", )"
             R"("attach_handle_info": {}})");
  ASSERT_TRUE(arq.ok()) << arq.error().what;
  EXPECT_EQ(arq->uuid, kUuid);  // folded, so that one ARQ is one entry of the book
  EXPECT_EQ(arq->state, ArqState::unbound);
  EXPECT_EQ(arq->hostname, "");
  EXPECT_FALSE(arq->address);
  EXPECT_FALSE(arq->managed);
  EXPECT_TRUE(arq->is_managed());
}

TEST(ArqNotification, ManagedIsAFlexibleBoolean) {
  const auto managed = [](const std::string& value) {
    const Result<Arq> arq = decode_info(R"({"managed": )" + value + "}");
    EXPECT_TRUE(arq.ok()) << value;
    return arq.ok() ? arq->managed : std::nullopt;
  };
  for (const char* yes : {"true", "1", R"("true")", R"("Yes")", R"("on")", R"("1")", R"(" t ")"}) {
    EXPECT_EQ(managed(yes), true) << yes;
  }
  for (const char* no : {"false", "0", R"("False")", R"("no")", R"("OFF")", R"("0")", R"("n")"}) {
    EXPECT_EQ(managed(no), false) << no;
  }
  EXPECT_EQ(managed("null"), std::nullopt);
  for (const char* bad : {R"("maybe")", R"("")", "2", "1.0", "[]", "{}"}) {
    const Result<Arq> arq = decode_info(R"({"managed": )" + std::string(bad) + "}");
    ASSERT_FALSE(arq.ok()) << bad;
    EXPECT_THAT(arq.error().what, HasSubstr("'attach_handle_info': 'managed'")) << bad;
  }
}

TEST(ArqNotification, TheAttachHandleMayBeTextAsInTheDatabase) {
  for (const char* info :
       {R"("{\"domain\": \"0000\", \"bus\": \"0c\", \"device\": \"00\", \"function\": \"0\", )"
        R"(\"managed\": \"no\"}")",
        R"("{'domain': '0000', 'bus': '0c', 'device': '00', 'function': '0', 'managed': False}")",
        R"({"cyborg_object.version": "1.0", "cyborg_object.data": {"domain": "0x0000", )"
        R"("bus": "0C", "device": "0x00", "function": "0", "managed": "off"}})"}) {
    const Result<Arq> arq = decode_info(info);
    ASSERT_TRUE(arq.ok()) << info << arq.error().what;
    ASSERT_TRUE(arq->address) << info;
    EXPECT_EQ(to_string(*arq->address), "0000:0c:00.0");
    EXPECT_EQ(arq->managed, false);
  }
  EXPECT_FALSE(decode_info(R"("")")->address);
  EXPECT_THAT(decode_info(R"("0000:0c:00.0")").error().what, HasSubstr("'attach_handle_info'"));
  EXPECT_THAT(decode_info("7").error().what, HasSubstr("it is a number, an object is needed"));
}

TEST(ArqNotification, OtherMembersOfTheAttachHandleAreKept) {
  const Result<Arq> arq =
      decode_info(R"({"domain": "0000", "bus": "0c", "device": "00", "function": "0", )"
                  R"("physical_network": "net1", "asked_type": "nvidia-35"})");
  ASSERT_TRUE(arq.ok());
  EXPECT_EQ(arq->other_info, R"({"physical_network":"net1","asked_type":"nvidia-35"})");
  EXPECT_EQ(*decode_arq(encode_arq(*arq)), *arq);
  // What is too much to keep only informs; the ARQ counts without it.
  const Result<Arq> big = decode_info(R"({"bus": "0c", "device": "00", "function": "0", )"
                                      R"("domain": "0", "x": ")" +
                                      std::string(5'000, 'x') + R"("})");
  ASSERT_TRUE(big.ok());
  EXPECT_EQ(big->other_info, "");
  EXPECT_TRUE(big->address);
}

TEST(ArqNotification, WhatIsWrongIsSaidWithItsName) {
  const auto why = [](const std::string& payload) {
    const Result<Arq> arq = decode(payload);
    return arq.ok() ? std::string() : arq.error().what;
  };
  EXPECT_THAT(why("{}"), HasSubstr("'uuid' is '', an ARQ's UUID is needed"));
  EXPECT_THAT(why(flat(R"("uuid": "x", )")), HasSubstr("'uuid' is 'x'"));
  EXPECT_THAT(why(flat(R"("uuid": 7, )")), HasSubstr("'uuid' is a number"));
  EXPECT_THAT(why(flat(R"("state": "Bond", )")), HasSubstr("'state': 'Bond' is not a state"));
  EXPECT_THAT(why(flat(R"("hostname": ["a"], )")), HasSubstr("'hostname' is a list"));
  EXPECT_THAT(why(flat(R"("hostname": "a\nb", )")), HasSubstr("'hostname' holds control"));
  EXPECT_THAT(why(flat("\"project_id\": \"" + std::string(300, 'p') + "\", ")),
              HasSubstr("'project_id' is 300 bytes long"));
  EXPECT_THAT(why(flat(R"("device_profile_group_id": "2", )")),
              HasSubstr("'device_profile_group_id' is a text"));
  EXPECT_THAT(why(flat(R"("attach_handle_info": {"domain": "0000", "bus": "xy", )"
                       R"("device": "00", "function": "0"}, )")),
              HasSubstr("'attach_handle_info': 'bus' is 'xy'"));
  EXPECT_THAT(why(flat(R"("attach_handle_info": {"bus": "0c"}, )")), HasSubstr("'domain' is ''"));
  EXPECT_THAT(why(flat("\"x\": \"" + std::string(kArqPayloadBytesMax, 'x') + "\", ")),
              HasSubstr("the ARQ's payload"));
}

TEST(ArqNotification, AnotherMajorVersionIsRefused) {
  for (const char* version : {"1.0", "1.7", "1"}) {
    EXPECT_TRUE(decode(object(flat(), version)).ok()) << version;
  }
  for (const char* version : {"2.0", "10.0", "0.9", ""}) {
    const Decision decision =
        decide_arq("accelerator_request.bind.end", object(flat(), version), "cyborg-api:a");
    EXPECT_EQ(decision.verdict, Verdict::reject) << version;
    EXPECT_THAT(decision.why, HasSubstr("is not known, 1.x is")) << version;
    EXPECT_EQ(decision.event_type, "accelerator_request.bind.end");
  }
  EXPECT_TRUE(decode(object(flat(), "1.0", "any_thing")).ok());
  EXPECT_THAT(decode(object("[]")).error().what, HasSubstr("object data is not an object"));
}

TEST(ArqNotification, ThePhaseIsTheStateWhereThePayloadNamesNone) {
  const std::map<std::string, ArqState> expected{
      {"bind.start", ArqState::bind_started}, {"bind.end", ArqState::bound},
      {"bind.error", ArqState::bind_failed},  {"unbind.start", ArqState::bound},
      {"unbind.end", ArqState::unbound},      {"unbind.error", ArqState::unbind_failed},
      {"delete.start", ArqState::deleting},   {"delete.end", ArqState::unbound},
      {"delete.error", ArqState::deleting},
  };
  ASSERT_EQ(expected.size(), kArqTable.size());
  for (const auto& [name, state] : expected) {
    for (const char* given : {"", R"(, "state": null)"}) {
      const Result<Arq> arq =
          decode(R"({"uuid": "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b")" + std::string(given) + "}",
                 "accelerator_request." + name);
      ASSERT_TRUE(arq.ok()) << name;
      EXPECT_EQ(arq->state, state) << name;
    }
    EXPECT_EQ(decode(flat(), "accelerator_request." + name)->state, ArqState::bound) << name;
  }
}

TEST(ArqNotification, EveryEventKicksTheHostOfItsArq) {
  for (const ArqRow& row : kArqTable) {
    for (const std::string& payload : {flat(), object(flat())}) {
      for (const bool bare : {false, true}) {
        const std::string text = message(row.event_type, "cyborg-conductor:ctl1", payload);
        const Decision decision = decide_body(bare ? text : enveloped(text));
        EXPECT_EQ(decision.verdict, Verdict::kick) << row.event_type << decision.why;
        EXPECT_THAT(decision.hosts, ElementsAre("cmp1"));
        EXPECT_FALSE(decision.any_host);
        EXPECT_EQ(decision.why, row.why);
        EXPECT_EQ(decision.instance_uuid, "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc");
        EXPECT_EQ(decision.request_id, "req-1");
        ASSERT_TRUE(decision.arq);
        EXPECT_EQ(decision.arq->uuid, kUuid);
        EXPECT_EQ(decision.mark_allocated, row.binds);
        if (row.binds) {
          EXPECT_THAT(decision.delays_s, ElementsAre(0, 5));
        } else {
          EXPECT_THAT(decision.delays_s, ElementsAre(0, 5, 30));
        }
      }
    }
  }
}

TEST(ArqNotification, NoOtherEventOfAnArqIsListenedTo) {
  for (const char* event_type :
       {"accelerator_request.create.end", "accelerator_request.bind", "accelerator_request.",
        "accelerator_request.bind.end.", "accelerator_request.update.end", "arq.bind.end",
        "Accelerator_request.bind.end", "compute.accelerator_request.bind.end"}) {
    EXPECT_EQ(decide_arq(event_type, flat()).verdict, Verdict::ignore) << event_type;
  }
}

TEST(ArqNotification, AnAgentNamesTheHostWhereThePayloadDoesNot) {
  const std::string nowhere = flat(R"("hostname": null, )");
  EXPECT_THAT(decide_arq("accelerator_request.unbind.end", nowhere, "cyborg-agent:cmp7").hosts,
              ElementsAre("cmp7"));
  EXPECT_THAT(decide_arq("accelerator_request.unbind.end", flat(), "cyborg-agent:cmp7").hosts,
              ElementsAre("cmp1"));
  for (const char* publisher : {"cyborg-api:ctl1", "cyborg-conductor:ctl1", "cyborg-agent:", "x",
                                "nova-compute:cmp7", "compute.cmp7"}) {
    const Decision decision = decide_arq("accelerator_request.unbind.end", nowhere, publisher);
    EXPECT_TRUE(decision.any_host) << publisher;
    EXPECT_THAT(decision.hosts, IsEmpty()) << publisher;
    EXPECT_THAT(decision.why, HasSubstr("names no host"));
  }
}

TEST(ArqNotification, AHostThatCannotBeOneIsRejected) {
  for (const char* host : {"a b", "x}:lock:{y", "*"}) {
    const Decision decision = decide_arq("accelerator_request.bind.end",
                                         flat("\"hostname\": \"" + std::string(host) + "\", "));
    EXPECT_EQ(decision.verdict, Verdict::reject) << host;
    EXPECT_THAT(decision.why, HasSubstr("the ARQ's hostname")) << host;
  }
  EXPECT_EQ(
      decide_arq("accelerator_request.bind.end", flat(R"("hostname": null, )"), "cyborg-agent:a{}")
          .verdict,
      Verdict::reject);
}

// No filter on extra_specs: a port's or an image's device is not visible there, and neither is
// that of a flavor changed since.
TEST(ArqNotification, AnInstanceWithADeviceProfileKicksLikeAnyOther) {
  const auto decide_with = [](std::string_view specs) {
    std::string payload = versioned_payload("\"cmp1\"");
    const std::string flavor = R"("event_type": "x")";
    payload.replace(payload.find(flavor), flavor.size(), R"("extra_specs": )" + std::string(specs));
    return decide_body(enveloped(message("instance.delete.end", "nova-compute:cmp1", payload)));
  };
  const Decision without = decide_with("{}");
  const Decision with = decide_with(R"({"accel:device_profile": "nvme-dp"})");
  for (const Decision& decision : {without, with}) {
    EXPECT_EQ(decision.verdict, Verdict::kick);
    EXPECT_THAT(decision.hosts, ElementsAre("cmp1"));
    EXPECT_THAT(decision.delays_s, ElementsAre(0, 5, 30));
    EXPECT_FALSE(decision.arq);
  }
  EXPECT_EQ(with.why, without.why);
}

// The messages that docs/cyborg-notifications.schema.json is held against.
TEST(ArqNotification, TheSchemasMessagesAreTakenAndRejectedAsItSays) {
  std::ifstream in(source_path("tests/data/arq/messages.json"));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto messages = json::parse(text, 1U << 20U);
  ASSERT_TRUE(messages.ok());
  for (const auto& [name, verdict] :
       {std::pair{"good", Verdict::kick}, std::pair{"bad", Verdict::reject}}) {
    const rapidjson::Value* all = json::find(*messages, name);
    ASSERT_TRUE(all != nullptr && all->Size() > 20U);
    for (const auto& one : all->GetArray()) {
      const std::string body = json::to_text(one);
      EXPECT_EQ(decide_body(enveloped(body)).verdict, verdict) << body;
    }
  }
}

// The longest that can be taken still fits where it is kept.
TEST(ArqNotification, TheLongestFitsIntoTheBook) {
  std::string quotes;
  for (int i = 0; i < 255; ++i) quotes += "\\\"";
  std::string payload = R"({"uuid": "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b")";
  for (const char* name :
       {"project_id", "device_profile_name", "hostname", "device_rp_uuid", "instance_uuid",
        "attach_handle_type", "attach_handle_uuid", "created_at", "updated_at"}) {
    payload += ", \"" + std::string(name) + "\": \"" + quotes + "\"";
  }
  payload += R"(, "attach_handle_info": {"x": ")" + std::string(4'000, 'x') + "\"}}";
  const Result<Arq> arq = decode(payload);
  ASSERT_TRUE(arq.ok()) << arq.error().what;
  EXPECT_LE(encode_arq(*arq).size(), kArqBytesMax);
  EXPECT_EQ(*decode_arq(encode_arq(*arq)), *arq);
}

}  // namespace
}  // namespace reclaim
