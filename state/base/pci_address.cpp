#include "state/base/pci_address.h"

#include <fmt/core.h>

#include <optional>

namespace reclaim {
namespace {

std::optional<std::uint32_t> hex(std::string_view digits) {
  std::uint32_t value = 0;
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    std::uint32_t nibble = 0;
    if (c >= '0' && c <= '9') {
      nibble = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      nibble = static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      nibble = static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value << 4U | nibble;
  }
  return value;
}

}  // namespace

std::string to_string(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.slot,
                     address.function);
}

Result<PciAddress> parse_pci_address(std::string_view text) {
  const Error error{Errc::invalid,
                    fmt::format("'{}' is not a PCI address like 0000:c1:00.0", text)};
  const std::size_t domain_digits = text.find(':');
  if (domain_digits == std::string_view::npos || domain_digits < 4 || domain_digits > 8) {
    return error;
  }
  const std::string_view rest = text.substr(domain_digits);
  if (rest.size() != 8 || rest[3] != ':' || rest[6] != '.') return error;
  const auto domain = hex(text.substr(0, domain_digits));
  const auto bus = hex(rest.substr(1, 2));
  const auto slot = hex(rest.substr(4, 2));
  const auto function = hex(rest.substr(7, 1));
  if (!domain || !bus || !slot || !function || *slot > 31 || *function > 7) return error;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*slot),
                    static_cast<std::uint8_t>(*function)};
}

}  // namespace reclaim
