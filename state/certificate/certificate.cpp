// The plan and the certificate as JSON: what the record, the API and the certificate's file show.
#include <fmt/core.h>

#include <limits>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/record.h"

namespace reclaim {
namespace {

constexpr std::size_t kPlanBytesMax = 65'536;
constexpr std::size_t kPlanStepsMax = 64;
constexpr std::size_t kCertificateBytesMax = 1'048'576;

Result<CleanStep> decode_step(const rapidjson::Value& value) {
  Result<std::string> interface = json::get_string(value, "interface");
  if (!interface.ok()) return std::move(interface).error();
  Result<std::string> step = json::get_string(value, "step");
  if (!step.ok()) return std::move(step).error();
  const Result<std::int64_t> priority = json::get_int(value, "priority");
  if (!priority.ok()) return priority.error();
  if (*priority < std::numeric_limits<int>::min() || *priority > std::numeric_limits<int>::max()) {
    return Error{Errc::invalid, fmt::format("'priority' is {}, which is out of range", *priority)};
  }
  const rapidjson::Value* args = json::find(value, "args");
  if (args == nullptr || !(args->IsObject() || args->IsString())) {
    return Error{Errc::invalid, "'args' is absent or of another type, an object is needed"};
  }
  return CleanStep{*std::move(interface), *std::move(step), static_cast<int>(*priority),
                   unembed(*args)};
}

// A text member of the certificate: its name and where it goes.
struct TextMember {
  const char* name;
  std::string Certificate::*member;
};

constexpr TextMember kTextMembers[] = {
    {"id", &Certificate::id},
    {"host", &Certificate::host},
    {"address", &Certificate::address},
    {"device_uuid", &Certificate::device_uuid},
    {"flow", &Certificate::flow},
    {"vendor_id", &Certificate::vendor_id},
    {"product_id", &Certificate::product_id},
    {"model", &Certificate::model},
    {"serial", &Certificate::serial},
    {"firmware", &Certificate::firmware},
    {"provider", &Certificate::provider},
    {"instance", &Certificate::instance},
    {"request_id", &Certificate::request_id},
    {"method", &Certificate::method},
    {"sanitization_class", &Certificate::sanitization_class},
    {"tool_version", &Certificate::tool_version},
};

struct TimeMember {
  const char* name;
  WallMs Certificate::*member;
};

constexpr TimeMember kTimeMembers[] = {
    {"started_at", &Certificate::started_at},
    {"verified_at", &Certificate::verified_at},
    {"released_at", &Certificate::released_at},
};

struct EmbeddedMember {
  const char* name;
  std::string Certificate::*member;
};

constexpr EmbeddedMember kEmbeddedMembers[] = {
    {"evidence", &Certificate::evidence},
    {"verification", &Certificate::verification},
};

// Certificates of earlier versions lack these.
constexpr TextMember kInstanceSource{"instance_source", &Certificate::instance_source};
constexpr EmbeddedMember kFindings{"findings", &Certificate::findings};

Status check_schema(const rapidjson::Value& value) {
  const Result<std::int64_t> schema = json::get_int(value, "schema");
  if (!schema.ok()) return schema.error();
  if (*schema != kCertificateSchemaVersion) {
    return Error{Errc::invalid, fmt::format("'schema' is {}, this version reads {}", *schema,
                                            kCertificateSchemaVersion)};
  }
  return Ok{};
}

Status read_times(const rapidjson::Value& value, Certificate& certificate) {
  for (const TimeMember& time : kTimeMembers) {
    const Result<std::string> text = json::get_string(value, time.name);
    if (!text.ok()) return text.error();
    if (text->empty()) continue;
    const Result<WallMs> at = from_iso8601(*text);
    if (!at.ok()) return at.error().wrap(fmt::format("'{}'", time.name));
    certificate.*time.member = *at;
  }
  return Ok{};
}

Result<Certificate> read_certificate(const rapidjson::Value& value) {
  if (!value.IsObject()) return Error{Errc::invalid, "the text is JSON, but not an object"};
  if (Status schema = check_schema(value); !schema.ok()) return std::move(schema).error();
  Certificate certificate;
  for (const TextMember& text : kTextMembers) {
    Result<std::string> read = json::get_string(value, text.name);
    if (!read.ok()) return std::move(read).error();
    certificate.*text.member = *std::move(read);
  }
  const rapidjson::Value* capacity = json::find(value, "capacity_bytes");
  if (capacity == nullptr || !capacity->IsUint64()) {
    return Error{Errc::invalid, "'capacity_bytes' is absent or no whole number"};
  }
  certificate.capacity_bytes = capacity->GetUint64();
  for (const EmbeddedMember& embedded : kEmbeddedMembers) {
    const rapidjson::Value* member = json::find(value, embedded.name);
    if (member == nullptr || !(member->IsObject() || member->IsString())) {
      return Error{Errc::invalid, fmt::format("'{}' is absent or of another type, an object is "
                                              "needed",
                                              embedded.name)};
    }
    certificate.*embedded.member = unembed(*member);
  }
  certificate.*kInstanceSource.member =
      json::maybe_string(value, kInstanceSource.name).value_or("");
  const rapidjson::Value* findings = json::find(value, kFindings.name);
  if (findings != nullptr && (findings->IsObject() || findings->IsString())) {
    certificate.*kFindings.member = unembed(*findings);
  }
  if (Status times = read_times(value, certificate); !times.ok()) return std::move(times).error();
  return certificate;
}

}  // namespace

std::string encode_plan(const std::vector<CleanStep>& plan) {
  rapidjson::Document document(rapidjson::kArrayType);
  auto& allocator = document.GetAllocator();
  for (const CleanStep& step : plan) {
    rapidjson::Value object(rapidjson::kObjectType);
    object.AddMember("interface", json_string(step.interface, allocator), allocator);
    object.AddMember("step", json_string(step.step, allocator), allocator);
    object.AddMember("priority", step.priority, allocator);
    object.AddMember("args", embed(step.args, allocator), allocator);
    document.PushBack(object, allocator);
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
    Result<CleanStep> step = decode_step(value);
    if (!step.ok()) return step.error().wrap(fmt::format("step {} of the plan", plan.size() + 1));
    plan.push_back(*std::move(step));
  }
  return plan;
}

std::string encode_certificate(const Certificate& certificate) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto add = [&](const char* name, rapidjson::Value value) {
    document.AddMember(rapidjson::StringRef(name), value, allocator);
  };
  add("schema", rapidjson::Value(kCertificateSchemaVersion));
  for (const TextMember& text : kTextMembers) {
    add(text.name, json_string(certificate.*text.member, allocator));
  }
  if (const std::string& source = certificate.*kInstanceSource.member; !source.empty()) {
    add(kInstanceSource.name, json_string(source, allocator));
  }
  add("capacity_bytes", rapidjson::Value(certificate.capacity_bytes));
  for (const EmbeddedMember& embedded : kEmbeddedMembers) {
    add(embedded.name, embed(certificate.*embedded.member, allocator));
  }
  add(kFindings.name, embed(certificate.*kFindings.member, allocator));
  for (const TimeMember& time : kTimeMembers) {
    const WallMs at = certificate.*time.member;
    add(time.name, json_string(at.ms == 0 ? std::string() : to_iso8601(at), allocator));
  }
  return json::to_text(document);
}

Result<Certificate> decode_certificate(std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kCertificateBytesMax);
  Result<Certificate> certificate =
      document.ok() ? read_certificate(*document) : Result<Certificate>(document.error());
  if (!certificate.ok()) return certificate.error().wrap("this is no whole certificate");
  return certificate;
}

}  // namespace reclaim
