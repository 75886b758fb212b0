// Whether what was read after an erase shows that it happened. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// What a place reads as: its digest and what its bytes are made of.
struct Reading {
  std::string sha256;  // lower-case hex
  std::uint32_t length_bytes = 0;
  std::uint32_t zero_bytes = 0;
  std::uint32_t ones_bytes = 0;  // 0xff
  bool uniform = false;          // all bytes equal: blank

  [[nodiscard]] bool all_zeroes() const { return zero_bytes == length_bytes; }
  [[nodiscard]] bool all_ones() const { return ones_bytes == length_bytes; }
};

struct Rereading {
  std::vector<Reading> samples;   // one for each of Baseline::samples, in their order
  std::vector<Reading> canaries;  // the same for Baseline::canaries
  Counters counters;
  bool global_data_erased = false;  // read after everything else
};

// Errc::failed: a sample that held data still holds it, a canary is still there, a deallocated
// block does not read as DLFEAT promises, Global Data Erased is clear, or nothing counted.
// `namespaces` brings each namespace's DLFEAT; a sample of a namespace that is gone is a failure.
[[nodiscard]] Result<VerifyReport> judge_verification(
    const Baseline& baseline, const Rereading& after, EraseMethod method,
    const std::vector<NamespaceFacts>& namespaces);

}  // namespace reclaim::nvme
