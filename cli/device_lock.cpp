#include "cli/device_lock.h"

#include <utility>

namespace reclaim::cli {
namespace {

constexpr std::int64_t kGiveBackMs = 5'000;

}  // namespace

DeviceLock::DeviceLock(Session& session, const PciAddress& address, std::string holder,
                       std::int64_t ttl_ms, std::function<void()> lost)
    : session_(session),
      address_(address),
      holder_(std::move(holder)),
      ttl_ms_(ttl_ms),
      lost_(std::move(lost)),
      timer_(session.loop()) {}

Result<std::unique_ptr<DeviceLock>> DeviceLock::take(Session& session, const PciAddress& address,
                                                     std::string holder, std::int64_t ttl_ms,
                                                     std::function<void()> lost) {
  // std::make_unique does not reach the constructor.
  std::unique_ptr<DeviceLock> lock(
      new DeviceLock(session, address, std::move(holder), ttl_ms, std::move(lost)));
  if (auto taken = lock->ask(); !taken) return std::move(taken).error();
  const auto period = static_cast<std::uint64_t>(ttl_ms / 3);
  lock->timer_.start(period, period, [each = lock.get()] { each->renew(); });
  return lock;
}

Status DeviceLock::ask() {
  auto store = session_.store();
  if (!store) return std::move(store).error();
  const auto taken = session_.wait<LockToken>([&](auto done) {
    (*store)->acquire_lock(session_.settings().host, address_, holder_, ttl_ms_, std::move(done));
  });
  if (!taken) return taken.error();
  lock_ = *taken;
  return Ok{};
}

void DeviceLock::renew() {
  auto store = session_.connected_store();
  if (store == nullptr || lock_.token == 0) return;
  store->renew_lock(session_.settings().host, address_, lock_, ttl_ms_,
                    [this, there = there_](Result<Ok> renewed) {
                      // Only another holder makes us stop; that Redis is away does not.
                      if (!*there || renewed || renewed.error().code != Errc::conflict) return;
                      take_again();
                    });
}

// Expired while Redis was away, or taken.
void DeviceLock::take_again() {
  session_.connected_store()->acquire_lock(session_.settings().host, address_, holder_, ttl_ms_,
                                           [this, there = there_](Result<LockToken> taken) {
                                             if (!*there) return;
                                             if (taken) {
                                               lock_ = *taken;
                                             } else if (taken.error().code == Errc::busy) {
                                               lock_ = LockToken{};
                                               lost_();
                                             }
                                           });
}

DeviceLock::~DeviceLock() {
  *there_ = false;
  timer_.stop();
  RedisStore* store = session_.connected_store();
  if (store == nullptr || lock_.token == 0) return;
  // One that cannot be given back expires.
  (void)session_.wait<Ok>(
      [&](auto done) {
        store->release_lock(session_.settings().host, address_, lock_, std::move(done));
      },
      kGiveBackMs);
}

}  // namespace reclaim::cli
