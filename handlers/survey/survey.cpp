#include "handlers/survey/survey.h"

#include <utility>

namespace reclaim {

namespace {

// Some makers give all their drives one Device Serial Number; functions of one device share theirs.
std::set<std::string> forget_shared_serial_numbers(std::vector<nvme::DriveFacts>& drives) {
  std::set<std::string> told;
  std::set<std::string> shared;
  for (const nvme::DriveFacts& drive : drives) {
    const std::string& number = drive.hardware.serial_number;
    if (!number.empty() && !told.insert(number).second) shared.insert(number);
  }
  for (nvme::DriveFacts& drive : drives) {
    if (shared.contains(drive.hardware.serial_number)) drive.hardware.serial_number.clear();
  }
  return shared;
}

}  // namespace

std::optional<PciAddress> address_of_provider(std::string_view name) {
  const std::size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const auto address = parse_pci_address(name.substr(underscore + 1));
  if (!address) return std::nullopt;
  return *address;
}

std::vector<std::string> Sighting::policy_traits() const {
  std::vector<std::string> traits;
  for (const placement::ProviderRow& row : rows) {
    traits.insert(traits.end(), row.policy_traits.begin(), row.policy_traits.end());
  }
  return traits;
}

struct Surveyor::Run {
  placement::Providers* providers = nullptr;
  Survey survey;
  std::vector<std::pair<PciAddress, std::string>> to_read;  // address, provider UUID
  std::size_t next = 0;
  Callback<Survey> done;
};

Surveyor::Surveyor(placement::Providers& providers, nvme::Drives& drives)
    : providers_(providers), drives_(drives) {}

void Surveyor::survey(const SurveyRequest& request, Callback<Survey> done) {
  auto run = std::make_shared<Run>();
  run->providers = &providers_;
  run->done = std::move(done);
  providers_.list_tree([this, run, request](Result<placement::Tree> tree) {
    if (!tree) return run->done(std::move(tree).error().wrap("listing the resource providers"));
    run->survey.root_uuid = tree->root_uuid;
    run->survey.root_name = tree->root_name;
    for (const placement::ProviderRow& row : tree->rows) {
      const auto address = address_of_provider(row.name);
      if (!address) continue;
      Sighting& sighting = run->survey.sightings[*address];
      sighting.address = *address;
      sighting.rows.push_back(row);
    }
    for (const PciAddress& address : request.known) {
      run->survey.sightings[address].address = address;
    }
    std::set<PciAddress> seen;
    for (const auto& [address, sighting] : run->survey.sightings) seen.insert(address);
    drives_.discover(seen, [run, request](Result<std::vector<nvme::DriveFacts>> drives) {
      if (!drives) return run->done(std::move(drives).error().wrap("looking at the host's drives"));
      run->survey.shared_serial_numbers = forget_shared_serial_numbers(*drives);
      for (nvme::DriveFacts& facts : *drives) {
        run->survey.drives.push_back(
            {facts.address, facts.identity ? facts.identity->serial : "", facts.hardware});
        const auto it = run->survey.sightings.find(facts.address);
        if (it != run->survey.sightings.end()) {
          it->second.drive = std::move(facts);
        } else if (request.unregistered) {
          Sighting& sighting = run->survey.sightings[facts.address];
          sighting.address = facts.address;
          sighting.drive = std::move(facts);
        }
      }
      for (const auto& [address, sighting] : run->survey.sightings) {
        if (request.busy.contains(address)) continue;
        if (sighting.rows.size() > 1 && request.known.contains(address)) {
          for (const auto& row : sighting.rows) run->to_read.emplace_back(address, row.uuid);
        }
        if (sighting.rows.size() != 1) continue;
        const placement::ProviderRow& row = sighting.rows.front();
        if (row.one_time_use || request.known.contains(address) ||
            (row.owner_cyborg && request.ours && request.ours(sighting))) {
          run->to_read.emplace_back(address, row.uuid);
        }
      }
      read_next(run);
    });
  });
}

void Surveyor::read_next(const std::shared_ptr<Run>& run) {
  if (run->next == run->to_read.size()) return run->done(std::move(run->survey));
  const auto [address, uuid] = run->to_read[run->next++];
  run->providers->read(uuid, [run, at = address](Result<placement::ProviderView> view) {
    Sighting& sighting = run->survey.sightings[at];
    if (view && sighting.rows.size() > 1) {
      sighting.views.push_back(std::move(view).value());
    } else if (view) {
      sighting.view = std::move(view).value();
    } else {
      sighting.problem = view.error().what;
    }
    read_next(run);
  });
}

}  // namespace reclaim
