// Who may say what only an operator may: an order's code (HMAC) by the key of the host it is for,
// which root on that host has, or by one that API nodes, operators' machines and hosts share
// ([security] order_key_file). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "state/certificate/mac_key.h"
#include "state/device/order.h"

namespace reclaim {

class OrderSeal final {
 public:
  // `own`: of `host`, and good for its orders alone.
  OrderSeal(std::string host, std::optional<MacKey> own, std::optional<MacKey> shared)
      : host_(std::move(host)), own_(std::move(own)), shared_(std::move(shared)) {}

  // Gives an order for `host` its code; without a key that would do, it stays without.
  void seal(const std::string& host, Order& order) const;
  [[nodiscard]] bool fits(const std::string& host, const Order& order) const;

 private:
  std::string host_;
  std::optional<MacKey> own_;
  std::optional<MacKey> shared_;
};

}  // namespace reclaim
