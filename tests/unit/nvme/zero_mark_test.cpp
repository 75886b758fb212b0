// When a zeroing may go on behind its mark: one refusal after the other, and random pictures.
#include "nvme/erase/zero_mark.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/test_seed.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kWrites = 5'000;
constexpr std::uint64_t kWritesMax = 5'400;

ZeroMark a_mark() {
  ZeroMark mark;
  mark.method = EraseMethod::overwrite;
  mark.target.boot_id = "5f9c2b1e";
  mark.target.serial = "S1";
  mark.target.hardware = "slot=12";
  mark.target.namespaces = {{1, 1U << 30U, 4096, "aa", 7}, {2, 1U << 20U, 512, "bb", 8}};
  mark.position_bytes = 1U << 29U;
  mark.host_writes = kWrites;
  mark.host_writes_max = kWritesMax;
  return mark;
}

struct Now {
  EraseMethod method = EraseMethod::overwrite;
  ZeroTarget target = a_mark().target;
  std::uint64_t host_writes = kWrites;
};

Status judge(const ZeroMark& mark, const Now& now) {
  return may_go_on(mark, now.method, now.target, now.host_writes);
}

TEST(ZeroMark, OfTheSameDriveThatNobodyElseWroteGoesOn) {
  EXPECT_TRUE(judge(a_mark(), Now{}).ok());
  Now later;
  later.host_writes = kWritesMax;
  EXPECT_TRUE(judge(a_mark(), later).ok());
}

// Then nothing is read back: it has to be all, at rest, and the counter where it stood.
TEST(ZeroMark, OfTheEndIsOfAllAndAllowsForNoWrite) {
  ZeroMark mark = a_mark();
  mark.position_bytes = (1U << 30U) + (1U << 20U);
  EXPECT_FALSE(mark.is_of_the_end());
  mark.host_writes_max = mark.host_writes;
  EXPECT_TRUE(mark.is_of_the_end());
  EXPECT_TRUE(judge(mark, Now{}).ok());
  Now later;
  later.host_writes = kWrites + 1;
  EXPECT_FALSE(judge(mark, later).ok());
  mark.position_bytes -= 512;
  EXPECT_FALSE(mark.is_of_the_end());
}

struct Refusal {
  const char* name;
  const char* says;
  std::function<void(ZeroMark&, Now&)> change;
};

class ZeroMarkRefusal : public ::testing::TestWithParam<Refusal> {};

INSTANTIATE_TEST_SUITE_P(
    Each, ZeroMarkRefusal,
    ::testing::Values(Refusal{"AnotherMethod", "begun by overwrite",
                              [](auto&, auto& now) { now.method = EraseMethod::write_zeroes; }},
                      Refusal{"AnotherBoot", "started again",
                              [](auto&, auto& now) { now.target.boot_id = "0e3a1f0d"; }},
                      Refusal{"NoBoot", "one boot from another",
                              [](auto& mark, auto& now) {
                                mark.target.boot_id.clear();
                                now.target.boot_id.clear();
                              }},
                      Refusal{"AnotherSerial", "another drive",
                              [](auto&, auto& now) { now.target.serial = "S2"; }},
                      Refusal{"NoSerial", "no serial number",
                              [](auto& mark, auto& now) {
                                mark.target.serial = now.target.serial = "";
                              }},
                      Refusal{"AnotherSlot", "another drive",
                              [](auto&, auto& now) { now.target.hardware = "slot=13"; }},
                      Refusal{"ANamespaceMore", "3 namespaces now, and had 2",
                              [](auto&, auto& now) {
                                now.target.namespaces.push_back({3, 512, 512, "cc", 9});
                              }},
                      Refusal{"ANamespaceLess", "1 namespaces now, and had 2",
                              [](auto&, auto& now) { now.target.namespaces.pop_back(); }},
                      Refusal{"NoNamespaces", "no namespaces",
                              [](auto& mark, auto& now) {
                                mark.target.namespaces.clear();
                                now.target.namespaces.clear();
                              }},
                      Refusal{"AnotherNsid", "not the one that was zeroed",
                              [](auto&, auto& now) { now.target.namespaces[1].nsid = 3; }},
                      Refusal{"AnotherSize", "not the one that was zeroed",
                              [](auto&, auto& now) {
                                now.target.namespaces[0].capacity_bytes += 4096;
                              }},
                      Refusal{
                          "AnotherFormat", "not the one that was zeroed",
                          [](auto&, auto& now) { now.target.namespaces[1].block_bytes = 4096; }},
                      Refusal{"AnotherIdentifier", "not the one that was zeroed",
                              [](auto&, auto& now) { now.target.namespaces[1].identifier = "cc"; }},
                      Refusal{"NoIdentifier", "namespace 2 has no identifier",
                              [](auto& mark, auto& now) {
                                mark.target.namespaces[1].identifier.clear();
                                now.target.namespaces[1].identifier.clear();
                              }},
                      Refusal{"AnotherDisk", "another disk for namespace 2",
                              [](auto&, auto& now) { now.target.namespaces[1].disk_sequence = 9; }},
                      Refusal{"NoDiskSequence", "does not number its disk",
                              [](auto& mark, auto& now) {
                                mark.target.namespaces[1].disk_sequence.reset();
                                now.target.namespaces[1].disk_sequence.reset();
                              }},
                      Refusal{"NothingZeroed", "nothing of it is marked",
                              [](auto& mark, auto&) { mark.position_bytes = 0; }},
                      Refusal{"BehindTheEnd", "nothing of it is marked",
                              [](auto& mark, auto&) {
                                mark.position_bytes = (1U << 30U) + (1U << 20U) + 1;
                              }},
                      Refusal{
                          "NoCounter", "does not count write commands",
                          [](auto& mark, auto& now) { mark.host_writes = now.host_writes = 0; }},
                      Refusal{"AWriteTooMany", "somebody else wrote",
                              [](auto&, auto& now) { now.host_writes = kWritesMax + 1; }},
                      Refusal{"ACounterThatWentBack", "somebody else wrote",
                              [](auto&, auto& now) { now.host_writes = kWrites - 1; }},
                      Refusal{"OneWriteAfterAStop", "somebody else wrote",
                              [](auto& mark, auto& now) {
                                mark.host_writes_max = mark.host_writes;
                                now.host_writes = kWrites + 1;
                              }}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_P(ZeroMarkRefusal, BeginsWithTheFirstByte) {
  ZeroMark mark = a_mark();
  Now now;
  GetParam().change(mark, now);
  const Status judged = judge(mark, now);
  ASSERT_FALSE(judged.ok());
  EXPECT_EQ(judged.error().code, Errc::not_found);
  EXPECT_NE(judged.error().what.find(GetParam().says), std::string::npos) << judged.error().what;
}

// Whatever is different: never the same judgement as of the same drive.
TEST(ZeroMark, AnyOneDifferenceIsEnough) {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 2'000; ++round) {
    const ZeroMark mark = a_mark();
    Now now;
    MarkedNamespace& ns = now.target.namespaces[random() % 2];
    const std::uint64_t by = 1 + random() % 1'000;
    switch (random() % 7) {
      case 0:
        now.target.boot_id += std::to_string(by);
        break;
      case 1:
        now.target.serial += std::to_string(by);
        break;
      case 2:
        ns.capacity_bytes += by * ns.block_bytes;
        break;
      case 3:
        ns.identifier += std::to_string(by);
        break;
      case 4:
        *ns.disk_sequence += by;
        break;
      case 5:
        now.host_writes = kWritesMax + by;
        break;
      default:
        now.host_writes = kWrites - by;
        break;
    }
    EXPECT_FALSE(judge(mark, now).ok());
  }
}

TEST(ZeroMark, IsOneLineAndReadBack) {
  const std::string text = encode_mark(a_mark());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto read = decode_mark(text);
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(*read, a_mark());
}

TEST(ZeroMark, ThatIsTornOrNoneOfOursIsRefused) {
  const std::string text = encode_mark(a_mark());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(decode_mark(text.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(decode_mark("{}").ok());
  EXPECT_FALSE(decode_mark("[]").ok());
}

}  // namespace
}  // namespace reclaim::nvme
