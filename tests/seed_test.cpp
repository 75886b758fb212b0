// RECLAIM_TEST_SEED: the same number gives the same chance, and what is none is told.
#include "tests/seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/test_seed.h"

namespace reclaim {
namespace {

using ::testing::HasSubstr;

struct Seed : ::testing::Test {
  ~Seed() override {
    if (kept != nullptr) {
      set(before.c_str());
    } else {
      ::unsetenv(kName);
    }
  }
  static void set(const char* value) { ASSERT_EQ(::setenv(kName, value, 1), 0); }

  static constexpr const char* kName = "RECLAIM_TEST_SEED";
  const char* kept = std::getenv(kName);
  const std::string before = kept == nullptr ? "" : kept;
};

TEST_F(Seed, DecidesAllNumbersOfARun) {
  set("7");
  const std::uint64_t first = seed_of("a");
  EXPECT_EQ(seed_of("a"), first);
  EXPECT_NE(seed_of("b"), first);
  EXPECT_NE(seed_of("aa"), first);
  set("8");
  EXPECT_NE(seed_of("a"), first);
  set("18446744073709551615");
  EXPECT_EQ(run_seed(), 18446744073709551615ULL);
}

TEST_F(Seed, ThatNobodySetIsDrawnOnce) {
  ::unsetenv(kName);
  EXPECT_EQ(run_seed(), run_seed());
}

TEST_F(Seed, ThatIsNoNumberEndsTheProgram) {
  for (const char* bad : {"", " 7", "7 ", "-7", "+7", "0x7", "7.0", "18446744073709551616"}) {
    set(bad);
    EXPECT_EXIT((void)seed_of("a"), ::testing::ExitedWithCode(2), "RECLAIM_TEST_SEED is \"") << bad;
  }
}

TEST_F(Seed, OfATestIsThatOfItsNameAndTellsHowToRepeatIt) {
  set("7");
  ::testing::internal::CaptureStdout();
  const std::uint64_t seed = test_seed();
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(seed, seed_of("Seed.OfATestIsThatOfItsNameAndTellsHowToRepeatIt"));
  EXPECT_THAT(said, HasSubstr("again: RECLAIM_TEST_SEED=7 "));
  EXPECT_THAT(said, HasSubstr("seed_test --gtest_filter=Seed.OfATestIsThatOfItsNameAndTells"));
}

}  // namespace
}  // namespace reclaim
