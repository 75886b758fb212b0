// The clean steps of an operator's own: commands that run on the drive's thread, and holds, which
// wait for an operator's word.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/conductor/context.h"
#include "handlers/conductor/record_writer.h"
#include "state/device/order.h"

namespace reclaim {

inline constexpr std::string_view kOtherHold =
    "it does not name the hold at which the device waits now, but one of before, or an older "
    "version issued it: look at the device and issue it again";
inline constexpr std::string_view kEarlierThanHold =
    "it was issued before the device came to this hold, by the clock of whoever issued it: look at "
    "the device and issue it again";
inline constexpr std::string_view kNotHeld =
    "it does not wait at a hold: `reclaim device show` tells what it does";

// Thread: the loop's. `epoch`: of the record that asks for it.
class OperatorSteps final {
 public:
  // `epoch`: of the record that the answer belongs to. A hold's is of the end of the hold, for what
  // it waits for is noted in the record meanwhile.
  using Done = std::function<void(std::uint64_t epoch, Result<nvme::StepReport> report)>;

  OperatorSteps(const ConductorContext& context, RecordWriter& writer)
      : context_(context), writer_(writer) {}

  // The step that the record names, which is none of the built-in ones. `done` once, unless the
  // device goes on without it. Errc::busy: it is defined otherwise than when the plan was made, or
  // says "later"; else as Drives::run_command().
  void run(const PciAddress& address, std::uint64_t epoch, Done done);

  // The reason why the approval is not taken; empty: the device waits at its hold, and did when it
  // was issued. What an approval names comes from Redis, where somebody may have shown a hold that
  // was still to come.
  [[nodiscard]] std::string why_not_held(const PciAddress& address, const Order& approval);
  // An operator's word on it. Empty, or why it is not taken.
  [[nodiscard]] std::string approve(const PciAddress& address, const Order& approval,
                                    const std::string& who);
  // The reason why the step that runs may not be aborted; empty: it may.
  [[nodiscard]] std::string why_not_abortable(const PciAddress& address) const;

 private:
  struct Hold {
    std::string step;  // "hold.forensics"
    std::uint64_t number = 0;
    Now began;
    std::vector<std::string> approved_by;
    std::size_t approvals = 1;
    bool noting = false;  // the record is being written: what comes next belongs to its next epoch
    std::optional<Result<nvme::StepReport>> outcome;
    Done done;
  };

  [[nodiscard]] std::optional<OperatorStep> running(const Record& record) const;
  void run_command(const Record& record, const OperatorStep& step, std::uint64_t epoch, Done done);
  void begin_hold(const Record& record, const OperatorStep& step, Done done);
  void note_hold(const PciAddress& address, Hold& hold);
  [[nodiscard]] Hold* hold_of(const PciAddress& address);
  void end_hold(const PciAddress& address, Hold& hold, Result<nvme::StepReport> outcome);
  void settle_hold(const PciAddress& address, Hold& hold);

  const ConductorContext& context_;
  RecordWriter& writer_;
  std::map<PciAddress, Hold> holds_;
  std::uint64_t holds_begun_ = 0;
};

}  // namespace reclaim
