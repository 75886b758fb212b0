// What the conductor is told: kicks, an operator's commands, and the planned stop.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/conductor.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/identity.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kGatherMs = 100;  // how long a kick waits for its likes
constexpr std::int64_t kCleanupAgeMaxMs = 600'000;
// Each is carried out by itself, and recorded: more than an operator gives is a flood.
constexpr std::size_t kEventsWaitingMax = 8;

}  // namespace

void Conductor::take(const Kick& kick) {
  if (stopping_) return;
  counters_.kicks += 1;
  if (!kick.arq.empty() && !has_cyborg_) {
    // Its device may be one that the next survey is the first to show.
    hear_arq(kick);
    return ports_.log.debug(kLog, fmt::format("{}: no device of Cyborg's is here", kick.reason));
  }
  ports_.log.info(kLog, fmt::format("kick: {}", kick.reason),
                  {{"request_id", kick.request_id}, {"instance", kick.instance}});
  hear_arq(kick);
  if (kick.command == "cleanup_device") cleanup_device(kick);
  for (const int delay_s : kick.delays_s) {
    // Not quite at once: Nova says the same twice, versioned and legacy, a few ms apart, and that
    // shall be one survey.
    const std::int64_t delay_ms = std::max<std::int64_t>(delay_s * 1000LL, kGatherMs);
    want_survey(delay_ms, delay_s == 0 ? "" : kick.instance);
  }
  if (kick.delays_s.empty()) want_survey(0);
}

// Cyborg's conductor asks for a cleaning: at an unbind, which a survey tells by itself, or for an
// administrator, whose word it is where the device is in error.
void Conductor::cleanup_device(const Kick& kick) {
  const auto address = parse_pci_address(kick.address);
  const Device* device = address ? find(*address) : nullptr;
  if (device == nullptr || device->quarantined || device->record.flow != Flow::cyborg ||
      device->record.stage != Stage::error) {
    return;
  }
  const std::int64_t written = written_at_ms(kick.id);
  const bool old = written > 0 && ports_.clock.now().wall.ms - written > kCleanupAgeMaxMs;
  // The unbind's own word, heard again after a crash, knows nothing of the error that came since.
  if (old || (written > 0 && written < device->record.stage_since.ms)) {
    ports_.log.warning(kLog, fmt::format("cleanup_device for {}: asked before it came into error, "
                                         "or long ago, as Redis's clock tells: it stays there",
                                         kick.address));
    return;
  }
  Facts facts;
  facts.detail = "Cyborg's cleanup_device";
  if (!kick.request_id.empty()) facts.request_id = kick.request_id;
  post(*address, Event{Trigger::operator_clean, 0, std::move(facts)});
}

void Conductor::take(const Order& order) {
  if (!stopping_) orders_.take(order);
}

std::string Conductor::why_refused(const Order& order) const {
  const auto address = parse_pci_address(order.address);
  const auto device = address ? devices_.find(*address) : devices_.end();
  if (device == devices_.end()) {
    return "no such device on this host: `reclaim device list` shows which there are";
  }
  if (device->second.quarantined) return device->second.record.last_error;
  if (!accepts_something(order) && device->second.inbox.size() >= kEventsWaitingMax) {
    return "too many orders wait for it already; issue it again when they are carried out";
  }
  return {};
}

void Conductor::carry_out(const Order& order, const PciAddress& address, const OrderDone& done) {
  Device& device = devices_.at(address);
  Facts facts;
  facts.detail = "operator " + printable_excerpt(order.who, kOrderWordBytesMax);
  if (has_request_id(order)) facts.request_id = order.request_id;
  if (order.order == "clean") return done(clean(device, std::move(facts)));
  if (order.order == "abort") {
    post(address, Event{Trigger::operator_abort, 0, std::move(facts)});
    return done("");
  }
  if (order.order == "enrol") return enrol(device, order, std::move(facts), done);
  if (order.order != "maintenance_on" && order.order != "maintenance_off") {
    return done(
        fmt::format("'{}' is not an order this version knows", printable_excerpt(order.order, 40)));
  }
  device.maintenance_wanted = order.order == "maintenance_on";
  if (is_busy(device.record.stage)) {
    ports_.log.warning(kLog, fmt::format("{} is being cleaned: {} when that is over; abort it if "
                                         "it must not go on",
                                         order.address, order.order));
  }
  pump(address);
  done("");
}

// Empty, or why not.
std::string Conductor::clean(Device& device, Facts facts) {
  const PciAddress address = device.record.address;
  // One in the pool is clean, unless nobody can tell why it is reserved.
  if (device.record.stage == Stage::available && !device.unsure) {
    return "it is available, and nothing says that it is not clean";
  }
  // While an instance has it, an ARQ that is let go would be missed when that is gone.
  const Stage stage = device.record.stage;
  const bool by_arq_only = stage == Stage::allocated && device.sighting && device.sighting->view &&
                           device.sighting->view->free();
  if ((by_arq_only || stage == Stage::error || stage == Stage::pending_cleaning) &&
      arqs_.let_go(address, device.record.provider)) {
    ports_.log.warning(kLog, fmt::format("{}: an operator says that no ARQ binds it any more",
                                         to_string(address)));
    save_arqs();
  }
  post(address, Event{Trigger::operator_clean, 0, std::move(facts)});
  return {};
}

// Nothing is forgotten before it is known that the word means something here.
void Conductor::enrol(Device& device, const Order& order, Facts facts, const OrderDone& done) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  std::string why;
  if (stage == Stage::allocated) {
    why = "an instance holds it; enrol it when that is gone, before it is cleaned";
  } else if (find_row(stage, Trigger::operator_enrol) == nullptr) {
    why = "it is being cleaned; enrol it when that is over, or abort it first";
  } else if (device.record.held) {
    why = "an operator holds it; un-reserve it first";
  } else if (device.found.serial.empty() && !stands_unopened(device)) {
    why = "no drive answers there";
  } else if (why = not_the_drive_of(order, device.found); !why.empty()) {
    audit(address, {audit_entry(AuditEvent::enrol_refused, device.record, why)});
  }
  if (!why.empty()) {
    refuse_enrolment(address, why);
    return done(why);
  }
  facts.serial = order.serial.empty() ? device.found.serial : order.serial;
  facts.hardware = device.found.hardware;
  facts.boot_id = options_.boot_id;
  if (stage == Stage::available) {
    return enrol_from_pool(address, std::move(facts), done);
  }
  post(address, Event{Trigger::operator_enrol, 0, std::move(facts)});
  done("");
}

// Only what is in the pool now, as Placement says: a hold that no survey has seen yet stands.
void Conductor::enrol_from_pool(const PciAddress& address, Facts facts, const OrderDone& done) {
  ports_.providers.read(
      devices_.at(address).record.provider,
      [this, address, facts = std::move(facts), done](Result<placement::ProviderView> view) {
        if (stopping_) return;
        std::string why = view ? "" : view.error().what;
        if (why.empty() && (!view->is_device() || !view->free() || view->burned())) {
          why = "Placement shows it reserved or taken";
        }
        if (!why.empty()) {
          refuse_enrolment(address, why);
          return done(why);
        }
        post(address, Event{Trigger::operator_enrol, 0, facts});
        done("");
      });
}

void Conductor::refuse_enrolment(const PciAddress& address, const std::string& reason) {
  const Device& device = devices_.at(address);
  const Stage stage = device.record.stage;
  const std::string why = "not enrolled: " + reason;
  ports_.log.warning(kLog, fmt::format("{}: {}", to_string(address), why));
  // A record of Redis that is older than the ledger is not written again before the ledger knows.
  const bool older =
      device.record.cleanable() && stage != Stage::available && !ledger_.is_dirty_durable(address);
  if (is_busy(stage) || device.saving || older) return;
  Record next = device.record;
  next.waiting_for = why;
  save_note(next, "enrol_refused", "an operator asked for it", why);
}

// An unmanaged drive does not say its serial before it is claimed; the claim compares what the
// operator accepted (is_the_accepted_one).
bool Conductor::stands_unopened(const Device& device) const {
  const auto policy = policy_of(device.record);
  return policy && !policy->managed;
}

// Maintenance begins and ends between two cleanings, never in the middle of one.
void Conductor::settle_maintenance(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (!device.maintenance_wanted || device.quarantined) return;
  if (is_busy(device.record.stage)) return;
  set_maintenance(address, *std::exchange(device.maintenance_wanted, std::nullopt));
}

// The ledger first: what stands there survives Redis, and admission looks there too.
void Conductor::set_maintenance(const PciAddress& address, bool on) {
  Device& device = devices_.at(address);
  const auto& entries = ports_.ledger.entries();
  LedgerEntry remembered = entries.contains(address) ? entries.at(address) : LedgerEntry{};
  // A record of Redis that is older than the ledger is not written again before the ledger knows.
  if (device.record.cleanable() && device.record.stage != Stage::available &&
      !ledger_.is_dirty_durable(address)) {
    remembered = ledger_.dirty_now(device.record);
  }
  remembered.maintenance = on;
  begin_save(device);
  ledger_.put(address, remembered, [this, address, on](Status kept) {
    if (stopping_) return;
    Device& now = devices_.at(address);
    if (!kept) {
      ports_.log.error(kLog, "the ledger cannot be written, trying again",
                       {{"why", kept.error().what}});
      ports_.timers.after(backoff(address), [this, address, on] {
        if (!stopping_) set_maintenance(address, on);
      });
      return;
    }
    Record next = now.record;
    next.maintenance = on;
    next.updated_at = ports_.clock.now().wall;
    audit(address, {audit_entry(AuditEvent::maintenance, next, on ? "begun" : "ended")});
    save_note(next, on ? "maintenance_on" : "maintenance_off", "set by an operator", "");
  });
}

void Conductor::stop(std::function<void()> stopped) {
  stopping_.begin();
  stopped_ = std::move(stopped);
  schedule_.stop();
  watch_.stop();
  stops_pending_ = 1;
  const auto one_done = [this] {
    if (--stops_pending_ == 0) stopped_();
  };
  stops_pending_ += orders_.waiting();
  orders_.refuse_waiting(one_done);
  for (auto& [address, device] : devices_) {
    if (device.peeking) ports_.drives.drop(address, [] {});
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
                       "a running sanitize goes on in the drive",
                       next.updated_at};
    if (!ledger_.is_dirty_durable(address)) {
      leave();  // its record is not to be believed as long as the ledger does not say the same
      continue;
    }
    ports_.store.save(next, lock, entry, [this, leave](Result<Ok> saved) {
      if (!saved) {
        ports_.log.warning(kLog, "planned stop not recorded", {{"why", saved.error().what}});
      }
      leave();
    });
  }
  one_done();
}

}  // namespace reclaim
