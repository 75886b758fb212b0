#include "handlers/conductor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kCoalesceMs = 200;     // surveys wanted so close together are one
constexpr std::int64_t kLookAgainMs = 1'000;  // a record moved while it was surveyed

bool wants_ledger_line(const Record& record) {
  return record.stage != Stage::available;
}

}  // namespace

Conductor::Conductor(ConductorPorts ports, ConductorPolicies policies, ConductorOptions options)
    : ports_(ports),
      policies_(std::move(policies)),
      options_(std::move(options)),
      surveyor_(ports.providers, ports.drives),
      jitter_state_(std::hash<std::string>{}(options_.host)) {
  host_view_.host = options_.host;
  host_view_.compute_id = options_.compute_id;
}

Conductor::Device* Conductor::find(const PciAddress& address) {
  const auto it = devices_.find(address);
  return it == devices_.end() ? nullptr : &it->second;
}

std::vector<Record> Conductor::records() const {
  std::vector<Record> out;
  for (const auto& [address, device] : devices_) out.push_back(device.record);
  return out;
}

std::size_t Conductor::busy_count() const {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(),
                    [](const auto& entry) { return is_busy(entry.second.record.stage); }));
}

void Conductor::start(std::function<void(Status)> started) {
  ports_.store.load(options_.host, [this, started](Result<std::vector<Record>> records) {
    if (!records) return started(std::move(records).error().wrap("loading the host's records"));
    for (Record& record : *records) {
      Device& device = devices_[record.address];
      device.record = std::move(record);
      device.persisted = true;
    }
    started(Ok{});
    for (auto& [address, device] : devices_) {
      if (!is_busy(device.record.stage) && device.record.stage != Stage::pending_cleaning) continue;
      const Trigger trigger = restart_trigger(device.record, options_.interrupted_cleaning);
      // A plain pending device resumes by being surveyed; writing that down would say nothing.
      if (device.record.stage == Stage::pending_cleaning && trigger == Trigger::restarted_resume) {
        continue;
      }
      post(address, Event{trigger, 0, {}});
    }
    want_survey(0);
  });
}

// -------------------------------------------------------------------------------------------------
// Kicks and the schedule of surveys.

void Conductor::take(const Kick& kick) {
  if (stopping_) return;
  counters_.kicks += 1;
  ports_.log.info(kLog, fmt::format("kick: {}", kick.reason),
                  {{"request_id", kick.request_id}, {"instance", kick.instance}});
  if (!kick.command.empty()) return command(kick);
  for (const int delay_s : kick.delays_s) {
    want_survey(static_cast<std::int64_t>(delay_s) * 1000, delay_s == 0 ? "" : kick.instance);
  }
  if (kick.delays_s.empty()) want_survey(0);
}

void Conductor::want_survey(std::int64_t delay_ms, const std::string& for_instance) {
  if (stopping_) return;
  const std::int64_t due = ports_.clock.now().mono.ms + delay_ms;
  for (const auto& [at, instance] : surveys_due_) {
    const bool serves = instance.empty() || instance == for_instance;
    if (serves && at >= due - kCoalesceMs && at <= due + kCoalesceMs) return arm_survey();
  }
  surveys_due_.emplace(due, for_instance);
  arm_survey();
}

// The later surveys of a notification are there because some are sent before the allocation is
// gone. Once the instance's device was found free, there is nothing left to wait for.
void Conductor::settle_kicks_of(const std::string& instance) {
  if (instance.empty()) return;
  std::erase_if(surveys_due_, [&](const auto& due) { return due.second == instance; });
}

void Conductor::arm_survey() {
  if (surveying_ || stopping_) return;
  std::int64_t next = periodic_due_;
  if (!surveys_due_.empty()) next = std::min(next, surveys_due_.begin()->first);
  if (survey_timer_ != 0) ports_.timers.cancel(survey_timer_);
  const std::int64_t wait = next - ports_.clock.now().mono.ms;
  survey_timer_ = ports_.timers.after(std::max<std::int64_t>(wait, 0), [this] {
    survey_timer_ = 0;
    const std::int64_t now = ports_.clock.now().mono.ms;
    periodic_ = periodic_due_ <= now;
    std::erase_if(surveys_due_, [now](const auto& due) { return due.first <= now; });
    run_survey();
  });
}

void Conductor::plan_periodic_survey() {
  // A plain linear congruential step: it only has to keep the hosts of a fleet apart.
  jitter_state_ = jitter_state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto span =
      static_cast<std::uint64_t>(std::max<std::int64_t>(options_.survey_jitter_ms, 1));
  periodic_due_ = ports_.clock.now().mono.ms + options_.survey_interval_ms +
                  static_cast<std::int64_t>((jitter_state_ >> 33U) % span);
}

void Conductor::run_survey() {
  if (stopping_) return;
  surveying_ = true;
  HostInfo info;
  info.host = options_.host;
  info.heartbeat_at = ports_.clock.now().wall;
  info.version = options_.version;
  info.machine_id = options_.machine_id;
  for (const auto& [address, device] : devices_) {
    const Stage stage = device.record.stage;
    if (stage != Stage::available || device.record.held) info.burned += 1;
  }
  ports_.store.heartbeat(info, [this](Result<Ok> beat) {
    if (stopping_) return;
    host_view_.problem = beat ? "" : beat.error().what;
    if (!beat) ports_.log.warning(kLog, "no new cleaning starts", {{"why", beat.error().what}});
    SurveyRequest request;
    std::map<PciAddress, std::uint64_t> epochs;
    for (const auto& [address, device] : devices_) {
      request.known.insert(address);
      epochs[address] = device.record.epoch;
      // The conductor reads a device in work itself; the periodic survey looks all the same, for an
      // allocation that nobody expected.
      const bool long_at_work =
          device.record.stage == Stage::erasing || device.record.stage == Stage::verifying;
      if (is_busy(device.record.stage) && !(periodic_ && long_at_work))
        request.busy.insert(address);
    }
    for (const auto& [address, entry] : ports_.ledger.entries()) {
      if (entry.dirty || entry.error) request.known.insert(address);
    }
    surveyor_.survey(request, [this, epochs](Result<Survey> survey) {
      after_survey(std::move(survey), epochs);
    });
  });
}

void Conductor::after_survey(Result<Survey> survey,
                             const std::map<PciAddress, std::uint64_t>& epochs) {
  surveying_ = false;
  if (stopping_) return;
  counters_.surveys += 1;
  plan_periodic_survey();
  if (!survey) {
    counters_.surveys_failed += 1;
    survey_problem_ = survey.error().what;
    ports_.log.warning(kLog, "survey failed", {{"why", survey_problem_}});
    survey_retry_ms_ =
        std::clamp(survey_retry_ms_ * 2, options_.retry_min_ms, options_.retry_max_ms);
    return want_survey(survey_retry_ms_);
  }
  survey_problem_.clear();
  survey_retry_ms_ = 0;
  host_view_.root_uuid = survey->root_uuid;
  for (const auto& [address, sighting] : survey->sightings) assess_one(sighting, epochs);
  arm_survey();
}

void Conductor::assess_one(const Sighting& sighting,
                           const std::map<PciAddress, std::uint64_t>& epochs) {
  Device* device = find(sighting.address);
  if (device != nullptr) {
    const auto seen = epochs.find(sighting.address);
    // It moved while the survey was reading: what was read may be older than what is recorded.
    if (seen == epochs.end() || seen->second != device->record.epoch || device->saving) {
      return want_survey(kLookAgainMs);
    }
  }
  const auto& remembered = ports_.ledger.entries();
  const auto entry = remembered.find(sighting.address);
  const auto assessment = assess(sighting, device == nullptr ? nullptr : &device->record,
                                 entry == remembered.end() ? nullptr : &entry->second, host_view_,
                                 ports_.clock.now().wall);
  if (!assessment) return;
  if (device == nullptr) {
    device = &devices_[sighting.address];
    device->record = *assessment->first_seen;
  }
  device->sighting = sighting;
  if (sighting.drive && sighting.drive->identity) {
    device->seen_serial = sighting.drive->identity->serial;
  }
  if (assessment->dirty) {
    mark_dirty_then(sighting.address, [this, address = sighting.address, found = *assessment] {
      apply(address, found);
    });
  } else {
    apply(sighting.address, *assessment);
  }
}

void Conductor::apply(const PciAddress& address, const Assessment& assessment) {
  Device& device = devices_.at(address);
  if (assessment.trigger) {
    post(address, Event{*assessment.trigger, 0, assessment.facts});
    return;
  }
  if (assessment.strike) finish(address);
  annotate(device, assessment);
  if (device.record.stage == Stage::pending_cleaning && !device.saving) try_admit(address);
}

// What a survey adds to a record without moving it.
void Conductor::annotate(Device& device, const Assessment& assessment) {
  if (is_busy(device.record.stage) || device.saving) return;
  Record next = device.record;
  next.held = assessment.held;
  // While pending, what admission or a guard said stands until they say otherwise.
  if (!assessment.waiting_for.empty() || next.stage != Stage::pending_cleaning) {
    next.waiting_for = assessment.waiting_for;
  }
  if (assessment.host_reads) next.certified_host_reads = assessment.host_reads;
  if (assessment.facts.serial && next.serial.empty()) next.serial = *assessment.facts.serial;
  if (next == device.record && device.persisted) return;
  next.epoch += 1;
  next.updated_at = ports_.clock.now().wall;
  JournalEntry entry{
      to_string(next.address),
      std::string(to_string(next.stage)),
      device.persisted ? "noted" : "first_seen",
      std::string(to_string(next.stage)),
      device.persisted ? "a survey saw it" : "a provider marked one-time-use stands for it",
      next.held ? "held by an operator" : next.waiting_for,
      next.updated_at};
  const PciAddress address = next.address;
  if (next.waiting_for != device.record.waiting_for && !next.waiting_for.empty()) {
    ports_.log.warning(kLog, fmt::format("{} waits: {}", to_string(address), next.waiting_for));
  }
  save(address, std::move(next), std::move(entry), [this, address] {
    if (devices_.at(address).record.stage == Stage::pending_cleaning) try_admit(address);
  });
}

void Conductor::try_admit(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (stopping_ || device.saving || device.record.stage != Stage::pending_cleaning ||
      !device.sighting) {
    return;
  }
  const Sighting sighting = *std::exchange(device.sighting, std::nullopt);
  if (!sighting.view || !sighting.view->burned() || !sighting.view->free()) return;
  std::optional<DevicePolicy> policy;
  if (sighting.drive) {
    policy = policies_.device_policy(sighting.drive->vendor_id, sighting.drive->device_id, address);
  }
  auto plan = admit(sighting, device.record, host_view_, policy, policies_.choose_method);
  if (plan && busy_count() >= options_.cleanings_max) {
    plan = Error{Errc::busy, fmt::format("{} cleanings run on this host already, the limit",
                                         options_.cleanings_max)};
  }
  if (!plan) {
    Assessment refused;
    refused.waiting_for = plan.error().what;
    return annotate(device, refused);
  }
  Facts facts;
  facts.plan = *plan;
  facts.provider = sighting.view->uuid;
  facts.provider_name = sighting.rows.front().name;
  facts.resource_class = sighting.view->inventories.front().resource_class;
  post(address, Event{Trigger::admitted, 0, std::move(facts)});
}

// -------------------------------------------------------------------------------------------------
// An operator's commands.

void Conductor::command(const Kick& kick) {
  const auto address = parse_pci_address(kick.address);
  Device* device = address ? find(*address) : nullptr;
  if (device == nullptr) {
    ports_.log.warning(kLog, fmt::format("command {} for {}: no such device on this host",
                                         kick.command, kick.address));
    return;
  }
  Facts facts;
  facts.detail = "operator";
  if (!kick.request_id.empty()) facts.request_id = kick.request_id;
  if (kick.command == "clean") {
    post(*address, Event{Trigger::operator_clean, 0, std::move(facts)});
  } else if (kick.command == "abort") {
    if (is_busy(device->record.stage)) ports_.drives.stop(*address);
    post(*address, Event{Trigger::operator_abort, 0, std::move(facts)});
  } else if (kick.command == "enrol") {
    if (device->seen_serial.empty()) {
      ports_.log.warning(kLog,
                         fmt::format("command enrol for {}: no drive answers there", kick.address));
      return;
    }
    LedgerEntry entry = ports_.ledger.entries().contains(*address)
                            ? ports_.ledger.entries().at(*address)
                            : LedgerEntry{};
    entry.enrolled_serial = device->seen_serial;
    entry.serial = device->seen_serial;
    facts.serial = device->seen_serial;
    ports_.ledger.put(*address, entry, [this, at = *address, facts](Status kept) {
      if (kept) post(at, Event{Trigger::operator_enrol, 0, facts});
    });
  } else if (kick.command == "maintenance_on" || kick.command == "maintenance_off") {
    set_maintenance(*device, kick.command == "maintenance_on");
  } else {
    ports_.log.warning(kLog,
                       fmt::format("command '{}' is unknown", printable_excerpt(kick.command, 40)));
  }
  want_survey(kCoalesceMs);
}

void Conductor::set_maintenance(Device& device, bool on) {
  const PciAddress address = device.record.address;
  if (is_busy(device.record.stage) || device.saving) {
    ports_.log.warning(kLog,
                       fmt::format("{} is being cleaned: abort it first, or set maintenance when "
                                   "it is done",
                                   to_string(address)));
    return;
  }
  LedgerEntry remembered = ports_.ledger.entries().contains(address)
                               ? ports_.ledger.entries().at(address)
                               : LedgerEntry{};
  remembered.maintenance = on;
  ports_.ledger.put(address, remembered, [this](Status kept) {
    if (!kept) ports_.log.error(kLog, "the ledger cannot be written", {{"why", kept.error().what}});
  });
  Record next = device.record;
  next.maintenance = on;
  next.epoch += 1;
  next.updated_at = ports_.clock.now().wall;
  JournalEntry entry{to_string(address),
                     std::string(to_string(next.stage)),
                     on ? "maintenance_on" : "maintenance_off",
                     std::string(to_string(next.stage)),
                     "an operator said so",
                     "",
                     next.updated_at};
  save(address, std::move(next), std::move(entry), [] {});
}

// -------------------------------------------------------------------------------------------------
// Inbox, reducer, persistence.

void Conductor::post(const PciAddress& address, Event event) {
  Device* device = find(address);
  if (device == nullptr || stopping_) return;
  device->inbox.push_back(std::move(event));
  pump(address);
}

void Conductor::pump(const PciAddress& address) {
  Device& device = devices_.at(address);
  while (!device.saving && !device.inbox.empty() && !stopping_) {
    const Event event = std::move(device.inbox.front());
    device.inbox.pop_front();
    const auto update = step(device.record, event, ports_.clock.now().wall);
    if (!update) {
      counters_.stale_events += 1;
      ports_.log.debug(kLog, fmt::format("{}: {} means nothing in {}", to_string(address),
                                         to_string(event.trigger), to_string(device.record.stage)));
      continue;
    }
    JournalEntry entry{to_string(address),
                       std::string(to_string(device.record.stage)),
                       std::string(to_string(event.trigger)),
                       std::string(to_string(update->record.stage)),
                       std::string(update->row->why),
                       event.facts.detail,
                       update->record.updated_at};
    const auto persist = [this, address, update = *update, entry, before = device.record,
                          detail = event.facts.detail] {
      save(address, update.record, entry, [this, address, update, before, detail] {
        transitioned(address, before, update, detail);
      });
    };
    if (wants_ledger_line(update->record) && (!ports_.ledger.entries().contains(address) ||
                                              !ports_.ledger.entries().at(address).dirty)) {
      device.saving = true;
      mark_dirty_then(address, persist);
    } else {
      persist();
    }
  }
}

// Nothing is done for a dirty device before the ledger says so on stable storage.
void Conductor::mark_dirty_then(const PciAddress& address, std::function<void()> next) {
  const auto& entries = ports_.ledger.entries();
  LedgerEntry entry = entries.contains(address) ? entries.at(address) : LedgerEntry{};
  if (entry.dirty) return next();
  const Record& record = devices_.at(address).record;
  entry.dirty = true;
  entry.dirty_since = ports_.clock.now().wall;
  if (!record.serial.empty()) entry.serial = record.serial;
  entry.provider = record.provider;
  ports_.ledger.put(address, entry, [this, address, next = std::move(next)](Status kept) {
    if (stopping_) return;
    if (kept) return next();
    ports_.log.error(kLog,
                     fmt::format("{}: the ledger cannot be written, nothing is done with it",
                                 to_string(address)),
                     {{"why", kept.error().what}});
    Device& device = devices_.at(address);
    device.saving = false;
    device.inbox.clear();
  });
}

void Conductor::save(const PciAddress& address, Record next, JournalEntry entry,
                     std::function<void()> saved) {
  Device& device = devices_.at(address);
  device.saving = true;
  const LockToken lock = device.lock;
  ports_.store.save(next, lock, entry, [this, address, next, entry, saved](Result<Ok> result) {
    if (stopping_) return;
    if (!result) return save_failed(address, next, entry, result.error(), saved);
    Device& now = devices_.at(address);
    now.saving = false;
    now.persisted = true;
    now.retry_ms = 0;
    now.record = next;
    saved();
    pump(address);
  });
}

void Conductor::save_failed(const PciAddress& address, Record next, JournalEntry entry,
                            const Error& error, std::function<void()> saved) {
  Device& device = devices_.at(address);
  if (error.code == Errc::conflict) return settle_conflict(address, next, entry, saved);
  if (!is_busy(device.record.stage) && error.code != Errc::unknown) {
    // Nothing is under way: the next survey finds the same again.
    device.saving = false;
    device.inbox.clear();
    ports_.log.warning(kLog, fmt::format("{}: the record cannot be written", to_string(address)),
                       {{"why", error.what}});
    return;
  }
  // Persist first, then act: until the record is durable nothing more is done.
  ports_.log.warning(
      kLog, fmt::format("{}: the record cannot be written, trying again", to_string(address)),
      {{"why", error.what}});
  ports_.timers.after(backoff(device), [this, address, next, entry, saved] {
    if (!stopping_) save(address, next, entry, saved);
  });
}

// Our write landed although the answer was lost; or the lock expired while Redis was away; or
// somebody else wrote. Only reading tells.
void Conductor::settle_conflict(const PciAddress& address, Record next, JournalEntry entry,
                                std::function<void()> saved) {
  ports_.store.load(
      options_.host, [this, address, next, entry, saved](Result<std::vector<Record>> records) {
        if (stopping_) return;
        Device& device = devices_.at(address);
        if (!records) {
          ports_.timers.after(backoff(device), [this, address, next, entry, saved] {
            if (!stopping_) settle_conflict(address, next, entry, saved);
          });
          return;
        }
        const auto stored = std::find_if(records->begin(), records->end(),
                                         [&](const Record& r) { return r.address == address; });
        if (stored != records->end() && stored->epoch == next.epoch &&
            encode_record(*stored) == encode_record(next)) {
          device.saving = false;
          device.persisted = true;
          device.record = next;
          saved();
          return pump(address);
        }
        if (stored != records->end() && stored->epoch >= next.epoch) {
          ports_.log.error(
              kLog, fmt::format("{}: somebody else wrote its record; taking over what stands",
                                to_string(address)));
          device.saving = false;
          device.inbox.clear();
          drop(address);
          device.record = *stored;
          if (is_busy(stored->stage)) {
            post(address, Event{restart_trigger(*stored, options_.interrupted_cleaning), 0, {}});
          }
          return;
        }
        reacquire_lock(address, [this, address, next, entry, saved](bool ours) {
          Device& again = devices_.at(address);
          if (ours) return save(address, next, entry, saved);
          ports_.drives.stop(address);
          again.saving = false;
          again.lock = LockToken{};
          again.inbox.clear();
          post(address, Event{Trigger::lock_lost, 0, {}});
        });
      });
}

void Conductor::transitioned(const PciAddress& address, const Record& before, const Update& update,
                             const std::string& detail) {
  counters_.transitions += 1;
  const Record& record = update.record;
  const std::string line =
      fmt::format("{} {} -> {} ({}): {}{}{}", to_string(address), to_string(before.stage),
                  to_string(record.stage), to_string(update.row->on), update.row->why,
                  detail.empty() ? "" : "; ", detail);
  ports_.log.write(record.stage == Stage::error ? LogLevel::error : LogLevel::info, kLog, line,
                   {{"request_id", record.request_id}, {"instance", record.instance}});
  if ((record.stage == Stage::error) != (before.stage == Stage::error)) {
    if (record.stage == Stage::error) counters_.errors += 1;
    LedgerEntry entry = ports_.ledger.entries().at(address);
    entry.error = record.stage == Stage::error;
    if (!record.serial.empty() && entry.enrolled_serial.empty()) entry.serial = record.serial;
    ports_.ledger.put(address, entry, [this](Status kept) {
      if (!kept)
        ports_.log.error(kLog, "the ledger cannot be written", {{"why", kept.error().what}});
    });
  }
  carry_out(address, update.effect);
  if (record.stage == Stage::pending_cleaning) {
    if (before.stage == Stage::available || before.stage == Stage::allocated) {
      settle_kicks_of(record.instance);
      try_admit(address);
    } else if (before.stage == Stage::error) {
      want_survey(0);
    } else if (update.row->on == Trigger::look_changed ||
               update.row->on == Trigger::placement_changed ||
               update.row->on == Trigger::restarted_resume) {
      want_survey(kLookAgainMs);
    }
  }
}

std::int64_t Conductor::backoff(Device& device) const {
  device.retry_ms = std::clamp(device.retry_ms * 2, options_.retry_min_ms, options_.retry_max_ms);
  return device.retry_ms;
}

void Conductor::stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  if (survey_timer_ != 0) ports_.timers.cancel(survey_timer_);
  stops_pending_ = 1;
  const auto one_done = [this] {
    if (--stops_pending_ == 0) stopped_();
  };
  for (auto& [address, device] : devices_) {
    if (!is_busy(device.record.stage)) continue;
    stops_pending_ += 2;
    ports_.drives.stop(address);
    const Record next = planned_stop(device.record, ports_.clock.now().wall);
    JournalEntry entry{to_string(address),
                       std::string(to_string(next.stage)),
                       "planned_stop",
                       std::string(to_string(next.stage)),
                       "the worker was told to stop",
                       "a running sanitize goes on in the drive",
                       next.updated_at};
    ports_.store.save(next, device.lock, entry, [this, at = address, one_done](Result<Ok> saved) {
      if (!saved)
        ports_.log.warning(kLog, "planned stop not recorded", {{"why", saved.error().what}});
      Device& now = devices_.at(at);
      if (now.renew_timer != 0) ports_.timers.cancel(std::exchange(now.renew_timer, 0));
      ports_.store.release_lock(options_.host, at, now.lock, [one_done](Result<Ok> /*released*/) {
        one_done();  // an expiring lock is released too
      });
    });
    ports_.drives.drop(address, one_done);
  }
  one_done();
}

}  // namespace reclaim
