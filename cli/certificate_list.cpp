// reclaim certificate list: the erasures of this host's chain, or of each chain in a mirror.
#include "cli/certificate_list.h"

#include <fmt/core.h>

#include <ostream>

#include "cli/certificate_folder.h"
#include "cli/certificate_selection.h"
#include "cli/commands.h"
#include "state/certificate/chain.h"

namespace reclaim::cli {
namespace {

// The rows that the list has so far, and what it does not show.
struct Listed {
  Table table;
  LeftOut left_out;
  bool good = true;
};

Status list_one(const ChainPlace& place, const CertificateOptions& options,
                const Selection& selection, Listed& listed, std::ostream& err) {
  const auto listing = list_named(place.folder, options);
  if (!listing.ok()) return listing.error();
  for (const ChainFile& file : listing->files) {
    const auto opened = open_entry(place.folder, file.name);
    if (opened.ok() && opened->kind != SealedKind::certificate) continue;
    const auto certificate =
        opened.ok() ? decode_certificate(opened->content) : Result<Certificate>(opened.error());
    if (!certificate.ok()) {
      say(err,
          fmt::format("reclaim: {}/{}: {}", place.folder, file.name, certificate.error().what));
      listed.good = false;
      continue;
    }
    const std::string& host = place.host.empty() ? certificate->host : place.host;
    if (!selects(selection, host, *certificate, listed.left_out)) continue;
    listed.table.rows.push_back(
        certificate_row(options.all_hosts, host, file.sequence, *certificate));
  }
  return Ok{};
}

}  // namespace

Table certificate_table(bool with_host) {
  Table table{{"Sequence", "ID", "Address", "Model", "Serial", "Method", "Class", "Instance",
               "Project", "Verified At", "Not Returned", "User", "Instance Source", "Released At"},
              {},
              {"User", "Instance Source", "Released At", "Class", "Project", "Model", "Method",
               "Instance", "Not Returned", "Serial"}};
  if (with_host) {
    table.columns.insert(table.columns.begin(), "Host");
    table.spare.insert(table.spare.end(), {"Sequence", "Address"});
  }
  return table;
}

std::vector<Cell> certificate_row(bool with_host, const std::string& host, std::uint64_t sequence,
                                  const Certificate& certificate) {
  const Certificate& it = certificate;
  std::vector<Cell> row = {static_cast<std::int64_t>(sequence),
                           it.id,
                           it.address,
                           it.model,
                           it.serial,
                           it.method,
                           it.sanitization_class,
                           it.instance,
                           it.project,
                           to_iso8601(it.verified_at),
                           it.not_returned,
                           it.user,
                           it.instance_source,
                           it.returned() ? to_iso8601(it.released_at) : std::string()};
  if (with_host) row.insert(row.begin(), Cell(host));
  return row;
}

int run_certificate_list(const config::Settings& settings, const CertificateOptions& options,
                         std::ostream& out, std::ostream& err) {
  const auto selection = selection_of(options);
  if (!selection.ok()) return complain(err, selection.error());
  const auto places = chains_of(settings, options);
  if (!places.ok()) return complain(err, places.error());
  Listed listed;
  listed.table = certificate_table(options.all_hosts);
  for (const ChainPlace& place : *places) {
    const Status read = list_one(place, options, *selection, listed, err);
    if (read.ok()) continue;
    complain(err, read.error());
    listed.good = false;
  }
  const auto text = format_list(listed.table, options.view);
  if (!text.ok()) return complain(err, text.error());
  out << *text;
  say_selected(options, listed.table.rows.empty(), listed.left_out, err);
  if (options.all_hosts) say(err, hosts_of(*places));
  return listed.good ? 0 : 1;
}

}  // namespace reclaim::cli
