#include "cli/qualify_standing.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "cli/qualify_order.h"
#include "cli/records.h"
#include "config/module_options.h"
#include "handlers/survey/claim_request.h"
#include "handlers/survey/survey.h"
#include "nvme/host/sysfs.h"

namespace reclaim::cli {
namespace {

constexpr std::uint32_t kNvmeClass = 0x0108;

Error refuse(const PciAddress& address, std::string_view why) {
  return Error{Errc::refused, fmt::format("{} is not qualified: {}", to_string(address), why)};
}

std::string put_into_maintenance(const PciAddress& address) {
  return fmt::format("take it out of the pool with `reclaim device set {} --maintenance on`",
                     to_string(address));
}

// Refuses where another machine works under this host's name: Placement and Redis say nothing of
// this machine's drives then.
Status check_machine(Session& session, const PciAddress& address, const std::string& machine_id) {
  const auto hosts = known_hosts(session);
  if (!hosts) return hosts.error();
  const std::string& name = session.settings().host;
  for (const HostInfo& each : *hosts) {
    if (each.host != name || each.machine_id.empty() || each.machine_id == machine_id) continue;
    return refuse(address, fmt::format("another machine works under the host name '{}' "
                                       "(machine-id {}): correct [DEFAULT] host",
                                       name, each.machine_id));
  }
  return Ok{};
}

// Finds the providers of the address below this host's root.
Result<std::vector<placement::ProviderRow>> providers_of(Session& session,
                                                         const PciAddress& address,
                                                         const std::string& compute_id) {
  auto providers = session.providers();
  if (!providers) return std::move(providers).error();
  auto tree =
      session.wait<placement::Tree>([&](auto done) { (*providers)->list_tree(std::move(done)); });
  if (!tree) return std::move(tree).error();
  if (!compute_id.empty() && compute_id != tree->root_uuid) {
    return refuse(address, fmt::format("the root provider {} is {}, but Nova's compute_id file on "
                                       "this machine says {}: correct [DEFAULT] host",
                                       tree->root_name, tree->root_uuid, compute_id));
  }
  std::vector<placement::ProviderRow> found;
  for (placement::ProviderRow& row : tree->rows) {
    if (address_of_provider(row.name) == address) found.push_back(std::move(row));
  }
  return found;
}

Status held_in_maintenance(Session& session, const placement::ProviderRow& row,
                           const std::optional<Record>& record, placement::ProviderView& view) {
  auto read = session.wait<placement::ProviderView>(
      [&](auto done) { (*session.providers())->read(row.uuid, std::move(done)); });
  if (!read) return std::move(read).error();
  view = *std::move(read);
  const auto address = *address_of_provider(row.name);
  if (!view.free()) {
    return refuse(address,
                  fmt::format("provider {} is allocated to {}", row.name, view.consumers.front()));
  }
  if (!record || !record->maintenance) {
    return refuse(address, fmt::format("provider {} is in Placement, and the device is not in "
                                       "maintenance; {}",
                                       row.name, put_into_maintenance(address)));
  }
  if (!view.burned()) {
    return refuse(address,
                  fmt::format("provider {} is not reserved, so a tenant may get it: wait until the "
                              "worker has reserved it for its maintenance",
                              row.name));
  }
  return Ok{};
}

// Refuses a record that is not at rest, not in maintenance, or of another drive.
Status check_record(const Record& record, const std::string& serial) {
  if (!record.damage.empty()) return refuse(record.address, record.damage);
  if (record.stage == Stage::allocated || is_busy(record.stage)) {
    return refuse(record.address,
                  fmt::format("its record says {}", to_string(device_state(record.stage))));
  }
  if (!record.maintenance) {
    return refuse(record.address, "it is on record and not in maintenance; " +
                                      put_into_maintenance(record.address));
  }
  if (!record.serial.empty() && record.serial != serial) {
    return refuse(record.address, fmt::format("its record is of serial {}, and {} was named",
                                              record.serial, serial));
  }
  return Ok{};
}

nvme::ClaimRequest request_without_provider(const nvme::SysDrive& drive,
                                            const std::optional<DevicePolicy>& policy) {
  nvme::ClaimRequest request;
  request.address = drive.address;
  request.resource_class =
      fmt::format("CUSTOM_PCI_{:04X}_{:04X}", drive.vendor_id, drive.device_id);
  request.shared_subsystem_allowed = policy && policy->shared_subsystem_allowed;
  // One that no entry matches is given back to the driver that it stands on.
  request.managed = policy ? policy->managed : drive.driver.empty() || drive.driver == "nvme";
  return request;
}

}  // namespace

Result<QualifyStanding> standing_for_qualify(Session& session, const PciAddress& address,
                                             const std::string& serial) {
  const config::Settings& settings = session.settings();
  const auto drive = nvme::read_drive(settings.nvme.sysfs_root, address);
  if (!drive) return drive.error();
  if (drive->class_code >> 8U != kNvmeClass) return refuse(address, "it is not an NVMe drive");
  if (!drive->serial.empty() && drive->serial != serial) {
    return refuse(address,
                  fmt::format("its serial is {}, and {} was named", drive->serial, serial));
  }
  const auto records = load_records(session, settings.host);
  if (!records) return records.error();
  const auto of_it = std::find_if(records->begin(), records->end(),
                                  [&](const Record& each) { return each.address == address; });
  std::optional<Record> record;
  if (of_it != records->end()) record = *of_it;
  const auto machine = session.machine();
  if (!machine) return machine.error();
  if (auto ours = check_machine(session, address, machine->machine_id); !ours) {
    return std::move(ours).error();
  }
  const auto rows = providers_of(session, address, machine->compute_id);
  if (!rows) return rows.error();
  if (rows->size() > 1) {
    return refuse(address, fmt::format("{} providers stand for it, {} and {} among them",
                                       rows->size(), (*rows)[0].name, (*rows)[1].name));
  }
  placement::ProviderView view;
  if (rows->size() == 1) {
    if (auto held = held_in_maintenance(session, rows->front(), record, view); !held) {
      return std::move(held).error();
    }
  }
  if (record) {
    if (auto rests = check_record(*record, serial); !rests) return std::move(rests).error();
  }
  const auto policy =
      config::device_policy_lookup(settings)(drive->vendor_id, drive->device_id, address);
  QualifyStanding standing;
  standing.has_provider = rows->size() == 1;
  standing.known_to_get_dirty = record && is_known_to_get_dirty(*record);
  if (!standing.has_provider) {
    standing.request = request_without_provider(*drive, policy);
  } else {
    if (!policy) return refuse(address, "no device_spec entry matches it");
    record->resource_class = view.inventories.front().resource_class;
    standing.request = claim_request(*record, *policy);
    standing.request.commands.clear();
  }
  standing.request.expected_serial = serial;
  return standing;
}

}  // namespace reclaim::cli
