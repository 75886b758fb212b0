#include "handlers/conductor/drive_claims.h"

#include <fmt/core.h>

#include <algorithm>

#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/claim_request.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/hold.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/named_plan.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"
#include "handlers/survey/unseen.h"

namespace reclaim {
namespace {

// The drive's own words come first: they say what it was doing.
constexpr std::int64_t kLastWordMs = 15'000;

bool takes_time(Stage stage) {
  return stage == Stage::preparing || stage == Stage::baselining || stage == Stage::erasing ||
         stage == Stage::verifying || stage == Stage::concluding || stage == Stage::restoring;
}

}  // namespace

void DriveClaims::take(const PciAddress& address, std::uint64_t epoch) {
  locks_.take(address, epoch, [this, address, epoch](Status taken) {
    if (!taken) return context_.answer(address, epoch, Trigger::lock_refused, said(taken.error()));
    claim(address, epoch);
  });
}

void DriveClaims::claim(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto policy = policy_of(context_.policies, record);
  if (!policy) {
    return context_.answer(address, epoch, Trigger::guards_wait,
                           said("no device_spec entry matches it"));
  }
  if (const std::string why = why_unknown(*policy); !why.empty()) {
    return context_.answer(address, epoch, Trigger::guards_wait, said(why));
  }
  drives_[address].claimed = drives_[address].thread_open = true;
  const auto answered = [this, address, epoch, policy = *policy](Result<nvme::ClaimReport> report) {
    if (context_.stopping) return;
    if (!report) {
      const bool settled_by_operator = report.error().code == Errc::failed;
      return context_.answer(address, epoch,
                             settled_by_operator ? Trigger::guards_failed : Trigger::guards_wait,
                             said(report.error()));
    }
    claimed(address, epoch, policy, *report);
  };
  if (record.by_steps) {
    return context_.ports.drives.claim_function(function_claim_request(record, *policy), answered);
  }
  context_.ports.drives.claim(claim_request(record, *policy), answered);
}

void DriveClaims::claimed(const PciAddress& address, std::uint64_t epoch,
                          const DevicePolicy& policy, const nvme::ClaimReport& report) {
  for (const nvme::GuardFinding& finding : report.findings) {
    context_.ports.log.debug(log_name::kGuards,
                             fmt::format("{} {}: {}", to_string(address), finding.guard,
                                         finding.passed ? "passed" : "refused"),
                             {{"detail", finding.detail}});
  }
  Facts facts = said(fmt::format("{} guards passed", report.findings.size()));
  const auto& identity = report.facts.identity;
  if (identity) {
    facts.model = identity->model;
    facts.serial = identity->serial;
    facts.firmware = identity->firmware;
  }
  const Record& record = context_.record_of(address);
  devices_.at(address).found = found_drive(report.facts);
  const Status accepted = is_the_accepted_one(report.facts, record, context_.on_ledger(address));
  if (!accepted)
    return context_.answer(address, epoch, Trigger::guards_failed, said(accepted.error()));
  const Status ours = is_nobody_elses(report.facts, record, context_.ports.ledger.entries());
  if (!ours) return context_.answer(address, epoch, Trigger::guards_failed, said(ours.error()));
  note_claimed(report.facts, facts);
  if (record.by_steps) {
    plan_function(record, policy, facts);
  } else if (const Status planned = plan_drive(record, policy, identity, facts); !planned) {
    return context_.answer(address, epoch, Trigger::guards_failed, said(planned.error()));
  }
  lock_commands_in(record, policy, report, facts);
  drives_[address].time = cleaning_time(facts.plan.value_or(record.plan), policy, context_.options,
                                        report.facts, record.capacity_bytes);
  context_.answer(address, epoch, Trigger::guards_passed, std::move(facts));
}

// Plans the erase of a drive. What an unmanaged one can is only known now that it is open.
Status DriveClaims::plan_drive(const Record& record, const DevicePolicy& policy,
                               const std::optional<nvme::Identity>& identity, Facts& facts) {
  if (!identity) return Error{Errc::failed, "it does not say what it can"};
  drives_[record.address].capabilities = identity->capabilities;
  auto& permitted = drives_[record.address].permitted;
  if (!is_whole(record.plan)) {
    const auto method = context_.policies.choose_method(policy, identity->capabilities);
    if (!method) return method.error();
    facts.plan = behind_named_steps(record.plan, make_plan(*method, policy, context_.options));
    permitted = *method;
    return Ok{};
  }
  const auto locked = erase_of(record.plan);
  CHECK(locked);
  permitted = *locked;
  return check_method(policy, context_.policies.choose_method, identity->capabilities, *locked);
}

void DriveClaims::plan_function(const Record& record, const DevicePolicy& policy, Facts& facts) {
  drives_[record.address].permitted.reset();
  if (!is_whole_function_plan(record.plan)) {
    facts.plan = behind_named_steps(record.plan, make_function_plan(policy, context_.options));
  }
}

// The commands as they are now are those that this cleaning runs; one that is exchanged meanwhile
// starts it over. An erase that may be running is adopted with the plan that began it.
void DriveClaims::lock_commands_in(const Record& record, const DevicePolicy& policy,
                                   const nvme::ClaimReport& report, Facts& facts) {
  if (report.command_digests.empty() || record.erase_begun) return;
  std::vector<CleanStep> plan = facts.plan.value_or(record.plan);
  for (CleanStep& step : plan) {
    const auto defined = definition_of(step, policy.steps);
    if (!defined) continue;
    const auto digest = report.command_digests.find(defined->command);
    if (digest != report.command_digests.end()) step = with_digest(step, digest->second);
  }
  facts.plan = std::move(plan);
}

void DriveClaims::moved(const PciAddress& address, Stage before, Stage now) {
  Drive& drive = drives_[address];
  if (takes_time(now) == takes_time(before)) return;
  if (drive.timer != 0) context_.ports.timers.cancel(std::exchange(drive.timer, 0));
  if (!takes_time(now)) return;
  drive.until = MonoMs{context_.ports.clock.now().mono.ms + drive.time.limit_ms};
  drive.timer = context_.ports.timers.after(drive.time.limit_ms + kLastWordMs, [this, address] {
    Drive& late = drives_[address];
    late.timer = 0;
    context_.post(
        address,
        Event{Trigger::overdue, 0,
              said(fmt::format("it may take {}; raise cleanup_timeout if the drive is only slow, "
                               "then `reclaim device clean {}`",
                               late.time.how, to_string(address)))});
  });
}

std::int64_t DriveClaims::left_ms(const PciAddress& address) const {
  const auto drive = drives_.find(address);
  if (drive == drives_.end()) return 1;
  return std::max<std::int64_t>(drive->second.until.ms - context_.ports.clock.now().mono.ms, 1);
}

void DriveClaims::drop(const PciAddress& address) {
  const LockToken lock = locks_.let_go(address);
  close(address, [this, address, lock] {
    if (lock.token != 0) locks_.give_back(address, lock);
    if (!context_.stopping) thread_free_();
  });
}

void DriveClaims::close(const PciAddress& address, std::function<void()> closed) {
  drives_[address].claimed = false;
  context_.ports.drives.stop(address);
  context_.ports.drives.drop(address, [this, address, closed = std::move(closed)] {
    Drive& now = drives_[address];
    if (!now.claimed) now.thread_open = false;
    closed();
  });
}

// An unmanaged drive that is reserved and free, without a tenancy that was seen: nothing but its
// counters tells an operator's hold from a tenancy nobody saw.
bool DriveClaims::may_peek(const Record& record, const Assessment& assessment,
                           const Sighting& sighting) const {
  if (!assessment.unsure || assessment.trigger || record.stage != Stage::available ||
      record.maintenance || context_.devices.at(record.address).saving || is_open(record.address) ||
      !context_.survey.host.problem.empty()) {
    return false;
  }
  // A claim told of the hold already, and can tell no more.
  if (record.held && assessment.waiting_for.starts_with(kReservedLate)) return false;
  const auto entry = context_.ports.ledger.entries().find(record.address);
  const bool in_maintenance =
      entry != context_.ports.ledger.entries().end() && entry->second.maintenance;
  const bool tells = is_told_by_a_claim(record, sighting) && sighting.drive->guest.empty() &&
                     sighting.standing.match != nvme::Match::different;
  const bool free = sighting.view && sighting.view->burned() && sighting.view->free() &&
                    !sighting.holder &&
                    sighting.cyborg_status.value_or(record.cyborg_status) != kMaintaining;
  const auto policy = policy_of(context_.policies, record);
  return tells && free && !in_maintenance && policy && !policy->managed;
}

void DriveClaims::peek(const PciAddress& address, const placement::ProviderView& view) {
  const Record& record = context_.record_of(address);
  const auto policy = policy_of(context_.policies, record);
  if (!policy) return;
  Drive& drive = drives_[address];
  drive.peeking = drive.thread_open = true;
  drive.peeked_of = view.uuid;
  drive.peeked_at = view.generation;
  const auto answered = [this, address](const Result<nvme::ClaimReport>& report) {
    Drive& now = drives_[address];
    now.peek_refused = report ? "" : report.error().what;
    if (!report) {
      now.peeking = false;
      now.thread_open = now.claimed;
      return;
    }
    now.peeked = report->facts.counters;
    context_.ports.drives.drop(address, [this, address] {
      Drive& after = drives_[address];
      after.peeking = false;
      if (!after.claimed) after.thread_open = false;
      if (after.peeked && !context_.stopping) context_.want_survey(0);
    });
  };
  context_.ports.drives.claim(claim_request(record, *policy), answered);
}

std::optional<nvme::Counters> DriveClaims::take_peeked(
    const PciAddress& address, const std::optional<placement::ProviderView>& view) {
  Drive& drive = drives_[address];
  const auto peeked = std::exchange(drive.peeked, std::nullopt);
  const bool stands = view && view->burned() && view->uuid == drive.peeked_of &&
                      view->generation == drive.peeked_at;
  return stands ? peeked : std::nullopt;
}

// The claim has compared the serial with the one on record, or was allowed to learn it: this is
// what the surveys will find, whatever was noted before.
void DriveClaims::note_claimed(const nvme::DriveFacts& drive, Facts& facts) const {
  nvme::HardwareIdentity hardware = drive.hardware;
  if (context_.survey.shared_serial_numbers.contains(hardware.serial_number))
    hardware.serial_number.clear();
  facts.hardware = nvme::encode_hardware(hardware);
  facts.boot_id = context_.options.boot_id;
}

}  // namespace reclaim
