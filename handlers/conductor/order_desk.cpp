#include "handlers/conductor/order_desk.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/accepted_drive.h"

namespace reclaim {
namespace {

constexpr std::int64_t kSoonMs = 200;  // the survey that shows what a command did
// Clocks differ.
constexpr std::int64_t kIssuedAheadMaxMs = 60'000;
constexpr std::size_t kOrdersWaitingMax = 256;
constexpr std::size_t kTakenMax = 4096;
constexpr std::string_view kTakenBefore =
    "it was taken before, and a Redis that lacks that has brought it back: look at the device, "
    "then issue it again if you still mean it";
constexpr std::string_view kJudgedBefore =
    "this order, or a later one for the device, was judged before: issue it again; if that does "
    "not help, the clock of a machine that gives orders is ahead";

}  // namespace

void OrderDesk::take(const Order& order) {
  const std::string name = fmt::format("{} of {}", printable_excerpt(order.order, 40),
                                       printable_excerpt(order.address, 40));
  context_.ports.log.info(
      log_name::kConductor, fmt::format("order: {}", name),
      {{"who", printable_excerpt(order.who, kOrderWordBytesMax)},
       {"authenticated", is_proven(order) ? "true" : "false"},
       {"request_id", printable_excerpt(order.request_id, kOrderWordBytesMax)}});
  if (!has_to_be_proven(order) && was_heard(order)) return answer(order, std::string(kTakenBefore));
  judge(order);
}

// A replica that takes over may lack that an order was taken, and has it still, under its id. One
// that has to be proven is told from its copy by the ledger.
bool OrderDesk::was_heard(const Order& order) {
  const std::int64_t written = written_at_ms(order.id);
  if (written == 0) return false;
  const bool is_new = heard_.emplace(written, order.id).second;
  if (heard_.size() > kTakenMax) heard_.erase(heard_.begin());
  return !is_new;
}

void OrderDesk::judge(const Order& order, bool again) {
  const bool to_be_proven = has_to_be_proven(order);
  if (to_be_proven) {
    if (const std::string why = why_not_believed(order); !why.empty()) {
      remember_if_ahead(order);
      return answer(order, why);
    }
  }
  std::string refusal = why_not(order);
  if (refusal.empty() && has_to_wait(order)) return let_wait(order, again);
  if (refusal.empty()) refusal = devices_.why_refused(order);
  const auto address = parse_pci_address(order.address);
  if (to_be_proven && address && context_.devices.contains(*address)) {
    return use_up(*address, order, refusal);
  }
  if (!refusal.empty()) return answer(order, refusal);
  devices_.carry_out(order, proves_anew(order, *address), *address,
                     [this, order](const std::string& why) { answer(order, why); });
}

// True if the order waits behind another one for the same device, or for a survey of this run.
bool OrderDesk::has_to_wait(const Order& order) const {
  const auto address = parse_pci_address(order.address);
  if (!address) return false;
  const bool behind_another =
      accepting_.contains(*address) ||
      std::any_of(waiting_.begin(), waiting_.end(), [&](const Order& other) {
        const auto at = parse_pci_address(other.address);
        return at && *at == *address;
      });
  return behind_another || devices_.waits_for_survey(order, *address);
}

void OrderDesk::let_wait(const Order& order, bool again) {
  const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), [&order](const Order& other) {
    return other.address == order.address;
  });
  const bool asked_before = last != waiting_.rend() && last->order == order.order &&
                            last->serial == order.serial && last->hardware == order.hardware &&
                            last->steps == order.steps && last->purpose == order.purpose &&
                            last->until == order.until;
  if (asked_before) return answer(order, "the same order waits already");
  if (waiting_.size() == kOrdersWaitingMax) {
    answer(waiting_.front(), "too many orders wait; issue it again");
    waiting_.pop_front();
  }
  waiting_.push_back(order);
  // The survey that it waited for came while its record was being written, say.
  if (again) return context_.want_survey(kLookAgainMs);
  context_.ports.log.info(
      log_name::kConductor,
      fmt::format("order {} of {} waits for the next survey, or behind another",
                  printable_excerpt(order.order, 40), printable_excerpt(order.address, 40)));
  context_.want_survey(kSoonMs);
}

void OrderDesk::carry_out_waiting() {
  for (const Order& order : std::exchange(waiting_, {})) judge(order, true);
}

void OrderDesk::answer(const Order& order, const std::string& refusal) {
  if (!refusal.empty()) {
    context_.ports.log.warning(
        log_name::kConductor,
        fmt::format("order {} of {} is refused: {}", printable_excerpt(order.order, 40),
                    printable_excerpt(order.address, 40), refusal),
        {{"who", printable_excerpt(order.who, kOrderWordBytesMax)},
         {"request_id", printable_excerpt(order.request_id, kOrderWordBytesMax)}});
  } else {
    context_.want_survey(kSoonMs);
  }
  // An operator whose answer is lost sees the record move, or is told with the next start.
  context_.ports.store.answer_order(context_.options.host, order, refusal,
                                    [](Result<Ok> /*answered*/) {});
}

// A worker before this one took them, and ended before it said what became of them.
void OrderDesk::tell_left(std::function<void(Status)> next) {
  context_.ports.store.orders_left(
      context_.options.host, context_.stopping.unless_begun([this, next = std::move(next)](
                                                                Result<std::vector<Order>> left) {
        if (!left) return next(std::move(left).error().wrap("the orders taken before"));
        for (const Order& order : *left) {
          answer(order,
                 "the worker ended before it answered: look at the device, then issue it again if "
                 "it was not carried out");
        }
        next(Ok{});
      }));
}

void OrderDesk::refuse_waiting(const std::function<void()>& one_done) {
  for (const Order& order : std::exchange(waiting_, {})) {
    context_.ports.store.answer_order(
        context_.options.host, order,
        "the worker was told to stop before it was carried out; issue it again",
        [one_done](Result<Ok> /*answered*/) { one_done(); });
  }
}

// Tells what speaks against an order before its device is looked at. Empty: nothing.
std::string OrderDesk::why_not(const Order& order) const {
  const std::int64_t now = context_.ports.clock.now().wall.ms;
  const std::int64_t written = written_at_ms(order.id);
  if (written > 0 && now - written > kOrderLifeMs) {
    return fmt::format("it was issued more than {} minutes ago; issue it again",
                       kOrderLifeMs / 60'000);
  }
  if (order.who.empty()) return "it does not say who issued it: use `reclaim device`";
  const auto kind = kind_of(order);
  const bool notes_only = kind == OrderKind::maintenance_on || kind == OrderKind::maintenance_off;
  if (context_.options.observes() && !notes_only) {
    return "this worker only observes: set [reclaim] mode = serve in its configuration, restart "
           "it, and issue the order again";
  }
  const auto at = parse_pci_address(order.address);
  const auto device = at ? context_.devices.find(*at) : context_.devices.end();
  const bool by_steps = device != context_.devices.end() && device->second.record.by_steps;
  if (kind == OrderKind::enrol && !order.serial.empty() && !is_drive_serial(order.serial)) {
    return "it names no serial that a drive can have (1 to 20 printable characters of ASCII): "
           "issue it again, with --serial as printed on the drive";
  }
  if (kind == OrderKind::enrol && !names_a_drive(order.serial, order.hardware, by_steps)) {
    return "it names no drive: issue it again with this version's `reclaim device set ADDRESS "
           "--enrol`, which names the one it accepts, or with --serial as printed on the drive";
  }
  return {};
}

bool OrderDesk::is_proven(const Order& order) const {
  return context_.policies.order_fits && context_.policies.order_fits(order);
}

// One that accepts something would let a stranger's drive, or a tenant's leavings, into the pool.
bool OrderDesk::has_to_be_proven(const Order& order) const {
  return accepts_something(order) || context_.policies.orders_are_sealed;
}

// A copy that somebody puts back proves nothing of him who does. One of an order from before this
// run is known for a copy only where the ledger has that.
bool OrderDesk::proves_anew(const Order& order, const PciAddress& address) {
  if (!why_not_believed(order).empty()) return false;
  const auto [last, is_first] = proven_.try_emplace(address, order.issued_at);
  if (!is_first && order.issued_at <= last->second) return false;
  last->second = order.issued_at;
  return true;
}

// It has to be an operator's, of now, and not one that was heard before.
std::string OrderDesk::why_not_believed(const Order& order) const {
  if (!is_proven(order)) {
    return "it is not authenticated: issue it as root on the host itself, or set [security] "
           "order_key_file to the master key there, and to this host's own here";
  }
  if (refused_ahead_.contains({order.address, order.issued_at})) return std::string(kJudgedBefore);
  const WallMs now = context_.ports.clock.now().wall;
  if (now.ms - order.issued_at.ms > kOrderLifeMs) {
    return "it was not issued within the last hour by this host's clock; issue it again";
  }
  if (const std::int64_t ahead = order.issued_at.ms - now.ms; ahead > kIssuedAheadMaxMs) {
    return fmt::format(
        "it was issued {} s ahead of this host's clock: set both clocks, then issue "
        "it again",
        ahead / 1'000);
  }
  const auto at = parse_pci_address(order.address);
  const LedgerEntry* known = at ? context_.on_ledger(*at) : nullptr;
  if (known != nullptr && order.issued_at <= known->ordered_at) {
    return std::string(kJudgedBefore);
  }
  return {};
}

// It is no later order that the device has judged, and yet a copy of it must not pass when the
// clock has come to it.
void OrderDesk::remember_if_ahead(const Order& order) {
  const std::int64_t now_ms = context_.ports.clock.now().wall.ms;
  std::erase_if(refused_ahead_,
                [now_ms](const auto& each) { return now_ms - each.second.ms > kOrderLifeMs; });
  if (is_proven(order) && order.issued_at.ms - now_ms > kIssuedAheadMaxMs) {
    refused_ahead_.emplace(order.address, order.issued_at);
  }
}

// Whatever is decided: what was refused now must not be put back by somebody else, and pass later.
// The ledger first, so that the same order is not heard twice, though this worker dies meanwhile.
void OrderDesk::use_up(const PciAddress& address, const Order& order, const std::string& refusal) {
  const LedgerEntry* known = context_.on_ledger(address);
  LedgerEntry entry = known != nullptr ? *known : LedgerEntry{};
  entry.ordered_at = order.issued_at;
  accepting_.insert(address);
  const Done done = [this, address, order](const std::string& why) {
    accepting_.erase(address);
    answer(order, why);
    carry_out_waiting();
  };
  // A sick host still takes an order that lets nothing into the pool.
  const auto kind = kind_of(order);
  const bool only_stops = kind == OrderKind::abort || kind == OrderKind::maintenance_on;
  const auto decide = [this, address, order, refusal, only_stops, done](const Status& kept) {
    if (!kept) {
      context_.ports.log.error(log_name::kConductor,
                               fmt::format("order {} of {}: the ledger cannot be written",
                                           order.order, to_string(address)),
                               {{"why", kept.error().what}});
    }
    std::string why = kept || only_stops ? refusal : kept.error().what;
    if (why.empty()) why = devices_.why_refused(order);
    if (!why.empty()) return done(why);
    devices_.carry_out(order, true, address, done);
  };
  ledger_.put(address, entry, context_.stopping.unless_begun(decide));
}

}  // namespace reclaim
