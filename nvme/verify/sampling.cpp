#include "nvme/verify/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kEdgeBytes = 1U << 20U;  // "first and last MiB"

// splitmix64 (Steele, Lea, Flood 2014): enough to spread places; unpredictability comes from the
// seed.
class Spread final {
 public:
  explicit Spread(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31U)) % bound;
  }

 private:
  std::uint64_t state_;
};

bool overlap(const Place& a, const Place& b) {
  return a.offset_bytes < b.offset_bytes + b.length_bytes &&
         b.offset_bytes < a.offset_bytes + a.length_bytes;
}

std::uint64_t seed_of(std::uint64_t seed, std::uint32_t nsid) {
  return seed ^ (std::uint64_t{nsid} << 32U);
}

// count * i / sections without overflow, however large the drive.
std::uint64_t share(std::uint64_t count, std::uint64_t i, std::uint64_t sections) {
  return count / sections * i + count % sections * i / sections;
}

// The plan of one namespace. Works in units that are whole blocks and, but for the namespace's
// tail, whole pages.
class NamespacePlan final {
 public:
  NamespacePlan(const NamespaceFacts& facts, std::uint32_t sample_bytes, std::size_t budget,
                std::uint64_t seed)
      : facts_(facts),
        unit_(std::max<std::uint64_t>(facts.block_bytes, kCanaryBytesMin)),
        sample_(whole_blocks(sample_bytes)),
        budget_(budget),
        spread_(seed) {}

  void add_to(SamplePlan& plan) {
    place_canaries();
    place_edges();
    place_spread();
    std::sort(samples_.begin(), samples_.end(),
              [](const Place& a, const Place& b) { return a.offset_bytes < b.offset_bytes; });
    plan.samples.insert(plan.samples.end(), samples_.begin(), samples_.end());
    plan.canaries.insert(plan.canaries.end(), canaries_.begin(), canaries_.end());
  }

 private:
  [[nodiscard]] std::uint64_t whole_blocks(std::uint64_t bytes) const {
    const std::uint64_t blocks = (bytes + facts_.block_bytes - 1) / facts_.block_bytes;
    const std::uint64_t capacity = facts_.capacity_bytes / facts_.block_bytes;
    // A tiny namespace is still looked at in several places.
    const std::uint64_t most = std::max<std::uint64_t>(capacity / 16, 1);
    return std::max<std::uint64_t>(std::min(blocks, most), 1) * facts_.block_bytes;
  }

  // One canary in each quarter of what lies between the edges, or of the whole where edges are all
  // there is.
  void place_canaries() {
    const std::uint64_t capacity = facts_.capacity_bytes;
    const bool roomy = capacity > 4 * kEdgeBytes;
    const std::uint64_t begin = roomy ? kEdgeBytes : sample_;
    const std::uint64_t end =
        roomy ? capacity - kEdgeBytes : capacity - std::min(capacity, sample_);
    const std::uint64_t length = capacity >= 64 * unit_ ? unit_ : facts_.block_bytes;
    for (std::size_t i = 0; i < kCanariesPerNamespace && end > begin; ++i) {
      const std::uint64_t section = (end - begin) / kCanariesPerNamespace;
      const std::uint64_t slots = section / length;
      if (slots == 0) return;
      const std::uint64_t base = (begin + i * section + length - 1) / length * length;
      const Place place{facts_.nsid, base + spread_.below(slots) * length,
                        static_cast<std::uint32_t>(length)};
      if (place.offset_bytes + length > end) continue;
      if (!hits(canaries_, place)) canaries_.push_back(place);
    }
  }

  void place_edges() {
    const std::uint64_t capacity = facts_.capacity_bytes;
    add_sample(0);
    add_sample(capacity - sample_);
    for (std::uint64_t at = sample_; at + sample_ <= std::min(kEdgeBytes, capacity / 2);
         at += sample_) {
      if (samples_.size() + 2 > std::max<std::size_t>(budget_ / 2, 2)) return;
      add_sample(at);
      add_sample(capacity - sample_ - at);
    }
  }

  void place_spread() {
    const std::size_t sections = budget_ - std::min(budget_, samples_.size());
    const std::uint64_t slots = facts_.capacity_bytes / sample_;
    for (std::size_t i = 0; i < sections; ++i) {
      const std::uint64_t from = share(slots, i, sections);
      const std::uint64_t to = share(slots, i + 1, sections);
      if (to > from) add_sample((from + spread_.below(to - from)) * sample_);
    }
  }

  void add_sample(std::uint64_t offset) {
    const Place place{facts_.nsid, offset, static_cast<std::uint32_t>(sample_)};
    if (offset + sample_ > facts_.capacity_bytes) return;
    if (hits(samples_, place) || hits(canaries_, place)) return;
    samples_.push_back(place);
  }

  static bool hits(const std::vector<Place>& places, const Place& place) {
    return std::any_of(places.begin(), places.end(),
                       [&place](const Place& other) { return overlap(place, other); });
  }

  NamespaceFacts facts_;
  std::uint64_t unit_;
  std::uint64_t sample_;
  std::size_t budget_;
  Spread spread_;
  std::vector<Place> samples_;
  std::vector<Place> canaries_;
};

}  // namespace

Result<SamplePlan> plan_samples(const std::vector<NamespaceFacts>& namespaces,
                                std::uint32_t samples_max, std::uint32_t sample_bytes,
                                std::uint64_t seed) {
  CHECK(sample_bytes > 0 && sample_bytes <= (64U << 20U));
  SamplePlan plan;
  if (namespaces.empty()) return plan;
  const std::size_t budget = samples_max / namespaces.size();
  if (budget < kSamplesPerNamespaceMin) {
    return Error{
        Errc::limit,
        fmt::format("the drive has {} namespaces, too many for {} samples at {} each; raise "
                    "the number of samples or delete namespaces",
                    namespaces.size(), samples_max, kSamplesPerNamespaceMin)};
  }
  for (const NamespaceFacts& facts : namespaces) {
    if (facts.block_bytes == 0 || facts.capacity_bytes < facts.block_bytes ||
        facts.capacity_bytes % facts.block_bytes != 0) {
      return Error{Errc::invalid,
                   fmt::format("namespace {} is {} bytes in blocks of {}: that cannot be sampled",
                               facts.nsid, facts.capacity_bytes, facts.block_bytes)};
    }
    NamespacePlan(facts, sample_bytes, budget, seed_of(seed, facts.nsid)).add_to(plan);
  }
  return plan;
}

std::vector<Stretch> plan_whole(const std::vector<NamespaceFacts>& namespaces) {
  std::vector<Stretch> stretches;
  stretches.reserve(namespaces.size());
  for (const NamespaceFacts& facts : namespaces) {
    stretches.push_back(Stretch{facts.nsid, 0, facts.capacity_bytes});
  }
  return stretches;
}

std::uint64_t bytes_of(const std::vector<Stretch>& stretches) {
  return std::accumulate(
      stretches.begin(), stretches.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Stretch& each) { return sum + each.length_bytes; });
}

std::vector<Stretch> part_of(const std::vector<Stretch>& stretches, std::uint64_t skip_bytes,
                             std::uint64_t length_bytes) {
  std::vector<Stretch> part;
  for (Stretch stretch : stretches) {
    const std::uint64_t skipped = std::min(skip_bytes, stretch.length_bytes);
    skip_bytes -= skipped;
    stretch.offset_bytes += skipped;
    stretch.length_bytes = std::min(stretch.length_bytes - skipped, length_bytes);
    length_bytes -= stretch.length_bytes;
    if (stretch.length_bytes > 0) part.push_back(stretch);
  }
  return part;
}

std::vector<Stretch> plan_nist(const std::vector<NamespaceFacts>& namespaces, std::uint64_t seed) {
  constexpr std::uint64_t kBlocksMin = 20;  // of which 5 % are one block
  std::vector<Stretch> stretches;
  for (const NamespaceFacts& facts : namespaces) {
    CHECK(facts.block_bytes != 0);
    const std::uint64_t blocks = facts.capacity_bytes / facts.block_bytes;
    if (blocks / kNistSubsections < kBlocksMin) {
      stretches.push_back(Stretch{facts.nsid, 0, facts.capacity_bytes});
      continue;
    }
    Spread spread(seed_of(seed, facts.nsid));
    const auto add = [&](std::uint64_t block, std::uint64_t count) {
      stretches.push_back(
          Stretch{facts.nsid, block * facts.block_bytes, count * facts.block_bytes});
    };
    add(0, 1);
    for (std::uint64_t i = 0; i < kNistSubsections; ++i) {
      const std::uint64_t from = share(blocks, i, kNistSubsections);
      const std::uint64_t size = share(blocks, i + 1, kNistSubsections) - from;
      const std::uint64_t length = (size + kBlocksMin - 1) / kBlocksMin;
      const std::uint64_t slack = size - 2 * length;
      const std::uint64_t one = spread.below(slack + 1);
      const std::uint64_t two = spread.below(slack + 1);
      add(from + std::min(one, two), length);
      add(from + std::max(one, two) + length, length);
    }
    add(blocks - 1, 1);
  }
  return stretches;
}

}  // namespace reclaim::nvme
