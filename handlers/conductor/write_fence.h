// Every write of ours to `reserved`, and the fence that overtakes those which may be late. The
// network may keep a PUT for minutes, beyond the life of the worker that sent it. Placement makes
// it only while its provider's generation is the one that the PUT names: any write of ours that is
// made moves that, and nothing sent before can be made any more.
//
// What is written, its mark, and what ends it:
//   a release (Release)       the ledger's line, with the certificate that it asks for; read back,
//                             or fenced before anything is done to the drive
//   a reservation of our own  LedgerEntry::asked; read back by a survey, or written once more
//     and its end (OwnReservation)
//   what is offered unclean   none: it is towards safety, the ledger knows its dirt, and a release
//     (Reserver)              is of a later generation; one that is read back, and made by another
//                             hand, is not: may_be_reserved()
// A registration (Registration) writes no `reserved` that is there: it makes what is missing, and
// reserved from the first moment. Late, it makes the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "handlers/conductor/context.h"

namespace reclaim {

// Tells what is known of a write that was answered.
enum class WriteOutcome : std::uint8_t {
  made,
  unmade,     // certainly, and it will not be
  overtaken,  // it was made, or will not be, and somebody wrote since
  unknown,    // it may have been made, or may still be
};

[[nodiscard]] WriteOutcome outcome_of(const Result<placement::ProviderView>& answer);

// Thread: the loop's.
class WriteFence final {
 public:
  using Done = std::function<void(Result<placement::ProviderView>)>;
  using Raised = std::function<void(const PciAddress& address, const placement::ProviderView&)>;

  // `raised`: what raise_first() did, with the provider as it is since.
  WriteFence(const ConductorContext& context, Raised raised)
      : context_(context), raised_(std::move(raised)) {}

  // Asks for `reserved` at the generation of `view`. Where it un-reserves and its outcome is not
  // known, the fence is needed. `done` is not called after the stop.
  void put(const PciAddress& address, const placement::ProviderView& view, std::int64_t reserved,
           Done done);

  // A write that un-reserves the device may be on its way, of this worker or of one before it.
  // Until it is overtaken nothing is done to the drive.
  [[nodiscard]] bool is_needed(const PciAddress& address) { return devices_[address].needed; }
  // An earlier worker may have sent one: the fence is raised before all else.
  [[nodiscard]] bool is_needed_first(const PciAddress& address) const {
    const auto fence = devices_.find(address);
    return fence != devices_.end() && fence->second.first;
  }
  void need_first(const PciAddress& address, bool first) { devices_[address].first = first; }
  // A reservation of ours at the generation of `view` has no outcome: it may still be made.
  [[nodiscard]] bool may_be_reserved(const PciAddress& address,
                                     const placement::ProviderView& view) const;

  // Writes reserved = total once more, over `view`. `done` as of put(). The ledger has it before:
  // it moves the generation, which must not be taken for the release's own write.
  void raise(const PciAddress& address, const placement::ProviderView& view, Done done);
  // Raises the fence for a device at rest that is not known to be clean: the write of an earlier
  // worker may come when somebody has put another drive there, or while it waits for an operator.
  void raise_first(const PciAddress& address, const placement::ProviderView& view);

 private:
  // Those that were sent at the last generation, and have no outcome.
  struct Reservations {
    std::int64_t generation = -1;
    int open = 0;
  };
  struct Fence {
    bool needed = true;  // of a start nothing is known
    bool first = false;
    bool under_way = false;                                 // raise_first() waits for Placement
    std::map<std::string, Reservations> reservations = {};  // by their provider
  };

  const ConductorContext& context_;
  Raised raised_;
  std::map<PciAddress, Fence> devices_;
};

}  // namespace reclaim
