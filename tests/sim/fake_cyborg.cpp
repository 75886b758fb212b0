#include "tests/sim/fake_cyborg.h"

#include <utility>

namespace reclaim::sim {
namespace {

constexpr std::int64_t kReplicaLagMs = 20'000;

}  // namespace

placement::CyborgView FakeCyborg::view() const {
  placement::CyborgView out;
  for (const auto& [uuid, arq] : arqs_) out.arqs.push_back(arq);
  for (const auto& [address, device] : devices_) out.devices.push_back(device);
  return out;
}

void FakeCyborg::changing() {
  before_ = view();
  changed_ms_ = scheduler_.now_ms();
}

void FakeCyborg::read(const HostNames& /*names*/, Callback<placement::CyborgView> done) {
  scheduler_.answer(slow_ms + faults_.delay_ms(rng_), [this, done = std::move(done)]() mutable {
    Result<placement::CyborgView> result = Error{Errc::unavailable, "Cyborg is away"};
    if (!away_ && !rng_.chance(faults_.cyborg_away)) {
      const bool lags = scheduler_.now_ms() - changed_ms_ < kReplicaLagMs;
      result = lags && rng_.chance(faults_.cyborg_stale) ? before_ : view();
    }
    scheduler_.answer(faults_.delay_ms(rng_),
                      [this, done = std::move(done), result = std::move(result)] {
                        if (told_worker_ != scheduler_.worker()) told_.clear();
                        told_worker_ = scheduler_.worker();
                        if (result) {
                          told_.clear();
                          for (const placement::CyborgDevice& device : result->devices) {
                            if (device.status == "maintaining") told_.insert(*device.address);
                          }
                        }
                        done(result);
                      });
  });
}

bool FakeCyborg::told_maintaining(const PciAddress& address) const {
  return told_worker_ == scheduler_.worker() && told_.contains(address);
}

}  // namespace reclaim::sim
