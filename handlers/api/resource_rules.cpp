#include "handlers/api/resource_rules.h"

#include "handlers/api/orders.h"

namespace reclaim::api {

std::string_view rule_of(Resource resource) {
  if (const OrderCall* order = order_call(resource)) return order->rule;
  switch (resource) {
    case Resource::devices:
      return "cyborg:device:get_all";
    case Resource::device:
      return "cyborg:device:get_one";
    case Resource::cleaning:
    case Resource::steps:
      return kRuleOfReasons;
    case Resource::arqs:
      return "cyborg:arq:get_all";
    case Resource::arq:
      return "cyborg:arq:get_one";
    case Resource::certificates:
    case Resource::certificate:
      return "reclaim:certificate:get";
    default:
      break;
  }
  return "";
}

Microversion needed_by(Resource resource) {
  if (const OrderCall* order = order_call(resource)) return order->since;
  if (resource == Resource::steps) return kVersionDeviceState;
  if (resource == Resource::cleaning) return kVersionStepList;
  const bool of_certificates =
      resource == Resource::certificates || resource == Resource::certificate;
  return of_certificates ? kVersionCertificates : kVersionMin;
}

bool takes_parameters(Resource resource) {
  return resource == Resource::devices || resource == Resource::arqs ||
         resource == Resource::certificates || resource == Resource::certificate;
}

}  // namespace reclaim::api
