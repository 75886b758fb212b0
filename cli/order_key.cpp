// reclaim security order-key: a host's key of orders, out of the fleet's master.
#include <fmt/core.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/session.h"
#include "state/certificate/order_key.h"

namespace reclaim::cli {
namespace {

Result<std::string> line_for(const std::string& path, const std::string& host) {
  const bool is_name = !host.empty() && std::all_of(host.begin(), host.end(),
                                                    [](char c) { return c > ' ' && c <= '~'; });
  if (!is_name) {
    return Error{Errc::usage, "--host takes a host's name, as `reclaim host list` shows it"};
  }
  if (path.empty()) {
    return Error{Errc::invalid,
                 "[security] order_key_file is not set: it has to name the fleet's master key, a "
                 "file of mode 0600 that `openssl rand -hex 32` writes"};
  }
  const auto key = OrderKey::load(path);
  if (!key) return key.error().wrap("[security] order_key_file");
  if (key->host().empty()) return key->line_for(host);
  return Error{Errc::invalid, fmt::format("[security] order_key_file: {} holds the key of host {}, "
                                          "and not the fleet's master: run this on an operator's "
                                          "machine",
                                          path, key->host())};
}

}  // namespace

int run_order_key(Session& session, const OrderKeyOptions& options, std::ostream& out,
                  std::ostream& err) {
  const auto line = line_for(session.settings().order_key_file, options.host);
  if (!line) return complain(err, line.error());
  out << *line << '\n';
  return 0;
}

}  // namespace reclaim::cli
