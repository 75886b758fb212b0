#include "nvme/pci/config_compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "nvme/controller/bytes.h"
#include "nvme/pci/config_registers.h"
#include "nvme/pci/config_space.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kHeaderBytes = 0x40;
constexpr std::size_t kLinesMax = 16;

// The bits of a configuration space that are not compared.
class Mask final {
 public:
  explicit Mask(std::string_view enrolled) : enrolled_(enrolled), bits_(enrolled.size(), 0) {}

  void add(std::size_t at, std::size_t bytes, std::uint32_t bits) {
    for (std::size_t i = 0; i < bytes && at + i < bits_.size(); ++i) {
      bits_[at + i] |= i < 4 ? static_cast<std::uint8_t>(bits >> (8 * i) & 0xffU) : 0xffU;
    }
  }
  // Masks all of the BARs but their kind. `at`: the first BAR's offset.
  void add_bars(std::size_t at) {
    for (std::size_t i = 0; i < reg::kBars && at + 4 * i + 4 <= bits_.size(); ++i) {
      const auto bar = load_le<std::uint32_t>(std::as_bytes(std::span(enrolled_)), at + 4 * i);
      add(at + 4 * i, 4, (bar & 1U) != 0 ? ~3U : ~0xfU);
      if ((bar & 1U) == 0 && reg::is_wide(bar) && i + 1 < reg::kBars) {
        ++i;
        add(at + 4 * i, 4, ~0U);
      }
    }
  }
  [[nodiscard]] std::uint8_t kept(std::string_view bytes, std::size_t at) const {
    return static_cast<std::uint8_t>(static_cast<unsigned char>(bytes[at]) & ~bits_[at]);
  }

 private:
  std::string_view enrolled_;
  std::vector<std::uint8_t> bits_;
};

Mask mask_of(std::string_view enrolled, const ConfigSpace& space,
             std::span<const ConfigRange> ignored) {
  Mask mask(enrolled);
  mask.add_bars(reg::kBar0);
  for (const VolatileRegister& each : volatile_registers()) {
    if (each.vendor_id != 0 && each.vendor_id != space.vendor_id) continue;
    if (each.part == ConfigPart::header) mask.add(each.offset, each.bytes, each.bits);
    for (const PciCapability& capability : space.capabilities) {
      if (each.part != (capability.extended ? ConfigPart::extended : ConfigPart::capability) ||
          each.id != capability.id || each.offset >= capability.bytes) {
        continue;
      }
      const std::size_t room = capability.bytes - each.offset;
      mask.add(std::size_t{capability.at} + each.offset, std::min<std::size_t>(room, each.bytes),
               each.bits);
    }
  }
  for (const PciCapability& capability : space.capabilities) {
    // The lists themselves are compared by what they lead to.
    mask.add(capability.at, capability.extended ? 4 : 2, ~0U);
    if (capability.extended && capability.id == reg::kSriov) mask.add_bars(capability.at + 0x24U);
  }
  if (!space.capabilities.empty()) mask.add(reg::kCapabilities, 1, ~0U);
  for (const ConfigRange& range : ignored) {
    for (std::size_t at = range.first; at <= range.last; ++at) mask.add(at, 1, ~0U);
  }
  return mask;
}

// True if both are the same capability, wherever what belongs to it ends.
bool same_place(const PciCapability& a, const PciCapability& b) {
  return a.extended == b.extended && a.id == b.id && a.version == b.version && a.at == b.at;
}

bool has(const ConfigSpace& space, const PciCapability& wanted) {
  return std::any_of(space.capabilities.begin(), space.capabilities.end(),
                     [&wanted](const PciCapability& each) { return same_place(each, wanted); });
}

std::uint32_t number_at(std::string_view bytes, const HeaderField& field) {
  std::uint32_t value = 0;
  for (std::size_t i = field.bytes; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[field.offset + i]);
  }
  return value;
}

class Comparison final {
 public:
  Comparison(std::string_view enrolled, std::string_view now, Mask mask)
      : enrolled_(enrolled), now_(now), mask_(std::move(mask)) {}

  void header() {
    for (const HeaderField& field : header_fields()) {
      if (first_difference(field.offset, field.offset + field.bytes) == now_.size()) continue;
      lines_.push_back(fmt::format("{} {:0{}x} was {:0{}x}", field.name, number_at(now_, field),
                                   field.bytes * 2, number_at(enrolled_, field), field.bytes * 2));
    }
  }

  void lists(const ConfigSpace& before, const ConfigSpace& after) {
    for (const PciCapability& each : before.capabilities) {
      if (!has(after, each)) lines_.push_back(fmt::format("{} is gone", to_string(each)));
    }
    for (const PciCapability& each : after.capabilities) {
      if (!has(before, each)) lines_.push_back(fmt::format("{} is new", to_string(each)));
    }
  }

  void bodies(const ConfigSpace& before, const ConfigSpace& after) {
    std::vector<bool> told(now_.size(), false);
    for (const PciCapability& each : before.capabilities) {
      const std::size_t end = std::size_t{each.at} + each.bytes;
      std::fill(told.begin() + each.at, told.begin() + static_cast<std::ptrdiff_t>(end), true);
      if (has(after, each)) region(to_string(each), each.at, end);
    }
    // Bytes that belong to nothing that the specification knows are compared in runs.
    for (std::size_t at = kHeaderBytes; at < now_.size(); ++at) {
      if (told[at]) continue;
      std::size_t end = at;
      while (end < now_.size() && !told[end]) ++end;
      region("device-specific registers", at, end);
      at = end;
    }
  }

  [[nodiscard]] std::vector<std::string> take() {
    if (lines_.size() > kLinesMax) {
      const std::size_t more = lines_.size() - kLinesMax;
      lines_.resize(kLinesMax);
      lines_.push_back(fmt::format("and {} more", more));
    }
    return std::move(lines_);
  }

 private:
  // now_.size(): there is none.
  [[nodiscard]] std::size_t first_difference(std::size_t begin, std::size_t end) const {
    for (std::size_t at = begin; at < end; ++at) {
      if (mask_.kept(enrolled_, at) != mask_.kept(now_, at)) return at;
    }
    return now_.size();
  }

  void region(std::string_view name, std::size_t begin, std::size_t end) {
    const std::size_t at = first_difference(begin, end);
    if (at == now_.size()) return;
    lines_.push_back(fmt::format("{} changed: {:#04x} is {:02x}, was {:02x}", name, at,
                                 static_cast<unsigned char>(now_[at]),
                                 static_cast<unsigned char>(enrolled_[at])));
  }

  std::string_view enrolled_;
  std::string_view now_;
  Mask mask_;
  std::vector<std::string> lines_;
};

}  // namespace

Result<std::vector<std::string>> compare_config(std::string_view enrolled, std::string_view now,
                                                std::span<const ConfigRange> ignored) {
  const auto before = parse_config_space(enrolled);
  if (!before) return before.error().wrap("the enrolled configuration space");
  const auto after = parse_config_space(now);
  if (!after) return after.error().wrap("the configuration space");
  if (enrolled.size() != now.size()) {
    return std::vector{fmt::format("the configuration space has {} bytes and had {}", now.size(),
                                   enrolled.size())};
  }
  Comparison comparison(enrolled, now, mask_of(enrolled, *before, ignored));
  comparison.header();
  comparison.lists(*before, *after);
  comparison.bodies(*before, *after);
  return comparison.take();
}

}  // namespace reclaim::nvme
