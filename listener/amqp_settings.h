// The settings of the bus in the link's own words. Pure. Thread: any.
#pragma once

#include "config/settings.h"
#include "listener/amqp_options.h"

namespace reclaim::listener {

[[nodiscard]] AmqpOptions amqp_options(const config::Settings& settings);

}  // namespace reclaim::listener
