// The key that orders from other machines carry ([security] order_key_file). Operators' machines
// and the nodes of the API hold the fleet's master. A host holds one that is derived from it and is
// good for that host's orders alone: so root on one host orders nothing on another. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "state/certificate/mac_key.h"

namespace reclaim {

class OrderKey final {
 public:
  // The master: as a MacKey's file. A host's: its name and a space before that. Blocks. Errors: as
  // MacKey::load().
  [[nodiscard]] static Result<OrderKey> load(const std::string& path);

  // The host whose key it is; empty: it is the master.
  [[nodiscard]] const std::string& host() const { return host_; }
  // The key that orders for `host` are authenticated with; nothing: this is another host's.
  [[nodiscard]] std::optional<MacKey> key_of(const std::string& host) const;
  // The line that the key file of that host holds, without a line break. The master alone has it.
  [[nodiscard]] std::string line_for(const std::string& host) const;

 private:
  OrderKey(std::string host, MacKey key) : host_(std::move(host)), key_(std::move(key)) {}
  std::string host_;
  MacKey key_;
};

// The reason why a worker of that host does not take the key, with the remedy; empty: it does.
[[nodiscard]] std::string why_not_of_host(const OrderKey& key, const std::string& host);

}  // namespace reclaim
