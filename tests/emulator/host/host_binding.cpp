// Host: which driver has a drive, and how long it takes to come up.
#include <algorithm>
#include <fstream>

#include "tests/emulator/host/host.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

void put_text(std::span<char> field, std::string_view text) {
  std::fill(field.begin(), field.end(), '\0');
  std::copy_n(text.begin(), std::min(text.size(), field.size()), field.begin());
}

void put_controller_state(DriveState& state, std::string_view text) {
  put_text(std::span(state.host.controller_state).first(15), text);
}

void finish(DriveState& state) {
  state.host.settles_at_ms = 0;
  const bool lives = state.host.outcome == ProbeFault::none;
  put_controller_state(state, lives ? "live" : "dead");
  if (state.host.outcome == ProbeFault::released) put_text(state.host.driver, "");
}

// A bind or reset comes to `outcome` at once, or when settle_ms have passed.
void begin(DriveState& state, ProbeFault outcome) {
  state.host.outcome = outcome;
  if (state.host.settle_ms == 0) {
    finish(state);
    return;
  }
  put_controller_state(state, "resetting");
  state.host.settles_at_ms = drive_now().ms + state.host.settle_ms;
}

}  // namespace

Status Host::bind(const std::string& address, const std::string& driver) {
  if (const auto other = function(address)) return other->bind(driver);
  auto found = drive(address);
  if (!found.ok()) return found.error();
  if (!driver.empty() && !fs::exists(root_ / "sys/bus/pci/drivers" / driver)) {
    return Error{Errc::not_found, "the emulated host has no driver " + driver};
  }
  const bool refused = (*found)->with([&](Controller& controller, DriveState& state) {
    const ProbeFault outcome = driver == "nvme" ? state.faults.probe_fails : ProbeFault::none;
    const bool fails = outcome == ProbeFault::unbound;
    put_text(state.host.driver, fails ? "" : driver);
    ++state.host.generation;
    controller.reset();
    state.host.known = {};
    begin(state, fails ? ProbeFault::none : outcome);
    return fails;
  });
  note_settling();
  if (const Status done = rescan(**found); !done.ok()) return done;
  if (refused) return Error{Errc::failed, "the nvme driver does not bind to " + address};
  return Ok{};
}

Status Host::reset(const std::string& address) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([](Controller& controller, DriveState& state) {
    controller.reset();
    const bool fails = state.faults.reset_fails;
    if (!fails) state.faults.probe_fails = ProbeFault::none;
    begin(state, fails ? ProbeFault::dead : ProbeFault::none);
  });
  note_settling();
  return sync(**found);
}

// Looked for with every open and stat, so that it must cost little while there is nothing to do.
void Host::note_settling() {
  std::ofstream(root_ / "state/settling").flush();
}

void Host::settle() {
  std::error_code code;
  if (!fs::exists(root_ / "state/settling", code)) return;
  bool more = false;
  for (const std::string& address : addresses()) {
    auto found = drive(address);
    if (!found.ok()) continue;
    const bool due = (*found)->with([&](Controller&, DriveState& state) {
      const std::int64_t at = state.host.settles_at_ms;
      if (at == 0) return false;
      if (drive_now().ms < at) {
        more = true;
        return false;
      }
      finish(state);
      return true;
    });
    if (due) (void)rescan(**found);
  }
  if (!more) fs::remove(root_ / "state/settling", code);
}

Status Host::replug(const std::string& address) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  tree_.remove_function(address);
  (*found)->with([](Controller& controller, DriveState& state) {
    controller.power_loss();
    ++state.host.generation;
    put_text(state.host.driver, "nvme");
    state.host.known = {};
    begin(state, state.faults.probe_fails);
  });
  note_settling();
  return rescan(**found);
}

bool Host::group_in_use(const std::string& group) {
  std::error_code code;
  for (const auto& each :
       fs::directory_iterator(root_ / "sys/kernel/iommu_groups" / group / "devices", code)) {
    const auto other = function(each.path().filename());
    if (other && other->vfio_user()) return true;
  }
  for (const std::string& address : addresses()) {
    auto found = drive(address);
    if (!found.ok()) continue;
    const bool used = (*found)->with([&](Controller&, DriveState& state) {
      return state.host.vfio_user && std::to_string(state.host.iommu_group) == group;
    });
    if (used) return true;
  }
  return false;
}

}  // namespace reclaim::emulator
