// Plans where the media is looked at before and after an erase, and where the canaries go. Pure:
// the caller brings the entropy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Fewer places than this in a namespace would not be a sample of it.
inline constexpr std::size_t kSamplesPerNamespaceMin = 4;
inline constexpr std::size_t kCanariesPerNamespace = 4;
inline constexpr std::uint32_t kCanaryBytesMin = 4096;

struct Place {
  std::uint32_t nsid = 0;
  std::uint64_t offset_bytes = 0;
  std::uint32_t length_bytes = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// A place that may be longer than one read.
struct Stretch {
  std::uint32_t nsid = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

struct SamplePlan {
  std::vector<Place> samples;
  std::vector<Place> canaries;  // no canary overlaps a sample or another canary
};

// Plans for each namespace its first and last sample (which hold the primary and the backup GPT),
// the rest of its first and last MiB as far as a half of its share reaches, and one place at random
// in each of as many equal sections as are left. Offsets and lengths are whole blocks.
// `samples_max` is shared out evenly; Errc::limit where there are too many namespaces to give each
// its least.
[[nodiscard]] Result<SamplePlan> plan_samples(const std::vector<NamespaceFacts>& namespaces,
                                              std::uint32_t samples_max, std::uint32_t sample_bytes,
                                              std::uint64_t seed);

// Every byte of every namespace.
[[nodiscard]] std::vector<Stretch> plan_whole(const std::vector<NamespaceFacts>& namespaces);

[[nodiscard]] std::uint64_t bytes_of(const std::vector<Stretch>& stretches);
// The part of the stretches, in their order, behind the first `skip_bytes`, `length_bytes` of it at
// most.
[[nodiscard]] std::vector<Stretch> part_of(const std::vector<Stretch>& stretches,
                                           std::uint64_t skip_bytes, std::uint64_t length_bytes);

// NIST SP 800-88r1 §4.7: each namespace in a thousand equal subsections, in each of which two
// stretches at random that do not overlap, each at least 5 % of it, so that at least 10 % of the
// media are read; and the first and the last block. In ascending order. A namespace too small for
// that is taken whole. Never kept: each verification brings entropy of its own.
inline constexpr std::uint64_t kNistSubsections = 1000;
[[nodiscard]] std::vector<Stretch> plan_nist(const std::vector<NamespaceFacts>& namespaces,
                                             std::uint64_t seed);

}  // namespace reclaim::nvme
