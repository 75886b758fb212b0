#include "state/device/tagged_device.h"

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

std::string type_of(const Record& record) {
  if (record.is_drive()) return "disk";
  const std::string type = lower(record.type);
  return type == "nic" && record.mac.empty() ? "hostdev" : type;
}

}  // namespace

std::string tagged_device(const Record& record) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto text = [&](const char* name, std::string_view value) {
    document.AddMember(rapidjson::StringRef(name), json_string(value, allocator), allocator);
  };
  text("type", type_of(record));
  text("bus", "pci");
  text("address", to_string(record.address));
  if (!record.serial.empty()) text("serial", record.serial);
  if (!record.mac.empty()) text("mac", record.mac);
  rapidjson::Value tags(rapidjson::kArrayType);
  for (const std::string& tag : record.tags) tags.PushBack(json_string(tag, allocator), allocator);
  document.AddMember("tags", tags, allocator);
  return json::to_text(document);
}

}  // namespace reclaim
