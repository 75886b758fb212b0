// KickPush: puts kicks on the streams of the hosts they are for and goes on trying until Redis has
// taken them; only then is whoever brought them told, so that he may let the message go.
//
// Thread: the loop's. Owns what waits for Redis; who pushes bounds how much that is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "state/base/log.h"
#include "state/base/timers.h"
#include "state/device/store.h"

namespace reclaim::listener {

enum class KickHosts {
  named,   // the hosts given, which the caller knows
  called,  // those of them that have announced themselves, by any of their names: the name of a
           // node is not always that of its host, and anybody on the bus can invent one
  burned,  // every known host that has burned devices
  all,     // every known host
};

class KickPush final {
 public:
  KickPush(Store& store, Timers& timers, Logger& log) : store_(store), timers_(timers), log_(log) {}

  // `done` is called once every host is told; `hosts` is read with KickHosts::named and
  // KickHosts::called only.
  void push(Kick kick, KickHosts to, std::vector<std::string> hosts, Once<> done);
  // A delivery of this connection comes. Of a new one: what waits is forgotten, for the broker
  // brings it again.
  void of_connection(std::uint64_t incarnation);

  [[nodiscard]] std::size_t waiting() const { return pending_.size(); }
  // Names of hosts that never announced themselves, each time one was told of.
  [[nodiscard]] std::uint64_t unknown_hosts() const { return unknown_hosts_; }

 private:
  struct Pending {
    Kick kick;
    KickHosts to = KickHosts::named;  // anything else: hosts are still to be found out
    std::vector<std::string> hosts;   // still to be told, or names still to be found out about
    std::set<std::string> found;      // who goes by them
    Once<> done;
  };

  void dispatch(std::uint64_t id);
  void ask_for_hosts(std::uint64_t id);
  void find_next(std::uint64_t id);
  void say_unknown(const std::string& name);
  void push_next(std::uint64_t id);
  void use_hosts(std::uint64_t id);
  void do_without(const Error& error);
  void retry(std::uint64_t id, const Error& error);

  Store& store_;
  Timers& timers_;
  Logger& log_;
  std::map<std::uint64_t, Pending> pending_;
  std::vector<HostInfo> hosts_;         // as read last
  bool unreadable_ = false;             // it is too long to be asked for again soon
  std::vector<std::uint64_t> waiting_;  // for an answer that is on its way
  bool asking_ = false;
  std::uint64_t unknown_hosts_ = 0;
  bool unknown_said_ = false;  // within the last minute
  std::uint64_t last_id_ = 0;
  std::uint64_t incarnation_ = 0;
};

}  // namespace reclaim::listener
