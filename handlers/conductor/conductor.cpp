#include "handlers/conductor/conductor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/survey/identity.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kLookAgainMs = 1'000;  // a record moved while it was surveyed
constexpr std::int64_t kMayPassSoonMs = 5'000;

}  // namespace

Conductor::Conductor(ConductorPorts ports, ConductorPolicies policies, ConductorOptions options)
    : ports_(ports),
      policies_(std::move(policies)),
      options_(std::move(options)),
      context_{ports_,
               policies_,
               options_,
               stopping_,
               [this](const PciAddress& address) -> const Record& {
                 return devices_.at(address).record;
               },
               [this](std::int64_t delay_ms) { want_survey(delay_ms); },
               [this](const PciAddress& address) { return backoff(address); }},
      locks_(context_,
             [this](const PciAddress& address) {
               post(address, Event{Trigger::lock_lost, 0, {}});
             }),
      ledger_(context_, {[this](const PciAddress& address) {
                           const Device& device = devices_.at(address);
                           return device.persisted ? device.record.epoch : 0;
                         },
                         [this](const PciAddress& address) {
                           const Device& device = devices_.at(address);
                           return device.saving || !device.inbox.empty();
                         }}),
      certificates_(context_,
                    [this](const PciAddress& address, const std::string& certificate_id) {
                      ledger_.strike(address, certificate_id);
                      pump(address);
                    }),
      reserver_(context_, ledger_),
      registration_(context_, host_view_,
                    [this](const PciAddress& address, std::string why) {
                      Assessment waits;
                      waits.waiting_for = std::move(why);
                      annotate(devices_.at(address), waits);
                    }),
      orders_(context_, ledger_, *this),
      surveyor_(ports.providers, ports.drives),
      schedule_(
          ports.timers, ports.clock,
          {options_.survey_interval_ms, options_.survey_jitter_ms, options_.survey_spacing_ms},
          std::hash<std::string>{}(options_.host), [this](bool periodic) { run_survey(periodic); }),
      survey_watch_(ports.timers, ports.clock, ports.log),
      watch_(
          ports.providers, ports.timers, ports.clock, {options_.watch_ms, options_.retry_max_ms},
          [this] { return to_be_watched(); },
          [this](const PciAddress& address, const std::string& provider) {
            found_on_offer(address, provider);
          }),
      arqs_({options_.host, options_.node_names}),
      cyborg_(
          context_, arqs_,
          [this] {
            save_arqs();
            stop_what_is_bound();
          },
          [this] { assess_cyborgs(); }) {
  host_view_.host = options_.host;
  host_view_.compute_id = options_.compute_id;
  host_view_.boot_id = options_.boot_id;
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
      std::count_if(devices_.begin(), devices_.end(), [](const auto& entry) {
        const Device& device = entry.second;
        return is_busy(device.record.stage) || (device.saving && device.admitting);
      }));
}

// Before anything of the host's is read or written it must be known that the name is ours: a copied
// configuration must not touch another machine's books.
void Conductor::start(std::function<void(Status)> started) {
  ports_.store.heartbeat(host_info(), [this, started](Result<Ok> beat) {
    if (stopping_) return;
    if (beat) return load(started);
    if (beat.error().code != Errc::conflict) {
      return started(std::move(beat).error().wrap("announcing this host"));
    }
    not_ours(beat.error());
    ports_.timers.after(options_.survey_interval_ms, [this, started] {
      if (!stopping_) start(started);
    });
  });
}

void Conductor::not_ours(const Error& error) {
  not_ours_ = true;
  host_view_.problem = error.what;
  survey_problem_ = error.what;
  ports_.log.error(kLog, "nothing is read, written or cleaned", {{"why", error.what}});
}

HostInfo Conductor::host_info() const {
  HostInfo info;
  info.host = options_.host;
  info.nodes = options_.node_names;
  info.heartbeat_at = ports_.clock.now().wall;
  info.version = options_.version;
  info.machine_id = options_.machine_id;
  for (const auto& [address, device] : devices_) {
    const Stage stage = device.record.stage;
    if (stage != Stage::available || device.record.held) info.burned += 1;
  }
  return info;
}

void Conductor::load(std::function<void(Status)> started) {
  ports_.store.load(options_.host, [this, started](Result<std::vector<Record>> records) {
    if (!records) return started(std::move(records).error().wrap("loading the host's records"));
    ports_.store.load_arqs(options_.host, [this, started, records = std::move(records).value()](
                                              Result<std::vector<Arq>> arqs) mutable {
      if (!arqs) return started(std::move(arqs).error().wrap("loading the host's ARQs"));
      arqs_.load(*arqs);
      orders_.tell_left([this, started, records = std::move(records)](Status told) mutable {
        if (!told) return started(std::move(told).error());
        started(Ok{});
        survey_watch_.begin(options_.survey_interval_ms);
        for (Record& record : records) take_over(std::move(record));
        want_survey(0);
      });
    });
  });
}

// What an earlier worker left of one device.
void Conductor::take_over(Record record) {
  const PciAddress address = record.address;
  Device& device = devices_[address];
  if (!record.damage.empty()) return quarantine(device, record);
  const LedgerEntry* known = context_.on_ledger(address);
  const bool dirty = known != nullptr && known->dirty;
  // Redis may have forgotten which drive was meant; whichever answers there now is no answer.
  if (known != nullptr && record.serial.empty()) record.serial = known->serial;
  // At the start what the ledger shows is durable; of one in quarantine it may be our own line.
  ledger_.set_dirty_durable(address, dirty && !device.quarantined);
  const bool unproven = record.unproven;
  if (unproven) record = shown_only(std::move(record), known);
  // What stands there may be of an earlier life: released since, and Redis has forgotten that, or
  // somebody put it back. Another tenant's data may be on the drive by now.
  device.record = confirmed_by(known, std::move(record), policies_.digest);
  device.persisted = !unproven;
  device.quarantined = false;
  // What is in the pool, and clean for the ledger, has no release on its way.
  device.fence_first = device.record.stage != Stage::available ||
                       (dirty && known->dirty_since > device.record.certificate_at);
  certificates_.keep(device.record);
  if (unproven) prove(device);
  const Stage stage = device.record.stage;
  if (!is_busy(stage) && stage != Stage::pending_cleaning) return;
  const Trigger trigger = restart_trigger(device.record, options_.interrupted_cleaning);
  // A plain pending device resumes by being surveyed; writing that down would say nothing.
  if (stage == Stage::pending_cleaning && trigger == Trigger::restarted_resume) return;
  device.interrupted = trigger == Trigger::restarted_error;
  post(address, Event{trigger, 0, {}});
}

// Since its record was loaded, or written, the ledger may have learnt that it was on offer.
void Conductor::forget_earlier_life(Device& device) const {
  if (!knows_erase(context_.on_ledger(device.record.address), device.record, policies_.digest)) {
    device.record.erase_begun = false;
  }
}

// A record of an older version is written again at once, authenticated: with the next start one
// that is not would not be believed.
void Conductor::prove(Device& device) {
  ports_.log.warning(kLog, fmt::format("{}: its record is an older version's, which authenticated "
                                       "none: it is shown, and nothing rests on it",
                                       to_string(device.record.address)));
  save_note(device.record, "taken_over", "the record of an older version, which authenticated none",
            "what it says of an erasure is not believed");
}

// Guessing at what an unreadable record meant could release a dirty drive or erase a used one. The
// device is shown as it is, in error, and no event reaches it; the others go on.
void Conductor::quarantine(Device& device, const Record& damaged) {
  ports_.log.error(kLog,
                   fmt::format("{}: its record cannot be read; nothing is done with it",
                               to_string(damaged.address)),
                   {{"why", damaged.damage}});
  device.quarantined = true;
  device.met_anew = false;
  device.persisted = false;
  device.record = damaged;
}

// The record was mended, or deleted: then the device is discovered again.
void Conductor::end_quarantine(const PciAddress& address, const Record* found) {
  if (found != nullptr && !found->damage.empty()) return;
  ports_.log.info(kLog, fmt::format("{}: {}", to_string(address),
                                    found == nullptr ? "record deleted; rediscovering the device"
                                                     : "record can be read again"));
  if (found == nullptr) {
    devices_.at(address).met_anew = true;
  } else {
    take_over(*found);
  }
}

void Conductor::want_survey(std::int64_t delay_ms, const std::string& for_instance) {
  if (!stopping_) schedule_.want(delay_ms, for_instance);
}

void Conductor::run_survey(bool periodic) {
  if (stopping_) return;
  periodic_ = periodic;
  save_arqs();
  ports_.store.heartbeat(host_info(), [this](Result<Ok> beat) {
    if (stopping_) return;
    if (!beat && beat.error().code == Errc::conflict) {
      not_ours(beat.error());
      return schedule_.ended();
    }
    host_view_.problem = beat ? "" : beat.error().what;
    if (!beat) ports_.log.warning(kLog, "no new cleaning starts", {{"why", beat.error().what}});
    const auto look = [this] {
      cyborg_.ask();
      look_around();
    };
    if (!beat || !periodic_) return look();
    ports_.store.load(options_.host, [this, look](Result<std::vector<Record>> stored) {
      if (stopping_) return;
      if (stored) {
        mend_store(*stored);
        mend_arqs();
      }
      look();
    });
  });
}

// Redis may have lost its last writes, or all of them, or have taken one that a dead worker had
// sent: what stands there is what operators see and what the next worker begins with. Of a device
// at rest this worker knows best.
void Conductor::mend_store(const std::vector<Record>& stored) {
  std::map<PciAddress, const Record*> by_address;
  for (const Record& record : stored) by_address[record.address] = &record;
  std::vector<PciAddress> quarantined;
  for (auto& [address, device] : devices_) {
    if (device.quarantined) quarantined.push_back(address);
    if (!device.persisted || device.saving || is_busy(device.record.stage)) continue;
    const auto found = by_address.find(address);
    if (found != by_address.end() && same_but_progress(*found->second, device.record)) continue;
    ports_.log.warning(
        kLog, fmt::format("{}: record in Redis was out of date; rewritten", to_string(address)));
    device.persisted = false;
    if (found == by_address.end()) continue;
    if (is_of_this_host(*found->second)) {
      device.record.epoch = std::max(device.record.epoch, found->second->epoch);
    } else {
      // Should this be lost, the write finds out and settles it.
      ports_.store.discard(options_.host, address, [](Result<Ok> /*discarded*/) {});
    }
  }
  for (const PciAddress& address : quarantined) {
    const auto found = by_address.find(address);
    end_quarantine(address, found == by_address.end() ? nullptr : found->second);
  }
}

void Conductor::look_around() {
  survey_began_ = ports_.clock.now().mono;
  cyborg_.survey_begins();
  SurveyRequest request;
  request.ours = [this](const Sighting& sighting) { return is_ours(sighting); };
  request.unregistered = options_.manage_providers;
  std::map<PciAddress, std::uint64_t> epochs;
  for (const auto& [address, device] : devices_) {
    request.known.insert(address);
    // Until a claim is really given up, the drive's counters are told as they were when it began.
    if (is_busy(device.record.stage) || !device.lane_open) epochs[address] = device.record.epoch;
    // The conductor reads a device in work itself; the periodic survey looks all the same, for an
    // allocation that nobody expected.
    const bool looked_at = periodic_ && may_last_long(device.record.stage);
    // A record that cannot be written stands still, and its device does not.
    if (is_busy(device.record.stage) && !looked_at && !device.saving) request.busy.insert(address);
  }
  for (const auto& [address, entry] : ports_.ledger.entries()) {
    if (entry.dirty || entry.error) request.known.insert(address);
  }
  surveyor_.survey(
      request, [this, epochs](Result<Survey> survey) { after_survey(std::move(survey), epochs); });
}

void Conductor::after_survey(Result<Survey>&& survey,
                             const std::map<PciAddress, std::uint64_t>& epochs) {
  if (stopping_) return;
  counters_.surveys += 1;
  if (!survey) {
    counters_.surveys_failed += 1;
    survey_problem_ = survey.error().what;
    survey_watch_.survey_failed(survey_problem_);
    ports_.log.warning(kLog, "survey failed", {{"why", survey_problem_}});
    survey_retry_ms_ =
        std::clamp(survey_retry_ms_ * 2, options_.retry_min_ms, options_.retry_max_ms);
    return schedule_.failed(survey_retry_ms_);
  }
  survey_problem_.clear();
  survey_watch_.survey_went_through();
  survey_retry_ms_ = 0;
  host_view_.root_uuid = survey->root_uuid;
  if (!host_view_.compute_id.empty() && host_view_.compute_id != host_view_.root_uuid) {
    not_ours(Error{Errc::refused,
                   fmt::format("the root provider {} is {}, but Nova's compute_id file on this "
                               "machine says {}: these are another machine's books",
                               survey->root_name, survey->root_uuid, host_view_.compute_id)});
    return schedule_.ended();
  }
  seen_drives_ = std::move(survey->drives);
  shared_serial_numbers_ = std::move(survey->shared_serial_numbers);
  not_ours_ = false;
  know_cyborg_devices(*survey);
  for (const auto& [address, sighting] : survey->sightings) {
    const auto known = epochs.find(address);
    const auto epoch = known == epochs.end() ? std::nullopt : std::optional(known->second);
    if (waits_for_cyborg(sighting)) {
      cyborg_.let_wait(sighting, epoch);
    } else {
      assess_one(sighting, epoch);
    }
  }
  if (!cyborg_.is_awaited()) assess_cyborgs();
  for (const auto& [address, device] : devices_) {
    if (!device.quarantined) certificates_.keep(device.record);
  }
  orders_.carry_out_waiting();
  watch_.attend();
  schedule_.ended();
}

// It moved while the survey was reading: what was read may be older than what is recorded. What is
// being cleaned reads for itself.
bool Conductor::moved_meanwhile(Device& device, const Sighting& sighting,
                                std::optional<std::uint64_t> epoch) {
  if (epoch && *epoch == device.record.epoch && !device.saving) return false;
  if (device.saving) {
    device.look_again = !is_busy(device.record.stage);
    reserve_unrecorded(device, sighting);
  } else if (!is_busy(device.record.stage)) {
    want_survey(kLookAgainMs);
  }
  return true;
}

void Conductor::assess_one(const Sighting& seen, std::optional<std::uint64_t> epoch) {
  Sighting sighting = seen;
  Device* device = find(sighting.address);
  know_of_cyborg(sighting, device == nullptr ? nullptr : &device->record);
  if (device != nullptr) {
    device->other_kind = sighting.drive && !sighting.is_drive();
    device->providers.clear();
    for (const auto& row : sighting.rows) device->providers.push_back(row.uuid);
  }
  const bool met_anew = device != nullptr && device->met_anew && !device->lane_open;
  if (device != nullptr && device->quarantined && !met_anew) {
    return reserve_quarantined(*device, sighting);
  }
  if (device != nullptr && !met_anew && moved_meanwhile(*device, sighting, epoch)) return;
  const Record* record = device == nullptr || met_anew ? nullptr : &device->record;
  const LedgerEntry* line = know_standing(sighting, record);
  if (record != nullptr) know_what_was_seen(sighting, *device);
  auto assessment = assess(sighting, record, line, host_view_, ports_.clock.now().wall);
  if (registration_.is_wanted(sighting, device == nullptr ? nullptr : &device->record)) {
    register_drive(sighting);
    devices_.at(sighting.address).surveyed = true;
    return;
  }
  if (!assessment) return registration_.say_foreign(sighting);
  resolve_policy(*assessment, assessment->first_seen ? *assessment->first_seen : device->record,
                 sighting, planning_for(sighting));
  if (assessment->first_seen) {
    device = &devices_[sighting.address];
    const LedgerEntry* known = context_.on_ledger(sighting.address);
    const bool dirty = known != nullptr && known->dirty;
    ledger_.set_dirty_durable(sighting.address, dirty && !device->quarantined);
    device->fence_first = dirty;
    device->quarantined = device->met_anew = device->persisted = false;
    device->record = *assessment->first_seen;
    if (known != nullptr) device->record.epoch = std::max(device->record.epoch, known->epoch);
  }
  const auto& arq = sighting.holder ? sighting.holder : sighting.ended;
  if (assessment->trigger == Trigger::allocation_seen && device->record.flow == Flow::cyborg &&
      !assessment->facts.arq) {
    assessment->facts.arq = "";
  }
  if (assessment->facts.arq) {
    assessment->facts.managed = arq && arq->managed ? *arq->managed : is_managed(sighting);
  }
  device->sighting = sighting;
  device->surveyed = true;
  device->unsure = assessment->unsure;
  const bool refused = device->unsure && !device->peek_refused.empty();
  if (refused) assessment->waiting_for = not_peeked(device->peek_refused);
  device->found = found_drive(sighting.drive);
  const bool listed_now = assessment->facts.type == kTypeNvme && !device->record.cleanable();
  note_in_ledger(sighting.address, assessment->facts);
  const bool peeks = may_peek(*device, *assessment);
  apply(sighting.address, *assessment);
  if (peeks) peek(sighting.address);
  if (listed_now) want_survey(kLookAgainMs);
}

Planning Conductor::planning_for(const Sighting& sighting) const {
  Planning planning{std::nullopt, policies_.choose_method, options_};
  if (sighting.drive) {
    planning.policy = policies_.device_policy(sighting.drive->vendor_id, sighting.drive->device_id,
                                              sighting.address);
    const auto known = devices_.find(sighting.address);
    if (planning.policy && known != devices_.end()) {
      planning.policy = as_bound(*planning.policy, known->second.record);
    }
  }
  return planning;
}

void Conductor::apply(const PciAddress& address, const Assessment& assessment) {
  // Towards safety, and made again if it is made twice: this waits for no record, so that Redis
  // being away leaves no dirty device on offer.
  Device& device = devices_.at(address);
  if (assessment.reserve) reserver_.reserve(address, *assessment.facts.provider);
  for (const std::string& provider : assessment.reserve_too) reserver_.reserve(address, provider);
  if (!assessment.reserve && assessment.reserve_too.empty()) {
    reserver_.nothing_to_reserve(address);
    device.audit_told.clear();
  }
  say_mismatch(device, assessment);
  if (device.fence_first && device.sighting && device.sighting->view) {
    raise_fence_first(address, *device.sighting->view);
  }
  if (assessment.trigger) {
    post(address, Event{*assessment.trigger, 0, assessment.facts});
    return;
  }
  if (write_missing_line(address)) return;
  if (assessment.strike && !certificates_.is_owed(device.record)) {
    ledger_.strike(address, device.record.certificate_id);
  }
  annotate(device, assessment);
  if (device.record.stage == Stage::pending_cleaning && !device.saving) try_admit(address);
}

// What a survey adds to a record without moving it.
void Conductor::annotate(Device& device, const Assessment& assessment) {
  if (is_busy(device.record.stage) || device.saving) return;
  device.admitting = false;
  Record next = device.record;
  next.held = assessment.held;
  const auto remembered = ports_.ledger.entries().find(device.record.address);
  if (remembered != ports_.ledger.entries().end()) {
    next.maintenance = next.maintenance || remembered->second.maintenance;
  }
  // While pending, what admission or a guard said stands until they say otherwise.
  if (!assessment.waiting_for.empty() || next.stage != Stage::pending_cleaning) {
    next.waiting_for = assessment.waiting_for;
  }
  if (assessment.plan) next.plan = *assessment.plan;
  // The next instance of a device whose release was seen only by its being taken.
  if (next.stage == Stage::allocated && assessment.facts.instance) {
    next.instance = *assessment.facts.instance;
    next.instance_source = assessment.facts.instance_source.value_or(InstanceSource::allocation);
  }
  if (next.stage != Stage::available && assessment.facts.arq) {
    next.arq = *assessment.facts.arq;
    next.managed = assessment.facts.managed.value_or(next.managed);
  }
  if (assessment.facts.flow) next.flow = *assessment.facts.flow;
  if (assessment.facts.type) next.type = *assessment.facts.type;
  if (assessment.cyborg_status) next.cyborg_status = *assessment.cyborg_status;
  if (assessment.counters) {
    next.certified_host_reads = assessment.counters->host_reads;
    next.certified_host_writes = assessment.counters->host_writes;
  }
  if (assessment.host_reads) next.certified_host_reads = assessment.host_reads;
  if (assessment.facts.serial && next.serial.empty()) next.serial = *assessment.facts.serial;
  next.hardware = assessment.facts.hardware.value_or(next.hardware);
  next.boot_id = assessment.facts.boot_id.value_or(next.boot_id);
  next.found = device.found;
  if (next == device.record && device.persisted) return;
  const PciAddress address = next.address;
  if (next.waiting_for != device.record.waiting_for && !next.waiting_for.empty()) {
    ports_.log.warning(kLog, fmt::format("{} waits: {}", to_string(address), next.waiting_for));
  }
  const char* why =
      device.persisted ? "a survey saw it" : "no record of it as it is stood in Redis";
  const auto saved = [this, address] {
    if (devices_.at(address).record.stage == Stage::pending_cleaning) try_admit(address);
  };
  save_note(next, device.persisted ? "noted" : "first_seen", why,
            next.held ? "held by an operator" : next.waiting_for, saved);
}

void Conductor::try_admit(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (stopping_ || device.saving || device.record.stage != Stage::pending_cleaning ||
      !device.sighting || device.maintenance_wanted.value_or(false) || device.fence_first) {
    return;
  }
  const Sighting sighting = *std::exchange(device.sighting, std::nullopt);
  if (device.record.erases >= options_.erases_max) {
    Facts facts;
    facts.detail =
        fmt::format("{} erases; last: {}", device.record.erases, device.record.waiting_for);
    return post(address, Event{Trigger::erases_exhausted, 0, std::move(facts)});
  }
  if (!sighting.view || !sighting.view->burned() || !sighting.view->free()) return;
  // What an operator said stands in the ledger before it does in the record.
  Record decided = device.record;
  const auto remembered = ports_.ledger.entries().find(address);
  if (remembered != ports_.ledger.entries().end()) {
    decided.maintenance = decided.maintenance || remembered->second.maintenance;
  }
  certificates_.forget_kept(decided);
  auto plan = admit(sighting, decided, host_view_, planning_for(sighting));
  device.waits_for_lane = plan && busy_count() >= options_.cleanings_max;
  if (device.waits_for_lane) {
    plan = Error{Errc::busy, fmt::format("{} cleanings run on this host already, the limit",
                                         options_.cleanings_max)};
  }
  if (!plan) {
    Assessment refused;
    refused.waiting_for = plan.error().what;
    // What has just come up may pass within seconds: a driver that is being bound.
    if (refused.waiting_for != device.record.waiting_for) want_survey(kMayPassSoonMs);
    return annotate(device, refused);
  }
  forget_earlier_life(device);
  device.admitting = true;
  device.admitted_view = sighting.view;
  device.arqs_over =
      arqs_.about({address, sighting.view->uuid, true, device.record.consumer(), survey_began_})
          .over;
  Facts facts;
  facts.plan = *plan;
  facts.cyborg_status = sighting.cyborg_status;
  facts.vendor_id = fmt::format("{:04x}", sighting.drive->vendor_id);
  facts.product_id = fmt::format("{:04x}", sighting.drive->device_id);
  facts.provider = sighting.view->uuid;
  facts.provider_name = sighting.rows.front().name;
  facts.resource_class = sighting.view->inventories.front().resource_class;
  post(address, Event{Trigger::admitted, 0, std::move(facts)});
}

}  // namespace reclaim
