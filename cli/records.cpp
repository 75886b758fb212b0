#include "cli/records.h"

#include <fmt/core.h>

#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::cli {

Result<std::vector<Record>> load_records(Session& session, const std::string& host) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait<std::vector<Record>>(
      [&](auto done) { (*store)->load(host, std::move(done)); });
}

Result<std::vector<HostInfo>> known_hosts(Session& session) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait<std::vector<HostInfo>>([&](auto done) { (*store)->hosts(std::move(done)); });
}

bool is_named(const Record& record, std::string_view device) {
  auto address = parse_pci_address(device);
  if (!address) address = parse_pci_address(fmt::format("0000:{}", device));
  if (address) return record.address == *address;
  return lower(device) == lower(record.uuid) || (!device.empty() && record.serial == device);
}

namespace {

// Where it is found instead, for the error. Addresses are alike on all hosts, and say nothing.
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

Result<Record> find_device(Session& session, const std::string& host, const std::string& device) {
  auto records = load_records(session, host);
  if (!records) return std::move(records).error();
  std::vector<Record> found;
  std::string names;
  for (Record& record : *records) {
    if (!is_named(record, device)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(record.address));
    found.push_back(std::move(record));
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
                             "accepted): `reclaim device list` shows which there are{}",
                             printable_excerpt(device), host, elsewhere(session, host, device))};
  }
  return std::move(found.front());
}

std::string or_this_host(const Session& session, const std::string& host) {
  return host.empty() ? session.settings().host : host;
}

}  // namespace reclaim::cli
