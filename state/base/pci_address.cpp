#include "state/base/pci_address.h"

#include <fmt/core.h>

#include "state/base/text.h"

namespace reclaim {
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
  const auto domain = parse_number<std::uint32_t>(text.substr(0, domain_digits), 16);
  const auto bus = parse_number<std::uint32_t>(rest.substr(1, 2), 16);
  const auto slot = parse_number<std::uint32_t>(rest.substr(4, 2), 16);
  const auto function = parse_number<std::uint32_t>(rest.substr(7, 1), 16);
  if (!domain || !bus || !slot || !function || *slot > 31 || *function > 7) return error;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*slot),
                    static_cast<std::uint8_t>(*function)};
}

}  // namespace reclaim
