// An order as the command line issues it: with who issues it and, where this machine has a key that
// the worker believes, its code.
#pragma once

#include <string>

#include "cli/session.h"
#include "state/order.h"

namespace reclaim::cli {

// Errc::refused: it has to be authenticated, and no key for it can be read here.
[[nodiscard]] Result<Order> new_order(Session& session, const std::string& host,
                                      const std::string& what, const std::string& address);

}  // namespace reclaim::cli
