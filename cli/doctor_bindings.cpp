// reclaim doctor: what Cyborg says of its devices and Placement contradicts. An ARQ that Cyborg has
// leaked, and a switch of Cyborg's that did not hit the device it was meant for.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "cli/doctor_checks.h"
#include "handlers/arq/book.h"
#include "handlers/survey/admission.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "cyborg bindings";

bool is_listed(const std::vector<Arq>& arqs, const Arq& arq) {
  return std::any_of(arqs.begin(), arqs.end(), [&arq](const Arq& each) {
    return each.uuid == arq.uuid && each.state == ArqState::bound;
  });
}

const placement::CyborgDevice* device_of(const placement::CyborgView& view, const Arq& arq) {
  for (const placement::CyborgDevice& device : view.devices) {
    const bool by_address = device.address && ArqBook::concerns(arq, *device.address, "");
    if (by_address || (!device.provider.empty() && device.provider == arq.device_rp_uuid)) {
      return &device;
    }
  }
  return nullptr;
}

bool check_arqs(const CyborgReadings& readings, Chart& chart) {
  bool good = true;
  for (const Arq& arq : readings.before.arqs) {
    if (arq.state != ArqState::bound || !is_listed(readings.after.arqs, arq)) continue;
    const placement::CyborgDevice* device = device_of(readings.before, arq);
    const auto provider =
        device == nullptr ? readings.providers.end() : readings.providers.find(device->provider);
    if (provider == readings.providers.end() || !provider->second.free()) continue;
    good = false;
    chart.warning(
        kCheck,
        fmt::format("ARQ {} of instance {} is Bound, and provider {} has no allocation: leaked, "
                    "if that instance is gone; the next one that gets the device fails",
                    arq.uuid, arq.instance_uuid, device->provider),
        fmt::format("curl -X DELETE -H \"X-Auth-Token: $TOKEN\" -H \"X-Service-Token: $SERVICE\" "
                    "\"$CYBORG/v2/accelerator_requests?instance={}\" (docs/cyborg.md says which "
                    "tokens)",
                    arq.instance_uuid));
  }
  return good;
}

bool check_switches(const CyborgReadings& readings, Chart& chart) {
  bool good = true;
  for (const placement::CyborgDevice& device : readings.before.devices) {
    if (device.uuid.empty() || device.status != kMaintaining) continue;
    const auto provider = readings.providers.find(device.provider);
    if (provider == readings.providers.end() || !provider->second.is_device() ||
        provider->second.burned()) {
      continue;
    }
    good = false;
    chart.warning(kCheck,
                  fmt::format("device {} is maintaining, and its provider {} is not reserved: "
                              "Cyborg's disable may have reserved another device's",
                              device.uuid, device.provider),
                  "compare the inventories of this host's providers; reserve by hand what is to "
                  "stay out of the pool, un-reserve what was hit");
  }
  return good;
}

}  // namespace

void check_cyborg_bindings(const CyborgReadings& readings, Chart& chart) {
  const bool arqs_good = check_arqs(readings, chart);
  const bool switches_good = check_switches(readings, chart);
  if (arqs_good && switches_good) chart.ok(kCheck, "no ARQ is leaked, no switch went astray");
}

std::map<std::string, placement::ProviderView> read_providers(Session& session,
                                                              const placement::CyborgView& view) {
  std::map<std::string, placement::ProviderView> out;
  const auto providers = session.providers();
  if (!providers) return out;  // told by its own check
  std::set<std::string> uuids;
  for (const placement::CyborgDevice& device : view.devices) {
    if (!device.provider.empty()) uuids.insert(device.provider);
  }
  for (const std::string& uuid : uuids) {
    auto read = session.wait<placement::ProviderView>(
        [&](auto done) { (*providers)->read(uuid, std::move(done)); });
    if (read) out.emplace(uuid, std::move(read).value());
  }
  return out;
}

}  // namespace reclaim::cli
