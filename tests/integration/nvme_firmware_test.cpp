// Firmware put back into an emulated drive, through the real libnvme: in pieces, slot by slot, with
// images and drives that fail in every way.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "nvme/controller/buffer.h"
#include "tests/emulator/model/firmware.h"
#include "tests/integration/surfaces_fixture.h"

namespace reclaim::nvme {
namespace {

constexpr const char* kTwoSlots = "model=M1,firmware=FW1,frmw=0x04,firmware_slot=2:FW2";
constexpr const char* kAtOnce = "model=M1,firmware=FW1,frmw=0x14,firmware_slot=2:FW2";

class FirmwareTest : public SurfacesTest {
 protected:
  // An image of the operator's, on the host's disk and in the configuration.
  std::string add_image(const std::string& revision, std::uint8_t slot, std::size_t bytes = 9'000) {
    const std::vector<std::byte> image = emulator::make_firmware(revision, bytes);
    const std::filesystem::path path = root_ / (revision + ".bin");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()),
               static_cast<std::streamsize>(image.size()));
    EXPECT_EQ(::chmod(path.c_str(), 0644), 0);
    options_.firmware.owner = ::geteuid();
    options_.firmware.images.push_back(
        FirmwareImage{"M1", revision, slot, path.string(), sha256_hex(image)});
    return path.string();
  }
  // A drive that was enrolled with FW1 active in slot 1 and FW2 in slot 2, and images of both.
  void enrolled(const std::string& made, std::size_t bytes = 9'000) {
    options_.firmware.images.clear();
    make_drive(made, false);
    add_image("FW1", 1, bytes);
    add_image("FW2", 2, bytes);
    take_again();
    before_ = enrol();
  }
  Result<StepReport> restore() { return step("restore_firmware", before_); }
  void expect_clean_afterwards() {
    const auto judged = step("reset_controller_state", before_);
    EXPECT_TRUE(judged.ok()) << judged.error().what;
  }
  [[nodiscard]] std::string slots() {
    return (*host_->drive(kAddress))->with([](auto&, emulator::DriveState& state) {
      const auto text = [](const std::array<char, 8>& field) {
        const std::string all(field.begin(), field.end());
        return all.substr(0, all.find_first_of(std::string(" \0", 2)));
      };
      return std::to_string(state.firmware_slot_active) + " " + text(state.firmware_slots[0]) +
             " " + text(state.firmware_slots[1]) + " runs " + text(state.firmware);
    });
  }
  [[nodiscard]] std::uint64_t admin_commands() {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) { return state.admin_commands; });
  }
  [[nodiscard]] std::uint32_t activations() {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return state.firmware_activations;
    });
  }
  // What the tenant did; the step has to fail and to say so, and slots are then as given.
  void expect_refused(std::string_view says, const std::string& slots_then,
                      Errc code = Errc::failed) {
    expect_error(restore(), code, says);
    EXPECT_EQ(slots(), slots_then);
  }
  std::string before_;
};

TEST_F(FirmwareTest, WhatIsAsEnrolledIsNotWritten) {
  enrolled(kTwoSlots);
  std::filesystem::remove(root_ / "FW1.bin");  // nothing has to be read
  expect_finding(restore(), "firmware", "as enrolled", false);
  before_.clear();
  expect_finding(restore(), "firmware", "nothing to compare with", false);
}

TEST_F(FirmwareTest, ASlotThatIsNotActiveIsWrittenAndStaysInactive) {
  enrolled(kTwoSlots);
  set("firmware_slot", "2:EVIL");
  expect_finding(restore(), "firmware", "slot 2 held 'EVIL', at enrolment 'FW2'; FW2 was written",
                 true);
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
  expect_clean_afterwards();
  EXPECT_DOUBLE_EQ(progress_.back().percent, 90);
}

TEST_F(FirmwareTest, TheActiveSlotIsWrittenAndActivated) {
  for (const char* made : {kTwoSlots, kAtOnce}) {
    for (const char* activation : {"normal", "controller_reset", "takes_too_long"}) {
      SCOPED_TRACE(std::string(made) + " " + activation);
      enrolled(made);
      set("firmware", "EVIL");
      set("firmware_activation", activation);
      expect_finding(restore(), "firmware", "FW1 was written and activated", true);
      EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
      expect_clean_afterwards();
      throw_away();
    }
  }
}

TEST_F(FirmwareTest, AnotherActiveSlotIsSwitchedBack) {
  for (const char* made : {kTwoSlots, kAtOnce}) {
    SCOPED_TRACE(made);
    enrolled(made);
    set("firmware_slot", "2:EVIL");
    set("firmware_pending", "2");
    ASSERT_TRUE(host_->reset(kAddress).ok());
    take_again();
    ASSERT_EQ(slots(), "2 FW1 EVIL runs EVIL");
    expect_finding(restore(), "firmware", "slot 2 was active, at enrolment slot 1", true);
    EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
    expect_clean_afterwards();
    throw_away();
  }
}

// A reset has to come before the image is sent, and must not let the tenant's firmware run.
TEST_F(FirmwareTest, WhatWaitsForAResetIsCalledOffBeforeTheReset) {
  enrolled(kTwoSlots);
  set("firmware_slot", "2:EVIL");
  set("firmware_pending", "2");
  set("firmware_piece", "0:4096");
  expect_finding(restore(), "firmware", "slot 2 was to be after the next reset", true);
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
  EXPECT_EQ(activations(), 1U) << "ours alone";
  expect_clean_afterwards();
}

// Written into the slot that runs, with any reset it would run: so it is replaced without one.
TEST_F(FirmwareTest, WhatWaitsInTheActiveSlotDoesNotRunEither) {
  enrolled(kTwoSlots);
  set("firmware_slot", "1:EVIL");
  set("firmware_pending", "1");
  expect_finding(restore(), "firmware", "slot 1 held 'EVIL'", true);
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
  EXPECT_EQ(activations(), 1U) << "ours alone";
  set("firmware_slot", "1:EVIL");
  set("firmware_piece", "0:4096");
  expect_refused("overlaps one that was sent before", "1 EVIL FW2 runs FW1");
}

TEST_F(FirmwareTest, PiecesThatWereLeftAreDropped) {
  enrolled(kTwoSlots);
  for (const char* piece : {"0:4096", "4096:4096", "12288:4096", "61440:4096"}) {
    SCOPED_TRACE(piece);
    set("firmware_slot", "2:EVIL");
    set("firmware_piece", piece);
    expect_finding(restore(), "firmware", "FW2 was written", true);
    EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
  }
}

TEST_F(FirmwareTest, ImagesAreSentInPiecesAsTheDriveWantsThem) {
  for (const char* pieces : {"fwug=0,mdts=0", "fwug=255,mdts=7", "fwug=1,mdts=1", "fwug=2,mdts=1",
                             "fwug=3,mdts=4", "fwug=16,mdts=5"}) {
    SCOPED_TRACE(pieces);
    enrolled(std::string(kTwoSlots) + "," + pieces, 61'004);
    set("firmware_slot", "2:EVIL");
    expect_finding(restore(), "firmware", "FW2 was written", true);
    EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
    throw_away();
  }
  enrolled(std::string(kTwoSlots) + ",fwug=4,mdts=1");
  set("firmware_slot", "2:EVIL");
  expect_refused("wants pieces of 16384 bytes and takes 8192", "1 FW1 EVIL runs FW1");
}

TEST_F(FirmwareTest, WithoutAnImageNothingIsWritten) {
  enrolled(kTwoSlots);
  options_.firmware.images.pop_back();  // of slot 2
  take_again();
  set("firmware_slot", "2:EVIL");
  set("firmware", "EVIL");
  expect_finding(restore(), "firmware", "has no image of M1 for it: left as it is", false);
  EXPECT_EQ(slots(), "1 EVIL EVIL runs EVIL");
  expect_error(step("reset_controller_state", before_), Errc::failed, "slot 2 holds");
  // Nor where it is of another model, or the slot was empty.
  options_.firmware.images.front().model = "M2";
  take_again();
  expect_finding(restore(), "firmware", "no image of M1", false);
  EXPECT_EQ(slots(), "1 EVIL EVIL runs EVIL");
}

TEST_F(FirmwareTest, ImagesAreReadBeforeAnythingIsWritten) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("firmware_slot", "2:EVIL");
  const std::string second = (root_ / "FW2.bin").string();
  ASSERT_EQ(::chmod(second.c_str(), 0666), 0);
  expect_refused("`chmod go-w " + second + "`", "1 EVIL EVIL runs EVIL");
  ASSERT_EQ(::chmod(second.c_str(), 0644), 0);
  std::ofstream(second, std::ios::app) << "more";
  expect_refused("firmware_images says", "1 EVIL EVIL runs EVIL");
  std::filesystem::remove(second);
  const std::uint64_t asked = admin_commands();
  expect_refused("No such file or directory", "1 EVIL EVIL runs EVIL");
  EXPECT_LE(admin_commands(), asked + 2) << "only its state was read";
}

TEST_F(FirmwareTest, ABadImageIsRefusedByTheDrive) {
  enrolled(kTwoSlots);
  set("firmware_slot", "2:EVIL");
  const std::vector<std::byte> noise(8192, std::byte{7});
  std::ofstream(root_ / "FW2.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(noise.data()), 8192);
  options_.firmware.images[1].sha256 = sha256_hex(noise);
  take_again();
  expect_refused("finds the firmware image invalid", "1 FW1 EVIL runs FW1");
}

TEST_F(FirmwareTest, WhatTheDriveDoesNotTakeIsSaidWithTheRemedy) {
  struct Case {
    std::string made;
    std::string left;
    std::string value;
    std::string_view says;
  };
  for (const Case& c : {
           Case{"frmw=0x05", "firmware", "EVIL", "slot 1 is read only: replace the drive"},
           Case{"frmw=0x02", "firmware_slot", "2:EVIL", ""},
       }) {
    SCOPED_TRACE(c.made);
    enrolled(std::string(kTwoSlots));
    set(c.left, c.value);
    set("frmw", c.made.substr(5));
    expect_error(restore(), Errc::failed, c.says.empty() ? "lets 1 slots be written" : c.says);
    throw_away();
  }
  // Read only and intact, it is only activated.
  enrolled("model=M1,firmware=FW1,frmw=0x05,firmware_slot=2:FW2");
  set("firmware_slot", "2:EVIL");
  set("firmware_pending", "2");
  ASSERT_TRUE(host_->reset(kAddress).ok());
  take_again();
  expect_finding(restore(), "firmware", "FW1 was activated", true);
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1");
}

TEST_F(FirmwareTest, AnActivationThatNeedsMoreThanAResetIsAnError) {
  for (const char* made : {kTwoSlots, kAtOnce}) {
    SCOPED_TRACE(made);
    enrolled(made);
    set("firmware", "EVIL");
    set("firmware_activation", "conventional_reset");
    expect_refused("power-cycle the drive", "1 FW1 FW2 runs EVIL");
    // It does not get better by itself, and is well after the remedy.
    expect_refused("power-cycle the drive", "1 FW1 FW2 runs EVIL");
    set("firmware_activation", "normal");
    ASSERT_TRUE(host_->power_loss(kAddress).ok());
    take_again();
    expect_clean_afterwards();
    set("firmware", "EVIL");
    set("firmware_activation", "subsystem_reset");
    expect_refused("nvme subsystem-reset", "1 FW1 FW2 runs EVIL");
    throw_away();
    enrolled(made);
    set("firmware", "EVIL");
    set("firmware_activation", "prohibited");
    expect_refused("prohibits the activation", "1 EVIL FW2 runs EVIL");
    throw_away();
  }
}

TEST_F(FirmwareTest, ADriveIsNotBelieved) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("ignores_commit", "1");
  expect_refused("slot 1 holds 'EVIL'", "1 EVIL FW2 runs EVIL");
  set("ignores_commit", "0");
  set("firmware_becomes", "OLD");
  expect_refused("slot 1 holds 'OLD'", "1 OLD FW2 runs OLD");
  set("firmware_becomes", "");
  set("firmware_says", "EVIL");
  expect_refused("Identify says revision 'EVIL'", "1 FW1 FW2 runs EVIL");
}

TEST_F(FirmwareTest, AResetInTheMiddleIsNotTakenForADoneCommit) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("resets_at_commit", "1");
  expect_error(restore(), Errc::unknown, "Firmware Commit, slot 1");
  expect_finding(restore(), "firmware", "FW1 was written and activated", true);
}

TEST_F(FirmwareTest, AControllerThatDoesNotComeBackIsAnError) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("dies_at_activation", "1");
  expect_error(restore(), Errc::failed, "did not bring the drive back");
}

// Its state is read with two commands, the pieces are dropped with four, two send the image, and
// the tenth commits it: whichever comes before it is answered by another drive.
// By what a tenant's firmware hid, the erase was chosen.
TEST_F(FirmwareTest, OtherCapabilitiesThanBeforeAreAnError) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("sanicap", "crypto");
  expect_refused("it is put back, and with it the drive has other capabilities",
                 "1 FW1 FW2 runs FW1");
  take_again();
  expect_finding(restore(), "firmware", "as enrolled", false);
}

TEST_F(FirmwareTest, AnotherDriveIsNotWritten) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  for (int after = 2; after <= 8; ++after) {
    SCOPED_TRACE(after);
    set("serial_changes_after", std::to_string(after));
    expect_error(restore(), Errc::refused, "serial");
    EXPECT_EQ(slots(), "1 EVIL FW2 runs EVIL");
    set("serial_changes_after", "0");
  }
  const std::uint64_t before = admin_commands();
  set("serial_changes_after", "9");
  expect_error(restore(), Errc::refused, "serial");
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1") << "the tenth was the commit";
  EXPECT_GE(admin_commands(), before + 10);
}

TEST_F(FirmwareTest, WhatTheHostUsesIsNotWritten) {
  enrolled(kTwoSlots);
  set("firmware", "EVIL");
  set("mounted", "/srv");
  expect_error(restore(), Errc::refused, "mounted");
  EXPECT_EQ(slots(), "1 EVIL FW2 runs EVIL");
}

TEST_F(FirmwareTest, RevisionsOfDeviceSpecCountInsteadOfTheEnrolment) {
  enrolled(kTwoSlots);
  request_.rules.firmware_allowed = {"FW2", "FW3"};
  take_again();
  expect_finding(restore(), "firmware", "slot 1 held FW1, which is not allowed", false);
  EXPECT_EQ(slots(), "1 FW1 FW2 runs FW1") << "its image is not allowed either";
  add_image("FW3", 1);
  take_again();
  expect_finding(restore(), "firmware", "FW3 was written and activated", true);
  EXPECT_EQ(slots(), "1 FW3 FW2 runs FW3");
  expect_clean_afterwards();
  expect_finding(restore(), "firmware", "every revision is an allowed one", false);
}

}  // namespace
}  // namespace reclaim::nvme
