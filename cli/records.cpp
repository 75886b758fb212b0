#include "cli/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "config/oslo/options.h"
#include "nvme/host/sysfs.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::cli {
namespace {

constexpr std::string_view kDev = "/dev/";

// The address that a word is, without the domain 0000 too, and without the bus' leading zero then.
std::optional<PciAddress> address_of(std::string_view word) {
  for (const std::string_view left_out : {"", "0000:", "0000:0"}) {
    if (const auto address = parse_pci_address(fmt::format("{}{}", left_out, word)))
      return *address;
  }
  return std::nullopt;
}

// True if the kernel calls the drive's controller or one of its namespaces so.
bool is_called(const nvme::SysDrive& drive, std::string_view name) {
  return drive.controller == name ||
         std::any_of(drive.namespaces.begin(), drive.namespaces.end(),
                     [name](const nvme::SysNamespace& each) { return each.disk.name == name; });
}

}  // namespace

Result<std::vector<Record>> load_records(Session& session, const std::string& host) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait<std::vector<Record>>(
      [&](auto done) { (*store)->load(host, std::move(done)); });
}

Result<std::vector<Result<std::vector<Record>>>> load_each(Session& session,
                                                           const std::vector<std::string>& hosts) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait_each<std::vector<Record>>(
      hosts.size(), [&](std::size_t i, auto done) { (*store)->load(hosts[i], std::move(done)); });
}

Result<std::vector<HostInfo>> known_hosts(Session& session) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait<std::vector<HostInfo>>([&](auto done) { (*store)->hosts(std::move(done)); });
}

bool is_named(const Record& record, std::string_view device) {
  if (const auto address = address_of(device)) return record.address == *address;
  return lower(device) == lower(record.uuid) || (!device.empty() && record.serial == device);
}

std::string without_kernel_name(const std::string& sysfs_root, const std::string& device) {
  std::string_view name = device;
  if (name.starts_with(kDev)) name.remove_prefix(kDev.size());
  if (!name.starts_with("nvme")) return device;
  const auto addresses = nvme::list_nvme_functions(sysfs_root);
  if (!addresses) return device;
  std::string found;
  for (const PciAddress& address : *addresses) {
    const auto drive = nvme::read_drive(sysfs_root, address);
    if (!drive || !is_called(*drive, name)) continue;
    if (!found.empty()) return device;  // controllers of one subsystem, with one disk
    found = to_string(address);
  }
  return found.empty() ? device : found;
}

std::string nearly_named(const std::vector<Record>& records, const std::string& device) {
  if (address_of(device)) return {};
  std::vector<std::string> names;
  names.reserve(records.size() * 2);
  for (const Record& record : records) {
    names.push_back(to_string(record.address));
    names.push_back(record.serial);
  }
  const auto meant = config::did_you_mean(device, names);
  if (!meant) return {};
  std::erase(names, *meant);
  if (config::did_you_mean(device, names)) return {};
  return fmt::format("; did you mean the {} {}?",
                     parse_pci_address(*meant).ok() ? "address" : "serial number", *meant);
}

namespace {

// Names another host that has the device, for the error. Addresses are alike on all hosts, and say
// nothing.
std::string elsewhere(Session& session, const std::string& host, const std::string& device) {
  if (device.find(':') != std::string::npos) return {};
  const auto hosts = known_hosts(session);
  if (!hosts) return {};
  for (const HostInfo& info : *hosts) {
    if (info.host == host) continue;
    const auto records = load_records(session, info.host);
    if (!records) continue;
    for (const Record& record : *records) {
      if (!is_named(record, device)) continue;
      return fmt::format("; host {} has one: --host {}", info.host, info.host);
    }
  }
  return {};
}

}  // namespace

Result<Record> find_device(Session& session, const std::string& host, const std::string& name) {
  const bool here = host == session.settings().host;
  const std::string device =
      here ? without_kernel_name(session.settings().nvme.sysfs_root, name) : name;
  auto records = load_records(session, host);
  if (!records) return std::move(records).error();
  std::vector<Record> found;
  std::string names;
  for (const Record& record : *records) {
    if (!is_named(record, device)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(record.address));
    found.push_back(record);
  }
  if (found.size() > 1) {
    return Error{Errc::invalid,
                 fmt::format("'{}' is the serial number of several devices of host {}: {}; name "
                             "one by its address",
                             printable_excerpt(device), host, names)};
  }
  if (found.empty()) {
    return Error{Errc::not_found,
                 fmt::format("no device '{}' on host {} (an address, a UUID or a serial number is "
                             "accepted, and nvmeN or nvmeNnM on that host itself): `reclaim device "
                             "list` shows which there are{}{}",
                             printable_excerpt(device), host, nearly_named(*records, device),
                             elsewhere(session, host, device))};
  }
  return std::move(found.front());
}

std::string or_this_host(const Session& session, const std::string& host) {
  return host.empty() ? session.settings().host : host;
}

}  // namespace reclaim::cli
