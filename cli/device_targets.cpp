#include "cli/device_targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/records.h"
#include "state/base/log.h"

namespace reclaim::cli {
namespace {

bool is_in(const Record& record, const std::vector<std::string>& states) {
  return std::find(states.begin(), states.end(), to_string(device_state(record.stage))) !=
         states.end();
}

Result<std::vector<Record>> named_devices(Session& session, const DeviceChoice& choice) {
  if (choice.all_hosts || !choice.labels.empty() || choice.hosts.size() > 1) {
    return Error{Errc::usage,
                 "devices are named of one host: give one --host, or choose by --state"};
  }
  const std::string host = or_this_host(session, choice.hosts.empty() ? "" : choice.hosts.front());
  std::vector<Record> records;
  for (const std::string& device : choice.devices) {
    auto record = find_device(session, host, device);
    if (!record) return std::move(record).error();
    const bool twice = std::any_of(records.begin(), records.end(), [&](const Record& one) {
      return one.address == record->address;
    });
    if (!twice) records.push_back(*std::move(record));
  }
  return records;
}

bool has_labels(const HostInfo& info, const std::vector<std::string>& labels) {
  return std::all_of(labels.begin(), labels.end(), [&info](const std::string& label) {
    return std::find(info.labels.begin(), info.labels.end(), label) != info.labels.end();
  });
}

}  // namespace

Result<std::vector<std::string>> chosen_hosts(Session& session,
                                              const std::vector<std::string>& hosts, bool all_hosts,
                                              const std::vector<std::string>& labels) {
  if (!labels.empty() && !hosts.empty()) {
    return Error{Errc::usage, "either hosts are named or --label chooses them, not both"};
  }
  if (all_hosts && !hosts.empty()) {
    return Error{Errc::usage, "either hosts are named or --all-hosts means each, not both"};
  }
  if (!all_hosts && labels.empty() && hosts.empty()) {
    return std::vector<std::string>{session.settings().host};
  }
  auto infos = known_hosts(session);
  if (!infos) return std::move(infos).error();
  std::vector<std::string> names;
  for (const HostInfo& info : *infos) {
    if (has_labels(info, labels)) names.push_back(info.host);
  }
  if (!labels.empty() && names.empty()) {
    return Error{Errc::not_found,
                 fmt::format("no worker says that its host has the label {}: [reclaim] labels of "
                             "the hosts; `reclaim host list` shows them",
                             printable_excerpt(fmt::to_string(fmt::join(labels, " and "))))};
  }
  if (all_hosts || !labels.empty()) return names;
  std::vector<std::string> chosen;
  for (const std::string& host : hosts) {
    if (std::find(chosen.begin(), chosen.end(), host) != chosen.end()) continue;
    if (std::find(names.begin(), names.end(), host) != names.end()) {
      chosen.push_back(host);
      continue;
    }
    return Error{
        Errc::not_found,
        fmt::format("Redis knows no worker of host '{}'; known: {}", printable_excerpt(host),
                    names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")))};
  }
  return chosen;
}

Result<std::vector<Record>> chosen_devices(Session& session, const DeviceChoice& choice) {
  if (!choice.devices.empty() && !choice.states.empty()) {
    return Error{Errc::usage, "either devices are named or --state chooses them, not both"};
  }
  if (!choice.devices.empty()) return named_devices(session, choice);
  if (choice.states.empty()) {
    return Error{Errc::usage,
                 "no device is named: give addresses, UUIDs or serial numbers, or --state STATE"};
  }
  const auto hosts = chosen_hosts(session, choice.hosts, choice.all_hosts, choice.labels);
  if (!hosts) return hosts.error();
  std::vector<Record> chosen;
  for (const std::string& host : *hosts) {
    auto records = load_records(session, host);
    if (!records) {
      if (!is_of_what_is_stored(records.error()) || hosts->size() == 1) return records.error();
      session.log().warning(
          log_name::kStore,
          fmt::format("none of host {} is chosen: what it stored cannot be read", host));
      continue;
    }
    for (Record& record : *records) {
      if (is_in(record, choice.states)) chosen.push_back(std::move(record));
    }
  }
  std::sort(chosen.begin(), chosen.end(), [](const Record& a, const Record& b) {
    return std::tie(a.host, a.address) < std::tie(b.host, b.address);
  });
  return chosen;
}

}  // namespace reclaim::cli
