#include "handlers/conductor/agent_report.h"

#include <algorithm>

#include "handlers/conductor/policy_of.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/registrar.h"
#include "nvme/erase/policy.h"

namespace reclaim {
namespace {

// True if nothing is on its way to the record that may say otherwise.
bool is_settled(const Device& device) {
  return !device.saving && device.inbox.empty() && !device.in_work && device.persisted &&
         !device.quarantined && device.record.damage.empty();
}

bool is_clean(const ConductorContext& context, const Device& device, const LastLook& look,
              bool unsure) {
  const Record& record = device.record;
  const bool waits = !record.waiting_for.empty() && record.waiting_for != kHandedOver;
  return record.stage == Stage::available && is_settled(device) && look.read && !look.unrecorded &&
         !unsure && !waits && !record.held && !record.maintenance && !context.survey.not_ours &&
         !record.certificate_id.empty();
}

// Whoever asks compares it with a time of his own, and the clock may have been set since the look,
// before or after that time. Of the two times that the look may have now, the earlier one never
// makes it later than it was, unless the clock was set back and ahead again since.
WallMs looked_at(const Now& began, const Now& now) {
  if (began.wall.ms == 0) return {};
  return std::min(began.wall, WallMs{now.wall.ms - (now.mono.ms - began.mono.ms)});
}

ReportedDrive reported(const ConductorContext& context, const Device& device,
                       const DevicePolicy& policy, const LastLook& look, bool unsure) {
  const Record& record = device.record;
  ReportedDrive out;
  out.address = record.address;
  out.state = device_state(record.stage);
  out.state_since = record.stage_since;
  out.vendor_id = record.vendor_id;
  out.product_id = record.product_id;
  out.model = record.model;
  out.serial = record.serial;
  out.resource_class = record.resource_class.empty()
                           ? class_of_drive(record.vendor_id, record.product_id)
                           : record.resource_class;
  const auto erase = erase_of(record.plan);
  if (erase) out.action = nvme::to_string(*erase);
  out.managed = policy.managed;
  out.provider = record.provider;
  out.status = record.stage == Stage::error ? record.last_error : record.waiting_for;
  out.held = record.held;
  out.handed_over = record.handed_over && record.stage == Stage::available;
  out.clean = is_clean(context, device, look, unsure);
  out.offered = look.offered && is_settled(device);
  if (!record.certificate_id.empty()) out.cleaned_at = record.certificate_at;
  out.looked_at = looked_at(look.began, context.ports.clock.now());
  return out;
}

}  // namespace

std::vector<ReportedDrive> agent_report(const ConductorContext& context, const Assessor& assessor,
                                        const DriveClaims& claims) {
  std::vector<ReportedDrive> out;
  for (const auto& [address, device] : context.devices) {
    const Record& record = device.record;
    const auto policy = policy_of(context.policies, record);
    if (record.flow != Flow::cyborg || !record.is_drive() || !policy) continue;
    const LastLook& look = assessor.last_look(address);
    ReportedDrive drive = reported(context, device, *policy, look, assessor.is_unsure(address));
    auto capabilities = look.capabilities;
    if (!capabilities) capabilities = claims.capabilities(address);
    if (capabilities) drive.traits = nvme::traits(*capabilities);
    out.push_back(std::move(drive));
  }
  return out;
}

}  // namespace reclaim
