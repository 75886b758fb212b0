#include "handlers/bus/unread_queues.h"

#include <algorithm>

namespace reclaim {

void UnreadQueues::seen(const std::vector<BusQueue>& queues, WallMs now) {
  std::map<std::string, WallMs> since;
  for (const BusQueue& queue : queues) {
    if (!queue.unread()) continue;
    const auto before = since_.find(queue.name);
    since.emplace(queue.name, before == since_.end() ? now : before->second);
  }
  since_ = std::move(since);
}

std::vector<std::string> UnreadQueues::names() const {
  std::vector<std::string> out;
  out.reserve(since_.size());
  for (const auto& [name, since] : since_) out.push_back(name);
  return out;
}

WallMs UnreadQueues::since() const {
  const auto first =
      std::min_element(since_.begin(), since_.end(),
                       [](const auto& a, const auto& b) { return a.second.ms < b.second.ms; });
  return first == since_.end() ? WallMs{} : first->second;
}

}  // namespace reclaim
