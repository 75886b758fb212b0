// The conductor's own part in a device's life: what follows from a durable record, what it is told,
// and the planned stop.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/conductor.h"

namespace reclaim {
namespace {

constexpr std::int64_t kGuardsAgainMs = 2'500;
constexpr std::uint32_t kWaitsDoubledMax = 8;
constexpr std::size_t kDeletedMax = 300;    // between two surveys; of more, each is looked for
constexpr std::int64_t kToldAgainMs = 100;  // Nova says the same twice, versioned and legacy

// Nova's, as its versioned notification has it.
std::string_view event_of(std::string_view reason) {
  constexpr std::string_view kLegacy = "compute.";
  return reason.starts_with(kLegacy) ? reason.substr(kLegacy.size()) : reason;
}

// True if the effect begins something; the others end it.
bool goes_on(EffectKind effect) {
  return effect != EffectKind::none && effect != EffectKind::drop &&
         effect != EffectKind::certify && effect != EffectKind::finish &&
         effect != EffectKind::reserve;
}

}  // namespace

// An order "clean" from before the device was given back. A device in the pool is cleaned only
// while it is reserved and the reason is unknown.
bool Conductor::is_over(const PciAddress& address, const Event& event) const {
  return event.trigger == Trigger::operator_clean &&
         devices_.at(address).record.stage == Stage::available && !assessor_.is_unsure(address);
}

// Settles what is due for a device of which nothing is being saved.
void Conductor::settle(const PciAddress& address) {
  const Device& device = devices_.at(address);
  if (!device.saving) settle_certificate(address);
  if (!device.saving) device_orders_.settle_maintenance(address);
}

// A device at rest has no next transition that would say so.
void Conductor::settle_certificate(const PciAddress& address) {
  const Device& device = devices_.at(address);
  if (device.quarantined || is_busy(device.record.stage)) return;
  const auto next = certificates_.settle(device.record);
  if (!next) return;
  const auto saved = [this, address] {
    if (devices_.at(address).record.stage == Stage::pending_cleaning) want_survey(0);
  };
  writer_.save_note(*next, "certificate_kept",
                    "the certificate of its last release is sealed and kept", next->certificate_id,
                    IfUnsaved::try_again, saved);
}

void Conductor::transitioned(const PciAddress& address, const Record& before, const Update& update,
                             const std::string& detail) {
  counters_.transitions += 1;
  admissions_.moved(address);
  assessor_.moved(address);
  watch_.attend();
  const Record& record = update.record;
  claims_.moved(address, before.stage, record.stage);
  if (before.stage == Stage::allocated && record.stage != Stage::allocated) {
    hearing_.ended(ports_.clock.now());
  }
  const std::string line =
      fmt::format("{} {} -> {} ({}): {}{}{}", to_string(address), to_string(before.stage),
                  to_string(record.stage), to_string(update.row->on), update.row->why,
                  detail.empty() ? "" : "; ", detail);
  const bool bad = record.stage == Stage::error || update.row->on == Trigger::policy_unsatisfied;
  ports_.log.write(bad ? LogLevel::error : LogLevel::info, log_name::kConductor, line,
                   {{"request_id", record.request_id}, {"instance", record.instance}});
  if ((record.stage == Stage::error) != (before.stage == Stage::error)) {
    if (record.stage == Stage::error) counters_.errors += 1;
    LedgerEntry entry = ports_.ledger.entries().at(address);
    entry.error = record.stage == Stage::error;
    entry.aborted = update.row->on == Trigger::operator_abort;
    // Whoever mends what went wrong may have written: the next zeroing begins with the first byte.
    entry.cleaning.zero_mark.clear();
    if (!record.serial.empty() && entry.enrolled_serial.empty()) entry.serial = record.serial;
    ledger_.put(address, entry, [this](Status kept) {
      if (!kept)
        ports_.log.error(log_name::kConductor, "the ledger cannot be written",
                         {{"why", kept.error().what}});
    });
  }
  if (update.effect == EffectKind::finish) {
    arq_book_.bury(address, record.provider, admissions_.take_arqs_over(address));
    arqs_.save();
  }
  audits_.keep(address, audit_of(before, update, detail), update.by_proven_order);
  // A restart's error is owed by what it found being released, and by nothing after that.
  const bool interrupted = before.stage == Stage::confirming && interrupted_[address] &&
                           update.effect != EffectKind::finish;
  if (record.stage != Stage::releasing && record.stage != Stage::confirming) {
    interrupted_[address] = false;
  }
  // Whoever waits in the inbox to end the cleaning goes first: nothing more is begun.
  if (!goes_on(update.effect) || !inbox_.ends_are_waiting(address)) carry_out(address, *update.row);
  const bool rested = before.stage == Stage::available || before.stage == Stage::allocated;
  if (rested && record.stage == Stage::pending_cleaning) {
    schedule_.settle(record.instance);
    admissions_.try_admit(address);
  }
  // It was interrupted, and what it was interrupted in did not happen.
  if (interrupted && record.stage == Stage::pending_cleaning) {
    return inbox_.post(address, Event{Trigger::restarted_error, 0, {}});
  }
  look_again(update.row->look, record.attempts);
}

void Conductor::look_again(LookAgain look, std::uint32_t attempts) {
  switch (look) {
    case LookAgain::none:
      return;
    case LookAgain::at_once:
      return want_survey(0);
    case LookAgain::soon:
      return want_survey(kLookAgainMs);
    case LookAgain::later: {
      // libvirt and udev take their seconds; what lasts longer is looked at less and less often.
      const auto waits = static_cast<std::int64_t>(std::min(attempts, kWaitsDoubledMax));
      return want_survey(std::min(kGuardsAgainMs << waits, options_.survey_interval_ms));
    }
  }
}

void Conductor::carry_out(const PciAddress& address, const Row& row) {
  const std::uint64_t epoch = devices_.at(address).record.epoch;
  switch (row.effect) {
    case EffectKind::none:
      return;
    case EffectKind::claim:
      return claims_.take(address, epoch);
    case EffectKind::recheck:
      return recheck_.begin(address, epoch);
    case EffectKind::run_step:
      return steps_.run_step(address, epoch);
    case EffectKind::take_baseline:
      return steps_.take_baseline(address, epoch);
    case EffectKind::erase:
      return steps_.erase(address, epoch);
    case EffectKind::verify:
      return steps_.verify(address, epoch);
    case EffectKind::restore_driver:
      return steps_.restore_driver(address, epoch);
    case EffectKind::look:
      return release_.look(address, epoch);
    case EffectKind::release:
      return release_.begin(address, epoch);
    case EffectKind::confirm:
      return release_.confirm(address, epoch);
    case EffectKind::certify:
    case EffectKind::finish:
      return finish(address);
    case EffectKind::drop:
      return drop(address);
    case EffectKind::reserve:
      reserver_.reserve(address, devices_.at(address).record.provider, why_reserved(row.on));
      return;
  }
}

// Gives up the claim.
void Conductor::drop(const PciAddress& address) {
  release_.forget_look(address);
  claims_.drop(address);
}

// The certificate has been in the record since the release was, or since the drive was found unfit.
void Conductor::finish(const PciAddress& address) {
  drop(address);
  certificates_.keep(devices_.at(address).record);
}

// Has the devices that an instance has, or had by its record, read again; all devices where none is
// named.
void Conductor::look_again_at(const std::string& instance) {
  if (instance.empty()) return surveyor_.forget();
  surveyor_.doubt_consumer(instance);
  for (const auto& [address, device] : devices_) {
    if (device.record.instance == instance) unsettled_.insert(address);
  }
}

// Adds what is heard of until the certificate is made: what waited for the worker comes after the
// survey that it starts with, and some ends of a life are told after the allocation is gone.
void Conductor::add_heard(const PciAddress& address, Event& event) {
  const Record& record = devices_.at(address).record;
  if (record.unseen.until.ms == 0 || begins_tenancy(event.trigger)) return;
  std::vector<std::string> heard = heard_.within(record.unseen, record.heard);
  if (heard == record.heard) return;
  ports_.log.info(log_name::kConductor,
                  fmt::format("{}: no survey saw who had it; heard of, not proven: {}",
                              to_string(address), fmt::join(heard, ", ")));
  event.facts.heard = std::move(heard);
}

void Conductor::take(const Kick& kick) {
  if (stopping_) return;
  counters_.kicks += 1;
  if (kick.command.empty()) hearing_.heard(ports_.clock.now().mono);
  if (!kick.arq.empty() && !arqs_.has_devices()) {
    // Its device may be one that the next survey is the first to show.
    arqs_.hear(kick);
    return ports_.log.debug(log_name::kConductor,
                            fmt::format("{}: no device of Cyborg's is here", kick.reason));
  }
  ports_.log.info(log_name::kConductor, fmt::format("kick: {}", kick.reason),
                  {{"request_id", kick.request_id}, {"instance", kick.instance}});
  arqs_.hear(kick);
  const bool newly_begun =
      heard_.hear(kick, {options_.host, options_.node_names}, ports_.clock.now().wall);
  if (says_nothing_new(kick)) return;
  if (names_no_host(kick) && !may_have_had_a_device(kick.instance)) {
    return ports_.log.debug(log_name::kConductor,
                            fmt::format("{}: no device here was its instance's", kick.reason),
                            {{"instance", kick.instance}});
  }
  look_again_at(kick.instance);
  if (event_of(kick.reason) == "instance.delete.end" && deleted_.size() < kDeletedMax) {
    deleted_.insert(kick.instance);
  }
  if (kick.command == "cleanup_device") device_orders_.cleanup_device(kick);
  const bool told_again = is_told_again(kick);
  // The device that such a message is about was freed before it was sent, or is freed without
  // another one: later looks would find no more.
  for (const int delay_s : names_no_host(kick) ? std::vector<int>{0} : kick.delays_s) {
    if (delay_s > 0) {
      want_survey(delay_s * 1000LL, kick.instance);
    } else if (!told_again) {
      look_at_once(kick, newly_begun);
    }
  }
  if (kick.delays_s.empty()) look_at_once(kick, newly_begun);
}

// A drive may be free, and all that it waits for is us; and a tenancy that has just begun may be
// over before the pause between two surveys is. One that is known of is not over so soon.
void Conductor::look_at_once(const Kick& kick, bool newly_begun) {
  if (kick.mark_allocated && !newly_begun) return want_survey(0);
  schedule_.want_at_once();
}

// True if the message only announces the deletion of an instance that a device's record names
// already. Who has its devices is to be on record while Placement still says so; a survey now would
// only put off the one that matters.
bool Conductor::says_nothing_new(const Kick& kick) const {
  if (event_of(kick.reason) != "instance.delete.start" || kick.instance.empty()) return false;
  return std::any_of(devices_.begin(), devices_.end(), [&kick](const auto& each) {
    const Record& record = each.second.record;
    return record.stage == Stage::allocated && record.instance == kick.instance;
  });
}

// Every host with a burned device hears such a message, and it concerns one: the host whose records
// name the instance, or on which another message put it. For all others the periodic survey is soon
// enough.
bool Conductor::names_no_host(const Kick& kick) {
  return kick.host.empty() && !kick.instance.empty() && kick.arq.empty() && kick.command.empty();
}

bool Conductor::may_have_had_a_device(const std::string& instance) const {
  return heard_.knows(instance) || is_on_record(instance);
}

bool Conductor::is_on_record(const std::string& instance) const {
  return std::any_of(devices_.begin(), devices_.end(), [&instance](const auto& each) {
    const Record& record = each.second.record;
    return record.instance == instance || record.migration == instance;
  });
}

// Most instances have no device of ours. One look after the deletion shows that: no later one could
// find more.
void Conductor::forget_the_deviceless(const Survey& survey) {
  std::set<std::string> tenants;
  for (const auto& [address, sighting] : survey.sightings) {
    if (!sighting.view) continue;
    tenants.insert(sighting.view->consumers.begin(), sighting.view->consumers.end());
  }
  for (const std::string& instance : survey_.deleted) {
    if (!tenants.contains(instance) && !is_on_record(instance)) schedule_.settle(instance);
  }
}

// The survey of the first is the second's too.
bool Conductor::is_told_again(const Kick& kick) {
  const MonoMs now = ports_.clock.now().mono;
  const std::string event(event_of(kick.reason));
  const bool again = !kick.instance.empty() && kick.instance == last_told_.instance &&
                     event == last_told_.event && now.ms - last_told_.at.ms < kToldAgainMs;
  last_told_ = {kick.instance, event, now};
  return again;
}

void Conductor::take(const Order& order) {
  if (!stopping_) orders_.take(order);
}

// So that nobody takes the last heartbeat for a worker that lives.
void Conductor::say_goodbye(const std::function<void()>& done) {
  if (survey_.not_ours) return;
  stops_pending_ += 1;
  HostInfo info = host_info();
  info.stopped = true;
  ports_.store.heartbeat(info, [done](const Result<Ok>& /*told*/) { done(); });
}

void Conductor::stop(std::function<void()> stopped) {
  stopping_.begin();
  stopped_ = std::move(stopped);
  schedule_.stop();
  watch_.stop();
  audits_.tell_all_counted();
  stops_pending_ = 1;
  const auto one_done = [this] {
    if (--stops_pending_ == 0) stopped_();
  };
  say_goodbye(one_done);
  stops_pending_ += orders_.waiting();
  orders_.refuse_waiting(one_done);
  for (auto& [address, device] : devices_) {
    if (claims_.is_peeking(address)) ports_.drives.drop(address, [] {});
    if (!is_busy(device.record.stage)) continue;
    stops_pending_ += 1;
    const LockToken lock = locks_.let_go(address);
    // The lock is given back last, when the record is written and the drive is closed.
    const auto left = std::make_shared<int>(2);
    const auto leave = [this, at = address, lock, left, one_done] {
      if (--*left > 0) return;
      if (lock.token == 0) return one_done();
      locks_.give_back(at, lock, one_done);
    };
    ports_.drives.stop(address);
    ports_.drives.drop(address, leave);
    const Record next = planned_stop(device.record, ports_.clock.now().wall);
    JournalEntry entry{to_string(address),
                       std::string(to_string(next.stage)),
                       "planned_stop",
                       std::string(to_string(next.stage)),
                       "the worker was told to stop",
                       "a running sanitize goes on in the drive; a zeroing goes on with the next "
                       "worker, where nobody else wrote",
                       next.updated_at};
    if (!ledger_.is_dirty_durable(address)) {
      leave();  // its record is not to be believed as long as the ledger does not say the same
      continue;
    }
    ports_.store.save(next, lock, entry, [this, leave](Result<Ok> saved) {
      if (!saved) {
        ports_.log.warning(log_name::kConductor, "planned stop not recorded",
                           {{"why", saved.error().what}});
      }
      leave();
    });
  }
  one_done();
}

}  // namespace reclaim
