// The clean step that puts back the firmware of a drive from images of the operator's.
#include <fmt/core.h>

#include <vector>

#include "nvme/clean_steps.h"
#include "nvme/controller/admin.h"
#include "nvme/controller/firmware_slots.h"
#include "nvme/controller/status.h"
#include "nvme/controller_reset.h"
#include "nvme/firmware/image.h"
#include "nvme/firmware/update.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kSurface = "firmware";
constexpr double kSentPercent = 90;  // of a slot; the rest is for its commit

// Words an error of the step. Its code stays where it may pass by itself, or was done for all we
// know.
Error failed(const Error& error, std::string_view where = "") {
  if (error.code == Errc::cancelled) return error;
  const bool kept = error.code == Errc::unknown || error.code == Errc::busy;
  std::string what = fmt::format("{}: {}{}", kSurface, where, error.what);
  if (status_code(error.raw) == kSanitizeFailed) {
    what +=
        "; where the firmware has to wait for that, lower its priority: "
        "clean_step_priority_override = nvme.restore_firmware:84";
  }
  return Error{kept ? error.code : Errc::failed, std::move(what), error.raw};
}

// Restores one slot. Its methods block; each leaves a drive from which the next run of the step can
// begin again.
class SlotUpdate final {
 public:
  SlotUpdate(DriveContext& drive, const SlotToRestore& slot, std::span<const std::byte> image,
             const Patience& patience, StopFlag& stop, std::function<void(double)> on_percent)
      : drive_(drive),
        slot_(slot),
        image_(image),
        patience_(patience),
        stop_(stop),
        on_percent_(std::move(on_percent)) {}

  Status run(const FirmwareReading& now);

 private:
  [[nodiscard]] int controller() const { return drive_.claim.controller_fd(); }
  [[nodiscard]] std::uint32_t timeout_ms() const { return drive_.options.admin_timeout_ms; }
  [[nodiscard]] std::string where() const { return fmt::format("slot {}: ", slot_.image.slot); }
  Status reset();
  Status drop_pieces();
  Status download(std::size_t bytes);
  Result<Committed> commit(std::uint8_t slot, CommitAction action);

  DriveContext& drive_;
  const SlotToRestore& slot_;
  std::span<const std::byte> image_;
  const Patience& patience_;
  StopFlag& stop_;
  std::function<void(double)> on_percent_;
};

Status SlotUpdate::run(const FirmwareReading& now) {
  const auto bytes = piece_bytes(now.abilities);
  if (!bytes) return bytes.error();
  CommitAction action = CommitAction::replace;
  if (slot_.activate && now.activates_at_once()) {
    action = CommitAction::activate_at_once;
  } else if (slot_.activate) {
    action = slot_.write ? CommitAction::replace_and_activate_later : CommitAction::activate_later;
  }
  while (true) {
    if (slot_.write) {
      if (auto dropped = drop_pieces(); !dropped) return dropped;
      if (auto sent = download(*bytes); !sent) return sent;
    }
    const auto committed = commit(slot_.image.slot, action);
    if (!committed) return committed.error();
    if (*committed == Committed::done || !slot_.activate) return Ok{};
    if (*committed == Committed::waits_for_reset) return reset();
    action = slot_.write ? CommitAction::replace_and_activate_later : CommitAction::activate_later;
  }
}

// Resets the drive, and looks before the next command that it is the same one, and unused.
Status SlotUpdate::reset() {
  const Status done = reset_and_wait(drive_, stop_);
  if (done) return drive_.claim.recheck();
  if (done.error().code == Errc::cancelled) {
    return Error{Errc::cancelled, "stopped while the drive was reset for its firmware"};
  }
  return failed(Error{Errc::failed,
                      fmt::format("the reset for it did not bring the drive back: {}; power-cycle "
                                  "its slot, then clean the device again; if that fails too, "
                                  "replace it",
                                  done.error().what)},
                where());
}

// Drops the pieces that a tenant, or an earlier run, sent and did not commit: they would be a part
// of our image. A reset takes them away; it would also make active what waits for one, so that is
// called off first. An image that was written into the slot that runs cannot be: then the pieces
// stay, and drives refuse those that overlap.
Status SlotUpdate::drop_pieces() {
  if (auto ours = drive_.claim.recheck(); !ours) return ours;
  const auto now = read_firmware(controller(), timeout_ms());
  if (!now) return failed(now.error(), where());
  if (activation_waits(now->state.firmware)) {
    const auto called_off = commit(now->state.firmware.active_slot, CommitAction::activate_later);
    if (!called_off) return called_off.error();
    const auto then = read_firmware(controller(), timeout_ms());
    if (!then) return failed(then.error(), where());
    if (activation_waits(then->state.firmware)) {
      return failed(Error{Errc::failed,
                          fmt::format("slot {} still becomes active with the next reset; choose "
                                      "the slot you trust with `nvme fw-commit`, reset the drive, "
                                      "then clean the device again",
                                      then->state.firmware.next_slot)},
                    where());
    }
  }
  if (now->runs_another()) return Ok{};
  return reset();
}

Status SlotUpdate::download(std::size_t bytes) {
  if (auto ours = drive_.claim.recheck(); !ours) return ours;
  auto sent = download_firmware(
      controller(), image_, bytes, timeout_ms(), patience_, [this](std::size_t done) {
        on_percent_(kSentPercent * static_cast<double>(done) / static_cast<double>(image_.size()));
      });
  if (!sent) return failed(sent.error(), where());
  return Ok{};
}

Result<Committed> SlotUpdate::commit(std::uint8_t slot, CommitAction action) {
  if (auto going = patience_.check(); !going) return std::move(going).error();
  if (auto ours = drive_.claim.recheck(); !ours) return std::move(ours).error();
  const auto committed = commit_firmware(controller(), slot, action, timeout_ms());
  if (!committed) return failed(committed.error(), where());
  return committed;
}

// Checks what the drive says now of what was written.
Status check_restored(const FirmwareReading& now, const SlotToRestore& each) {
  const FirmwareState& firmware = now.state.firmware;
  const FirmwareImage& image = each.image;
  const std::string& holds = firmware.revisions[image.slot - 1U];
  std::string wrong;
  if (holds != image.revision) {
    wrong = fmt::format("slot {} holds '{}'", image.slot, holds);
  } else if (each.activate && firmware.active_slot != image.slot) {
    wrong = fmt::format("slot {} is active", firmware.active_slot);
  } else if (each.activate && now.state.firmware_revision != image.revision) {
    wrong = fmt::format("Identify says revision '{}'", now.state.firmware_revision);
  } else if (activation_waits(firmware)) {
    wrong = fmt::format("slot {} becomes active at the next reset", firmware.next_slot);
  }
  if (wrong.empty()) return Ok{};
  return failed(Error{
      Errc::failed,
      fmt::format("{} was to be put back into slot {}, and {}; correct the image's revision in "
                  "[nvme] firmware_images, or power-cycle or replace the drive",
                  image.revision, image.slot, wrong)});
}

// The erase was chosen by what the firmware told that is gone now. In error it is chosen again.
Status tells_the_same(DriveContext& drive) {
  const auto identity =
      identify_controller(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (!identity) return failed(identity.error());
  if (identity->capabilities == drive.claim.identity().capabilities) return Ok{};
  return Error{Errc::failed,
               fmt::format("{}: it is put back, and with it the drive has other capabilities than "
                           "before, by which its erase was chosen: `reclaim device clean {}` "
                           "chooses again",
                           kSurface, to_string(drive.claim.sys().address))};
}

StepReport one_finding(std::string found) {
  StepReport report;
  report.findings.push_back(StepFinding{std::string(kSurface), std::move(found), false});
  return report;
}

}  // namespace

Result<StepReport> restore_firmware(DriveContext& drive, const StepRequest& request,
                                    const ReportProgress& on_progress, StopFlag& stop) {
  const auto baseline = enrolled(drive, request.enrolment);
  if (!baseline) return baseline.error();
  const Patience patience = patience_of(drive, request, stop);
  const int controller = drive.claim.controller_fd();
  const std::uint32_t timeout_ms = drive.options.admin_timeout_ms;
  auto now = read_firmware(controller, timeout_ms);
  if (!now) return failed(now.error());
  const auto plan =
      plan_firmware(*now, *baseline ? &**baseline : nullptr, drive.claim.rules().firmware_allowed,
                    drive.options.firmware.images);
  if (!plan) return plan.error();
  if (plan->slots.empty()) return one_finding(plan->found);
  std::vector<std::vector<std::byte>> images;
  for (const SlotToRestore& each : plan->slots) {
    auto image = each.write ? read_image(drive.options.firmware, each.image)
                            : Result<std::vector<std::byte>>(std::vector<std::byte>{});
    if (!image) return failed(image.error());
    images.push_back(*std::move(image));
  }
  for (std::size_t i = 0; i < plan->slots.size(); ++i) {
    const auto on_percent = [&](double percent) {
      const auto slots = static_cast<double>(plan->slots.size());
      on_progress(EraseProgress{(static_cast<double>(i) * 100 + percent) / slots, -1});
    };
    SlotUpdate update(drive, plan->slots[i], images[i], patience, stop, on_percent);
    if (auto done = update.run(*now); !done) return std::move(done).error();
    drive.log.info(
        log_name::kNvme,
        fmt::format("{}: firmware {} put back into slot {}", to_string(drive.claim.sys().address),
                    plan->slots[i].image.revision, plan->slots[i].image.slot));
  }
  now = read_firmware(controller, timeout_ms);
  if (!now) return failed(now.error());
  if (auto same = tells_the_same(drive); !same) return same.error();
  StepReport report;
  for (const SlotToRestore& each : plan->slots) {
    if (auto good = check_restored(*now, each); !good) return std::move(good).error();
    report.findings.push_back(
        StepFinding{std::string(kSurface),
                    fmt::format("{}; {} was {}{}", each.found, each.image.revision,
                                each.write ? "written" : "activated",
                                each.write && each.activate ? " and activated" : ""),
                    true});
  }
  return report;
}

}  // namespace reclaim::nvme
