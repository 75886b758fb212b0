// The chance of tests. One number decides all of it: RECLAIM_TEST_SEED in the environment (test.sh
// takes it from the commit, which so has one verdict); where nobody sets it, the machine draws one.
#pragma once

#include <cstdint>
#include <string_view>

namespace reclaim {

// Ends the program with 2 where RECLAIM_TEST_SEED is no unsigned 64-bit decimal.
std::uint64_t run_seed();

// Of a stream: what bears another name draws other numbers in the same run.
std::uint64_t seed_of(std::string_view name);

}  // namespace reclaim
