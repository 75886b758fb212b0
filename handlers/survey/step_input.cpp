#include "handlers/survey/step_input.h"

#include <utility>

#include "state/base/embedded_json.h"
#include "state/base/json.h"

namespace reclaim {

std::string step_input(const Record& record, const OperatorStep& step, bool dry_run) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto add = [&](const char* name, rapidjson::Value value) {
    document.AddMember(rapidjson::StringRef(name), value, allocator);
  };
  const auto text = [&](const char* name, std::string_view value) {
    add(name, json_string(value, allocator));
  };
  add("protocol", rapidjson::Value(kStepProtocol));
  text("step", step.interface + "." + step.name);
  text("host", record.host);
  text("address", to_string(record.address));
  text("device_uuid", record.uuid);
  text("type", record.type);
  text("vendor_id", record.vendor_id);
  text("product_id", record.product_id);
  text("model", record.model);
  text("serial", record.serial);
  text("provider", record.provider);
  text("resource_class", record.resource_class);
  text("instance", record.instance);
  text("flow", to_string(record.flow));
  rapidjson::Value tags(rapidjson::kArrayType);
  for (const std::string& tag : record.tags) tags.PushBack(json_string(tag, allocator), allocator);
  add("tags", std::move(tags));
  add("args", embed(step.args, allocator));
  add("attempt", rapidjson::Value(record.attempts));
  add("dry_run", rapidjson::Value(dry_run));
  add("findings", embed(record.findings.empty() ? "{}" : record.findings, allocator));
  return json::to_text(document);
}

}  // namespace reclaim
