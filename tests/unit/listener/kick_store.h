// A store that takes kicks at once, or not at all, and timers that a test fires by hand: what feeds
// of kicks are tested over.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "state/base/host_names.h"
#include "state/base/timers.h"
#include "state/device/in_hand.h"
#include "state/device/store.h"

namespace reclaim::testing {

// Only what the feed asks for; everything else would be a mistake of the feed.
class OnlyKicks final : public Store {
 public:
  std::vector<HostInfo> known;
  std::set<std::string> refused;  // hosts whose name no key can have
  bool away = false;
  bool too_many_hosts = false;  // more than are read
  int hosts_asked = 0;
  int names_asked = 0;
  std::vector<std::string> told;
  std::vector<Kick> kicks;  // as `told`

  void push_kick(const std::string& host, const Kick& kick, Callback<Ok> done) override {
    if (away) return done(Error{Errc::unavailable, "Redis is away"});
    if (refused.contains(host)) return done(Error{Errc::invalid, "not a name of a host"});
    told.push_back(host);
    kicks.push_back(kick);
    done(Ok{});
  }
  void hosts(Callback<std::vector<HostInfo>> done) override {
    hosts_asked += 1;
    if (too_many_hosts) return done(Error{Errc::limit, "too many hosts"});
    done(known);
  }
  void hosts_called(const std::string& name, Callback<std::vector<std::string>> done) override {
    names_asked += 1;
    if (away) return done(Error{Errc::unavailable, "Redis is away"});
    std::vector<std::string> called;
    for (const HostInfo& info : known) {
      if (HostNames{info.host, info.nodes}.has(name)) called.push_back(info.host);
    }
    done(called);
  }

  void load(const std::string&, Callback<std::vector<Record>>) override { FAIL(); }
  void save(const Record&, LockToken, const JournalEntry&, Callback<Ok>) override { FAIL(); }
  void push_order(const std::string&, const Order&, Callback<Ok>) override { FAIL(); }
  void take_orders(const std::string&, std::size_t, Callback<std::vector<Order>>) override {
    FAIL();
  }
  void orders_left(const std::string&, Callback<std::vector<Order>>) override { FAIL(); }
  void answer_order(const std::string&, const Order&, const std::string&, Callback<Ok>) override {
    FAIL();
  }
  void discard(const std::string&, const PciAddress&, Callback<Ok>) override { FAIL(); }
  void save_progress(const Record&, Callback<Ok>) override { FAIL(); }
  void acquire_lock(const std::string&, const PciAddress&, const std::string&, std::int64_t,
                    Callback<LockToken>) override {
    FAIL();
  }
  void renew_lock(const std::string&, const PciAddress&, LockToken, std::int64_t,
                  Callback<Ok>) override {
    FAIL();
  }
  void release_lock(const std::string&, const PciAddress&, LockToken, Callback<Ok>) override {
    FAIL();
  }
  void read_kicks(const std::string&, std::size_t, Callback<std::vector<Kick>>) override { FAIL(); }
  void ack_kicks(const std::string&, const std::vector<std::string>&, Callback<Ok>) override {
    FAIL();
  }
  void count_hosts(Callback<std::size_t>) override { FAIL(); }
  void heartbeat(const HostInfo&, Callback<Ok>) override { FAIL(); }
  void load_arqs(const std::string&, Callback<std::vector<Arq>>) override { FAIL(); }
  void save_arq(const std::string&, const Arq&, Callback<Ok>) override { FAIL(); }
  void remove_arq(const std::string&, const std::string&, Callback<Ok>) override { FAIL(); }
  void save_certificate(const Certificate&, const std::string&, Callback<Ok>) override { FAIL(); }
};

// No worker has died with anything.
class NoMarks final : public InHand {
 public:
  void mark_in_hand(const std::string&, Callback<bool> done) override { done(true); }
  void clear_in_hand(const std::string&, Callback<Ok> done) override { done(Ok{}); }
};

// Fires when the test says so.
class HandTimers final : public Timers {
 public:
  std::uint64_t after(std::int64_t /*delay_ms*/, Once<> fire) override {
    waiting.push_back(std::move(fire));
    return waiting.size();
  }
  void cancel(std::uint64_t /*id*/) override {}
  void fire_all() {
    for (const auto& fire : std::exchange(waiting, {})) fire();
  }
  std::vector<Once<>> waiting;
};

}  // namespace reclaim::testing
