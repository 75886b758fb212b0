// The simulation's only source of chance: everything that happens in a world follows from its seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reclaim::sim {

class Rng final {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  // splitmix64: small, and good enough to keep worlds apart.
  [[nodiscard]] std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  // 0 <= result < n.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
  // low <= result <= high.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  [[nodiscard]] bool chance(double probability) {
    if (probability <= 0) return false;
    return static_cast<double>(next() >> 11U) * 0x1.0p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace reclaim::sim
