// Cyborg as the simulation has it: its database of ARQs and devices, and its REST API, which may be
// away, slow, or answer from a replica that lags. Who binds what, and when, is cyborg.cpp's.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "placement/cyborg/accelerators.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

class FakeCyborg final : public placement::Accelerators {
 public:
  FakeCyborg(Scheduler& scheduler, Rng& rng, const Faults& faults)
      : scheduler_(scheduler), rng_(rng), faults_(faults) {}

  void read(const HostNames& names, Callback<placement::CyborgView> done) override;

  // The database.
  Arq& arq(const std::string& uuid) { return arqs_[uuid]; }
  void remove(const std::string& uuid) { arqs_.erase(uuid); }
  placement::CyborgDevice& device(const PciAddress& address) { return devices_[address]; }
  void changing();           // something is about to be committed
  std::int64_t slow_ms = 0;  // until each answer, beside what the faults say
  void set_away(bool away) { away_ = away; }

  // What the last answer to the worker now running said of the device.
  [[nodiscard]] bool told_maintaining(const PciAddress& address) const;

 private:
  [[nodiscard]] placement::CyborgView view() const;

  Scheduler& scheduler_;
  Rng& rng_;
  const Faults& faults_;
  std::map<std::string, Arq> arqs_;
  std::map<PciAddress, placement::CyborgDevice> devices_;
  placement::CyborgView before_;  // as a replica still shows it
  std::int64_t changed_ms_ = 0;
  bool away_ = false;
  std::set<PciAddress> told_;
  std::uint64_t told_worker_ = 0;
};

}  // namespace reclaim::sim
