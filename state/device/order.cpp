#include "state/device/order.h"

#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/uuid.h"

namespace reclaim {
namespace {

constexpr auto kOrderNames =
    enum_names<OrderKind::resume>("clean", "abort", "enrol", "maintenance_on", "maintenance_off",
                                  "unhold", "disown", "retire", "pause", "resume");

}  // namespace

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Order> auto& order) {
  using enum field::Rule;
  visit("order", order.order, lenient);
  visit("address", order.address, lenient);
  visit("who", order.who, lenient);
  visit("request_id", order.request_id, lenient);
  visit.moment("issued_at", order.issued_at, lenient);
  visit("nonce", order.nonce, lenient);
  visit("mac", order.mac, lenient);
  visit("serial", order.serial, lenient);
  visit("hardware", order.hardware, lenient);
  // Its code covers only what it says.
  if (visit.wants(!order.reason.empty())) visit("reason", order.reason, lenient);
  if (visit.wants(!order.purpose.empty())) visit("purpose", order.purpose, lenient);
  if (visit.wants(!order.steps.empty())) visit("steps", order.steps, lenient);
  if (visit.wants(!order.hold.empty())) visit("hold", order.hold, lenient);
  if (visit.wants(order.until.ms != 0)) visit.moment("until", order.until, lenient);
}

std::string_view to_string(OrderKind kind) {
  return kOrderNames[kind];
}

bool is_request_id(std::string_view text) {
  constexpr std::string_view kBegin = "req-";
  return text.starts_with(kBegin) && looks_like_uuid(text.substr(kBegin.size()));
}

std::optional<OrderKind> kind_of(const Order& order) {
  return kOrderNames.find(order.order);
}

std::map<std::string, std::string> order_fields(const Order& order) {
  return field::to_texts(order);
}

Order order_from_fields(const std::string& id, const std::map<std::string, std::string>& fields) {
  auto order = field::from_texts<Order>(fields);
  order.id = id;
  return order;
}

std::int64_t written_at_ms(std::string_view stream_id) {
  const std::size_t dash = stream_id.find('-');
  if (dash == std::string_view::npos) return 0;
  return parse_number<std::int64_t>(stream_id.substr(0, dash)).value_or(0);
}

}  // namespace reclaim
