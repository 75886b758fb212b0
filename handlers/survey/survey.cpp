#include "handlers/survey/survey.h"

#include <algorithm>
#include <utility>

namespace reclaim {

namespace {

constexpr std::size_t kReadsAtOnce = 4;  // devices; as many connections to Placement
// The drives' word counts beside what Placement says later only if they gave it this soon before:
// somebody may have had one in between.
constexpr std::int64_t kLookStandsMs = 2'000;

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
  SurveyRequest request;
  Survey survey;
  // Placement lists while the host's drives are looked at; the survey goes on when both are done.
  bool listed = false;
  std::set<PciAddress> others;                          // that are looked at besides the drives
  std::optional<std::vector<nvme::DriveFacts>> drives;  // when the look is over
  MonoMs looked;                                        // when it began: its answers are that old
  std::uint64_t doubts = 0;                             // when it began
  MonoMs began;
  std::vector<std::pair<PciAddress, placement::ProviderRow>> wanted;  // providers to be told of
  std::vector<std::pair<PciAddress, std::string>> to_read;            // address, provider UUID
  std::size_t next = 0;
  std::size_t under_way = 0;
  Callback<Survey> done;
};

Surveyor::Surveyor(placement::Providers& providers, nvme::Drives& drives, const Clock& clock,
                   std::int64_t full_interval_ms)
    : providers_(providers), drives_(drives), clock_(clock), memory_(full_interval_ms) {}

void Surveyor::survey(const SurveyRequest& request, Callback<Survey> done) {
  auto run = std::make_shared<Run>();
  run->request = request;
  run->done = std::move(done);
  run->doubts = memory_.doubts();
  run->began = clock_.now().mono;
  const placement::Tree known = memory_.tree(run->began);
  run->others = run->request.known;
  for (const placement::ProviderRow& row : known.rows) {
    if (const auto address = address_of_provider(row.name)) run->others.insert(*address);
  }
  providers_.list_tree_again(known, [this, run](Result<placement::Tree> tree) {
    if (!tree) return fail(run, std::move(tree).error().wrap("listing the resource providers"));
    on_tree(run, std::move(tree).value());
  });
  look(run);
}

// A failure leaves nothing to rest on. The first one ends the run: what comes after it is dropped.
void Surveyor::fail(const std::shared_ptr<Run>& run, Error error) {
  if (!run->done) return;
  memory_.forget();
  run->done(std::move(error));
}

void Surveyor::fail_look(const std::shared_ptr<Run>& run, Error error) {
  fail(run, std::move(error).wrap("looking at the host's drives"));
}

bool Surveyor::is_old(const Run& run) const {
  return clock_.now().mono.ms - run.looked.ms > kLookStandsMs;
}

void Surveyor::look(const std::shared_ptr<Run>& run) {
  run->looked = clock_.now().mono;
  drives_.discover(run->others, [this, run](Result<std::vector<nvme::DriveFacts>> drives) {
    if (!drives) return fail_look(run, std::move(drives).error());
    run->drives = std::move(drives).value();
    join(run, false);
  });
}

void Surveyor::on_tree(const std::shared_ptr<Run>& run, placement::Tree tree) {
  run->survey.root_uuid = tree.root_uuid;
  run->survey.root_name = tree.root_name;
  for (const placement::ProviderRow& row : tree.rows) {
    const auto address = address_of_provider(row.name);
    if (!address) continue;
    Sighting& sighting = run->survey.sightings[*address];
    sighting.address = *address;
    sighting.rows.push_back(row);
  }
  if (run->doubts == memory_.doubts()) {
    memory_.note_tree(std::move(tree), run->began, clock_.now().mono);
  }
  for (const PciAddress& address : run->request.known) {
    run->survey.sightings[address].address = address;
  }
  run->listed = true;
  // The host is looked at again if Placement was slow: a look that is slow itself would be as old
  // again.
  join(run, is_old(*run));
}

void Surveyor::join(const std::shared_ptr<Run>& run, bool again) {
  if (!run->done || !run->listed || !run->drives) return;
  // A device that Placement lists for the first time may be of another class, which was not looked
  // at.
  for (const nvme::DriveFacts& drive : *run->drives) run->others.insert(drive.address);
  for (const auto& [address, sighting] : run->survey.sightings) {
    again = run->others.insert(address).second || again;
  }
  if (again) {
    run->drives.reset();
    return look(run);
  }
  on_drives(run, *std::exchange(run->drives, std::nullopt));
}

void Surveyor::on_drives(const std::shared_ptr<Run>& run, std::vector<nvme::DriveFacts> drives) {
  const SurveyRequest& request = run->request;
  run->survey.shared_serial_numbers = forget_shared_serial_numbers(drives);
  for (nvme::DriveFacts& facts : drives) {
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
  std::vector<placement::ProviderRow> remembered;
  for (const auto& [address, sighting] : run->survey.sightings) {
    if (request.busy.contains(address)) continue;
    if (sighting.rows.size() > 1 && request.known.contains(address)) {
      for (const auto& row : sighting.rows) run->to_read.emplace_back(address, row.uuid);
    }
    if (sighting.rows.size() != 1) continue;
    const placement::ProviderRow& row = sighting.rows.front();
    const bool wanted = row.one_time_use || request.known.contains(address) ||
                        (row.owner_cyborg && request.ours && request.ours(sighting));
    if (!wanted) continue;
    if (request.unsettled.contains(address)) {
      run->to_read.emplace_back(address, row.uuid);
    } else {
      run->wanted.emplace_back(address, row);
      remembered.push_back(row);
    }
  }
  if (run->doubts != memory_.doubts() || !memory_.needs_consumers(remembered, run->began)) {
    return recall(run, {});
  }
  providers_.read_consumers(run->survey.root_uuid,
                            [this, run](const Result<std::vector<std::string>>& on_root) {
                              // Unknown who has any: what is allocated is read again.
                              recall(run, on_root ? *on_root : std::vector<std::string>{});
                            });
}

void Surveyor::recall(const std::shared_ptr<Run>& run, const std::vector<std::string>& on_root) {
  for (const auto& [address, row] : run->wanted) {
    const placement::ProviderView* view =
        run->doubts == memory_.doubts() ? memory_.recall(row, on_root, run->began) : nullptr;
    if (view == nullptr) {
      run->to_read.emplace_back(address, row.uuid);
      continue;
    }
    Sighting& sighting = run->survey.sightings[address];
    sighting.view = *view;
    sighting.remembered = true;
    if (run->request.asks && run->request.asks(sighting)) {
      run->to_read.emplace_back(address, row.uuid);
    }
  }
  read_on(run);
}

void Surveyor::read_on(const std::shared_ptr<Run>& run) {
  if (!run->done) return;
  if (run->next == run->to_read.size() && run->under_way == 0) {
    return run->done(std::move(run->survey));
  }
  while (run->next < run->to_read.size() && run->under_way < kReadsAtOnce) {
    const auto [address, uuid] = run->to_read[run->next++];
    ++run->under_way;
    if (run->survey.sightings[address].remembered) {
      ask_on(run, address);
      continue;
    }
    providers_.read(uuid,
                    [this, run, at = address, id = uuid](Result<placement::ProviderView> view) {
                      Sighting& sighting = run->survey.sightings[at];
                      if (view && sighting.rows.size() > 1) {
                        sighting.views.push_back(std::move(view).value());
                      } else if (view) {
                        if (run->doubts == memory_.doubts()) memory_.keep(*view, run->began);
                        sighting.view = std::move(view).value();
                        if (is_old(*run)) return look_again(run, at);
                      } else {
                        memory_.doubt_provider(id);
                        sighting.problem = view.error().what;
                      }
                      ask_on(run, at);
                    });
  }
}

// Whoever had the drive before its provider was read is told by a look that begins after it. One
// look is enough, however slow it is: the provider is not read again.
void Surveyor::look_again(const std::shared_ptr<Run>& run, const PciAddress& address) {
  drives_.discover(run->others, [this, run, address](Result<std::vector<nvme::DriveFacts>> drives) {
    if (!drives) return fail_look(run, std::move(drives).error());
    forget_shared_serial_numbers(*drives);
    const auto found =
        std::find_if(drives->begin(), drives->end(),
                     [&](const nvme::DriveFacts& facts) { return facts.address == address; });
    auto& drive = run->survey.sightings[address].drive;
    // Placement may have answered for a time before a guest came: the next survey tells of him.
    std::string guest = drive ? std::move(drive->guest) : "";
    drive = found == drives->end() ? std::nullopt : std::optional(std::move(*found));
    if (drive) drive->guest = std::move(guest);
    ask_on(run, address);
  });
}

void Surveyor::ask_on(const std::shared_ptr<Run>& run, const PciAddress& address) {
  const Sighting& sighting = run->survey.sightings[address];
  const auto who = run->request.asks && sighting.view ? run->request.asks(sighting) : std::nullopt;
  if (!who) {
    --run->under_way;
    return read_on(run);
  }
  providers_.describe_consumer(
      *who, [this, run, address, consumer = *who](Result<placement::Consumer> told) {
        auto& consumers = run->survey.sightings[address].consumers;
        consumers[consumer] = told ? std::optional(std::move(told).value()) : std::nullopt;
        ask_on(run, address);
      });
}

}  // namespace reclaim
