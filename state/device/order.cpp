#include "state/device/order.h"

#include <charconv>

namespace reclaim {

std::map<std::string, std::string> order_fields(const Order& order) {
  return {{"order", order.order},
          {"address", order.address},
          {"who", order.who},
          {"request_id", order.request_id},
          {"issued_at", to_iso8601(order.issued_at)},
          {"nonce", order.nonce},
          {"mac", order.mac},
          {"serial", order.serial},
          {"hardware", order.hardware}};
}

Order order_from_fields(const std::string& id, const std::map<std::string, std::string>& fields) {
  const auto text = [&fields](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  Order order{id,       text("order"), text("address"), text("who"),    text("request_id"),
              WallMs{}, text("nonce"), text("mac"),     text("serial"), text("hardware")};
  if (const auto at = from_iso8601(text("issued_at"))) order.issued_at = *at;
  return order;
}

std::int64_t written_at_ms(std::string_view stream_id) {
  const std::size_t dash = stream_id.find('-');
  std::int64_t ms = 0;
  if (dash == std::string_view::npos) return 0;
  const char* end_of_ms = stream_id.data() + dash;
  const auto [end, error] = std::from_chars(stream_id.data(), end_of_ms, ms);
  return error == std::errc{} && end == end_of_ms ? ms : 0;
}

}  // namespace reclaim
