// How bad a world is. Each seed draws its own mixture, most kinds of fault being absent in most
// worlds, so that every kind also meets a world that works otherwise.
#pragma once

#include <cstdint>

#include "tests/sim/rng.h"

namespace reclaim::sim {

struct Faults {
  // Answers.
  double slow = 0;       // an answer takes seconds
  double very_slow = 0;  // or minutes

  // Redis.
  double store_away = 0;        // unavailable: nothing was done
  double store_lost_done = 0;   // the answer is lost, the command was carried out
  double store_lost_not = 0;    // and was not
  bool store_reorders = false;  // answers overtake each other (several connections)

  // Placement.
  double placement_away = 0;
  double placement_odd = 0;  // 403, generations that never agree, answers that are none
  double placement_conflict = 0;
  double put_lost_done = 0;  // a write's answer is lost: written,
  double put_lost_not = 0;   // not written,
  double put_lost_late = 0;  // written later, when nobody expects it any more

  // Cyborg: its API, and notifications of ARQs.
  double cyborg_away = 0;
  double cyborg_stale = 0;  // an answer is that of a replica which lags
  double arq_lost = 0;
  double arq_late = 0;  // and out of order
  double arq_twice = 0;
  double agent_rewrites = 0;  // its periodic report puts reserved = 0

  // Ledger and drives.
  double ledger_fails = 0;
  double discover_fails = 0;
  double command_fails = 0;  // a drive's command ends in an error that says nothing about it

  // Surveys and writes are answered soon, and as they were meant.
  [[nodiscard]] bool prompt() const {
    return slow + very_slow + store_lost_not + placement_away + placement_odd + placement_conflict +
               put_lost_not + put_lost_late + discover_fails ==
           0;
  }
  [[nodiscard]] static Faults draw(Rng& rng);
  [[nodiscard]] std::int64_t delay_ms(Rng& rng) const {
    if (rng.chance(very_slow)) return rng.between(10'000, 120'000);
    if (rng.chance(slow)) return rng.between(200, 5'000);
    return rng.between(0, 20);
  }
};

inline Faults Faults::draw(Rng& rng) {
  Faults f;
  const auto some = [&rng](double at_most) {
    return rng.chance(0.5) ? 0.0 : at_most * static_cast<double>(rng.below(1000)) / 1000.0;
  };
  if (rng.chance(0.05)) return f;
  f.slow = some(0.3);
  f.very_slow = some(0.02);
  f.store_away = some(0.1);
  f.store_lost_done = some(0.06);
  f.store_lost_not = some(0.06);
  f.store_reorders = rng.chance(0.3);
  f.placement_away = some(0.15);
  f.placement_odd = some(0.03);
  f.placement_conflict = some(0.1);
  f.put_lost_done = some(0.4);
  f.put_lost_not = some(0.4);
  f.put_lost_late = some(0.5);
  f.ledger_fails = some(0.1);
  f.discover_fails = some(0.1);
  f.command_fails = some(0.05);
  f.cyborg_away = some(0.2);
  f.cyborg_stale = some(0.5);
  f.arq_lost = some(0.5);
  f.arq_late = some(0.3);
  f.arq_twice = some(0.3);
  f.agent_rewrites = some(0.05);
  return f;
}

}  // namespace reclaim::sim
