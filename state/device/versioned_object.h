// Reads what oslo.versionedobjects writes of an object: {"NS_object.name": …, "NS_object.version":
// …, "NS_object.data": {…}} in whatever namespace. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>

#include "state/base/rapidjson.h"

namespace reclaim {

struct VersionedObject {
  // The members: of the object's data, or of the value itself where it is a flat dict; null where
  // it is neither. Lives as long as what it was opened from.
  const rapidjson::Value* data = nullptr;
  bool flat = true;
  std::string name;     // empty: it does not say
  std::string version;  // the same

  // Minor versions only add; another major may mean anything by the same names.
  [[nodiscard]] bool major_is_one() const {
    return std::string_view(version).substr(0, version.find('.')) == "1";
  }
};

[[nodiscard]] VersionedObject open_versioned_object(const rapidjson::Value& value);

}  // namespace reclaim
