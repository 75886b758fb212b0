// The plan and the certificate as JSON: what the record, the API and the certificate's file show.
#include <fmt/core.h>

#include "state/base/embedded_json.h"
#include "state/base/fields.h"
#include "state/base/json.h"
#include "state/device/record.h"
#include "state/device/timeline_fields.h"

namespace reclaim {
namespace {

// An operator's steps (config: 64, with 32 KiB of args together), those that he names for one
// cleaning (16, kNamedPlanBytesMax) and the built-in ones fit.
constexpr std::size_t kPlanBytesMax = 131'072;
constexpr std::size_t kWordsBytesMax = 131'072;
constexpr std::size_t kPlanStepsMax = 128;
constexpr std::size_t kCertificateBytesMax = 1'048'576;
constexpr int kSchemaOfReleases = 2;

Status check_schema(const rapidjson::Value& value) {
  if (!value.IsObject()) return Error{Errc::invalid, "the text is JSON, but not an object"};
  const Result<std::int64_t> schema = json::get_int(value, "schema");
  if (!schema.ok()) return schema.error();
  if (*schema < 1 || *schema > kCertificateSchemaVersion) {
    return Error{Errc::invalid, fmt::format("'schema' is {}, this version reads 1 to {}", *schema,
                                            kCertificateSchemaVersion)};
  }
  return Ok{};
}

}  // namespace

template <typename Visit>
void visit_fields(Visit& visit, field::Of<CleanStep> auto& step) {
  visit("interface", step.interface);
  visit("step", step.step);
  visit("priority", step.priority);
  visit.embedded("args", step.args);
  visit("by_hand", step.by_hand, field::Rule::sparse);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Certificate> auto& certificate) {
  using enum field::Rule;
  visit("id", certificate.id);
  visit("host", certificate.host);
  visit("address", certificate.address);
  visit("device_uuid", certificate.device_uuid);
  visit("flow", certificate.flow);
  visit("vendor_id", certificate.vendor_id);
  visit("product_id", certificate.product_id);
  visit("model", certificate.model);
  visit("serial", certificate.serial);
  visit("firmware", certificate.firmware);
  visit("provider", certificate.provider);
  visit("instance", certificate.instance);
  visit("request_id", certificate.request_id);
  visit("method", certificate.method);
  visit("sanitization_class", certificate.sanitization_class);
  visit("tool_version", certificate.tool_version);
  visit("instance_source", certificate.instance_source, sparse);  // younger, as `findings`
  visit("migration", certificate.migration, sparse);              // of schema 2, and the next
  visit("project", certificate.project, sparse);
  visit("user", certificate.user, sparse);
  visit("heard", certificate.heard, sparse);
  visit("capacity_bytes", certificate.capacity_bytes);
  visit("tags", certificate.tags, sparse);  // younger, and these
  visit("policies", certificate.policies, sparse);
  visit.embedded("evidence", certificate.evidence);
  visit.embedded("verification", certificate.verification);
  visit.embedded("findings", certificate.findings, lenient);
  visit("started_at", certificate.started_at);
  visit("verified_at", certificate.verified_at);
  visit("not_returned", certificate.not_returned, sparse);  // of schema 3, in place of the next
  visit("released_at", certificate.released_at, certificate.returned() ? required : sparse);
  visit("timeline", certificate.timeline, sparse);  // younger
}

std::string encode_words(const std::vector<std::string>& words) {
  rapidjson::Document document(rapidjson::kArrayType);
  auto& allocator = document.GetAllocator();
  for (const std::string& word : words) document.PushBack(json_string(word, allocator), allocator);
  return json::to_text(document);
}

Result<std::vector<std::string>> decode_words(std::string_view text) {
  const auto document = json::parse(text, kWordsBytesMax);
  if (!document.ok()) return document.error();
  std::vector<std::string> words;
  bool good = document->IsArray();
  for (std::size_t i = 0; good && i < document->Size(); ++i) {
    const auto& word = (*document)[static_cast<rapidjson::SizeType>(i)];
    good = word.IsString();
    if (good) words.emplace_back(word.GetString(), word.GetStringLength());
  }
  if (!good) return Error{Errc::invalid, "a list of strings is needed"};
  return words;
}

std::string encode_plan(const std::vector<CleanStep>& plan) {
  rapidjson::Document document(rapidjson::kArrayType);
  for (const CleanStep& step : plan) {
    rapidjson::Document object(rapidjson::kObjectType, &document.GetAllocator());
    field::add_members(object, step);
    document.PushBack(object, document.GetAllocator());
  }
  return json::to_text(document);
}

Result<std::vector<CleanStep>> decode_plan(std::string_view text) {
  const Result<rapidjson::Document> document = parse_shallow(text, kPlanBytesMax);
  if (!document.ok()) return document.error();
  if (!document->IsArray()) return Error{Errc::invalid, "a plan is a JSON array of steps"};
  if (document->Size() > kPlanStepsMax) {
    return Error{Errc::limit, fmt::format("the plan has {} steps, {} are allowed", document->Size(),
                                          kPlanStepsMax)};
  }
  std::vector<CleanStep> plan;
  for (const rapidjson::Value& value : document->GetArray()) {
    auto step = field::from_json<CleanStep>(value);
    if (!step.ok()) return step.error().wrap(fmt::format("step {} of the plan", plan.size() + 1));
    plan.push_back(*std::move(step));
  }
  return plan;
}

std::string encode_certificate(const Certificate& certificate) {
  rapidjson::Document document(rapidjson::kObjectType);
  // Readers of the schema before know of releases alone.
  const int schema = certificate.returned() ? kSchemaOfReleases : kCertificateSchemaVersion;
  document.AddMember("schema", schema, document.GetAllocator());
  field::add_members(document, certificate);
  return json::to_text(document);
}

Result<Certificate> decode_certificate(std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kCertificateBytesMax);
  Status good = document.ok() ? check_schema(*document) : Status(document.error());
  auto certificate =
      good.ok() ? field::from_json<Certificate>(*document) : Result<Certificate>(good.error());
  if (certificate.ok() && !certificate->returned() && certificate->released_at.ms != 0) {
    certificate = Error{Errc::invalid, "it has both 'released_at' and 'not_returned'"};
  }
  if (!certificate.ok()) return certificate.error().wrap("this is not a whole certificate");
  return certificate;
}

}  // namespace reclaim
