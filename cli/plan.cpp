// reclaim plan: the survey and the admission of the worker, without the worker. Changes nothing.
#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/plan_health.h"
#include "cli/plan_registration.h"
#include "cli/records.h"
#include "handlers/arq/book.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/admission.h"
#include "handlers/survey/admitted_plan.h"
#include "handlers/survey/claim_request.h"
#include "handlers/survey/cleaning_time.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/strictest.h"
#include "handlers/survey/survey.h"

namespace reclaim::cli {
namespace {

struct Verdict {
  std::string word;  // clean | wait | leave | held | error | cleaning | available | exclude |
                     // unknown; and of plan_registration.h: register
  std::vector<CleanStep> plan;  // that would be carried out, or will be once it comes back dirty
  std::string why;
};

// The stage the device would be in once the worker has heard of this survey.
Stage stage_after(const Record& record, const Assessment& assessment) {
  if (!assessment.trigger) return record.stage;
  const auto update = step(record, Event{*assessment.trigger, 0, assessment.facts}, WallMs{});
  return update ? update->record.stage : record.stage;
}

Verdict judge(const Sighting& sighting, const Record& record, const Assessment& assessment,
              const HostView& host, const Planning& planning) {
  if (assessment.trigger == Trigger::policy_unsatisfied) {
    return {"exclude", {}, assessment.facts.detail};
  }
  const bool drive = assessment.facts.type.value_or(record.type) == kTypeNvme;
  if (!drive && !assessment.facts.by_steps.value_or(record.by_steps)) {
    return {"leave", {}, std::string(kNotListed)};
  }
  const Stage stage = stage_after(record, assessment);
  if (is_busy(stage)) return {"cleaning", record.plan, record.clean_step};
  if (assessment.held) return {"held", {}, "reserved by an operator; left as it is"};
  if (stage == Stage::error) return {"error", record.plan, record.last_error};
  if (!assessment.waiting_for.empty()) return {"wait", {}, assessment.waiting_for};
  if (stage == Stage::allocated) {
    return {"leave", record.plan,
            sighting.view && !sighting.view->free()
                ? "an instance has it: " + sighting.view->consumers.front()
            : sighting.holder ? "an accelerator request has it: " + sighting.holder->uuid
                              : "an instance has it"};
  }
  if (stage == Stage::available) {
    return {"available", assessment.plan.value_or(std::vector<CleanStep>{}), ""};
  }
  const auto plan = admit(sighting, record, host, planning);
  if (!plan) return {"wait", {}, plan.error().what};
  return {"clean", *plan, "burned, not in use"};
}

// The verdict without the records: what Placement and the configuration alone decide, and nothing
// else.
Verdict without_record(Verdict verdict) {
  if (verdict.word == "leave" || verdict.word == "exclude") return verdict;
  return {"unknown", {}, "Redis, which has its record, does not answer"};
}

// Says how long the cleaning may take, and why.
std::string time_of(const Verdict& verdict, const Sighting& sighting, const Record& record,
                    const Planning& planning) {
  if (!planning.policy || !sighting.drive) return {};
  return cleaning_time(verdict.plan, *planning.policy, planning.options, *sighting.drive,
                       record.capacity_bytes)
      .how;
}

constexpr const char* kNotKnownYet = "known when it is claimed";

// Method, class, verification level, steps and time, as columns.
std::vector<Cell> cells_of(const Verdict& verdict, const Sighting& sighting, const Record& record,
                           const Planning& planning) {
  constexpr std::size_t kColumns = 5;
  if (verdict.plan.empty()) return std::vector<Cell>(kColumns, std::string());
  const auto& policy = planning.policy;
  const std::string time = time_of(verdict, sighting, record, planning);
  if (policy && is_whole_function_plan(verdict.plan)) {
    return {std::string(kByOperatorSteps), std::string(), std::string(),
            describe_plan(verdict.plan), time};
  }
  const auto method = erase_of(verdict.plan);
  return {method ? std::string(nvme::to_string(*method)) : std::string(kNotKnownYet),
          method ? std::string(nvme::sanitization_class(*method)) : std::string(),
          policy ? std::string(nvme::to_string(policy->rules.verify)) : std::string(),
          describe_plan(verdict.plan), method ? time : std::string(kNotKnownYet)};
}

// The record as it will be claimed.
Record to_claim(const Sighting& sighting, Record record, const Assessment& assessment) {
  record.flow = assessment.facts.flow.value_or(record.flow);
  if (sighting.view && !sighting.view->inventories.empty()) {
    const Facts facts = facts_at_admission(sighting);
    record.vendor_id = *facts.vendor_id;
    record.product_id = *facts.product_id;
    record.resource_class = *facts.resource_class;
  }
  return record;
}

// The policies that the worker is told of, as the configuration has them.
ConductorPolicies policies_of(const config::Settings& settings) {
  ConductorPolicies policies;
  policies.device_policy = config::device_policy_lookup(settings);
  policies.function_policy = config::function_policy_lookup(settings);
  policies.choose_method = config::method_choice();
  policies.whitelist = config::passthrough_whitelist(settings);
  return policies;
}

struct Known {
  Survey survey;
  ArqBook arqs;  // as the worker last kept it
  std::map<PciAddress, Record> records;
  std::string paused;  // the note of what is not cleaned meanwhile; empty: it is not
  bool redis = false;  // it was asked for the records
  HostView host;
  ConductorOptions options;
};

// Adds what the worker knows of Cyborg's devices beside the survey.
void know_of_cyborg(Sighting& sighting, const Record* record, const Known& known, MonoMs now) {
  const bool one_row = sighting.rows.size() == 1;
  const bool cyborg = (one_row && sighting.rows.front().owner_cyborg) ||
                      (record != nullptr && record->flow == Flow::cyborg);
  if (!cyborg) return;
  ArqQuestion question{sighting.address, one_row ? sighting.rows.front().uuid : "",
                       sighting.view && sighting.view->free(),
                       record == nullptr ? "" : record->consumer(), now};
  DeviceArqs arqs = known.arqs.about(question);
  sighting.holder = std::move(arqs.holder);
  sighting.ended = std::move(arqs.ended);
}

// As the worker last told it.
Result<std::string> note_of_pause(Session& session) {
  const std::string& host = session.settings().host;
  const auto hosts = known_hosts(session);
  if (!hosts) return hosts.error();
  for (const HostInfo& info : *hosts) {
    if (info.host != host || info.paused_until <= session.clock().now().wall) continue;
    return paused_note({info.paused_until, info.paused_by}, host);
  }
  return std::string{};
}

Result<Known> look(Session& session, const ConductorPolicies& policies, std::ostream& err) {
  auto machine = session.machine();
  if (!machine) return std::move(machine).error();
  Known known{{}, ArqBook(config::host_names(session.settings(), *machine)), {}, {}, false, {}, {}};
  known.host.host = session.settings().host;
  known.host.compute_id = machine->compute_id;
  known.options = config::conductor_options(session.settings(), *machine, "");
  known.host.clean_first = known.options.first_sight == FirstSight::clean;
  if (auto store = session.store()) {
    auto records = session.wait<std::vector<Record>>(
        [&](auto done) { (*store)->load(known.host.host, std::move(done)); });
    if (!records) return std::move(records).error();
    for (Record& record : *records) known.records.emplace(record.address, std::move(record));
    const auto arqs = session.wait<std::vector<Arq>>(
        [&](auto done) { (*store)->load_arqs(known.host.host, std::move(done)); });
    if (!arqs) return arqs.error();
    known.arqs.load(*arqs);
    auto paused = note_of_pause(session);
    if (!paused) return std::move(paused).error();
    known.paused = *std::move(paused);
    known.redis = true;
  } else {
    say(err,
        "reclaim: what is recorded is not known, and the worker releases nothing without it "
        "either: " +
            store.error().what);
  }
  auto providers = session.providers();
  if (!providers) return std::move(providers).error();
  Surveyor surveyor(**providers, session.drives(), session.clock(), 0);
  SurveyRequest request;
  for (const auto& [address, record] : known.records) request.known.insert(address);
  request.ours = [&policies](const Sighting& sighting) { return is_ours(policies, sighting); };
  auto survey = session.wait<Survey>([&](auto done) { surveyor.survey(request, std::move(done)); });
  if (!survey) return std::move(survey).error();
  known.survey = std::move(survey).value();
  known.host.root_uuid = known.survey.root_uuid;
  return known;
}

// Asks the guards of the host about the device, and claims nothing.
Result<std::vector<nvme::GuardFinding>> inspect(Session& session, const Sighting& sighting,
                                                const Record& claimed, const DevicePolicy& policy) {
  return session.wait<std::vector<nvme::GuardFinding>>([&](auto done) {
    if (!sighting.by_steps) {
      return session.drives().inspect(claim_request(claimed, policy), std::move(done));
    }
    session.drives().inspect_function(function_claim_request(claimed, policy), std::move(done));
  });
}

// Lists what they found; what one of them refuses waits.
void heed(const std::vector<nvme::GuardFinding>& findings, const PciAddress& address, Table& guards,
          Verdict& verdict) {
  for (const nvme::GuardFinding& finding : findings) {
    guards.rows.push_back({to_string(address), finding.guard,
                           std::string(finding.passed ? "passed" : "refused"), finding.detail});
    if (!finding.passed && verdict.word == "clean") {
      verdict = {"wait", verdict.plan, finding.guard + ": " + finding.detail};
    }
  }
}

}  // namespace

int run_plan(Session& session, const PlanOptions& options, std::ostream& out, std::ostream& err) {
  const ConductorPolicies policies = policies_of(session.settings());
  auto known = look(session, policies, err);
  if (!known) return complain(err, known.error());
  Table devices{{"Address", "Provider", "Model", "Serial", "Verdict", "Method", "Class", "Verify",
                 "Steps", "Time", "Policy", "Why"},
                {},
                {"Time", "Policy", "Steps", "Model", "Provider", "Verify", "Class", "Serial"}};
  Table guards{{"Address", "Guard", "Result", "Detail"}, {}};
  const auto unregistered = known->redis ? registrations(session, known->survey, known->records)
                                         : std::map<PciAddress, Registration>{};
  for (const auto& [address, drive] : unregistered) {
    devices.rows.push_back({to_string(address), drive.provider, drive.model, drive.serial,
                            drive.verdict, std::string(), std::string(), std::string(),
                            std::string(), std::string(), std::string(), drive.why});
  }
  for (auto& [address, sighting] : known->survey.sightings) {
    if (unregistered.contains(address)) continue;
    know_whose(policies, sighting);
    const auto recorded = known->records.find(address);
    const Record* record = recorded == known->records.end() ? nullptr : &recorded->second;
    know_of_cyborg(sighting, record, *known, session.clock().now().mono);
    auto assessment = assess(sighting, record, nullptr, known->host, session.clock().now().wall);
    if (!assessment) continue;
    const Record& base = record != nullptr ? *record : *assessment->first_seen;
    const auto policy = policy_of(policies, sighting);
    const Planning planning{policy, policies.choose_method, known->options};
    resolve_policy(*assessment, base, sighting, planning);
    Verdict verdict = judge(sighting, base, *assessment, known->host, planning);
    if (!known->redis) verdict = without_record(std::move(verdict));
    if ((sighting.is_drive() || sighting.by_steps) && !is_busy(base.stage) &&
        (verdict.word == "clean" || options.guards)) {
      const auto findings = inspect(session, sighting, to_claim(sighting, base, *assessment),
                                    policy.value_or(DevicePolicy{}));
      if (!findings) complain(err, findings.error().wrap(to_string(address)));
      if (findings) heed(*findings, address, guards, verdict);
    }
    if (!known->paused.empty() && verdict.word == "clean") {
      verdict = {"wait", verdict.plan, known->paused};
    }
    std::vector<Cell> row{to_string(address), base.provider_name, base.model, base.serial,
                          verdict.word};
    for (Cell& cell : cells_of(verdict, sighting, base, planning)) row.push_back(std::move(cell));
    row.emplace_back(policy ? describe_origin(*policy) : std::string());
    const std::string kept = policy && sighting.drive
                                 ? why_kept_back(*sighting.drive, base, *policy, verdict.plan)
                                 : std::string();
    row.emplace_back(verdict.why + (verdict.why.empty() || kept.empty() ? "" : "; ") + kept);
    devices.rows.push_back(std::move(row));
  }
  const auto text = format_list(options.guards ? guards : devices, options.view);
  if (!text) return complain(err, text.error());
  out << *text;
  if (options.guards && !known->paused.empty()) {
    say(err, fmt::format("nothing is cleaned now: {}", known->paused));
  }
  return known->redis ? 0 : 1;
}

}  // namespace reclaim::cli
