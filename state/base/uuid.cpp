#include "state/base/uuid.h"

#include <uuid/uuid.h>

#include <array>

namespace reclaim {
namespace {

// Namespace of Reclaim's device UUIDs, itself random once and fixed for ever.
constexpr const char* kDeviceNamespace = "5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31";

std::string unparse(const uuid_t& id) {
  std::array<char, UUID_STR_LEN> text{};
  uuid_unparse_lower(id, text.data());
  return text.data();
}

}  // namespace

std::string device_uuid(std::string_view host, const PciAddress& address) {
  uuid_t space;
  uuid_parse(kDeviceNamespace, space);
  const std::string name = std::string(host) + "/" + to_string(address);
  uuid_t id;
  uuid_generate_sha1(id, space, name.data(), name.size());
  return unparse(id);
}

std::string random_uuid() {
  uuid_t id;
  uuid_generate_random(id);
  return unparse(id);
}

bool looks_like_uuid(std::string_view text) {
  uuid_t id;
  return text.size() == 36 && uuid_parse(std::string(text).c_str(), id) == 0;
}

}  // namespace reclaim
