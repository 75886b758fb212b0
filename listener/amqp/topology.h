// The exchanges, the queue they feed and the dead-letter queue, found or made. Blocking; runs on
// the connector's thread. The channel is kConsumeChannel; when the broker closes it because
// something was not as asked, it is opened again and the question put differently.
#pragma once

#include <string>
#include <vector>

#include "listener/amqp/connection.h"
#include "listener/amqp/options.h"
#include "state/base/result.h"

namespace reclaim::listener {

struct AmqpTopology {
  std::vector<std::string> missing_exchanges;
  bool queue_existed = false;
};

// Ok, or what the broker or the library said. A connection the broker closed is answered.
[[nodiscard]] Status check_reply(amqp_connection_state_t connection, const amqp_rpc_reply_t& reply);

[[nodiscard]] Result<AmqpTopology> set_up_topology(amqp_connection_state_t connection,
                                                   const AmqpOptions& options);
[[nodiscard]] Status begin_consuming(amqp_connection_state_t connection,
                                     const AmqpOptions& options);

}  // namespace reclaim::listener
