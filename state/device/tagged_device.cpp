#include "state/device/tagged_device.h"

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim {

std::string tagged_device(const Record& record) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto text = [&](const char* name, std::string_view value) {
    document.AddMember(rapidjson::StringRef(name), json_string(value, allocator), allocator);
  };
  text("type", record.is_drive() ? "disk" : lower(record.type));
  text("bus", "pci");
  text("address", to_string(record.address));
  if (!record.serial.empty()) text("serial", record.serial);
  rapidjson::Value tags(rapidjson::kArrayType);
  for (const std::string& tag : record.tags) tags.PushBack(json_string(tag, allocator), allocator);
  document.AddMember("tags", tags, allocator);
  return json::to_text(document);
}

}  // namespace reclaim
