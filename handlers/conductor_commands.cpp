// What the conductor is told: an operator's commands, and the planned stop.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "handlers/audit_trail.h"
#include "handlers/conductor.h"
#include "handlers/device_kind.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";
constexpr std::int64_t kCommandAgeMaxMs = 600'000;
constexpr std::int64_t kSoonMs = 200;  // the survey that shows what a command did

// A stream's id begins with the time it was written, in milliseconds since 1970; 0: it does not.
std::int64_t written_at_ms(const std::string& id) {
  const std::size_t dash = id.find('-');
  std::int64_t ms = 0;
  if (dash == std::string::npos) return 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + dash, ms);
  return error == std::errc{} && end == id.data() + dash ? ms : 0;
}

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
  const bool old = written > 0 && ports_.clock.now().wall.ms - written > kCommandAgeMaxMs;
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

void Conductor::command(const Kick& kick) {
  // What an operator wanted yesterday of the drive that was there then is no order for today.
  const std::int64_t written = written_at_ms(kick.id);
  if (written > 0 && ports_.clock.now().wall.ms - written > kCommandAgeMaxMs) {
    ports_.log.warning(kLog, fmt::format("command {} for {} is older than {} s: not carried out",
                                         kick.command, kick.address, kCommandAgeMaxMs / 1000));
    return;
  }
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
  if (device->quarantined) {
    ports_.log.warning(kLog, fmt::format("command {} for {}: {}", kick.command, kick.address,
                                         device->record.last_error));
    return;
  }
  if (kick.command == "clean") {
    // One in the pool is clean, unless nobody can tell why it is reserved.
    if (device->record.stage == Stage::available && !device->unsure) {
      ports_.log.warning(kLog, fmt::format("command clean for {}: it is available, and nothing "
                                           "says that it is not clean",
                                           kick.address));
      return;
    }
    // While an instance has it, an ARQ that is let go would be missed when that is gone.
    const Stage stage = device->record.stage;
    const bool by_arq_only = stage == Stage::allocated && device->sighting &&
                             device->sighting->view && device->sighting->view->free();
    if ((by_arq_only || stage == Stage::error || stage == Stage::pending_cleaning) &&
        arqs_.let_go(*address, device->record.provider)) {
      ports_.log.warning(
          kLog, fmt::format("{}: an operator says that no ARQ binds it any more", kick.address));
      save_arqs();
    }
    post(*address, Event{Trigger::operator_clean, 0, std::move(facts)});
  } else if (kick.command == "abort") {
    post(*address, Event{Trigger::operator_abort, 0, std::move(facts)});
  } else if (kick.command == "enrol") {
    if (!enrol(*device, std::move(facts))) return;
  } else if (kick.command == "maintenance_on" || kick.command == "maintenance_off") {
    device->maintenance_wanted = kick.command == "maintenance_on";
    if (is_busy(device->record.stage)) {
      ports_.log.warning(kLog, fmt::format("{} is being cleaned: {} when that is over; abort it if "
                                           "it must not go on",
                                           kick.address, kick.command));
    }
    pump(*address);
  } else {
    ports_.log.warning(kLog,
                       fmt::format("command '{}' is unknown", printable_excerpt(kick.command, 40)));
  }
  want_survey(kSoonMs);
}

// Nothing is forgotten before it is known that the word means something here. False: refused.
bool Conductor::enrol(Device& device, Facts facts) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  std::string why;
  if (!device.record.cleanable()) {
    why = std::string(kNotListed);
  } else if (stage == Stage::allocated) {
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
    return false;
  }
  facts.serial = stands_unopened(device) ? std::string() : device.seen_serial;
  if (stage == Stage::available) {
    enrol_from_pool(address, std::move(facts));
  } else {
    post(address, Event{Trigger::operator_enrol, 0, std::move(facts)});
  }
  return true;
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
  const auto id = [](const std::string& hex) {
    return static_cast<std::uint16_t>(std::strtoul(hex.c_str(), nullptr, 16));
  };
  const auto policy = policies_.device_policy(id(device.record.vendor_id),
                                              id(device.record.product_id), device.record.address);
  return policy && !as_bound(*policy, device.record).managed;
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
  stops_pending_ = 1;
  const auto one_done = [this] {
    if (--stops_pending_ == 0) stopped_();
  };
  for (auto& [address, device] : devices_) {
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
