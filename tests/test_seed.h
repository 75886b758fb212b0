// The seed of the gtest that runs.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/seed.h"

namespace reclaim {

// Its own, by its name. The command that repeats the test is printed before anything can end it.
inline std::uint64_t test_seed() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test->test_suite_name()) + "." + test->name();
  std::printf("again: RECLAIM_TEST_SEED=%s %s --gtest_filter=%s\n",
              std::to_string(run_seed()).c_str(), program_invocation_name, name.c_str());
  (void)std::fflush(stdout);
  return seed_of(name);
}

}  // namespace reclaim
