#include "nvme/qualify/pattern.h"

#include <algorithm>
#include <cstring>

#include "state/base/check.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

// The finalizer of splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::uint64_t word_of(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWordBytes);
  return word;
}

bool all_are(std::span<const std::byte> bytes, std::byte value) {
  return bytes.front() == value &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

Pattern::Pattern(std::uint64_t nonce) : nonce_(nonce), mark_(mix(nonce + kGolden)) {}

std::uint64_t Pattern::key_of(std::uint32_t nsid) const {
  return mix(nonce_ ^ mix(kGolden * nsid));
}

std::uint64_t Pattern::word_at(std::uint64_t key, std::uint64_t offset_bytes) const {
  if (offset_bytes % kUnitBytes == 0) return mark_;
  return mix(key + kGolden * (offset_bytes / kWordBytes));
}

void Pattern::fill(std::span<std::byte> bytes, std::uint32_t nsid,
                   std::uint64_t offset_bytes) const {
  CHECK(bytes.size() % kUnitBytes == 0 && offset_bytes % kUnitBytes == 0);
  const std::uint64_t key = key_of(nsid);
  for (std::size_t at = 0; at < bytes.size(); at += kWordBytes) {
    const std::uint64_t word = word_at(key, offset_bytes + at);
    std::memcpy(bytes.data() + at, &word, kWordBytes);
  }
}

bool Pattern::is_intact(std::span<const std::byte> unit, std::uint32_t nsid,
                        std::uint64_t offset_bytes) const {
  const std::uint64_t key = key_of(nsid);
  for (std::size_t at = 0; at < kUnitBytes; at += kWordBytes) {
    if (word_of(unit, at) != word_at(key, offset_bytes + at)) return false;
  }
  return true;
}

bool Pattern::is_trace(std::span<const std::byte> unit, std::uint32_t nsid,
                       std::uint64_t offset_bytes) const {
  const std::uint64_t key = key_of(nsid);
  for (std::size_t at = 0; at < kUnitBytes; at += kWordBytes) {
    if (word_of(unit, at) == word_at(key, offset_bytes + at)) return true;
  }
  return false;
}

void MediaCounts::add(const MediaCounts& more) {
  const bool earlier =
      more.found_nsid != 0 && (found_nsid == 0 || more.found_nsid < found_nsid ||
                               (more.found_nsid == found_nsid && more.found_offset < found_offset));
  if (earlier) {
    found_nsid = more.found_nsid;
    found_offset = more.found_offset;
  }
  intact += more.intact;
  traces += more.traces;
  zeroes += more.zeroes;
  ones += more.ones;
  other += more.other;
  unreadable += more.unreadable;
}

MediaCounts count_media(std::span<const std::byte> bytes, std::uint32_t nsid,
                        std::uint64_t offset_bytes, const std::vector<Pattern>& patterns) {
  constexpr std::size_t kUnit = Pattern::kUnitBytes;
  CHECK(bytes.size() % kUnit == 0 && offset_bytes % kUnit == 0 && !patterns.empty());
  MediaCounts counts;
  for (std::size_t at = 0; at < bytes.size(); at += kUnit) {
    const auto unit = bytes.subspan(at, kUnit);
    const std::uint64_t place = offset_bytes + at;
    if (all_are(unit, std::byte{0})) {
      counts.zeroes += kUnit;
      continue;
    }
    if (all_are(unit, std::byte{0xff})) {
      counts.ones += kUnit;
      continue;
    }
    const bool intact = patterns.back().is_intact(unit, nsid, place);
    const bool trace = intact || std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) {
                         return p.is_trace(unit, nsid, place);
                       });
    (intact ? counts.intact : trace ? counts.traces : counts.other) += kUnit;
    if (trace && counts.found_nsid == 0) {
      counts.found_nsid = nsid;
      counts.found_offset = place;
    }
  }
  return counts;
}

}  // namespace reclaim::nvme
