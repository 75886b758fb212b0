#include "state/certificate/order_seal.h"

namespace reclaim {
namespace {

constexpr std::string_view kPurpose = "reclaim order 1";

std::map<std::string, std::string> sealed_part(const std::string& host, const Order& order) {
  auto fields = order_fields(order);
  fields.erase("mac");
  fields["host"] = host;
  return fields;
}

}  // namespace

void OrderSeal::seal(const std::string& host, Order& order) const {
  const bool local = own_ && host == host_;
  const auto key = local ? own_ : of_orders_ ? of_orders_->key_of(host) : std::nullopt;
  if (key) order.mac = key->mac(kPurpose, sealed_part(host, order));
}

bool OrderSeal::fits(const std::string& host, const Order& order) const {
  const auto fields = sealed_part(host, order);
  if (own_ && host == host_ && own_->fits(kPurpose, fields, order.mac)) return true;
  const auto key = of_orders_ ? of_orders_->key_of(host) : std::nullopt;
  return key && key->fits(kPurpose, fields, order.mac);
}

}  // namespace reclaim
