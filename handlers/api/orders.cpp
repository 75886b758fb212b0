#include "handlers/api/orders.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "handlers/accepted_drive.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/hold.h"
#include "state/device/machine.h"
#include "state/device/named_steps.h"

namespace reclaim::api {
namespace {

constexpr int kAccepted = 202;
constexpr int kAsCyborgs = 200;
constexpr std::size_t kBodyBytesMax = 65'536;
constexpr const char* kReason = "reason";
constexpr const char* kAs = "as";

constexpr OrderCall kCalls[] = {
    {Resource::clean, OrderKind::clean, "cyborg:device:clean", kVersionDeviceState, kAccepted},
    {Resource::unhold, OrderKind::unhold, "cyborg:device:unhold", kVersionDeviceState, kAccepted},
    {Resource::disown, OrderKind::disown, "cyborg:device:disown", kVersionCleaning, kAccepted},
    {Resource::retire, OrderKind::retire, "cyborg:device:retire", kVersionRetire, kAccepted},
    {Resource::abort, OrderKind::abort, "cyborg:device:abort", kVersionCleaning, kAccepted},
    {Resource::enrol, OrderKind::enrol, "cyborg:device:enrol", kVersionCleaning, kAccepted},
    {Resource::enable, OrderKind::maintenance_off, "cyborg:device:enable", kVersionStatus,
     kAsCyborgs},
    {Resource::disable, OrderKind::maintenance_on, "cyborg:device:disable", kVersionStatus,
     kAsCyborgs},
};

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// An empty object is what some clients send for no arguments.
bool says_nothing(std::string_view body) {
  if (blank(body)) return true;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const std::size_t last = body.find_last_not_of(" \t\r\n");
  return body[first] == '{' && body[last] == '}' && first < last &&
         blank(body.substr(first + 1, last - first - 1));
}

// The serial that an enrolment's body names; empty: none.
Result<std::string> serial_of(std::string_view body) {
  if (says_nothing(body)) return std::string();
  const auto parsed = json::parse(body, kBodyBytesMax);
  if (!parsed) return parsed.error();
  if (!parsed->IsObject()) return Error{Errc::invalid, "it is not an object"};
  for (const auto& member : parsed->GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    if (name != "serial" || parsed->MemberCount() > 1) {
      return Error{Errc::invalid, fmt::format("member '{}' is not accepted, or not a second time",
                                              printable_excerpt(name, 40))};
    }
  }
  auto serial = json::get_string(*parsed, "serial");
  if (!serial) return serial;
  if (is_drive_serial(*serial)) return serial;
  return Error{Errc::invalid, "'serial' is not a text of 1 to 20 printable characters of ASCII"};
}

// Takes what becomes of a drive that is retired.
Status take_purpose(const rapidjson::Document& body, Order& order) {
  const std::string purpose = json::maybe_string(body, kAs).value_or("");
  const bool known =
      std::find(kRetirePurposes.begin(), kRetirePurposes.end(), purpose) != kRetirePurposes.end();
  if (!known) {
    return Error{Errc::invalid,
                 fmt::format("retire takes {{\"as\": WORD}} beside its reason, one of {}",
                             fmt::join(kRetirePurposes, ", "))};
  }
  order.purpose = purpose;
  return Ok{};
}

// Takes the reason of `disown` and `retire`.
Status take_reason(std::string_view body, bool retires, Order& order) {
  const Error wanted{Errc::invalid,
                     fmt::format("{} takes {{\"reason\": TEXT}}, a text of 1 to {} bytes, and "
                                 "nothing else{}",
                                 retires ? "retire" : "disown", kOrderWordBytesMax,
                                 retires ? R"( but {"as": WORD})" : "")};
  const auto document = parse_shallow(body, kNamedStepsBytesMax);
  if (!document) return blank(body) ? wanted : document.error();
  if (!document->IsObject()) return wanted;
  std::set<std::string_view> seen;
  for (const auto& member : document->GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    const bool known = name == kReason || (retires && name == kAs);
    if (known && seen.insert(name).second) continue;
    return Error{Errc::invalid, fmt::format("member '{}' is not accepted, or not a second time: {}",
                                            printable_excerpt(name, 40), wanted.what)};
  }
  auto reason = json::maybe_string(*document, kReason);
  if (!reason || blank(*reason) || reason->size() > kOrderWordBytesMax) return wanted;
  order.reason = *std::move(reason);
  return retires ? take_purpose(*document, order) : Status(Ok{});
}

// The clean steps that an operator names, as the order has them. What a device does not have is not
// asked of one that takes no cleaning at all.
Result<std::string> steps_of(std::string_view body, const Record& record) {
  if (says_nothing(body)) return std::string();
  const auto steps = parse_named_steps(body);
  if (!steps) return steps.error();
  if (record.cleanable()) {
    if (Status known = check_named_steps(*steps, record.steps_offered); !known) {
      return known.error();
    }
  }
  return encode_plan(*steps);
}

std::string named(const Record& record) {
  return fmt::format("The device at {} of host {}", to_string(record.address), record.host);
}

std::optional<Fault> why_not_abort(const Record& record) {
  if (is_busy(record.stage) || record.stage == Stage::pending_cleaning) return std::nullopt;
  return Fault{409, fmt::format("{} is {}; there is no cleaning to abort, and nothing to do",
                                named(record), to_string(device_state(record.stage)))};
}

std::optional<Fault> why_held(const Record& record) {
  if (!record.held) return std::nullopt;
  return Fault{409, fmt::format("{} is held by an operator; un-reserve it first", named(record))};
}

std::optional<Fault> why_not_enrol(const Record& record) {
  if (!record.cleanable()) return why_not_of_its_type(record);
  if (find_row(record.stage, Trigger::operator_enrol) == nullptr) {
    return Fault{409, fmt::format("{} is {}; a drive is enrolled while it is available, waits to "
                                  "be cleaned or is in error",
                                  named(record), to_string(device_state(record.stage)))};
  }
  return why_held(record);
}

// Cyborg alone switches on what Cyborg has switched off.
std::optional<Fault> why_not_enable(const Record& record) {
  if (record.maintenance || record.cyborg_status != "maintaining") return std::nullopt;
  return Fault{409, fmt::format("{} is in no maintenance of Reclaim's; Cyborg's own status of it "
                                "is maintaining: enable it by Cyborg's API",
                                named(record))};
}

std::optional<Fault> why_not_disown(const Record& record) {
  if (!record.cleanable()) {
    return Fault{400, fmt::format("{} is of type {}, and not Reclaim's: there is nothing to let go",
                                  named(record), record.type)};
  }
  if (is_busy(record.stage)) {
    return Fault{409, fmt::format("{} is cleaning: abort it, then ask again", named(record))};
  }
  if (record.steps_offered.empty()) return std::nullopt;
  return Fault{409, fmt::format("{} is matched by a device_spec entry: remove the entry, reload "
                                "the worker of its host, then ask again",
                                named(record))};
}

std::optional<Fault> why_not_retire(const Record& record) {
  if (!record.is_drive()) return why_not_of_its_type(record);
  if (find_row(record.stage, Trigger::operator_retire) == nullptr) {
    return Fault{409, fmt::format("{} is {}; a drive is retired while it is available, waits to be "
                                  "cleaned or is in error",
                                  named(record), to_string(device_state(record.stage)))};
  }
  // One in maintenance may be reserved by its worker.
  return record.maintenance ? std::nullopt : why_held(record);
}

std::optional<Fault> why_state_forbids(OrderKind kind, const Record& record) {
  if (!record.damage.empty()) {
    return Fault{409, fmt::format("{}: {}", named(record), record.damage)};
  }
  if (kind == OrderKind::abort) return why_not_abort(record);
  if (kind == OrderKind::enrol) return why_not_enrol(record);
  if (kind == OrderKind::disown) return why_not_disown(record);
  if (kind == OrderKind::retire) return why_not_retire(record);
  if (kind == OrderKind::maintenance_off) return why_not_enable(record);
  return std::nullopt;
}

}  // namespace

const OrderCall* order_call(Resource resource) {
  for (const OrderCall& call : kCalls) {
    if (call.resource == resource) return &call;
  }
  return nullptr;
}

bool names_steps(std::string_view body) {
  return !says_nothing(body);
}

std::optional<Fault> read_body(const OrderCall& call, std::string_view body, const Record& record,
                               Order& order) {
  if (call.kind == OrderKind::unhold) order.hold = hold_id(record);
  if (call.kind == OrderKind::disown || call.kind == OrderKind::retire) {
    const Status taken = take_reason(body, call.kind == OrderKind::retire, order);
    if (!taken) return Fault{400, taken.error().what};
  } else if (call.kind == OrderKind::clean) {
    auto steps = steps_of(body, record);
    if (!steps) return Fault{400, steps.error().what};
    order.steps = *std::move(steps);
  } else if (call.kind == OrderKind::enrol) {
    auto serial = serial_of(body);
    if (!serial) {
      return Fault{400, fmt::format("enrol: {}; accepted is no body, or {{\"serial\": \"...\"}}",
                                    serial.error().what)};
    }
    order.serial = *std::move(serial);
  } else if (!says_nothing(body)) {
    return Fault{400, fmt::format("{} takes no arguments: send no body, or {{}}",
                                  order_name(call.resource))};
  }
  return std::nullopt;
}

bool overrides_an_operator(const Order& order, const Record& record) {
  return kind_of(order) == OrderKind::clean &&
         (record.stage == Stage::error || record.held || record.maintenance);
}

bool is_an_operators(const Order& order, const Record& record) {
  const auto kind = kind_of(order);
  return accepts_something(order) || overrides_an_operator(order, record) ||
         kind == OrderKind::abort || kind == OrderKind::maintenance_on ||
         kind == OrderKind::maintenance_off;
}

std::string names_of_steps(const Order& order) {
  const auto plan = decode_plan(order.steps);
  if (order.steps.empty() || !plan) return {};
  std::string names;
  for (const CleanStep& step : *plan) names += (names.empty() ? "" : ",") + name_of(step);
  return names;
}

std::optional<Fault> why_not_order(const OrderCall& call, const Order& order,
                                   const Fleet::Found& found, WallMs now,
                                   std::int64_t heartbeat_max_ms) {
  if (call.kind == OrderKind::clean) {
    return why_not_clean(found, now, heartbeat_max_ms, !order.steps.empty());
  }
  if (call.kind == OrderKind::unhold) return why_not_unhold(found, now, heartbeat_max_ms);
  if (auto fault = why_state_forbids(call.kind, found.record)) return fault;
  return why_no_worker(found, now, heartbeat_max_ms);
}

std::optional<Fault> name_drive(const Record& record, Order& order) {
  if (record.by_steps && !order.serial.empty()) {
    return Fault{400, fmt::format("{} is no drive and tells no serial to compare: enrol it without "
                                  "one",
                                  named(record))};
  }
  const auto drive = drive_to_accept(record, order.serial, R"({"serial": "..."})");
  if (!drive) return Fault{400, drive.error().what};
  order.serial = drive->serial;
  order.hardware = drive->hardware;
  return std::nullopt;
}

}  // namespace reclaim::api
