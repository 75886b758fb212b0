// Cyborg's RPC to its agents as it stands on RabbitMQ, and what it means for this host. Of the
// agent's methods only cleanup_device (RPC API 1.1) concerns devices that are given back. Replies
// in the form that oslo.messaging's clients read. Pure; thread: any.
//
// Of a request's `_context_*` nothing but the request id is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "handlers/bus/kick.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim {

inline constexpr std::size_t kRpcBodyBytesMax = std::size_t{1} << 20U;

// Cyborg's Device object as cleanup_device brings it.
struct RpcDevice {
  std::string uuid;  // Cyborg's, which is not ours
  std::string type;
  std::string hostname;
  std::string device_state;
  std::optional<PciAddress> address;  // of std_board_info; nothing: it does not say
};

// An exception of Python's that the caller's oslo.messaging raises again.
struct RpcFailure {
  std::string module;
  std::string name;
  std::string message;
};

struct RpcDecision {
  // kick: look at the host, at `device` if it names an address. ignore: not ours to serve;
  // `failure` says why to a caller. reject: nobody can read it.
  Verdict verdict = Verdict::ignore;
  std::string why;  // a sentence for an operator, without a trailing full stop
  std::string method;
  RpcDevice device;
  std::optional<RpcFailure> failure;
  std::string request_id;
  // The message id and the reply queue of a call; empty for a cast, which never gets an answer.
  std::string msg_id;
  std::string reply_queue;

  [[nodiscard]] bool is_call() const { return !msg_id.empty() && !reply_queue.empty(); }
};

// A request with the routing key of `host`'s agent.
[[nodiscard]] RpcDecision decide_rpc(std::string_view body, std::string_view host);

// The body of the answer to a call: nothing as the result, or the failure. `unique_id` is the
// reply's own, 32 hexadecimal digits of which no two are alike.
[[nodiscard]] std::string rpc_reply(std::string_view msg_id, std::string_view unique_id,
                                    const std::optional<RpcFailure>& failure);

// oslo.messaging's rule: the same major version, and no newer minor version or revision than what
// is served.
[[nodiscard]] bool rpc_version_is_served(std::string_view version);

}  // namespace reclaim
