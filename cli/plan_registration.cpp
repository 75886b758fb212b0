#include "cli/plan_registration.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "handlers/survey/registrar.h"

namespace reclaim::cli {
namespace {

Registration judge(Session& session, const std::string& root_uuid, const nvme::DriveFacts& drive,
                   bool accepted) {
  Registration out;
  out.address = drive.address;
  if (drive.identity) {
    out.model = drive.identity->model;
    out.serial = drive.identity->serial;
  }
  out.verdict = "wait";
  const auto wanted = new_device(session.settings().host, root_uuid, drive);
  if (!wanted) {
    out.why = "not registered: " + wanted.error().what;
    return out;
  }
  out.provider = wanted->name;
  const auto found = session.wait<std::vector<std::string>>(
      [&](auto done) { session.drives().find_signatures(drive.address, std::move(done)); });
  if (!found) {
    out.why = "not registered: what it has cannot be looked at: " + found.error().what;
    return out;
  }
  const std::string has =
      found->empty() ? "nothing known" : fmt::format("{}", fmt::join(*found, ", "));
  if (!found->empty() && !accepted) {
    out.why = fmt::format("not registered: it has {}; `reclaim device set {} --enrol` gives it up",
                          has, to_string(drive.address));
    return out;
  }
  out.verdict = "register";
  out.why = fmt::format(
      "Placement has no provider for it: {} is made, reserved, and the drive cleaned; "
      "it has {}",
      wanted->resource_class, has);
  return out;
}

}  // namespace

std::map<PciAddress, Registration> registrations(Session& session, const Survey& survey,
                                                 const std::map<PciAddress, Record>& records) {
  std::map<PciAddress, Registration> out;
  if (!session.settings().conductor.registers()) return out;
  const auto drives = session.wait<std::vector<nvme::DriveFacts>>(
      [&](auto done) { session.drives().discover({}, std::move(done)); });
  if (!drives) return out;  // the survey has said so
  const auto lookup = config::device_policy_lookup(session.settings());
  for (const nvme::DriveFacts& drive : *drives) {
    const auto sighting = survey.sightings.find(drive.address);
    const bool known = sighting != survey.sightings.end() && !sighting->second.rows.empty();
    if (known || !lookup(drive.vendor_id, drive.device_id, drive.address)) continue;
    const auto record = records.find(drive.address);
    const bool accepted = record != records.end() && record->second.accepted;
    out.emplace(drive.address, judge(session, survey.root_uuid, drive, accepted));
  }
  return out;
}

}  // namespace reclaim::cli
