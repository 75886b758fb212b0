#include "handlers/conductor/device_orders.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/admission.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/host_pause.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/named_plan.h"
#include "state/device/named_steps.h"

namespace reclaim {
namespace {

constexpr std::int64_t kCleanupAgeMaxMs = 600'000;
constexpr std::int64_t kUnprovenMaintenanceMs = 86'400'000;
// Each waiting event is carried out by itself, and recorded: more than an operator gives is a
// flood.
constexpr std::size_t kEventsWaitingMax = 8;
constexpr std::string_view kUnreserve = "an operator holds it; un-reserve it first";
constexpr std::string_view kIsWritten =
    "its record is being written to Redis: issue it again in a moment";
constexpr std::string_view kEndMaintenance =
    "it is in maintenance, which keeps it reserved; end that first: reclaim device set ADDRESS "
    "--maintenance off";

}  // namespace

void DeviceOrders::cleanup_device(const Kick& kick) {
  const auto address = parse_pci_address(kick.address);
  const auto found = address ? context_.devices.find(*address) : context_.devices.end();
  if (found == context_.devices.end() || found->second.quarantined ||
      found->second.record.flow != Flow::cyborg) {
    return;
  }
  const Record& record = found->second.record;
  if (record.stage != Stage::available && record.stage != Stage::error) return;
  const std::string why = why_not_cleaned_up(record, kick);
  if (!is_repeated(record, kick)) cleanups_asked_[*address] = kick.sent_at;
  if (!why.empty()) {
    return context_.ports.log.warning(log_name::kConductor,
                                      fmt::format("cleanup_device for {}: {}", kick.address, why),
                                      {{"request_id", kick.request_id}});
  }
  if (record.stage == Stage::available) return clean_what_was_bound(*address);
  Facts facts;
  facts.detail = "Cyborg's cleanup_device";
  facts.request_id = "";  // no order of ours leads here, and whoever casts chooses his
  facts.by_cyborg = true;
  context_.post(*address, Event{Trigger::operator_clean, 0, std::move(facts)});
}

// Other hosts' logins can read a kick and add it again. Where the clock was set back since the last
// one, all are older.
bool DeviceOrders::is_repeated(const Record& record, const Kick& kick) const {
  const auto last = cleanups_asked_.find(record.address);
  return last != cleanups_asked_.end() && kick.sent_at <= last->second &&
         last->second <= context_.ports.clock.now().wall;
}

std::string DeviceOrders::why_not_cleaned_up(const Record& record, const Kick& kick) const {
  if (!context_.options.hears_cleanups) {
    return "nobody here listens for it ([cyborg] listen_rpc, [agent_door]); it is left as it is";
  }
  const std::int64_t age_ms = context_.ports.clock.now().wall.ms - kick.sent_at.ms;
  // The unbind's own word, heard again after a crash, knows nothing of the error that came since.
  if (age_ms > kCleanupAgeMaxMs || kick.sent_at < record.stage_since) {
    return fmt::format("asked before the device became {}, or too long ago; it stays so",
                       to_string(device_state(record.stage)));
  }
  if (is_repeated(record, kick)) return "it is not newer than the last one: somebody repeats it";
  if (record.maintenance) return std::string(kEndMaintenance);
  const LedgerEntry* line = context_.on_ledger(record.address);
  if (record.stage == Stage::error && line != nullptr && line->aborted) {
    return "an operator has aborted its cleaning, which Cyborg does not override: `reclaim device "
           "clean` it";
  }
  return {};
}

// Marks a burned device dirty whose cleaning Cyborg asks for. Where Cyborg reserves at the bind and
// un-reserves by itself, it had a tenant, though no survey saw one.
void DeviceOrders::clean_what_was_bound(const PciAddress& address) {
  const auto& sighting = admissions_.sighting(address);
  const bool burned = sighting && sighting->view && sighting->view->is_device() &&
                      sighting->view->burned() && sighting->view->free();
  if (context_.options.cyborg_owner != CyborgOwner::agent || !burned) return;
  Facts facts;
  facts.detail = "Cyborg's cleanup_device: a tenancy ended that was not seen";
  facts.last_free = assessor_.last_free(context_.record_of(address));
  context_.post(address, Event{Trigger::dirty_seen, 0, std::move(facts)});
}

std::string DeviceOrders::why_refused(const Order& order) const {
  const auto address = parse_pci_address(order.address);
  const auto device = address ? context_.devices.find(*address) : context_.devices.end();
  if (device == context_.devices.end()) {
    return "no such device on this host: `reclaim device list` shows which there are";
  }
  if (device->second.quarantined) return device->second.record.last_error;
  if (!accepts_something(order) && device->second.inbox.size() >= kEventsWaitingMax) {
    return "too many orders wait for it already; issue it again when they are carried out";
  }
  // An approval is of what stands at a hold when it is given, not of what comes to one later.
  if (kind_of(order) == OrderKind::unhold) return own_.why_not_held(*address, order);
  if (kind_of(order) == OrderKind::pause) {
    return why_no_pause(order, context_.ports.clock.now().wall);
  }
  const bool lets_go = kind_of(order) == OrderKind::disown || kind_of(order) == OrderKind::retire;
  if (lets_go && order.reason.empty()) {
    return "it gives no reason: issue it again with --reason TEXT";
  }
  return kind_of(order) == OrderKind::disown ? disowning_.why_not(*address) : std::string();
}

bool DeviceOrders::waits_for_survey(const Order& order, const PciAddress& address) const {
  const auto kind = kind_of(order);
  // An order that stops something at once waits for nothing.
  if (kind == OrderKind::pause || kind == OrderKind::resume) return false;
  if (kind != OrderKind::abort && looks_.is_owed(address)) return true;
  const bool is_of_the_drive = kind == OrderKind::clean || kind == OrderKind::enrol ||
                               kind == OrderKind::disown || kind == OrderKind::retire;
  if (!is_of_the_drive) return false;
  const auto found = context_.devices.find(address);
  if (found == context_.devices.end()) return !context_.survey.gone_through;
  const Device& device = found->second;
  const Stage stage = device.record.stage;
  const bool asks = stage == Stage::available || (kind != OrderKind::clean && !is_busy(stage));
  const bool lets_go = kind == OrderKind::disown || kind == OrderKind::retire;
  const bool is_written = lets_go && device.saving && !is_busy(stage);
  return (!assessor_.is_surveyed(address) && !device.quarantined && asks) || is_written;
}

void DeviceOrders::carry_out(const Order& order, bool is_proven, const PciAddress& address,
                             const Done& done) {
  const Device& device = context_.devices.at(address);
  Facts facts;
  facts.detail = is_proven ? "operator " + printable_excerpt(order.who, kOrderWordBytesMax)
                           : "said to be by " + quoted_excerpt(order.who, kOrderWordBytesMax);
  facts.by_proven_order = is_proven;
  // The certificate names it: nobody whom nothing proves chooses a text there, or another's id.
  facts.request_id = is_proven && is_request_id(order.request_id) ? order.request_id : "";
  const auto kind = kind_of(order);
  if (!kind) {
    return done(
        fmt::format("'{}' is not an order this version knows", printable_excerpt(order.order, 40)));
  }
  switch (*kind) {
    case OrderKind::clean:
      return order.steps.empty() ? done(clean(device, order.issued_at, std::move(facts)))
                                 : clean_by_hand(device, order, std::move(facts), done);
    case OrderKind::abort:
      if (std::string why = own_.why_not_abortable(address); !why.empty()) return done(why);
      context_.post(address, Event{Trigger::operator_abort, 0, std::move(facts)});
      return done("");
    case OrderKind::enrol:
      return enrol(device, order, std::move(facts), done);
    case OrderKind::unhold:
      return done(own_.approve(address, order, printable_excerpt(order.who, kOrderWordBytesMax)));
    case OrderKind::disown:
      return disowning_.begin(
          address,
          fmt::format("{}: {}", facts.detail, quoted_excerpt(order.reason, kOrderWordBytesMax)),
          [done] { done(""); });
    case OrderKind::retire:
      return retire(device, order, std::move(facts), done);
    case OrderKind::pause:
      return pause_host(
          address, order.until,
          fmt::format("{}: {}", facts.detail, quoted_excerpt(order.reason, kOrderWordBytesMax)),
          done);
    case OrderKind::resume:
      return resume_host(facts.detail, done);
    case OrderKind::maintenance_on:
    case OrderKind::maintenance_off:
      order_maintenance(address, {*kind == OrderKind::maintenance_on, {}, facts.detail, is_proven});
  }
  if (is_busy(device.record.stage)) {
    context_.ports.log.warning(log_name::kConductor,
                               fmt::format("{} is being cleaned: {} when that is over; abort it if "
                                           "it must not go on",
                                           order.address, order.order));
  }
  inbox_.pump(address);
  done("");
}

// Empty, or why an order of that time does not count. The operator who issued it knew nothing of
// the error, which may be an operator's abort, or of the reservation, which may be an operator's
// hold.
std::string DeviceOrders::why_outdated(const Device& device, WallMs issued_at) const {
  const Record& record = device.record;
  const WallMs now = context_.ports.clock.now().wall;  // it may have been set back since
  const auto is_before = [&](WallMs since) { return issued_at < since && since <= now; };
  if (record.stage == Stage::error && is_before(record.stage_since)) {
    return "it came into error after the order was issued, or the clocks differ: look why, and "
           "issue it again";
  }
  if (record.stage == Stage::available && assessor_.is_unsure(record.address) &&
      is_before(assessor_.last_free(record))) {
    return "it was reserved after the order was issued, or the clocks differ: look why, and issue "
           "it again";
  }
  return {};
}

// Empty, or why not.
std::string DeviceOrders::clean(const Device& device, WallMs issued_at, Facts facts) {
  const PciAddress address = device.record.address;
  if (std::string why = why_outdated(device, issued_at); !why.empty()) return why;
  const bool at_rest = device.record.stage == Stage::available;
  if (at_rest && !device.record.cleanable()) return std::string(kNotListed);
  // One in the pool is clean, unless nobody can tell why it is reserved.
  if (at_rest && !assessor_.is_unsure(address)) {
    return "it is available, and nothing says that it is not clean";
  }
  if (at_rest) facts.last_free = assessor_.last_free(device.record);
  // While an instance has it, an ARQ that is let go would be missed when that is gone.
  const Stage stage = device.record.stage;
  const auto& sighting = admissions_.sighting(address);
  const bool by_arq_only =
      stage == Stage::allocated && sighting && sighting->view && sighting->view->free();
  if (by_arq_only || stage == Stage::error || stage == Stage::pending_cleaning) {
    let_arq_go(device.record);
  }
  context_.post(address, Event{Trigger::operator_clean, 0, std::move(facts)});
  return {};
}

void DeviceOrders::let_arq_go(const Record& record) {
  if (!book_.let_go(record.address, record.provider)) return;
  context_.ports.log.warning(
      log_name::kConductor,
      fmt::format("{}: an operator says that no ARQ binds it any more", to_string(record.address)));
  arqs_.save();
}

// Cleans with steps that are named, which is also for a device in the pool: that is reserved first.
void DeviceOrders::clean_by_hand(const Device& device, const Order& order, Facts facts,
                                 const Done& done) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  const auto policy = policy_of(context_.policies, device.record);
  if (!device.record.cleanable() || !policy) return done(std::string(kNotListed));
  if (device.saving && !is_busy(stage)) return done(std::string(kIsWritten));
  if (find_row(stage, Trigger::operator_steps) == nullptr) {
    return done(
        fmt::format("it is {}: steps are named for a device that is available, in error, or "
                    "that waits for an operator to start its cleaning",
                    to_string(device_state(stage))));
  }
  if (stage == Stage::pending_cleaning && device.record.clean_start != CleanStart::awaited) {
    return done("it is going to be cleaned without further orders");
  }
  if (is_held_by_others(device) && !assessor_.is_unsure(address)) {
    return done(std::string(kUnreserve));
  }
  if (const std::string why = why_outdated(device, order.issued_at); !why.empty()) {
    return done(why);
  }
  auto steps = decode_plan(order.steps);
  if (!steps) return done(steps.error().what);
  if (steps->empty() || steps->size() > kNamedStepsMax) {
    return done(fmt::format("it names {} clean steps; 1 to {} are accepted", steps->size(),
                            kNamedStepsMax));
  }
  const auto part = named_part(*steps, *policy, context_.options, device.record.by_steps);
  if (!part) return done(part.error().what);
  facts.steps_ordered = *std::move(steps);
  const Event event{Trigger::operator_steps, 0, std::move(facts)};
  if (stage == Stage::available && !assessor_.is_unsure(address)) {
    return from_pool(address, event, is_kept_by_us(device), done,
                     [](const std::string& /*why*/) {});
  }
  if (stage != Stage::available) let_arq_go(device.record);
  context_.post(address, event);
  done("");
}

// True if this worker itself reserved it for its maintenance, as long as that lasts: it is known to
// be dirty from then on, and cleaned when the maintenance is over.
bool DeviceOrders::is_kept_by_us(const Device& device) const {
  const LedgerEntry* line = context_.on_ledger(device.record.address);
  return device.record.maintenance && line != nullptr && line->taken_out;
}

bool DeviceOrders::is_held_by_others(const Device& device) const {
  return device.record.held && !is_kept_by_us(device);
}

// A hold stands, also one that only looks like one: `clean` first says that it is none.
// The ledger has it before the record does (LedgerGate): what Redis loses releases nothing.
void DeviceOrders::retire(const Device& device, const Order& order, Facts facts, const Done& done) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  if (!device.record.is_drive() || !policy_of(context_.policies, device.record)) {
    return done("only a drive that a device_spec entry matches is retired: it is to be erased");
  }
  if (find_row(stage, Trigger::operator_retire) == nullptr) {
    return done(fmt::format("it is {}: retire it when {}", to_string(device_state(stage)),
                            stage == Stage::allocated ? "the instance that has it is deleted"
                                                      : "its cleaning is over, or abort that"));
  }
  if (std::find(kRetirePurposes.begin(), kRetirePurposes.end(), order.purpose) ==
      kRetirePurposes.end()) {
    return done(
        fmt::format("it does not say what becomes of the drive: issue it again with --as {}",
                    fmt::join(kRetirePurposes, "|")));
  }
  if (is_held_by_others(device)) return done(std::string(kUnreserve));
  if (device.saving) return done(std::string(kIsWritten));
  facts.retired =
      fmt::format("{}: {}", order.purpose, quoted_excerpt(order.reason, kOrderWordBytesMax));
  const Event event{Trigger::operator_retire, 0, std::move(facts)};
  if (stage == Stage::available && !assessor_.is_unsure(address)) {
    return from_pool(address, event, is_kept_by_us(device), done,
                     [](const std::string& /*why*/) {});
  }
  context_.post(address, event);
  done("");
}

// Nothing is forgotten before it is known that the word means something here.
void DeviceOrders::enrol(const Device& device, const Order& order, Facts facts, const Done& done) {
  const PciAddress address = device.record.address;
  const Stage stage = device.record.stage;
  std::string why;
  if (stage == Stage::allocated) {
    why = "an instance has it; enrol it after the instance is deleted, before it is cleaned";
  } else if (find_row(stage, Trigger::operator_enrol) == nullptr) {
    why = "it is being cleaned; enrol it when that is over, or abort it first";
  } else if (device.record.held) {
    why = device.record.maintenance ? kEndMaintenance : kUnreserve;
  } else if (device.found.serial.empty() && !device.record.by_steps &&
             !stands_unopened(device.record)) {
    why = "no drive answers there";
  } else if (device.record.by_steps && !order.serial.empty()) {
    why = "a device that is no drive tells no serial to compare; issue it again without --serial";
  } else if (why = not_the_drive_of(order, device.found, device.record.by_steps); !why.empty()) {
    audit(address, AuditEvent::enrol_refused, fmt::format("{}: {}", facts.detail, why),
          facts.by_proven_order);
  }
  if (!why.empty()) {
    refuse_enrolment(address, why);
    return done(why);
  }
  if (device.saving) return done(std::string(kIsWritten));
  facts.serial = order.serial.empty() ? device.found.serial : order.serial;
  facts.hardware = device.found.hardware;
  facts.mac = "";
  facts.boot_id = context_.options.boot_id;
  const Event event{Trigger::operator_enrol, 0, std::move(facts)};
  if (stage == Stage::available) {
    return from_pool(address, event, false, done, [this, address](const std::string& why_not) {
      refuse_enrolment(address, why_not);
    });
  }
  context_.post(address, event);
  done("");
}

// Takes only what is in the pool now, as Placement says, or was taken out of it by this worker
// (`kept_by_us`): a hold that no survey has seen yet stands.
void DeviceOrders::from_pool(const PciAddress& address, const Event& event, bool kept_by_us,
                             const Done& done,
                             const std::function<void(const std::string& why)>& refused) {
  context_.ports.providers.read(
      context_.record_of(address).provider,
      [this, address, event, kept_by_us, done, refused](Result<placement::ProviderView> view) {
        if (context_.stopping) return;
        std::string why = view ? "" : view.error().what;
        const bool held = view && view->burned() && !kept_by_us;
        if (why.empty() && (!view->is_device() || !view->free() || held)) {
          why = "Placement shows it reserved or taken";
        }
        // A record that is written now may be the end of its stay in the pool.
        if (why.empty() && context_.devices.at(address).saving) why = kIsWritten;
        if (!why.empty()) {
          refused(why);
          return done(why);
        }
        // The last survey may have seen it reserved still, as which it would be admitted.
        admissions_.provider_moved(address, *view);
        context_.post(address, event);
        done("");
      });
}

void DeviceOrders::refuse_enrolment(const PciAddress& address, const std::string& reason) {
  const Device& device = context_.devices.at(address);
  const Stage stage = device.record.stage;
  const std::string why = "not enrolled: " + reason;
  context_.ports.log.warning(log_name::kConductor, fmt::format("{}: {}", to_string(address), why));
  // A record of Redis that is older than the ledger is not written again before the ledger knows.
  const bool older =
      device.record.cleanable() && stage != Stage::available && !ledger_.is_dirty_durable(address);
  if (is_busy(stage) || device.saving || older) return;
  Record next = device.record;
  // The note of a hold says why it is one, and whether that is in doubt.
  if (!next.held || next.waiting_for.empty()) next.waiting_for = why;
  writer_.save_note(next, "enrol_refused", "an operator asked for it", why, IfUnsaved::given_up);
}

// An unmanaged drive does not say its serial before it is claimed; the claim compares what the
// operator accepted (is_the_accepted_one).
bool DeviceOrders::stands_unopened(const Record& record) const {
  const auto policy = policy_of(context_.policies, record);
  return policy && !policy->managed;
}

void DeviceOrders::order_maintenance(const PciAddress& address, Maintenance wanted) {
  if (wanted.on && !wanted.is_proven) {
    wanted.until.ms = context_.ports.clock.now().wall.ms + kUnprovenMaintenanceMs;
    begun_here_.insert(address);
  }
  const auto before = maintenance_wanted_.find(address);
  if (before != maintenance_wanted_.end()) {
    audit(address, AuditEvent::maintenance,
          fmt::format("ordered to {}, and overruled by another order before it did: {}",
                      before->second.on ? "begin" : "end", before->second.by),
          before->second.is_proven);
  }
  maintenance_wanted_[address] = std::move(wanted);
}

void DeviceOrders::audit(const PciAddress& address, AuditEvent event, std::string detail,
                         bool is_proven) {
  AuditEntry entry = audit_entry(event, context_.record_of(address), std::move(detail));
  entry.at = context_.ports.clock.now().wall;
  audits_.keep(address, {entry}, is_proven);
}

void DeviceOrders::settle_maintenance(const PciAddress& address) {
  const Device& device = context_.devices.at(address);
  const auto wanted = maintenance_wanted_.find(address);
  if (wanted == maintenance_wanted_.end() || device.quarantined) return;
  if (is_busy(device.record.stage)) return;
  set_maintenance(address, maintenance_wanted_.extract(wanted).mapped());
}

// Ends maintenance whose order was not authenticated: whoever may write orders could keep drives
// out of the pool for good.
void DeviceOrders::end_unproven_maintenance() {
  const std::int64_t now = context_.ports.clock.now().wall.ms;
  for (const auto& [address, device] : context_.devices) {
    const LedgerEntry* line = context_.on_ledger(address);
    if (line == nullptr || !line->maintenance || line->maintenance_until.ms == 0) continue;
    const bool is_over = !begun_here_.contains(address) || now >= line->maintenance_until.ms;
    if (!is_over || maintenance_wanted_.contains(address)) continue;
    maintenance_wanted_[address] = {
        false,
        {},
        "its order was not authenticated: it lasts a day, or until the worker is started",
        false};
    inbox_.pump(address);
  }
}

// Notes the pause in the ledger: it outlasts this worker, and admission looks there.
void DeviceOrders::pause_host(const PciAddress& address, WallMs until, const std::string& by,
                              const Done& done) {
  const LedgerEntry* line = context_.on_ledger(address);
  LedgerEntry entry = line != nullptr ? *line : LedgerEntry{};
  entry.paused_until = until;
  entry.paused_by = by;
  context_.ports.log.warning(log_name::kConductor,
                             fmt::format("no cleaning begins until {}", to_iso8601_seconds(until)),
                             {{"by", by}});
  ledger_.put(address, entry, context_.stopping.unless_begun([done](const Status& kept) {
    done(kept ? "" : kept.error().what);
  }));
}

// Ends the pause on every line, also of a device that is gone.
void DeviceOrders::resume_host(const std::string& by, const Done& done) {
  const std::map<PciAddress, LedgerEntry> lines = context_.ports.ledger.entries();
  context_.ports.log.warning(log_name::kConductor, "cleanings begin again", {{"by", by}});
  auto left = std::make_shared<std::size_t>(1);
  auto why = std::make_shared<std::string>();
  const auto one_done = [left, why, done](const Status& kept) {
    if (!kept) *why = kept.error().what;
    if (--*left == 0) done(*why);
  };
  for (const auto& [address, line] : lines) {
    if (line.paused_until.ms == 0) continue;
    LedgerEntry entry = line;
    entry.paused_until = {};
    entry.paused_by.clear();
    *left += 1;
    context_.ports.ledger.put(address, entry, context_.stopping.unless_begun(one_done));
  }
  one_done(Ok{});
}

// The ledger first: what is there survives Redis, and admission looks there too.
void DeviceOrders::set_maintenance(const PciAddress& address, const Maintenance& wanted) {
  const Device& device = context_.devices.at(address);
  const auto& entries = context_.ports.ledger.entries();
  LedgerEntry remembered = entries.contains(address) ? entries.at(address) : LedgerEntry{};
  // A record of Redis that is older than the ledger is not written again before the ledger knows.
  if (device.record.cleanable() && device.record.stage != Stage::available &&
      !ledger_.is_dirty_durable(address)) {
    remembered = ledger_.dirty_now(device.record);
  }
  // Maintenance that an operator ordered lasts, though somebody says the same again.
  const bool lasts = wanted.on && remembered.maintenance && remembered.maintenance_until.ms == 0;
  remembered.maintenance = wanted.on;
  remembered.maintenance_until = lasts ? WallMs{} : wanted.until;
  writer_.hold(address);
  ledger_.put(address, remembered, [this, address, wanted](Status kept) {
    if (context_.stopping) return;
    if (!kept) {
      context_.ports.log.error(log_name::kConductor, "the ledger cannot be written, trying again",
                               {{"why", kept.error().what}});
      context_.ports.timers.after(context_.backoff(address), [this, address, wanted] {
        if (!context_.stopping) set_maintenance(address, wanted);
      });
      return;
    }
    Record next = context_.record_of(address);
    next.maintenance = wanted.on;
    const bool rests = next.stage == Stage::available && next.held && next.waiting_for.empty();
    if (!wanted.on && rests) next.waiting_for = kMaintenanceOver;
    next.updated_at = context_.ports.clock.now().wall;
    audit(address, AuditEvent::maintenance, (wanted.on ? "begun: " : "ended: ") + wanted.by,
          wanted.is_proven);
    writer_.save_note(next, wanted.on ? "maintenance_on" : "maintenance_off", "it was ordered",
                      wanted.by, IfUnsaved::try_again);
    // A free device is reserved, or given back, by what the survey sees.
    context_.want_survey(0);
  });
}

}  // namespace reclaim
