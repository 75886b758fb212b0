#include "handlers/conductor/conductor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/policy_of.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/tenant.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

// The first surveys of a fleet, which read every device, come so far apart on
// average, and within one interval of surveys.
constexpr std::int64_t kFirstSurveysApartMs = 50;
constexpr std::size_t kHostsApartMax = 1'000'000;

}  // namespace

Conductor::Conductor(ConductorPorts ports, ConductorPolicies policies, ConductorOptions options)
    : ports_(ports),
      policies_(std::move(policies)),
      options_(std::move(options)),
      context_{ports_,
               policies_,
               options_,
               stopping_,
               devices_,
               survey_,
               [this](std::int64_t delay_ms) { want_survey(delay_ms); },
               [this](const PciAddress& address) { look_afresh(address); },
               [this](const PciAddress& address, Event event) {
                 inbox_.post(address, std::move(event));
               },
               [this](const PciAddress& address) { return writer_.backoff(address); }},
      locks_(context_,
             [this](const PciAddress& address) {
               inbox_.post(address, Event{Trigger::lock_lost, 0, {}});
             }),
      ledger_(context_),
      certificates_(context_,
                    [this](const PciAddress& address, const std::string& certificate_id) {
                      ledger_.strike(address, certificate_id);
                      inbox_.pump(address);
                    }),
      fence_(context_,
             [this](const PciAddress& address, const placement::ProviderView& view) {
               admissions_.provider_moved(address, view);
               admissions_.try_admit(address);
             }),
      reserver_(context_, ledger_, fence_),
      bind_reservation_(context_, ledger_, fence_),
      taken_out_(context_, ledger_, fence_),
      registration_(context_,
                    [this](const PciAddress& address, std::string why) {
                      Assessment waits;
                      waits.waiting_for = std::move(why);
                      admissions_.annotate(address, waits);
                    }),
      audits_(context_),
      arq_book_({options_.host, options_.node_names}),
      cyborg_(
          context_, arq_book_,
          [this] {
            arqs_.save();
            arqs_.stop_what_is_bound();
          },
          [this] { assess_cyborgs(); }),
      arqs_(context_, arq_book_, cyborg_),
      writer_(context_, devices_, locks_,
              [this](const PciAddress& address) { inbox_.pump(address); }),
      looks_(context_, ledger_, writer_),
      inbox_(context_, devices_, writer_, ledger_, certificates_,
             {[this](const PciAddress& address, const Event& event) {
                return is_over(address, event);
              },
              [this](const PciAddress& address, Event& event) { add_heard(address, event); },
              [this](const PciAddress& address, const Record& before, const Update& update,
                     const std::string& detail) { transitioned(address, before, update, detail); },
              [this](const PciAddress& address) { settle(address); }}),
      claims_(context_, devices_, locks_, [this] { admissions_.thread_is_free(); }),
      admissions_(
          context_, devices_, ledger_, writer_, certificates_, fence_, arq_book_, audits_,
          [this](const PciAddress& address) { return device_orders_.maintenance_begins(address); }),
      own_steps_(context_, writer_),
      steps_(context_, ledger_, audits_, writer_, own_steps_, claims_),
      recheck_(context_, fence_, arqs_, admissions_, steps_),
      release_(context_, locks_, ledger_, claims_, admissions_, fence_, arqs_, cyborg_, recheck_),
      assessor_(context_, devices_,
                {ledger_, certificates_, reserver_, bind_reservation_, taken_out_, registration_,
                 fence_, claims_, arqs_, inbox_, admissions_, audits_, looks_}),
      disowning_(context_, {ledger_, certificates_, writer_, fence_, claims_, admissions_,
                            assessor_, audits_}),
      device_orders_(context_, {ledger_, writer_, inbox_, arq_book_, arqs_, admissions_, assessor_,
                                own_steps_, audits_, disowning_, looks_}),
      orders_(context_, ledger_, device_orders_),
      surveyor_(ports.providers, ports.drives, ports.clock, options_.full_survey_interval_ms),
      schedule_(
          ports.timers, ports.clock,
          {options_.survey_interval_ms, options_.survey_jitter_ms, options_.survey_spacing_ms},
          std::hash<std::string>{}(options_.host), [this](bool periodic) { run_survey(periodic); }),
      survey_watch_(ports.timers, ports.clock, ports.log),
      watch_(ports.providers, ports.timers, ports.clock, {options_.watch_ms, options_.retry_max_ms},
             [this] { return assessor_.to_be_watched(); },
             {[this](const PciAddress& address, const std::string& provider) {
                if (!stopping_) assessor_.see_on_offer(address, provider);
              },
              [this](const PciAddress& address, const placement::ProviderView& view) {
                if (!stopping_) reserver_.see_moved(address, view);
              }}) {
  survey_.host.host = options_.host;
  survey_.host.compute_id = options_.compute_id;
  survey_.host.boot_id = options_.boot_id;
  survey_.host.failed_builds_wait = options_.failed_builds == FailedBuilds::wait;
  survey_.host.clean_first = options_.first_sight == FirstSight::clean;
}

ConductorCounters Conductor::counters() const {
  ConductorCounters counters = counters_;
  counters.stale_events = inbox_.stale_events();
  counters.released = release_.count();
  counters.reserved_in_cleaning = reserver_.in_cleaning();
  return counters;
}

std::vector<Record> Conductor::records() const {
  std::vector<Record> out;
  for (const auto& [address, device] : devices_) out.push_back(device.record);
  return out;
}

// Before anything of the host's is read or written it must be known that the name is ours: a copied
// configuration must not touch another machine's books.
void Conductor::replace_policies(ConductorPolicies policies, const ConductorOptions& options) {
  policies_ = std::move(policies);
  options_.step_priorities = options.step_priorities;
  options_.function_step_priorities = options.function_step_priorities;
  options_.clean_automated = options.clean_automated;
  options_.clean_interfaces = options.clean_interfaces;
  assessor_.forget_surveys();
  surveyor_.forget();
  if (!stopping_) context_.want_survey(0);
}

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
  survey_.not_ours = true;
  survey_.host.problem = error.what;
  survey_problem_ = error.what;
  ports_.log.error(log_name::kConductor, "nothing is read, written or cleaned",
                   {{"why", error.what}});
}

HostInfo Conductor::host_info() const {
  HostInfo info;
  info.host = options_.host;
  info.nodes = options_.node_names;
  info.heartbeat_at = ports_.clock.now().wall;
  info.version = options_.version;
  info.machine_id = options_.machine_id;
  info.observes = options_.observes();
  info.unheard_ends = hearing_.unheard_ends();
  info.unheard_since = hearing_.unheard_since();
  info.unread_queues = unread_queues_;
  info.unread_since = unread_since_;
  info.labels = options_.labels;
  if (const auto pause = host_pause(ports_.ledger.entries(), info.heartbeat_at)) {
    info.paused_until = pause->until;
    info.paused_by = pause->by;
  }
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
      arq_book_.load(*arqs);
      orders_.tell_left([this, started, records = std::move(records)](Status told) mutable {
        if (!told) return started(std::move(told).error());
        started(Ok{});
        survey_watch_.begin(options_.survey_interval_ms);
        for (Record& record : records) take_over(std::move(record));
        begin_surveys();
      });
    });
  });
}

// Takes over what an earlier worker left of one device.
void Conductor::take_over(Record record) {
  const PciAddress address = record.address;
  const LedgerEntry* known = context_.on_ledger(address);
  if (record.damage.empty() && is_disowned_since(known, record)) return leave_disowned(record);
  Device& device = devices_[address];
  if (!record.damage.empty()) return quarantine(device, record);
  const bool dirty = known != nullptr && known->dirty;
  // Redis may have forgotten which drive was meant; whichever answers there now is no answer.
  if (known != nullptr && record.serial.empty()) record.serial = known->serial;
  // At the start what the ledger shows is durable; of one in quarantine it may be our own line.
  ledger_.set_dirty_durable(address, dirty && !device.quarantined);
  // The record may be of an earlier life: the device was released since, and Redis has forgotten
  // that, or somebody put it back. Another tenant's data may be on the drive by now.
  device.record = confirmed_by(known, std::move(record), policies_.digest);
  device.persisted = true;
  device.quarantined = false;
  // A device that is in the pool, and clean for the ledger, has no release on its way.
  fence_.need_first(address, device.record.stage != Stage::available ||
                                 (dirty && is_dirty_since(*known, device.record.certificate_at)));
  certificates_.keep(device.record);
  const Stage stage = device.record.stage;
  if (!is_busy(stage) && stage != Stage::pending_cleaning) return;
  const Trigger trigger = restart_trigger(device.record, options_.interrupted_cleaning);
  // A plain pending device resumes by being surveyed; writing that down would say nothing.
  if (stage == Stage::pending_cleaning && trigger == Trigger::restarted_resume) return;
  interrupted_[address] = trigger == Trigger::restarted_error;
  inbox_.post(address, Event{trigger, 0, {}});
}

// A survey begins another record of it, as of a device that nobody knows.
void Conductor::leave_disowned(const Record& record) {
  ports_.log.warning(log_name::kConductor,
                     fmt::format("{}: its record is older than the order that disowned it: nothing "
                                 "rests on it",
                                 to_string(record.address)));
  if (devices_.contains(record.address)) assessor_.begin_another(record.address);
}

// A fleet that starts at once, as after an upgrade, does not ask Placement at once.
void Conductor::begin_surveys() {
  ports_.store.count_hosts([this](Result<std::size_t> hosts) {
    const std::size_t apart = hosts ? std::min(*hosts, kHostsApartMax) : 0;
    schedule_.begin(static_cast<std::int64_t>(apart) * kFirstSurveysApartMs);
  });
}

// The record was mended, or deleted: then the device is discovered again.
void Conductor::end_quarantine(const PciAddress& address, const Record* found) {
  if (found != nullptr && !found->damage.empty()) return;
  ports_.log.info(log_name::kConductor,
                  fmt::format("{}: {}", to_string(address),
                              found == nullptr ? "record deleted; rediscovering the device"
                                               : "record can be read again"));
  if (found == nullptr) {
    assessor_.begin_another(address);
  } else {
    take_over(*found);
  }
}

void Conductor::want_survey(std::int64_t delay_ms, const std::string& for_instance) {
  if (!stopping_) schedule_.want(delay_ms, for_instance);
}

void Conductor::look_afresh(const PciAddress& address) {
  unsettled_.insert(address);
  want_survey(0);
}

// True if the device is at rest, with nothing under way or in doubt: as long as Placement's
// generations say that nothing has changed, its provider has nothing to tell.
bool Conductor::is_settled(const Device& device) const {
  const Record& record = device.record;
  const PciAddress& address = record.address;
  const LedgerEntry* line = context_.on_ledger(address);
  const bool dirty = line != nullptr && line->dirty;
  const bool rests =
      (record.stage == Stage::available && !dirty) || record.stage == Stage::allocated;
  const bool reserved_otherwise = record.maintenance ||
                                  (line != nullptr && (line->maintenance || line->taken_out)) ||
                                  (options_.reserve_all_types && !record.cleanable());
  return rests && !reserved_otherwise && device.persisted && !device.saving &&
         !device.quarantined && !claims_.is_open(address) && !assessor_.is_unsure(address) &&
         !fence_.is_needed_first(address);
}

void Conductor::run_survey(bool periodic) {
  if (stopping_) return;
  periodic_ = periodic;
  arqs_.save();
  ports_.store.heartbeat(host_info(), [this](Result<Ok> beat) {
    if (stopping_) return;
    if (!beat && beat.error().code == Errc::conflict) {
      not_ours(beat.error());
      return schedule_.ended();
    }
    survey_.host.problem = beat ? "" : beat.error().what;
    if (!beat)
      ports_.log.warning(log_name::kConductor, "no new cleaning starts",
                         {{"why", beat.error().what}});
    const auto look = [this] {
      cyborg_.ask();
      look_around();
    };
    if (!beat || !periodic_) return look();
    ports_.store.load(options_.host, [this, look](Result<std::vector<Record>> stored) {
      if (stopping_) return;
      if (stored) {
        mend_store(*stored);
        arqs_.compare();
      }
      look();
    });
  });
}

void Conductor::look_around() {
  const Now now = ports_.clock.now();
  survey_.began = now.mono;
  survey_.began_at = now.wall;
  survey_.deleted = std::exchange(deleted_, {});
  cyborg_.survey_begins();
  SurveyRequest request;
  request.unsettled = std::exchange(unsettled_, {});
  request.ours = [this](const Sighting& sighting) { return is_ours(policies_, sighting); };
  request.unregistered = options_.registers();
  request.asks = [this](const Sighting& sighting) {
    const auto device = devices_.find(sighting.address);
    const bool recorded = device != devices_.end() && !device->second.quarantined;
    return asks_about(sighting, recorded ? &device->second.record : nullptr);
  };
  std::map<PciAddress, std::uint64_t> epochs;
  for (const auto& [address, device] : devices_) {
    request.known.insert(address);
    if (!is_settled(device)) request.unsettled.insert(address);
    // The drive's counters are told as they were when a claim began, until it is really given up.
    if (is_busy(device.record.stage) || !claims_.is_open(address))
      epochs[address] = device.record.epoch;
    // The conductor reads a device in work itself; the periodic survey looks all the same, for an
    // allocation that nobody expected.
    const bool looked_at = periodic_ && may_last_long(device.record.stage);
    // A record that cannot be written stands still, and its device does not.
    if (is_busy(device.record.stage) && !looked_at && !device.saving) request.busy.insert(address);
  }
  for (const auto& [address, entry] : ports_.ledger.entries()) {
    if (!entry.dirty && !entry.error) continue;
    request.known.insert(address);
    if (!devices_.contains(address)) request.unsettled.insert(address);
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
    ports_.log.warning(log_name::kConductor, "survey failed", {{"why", survey_problem_}});
    survey_retry_ms_ =
        std::clamp(survey_retry_ms_ * 2, options_.retry_min_ms, options_.retry_max_ms);
    return schedule_.failed(survey_retry_ms_);
  }
  counters_.survey_at = ports_.clock.now().wall;
  survey_problem_.clear();
  survey_.gone_through = true;
  survey_watch_.survey_went_through();
  survey_retry_ms_ = 0;
  survey_.host.root_uuid = survey->root_uuid;
  if (!survey_.host.compute_id.empty() && survey_.host.compute_id != survey_.host.root_uuid) {
    not_ours(Error{Errc::refused,
                   fmt::format("the root provider {} is {}, but Nova's compute_id file on this "
                               "machine says {}: these are another machine's books",
                               survey->root_name, survey->root_uuid, survey_.host.compute_id)});
    return schedule_.ended();
  }
  survey_.seen_drives = std::move(survey->drives);
  survey_.shared_serial_numbers = std::move(survey->shared_serial_numbers);
  survey_.not_ours = false;
  arqs_.know_devices(*survey);
  forget_the_deviceless(*survey);
  for (const auto& [address, sighting] : survey->sightings) {
    const auto known = epochs.find(address);
    const auto epoch = known == epochs.end() ? std::nullopt : std::optional(known->second);
    if (waits_for_cyborg(sighting)) {
      cyborg_.let_wait(sighting, epoch);
    } else {
      assessor_.assess(sighting, epoch);
    }
  }
  if (!cyborg_.is_awaited()) assess_cyborgs();
  for (const auto& [address, device] : devices_) {
    if (!device.quarantined) certificates_.keep(device.record);
  }
  looks_.tell();
  orders_.carry_out_waiting();
  device_orders_.end_unproven_maintenance();
  watch_.attend();
  schedule_.ended();
}

// Guessing at what an unreadable record meant could release a dirty drive or erase a used one. The
// device is shown as it is, in error, and no event reaches it; the others go on.
void Conductor::quarantine(Device& device, const Record& damaged) {
  ports_.log.error(log_name::kConductor,
                   fmt::format("{}: its record cannot be read; nothing is done with it",
                               to_string(damaged.address)),
                   {{"why", damaged.damage}});
  device.quarantined = true;
  assessor_.keep_record(damaged.address);
  device.persisted = false;
  device.record = damaged;
}

// Ends the quarantine of records that were mended, or deleted; all else is compared with what is
// known.
void Conductor::mend_store(const std::vector<Record>& stored) {
  std::vector<PciAddress> quarantined;
  for (const auto& [address, device] : devices_) {
    if (device.quarantined) quarantined.push_back(address);
  }
  writer_.compare(stored);
  for (const PciAddress& address : quarantined) {
    const auto found = std::find_if(stored.begin(), stored.end(), [&](const Record& record) {
      return record.address == address;
    });
    end_quarantine(address, found == stored.end() ? nullptr : &*found);
  }
}

bool Conductor::waits_for_cyborg(const Sighting& sighting) {
  if (!cyborg_.is_awaited()) return false;
  const auto device = devices_.find(sighting.address);
  return (device != devices_.end() && device->second.record.flow == Flow::cyborg) ||
         std::any_of(sighting.rows.begin(), sighting.rows.end(),
                     [](const placement::ProviderRow& row) { return row.owner_cyborg; });
}

void Conductor::assess_cyborgs() {
  for (const auto& [address, waiting] : cyborg_.take_waiting()) {
    assessor_.assess(waiting.sighting, waiting.epoch);
  }
  orders_.carry_out_waiting();
  watch_.attend();
}

}  // namespace reclaim
