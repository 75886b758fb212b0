#include "cli/qualify_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "cli/doctor_checks.h"
#include "cli/order.h"
#include "cli/records.h"
#include "state/device/named_steps.h"

namespace reclaim::cli {
namespace {

constexpr std::int64_t kHeardWithinMs = 60'000;
constexpr std::int64_t kLookEveryMs = 200;
// A step that changes nothing: what counts is that steps are named, which forgets any erase that
// was begun.
constexpr std::string_view kStepInterface = "nvme";
constexpr std::string_view kStep = "check_health";

Error refuse(const PciAddress& address, std::string_view why) {
  return Error{Errc::refused, fmt::format("{} is not qualified: {}", to_string(address), why)};
}

Result<Record> record_at(Session& session, const PciAddress& address) {
  const auto records = load_records(session, session.settings().host);
  if (!records) return records.error();
  const auto found = std::find_if(records->begin(), records->end(),
                                  [&](const Record& each) { return each.address == address; });
  if (found == records->end()) return refuse(address, "its record is gone");
  return *found;
}

Status check_worker(Session& session, const PciAddress& address) {
  const auto hosts = known_hosts(session);
  if (!hosts) return hosts.error();
  const auto info = std::find_if(hosts->begin(), hosts->end(), [&](const HostInfo& each) {
    return each.host == session.settings().host;
  });
  const std::int64_t now_ms = session.clock().now().wall.ms;
  const bool alive = info != hosts->end() && !info->stopped &&
                     now_ms - info->heartbeat_at.ms <= worker_silence_max_ms(session.settings());
  if (alive) return Ok{};
  return refuse(address, "start the worker of this host: it has to know that the drive is dirty");
}

Result<Order> order_for(Session& session, const PciAddress& address) {
  OrderSaid said;
  said.steps = encode_plan({CleanStep{std::string(kStepInterface), std::string(kStep), 0, "{}"}});
  return new_order(session, session.settings().host, OrderKind::clean, to_string(address), said);
}

}  // namespace

bool is_known_to_get_dirty(const Record& record) {
  return record.stage == Stage::pending_cleaning && record.maintenance && !record.erase_begun;
}

Status tell_worker(Session& session, const PciAddress& address, const std::function<bool()>& stop) {
  auto record = record_at(session, address);
  if (!record) return std::move(record).error();
  if (is_known_to_get_dirty(*record)) return Ok{};
  if (record->stage == Stage::pending_cleaning && record->erase_begun) {
    return refuse(
        address,
        "its cleaning has begun to erase it; end its maintenance with `reclaim device set "
        "ADDRESS --maintenance off`, and qualify it after that cleaning");
  }
  if (auto alive = check_worker(session, address); !alive) return alive;
  const auto order = order_for(session, address);
  if (!order) return order.error();
  const auto store = session.store();
  if (!store) return store.error();
  const std::string& host = session.settings().host;
  const auto pushed =
      session.wait<Ok>([&](auto done) { (*store)->push_order(host, *order, std::move(done)); });
  if (!pushed) return pushed.error();
  for (std::int64_t waited_ms = 0; waited_ms < kHeardWithinMs; waited_ms += kLookEveryMs) {
    if (stop()) return Error{Errc::cancelled, "interrupted"};
    const auto answer = session.wait<std::optional<std::string>>(
        [&](auto done) { (*store)->read_order_answer(host, order->request_id, std::move(done)); });
    if (answer && *answer && !(*answer)->empty()) {
      return refuse(address, "its worker does not take it for dirty: " + **answer);
    }
    record = record_at(session, address);
    if (record && is_known_to_get_dirty(*record)) return Ok{};
    session.run_until([] { return false; }, kLookEveryMs);
  }
  return refuse(address,
                fmt::format("its worker has not acted on the order {} within {} s: look at "
                            "its log, it has to know that the drive is dirty",
                            order->request_id, kHeardWithinMs / 1000));
}

}  // namespace reclaim::cli
