#include "handlers/survey/claim_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "handlers/survey/named_plan.h"
#include "handlers/survey/plan.h"

namespace reclaim {
namespace {

// The specification names a drive's class after its ids; the classes of Cyborg's drivers of today
// say nothing of them.
std::string class_of_cyborg(const Record& record) {
  if (record.resource_class == "CUSTOM_PCI" || record.resource_class == "CUSTOM_SSD") {
    return record.resource_class;
  }
  std::string ids = fmt::format("CUSTOM_NVME_{}_{}", record.vendor_id, record.product_id);
  std::transform(ids.begin(), ids.end(), ids.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return ids;
}

}  // namespace

nvme::ClaimRequest claim_request(const Record& record, const DevicePolicy& policy) {
  nvme::ClaimRequest request;
  request.address = record.address;
  request.resource_class = record.resource_class;
  request.expected_serial = record.serial;
  request.resource_class_override = policy.resource_class;
  if (!policy.resource_class && record.flow == Flow::cyborg) {
    request.resource_class_override = class_of_cyborg(record);
  }
  request.shared_subsystem_allowed = policy.shared_subsystem_allowed;
  request.managed = policy.managed;
  request.rules = policy.rules;
  request.rules.health.judged = record.plan.empty() || judges_health(record.plan);
  request.enrolment = record.enrolment;
  request.commands = commands_of(policy.steps, record.plan);
  return request;
}

nvme::PciClaimRequest function_claim_request(const Record& record, const DevicePolicy& policy) {
  nvme::PciClaimRequest request;
  request.address = record.address;
  request.resource_class = record.resource_class;
  request.resource_class_override = policy.resource_class;
  // The classes of Cyborg's drivers say nothing of a device's ids.
  if (!policy.resource_class && record.flow == Flow::cyborg) {
    request.resource_class_override = record.resource_class;
  }
  request.driver = policy.function.driver;
  if (const auto known = nvme::decode_hardware(record.hardware)) request.expected = *known;
  request.commands = commands_of(policy.steps, record.plan);
  return request;
}

}  // namespace reclaim
