#include "tests/seed.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/sim/rng.h"

namespace reclaim {
namespace {

std::uint64_t draw() {
  std::random_device entropy;
  return (static_cast<std::uint64_t>(entropy()) << 32U) | entropy();
}

}  // namespace

std::uint64_t run_seed() {
  static const std::uint64_t drawn = draw();
  const char* set = std::getenv("RECLAIM_TEST_SEED");
  if (set == nullptr) return drawn;
  const std::string_view text = set;
  std::uint64_t seed = 0;
  const auto read = std::from_chars(text.begin(), text.end(), seed);
  if (read.ec == std::errc{} && read.ptr == text.end()) return seed;
  std::fprintf(stderr, "RECLAIM_TEST_SEED is \"%s\": it takes a number from 0 to 2^64 - 1\n", set);
  std::exit(2);
}

std::uint64_t seed_of(std::string_view name) {
  std::uint64_t seed = run_seed();
  for (const char c : name) seed = sim::Rng(seed ^ static_cast<unsigned char>(c)).next();
  return seed;
}

}  // namespace reclaim
