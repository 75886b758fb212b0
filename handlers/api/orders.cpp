#include "handlers/api/orders.h"

#include <fmt/core.h>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/device/named_steps.h"

namespace reclaim::api {
namespace {

constexpr const char* kReason = "reason";

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// An empty object is what some clients send for no body.
bool says_nothing(std::string_view body) {
  if (blank(body)) return true;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const std::size_t last = body.find_last_not_of(" \t\r\n");
  return body[first] == '{' && body[last] == '}' && first < last &&
         blank(body.substr(first + 1, last - first - 1));
}

Fault bad_request(std::string detail) {
  return Fault{400, std::move(detail)};
}

std::string device_name(const Record& record) {
  return fmt::format("The device at {} of host {}", to_string(record.address), record.host);
}

Result<std::string> reason_of(std::string_view body) {
  const Error wanted{Errc::invalid,
                     fmt::format("disown takes {{\"reason\": TEXT}}, a text of 1 to {} bytes, and "
                                 "nothing else",
                                 kOrderWordBytesMax)};
  const auto document = parse_shallow(body, kNamedStepsBytesMax);
  if (!document) return blank(body) ? wanted : document.error();
  if (!document->IsObject()) return wanted;
  for (const auto& member : document->GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    if (name == kReason) continue;
    return Error{Errc::invalid,
                 fmt::format("Unknown member '{}': {}", printable_excerpt(name, 40), wanted.what)};
  }
  auto reason = json::maybe_string(*document, kReason);
  if (!reason || blank(*reason) || reason->size() > kOrderWordBytesMax) return wanted;
  return *std::move(reason);
}

std::optional<Fault> why_not_disown(const Fleet::Found& found, WallMs now,
                                    std::int64_t heartbeat_max_ms) {
  const Record& record = found.record;
  if (!record.damage.empty()) {
    return Fault{409, fmt::format("{}: {}", device_name(record), record.damage)};
  }
  if (!record.cleanable()) {
    return bad_request(
        fmt::format("{} is of type {}, and not Reclaim's: there is nothing to let go",
                    device_name(record), record.type));
  }
  if (is_busy(record.stage)) {
    return Fault{409, fmt::format("{} is cleaning: abort it on its host with `reclaim device "
                                  "abort`, then ask again",
                                  device_name(record))};
  }
  if (!record.steps_offered.empty()) {
    return Fault{409, fmt::format("{} is matched by a device_spec entry: remove the entry, reload "
                                  "the worker of its host, then ask again",
                                  device_name(record))};
  }
  return why_no_worker(found, now, heartbeat_max_ms);
}

}  // namespace

std::string_view word_of(Resource resource) {
  if (resource == Resource::unhold) return "unhold";
  return resource == Resource::disown ? "disown" : "clean";
}

std::variant<Order, Fault> order_of(Resource resource, std::string_view body,
                                    const Fleet::Found& found, WallMs now,
                                    std::int64_t heartbeat_max_ms) {
  Order order;
  order.order = word_of(resource);
  order.address = to_string(found.record.address);
  std::optional<Fault> fault;
  if (resource == Resource::disown) {
    auto reason = reason_of(body);
    if (!reason) return bad_request(reason.error().what);
    order.reason = *std::move(reason);
    fault = why_not_disown(found, now, heartbeat_max_ms);
  } else if (resource == Resource::clean && !says_nothing(body)) {
    const auto steps = parse_named_steps(body);
    if (!steps) return bad_request(steps.error().what);
    fault = why_not_clean(found, now, heartbeat_max_ms, true);
    if (fault && fault->status == 400) return *fault;
    if (Status known = check_named_steps(*steps, found.record.steps_offered); !known) {
      return bad_request(known.error().what);
    }
    order.steps = encode_plan(*steps);
  } else if (!says_nothing(body)) {
    return bad_request(fmt::format("{} takes no arguments: send no body, or {{}}", order.order));
  } else if (resource == Resource::unhold) {
    fault = why_not_unhold(found, now, heartbeat_max_ms);
  } else {
    fault = why_not_clean(found, now, heartbeat_max_ms, false);
  }
  if (fault) return *fault;
  return order;
}

}  // namespace reclaim::api
