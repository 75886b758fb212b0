// The vocabulary everything else speaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "state/base/clock.h"
#include "state/base/host_names.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/pci_address.h"
#include "state/base/spdlog_logger.h"
#include "state/base/uuid.h"
#include "state/base/uv.h"
#include "state/base/visible.h"
#include "tests/temp_folder.h"

namespace reclaim {
namespace {

TEST(PciAddress, FoldsCaseAndPrintsLower) {
  const auto address = parse_pci_address("0000:C1:00.0");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(to_string(*address), "0000:c1:00.0");
  EXPECT_EQ(*address, *parse_pci_address("0000:c1:00.0"));
}

TEST(PciAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "c1:00.0", "0000:c1:00", "0000:c1:20.0", "0000:c1:00.8",
                           "0000:g1:00.0", "0000:c1:00.0 ", "123456789:c1:00.0"}) {
    EXPECT_FALSE(parse_pci_address(text).ok()) << text;
  }
  EXPECT_EQ(to_string(*parse_pci_address("10000:e1:1f.7")), "10000:e1:1f.7");
}

TEST(HostNames, AreAHostsInAnyCaseOfLetters) {
  const HostNames names{"cmp1", {"cmp1.example.org"}};
  EXPECT_TRUE(names.has("CMP1"));
  EXPECT_TRUE(names.has("cmp1.Example.org"));
  for (const char* other : {"", "cmp", "cmp11", "cmp1.example", "cmp2.example.org"}) {
    EXPECT_FALSE(names.has(other)) << other;
  }
}

TEST(HostNames, AFullNameBeginsWithTheHosts) {
  EXPECT_TRUE(is_full_name_of("cmp1.example.org", "cmp1"));
  EXPECT_TRUE(is_full_name_of("CMP1.example.org", "cmp1"));
  for (const char* other :
       {"", "cmp1", "cmp1.", "cmp11.example.org", "storage.example.org", "localhost.localdomain"}) {
    EXPECT_FALSE(is_full_name_of(other, "cmp1")) << other;
  }
}

// An alias is what costs an entry in Redis: what the name itself tells is none.
TEST(HostNames, AnAliasIsWhatTheNameDoesNotTell) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(hosts_by_name("cmp1"), ElementsAre("cmp1"));
  EXPECT_THAT(hosts_by_name("CMP1.example.org"),
              ElementsAre("CMP1.example.org", "cmp1.example.org", "cmp1"));
  EXPECT_THAT(hosts_by_name(".org"), ElementsAre(".org"));
  EXPECT_THAT((HostNames{"cmp1", {"cmp1", "cmp1.example.org"}}.aliases()), IsEmpty());
  EXPECT_THAT((HostNames{"cmp1.example.org", {"cmp1.example.org"}}.aliases()), IsEmpty());
  EXPECT_THAT((HostNames{"cmp1.example.org", {"cmp1"}}.aliases()), ElementsAre("cmp1"));
  EXPECT_THAT((HostNames{"Cmp1", {"Cmp1", "Node-7", "node-7"}}.aliases()),
              ElementsAre("cmp1", "node-7"));
}

TEST(Clock, WritesAndReadsBack) {
  const auto at = from_iso8601("2026-11-20 11:57:46.441542");
  ASSERT_TRUE(at.ok());
  EXPECT_EQ(to_iso8601(*at), "2026-11-20T11:57:46.441Z");
  EXPECT_EQ(*from_iso8601(to_iso8601(*at)), *at);
  EXPECT_EQ(to_iso8601(WallMs{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_iso8601(*from_iso8601("2024-02-29T23:59:59+00:00")), "2024-02-29T23:59:59.000Z");
  for (const char* none : {"", "yesterday", "2026-11-20T11:57:46+02:00", "2026-11-31T00:00:00Z",
                           "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
                           "2026-11-00T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T11:60:00Z",
                           "2026-11-20T11:57:60Z", "2026-11-20T-1:00:00Z", "2026-11-20T+1:00:00Z",
                           "2026-1-20T11:57:46Z", "2026-11- 3T11:57:46Z", "2026-11-20x11:57:46Z",
                           "2026-11-20T11:57"}) {
    EXPECT_FALSE(from_iso8601(none).ok()) << none;
  }
}

TEST(Json, DepthIsNoDanger) {
  const std::string deep(1'000'000, '[');
  const auto parsed = json::parse(deep, 10'000'000);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Errc::invalid);
}

TEST(Json, SizeIsBounded) {
  EXPECT_EQ(json::parse("[1,2,3]", 3).error().code, Errc::limit);
}

TEST(Json, NothingHidesBehindANul) {
  EXPECT_FALSE(json::parse(std::string_view("{}\0junk", 7), 100).ok());
}

// Each of these tripped an assertion, or wrapped an int, of RapidJSON's number reader.
TEST(Json, ALongExponentIsRefused) {
  for (const std::string_view text :
       {"1.00000000000000000000e-2147483639", "[1.0000000000000000e-2147483647]",
        R"({"a":{"b":[0.1E-21474836400000]}})", "1e-00000000000000000001", "1E+99999"}) {
    const auto parsed = json::parse(text, 100);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, Errc::limit) << text;
    EXPECT_NE(parsed.error().what.find("exponent"), std::string::npos) << parsed.error().what;
  }
}

TEST(Json, ExponentsOfDoublesAndTextsThatLookLikeOnesAreRead) {
  for (const std::string_view text :
       {"1e308", "1.5E-0300", "-1e-9999", R"(["1e123456789", "\"1e123456789", true, false])",
        R"({"1e-2147483639": "feature12345"})"}) {
    EXPECT_TRUE(json::parse(text, 100).ok()) << text;
  }
}

TEST(Json, AnAssertionOfTheParserIsAnErrorAndAnyOtherEndsTheProcess) {
  EXPECT_DEATH(RAPIDJSON_ASSERT(1 == 2), "1 == 2");
  const auto document = json::parse("3", 100);
  ASSERT_TRUE(document.ok());
  EXPECT_DEATH((void)document->GetString(), "CHECK");
}

TEST(Json, GettersNameTheMember) {
  const auto document = json::parse(R"({"a":"x","n":3})", 100);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(*json::get_string(*document, "a"), "x");
  EXPECT_EQ(json::get_string(*document, "n").error().what,
            "'n' is of another type, a string is needed");
  EXPECT_EQ(json::get_int(*document, "zz").error().what, "'zz' is absent, an integer is needed");
}

// Python's uuid.uuid3(uuid.NAMESPACE_DNS, name).
TEST(Uuid, AProvidersUuidIsTheOneThatCyborgGivesItsName) {
  const std::string uuid = provider_uuid("compute-1_0000:01:00.0");
  EXPECT_EQ(uuid, "1c64fc32-07b9-3281-bf27-492ed1565e9c");
  EXPECT_NE(uuid, provider_uuid("compute-1_0000:02:00.0"));
}

TEST(Uuid, DeviceUuidIsStableAndVersionFive) {
  const PciAddress address = *parse_pci_address("0000:01:00.0");
  const std::string uuid = device_uuid("compute-2", address);
  EXPECT_EQ(uuid, device_uuid("compute-2", *parse_pci_address("0000:01:00.0")));
  EXPECT_NE(uuid, device_uuid("compute-1", address));
  EXPECT_EQ(uuid[14], '5');
  EXPECT_TRUE(looks_like_uuid(uuid));
  EXPECT_FALSE(looks_like_uuid("nonsense"));
}

TEST(Log, ExcerptIsPrintableAndBounded) {
  EXPECT_EQ(printable_excerpt("a\nb\x01\xff", 10), "a.b..");
  EXPECT_EQ(printable_excerpt("abcdef", 3), "abc...");
}

TEST(Visible, WhatWouldBeObeyedIsShown) {
  EXPECT_EQ(visible("a\nb\tc\x1b[1m\x7f"), "a\\x0ab\\x09c\\x1b[1m\\x7f");
  EXPECT_EQ(visible("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), "\\x9b\\u2028\\u202e\\u2066");
  EXPECT_EQ(visible("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(visible("Zo\xc3\xab \xe6\xa9\x9f"), "Zo\xc3\xab \xe6\xa9\x9f");
  EXPECT_EQ(visible_id("req-1_a.b:C"), "req-1_a.b:C");
  EXPECT_EQ(visible_id("x] 1\n"), "x\\x5d\\x201\\x0a");
}

TEST(Log, ForeignTextBeginsNoLineOfItsOwn) {
  const TempFolder folder;
  const std::string path = folder / "log";
  for (const bool json : {false, true}) {
    LogOptions options;
    options.file = path;
    options.json = json;
    const auto logger = make_spdlog_logger(options);
    ASSERT_TRUE(logger.ok());
    (*logger)->info("a", "text\n2026 INFO reclaim.api.audit [req-2] forged\x1b[2K",
                    {{"request_id", "req-1] forged\n2026 INFO b"}, {"why", "x\ny\xff"}});
  }
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("[req-1\\x5d\\x20forged\\x0a2026"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("text\\x0a2026 INFO"), std::string::npos) << lines[0];
  EXPECT_TRUE(json::parse(lines[1], 1'000).ok()) << lines[1];
  for (const std::string& line : lines) EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
}

TEST(Log, AnEmptyFieldIsLeftOut) {
  const TempFolder folder;
  const std::string path = folder / "log";
  for (const bool json : {false, true}) {
    LogOptions options;
    options.file = path;
    options.json = json;
    const auto logger = make_spdlog_logger(options);
    ASSERT_TRUE(logger.ok());
    (*logger)->info("a", "text", {{"request_id", ""}, {"instance", ""}, {"why", "full"}});
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("INFO a [-] text why=full\n"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("why":"full")"), std::string::npos) << text;
  EXPECT_EQ(text.find("instance"), std::string::npos) << text;
}

TEST(Log, AFileThatWasMovedAwayIsOpenedAgain) {
  const TempFolder folder;
  const std::string moved = folder / "reclaim.log.1";
  LogOptions options;
  options.file = folder / "reclaim.log";
  const auto logger = make_spdlog_logger(options);
  ASSERT_TRUE(logger.ok());
  const auto text_of = [](const std::string& path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  (*logger)->info("a", "before");
  std::filesystem::rename(options.file, moved);
  (*logger)->reopen();
  (*logger)->info("a", "after");
  EXPECT_NE(text_of(moved).find("before"), std::string::npos);
  const std::string text = text_of(options.file);
  EXPECT_NE(text.find("after"), std::string::npos);
  EXPECT_EQ(text.find("before"), std::string::npos);
  // Local time, and which that is.
  EXPECT_TRUE(std::regex_search(
      text, std::regex(R"(^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d \d+ INFO a )")))
      << text;
}

// The journal takes a line's priority from its beginning, and has time and process by itself.
TEST(Log, TheJournalGetsPriorities) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(ends[1], &status), 0);
  const int kept = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  const auto logger = make_spdlog_logger({});
  (*logger)->error("a", "bad");
  (*logger)->info("a", "good");
  ::unsetenv("JOURNAL_STREAM");
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  ::close(ends[1]);
  std::array<char, 200> text{};
  const auto bytes = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ASSERT_GT(bytes, 0);
  EXPECT_EQ(std::string_view(text.data(), static_cast<std::size_t>(bytes)),
            "<3>ERROR a [-] bad\n<6>INFO a [-] good\n");
}

TEST(Uv, MailboxDeliversFromOtherThreadsInOrder) {
  uv::Loop loop;
  int sum = 0;
  int last = 0;
  {
    uv::Mailbox<int> mailbox(loop.raw(), [&](int value) {
      EXPECT_EQ(value, last + 1);
      last = value;
      sum += value;
      if (value == 100) loop.stop();
    });
    std::thread poster([&] {
      for (int i = 1; i <= 100; ++i) mailbox.post(i);
    });
    loop.run();
    poster.join();
  }
  EXPECT_EQ(sum, 5050);
}

TEST(Uv, TimerMayDestroyItsOwner) {
  uv::Loop loop;
  auto timer = std::make_unique<uv::Timer>(loop.raw());
  timer->start(0, 1, [&] { timer.reset(); });
  loop.run();
  EXPECT_EQ(timer, nullptr);
}

}  // namespace
}  // namespace reclaim
