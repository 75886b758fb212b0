// Joins the parts of the outgoing notifications: the journal's entries become posts in the outbox,
// sealed by the host's key, and the notifier publishes what the seal fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "listener/amqp/notifier.h"
#include "state/certificate/outbox_seal.h"
#include "state/redis/store.h"

namespace reclaim::listener {

// `on_post` is called when a record is written that something is told of. Thread: the loop's.
[[nodiscard]] RedisOutboxOptions outbox_options(const config::Settings& settings, OutboxSeal seal,
                                                std::function<void()> on_post);

// Makes a message of what waits, for the notifier: to every topic, in oslo.messaging's envelope.
[[nodiscard]] Notifier::Read outbox_reader(OutboxSeal seal, std::vector<std::string> topics);

// The notifications' part of the counters' line: "notifications: 3 published, ...".
[[nodiscard]] std::string to_text(const NotifierCounters& counters);

}  // namespace reclaim::listener
