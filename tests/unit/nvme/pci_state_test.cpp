// The enrolment baseline of a PCI function as text.
#include "nvme/pci/pci_state.h"

#include <gtest/gtest.h>

#include "tests/emulator/host/config_image.h"

namespace reclaim::nvme {
namespace {

PciState full() {
  PciState state;
  state.config = emulator::card_config();
  state.rom = PciRom{true, 65'536, std::string(64, 'a')};
  state.link_speed = 3;
  state.link_width = 8;
  state.errors = PciErrorCounters{5, 1, ~std::uint64_t{0}};
  return state;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

void expect_invalid(const std::string& text, std::string_view says) {
  const auto state = decode_pci_state(text);
  ASSERT_FALSE(state.ok()) << says;
  EXPECT_EQ(state.error().code, Errc::invalid);
  EXPECT_NE(state.error().what.find(says), std::string::npos) << state.error().what;
}

TEST(PciState, ComesBackAsItWas) {
  const auto back = decode_pci_state(encode_pci_state(full()));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, full());
  PciState bare;
  bare.config = emulator::card_config().substr(0, 256);
  const auto again = decode_pci_state(encode_pci_state(bare));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(*again, bare);
}

TEST(PciState, IsOneLineWithoutTheZerosAtTheEnd) {
  const std::string text = encode_pci_state(full());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 1'500U);
  EXPECT_TRUE(text.starts_with(R"({"version":1,"config_bytes":4096,"config":"86807215)")) << text;
  PciState noisy = full();
  for (std::size_t i = 0x200; i < noisy.config.size(); ++i) noisy.config[i] = '\x5a';
  EXPECT_EQ(*decode_pci_state(encode_pci_state(noisy)), noisy);
}

TEST(PciState, WhatIsWrongIsNamed) {
  const std::string good = encode_pci_state(full());
  expect_invalid("", "the enrolment baseline");
  expect_invalid("{}", "version");
  expect_invalid(replaced(good, "\"version\":1", "\"version\":2"), "of version 2; 1 is read");
  expect_invalid(replaced(good, "\"config\":\"86", "\"config\":\"8x"), "'config' is not hex");
  expect_invalid(replaced(good, "\"config\":\"8680", "\"config\":\"ffff"), "does not answer");
  expect_invalid(replaced(good, "4096", "128"), "'config_bytes' does not fit");
  expect_invalid(replaced(good, "4096", "2048"), "has 64, 256 or 4096 bytes");
  expect_invalid(replaced(good, "4096", "4294967295"), "'config_bytes' does not fit");
  expect_invalid(replaced(good, "\"link_width\":8", "\"link_width\":256"), "'link_width'");
  expect_invalid(replaced(good, "\"fatal\":18446744073709551615", "\"fatal\":-1"),
                 "'errors.fatal'");
  expect_invalid(replaced(good, "\"present\":true", "\"present\":1"), "'rom.present'");
  expect_invalid(replaced(good, "aaaa", "aaaA"), "'rom.sha256'");
  expect_invalid(replaced(good, "\"present\":true", "\"present\":false"), "'rom.sha256'");
}

TEST(PciRom, IsToldInWords) {
  EXPECT_EQ(to_string(PciRom{}), "no ROM");
  EXPECT_EQ(to_string(PciRom{true, 512, "ab"}), "512 bytes, SHA-256 ab");
}

}  // namespace
}  // namespace reclaim::nvme
