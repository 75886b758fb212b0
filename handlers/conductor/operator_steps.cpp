#include "handlers/conductor/operator_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/policy_of.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/step_input.h"
#include "state/device/hold.h"

namespace reclaim {
namespace {

constexpr std::int64_t kMsPerS = 1000;

bool runs_a_step(const Record& record) {
  return (record.stage == Stage::preparing || record.stage == Stage::concluding) &&
         record.step_index < record.plan.size();
}

// "alice" of "alice@ops-1": one person at two machines is one.
std::string person_of(const std::string& who) {
  return who.substr(0, who.rfind('@'));
}

}  // namespace

// The definition of the step that the record names; nothing: it is a built-in one, or defined
// otherwise now.
std::optional<OperatorStep> OperatorSteps::running(const Record& record) const {
  const auto policy = policy_of(context_.policies, record);
  if (!policy || !runs_a_step(record)) return std::nullopt;
  return definition_of(record.plan[record.step_index], policy->steps);
}

void OperatorSteps::run(const PciAddress& address, std::uint64_t epoch, Done done) {
  const Record& record = context_.record_of(address);
  const auto step = running(record);
  if (!step) {
    return done(
        epoch, Error{Errc::busy,
                     "it is not defined as it was when the plan was made: the plan is made again"});
  }
  if (step->is_hold()) return begin_hold(record, *step, std::move(done));
  run_command(record, *step, epoch, std::move(done));
}

void OperatorSteps::run_command(const Record& record, const OperatorStep& step, std::uint64_t epoch,
                                Done done) {
  const PciAddress address = record.address;
  nvme::Command command;
  command.path = step.command;
  command.sha256 = locked_digest(record.plan[record.step_index]);
  command.input = step_input(record, step);
  command.timeout_ms = step.timeout_ms;
  command.network = step.network;
  if (const auto driver = nvme::parse_step_driver(step.driver); driver && record.by_steps) {
    command.driver = *driver;
  }
  const WallMs began = context_.ports.clock.now().wall;
  context_.ports.drives.run_command(
      address, command,
      [this, address, epoch](const nvme::CommandProgress& progress) {
        writer_.show_progress(address, epoch, nvme::EraseProgress{progress.percent, -1},
                              progress.message);
      },
      [this, step, epoch, began, done = std::move(done)](Result<nvme::CommandReport> report) {
        if (!report) return done(epoch, std::move(report).error());
        nvme::StepReport out{std::move(report->findings)};
        const auto note = [&out](const char* what, std::string found) {
          out.findings.push_back({what, std::move(found), false});
        };
        note("command", fmt::format("{} sha256:{}", step.command, report->sha256));
        note("args", "sha256:" + context_.policies.digest(step.args));
        note("time", fmt::format("{} to {}", to_iso8601(began),
                                 to_iso8601(context_.ports.clock.now().wall)));
        if (!report->result.empty()) note("result", report->result);
        done(epoch, std::move(out));
      });
}

void OperatorSteps::begin_hold(const Record& record, const OperatorStep& step, Done done) {
  const PciAddress address = record.address;
  const std::uint64_t number = ++holds_begun_;
  Hold& hold = holds_[address] = Hold{};
  hold.step = record.clean_step;
  hold.number = number;
  hold.began = context_.ports.clock.now();
  hold.approvals = static_cast<std::size_t>(step.approvals);
  hold.done = std::move(done);
  note_hold(address, hold);
  context_.ports.timers.after(step.timeout_ms, [this, address, number,
                                                timeout_ms = step.timeout_ms] {
    Hold* waiting = hold_of(address);
    if (waiting == nullptr || waiting->number != number) return;
    end_hold(address, *waiting,
             Error{Errc::failed,
                   fmt::format("{} of {} approvals within {} s: `reclaim device clean {}` begins "
                               "again",
                               waiting->approved_by.size(), waiting->approvals,
                               timeout_ms / kMsPerS, to_string(address))});
  });
}

// Notes the hold in the record, for whoever looks why nothing happens.
void OperatorSteps::note_hold(const PciAddress& address, Hold& hold) {
  hold.noting = true;
  Record next = context_.record_of(address);
  next.waiting_for = fmt::format(
      "{}: {} of {} approvals{}; `reclaim device unhold {}` gives one", hold.step,
      hold.approved_by.size(), hold.approvals,
      hold.approved_by.empty() ? "" : fmt::format(" ({})", fmt::join(hold.approved_by, ", ")),
      to_string(address));
  context_.ports.log.warning(log_name::kSteps,
                             fmt::format("{} waits: {}", to_string(address), next.waiting_for));
  writer_.save_note(next, "hold", "the plan waits for an operator", next.waiting_for,
                    IfUnsaved::try_again, [this, address, number = hold.number] {
                      Hold* noted = hold_of(address);
                      if (noted == nullptr || noted->number != number) return;
                      noted->noting = false;
                      settle_hold(address, *noted);
                    });
}

// The hold at which the device waits now; null: it waits at none, whatever was begun before.
OperatorSteps::Hold* OperatorSteps::hold_of(const PciAddress& address) {
  const auto hold = holds_.find(address);
  if (hold == holds_.end() || context_.stopping) return nullptr;
  const Record& record = context_.record_of(address);
  if (runs_a_step(record) && record.clean_step == hold->second.step) return &hold->second;
  holds_.erase(hold);
  return nullptr;
}

void OperatorSteps::end_hold(const PciAddress& address, Hold& hold,
                             Result<nvme::StepReport> outcome) {
  if (!hold.outcome) hold.outcome = std::move(outcome);
  settle_hold(address, hold);
}

void OperatorSteps::settle_hold(const PciAddress& address, Hold& hold) {
  if (hold.noting || !hold.outcome) return;
  const Hold over = std::move(hold);
  holds_.erase(address);
  over.done(context_.record_of(address).epoch, *over.outcome);
}

std::string OperatorSteps::why_not_held(const PciAddress& address, const Order& approval) {
  const Hold* hold = hold_of(address);
  if (hold == nullptr) return std::string(kNotHeld);
  if (approval.hold != hold_id(context_.record_of(address))) return std::string(kOtherHold);
  // The hold's beginning by today's clock, which may have been set since.
  const Now now = context_.ports.clock.now();
  const std::int64_t began_ms = now.wall.ms - (now.mono.ms - hold->began.mono.ms);
  return approval.issued_at.ms < began_ms ? std::string(kEarlierThanHold) : "";
}

std::string OperatorSteps::approve(const PciAddress& address, const Order& approval,
                                   const std::string& who) {
  if (std::string why = why_not_held(address, approval); !why.empty()) return why;
  Hold* hold = hold_of(address);
  if (hold->outcome) return "the hold is over already";
  if (std::any_of(
          hold->approved_by.begin(), hold->approved_by.end(),
          [&who](const std::string& before) { return person_of(before) == person_of(who); })) {
    return fmt::format("{} has approved it already; it needs {} different operators", who,
                       hold->approvals);
  }
  // The record that is written now, by an abort perhaps, may end the hold: nothing is written over
  // it.
  if (context_.devices.at(address).saving && !hold->noting) {
    return "its record is being written to Redis: issue it again in a moment";
  }
  hold->approved_by.push_back(who);
  if (hold->approved_by.size() < hold->approvals) {
    if (!hold->noting) note_hold(address, *hold);
    return {};
  }
  nvme::StepReport report;
  report.findings.push_back(
      {"approved_by", fmt::format("{}", fmt::join(hold->approved_by, ", ")), false});
  end_hold(address, *hold, std::move(report));
  return {};
}

std::string OperatorSteps::why_not_abortable(const PciAddress& address) const {
  const Record& record = context_.record_of(address);
  const auto step = running(record);
  if (!step || step->abortable) return {};
  return fmt::format("{} cannot be aborted while it runs; it ends within {} s", record.clean_step,
                     step->timeout_ms / kMsPerS);
}

}  // namespace reclaim
