#include "nvme/qualify/qualification.h"

#include <algorithm>

#include "state/base/embedded_json.h"
#include "state/base/enum_names.h"
#include "state/base/fields.h"

namespace reclaim::nvme {
namespace {

constexpr auto kVerdicts =
    enum_names<Verdict::do_not_use>("undecided", "recommended", "with_relaxations", "do_not_use");

}  // namespace

std::string_view to_string(Verdict verdict) {
  return kVerdicts[verdict];
}

Result<Verdict> parse_verdict(std::string_view text) {
  if (const auto found = kVerdicts.find(text)) return *found;
  return Error{Errc::invalid,
               fmt::format("'{}' is not a verdict; accepted: {}", text, kVerdicts.list())};
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Pass> auto& pass) {
  visit("bytes", pass.bytes);
  visit("duration_ms", pass.duration_ms);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<MediaCounts> auto& counts) {
  visit("intact", counts.intact);
  visit("traces", counts.traces);
  visit("zeroes", counts.zeroes);
  visit("ones", counts.ones);
  visit("other", counts.other);
  visit("unreadable", counts.unreadable);
  visit("found_nsid", counts.found_nsid);
  visit("found_offset", counts.found_offset);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Capabilities> auto& can) {
  visit("sanicap", can.sanicap);
  visit("oncs", can.oncs);
  visit("oacs", can.oacs);
  visit("fna", can.fna);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<DriveSays> auto& says) {
  visit("model", says.model);
  visit("serial", says.serial);
  visit("firmware", says.firmware);
  visit("vendor_id", says.vendor_id);
  visit("product_id", says.product_id);
  visit("capacity_bytes", says.capacity_bytes);
  visit("namespaces", says.namespaces);
  visit("block_bytes", says.block_bytes);
  visit("dlfeat", says.dlfeat);
  visit("cmic", says.cmic);
  visit("managed", says.managed);
  visit("capabilities", says.capabilities);
  visit("crypto_estimate_s", says.crypto_estimate_s);
  visit("block_estimate_s", says.block_estimate_s);
  visit("percentage_used", says.percentage_used);
  visit("media_errors", says.media_errors);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Trial> auto& trial) {
  visit.text("method", trial.method, parse_erase_method);
  visit("finished", trial.finished);
  visit("written", trial.written);
  visit("read_back", trial.read_back);
  visit("before", trial.before);
  visit("failure", trial.failure);
  visit("erased", trial.erased);
  visit("claims_erased", trial.claims_erased);
  visit("scdw10", trial.scdw10);
  visit("sstat", trial.sstat);
  visit("global_data_erased", trial.global_data_erased);
  visit("power", trial.power);
  visit("reset", trial.reset);
  visit("reset_failed", trial.reset_failed);
  visit("looked_at", trial.looked_at);
  visit("after", trial.after);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<LastErase> auto& last) {
  visit("method", last.method);
  visit("verified", last.verified);
  visit("text", last.text);
  visit("duration_ms", last.duration_ms);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Conclusion> auto& conclusion) {
  visit.text("verdict", conclusion.verdict, parse_verdict);
  visit("reasons", conclusion.reasons);
  visit("notes", conclusion.notes);
  visit("method", conclusion.method);
  visit("relax", conclusion.relax);
  visit("device_spec", conclusion.device_spec);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Qualification> auto& whole) {
  visit("tool_version", whole.tool_version);
  visit("kernel", whole.kernel);
  visit("address", whole.address);
  visit("began_at", whole.began_at);
  visit("ended_at", whole.ended_at);
  visit("drive", whole.drive);
  visit("nonces", whole.nonces);
  visit("trials", whole.trials);
  visit("last_erase", whole.last_erase);
  visit("conclusion", whole.conclusion);
}

const Trial* Qualification::find(EraseMethod method) const {
  const auto found = std::find_if(trials.begin(), trials.end(),
                                  [method](const Trial& t) { return t.method == method; });
  return found == trials.end() ? nullptr : &*found;
}

std::vector<Pattern> Qualification::patterns() const {
  std::vector<Pattern> all;
  all.reserve(nonces.size());
  for (const std::uint64_t nonce : nonces) all.emplace_back(nonce);
  return all;
}

std::string encode_qualification(const Qualification& qualification) {
  rapidjson::Document document(rapidjson::kObjectType);
  document.AddMember("schema", json_string(kQualificationSchema, document.GetAllocator()),
                     document.GetAllocator());
  field::add_members(document, qualification);
  return json::to_text(document);
}

Result<Qualification> decode_qualification(std::string_view text) {
  const auto document = json::parse(text, kQualificationBytesMax);
  if (!document) return document.error();
  const auto schema = json::get_string(*document, "schema");
  if (!schema) return schema.error();
  if (*schema != kQualificationSchema) {
    return Error{Errc::invalid, fmt::format("'schema' is '{}', this version reads {}", *schema,
                                            kQualificationSchema)};
  }
  return field::from_json<Qualification>(*document);
}

std::vector<EraseMethod> methods_of(const Capabilities& capabilities) {
  std::vector<EraseMethod> methods;
  if (capabilities.crypto_erase()) methods.push_back(EraseMethod::sanitize_crypto);
  if (capabilities.block_erase()) methods.push_back(EraseMethod::sanitize_block);
  if (capabilities.write_zeroes()) methods.push_back(EraseMethod::write_zeroes);
  methods.push_back(EraseMethod::overwrite);
  if (capabilities.format_crypto()) methods.push_back(EraseMethod::format_crypto);
  if (capabilities.format()) methods.push_back(EraseMethod::format_user_data);
  return methods;
}

}  // namespace reclaim::nvme
