#include "handlers/conductor/cleaning_steps.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/evidence.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "nvme/controller/controller_state.h"
#include "nvme/controller/residue.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

// The findings have the drive's health after its erase by this name.
const std::string kAfterErase = "nvme.verify";

// The index at which the steps of the stage end: the erase's, or the plan's size.
std::size_t last_step_of(const Record& record) {
  return record.stage == Stage::preparing ? erase_index(record.plan) : record.plan.size();
}

// Told to stop is not a finding: what told it ends the cleaning.
Trigger end_of_step(const Error& error) {
  const bool passes = may_pass(error) || error.code == Errc::cancelled;
  return passes ? Trigger::guards_wait : Trigger::step_failed;
}

std::string why_not_returned(const std::string& retired, const std::vector<std::string>& unfit) {
  std::vector<std::string> reasons;
  if (!retired.empty()) reasons.push_back(std::string(kRetired) + retired);
  if (!unfit.empty()) reasons.push_back(fmt::format("health: {}", fmt::join(unfit, "; also ")));
  return fmt::to_string(fmt::join(reasons, "; "));
}

}  // namespace

// Strikes the release of an earlier cleaning, which was not made, from the ledger before a step
// runs: with that there, the step's writes to the drive would pass for a tenant's.
void CleaningSteps::run_step(const PciAddress& address, std::uint64_t epoch) {
  const LedgerEntry* known = context_.on_ledger(address);
  const bool former = context_.record_of(address).stage == Stage::preparing && known != nullptr &&
                      !known->certificate_pending.empty();
  // A line that is struck in memory alone is not struck yet.
  if (!former && !striking_.contains(address)) return run_named_step(address, epoch);
  striking_.insert(address);
  keep(
      address, epoch, [](LedgerEntry& entry) { entry.certificate_pending.clear(); },
      [this, address, epoch] {
        striking_.erase(address);
        run_named_step(address, epoch);
      });
}

void CleaningSteps::run_named_step(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto method = erase_of(record.plan);
  const bool whole =
      record.by_steps ? is_whole_function_plan(record.plan) : method && is_whole(record.plan);
  if (!whole) {
    return context_.answer(
        address, epoch, Trigger::step_failed,
        said("stored plan is incomplete; run `reclaim device clean` to build it again"));
  }
  // A drive's plan may have none of its steps before the erase; another's has one that verifies.
  if (record.step_index >= last_step_of(record)) {
    return context_.answer(address, epoch,
                           record.by_steps ? Trigger::step_failed : Trigger::steps_done);
  }
  const CleanStep& step = record.plan[record.step_index];
  if (step.interface == kPciInterface) return run_function_step(address, epoch);
  if (step.interface != kNvmeInterface) {
    return own_.run(address, epoch,
                    [this, address, key = findings_key(record.plan, record.step_index)](
                        std::uint64_t of, const Result<nvme::StepReport>& report) {
                      step_answered(address, of, key, report);
                    });
  }
  const auto kind = nvme::parse_drive_step(step.step);
  CHECK(kind);  // a whole plan has no other, and none of ours behind its erase
  nvme::StepRequest request;
  request.step = *kind;
  request.method = *method;
  request.enrolment = record.enrolment;
  request.accept_found = record.accepted;
  request.timeout_ms =
      std::min(step_time_ms(step, "timeout_ms", context_.options.cleanup_timeout_ms),
               claims_.left_ms(address));
  context_.ports.drives.run_step(
      address, request,
      [this, address, epoch](nvme::EraseProgress progress) {
        writer_.show_progress(address, epoch, progress);
      },
      [this, address, epoch, key = findings_key(record.plan, record.step_index)](
          Result<nvme::StepReport> report) { step_answered(address, epoch, key, report); });
}

void CleaningSteps::run_function_step(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto policy = policy_of(context_.policies, record);
  const auto step = nvme::parse_pci_step(record.clean_step);
  if (!policy || !step) {
    return context_.answer(address, epoch, Trigger::guards_wait,
                           said("no device_spec entry matches it any more"));
  }
  nvme::PciStepRequest request;
  request.step = *step;
  request.enrolment = record.enrolment;
  request.roms_allowed = policy->function.roms_allowed;
  request.config_ignored = policy->function.config_ignored;
  context_.ports.drives.run_function_step(
      address, request,
      [this, address, epoch, key = findings_key(record.plan, record.step_index)](
          Result<nvme::StepReport> report) { step_answered(address, epoch, key, report); });
}

void CleaningSteps::step_answered(const PciAddress& address, std::uint64_t epoch,
                                  const std::string& name, const Result<nvme::StepReport>& report) {
  if (context_.is_stale(address, epoch)) return;
  if (!report) {
    return context_.answer(address, epoch, end_of_step(report.error()),
                           said(fmt::format("{}: {}", name, report.error().what)));
  }
  for (const nvme::StepFinding& finding : report->findings) {
    context_.ports.log.debug(log_name::kSteps,
                             fmt::format("{} {} {}: {}", to_string(address), name, finding.surface,
                                         finding.reset ? "reset" : "looked at"),
                             {{"detail", finding.found}});
  }
  const Record& record = context_.record_of(address);
  if (!report->reverted.empty()) {
    AuditEntry told = audit_entry(AuditEvent::opal_reverted, record,
                                  "TCG Opal was reverted by PSID; it was: " + report->reverted);
    told.at = context_.ports.clock.now().wall;
    audits_.keep(address, {told}, false);
  }
  Facts facts = said(fmt::format("{}: {}", name, summary(*report)));
  facts.findings = with_findings(record.findings, name, *report);
  if (record.stage == Stage::concluding) return note_findings(address, epoch, std::move(facts));
  step_done(address, epoch, std::move(facts));
}

void CleaningSteps::step_done(const PciAddress& address, std::uint64_t epoch, Facts facts) {
  const Record& record = context_.record_of(address);
  const bool last = record.step_index + 1 >= last_step_of(record);
  if (last) facts.step_index = record.step_index + 1;
  if (last && record.by_steps) return conclude_function(address, epoch, std::move(facts));
  context_.answer(address, epoch, last ? Trigger::steps_done : Trigger::step_done,
                  std::move(facts));
}

// Keeps the findings in the ledger before they count, for a release rests on the ledger's word.
// Those of the steps before the erase are there with the baseline.
void CleaningSteps::note_findings(const PciAddress& address, std::uint64_t epoch, Facts facts) {
  keep(
      address, epoch,
      [findings = *facts.findings](LedgerEntry& entry) { entry.cleaning.findings = findings; },
      [this, address, epoch, facts] { step_done(address, epoch, facts); });
}

// Changes its line. Until the disk has that, the cleaning waits.
void CleaningSteps::keep(const PciAddress& address, std::uint64_t epoch,
                         const std::function<void(LedgerEntry&)>& change,
                         const std::function<void()>& then) {
  if (context_.is_stale(address, epoch)) return;
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  change(entry);
  ledger_.put(address, entry, [this, address, epoch, change, then](Status kept) {
    if (context_.is_stale(address, epoch)) return;
    if (kept) return then();
    context_.ports.log.error(
        log_name::kConductor,
        fmt::format("{}: the ledger cannot be written, the cleaning waits", to_string(address)),
        {{"why", kept.error().what}});
    context_.ports.timers.after(
        context_.options.retry_max_ms,
        [this, address, epoch, change, then] { keep(address, epoch, change, then); });
  });
}

// Every step of its plan succeeded. As it is now it is what its next tenant is measured by.
void CleaningSteps::conclude_function(const PciAddress& address, std::uint64_t epoch, Facts facts) {
  context_.ports.drives.read_enrolment(
      address, [this, address, epoch, facts = std::move(facts)](Result<std::string> now) mutable {
        if (context_.is_stale(address, epoch)) return;
        if (!now)
          return context_.answer(address, epoch, end_of_step(now.error()), said(now.error()));
        const Record& record = context_.record_of(address);
        facts.enrolment = *std::move(now);
        facts.cleaning_nonce = context_.policies.make_id();
        facts.evidence = steps_as_evidence(record.plan);
        facts.verification = steps_as_verification(record.plan);
        note_cleaning(address, epoch, Trigger::steps_verified, std::move(facts));
      });
}

void CleaningSteps::take_baseline(const PciAddress& address, std::uint64_t epoch) {
  context_.ports.drives.take_baseline(address, [this, address,
                                                epoch](Result<nvme::Baseline> baseline) {
    if (context_.stopping) return;
    if (!baseline) {
      return context_.answer(
          address, epoch,
          may_pass(baseline.error()) ? Trigger::guards_wait : Trigger::baseline_failed,
          said(baseline.error()));
    }
    Facts facts =
        said(fmt::format("{} samples read and {} canaries written, {} of them count",
                         baseline->samples.size(), baseline->canaries.size(), baseline->counted()));
    facts.baseline = nvme::encode_baseline(*baseline);
    facts.cleaning_nonce = context_.policies.make_id();
    note_cleaning(address, epoch, Trigger::baseline_taken, std::move(facts));
  });
}

// Before a drive is erased the ledger knows what this cleaning began with, and before any device is
// released what its steps found: Redis cannot say otherwise after a restart.
void CleaningSteps::note_cleaning(const PciAddress& address, std::uint64_t epoch, Trigger then,
                                  Facts facts) {
  if (context_.is_stale(address, epoch)) return;
  const Record& record = context_.record_of(address);
  const CleaningOnLedger cleaning{*facts.cleaning_nonce,
                                  facts.baseline ? context_.policies.digest(*facts.baseline) : "",
                                  facts.findings.value_or(record.findings)};
  keep(
      address, epoch, [cleaning](LedgerEntry& entry) { entry.cleaning = cleaning; },
      [this, address, epoch, then, facts] { context_.answer(address, epoch, then, facts); });
}

void CleaningSteps::erase(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto method = erase_of(record.plan);
  if (!method) return context_.answer(address, epoch, Trigger::erase_failed, said(method.error()));
  const CleanStep& step = record.plan[erase_index(record.plan)];
  nvme::EraseRequest request;
  request.method = *method;
  request.adopt_ours = std::exchange(adopting_[address], false);
  request.timeout_ms = claims_.left_ms(address);
  request.stall_timeout_ms =
      step_time_ms(step, "stall_timeout_ms", context_.options.stall_timeout_ms);
  // One that cannot be read fails the verification.
  if (auto baseline = nvme::decode_baseline(record.baseline))
    request.baseline = *std::move(baseline);
  const bool adopting = request.adopt_ours;
  if (adopting) {
    request.mark = mark_of_zeroing(context_.on_ledger(address), record, context_.policies.digest);
  }
  request.on_mark = [this, address, epoch](const std::string& mark) {
    note_mark(address, epoch, mark);
  };
  context_.ports.drives.erase(
      address, request,
      [this, address, epoch](nvme::EraseProgress progress) {
        writer_.show_progress(address, epoch, progress);
      },
      [this, address, epoch, adopting](Result<nvme::EraseEvidence> evidence) {
        if (evidence) {
          Facts facts = said(summary(*evidence));
          facts.evidence = to_json(*evidence);
          return context_.answer(address, epoch, Trigger::erased, std::move(facts));
        }
        const Error& error = evidence.error();
        Trigger trigger = Trigger::erase_failed;
        if (error.code == Errc::unknown) trigger = Trigger::erase_unknown;
        if (error.code == Errc::cancelled || may_pass(error)) trigger = Trigger::erase_not_started;
        if (adopting && error.code == Errc::not_found) trigger = Trigger::nothing_to_adopt;
        context_.answer(address, epoch, trigger, said(error));
      });
}

// Notes how far a zeroing is, also while the worker stops: the last mark is what the next one goes
// on from. Nothing waits for it, and where it is not kept the zeroing begins with the first byte,
// or with an older mark.
void CleaningSteps::note_mark(const PciAddress& address, std::uint64_t epoch,
                              const std::string& mark) {
  const Record& record = context_.record_of(address);
  const LedgerEntry* known = context_.on_ledger(address);
  const bool of_this_erase = record.epoch == epoch && record.stage == Stage::erasing &&
                             known != nullptr && known->cleaning.nonce == record.cleaning_nonce;
  if (!of_this_erase) return;
  LedgerEntry entry = *known;
  entry.cleaning.zero_mark = mark;
  ledger_.put(address, entry, [this, address](const Status& kept) {
    if (kept) return;
    context_.ports.log.warning(
        log_name::kConductor,
        fmt::format("{}: how far its zeroing is cannot be kept", to_string(address)),
        {{"why", kept.error().what}});
  });
}

void CleaningSteps::verify(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const auto baseline = nvme::decode_baseline(record.baseline);
  const auto evidence = evidence_of_json(record.evidence);
  if (!baseline)
    return context_.answer(address, epoch, Trigger::verify_failed, said(baseline.error()));
  if (!evidence)
    return context_.answer(address, epoch, Trigger::verify_failed, said(evidence.error()));
  context_.ports.drives.verify(
      address, *baseline, *evidence,
      [this, address, epoch](nvme::EraseProgress progress) {
        writer_.show_progress(address, epoch, progress);
      },
      [this, address, epoch](Result<nvme::VerifyReport> report) {
        if (!report) {
          return context_.answer(address, epoch, Trigger::verify_failed, said(report.error()));
        }
        Facts facts = said(summary(*report));
        facts.verification = to_json(*report);
        // The record has the capacity that was verified, not what a tenant had left of it.
        facts.capacity_bytes = report->capacity_bytes;
        if (!report->health.empty()) {
          facts.findings = with_findings(context_.record_of(address).findings, kAfterErase,
                                         nvme::StepReport{report->health});
        }
        const std::string retired = retirement(address);
        if (!report->unfit.empty() || !retired.empty()) {
          return keep_out(address, epoch, retired, *report, std::move(facts));
        }
        const auto left = nvme::decode_controller_state(report->enrolment);
        const auto before = nvme::decode_controller_state(context_.record_of(address).enrolment);
        // Its steps may have been before a restart of the host.
        if (left && before && nvme::lost_block(before->opal, left->opal)) {
          return context_.answer(
              address, epoch, Trigger::verify_failed,
              said("opal: the SID was blocked at enrolment and is not after the erase, so that a "
                   "tenant could own and lock the drive; clean the device again, which blocks it"));
        }
        // The enrolment is of a drive that Reclaim has just cleaned itself: its next tenant is
        // measured by it.
        if (!report->enrolment.empty()) facts.enrolment = report->enrolment;
        if (left) facts.firmware = left->firmware_revision;  // which may have been put back
        const std::size_t next = erase_index(context_.record_of(address).plan) + 1;
        const bool more = next < context_.record_of(address).plan.size();
        if (more) facts.step_index = static_cast<std::uint32_t>(next);
        context_.answer(address, epoch, more ? Trigger::verified_more : Trigger::verified,
                        std::move(facts));
      });
}

std::string CleaningSteps::retirement(const PciAddress& address) const {
  return retirement_of(context_.ports.ledger.entries(), context_.record_of(address));
}

// It was erased, and that is certified; it stays reserved. The enrolment stays the former one: what
// makes it unfit is to be seen again by the next cleaning. As with a release, what is sealed is
// what the ledger has before the record says so.
void CleaningSteps::keep_out(const PciAddress& address, std::uint64_t epoch,
                             const std::string& retired, const nvme::VerifyReport& report,
                             Facts facts) {
  if (context_.is_stale(address, epoch)) return;
  const std::string why = why_not_returned(retired, report.unfit);
  facts.retired = retired;
  facts.detail =
      why + (retired.empty() ? "; what device_spec then allows is given back by `reclaim device "
                               "clean`, which erases it again"
                             : "; it stays reserved, and only `reclaim device set ADDRESS --enrol` "
                               "takes that back");
  Record erased = context_.record_of(address);
  erased.certificate_id = context_.policies.make_id();
  erased.verification = *facts.verification;
  erased.findings = facts.findings.value_or(erased.findings);
  erased.capacity_bytes = *facts.capacity_bytes;
  erased.verified_at = std::max(context_.ports.clock.now().wall, erased_at(erased));
  Certificate certificate = certificate_of(erased, context_.options.version);
  certificate.released_at = WallMs{};
  certificate.not_returned = why;
  keep(
      address, epoch,
      [text = encode_certificate(certificate), retired](LedgerEntry& entry) {
        entry.retired = retired;
        entry.certificate_pending = text;
        entry.release_generation = -1;
      },
      [this, address, epoch, facts] {
        context_.answer(address, epoch, Trigger::verified_unfit, facts);
      });
}

void CleaningSteps::restore_driver(const PciAddress& address, std::uint64_t epoch) {
  context_.ports.drives.restore_driver(address, [this, address, epoch](Result<Ok> restored) {
    context_.answer(address, epoch, restored ? Trigger::driver_restored : Trigger::restore_failed,
                    restored ? Facts{} : said(restored.error()));
  });
}

}  // namespace reclaim
