#include "state/base/uuid.h"

#include <uuid/uuid.h>

#include <array>

namespace reclaim {
namespace {

// Namespaces of Reclaim's device and message UUIDs, random once and fixed for ever.
constexpr const char* kDeviceNamespace = "5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31";
constexpr const char* kDnsNamespace = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";  // RFC 9562
constexpr const char* kMessageNamespace = "0d3f9a52-6a8b-4c57-b1d4-2e7790c6ef18";

std::string unparse(const uuid_t& id) {
  std::array<char, UUID_STR_LEN> text{};
  uuid_unparse_lower(id, text.data());
  return text.data();
}

std::string uuid_of_name(const char* name_space, std::string_view name) {
  uuid_t space;
  uuid_parse(name_space, space);
  uuid_t id;
  uuid_generate_sha1(id, space, name.data(), name.size());
  return unparse(id);
}

}  // namespace

std::string device_uuid(std::string_view host, const PciAddress& address) {
  return uuid_of_name(kDeviceNamespace, std::string(host) + "/" + to_string(address));
}

std::string provider_uuid(std::string_view provider_name) {
  uuid_t space;
  uuid_parse(kDnsNamespace, space);
  uuid_t id;
  uuid_generate_md5(id, space, provider_name.data(), provider_name.size());
  return unparse(id);
}

std::string message_uuid(std::string_view body) {
  return uuid_of_name(kMessageNamespace, body);
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
