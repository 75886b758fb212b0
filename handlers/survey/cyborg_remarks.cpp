#include "handlers/survey/cyborg_remarks.h"

#include <fmt/core.h>

namespace reclaim {
namespace {

bool is_on_offer(const Sighting& sighting) {
  return sighting.view && sighting.view->is_device() && !sighting.view->burned() &&
         sighting.view->free();
}

std::string leak_note(const Arq& arq) {
  return fmt::format(
      "{}{} of instance {} is Bound in Cyborg, and Placement shows no allocation: the next "
      "instance that gets the device fails until the ARQ is deleted, which takes a service token: "
      "see `A leaked ARQ` in docs/cyborg.md",
      kLeakedArq, arq.uuid, arq.instance_uuid.empty() ? "(none)" : arq.instance_uuid);
}

}  // namespace

void clean_at_first_sight(Assessment& out, const Record& base, const Sighting& sighting) {
  // The counters are noted of what was on offer once, and left as it was.
  const bool known = !base.certificate_id.empty() || base.certified_host_writes || base.accepted ||
                     sighting.holder || sighting.ended;
  if (base.flow != Flow::cyborg || !base.cleanable() || !sighting.ours.value_or(false) || known ||
      base.stage != Stage::available || out.trigger || !is_on_offer(sighting)) {
    return;
  }
  out.reserve = true;
  out.trigger = Trigger::unknown_offered;
  out.facts.detail = "first seen, and nobody knows what is on it: [nvme] enrol_first_sight = clean";
}

bool is_disable_astray(const Sighting& sighting) {
  return sighting.own_status == kMaintaining && is_on_offer(sighting);
}

void remark_on_cyborg(Assessment& out, const Record& base, const Sighting& sighting) {
  if (base.flow != Flow::cyborg || base.stage != Stage::available || out.trigger ||
      !out.waiting_for.empty()) {
    return;
  }
  if (is_disable_astray(sighting)) {
    out.waiting_for = fmt::format(
        "{}its status is maintaining, and its provider is not reserved; Cyborg's disable may have "
        "reserved another device: compare `openstack resource provider inventory list {}`, and "
        "reserve by hand what is to stay out of the pool",
        kSwitchAstray, sighting.view->uuid);
  } else if (out.held && sighting.disable_astray && sighting.own_status == "enabled") {
    out.waiting_for = fmt::format(
        "{}it is reserved without a tenancy, its status is enabled, and a disabled device of this "
        "host is not reserved: taken for a hold; if no operator reserved it, un-reserve provider "
        "{} by hand",
        kSwitchAstray, sighting.view ? sighting.view->uuid : base.provider);
  } else if (sighting.leaked && is_on_offer(sighting)) {
    out.waiting_for = leak_note(*sighting.leaked);
  }
}

}  // namespace reclaim
