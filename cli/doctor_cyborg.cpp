// reclaim doctor: what it says of Cyborg, and of who claims a drive.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "cli/claims_here.h"
#include "cli/doctor_checks.h"
#include "config/claims.h"
#include "handlers/survey/survey.h"
#include "placement/cyborg/client.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kMsPerS = 1000;

}  // namespace

void check_claimants(const config::Settings& settings, Chart& chart) {
  if (!config::claims_need_drives(settings)) return;
  const Status checked = check_claims_here(settings);
  if (checked) return chart.ok("claims", "no drive that is there is claimed twice");
  const bool twice = checked.error().code == Errc::invalid;
  chart.error(
      "claims", checked.error().what,
      twice ? "the worker does not start: narrow one of the two entries" : "is sysfs_root right?");
}

std::size_t count_devices(const placement::CyborgView& view) {
  std::set<std::string> uuids;
  for (const placement::CyborgDevice& device : view.devices) {
    if (!device.uuid.empty()) uuids.insert(device.uuid);
  }
  return uuids.size();
}

void check_cyborg(Session& session, Chart& chart) {
  const config::Settings& settings = session.settings();
  if (settings.logins.cyborg.empty()) return;
  constexpr const char* kCheck = "cyborg";
  auto options = config::cyborg_options(settings);
  if (!options) return chart.error(kCheck, options.error().what, "correct [cyborg]");
  auto transport = placement::CurlTransport::create(session.loop(), options->session);
  if (!transport) return chart.error(kCheck, transport.error().what, "correct [cyborg]");
  UvTimers timers(session.loop());
  auto client = placement::CyborgClient::create(
      *std::move(options), placement::Ports{**transport, timers, session.clock(), session.log()});
  if (!client) return chart.error(kCheck, client.error().what, "correct [cyborg]");
  const auto facts =
      session.wait<placement::LoginFacts>([&](auto done) { (*client)->log_in(std::move(done)); });
  if (!facts) {
    return chart.error(kCheck, facts.error().what,
                       "is cyborg-api up, and its endpoint in the catalog? endpoint_override "
                       "names it otherwise");
  }
  check_endpoint("cyborg", facts->endpoint, chart);
  const auto machine = session.machine();
  if (!machine) return;  // told by its own check
  const auto read = [&] {
    return session.wait<placement::CyborgView>([&](auto done) {
      (*client)->read(config::host_names(settings, *machine), std::move(done));
    });
  };
  const auto view = read();
  if (!view) {
    return chart.error(kCheck, view.error().what, "the service user of [cyborg] needs role admin");
  }
  chart.ok(kCheck, fmt::format("{} (microversion {}): {} and {} of host {}", facts->endpoint,
                               facts->microversion, counted(count_devices(*view), "device"),
                               counted(view->arqs.size(), "accelerator request"), settings.host));
  CyborgReadings readings{*view, read_providers(session, *view), {}};
  const auto again = read();
  if (!again) return;
  readings.after = *again;
  check_cyborg_bindings(readings, chart);
}

void check_cyborg_is_heard(const config::Settings& settings,
                           const std::vector<placement::ProviderRow>& rows,
                           const std::vector<nvme::DriveFacts>& drives, Chart& chart) {
  const auto lookup = config::device_policy_lookup(settings);
  std::size_t of_cyborg = 0;
  for (const placement::ProviderRow& row : rows) {
    const auto address = address_of_provider(row.name);
    if (!row.owner_cyborg || !address) continue;
    of_cyborg += static_cast<std::size_t>(
        std::count_if(drives.begin(), drives.end(), [&](const nvme::DriveFacts& drive) {
          return drive.address == *address &&
                 lookup(drive.vendor_id, drive.device_id, drive.address).has_value();
        }));
  }
  if (of_cyborg == 0) return;
  const auto& exchanges = settings.amqp.exchanges;
  const bool listens =
      std::find(exchanges.begin(), exchanges.end(), settings.rpc.exchange) != exchanges.end();
  std::string how = listens ? "notifications" : "";
  if (!settings.logins.cyborg.empty()) how += how.empty() ? "its REST API" : " and its REST API";
  if (!how.empty()) {
    return chart.ok("cyborg flow", fmt::format("{} of Cyborg's; bindings are known by {}",
                                               counted(of_cyborg, "drive"), how));
  }
  chart.warning(
      "cyborg flow",
      fmt::format("{} of Cyborg's, and neither its notifications are heard nor its REST API is "
                  "asked: a binding is seen by Nova's events, or else within {} s",
                  counted(of_cyborg, "drive"), settings.conductor.survey_interval_ms / kMsPerS),
      fmt::format("add '{}' to [listener] exchanges, or set [cyborg] enabled = true and "
                  "auth_section = placement",
                  settings.rpc.exchange));
}

}  // namespace reclaim::cli
