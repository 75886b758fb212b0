#include "handlers/conductor/lock_keeper.h"

#include <utility>

#include "handlers/conductor/error_facts.h"

namespace reclaim {

void LockKeeper::ask(const PciAddress& address, std::function<void(Result<LockToken>)> answered) {
  const ConductorOptions& options = context_.options;
  context_.ports.store.acquire_lock(options.host, address, options.holder, options.lock_ttl_ms,
                                    context_.stopping.unless_begun(std::move(answered)));
}

void LockKeeper::take(const PciAddress& address, std::uint64_t epoch,
                      std::function<void(Status)> done) {
  ask(address, [this, address, epoch, done = std::move(done)](Result<LockToken> lock) {
    if (!lock) return done(std::move(lock).error());
    if (context_.is_stale(address, epoch)) return give_back(address, *lock);
    held_[address].lock = *lock;
    keep(address);
    done(Ok{});
  });
}

void LockKeeper::keep(const PciAddress& address) {
  Held& held = held_[address];
  if (held.renew_timer != 0) context_.ports.timers.cancel(held.renew_timer);
  held.renew_timer = context_.ports.timers.after(context_.options.lock_ttl_ms / 3,
                                                 context_.stopping.unless_begun([this, address] {
                                                   held_[address].renew_timer = 0;
                                                   if (holds(address)) renew(address);
                                                 }));
}

void LockKeeper::renew(const PciAddress& address) {
  const ConductorOptions& options = context_.options;
  context_.ports.store.renew_lock(
      options.host, address, of(address), options.lock_ttl_ms,
      context_.stopping.unless_begun([this, address](Result<Ok> renewed) {
        if (!holds(address)) return;
        if (renewed || renewed.error().code != Errc::conflict) return keep(address);
        // Expired while Redis was away, or taken. The kernel's lock and the claim are still ours;
        // only another holder makes us stop.
        reacquire(address, [this, address](bool ours) {
          if (ours) return;
          lose(address);
          lost_(address);
        });
      }));
}

void LockKeeper::reacquire(const PciAddress& address, std::function<void(bool ours)> done) {
  ask(address, [this, address, done = std::move(done)](Result<LockToken> lock) {
    if (!is_busy(context_.record_of(address).stage)) {
      if (lock) give_back(address, *lock);
      return;
    }
    if (lock) {
      held_[address].lock = *lock;
      keep(address);
      return done(true);
    }
    if (!away(lock.error()) || lock.error().code == Errc::busy) return done(false);
    context_.ports.timers.after(
        context_.backoff(address),
        context_.stopping.unless_begun([this, address, done] { reacquire(address, done); }));
  });
}

void LockKeeper::lose(const PciAddress& address) {
  context_.ports.drives.stop(address);
  held_[address].lock = LockToken{};
}

LockToken LockKeeper::let_go(const PciAddress& address) {
  Held& held = held_[address];
  if (held.renew_timer != 0) context_.ports.timers.cancel(std::exchange(held.renew_timer, 0));
  return std::exchange(held.lock, LockToken{});
}

// One that could not be released expires.
void LockKeeper::give_back(const PciAddress& address, const LockToken& lock,
                           std::function<void()> given_back) {
  context_.ports.store.release_lock(
      context_.options.host, address, lock,
      [given_back = std::move(given_back)](Result<Ok> /*released*/) { given_back(); });
}

LockToken LockKeeper::of(const PciAddress& address) const {
  const auto held = held_.find(address);
  return held == held_.end() ? LockToken{} : held->second.lock;
}

}  // namespace reclaim
