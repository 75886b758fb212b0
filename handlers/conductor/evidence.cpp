#include "handlers/conductor/evidence.h"

#include <fmt/format.h>

#include "handlers/survey/plan.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/rapidjson.h"

namespace reclaim {
namespace {

constexpr std::size_t kBytesMax = std::size_t{64} * 1024;
// Of one step; what a controller says of itself may be as long as it likes. Escaped it may be six
// times as long, which fits into what is read back, for every step of a plan.
constexpr std::size_t kStepFindingsBytesMax = std::size_t{16} * 1024;
constexpr std::size_t kFindingFrameBytes = 48;
constexpr std::size_t kFindingsBytesMax = std::size_t{1024} * 1024;

}  // namespace

std::string to_json(const nvme::EraseEvidence& evidence) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  writer.Key("method");
  writer.String(nvme::to_string(evidence.method).data());
  writer.Key("cdw10");
  writer.Uint(evidence.cdw10);
  writer.Key("scdw10");
  writer.Uint(evidence.scdw10);
  writer.Key("sstat");
  writer.Uint(evidence.sstat);
  writer.Key("global_data_erased");
  writer.Bool(evidence.global_data_erased);
  writer.Key("adopted");
  writer.Bool(evidence.adopted);
  writer.Key("duration_ms");
  writer.Int64(evidence.duration_ms);
  writer.Key("bytes_zeroed");
  writer.Uint64(evidence.bytes_zeroed);
  writer.Key("commands");
  writer.Uint(evidence.commands);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

Result<nvme::EraseEvidence> evidence_of_json(const std::string& json_text) {
  const auto document = json::parse(json_text, kBytesMax);
  if (!document) return document.error().wrap("the recorded evidence");
  const auto method_name = json::get_string(*document, "method");
  if (!method_name) return method_name.error();
  const auto method = nvme::parse_erase_method(*method_name);
  const auto cdw10 = json::get_int(*document, "cdw10");
  const auto scdw10 = json::get_int(*document, "scdw10");
  const auto sstat = json::get_int(*document, "sstat");
  const auto duration = json::get_int(*document, "duration_ms");
  if (!method) return method.error();
  for (const auto* number : {&cdw10, &scdw10, &sstat, &duration}) {
    if (!*number) return number->error().wrap("the recorded evidence");
  }
  const auto flag = [&document](std::string_view name) {
    const rapidjson::Value* value = json::find(*document, name);
    return value != nullptr && value->IsTrue();
  };
  nvme::EraseEvidence evidence;
  evidence.method = *method;
  evidence.cdw10 = static_cast<std::uint32_t>(*cdw10);
  evidence.scdw10 = static_cast<std::uint32_t>(*scdw10);
  evidence.sstat = static_cast<std::uint16_t>(*sstat);
  evidence.global_data_erased = flag("global_data_erased");
  evidence.adopted = flag("adopted");
  evidence.duration_ms = *duration;
  // Absent in what an older version wrote.
  if (const auto bytes = json::get_int(*document, "bytes_zeroed"); bytes && *bytes >= 0) {
    evidence.bytes_zeroed = static_cast<std::uint64_t>(*bytes);
  }
  if (const auto commands = json::get_int(*document, "commands"); commands && *commands >= 0) {
    evidence.commands = static_cast<std::uint32_t>(*commands);
  }
  return evidence;
}

std::string to_json(const nvme::VerifyReport& report) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  writer.Key("level");
  writer.String(std::string(nvme::to_string(report.level)).c_str());
  writer.Key("relaxed");
  writer.StartArray();
  for (const std::string& name : nvme::names(report.relaxed)) writer.String(name.c_str());
  writer.EndArray();
  writer.Key("samples_read");
  writer.Uint(report.samples_read);
  writer.Key("samples_counted");
  writer.Uint(report.samples_counted);
  writer.Key("samples_unchanged");
  writer.Uint(report.samples_unchanged);
  writer.Key("bytes_read");
  writer.Uint64(report.bytes_read);
  writer.Key("bytes_nonzero");
  writer.Uint64(report.bytes_nonzero);
  writer.Key("places_unreadable");
  writer.Uint(report.places_unreadable);
  writer.Key("bytes_unreadable");
  writer.Uint64(report.bytes_unreadable);
  writer.Key("places_off_value");
  writer.Uint(report.places_off_value);
  writer.Key("canaries_found");
  writer.Uint(report.canaries_found);
  writer.Key("global_data_erased");
  writer.Bool(report.global_data_erased);
  writer.Key("host_reads");
  writer.Uint64(report.counters.host_reads);
  writer.Key("host_writes");
  writer.Uint64(report.counters.host_writes);
  writer.Key("expectation");
  writer.String(report.expectation.c_str());
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

Result<nvme::Counters> counters_of_verification(const std::string& json_text) {
  const auto document = json::parse(json_text, kBytesMax);
  if (!document) return document.error();
  const auto reads = json::get_int(*document, "host_reads");
  const auto writes = json::get_int(*document, "host_writes");
  if (!reads) return reads.error();
  if (!writes) return writes.error();
  return nvme::Counters{static_cast<std::uint64_t>(*reads), static_cast<std::uint64_t>(*writes)};
}

std::string summary(const nvme::EraseEvidence& evidence) {
  if (!nvme::is_sanitize(evidence.method)) {
    const std::string done = evidence.commands != 0
                                 ? fmt::format("{} commands completed", evidence.commands)
                                 : fmt::format("{} bytes zeroed", evidence.bytes_zeroed);
    return fmt::format("{} in {:.1f} s: {}", nvme::to_string(evidence.method),
                       static_cast<double>(evidence.duration_ms) / 1000.0, done);
  }
  return fmt::format("{}{} in {:.1f} s: SSTAT {:#x}, SCDW10 {:#x} as sent, global data erased {}",
                     nvme::to_string(evidence.method), evidence.adopted ? " (adopted)" : "",
                     static_cast<double>(evidence.duration_ms) / 1000.0, evidence.sstat,
                     evidence.scdw10, evidence.global_data_erased ? "yes" : "no");
}

std::string summary(const nvme::VerifyReport& report) {
  return fmt::format(
      "{}{}: {} samples read ({} bytes), {} held data before, {} of them unchanged, {} canaries "
      "found, "
      "{} bytes not zero; expected {}",
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
  out.provider = record.provider;
  out.instance = record.instance;
  out.instance_source = std::string(to_string(record.instance_source));
  out.request_id = record.request_id;
  // What was done, not what would be done today: the plan is made anew while it is in the pool.
  const auto evidence = evidence_of_json(record.evidence);
  const auto method =
      evidence ? Result<nvme::EraseMethod>(evidence->method) : erase_of(record.plan);
  if (method) {
    out.method = nvme::to_string(*method);
    out.sanitization_class = nvme::sanitization_class(*method);
  }
  out.findings = record.findings;
  out.evidence = record.evidence;
  out.verification = record.verification;
  out.started_at = record.cleaning_started_at;
  out.verified_at = record.verified_at;
  out.released_at = record.certificate_at;
  out.tool_version = tool_version;
  return out;
}

}  // namespace reclaim
