#include "state/certificate/outbox_seal.h"

namespace reclaim {
namespace {

constexpr std::string_view kPurpose = "reclaim notification 1";
constexpr const char* kMac = "mac";

Fields sealed_part(Fields fields, const std::string& host) {
  fields.erase(kMac);
  fields["host"] = host;
  return fields;
}

}  // namespace

Fields OutboxSeal::seal(Fields fields) const {
  fields[kMac] = key_.mac(kPurpose, sealed_part(fields, host_));
  return fields;
}

bool OutboxSeal::fits(const Fields& fields) const {
  const auto mac = fields.find(kMac);
  return mac != fields.end() && key_.fits(kPurpose, sealed_part(fields, host_), mac->second);
}

}  // namespace reclaim
