// What the conductor is told: an operator's commands, and the planned stop.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "handlers/audit_trail.h"
#include "handlers/conductor.h"
#include "handlers/device_kind.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kCleanupAgeMaxMs = 600'000;
constexpr std::int64_t kSoonMs = 200;  // the survey that shows what a command did

// As long as a request id, or a name, may be.
constexpr std::size_t kWordBytesMax = 200;
// Clocks differ.
constexpr std::int64_t kIssuedAheadMaxMs = 60'000;

}  // namespace

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
  if (stopping_) return;
  const std::string name = fmt::format("{} of {}", printable_excerpt(order.order, 40),
                                       printable_excerpt(order.address, 40));
  ports_.log.info(kLog, fmt::format("order: {}", name),
                  {{"who", printable_excerpt(order.who, kWordBytesMax)},
                   {"request_id", printable_excerpt(order.request_id, kWordBytesMax)}});
  std::string refusal = why_not(order);
  if (refusal.empty() && waits_for_survey(order)) return;
  const auto address = parse_pci_address(order.address);
  Device* device = address ? find(*address) : nullptr;
  if (refusal.empty() && device == nullptr) {
    refusal = "no such device on this host: `reclaim device list` shows which there are";
  } else if (refusal.empty() && device->quarantined) {
    refusal = device->record.last_error;
  }
  if (refusal.empty() && accepts_something(order)) return accept(*address, order);
  if (refusal.empty()) refusal = carry_out(order, *device);
  answer_order(order, refusal);
}

void Conductor::answer_order(const Order& order, const std::string& refusal) {
  if (!refusal.empty()) {
    ports_.log.warning(
        kLog,
        fmt::format("order {} of {} is refused: {}", printable_excerpt(order.order, 40),
                    printable_excerpt(order.address, 40), refusal),
        {{"who", printable_excerpt(order.who, kWordBytesMax)}});
  } else {
    want_survey(kSoonMs);
  }
  if (order.request_id.empty() || order.request_id.size() > kWordBytesMax) return;
  ports_.store.answer_order(options_.host, order, refusal, [](Result<Ok> /*answered*/) {
    // Who waits for it sees the record move, or asks again.
  });
}

// What can be told of an order before its device is looked at. Empty: nothing speaks against it.
std::string Conductor::why_not(const Order& order) const {
  const std::int64_t now = ports_.clock.now().wall.ms;
  const std::int64_t written = written_at_ms(order.id);
  if (written > 0 && now - written > kOrderLifeMs) {
    return fmt::format("it was issued more than {} minutes ago; issue it again",
                       kOrderLifeMs / 60'000);
  }
  if (order.who.empty()) return "it does not say who issued it: use `reclaim device`";
  return accepts_something(order) ? why_not_accepted(order) : std::string();
}

// An order that accepts something would let a stranger's drive, or a tenant's leavings, into the
// pool: it has to be an operator's, of now, and not one that was heard before.
std::string Conductor::why_not_accepted(const Order& order) const {
  if (!policies_.order_fits || !policies_.order_fits(order)) {
    return "it is not authenticated: issue it as root on the host itself, or set [security] "
           "order_key_file to the same key here and there";
  }
  const WallMs now = ports_.clock.now().wall;
  if (now.ms - order.issued_at.ms > kOrderLifeMs ||
      order.issued_at.ms - now.ms > kIssuedAheadMaxMs) {
    return "it was not issued within the last hour, as this host's clock tells; issue it again";
  }
  const auto address = parse_pci_address(order.address);
  const LedgerEntry* known = address ? on_ledger(*address) : nullptr;
  if (known != nullptr && order.issued_at <= known->ordered_at) {
    return "this order, or a later one for the device, was carried out before; issue it again";
  }
  return {};
}

// The ledger first, so that the same order is not heard twice, though this worker dies meanwhile.
void Conductor::accept(const PciAddress& address, const Order& order) {
  const LedgerEntry* known = on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  entry.ordered_at = order.issued_at;
  put_on_ledger(address, entry, [this, address, order](Status kept) {
    if (stopping_) return;
    Device& device = devices_.at(address);
    std::string refusal = kept ? "" : kept.error().what;
    if (refusal.empty() && device.quarantined) refusal = device.record.last_error;
    if (refusal.empty()) refusal = carry_out(order, device);
    answer_order(order, refusal);
  });
}

// Empty, or why not.
std::string Conductor::carry_out(const Order& order, Device& device) {
  const PciAddress address = device.record.address;
  Facts facts;
  facts.detail = "operator " + printable_excerpt(order.who, kWordBytesMax);
  if (!order.request_id.empty() && order.request_id.size() <= kWordBytesMax) {
    facts.request_id = order.request_id;
  }
  if (order.order == "clean") return clean(device, std::move(facts));
  if (order.order == "abort") {
    post(address, Event{Trigger::operator_abort, 0, std::move(facts)});
    return {};
  }
  if (order.order == "enrol") return enrol(device, std::move(facts));
  if (order.order != "maintenance_on" && order.order != "maintenance_off") {
    return fmt::format("'{}' is not an order this version knows",
                       printable_excerpt(order.order, 40));
  }
  device.maintenance_wanted = order.order == "maintenance_on";
  if (is_busy(device.record.stage)) {
    ports_.log.warning(kLog, fmt::format("{} is being cleaned: {} when that is over; abort it if "
                                         "it must not go on",
                                         order.address, order.order));
  }
  pump(address);
  return {};
}

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

// Nothing is forgotten before it is known that the word means something here. Empty, or why not.
std::string Conductor::enrol(Device& device, Facts facts) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  std::string why;
  if (stage == Stage::allocated) {
    why = "an instance holds it; enrol it when that is gone, before it is cleaned";
  } else if (find_row(stage, Trigger::operator_enrol) == nullptr) {
    why = "it is being cleaned; enrol it when that is over, or abort it first";
  } else if (device.record.held) {
    why = "an operator holds it; un-reserve it first";
  } else if (device.seen_serial.empty() && !stands_unopened(device)) {
    why = "no drive answers there";
  }
  if (!why.empty()) {
    refuse_enrolment(address, why);
    return why;
  }
  facts.serial = stands_unopened(device) ? std::string() : device.seen_serial;
  facts.hardware = device.seen_hardware;
  facts.boot_id = options_.boot_id;
  if (stage == Stage::available) {
    enrol_from_pool(address, std::move(facts));
  } else {
    post(address, Event{Trigger::operator_enrol, 0, std::move(facts)});
  }
  return {};
}

// Only what is in the pool now, as Placement says: a hold that no survey has seen yet stands.
void Conductor::enrol_from_pool(const PciAddress& address, Facts facts) {
  ports_.providers.read(
      devices_.at(address).record.provider,
      [this, address, facts = std::move(facts)](Result<placement::ProviderView> view) {
        if (stopping_) return;
        if (!view) return refuse_enrolment(address, view.error().what);
        if (!view->is_device() || !view->free() || view->burned()) {
          return refuse_enrolment(address, "Placement shows it reserved or taken");
        }
        post(address, Event{Trigger::operator_enrol, 0, facts});
        want_survey(kSoonMs);
      });
}

void Conductor::refuse_enrolment(const PciAddress& address, const std::string& reason) {
  const Device& device = devices_.at(address);
  const Stage stage = device.record.stage;
  const std::string why = "not enrolled: " + reason;
  ports_.log.warning(kLog, fmt::format("{}: {}", to_string(address), why));
  // A record of Redis that is older than the ledger is not written again before the ledger knows.
  const bool older =
      device.record.cleanable() && stage != Stage::available && !device.dirty_durable;
  if (is_busy(stage) || device.saving || older) return;
  Record next = device.record;
  next.waiting_for = why;
  next.epoch += 1;
  next.updated_at = ports_.clock.now().wall;
  JournalEntry entry{to_string(address),
                     std::string(to_string(stage)),
                     "enrol_refused",
                     std::string(to_string(stage)),
                     "an operator asked for it",
                     why,
                     next.updated_at};
  save(address, std::move(next), std::move(entry), [] {});
}

// An unmanaged drive does not say its serial before it is claimed: whichever is found then is the
// one that the operator accepts.
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
      !device.dirty_durable) {
    remembered = dirty_entry(
        device.record, std::max(ports_.clock.now().wall, WallMs{erased_at(device.record).ms + 1}));
  }
  remembered.maintenance = on;
  begin_save(device);
  put_on_ledger(address, remembered, [this, address, on](Status kept) {
    if (stopping_) return;
    Device& now = devices_.at(address);
    if (!kept) {
      ports_.log.error(kLog, "the ledger cannot be written, trying again",
                       {{"why", kept.error().what}});
      ports_.timers.after(backoff(now), [this, address, on] {
        if (!stopping_) set_maintenance(address, on);
      });
      return;
    }
    Record next = now.record;
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
    audit(address, {audit_entry(AuditEvent::maintenance, next, on ? "begun" : "ended")});
    save(address, std::move(next), std::move(entry), [] {});
  });
}

void Conductor::stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  schedule_.stop();
  watch_.stop();
  stops_pending_ = 1;
  const auto one_done = [this] {
    if (--stops_pending_ == 0) stopped_();
  };
  for (auto& [address, device] : devices_) {
    if (device.peeking) ports_.drives.drop(address, [] {});
    if (!is_busy(device.record.stage)) continue;
    stops_pending_ += 1;
    if (device.renew_timer != 0) ports_.timers.cancel(std::exchange(device.renew_timer, 0));
    // The lock is given back last, when the record is written and the drive is closed.
    const auto left = std::make_shared<int>(2);
    const auto leave = [this, at = address, lock = device.lock, left, one_done] {
      if (--*left > 0) return;
      if (lock.token == 0) return one_done();
      ports_.store.release_lock(options_.host, at, lock, [one_done](Result<Ok> /*released*/) {
        one_done();  // an expiring lock is released too
      });
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
    if (!device.dirty_durable) {
      leave();  // its record is not to be believed as long as the ledger does not say the same
      continue;
    }
    ports_.store.save(next, device.lock, entry, [this, leave](Result<Ok> saved) {
      if (!saved) {
        ports_.log.warning(kLog, "planned stop not recorded", {{"why", saved.error().what}});
      }
      leave();
    });
  }
  one_done();
}

}  // namespace reclaim
