// The conductor's steps of a cleaning, from the first clean step to the former driver's return:
// what the drive is asked for, and which trigger its answer is.
#include <fmt/core.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/evidence.h"
#include "handlers/survey/plan.h"

namespace reclaim {

// The step that the record names. Each can be run again, so that an interrupted cleaning begins
// with the first one.
void Conductor::run_step(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = devices_.at(address).record;
  const auto method = erase_of(record.plan);
  if (!method || !is_whole(record.plan)) {
    return answer(address, epoch, Trigger::step_failed,
                  said("stored plan is incomplete; run `reclaim device clean` to build it again"));
  }
  if (record.step_index >= steps_before_erase(record.plan)) {
    return answer(address, epoch, Trigger::steps_done);
  }
  const CleanStep& step = record.plan[record.step_index];
  nvme::StepRequest request;
  request.step = step.step;
  request.method = *method;
  request.enrolment = record.enrolment;
  request.accept_found = record.accepted;
  request.timeout_ms = step_time_ms(step, "timeout_ms", options_.cleanup_timeout_ms);
  ports_.drives.run_step(
      address, request,
      [this, address, epoch](nvme::EraseProgress progress) {
        show_progress(address, epoch, progress);
      },
      [this, address, epoch, name = record.clean_step](Result<nvme::StepReport> report) {
        step_answered(address, epoch, name, report);
      });
}

void Conductor::step_answered(const PciAddress& address, std::uint64_t epoch,
                              const std::string& name, const Result<nvme::StepReport>& report) {
  if (context_.is_stale(address, epoch)) return;
  if (!report) {
    // Told to stop is no finding: what told it ends the cleaning.
    const bool passes = may_pass(report.error()) || report.error().code == Errc::cancelled;
    return answer(address, epoch, passes ? Trigger::guards_wait : Trigger::step_failed,
                  said(fmt::format("{}: {}", name, report.error().what)));
  }
  for (const nvme::StepFinding& finding : report->findings) {
    ports_.log.info("reclaim.steps",
                    fmt::format("{} {} {}: {}", to_string(address), name, finding.surface,
                                finding.reset ? "reset" : "looked at"),
                    {{"detail", finding.found}});
  }
  const Record& record = devices_.at(address).record;
  Facts facts = said(fmt::format("{}: {}", name, summary(*report)));
  facts.findings = with_findings(record.findings, name, *report);
  const bool last = record.step_index + 1 >= steps_before_erase(record.plan);
  answer(address, epoch, last ? Trigger::steps_done : Trigger::step_done, std::move(facts));
}

void Conductor::take_baseline(const PciAddress& address, std::uint64_t epoch) {
  ports_.drives.take_baseline(address, [this, address, epoch](Result<nvme::Baseline> baseline) {
    if (stopping_) return;
    if (!baseline) {
      return answer(address, epoch,
                    may_pass(baseline.error()) ? Trigger::guards_wait : Trigger::baseline_failed,
                    said(baseline.error()));
    }
    Facts facts =
        said(fmt::format("{} samples read and {} canaries written, {} of them count",
                         baseline->samples.size(), baseline->canaries.size(), baseline->counted()));
    facts.baseline = nvme::encode_baseline(*baseline);
    facts.cleaning_nonce = policies_.make_id();
    baseline_taken(address, epoch, std::move(facts));
  });
}

// Before anything is erased the ledger knows what this cleaning began with: Redis cannot say
// otherwise after a restart.
void Conductor::baseline_taken(const PciAddress& address, std::uint64_t epoch, Facts facts) {
  if (context_.is_stale(address, epoch)) return;
  const Record& record = devices_.at(address).record;
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  entry.cleaning =
      CleaningOnLedger{*facts.cleaning_nonce, policies_.digest(*facts.baseline), record.findings};
  ledger_.put(address, entry, [this, address, epoch, facts](Status kept) {
    if (context_.is_stale(address, epoch)) return;
    if (kept) return answer(address, epoch, Trigger::baseline_taken, facts);
    ports_.log.error(
        "reclaim.conductor",
        fmt::format("{}: the ledger cannot be written, not erased", to_string(address)),
        {{"why", kept.error().what}});
    ports_.timers.after(options_.retry_max_ms,
                        [this, address, epoch, facts] { baseline_taken(address, epoch, facts); });
  });
}

void Conductor::erase(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = devices_.at(address).record;
  const auto method = erase_of(record.plan);
  if (!method) return answer(address, epoch, Trigger::erase_failed, said(method.error()));
  const CleanStep& step = record.plan.back();
  nvme::EraseRequest request;
  request.method = *method;
  request.adopt_ours = std::exchange(devices_.at(address).adopting, false);
  request.timeout_ms = step_time_ms(step, "timeout_ms", options_.cleanup_timeout_ms);
  request.stall_timeout_ms = step_time_ms(step, "stall_timeout_ms", options_.stall_timeout_ms);
  const bool adopting = request.adopt_ours;
  ports_.drives.erase(
      address, request,
      [this, address, epoch](nvme::EraseProgress progress) {
        show_progress(address, epoch, progress);
      },
      [this, address, epoch, adopting](Result<nvme::EraseEvidence> evidence) {
        if (stopping_) return;
        if (evidence) {
          Facts facts = said(summary(*evidence));
          facts.evidence = to_json(*evidence);
          return answer(address, epoch, Trigger::erased, std::move(facts));
        }
        const Error& error = evidence.error();
        Trigger trigger = Trigger::erase_failed;
        if (error.code == Errc::unknown) trigger = Trigger::erase_unknown;
        if (error.code == Errc::cancelled || may_pass(error)) trigger = Trigger::erase_not_started;
        if (adopting && error.code == Errc::not_found) trigger = Trigger::nothing_to_adopt;
        answer(address, epoch, trigger, said(error));
      });
}

void Conductor::show_progress(const PciAddress& address, std::uint64_t epoch,
                              nvme::EraseProgress progress) {
  Device* device = find(address);
  if (device == nullptr || device->record.epoch != epoch) return;
  device->record.progress_percent = progress.percent;
  device->record.progress_eta_s = progress.eta_s;
  if (device->progress_in_flight) return;
  device->progress_in_flight = true;
  ports_.store.save_progress(device->record, [this, address](Result<Ok> /*saved*/) {
    devices_.at(address).progress_in_flight = false;
  });
}

void Conductor::verify(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = devices_.at(address).record;
  const auto baseline = nvme::decode_baseline(record.baseline);
  const auto evidence = evidence_of_json(record.evidence);
  if (!baseline) return answer(address, epoch, Trigger::verify_failed, said(baseline.error()));
  if (!evidence) return answer(address, epoch, Trigger::verify_failed, said(evidence.error()));
  ports_.drives.verify(
      address, *baseline, *evidence,
      [this, address, epoch](nvme::EraseProgress progress) {
        show_progress(address, epoch, progress);
      },
      [this, address, epoch](Result<nvme::VerifyReport> report) {
        if (stopping_) return;
        if (!report) {
          return answer(address, epoch, Trigger::verify_failed, said(report.error()));
        }
        Facts facts = said(summary(*report));
        facts.verification = to_json(*report);
        // What was verified, not what a tenant had left of it.
        facts.capacity_bytes = report->capacity_bytes;
        // Of a drive that Reclaim has just cleaned itself: what its next tenant is measured by.
        if (!report->enrolment.empty()) facts.enrolment = report->enrolment;
        answer(address, epoch, Trigger::verified, std::move(facts));
      });
}

void Conductor::restore_driver(const PciAddress& address, std::uint64_t epoch) {
  ports_.drives.restore_driver(address, [this, address, epoch](Result<Ok> restored) {
    if (stopping_) return;
    answer(address, epoch, restored ? Trigger::driver_restored : Trigger::restore_failed,
           restored ? Facts{} : said(restored.error()));
  });
}

}  // namespace reclaim
