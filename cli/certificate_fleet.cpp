#include "cli/certificate_fleet.h"

#include <fmt/core.h>

#include <map>
#include <ostream>

#include "cli/certificate_list.h"
#include "cli/certificate_selection.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/records.h"

namespace reclaim::cli {
namespace {

// The rows that are shown, and all that there are: an id that two have is looked for in `whole`.
struct Fleet {
  Table shown;
  Table whole;
  LeftOut left_out;
};

// Complains of what cannot be read and goes on; false: something could not.
bool add_host(Session& session, const std::string& host, const Selection& selection, Fleet& fleet,
              std::ostream& err) {
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
    const auto stored = sealed.ok() ? fleet_certificate(host, address, *sealed)
                                    : Result<StoredCertificate>(sealed.error());
    if (!stored.ok()) {
      complain(err, stored.error().wrap(fmt::format("host {}, {}", host, address)));
      good = false;
      continue;
    }
    const Certificate& certificate = stored->certificate;
    auto row = certificate_row(true, host, stored->sequence, certificate);
    fleet.whole.rows.push_back(row);
    if (selects(selection, host, certificate, fleet.left_out)) {
      fleet.shown.rows.push_back(std::move(row));
    }
  }
  return good;
}

}  // namespace

Result<StoredCertificate> fleet_certificate(const std::string& host, const std::string& address,
                                            std::string_view sealed) {
  auto stored = open_stored(sealed, host, address);
  if (!stored.ok()) return stored.error().wrap("its certificate in Redis cannot be believed");
  return stored;
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
  const auto selection = selection_of(options);
  if (!selection.ok()) return complain(err, selection.error());
  const auto hosts = known_hosts(session);
  if (!hosts.ok()) return complain(err, hosts.error());
  Fleet fleet{certificate_table(true), certificate_table(true), {}};
  bool good = true;
  for (const HostInfo& info : *hosts) {
    if (!selection->host.empty() && selection->host != info.host) continue;
    good = add_host(session, info.host, *selection, fleet, err) && good;
  }
  for (const std::string& said : claimed_twice(fleet.whole)) {
    say(err, "reclaim: " + said);
    good = false;
  }
  const auto text = format_list(fleet.shown, options.view);
  if (!text.ok()) return complain(err, text.error());
  out << *text;
  say_selected(options, fleet.shown.rows.empty(), fleet.left_out, err);
  say(err,
      "the last certificate of each device, as Redis has it, unverified, and no earlier one; the "
      "chain is on each host: `reclaim certificate list` and `verify` there, or here over a mirror "
      "(--folder)");
  return good ? 0 : 1;
}

}  // namespace reclaim::cli
