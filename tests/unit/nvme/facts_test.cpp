// The baseline's text form: what is persisted before an erase must come back as it was.
#include "nvme/controller/facts.h"

#include <gtest/gtest.h>

#include <string>

namespace reclaim::nvme {
namespace {

std::string digest(char c) {
  return std::string(63, c) + "7";
}

Baseline some_baseline() {
  Baseline baseline;
  baseline.samples.push_back(Sample{1, 0, 131072, digest('a'), false});
  baseline.samples.push_back(Sample{1, 0xfedcba9876543210, 4096, digest('0'), true});
  baseline.samples.push_back(Sample{0xfffffffe, 512, 512, digest('f'), false});
  baseline.samples.push_back(Sample{1, 8192, 4096, "", true});
  baseline.canaries.push_back(Sample{2, 1048576, 4096, digest('9'), false});
  return baseline;
}

TEST(Baseline, ComesBackAsItWas) {
  const Baseline baseline = some_baseline();
  const auto decoded = decode_baseline(encode_baseline(baseline));
  ASSERT_TRUE(decoded.ok()) << decoded.error().what;
  EXPECT_EQ(*decoded, baseline);
  EXPECT_EQ(baseline.counted(), 3U);
  EXPECT_EQ(*decode_baseline(encode_baseline(Baseline{})), Baseline{});
}

TEST(Baseline, AFewHundredSamplesFitAHashField) {
  Baseline baseline;
  for (std::uint32_t i = 0; i < 300; ++i) {
    baseline.samples.push_back(Sample{1, i * 0x1000000000ULL, 131072, digest('c'), false});
  }
  EXPECT_LT(encode_baseline(baseline).size(), 24U * 1024);
}

// [nvme] verify_samples goes up to 2048, and every namespace has canaries besides.
TEST(Baseline, TheMostThatCanBeConfiguredComesBack) {
  Baseline baseline;
  const Sample longest{0xfffffffe, 0xfedcba9876543210, 131072, digest('c'), false};
  baseline.samples.assign(2048, longest);
  baseline.canaries.assign(2048, longest);
  const auto decoded = decode_baseline(encode_baseline(baseline));
  ASSERT_TRUE(decoded.ok()) << decoded.error().what;
  EXPECT_EQ(*decoded, baseline);
}

TEST(Baseline, MalformedTextIsRefused) {
  const std::string good = encode_baseline(some_baseline());
  for (const std::string& text :
       {std::string(), std::string("b2"), std::string("b1 x1:0:200:abc"), std::string("b1  "),
        std::string("b1 s1:0:200:"), std::string("b1 u1:0:200:A"), good.substr(0, good.size() - 1),
        good + "A", std::string("b1 s1:0:0:") + std::string(43, 'A'),
        std::string("b1 s1:0:8000000:") + std::string(43, 'A'),
        std::string("b1 s1:0:200:") + std::string(42, 'A') + "B",
        std::string("b1 s-1:0:200:") + std::string(43, 'A'),
        std::string("b1 s1:0:200:") + std::string(42, 'A') + "*"}) {
    EXPECT_FALSE(decode_baseline(text).ok()) << text;
  }
  EXPECT_TRUE(decode_baseline(std::string("b1 s1:0:200:") + std::string(43, 'A')).ok());
}

TEST(Baseline, IsBounded) {
  std::string text = "b1";
  for (int i = 0; i < 4096; ++i) text += " s1:0:200:" + std::string(43, 'A');
  EXPECT_TRUE(decode_baseline(text).ok());
  text += " s1:0:200:" + std::string(43, 'A');
  EXPECT_EQ(decode_baseline(text).error().code, Errc::limit);
  EXPECT_EQ(decode_baseline("b1" + std::string(600'000, ' ')).error().code, Errc::limit);
}

TEST(EraseMethod, NamesAreReadAndWritten) {
  EXPECT_EQ(*parse_erase_method("sanitize_crypto"), EraseMethod::sanitize_crypto);
  EXPECT_EQ(*parse_erase_method(to_string(EraseMethod::sanitize_block)),
            EraseMethod::sanitize_block);
  EXPECT_EQ(parse_erase_method("shred").error().code, Errc::invalid);
  EXPECT_EQ(*parse_drive_step("reset_namespaces"), DriveStep::reset_namespaces);
  EXPECT_EQ(parse_drive_step("nothing").error().what,
            "'nothing' is not a clean step; there are check_health, restore_firmware, "
            "recover_sanitize, reset_controller_state, reset_namespaces");
}

}  // namespace
}  // namespace reclaim::nvme
