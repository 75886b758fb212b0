// The addresses of a device_spec entry: Nova's PciAddressGlobSpec and PciAddressRegexSpec.
#include <fmt/core.h>

#include <array>

#include "config/device_spec/device_spec.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::uint32_t kDomainsTried = 0x100;
// A glob's field: nothing for "*" and for a blank, otherwise a number up to `max`.
Result<std::optional<std::uint32_t>> glob_field(std::string_view text, std::string_view name,
                                                std::uint32_t max) {
  const std::string_view digits = strip(text);
  if (digits.empty() || digits == "*") return std::optional<std::uint32_t>{};
  const auto value = parse_hex<std::uint32_t>(digits);
  if (!value) {
    return Error{Errc::invalid,
                 fmt::format("the {} '{}' is neither a hex number nor '*' (for a range, write the "
                             "address as an object of regular expressions)",
                             name, printable_excerpt(text))};
  }
  if (*value > max) {
    return Error{Errc::invalid, fmt::format("the {} {:x} is greater than {:x}", name, *value, max)};
  }
  return value;
}

template <std::size_t N>
std::bitset<N> one_or_all(const std::optional<std::uint32_t>& value) {
  std::bitset<N> bits;
  if (value) return bits.set(*value);
  return bits.set();
}

Result<Pattern> compile(std::string_view text, std::string_view name) {
  auto pattern = Pattern::create(text);
  if (pattern.ok()) return pattern;
  return Error{pattern.error().code,
               fmt::format("the {} '{}' is not a usable regular expression: {}", name,
                           printable_excerpt(text), pattern.error().what)};
}

template <std::size_t N>
Result<std::bitset<N>> resolve(const std::optional<std::string>& text, std::string_view name,
                               int digits) {
  if (!text) return std::bitset<N>{}.set();
  auto pattern = compile(*text, name);
  if (!pattern.ok()) return pattern.error();
  std::bitset<N> bits;
  for (std::size_t i = 0; i < N; ++i) {
    if (pattern->matches_start(fmt::format("{:0{}x}", i, digits))) bits.set(i);
  }
  if (bits.none()) {
    return Error{Errc::invalid,
                 fmt::format("the {} '{}' matches no value from {:0{}x} to {:0{}x}", name,
                             printable_excerpt(*text), 0, digits, N - 1, digits)};
  }
  return bits;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

AddressPattern::AddressPattern() {
  buses_.set();
  slots_.set();
  functions_.set();
}

Result<AddressPattern> AddressPattern::from_glob(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view function =
      dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  const std::vector<std::string_view> given = split(text.substr(0, dot), ':');
  if (given.size() > 3) {
    return Error{Errc::invalid, fmt::format("'{}' has more than domain:bus:slot.function",
                                            printable_excerpt(text))};
  }
  // Nova fills up from the left: "0a:00" is a bus and a slot, "00" a slot.
  std::array<std::string_view, 3> fields;
  for (std::size_t i = 0; i < given.size(); ++i) fields.at(3 - given.size() + i) = given[i];

  const auto domain = glob_field(fields[0], "domain", 0xFFFFFFFF);
  if (!domain.ok()) return domain.error();
  const auto bus = glob_field(fields[1], "bus", 0xFF);
  if (!bus.ok()) return bus.error();
  const auto slot = glob_field(fields[2], "slot", 0x1F);
  if (!slot.ok()) return slot.error();
  const auto number = glob_field(function, "function", 0x7);
  if (!number.ok()) return number.error();

  AddressPattern pattern;
  pattern.domain_ = *domain;
  pattern.buses_ = one_or_all<256>(*bus);
  pattern.slots_ = one_or_all<32>(*slot);
  pattern.functions_ = one_or_all<8>(*number);
  return pattern;
}

Result<AddressPattern> AddressPattern::from_regex(const Fields& fields) {
  AddressPattern pattern;
  if (fields.domain) {
    auto domain = compile(*fields.domain, "domain");
    if (!domain.ok()) return domain.error();
    pattern.domain_pattern_ = *std::move(domain);
  }
  const auto buses = resolve<256>(fields.bus, "bus", 2);
  if (!buses.ok()) return buses.error();
  const auto slots = resolve<32>(fields.slot, "slot", 2);
  if (!slots.ok()) return slots.error();
  const auto functions = resolve<8>(fields.function, "function", 1);
  if (!functions.ok()) return functions.error();
  pattern.buses_ = *buses;
  pattern.slots_ = *slots;
  pattern.functions_ = *functions;
  return pattern;
}

bool AddressPattern::domain_matches(std::uint32_t domain) const {
  if (domain_) return *domain_ == domain;
  if (domain_pattern_) return domain_pattern_->matches_start(fmt::format("{:04x}", domain));
  return true;
}

bool AddressPattern::matches(const PciAddress& address) const {
  return address.slot < slots_.size() && address.function < functions_.size() &&
         buses_[address.bus] && slots_[address.slot] && functions_[address.function] &&
         domain_matches(address.domain);
}

bool AddressPattern::covers_a_host() const {
  return buses_.all() && slots_.all() && functions_.test(0) && domain_matches(0);
}

bool AddressPattern::overlaps(const AddressPattern& other) const {
  if ((buses_ & other.buses_).none() || (slots_ & other.slots_).none() ||
      (functions_ & other.functions_).none()) {
    return false;
  }
  if (domain_) return other.domain_matches(*domain_);
  if (other.domain_) return domain_matches(*other.domain_);
  for (std::uint32_t domain = 0; domain < kDomainsTried; ++domain) {
    if (domain_matches(domain) && other.domain_matches(domain)) return true;
  }
  return false;
}

bool AddressPattern::covers(const AddressPattern& other) const {
  if ((other.buses_ & ~buses_).any() || (other.slots_ & ~slots_).any() ||
      (other.functions_ & ~functions_).any()) {
    return false;
  }
  if (other.domain_) return domain_matches(*other.domain_);
  // A number is less than any domain.
  if (domain_ && !other.domain_pattern_) return false;
  for (std::uint32_t domain = 0; domain < kDomainsTried; ++domain) {
    if (other.domain_matches(domain) && !domain_matches(domain)) return false;
  }
  return true;
}

}  // namespace reclaim::config
