// The check of `reclaim doctor` whether the bus tells the worker of what ends.
#include <fmt/core.h>

#include "cli/doctor_checks.h"
#include "handlers/survey/hearing.h"

namespace reclaim::cli {
namespace {

constexpr std::uint32_t kOneMayGetLost = 1;

}  // namespace

// Says nothing before kHeardNearMs: the bus may tell in a moment of what ended just now.
void check_bus_is_heard(const HostInfo& worker, WallMs now, Chart& chart) {
  const std::int64_t for_ms = now.ms - worker.unheard_since.ms;
  if (worker.unheard_ends <= kOneMayGetLost || for_ms < kHeardNearMs) return;
  chart.warning(
      "notifications",
      fmt::format("surveys found {} tenancies ended in the last {}, and the bus told of nothing: "
                  "each dirty drive waits for a survey",
                  worker.unheard_ends, age_text(for_ms / 1000)),
      "nova.conf of this host's nova-compute: [oslo_messaging_notifications] driver = messagingv2, "
      "[notifications] notification_format = versioned or both, and the names in [notifications] "
      "versioned_notifications_topics, or in [oslo_messaging_notifications] topics, in [listener] "
      "topics here; the same transport_url; then restart nova-compute, and see `reclaim config "
      "check`");
}

}  // namespace reclaim::cli
