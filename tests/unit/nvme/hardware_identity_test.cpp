// What stays with a drive's hardware, read from configuration space, as text, and compared.
#include "nvme/controller/hardware_identity.h"

#include <gtest/gtest.h>

namespace reclaim::nvme {
namespace {

void put_dword(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
}

// Advanced Error Reporting, then the Device Serial Number.
std::string config_space(std::uint32_t high, std::uint32_t low) {
  std::string bytes(4096, '\0');
  put_dword(bytes, 0x100, 0x14820001);
  put_dword(bytes, 0x148, 0x00010003);
  put_dword(bytes, 0x14c, low);
  put_dword(bytes, 0x150, high);
  return bytes;
}

TEST(DeviceSerialNumber, IsFoundAlongTheExtendedCapabilities) {
  EXPECT_EQ(device_serial_number(config_space(0x00253891, 0x11c0bde3)), "00-25-38-91-11-c0-bd-e3");
}

TEST(DeviceSerialNumber, OfZerosOrOnesIsNone) {
  EXPECT_EQ(device_serial_number(config_space(0, 0)), "");
  EXPECT_EQ(device_serial_number(config_space(0xffffffff, 0xffffffff)), "");
}

TEST(DeviceSerialNumber, IsNotLookedForBeyondWhatWasRead) {
  const std::string whole = config_space(1, 2);
  for (const std::size_t bytes : {0U, 64U, 256U, 0x148U, 0x153U}) {
    EXPECT_EQ(device_serial_number(whole.substr(0, bytes)), "") << bytes;
  }
  EXPECT_NE(device_serial_number(whole.substr(0, 0x154)), "");
}

TEST(DeviceSerialNumber, OfADeadFunctionOrAChainThatLoopsIsNone) {
  EXPECT_EQ(device_serial_number(std::string(4096, '\xff')), "");
  std::string loop(4096, '\0');
  put_dword(loop, 0x100, 0x10010001);
  EXPECT_EQ(device_serial_number(loop), "");
  put_dword(loop, 0x100, 0x04010001);  // back into the ordinary space
  EXPECT_EQ(device_serial_number(loop), "");
}

TEST(Hardware, IsComparedBySerialNumberAndOtherwiseOnlyToldApartBySlot) {
  const HardwareIdentity whole{"01", "3"};
  EXPECT_EQ(compare(whole, {"01", "4"}), Match::same);
  EXPECT_EQ(compare(whole, {"02", "3"}), Match::different);
  EXPECT_EQ(compare(whole, {"", "4"}), Match::different);
  EXPECT_EQ(compare(whole, {"", "3"}), Match::unknown);
  EXPECT_EQ(compare({}, whole), Match::unknown);
  EXPECT_EQ(compare({}, {}), Match::unknown);
}

TEST(Hardware, AsTextComesBack) {
  for (const HardwareIdentity& identity :
       {HardwareIdentity{}, HardwareIdentity{"00-01", ""}, HardwareIdentity{"", "3"},
        HardwareIdentity{"00-01", "12-1"}}) {
    const auto back = decode_hardware(encode_hardware(identity));
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(*back, identity);
  }
  EXPECT_EQ(encode_hardware({"", "bay 3"}), "") << "a name that would break the line is left out";
  for (const char* text : {"dsn", "slot=3 dsn=01", "dsn=01 slot=3 ", "else=1"}) {
    EXPECT_EQ(decode_hardware(text).error().code, Errc::invalid) << text;
  }
}

}  // namespace
}  // namespace reclaim::nvme
