#include "handlers/conductor/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "state/base/embedded_json.h"
#include "state/base/fields.h"
#include "state/base/json.h"

namespace reclaim {
namespace nvme {

template <typename Visit>
void visit_fields(Visit& visit, field::Of<EraseEvidence> auto& evidence) {
  using enum field::Rule;
  visit.text("method", evidence.method, parse_erase_method);
  visit("cdw10", evidence.cdw10);
  visit("scdw10", evidence.scdw10);
  visit("sstat", evidence.sstat);
  visit("global_data_erased", evidence.global_data_erased, lenient);
  visit("adopted", evidence.adopted, lenient);
  visit("duration_ms", evidence.duration_ms);
  visit("bytes_zeroed", evidence.bytes_zeroed, lenient);
  visit("commands", evidence.commands, lenient);
  visit("resumed_at_bytes", evidence.resumed_at_bytes, sparse);
  visit("media_places_read", evidence.media.places_read, sparse);
  visit("media_places_compared", evidence.media.places_compared, sparse);
  visit("media_places_unreadable", evidence.media.places_unreadable, sparse);
  visit("media_bytes_read", evidence.media.bytes_read, sparse);
  visit("media_bytes_nonzero", evidence.media.bytes_nonzero, sparse);
  visit("media_not_read", evidence.media.not_read, sparse);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Counters> auto& counters) {
  visit("host_reads", counters.host_reads);
  visit("host_writes", counters.host_writes);
}

// A verification's fields are visited only to be written.
template <typename Visit>
void visit_fields(Visit& visit, const VerifyReport& report) {
  visit("level", std::string(to_string(report.level)));
  visit("relaxed", names(report.relaxed));
  visit("samples_read", report.samples_read);
  visit("samples_counted", report.samples_counted);
  visit("samples_unchanged", report.samples_unchanged);
  visit("bytes_read", report.bytes_read);
  visit("bytes_nonzero", report.bytes_nonzero);
  visit("places_unreadable", report.places_unreadable);
  visit("bytes_unreadable", report.bytes_unreadable);
  visit("places_off_value", report.places_off_value);
  visit("canaries_found", report.canaries_found);
  visit("global_data_erased", report.global_data_erased);
  visit_fields(visit, report.counters);
  visit("expectation", report.expectation);
  if (!report.health.empty()) visit("fit", report.unfit.empty());
}

}  // namespace nvme

namespace {

constexpr std::size_t kBytesMax = std::size_t{64} * 1024;
// Bounds the findings of one step; what a controller says of itself may be as long as it likes.
// Escaped it may be six times as long, which fits into what is read back, for every step of a plan.
constexpr std::size_t kStepFindingsBytesMax = std::size_t{16} * 1024;
constexpr std::size_t kFindingFrameBytes = 48;
constexpr std::size_t kFindingsBytesMax = std::size_t{1024} * 1024;

std::string summary(const nvme::SanitizedMedia& media) {
  if (!media.not_read.empty()) return "; the media was not read: " + media.not_read;
  if (media.places_read == 0) return {};
  return fmt::format(
      "; {} places of the media read before they were deallocated, {} held data "
      "before the erase, none of them still does",
      media.places_read, media.places_compared);
}

}  // namespace

std::string to_json(const nvme::EraseEvidence& evidence) {
  return field::to_json_text(evidence);
}

Result<nvme::EraseEvidence> evidence_of_json(const std::string& json_text) {
  const auto document = json::parse(json_text, kBytesMax);
  if (!document) return document.error().wrap("the recorded evidence");
  auto evidence = field::from_json<nvme::EraseEvidence>(*document);
  return evidence ? evidence : evidence.error().wrap("the recorded evidence");
}

std::string to_json(const nvme::VerifyReport& report) {
  return field::to_json_text(report);
}

Result<nvme::Counters> counters_of_verification(const std::string& json_text) {
  const auto document = json::parse(json_text, kBytesMax);
  return document ? field::from_json<nvme::Counters>(*document)
                  : Result<nvme::Counters>(document.error());
}

Status is_fit_by(const std::string& json_text) {
  const auto document = json::parse(json_text, kBytesMax);
  const rapidjson::Value* fit = document ? json::find(*document, "fit") : nullptr;
  if (fit != nullptr && fit->IsBool() && fit->GetBool()) return Ok{};
  return Error{Errc::refused,
               "its verification does not say that it is fit: `reclaim device clean` it"};
}

std::string summary(const nvme::EraseEvidence& evidence) {
  if (!nvme::is_sanitize(evidence.method)) {
    const std::string done = evidence.commands != 0
                                 ? fmt::format("{} commands completed", evidence.commands)
                                 : fmt::format("{} bytes zeroed", evidence.bytes_zeroed);
    const std::string behind =
        evidence.resumed_at_bytes == 0
            ? std::string()
            : fmt::format(", of them {} by a worker before, read back as zeroes",
                          evidence.resumed_at_bytes);
    return fmt::format("{} in {:.1f} s: {}{}", nvme::to_string(evidence.method),
                       static_cast<double>(evidence.duration_ms) / 1000.0, done, behind);
  }
  return fmt::format("{}{} in {:.1f} s: SSTAT {:#x}, SCDW10 {:#x} as sent, global data erased {}{}",
                     nvme::to_string(evidence.method), evidence.adopted ? " (adopted)" : "",
                     static_cast<double>(evidence.duration_ms) / 1000.0, evidence.sstat,
                     evidence.scdw10, evidence.global_data_erased ? "yes" : "no",
                     summary(evidence.media));
}

std::string summary(const nvme::VerifyReport& report) {
  return fmt::format(
      "{}{}: {} samples read ({} bytes), {} held data before, {} of them unchanged, {} canaries "
      "found, {} bytes not zero; expected {}",
      nvme::to_string(report.level),
      report.relaxed.any()
          ? fmt::format(" (relaxed: {})", fmt::join(nvme::names(report.relaxed), ", "))
          : std::string(),
      report.samples_read, report.bytes_read, report.samples_counted, report.samples_unchanged,
      report.canaries_found, report.bytes_nonzero, report.expectation);
}

std::string summary(const nvme::StepReport& report) {
  std::string reset;
  for (const nvme::StepFinding& finding : report.findings) {
    if (finding.reset) reset += (reset.empty() ? "" : ", ") + finding.surface;
  }
  return fmt::format("{} surfaces looked at, {}", report.findings.size(),
                     reset.empty() ? "nothing had to be reset" : "reset: " + reset);
}

std::string with_findings(const std::string& findings, const std::string& step,
                          const nvme::StepReport& report) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  if (auto before = json::parse(findings, kFindingsBytesMax); before && before->IsObject()) {
    document.CopyFrom(*before, allocator);
  }
  rapidjson::Value list(rapidjson::kArrayType);
  const auto add = [&](std::string_view surface, std::string_view found, bool reset) {
    rapidjson::Value object(rapidjson::kObjectType);
    object.AddMember("surface", json_string(surface, allocator), allocator);
    object.AddMember("found", json_string(found, allocator), allocator);
    object.AddMember("reset", reset, allocator);
    list.PushBack(object, allocator);
  };
  std::size_t left_bytes = kStepFindingsBytesMax;
  std::size_t told = 0;
  for (const nvme::StepFinding& finding : report.findings) {
    const std::size_t bytes = finding.surface.size() + finding.found.size() + kFindingFrameBytes;
    if (bytes > left_bytes) break;
    left_bytes -= bytes;
    add(finding.surface, finding.found, finding.reset);
    ++told;
  }
  if (told != report.findings.size()) {
    add("findings", fmt::format("... and {} more", report.findings.size() - told), false);
  }
  document.RemoveMember(step.c_str());
  document.AddMember(json_string(step, allocator), list, allocator);
  return json::to_text(document);
}

Certificate certificate_of(const Record& record, const std::string& tool_version) {
  Certificate out;
  out.id = record.certificate_id;
  out.host = record.host;
  out.address = to_string(record.address);
  out.device_uuid = record.uuid;
  out.flow = std::string(to_string(record.flow));
  out.vendor_id = record.vendor_id;
  out.product_id = record.product_id;
  out.model = record.model;
  out.serial = record.serial;
  out.firmware = record.firmware;
  out.capacity_bytes = record.capacity_bytes;
  out.tags = record.tags;
  out.policies = record.policies;
  out.provider = record.provider;
  out.instance = record.instance;
  out.instance_source = std::string(to_string(record.instance_source));
  out.migration = record.migration;
  out.project = record.project;
  out.user = record.user;
  out.heard = record.heard;
  out.request_id = record.request_id;
  // The certificate has what was done, not what would be done today: the plan is made again while
  // it is in the pool.
  const auto evidence = evidence_of_json(record.evidence);
  const auto method =
      evidence ? Result<nvme::EraseMethod>(evidence->method) : erase_of(record.plan);
  if (record.by_steps) {
    out.method = kByOperatorSteps;  // which is no class of NIST's
  } else if (method) {
    out.method = nvme::to_string(*method);
    out.sanitization_class = nvme::sanitization_class(*method);
  }
  out.findings = record.findings;
  out.evidence = record.evidence;
  out.verification = record.verification;
  out.started_at = record.cleaning_started_at;
  out.verified_at = record.verified_at;
  out.released_at = record.certificate_at;
  out.timeline = record.timeline;
  out.tool_version = tool_version;
  return out;
}

}  // namespace reclaim
