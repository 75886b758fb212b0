#include "cli/certificate_fleet.h"

#include <fmt/core.h>

#include <map>
#include <ostream>

#include "cli/certificate_folder.h"
#include "cli/commands.h"
#include "cli/records.h"
#include "state/base/visible.h"
#include "state/certificate/stored.h"

namespace reclaim::cli {
namespace {

// Complains of what cannot be read and goes on; false: something could not.
bool add_host(Session& session, const std::string& host, Table& table, std::ostream& err) {
  const auto records = load_records(session, host);
  if (!records.ok()) {
    complain(err, records.error().wrap("host " + host));
    return false;
  }
  bool good = true;
  for (const Record& record : *records) {
    const std::string address = to_string(record.address);
    const auto sealed = session.wait<std::string>(
        [&](auto done) { (*session.store())->load_certificate(host, address, std::move(done)); });
    if (sealed.ok() && sealed->empty()) continue;
    auto row = sealed.ok() ? fleet_certificate(host, address, *sealed)
                           : Result<std::vector<Cell>>(sealed.error());
    if (row.ok()) {
      table.rows.push_back(*std::move(row));
    } else {
      complain(err, row.error().wrap(fmt::format("host {}, {}", host, address)));
      good = false;
    }
  }
  return good;
}

}  // namespace

Table fleet_certificates() {
  return {{"Host", "Sequence", "ID", "Address", "Model", "Serial", "Method", "Class", "Instance",
           "Project", "Verified At", "Not Returned"},
          {},
          {"Class", "Project", "Model", "Method", "Instance", "Not Returned", "Serial"}};
}

Result<std::vector<Cell>> fleet_certificate(const std::string& host, const std::string& address,
                                            std::string_view sealed) {
  const auto stored = open_stored(sealed, host, address);
  if (!stored.ok()) return stored.error().wrap("its certificate in Redis cannot be believed");
  const Certificate& it = stored->certificate;
  return std::vector<Cell>{host,
                           static_cast<std::int64_t>(stored->sequence),
                           it.id,
                           address,
                           it.model,
                           it.serial,
                           it.method,
                           it.sanitization_class,
                           it.instance,
                           it.project,
                           to_iso8601(it.verified_at),
                           it.not_returned};
}

std::vector<std::string> claimed_twice(const Table& table) {
  constexpr std::size_t kId = 2;
  constexpr std::size_t kAddress = 3;
  std::vector<std::string> said;
  std::map<std::string, const std::vector<Cell>*> first;
  for (const auto& row : table.rows) {
    const auto& id = std::get<std::string>(row[kId]);
    const auto [known, fresh] = first.emplace(id, &row);
    if (fresh) continue;
    const auto place = [](const std::vector<Cell>& of) {
      return fmt::format("{} of host {}", std::get<std::string>(of[kAddress]),
                         std::get<std::string>(of[0]));
    };
    said.push_back(
        fmt::format("{} and {} both have a certificate with the id {}, and one of them is "
                    "another's: look on both hosts with `reclaim certificate show {}`",
                    place(*known->second), place(row), id, id));
  }
  return said;
}

int run_fleet_certificates(Session& session, const CertificateOptions& options, std::ostream& out,
                           std::ostream& err) {
  const auto hosts = known_hosts(session);
  if (!hosts.ok()) return complain(err, hosts.error());
  Table table = fleet_certificates();
  bool good = true;
  for (const HostInfo& info : *hosts) good = add_host(session, info.host, table, err) && good;
  for (const std::string& said : claimed_twice(table)) {
    err << "reclaim: " << visible(said) << '\n';
    good = false;
  }
  const auto text = format_list(table, options.view);
  if (!text.ok()) return complain(err, text.error());
  out << *text;
  err << "the last certificate of each device, as Redis has it, unverified; the chain is on each "
         "host: `reclaim certificate list` and `verify` there\n";
  return good ? 0 : 1;
}

}  // namespace reclaim::cli
