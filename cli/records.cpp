#include "cli/records.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::cli {

Result<std::vector<Record>> load_records(Session& session, const std::string& host) {
  auto store = session.store();
  if (!store) return std::move(store).error();
  return session.wait<std::vector<Record>>(
      [&](auto done) { (*store)->load(host, std::move(done)); });
}

Result<Record> find_device(Session& session, const std::string& host, const std::string& device) {
  auto records = load_records(session, host);
  if (!records) return std::move(records).error();
  const auto address = parse_pci_address(device);
  const auto it = std::find_if(records->begin(), records->end(), [&](const Record& record) {
    return (address && record.address == *address) || record.uuid == device;
  });
  if (it == records->end()) {
    return Error{Errc::not_found,
                 fmt::format("no device {} on host {}: `reclaim device list` shows which there are",
                             device, host)};
  }
  return *it;
}

std::string or_this_host(const Session& session, const std::string& host) {
  return host.empty() ? session.settings().host : host;
}

}  // namespace reclaim::cli
