// The check of `reclaim doctor` of the queues of Nova's notifier, which grow for ever where nobody
// reads them.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/doctor_checks.h"
#include "handlers/bus/unread_queues.h"

namespace reclaim::cli {
namespace {

constexpr const char* kCheck = "queues";

std::string text_of(const BusQueue& queue) {
  return fmt::format("{} ({}, {})", queue.name, counted(queue.messages, "message"),
                     counted(queue.consumers, "consumer"));
}

}  // namespace

void judge_queues(const Result<std::vector<BusQueue>>& queues,
                  const std::vector<std::string>& drained, Chart& chart) {
  // The broker that does not answer has its own line.
  if (!queues) {
    return chart.warning(kCheck, "not looked at: " + queues.error().what,
                         "see the line of rabbitmq");
  }
  std::vector<std::string> fine;
  std::vector<std::string> unread;
  for (const BusQueue& queue : *queues) {
    const bool is_drained = std::find(drained.begin(), drained.end(), queue.name) != drained.end();
    (queue.unread() && !is_drained ? unread : fine).push_back(text_of(queue));
  }
  if (!unread.empty()) {
    return chart.warning(
        kCheck,
        fmt::format("nobody reads {}: each event of Nova's stays there", fmt::join(unread, ", ")),
        kUnreadRemedy);
  }
  if (fine.empty()) return chart.ok(kCheck, "Nova's notifier has declared none yet");
  chart.ok(kCheck, fmt::format("of Nova's notifier, none waits unread: {}", fmt::join(fine, ", ")));
}

}  // namespace reclaim::cli
