// The configuration space of an invented network card, byte by byte: what the tests of its readers
// and the emulated function begin with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace reclaim::emulator {

inline void put_config(std::string& bytes, std::size_t at, std::size_t length,
                       std::uint64_t value) {
  for (std::size_t i = 0; i < length; ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
  }
}

inline std::uint64_t get_config(const std::string& bytes, std::size_t at, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t i = length; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// Where its capabilities are.
namespace card {
inline constexpr std::size_t kPower = 0x40;
inline constexpr std::size_t kMsi = 0x50;
inline constexpr std::size_t kVendor = 0x68;
inline constexpr std::size_t kMsiX = 0x70;
inline constexpr std::size_t kExpress = 0xa0;
inline constexpr std::size_t kVpd = 0xe0;
inline constexpr std::size_t kErrors = 0x100;
inline constexpr std::size_t kSerial = 0x148;
inline constexpr std::size_t kSriov = 0x160;
inline constexpr std::size_t kVendorExtended = 0x1a0;
inline constexpr std::size_t kRouting = 0x1c0;
}  // namespace card

inline std::string card_config(std::uint16_t vendor = 0x8086, std::uint16_t device = 0x1572,
                               std::uint32_t class_code = 0x020000) {
  std::string bytes(4096, '\0');
  const auto put = [&bytes](std::size_t at, std::size_t length, std::uint64_t value) {
    put_config(bytes, at, length, value);
  };
  put(0x00, 2, vendor);
  put(0x02, 2, device);
  put(0x04, 2, 0x0406);  // memory, bus master, no INTx
  put(0x06, 2, 0x0010);
  put(0x08, 1, 0x02);
  put(0x09, 3, class_code);
  put(0x0c, 1, 0x10);
  put(0x0e, 1, 0x80);
  put(0x10, 8, 0x38'0000'000cULL);  // 64 bits, prefetchable
  put(0x1c, 8, 0x38'0180'000cULL);
  put(0x2c, 2, vendor);
  put(0x2e, 2, 0x0004);
  put(0x30, 4, 0xc7a0'0000);
  put(0x34, 1, card::kPower);
  put(0x3c, 2, 0x010b);
  put(card::kPower, 4, 0x7803'0001U | card::kMsi << 8U);
  put(card::kPower + 4, 4, 0x0000'2008);
  put(card::kMsi, 4, 0x0180'0005U | card::kVendor << 8U);
  put(card::kVendor, 4, 0x0008'0009U | card::kMsiX << 8U);
  put(card::kVendor + 4, 4, 0x1234'5678);
  put(card::kMsiX, 4, 0x8080'0011U | card::kExpress << 8U);
  put(card::kMsiX + 4, 8, 0x0000'1003'0000'0003ULL);
  put(card::kExpress, 4, 0x0002'0010U | card::kVpd << 8U);
  put(card::kExpress + 4, 4, 0x1000'8cc2);   // FLR
  put(card::kExpress + 8, 4, 0x0009'2937);   // errors were detected
  put(card::kExpress + 12, 4, 0x0043'9483);  // 8 GT/s x8
  put(card::kExpress + 16, 4, 0x1083'0040);  // the same now
  put(card::kExpress + 0x24, 4, 0x0000'081f);
  put(card::kVpd, 4, 0x0000'0003);
  put(card::kErrors, 4, 0x0002'0001U | card::kSerial << 20U);
  put(card::kErrors + 8, 4, 0x0010'0000);
  put(card::kErrors + 0xc, 4, 0x0046'2030);
  put(card::kErrors + 0x14, 4, 0x2000);
  put(card::kErrors + 0x18, 4, 0xa0);
  put(card::kSerial, 4, 0x0001'0003U | card::kSriov << 20U);
  put(card::kSerial + 4, 8, 0x3cfd'feff'ff12'3456ULL);
  put(card::kSriov, 4, 0x0001'0010U | card::kVendorExtended << 20U);
  put(card::kSriov + 0xc, 4, 0x0040'0040);
  put(card::kSriov + 0x14, 4, 0x0001'0010);
  put(card::kSriov + 0x18, 4, 0x154c'0000);
  put(card::kSriov + 0x1c, 8, 0x1'0000'0553ULL);
  put(card::kSriov + 0x24, 8, 0x38'0260'000cULL);
  put(card::kVendorExtended, 4, 0x0001'000bU | card::kRouting << 20U);
  put(card::kVendorExtended + 4, 4, 0x0181'0001);  // 24 bytes
  put(card::kVendorExtended + 8, 4, 0xcafe'f00d);
  put(card::kRouting, 4, 0x0001'000e);
  return bytes;
}

}  // namespace reclaim::emulator
