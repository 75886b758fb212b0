#include "handlers/survey/heard.h"

#include <algorithm>

#include "state/base/uuid.h"

namespace reclaim {

bool HeardInstances::hear(const Kick& kick, const HostNames& here, WallMs now) {
  if (kick.life == Life::untold || !looks_like_uuid(kick.instance)) return false;
  const bool anywhere = kick.host.empty() && kick.life == Life::ends;
  if (anywhere ? !lives_.contains(kick.instance) : !here.has(kick.host)) return false;
  const WallMs at = kick.sent_at.ms == 0 ? now : kick.sent_at;
  Lived& life = lives_[kick.instance];
  const bool had_none = life.began <= life.ended && life.ended < at;
  if (kick.life == Life::begins || (kick.life == Life::fails && had_none)) {
    life.began = std::max(life.began, at);
  }
  if (kick.life != Life::begins) life.ended = std::max(life.ended, at);
  forget_the_oldest();
  return kick.life == Life::begins && had_none;
}

std::vector<std::string> HeardInstances::within(const Gap& gap,
                                                std::vector<std::string> known) const {
  for (const auto& [instance, life] : lives_) {
    const bool lies_within = gap.from <= life.began && life.began <= gap.until;
    if (lies_within && life.began <= life.ended) known.push_back(instance);
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  known.resize(std::min(known.size(), kHeardMax));
  return known;
}

void HeardInstances::forget_the_oldest() {
  if (lives_.size() <= kHeardMax) return;
  lives_.erase(std::min_element(lives_.begin(), lives_.end(), [](const auto& a, const auto& b) {
    return std::max(a.second.began, a.second.ended) < std::max(b.second.began, b.second.ended);
  }));
}

}  // namespace reclaim
