#include "state/device/versioned_object.h"

namespace reclaim {
namespace {

constexpr std::size_t kTextBytesMax = 255;

std::string text_of(const rapidjson::Value& value) {
  if (!value.IsString() || value.GetStringLength() > kTextBytesMax) return {};
  return {value.GetString(), value.GetStringLength()};
}

}  // namespace

VersionedObject open_versioned_object(const rapidjson::Value& value) {
  VersionedObject out;
  if (!value.IsObject()) return out;
  const rapidjson::Value* name = nullptr;
  const rapidjson::Value* version = nullptr;
  const rapidjson::Value* data = nullptr;
  for (const auto& member : value.GetObject()) {
    const std::string_view key(member.name.GetString(), member.name.GetStringLength());
    // The first one counts where a member stands twice, as everywhere.
    const auto take = [&](std::string_view end, const rapidjson::Value*& to) {
      if (to == nullptr && key.size() > end.size() && key.ends_with(end)) to = &member.value;
    };
    take("_object.name", name);
    take("_object.version", version);
    take("_object.data", data);
  }
  out.flat = data == nullptr;
  if (out.flat) {
    out.data = &value;
    return out;
  }
  if (data->IsObject()) out.data = data;
  if (name != nullptr) out.name = text_of(*name);
  if (version != nullptr) out.version = text_of(*version);
  return out;
}

}  // namespace reclaim
