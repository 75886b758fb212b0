// Placement and Cyborg read again, with the claim taken: what admission decided on may be gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "handlers/conductor/admissions.h"
#include "handlers/conductor/arq_desk.h"
#include "handlers/conductor/cleaning_steps.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/write_fence.h"

namespace reclaim {

// Thread: the loop's. `epoch`: of the record that asks for it, and that the answer belongs to.
class Recheck final {
 public:
  Recheck(const ConductorContext& context, WriteFence& fence, ArqDesk& arqs, Admissions& admissions,
          CleaningSteps& steps)
      : context_(context), fence_(fence), arqs_(arqs), admissions_(admissions), steps_(steps) {}

  // The first cleaning after a start writes what it read, reserved = total: the write succeeds only
  // if nothing has moved since admission, and moves the generation itself, so that a release which
  // an earlier worker sent and nobody saw answered can never be made any more.
  void begin(const PciAddress& address, std::uint64_t epoch);

  // Hands over the provider as the recheck that let the cleaning go on read it, for the last look;
  // once. Nothing of a device of Cyborg's, whose provider keeps its UUID when it is made again: it
  // is read in full.
  [[nodiscard]] std::optional<placement::ProviderView> take_view(const PciAddress& address);

 private:
  void read(const PciAddress& address, std::uint64_t epoch);
  void rechecked(const PciAddress& address, std::uint64_t epoch,
                 Result<placement::ProviderView> view);

  const ConductorContext& context_;
  WriteFence& fence_;
  ArqDesk& arqs_;
  Admissions& admissions_;
  CleaningSteps& steps_;
  std::map<PciAddress, placement::ProviderView> views_;
};

}  // namespace reclaim
