// Drives: the seam between what decides (handlers/) and the host's drives. One real implementation
// (nvme/drive_threads.h), one in memory with faults (tests/sim).
//
// Thread: every method is called on the loop's thread and returns at once; every callback is called
// exactly once, later, on the loop's thread. Commands run on the drive thread of their
// drive.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "nvme/command/command.h"
#include "nvme/controller/facts.h"
#include "nvme/pci/pci_step.h"
#include "state/base/callback.h"

namespace reclaim::nvme {

// True if a device may be asked anything: a device_spec entry matches it, of [nvme] a drive, of
// [devices] another PCI function.
using MayBeAsked = std::function<bool(const DriveFacts&)>;

class Drives {
 public:
  virtual ~Drives() = default;

  // Every PCI function of class NVMe, from sysfs alone plus, where a controller is live and not
  // busy in a drive thread, its Identify and SMART counters (opened read-only). Never disturbs a
  // drive. A drive that does not answer in time, or that no device_spec entry matches, is told of
  // without them, its problem says which; it keeps nobody from being told of the others. Functions
  // of `others` that are of another class are reported too, without anything but ids, class, driver
  // and hardware, and the guest that has one that may be asked: what is not a drive is never
  // opened.
  virtual void discover(const std::set<PciAddress>& others,
                        Callback<std::vector<DriveFacts>> done) = 0;

  // Finds the signatures on the media of a drive that nobody gave us: partition tables,
  // filesystems, LVM, md, as blkid names them with their namespace ("nvme0n1: gpt partition
  // table"); empty: nothing that is known. Opened read-only. Errc::busy or refused: it cannot be
  // read.
  virtual void find_signatures(const PciAddress& address,
                               Callback<std::vector<std::string>> done) = 0;

  // Looks at every guard of nvme/host/guards.h in order, opens and claims controller and
  // namespaces. Refusal is Errc::refused with the guard's name and detail as text; Errc::busy where
  // waiting may help (a guest still has it, the driver is not bound or not live yet, all drive
  // threads are taken); Errc::failed where only an operator can mend it (another serial). On
  // success the claim is held until drop().
  virtual void claim(const ClaimRequest& request, Callback<ClaimReport> done) = 0;

  // Guards only, without claiming anything: for `plan` and `doctor`. Reports all, refused or not.
  virtual void inspect(const ClaimRequest& request, Callback<std::vector<GuardFinding>> done) = 0;

  // Claims, or inspects, a PCI function that is no drive. Nothing of it is opened: what keeps
  // guests off is in nvme/pci/driver_stay.h. Errc::busy, refused, failed as claim() and inspect().
  virtual void claim_function(const PciClaimRequest& request, Callback<ClaimReport> done) = 0;
  virtual void inspect_function(const PciClaimRequest& request,
                                Callback<std::vector<GuardFinding>> done) = 0;

  // Runs a built-in step (nvme/pci/pci_steps.h) of a claimed function that is no drive, with the
  // errors of run_step(). read_enrolment() reads the function as it stands, as the text of its
  // enrolment baseline.
  virtual void run_function_step(const PciAddress& address, const PciStepRequest& request,
                                 Callback<StepReport> done) = 0;
  virtual void read_enrolment(const PciAddress& address, Callback<std::string> done) = 0;

  // Runs one clean step of those before the erase (facts.h, StepRequest). Idempotent; needs a
  // claim. Errc::failed: the drive has to be quarantined, the text names the surface, what was
  // found and what to do. Errc::refused or busy: a guard, before anything was changed.
  // Errc::cancelled.
  virtual void run_step(const PciAddress& address, const StepRequest& request,
                        std::function<void(EraseProgress)> on_progress,
                        Callback<StepReport> done) = 0;

  // Runs a step of an operator's own as a child process; needs a claim. Errc::refused or busy: a
  // guard, the command is not acceptable or has changed since the plan was locked in, or the step
  // says "later". Errc::failed: the step's own words, a timeout, or what it wrote is not the
  // protocol. Errc::cancelled.
  virtual void run_command(const PciAddress& address, const Command& command,
                           std::function<void(CommandProgress)> on_progress,
                           Callback<CommandReport> done) = 0;

  // Reads the samples and writes and digests the canary. Needs a claim.
  virtual void take_baseline(const PciAddress& address, Callback<Baseline> done) = 0;

  // Re-checks the claim and the guards that can change, then sends the one destructive command, or
  // adopts what runs, and polls to the end. Errc::failed: the drive says it did not erase.
  // Errc::unknown: timeout, stall, reset, or cancelled by stop() with the command sent.
  // Errc::cancelled: stop() came before the command was sent. Errc::refused or busy: a guard,
  // before the command was sent. Errc::not_found, with adopt_ours only: no sanitize of ours runs or
  // is done, as far as the log and, by verification, the canaries can show, and no zeroing of ours
  // may go on; nothing was sent.
  virtual void erase(const PciAddress& address, const EraseRequest& request,
                     std::function<void(EraseProgress)> on_progress,
                     Callback<EraseEvidence> done) = 0;

  // Reads the media again with O_DIRECT, as much as the claim's rules say, and judges.
  // Errc::failed: old content found, an expectation broken, or nothing counted: unverified.
  virtual void verify(const PciAddress& address, const Baseline& baseline,
                      const EraseEvidence& evidence, std::function<void(EraseProgress)> on_progress,
                      Callback<VerifyReport> done) = 0;

  // Puts the former driver of an unmanaged drive, or of a function that is no drive, back, verifies
  // that it is bound, and holds its vfio group or cdev from then on; managed: nothing to do.
  // Errc::failed where it does not come back.
  virtual void restore_driver(const PciAddress& address, Callback<Ok> done) = 0;

  // The claimed descriptors still answer with the same serial, and the host-write counter stands
  // where verification left it; after restore_driver() of an unmanaged drive: it is bound to its
  // former driver and its group or cdev was ours all the while; so it is of a function that is no
  // drive, which has no counters. Errc::busy: it is all that, and too hot to be given back; that
  // passes by itself. Errc::refused otherwise.
  virtual void still_ours(const PciAddress& address, const Counters& since,
                          Callback<Counters> done) = 0;

  // Ends whatever runs in the drive's thread as soon as it can be left; a sanitize goes on in the
  // drive.
  virtual void stop(const PciAddress& address) = 0;

  // Gives the claim up: descriptors closed, drive thread ended. Idempotent; `done` after the last
  // close.
  virtual void drop(const PciAddress& address, Once<> done) = 0;
};

}  // namespace reclaim::nvme
