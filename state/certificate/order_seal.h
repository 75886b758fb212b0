// OrderSeal: tells who may say what only an operator may. An order's code is an HMAC by the own key
// of the host it is for, which root on that host has, or by its key of orders (order_key.h). Pure.
// Thread: any.
#pragma once

#include <optional>
#include <string>

#include "state/certificate/mac_key.h"
#include "state/certificate/order_key.h"
#include "state/device/order.h"

namespace reclaim {

class OrderSeal final {
 public:
  // `own`: of `host`, and good for its orders alone.
  OrderSeal(std::string host, std::optional<MacKey> own, std::optional<OrderKey> of_orders)
      : host_(std::move(host)), own_(std::move(own)), of_orders_(std::move(of_orders)) {}

  // Gives an order for `host` its code; without a key that would do, it stays without.
  void seal(const std::string& host, Order& order) const;
  [[nodiscard]] bool fits(const std::string& host, const Order& order) const;

 private:
  std::string host_;
  std::optional<MacKey> own_;
  std::optional<OrderKey> of_orders_;
};

}  // namespace reclaim
