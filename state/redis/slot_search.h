// SlotSearch: which master has which slot, as a node of the cluster says. The nodes are asked in
// turn, each on a connection of its own, and the first that answers is believed: what it says may
// be old, and then a node that is sent a command says better (MOVED).
//
// Thread: the loop's. May be destroyed in a callback of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/uv.h"
#include "state/redis/client.h"
#include "state/redis/options.h"
#include "state/redis/slots.h"

namespace reclaim {

// The options by which a node of the cluster is reached.
[[nodiscard]] RedisOptions node_options(const RedisOptions& cluster, const RedisAddress& node);
// The remedy for what a node says; empty: none is known.
[[nodiscard]] std::string cluster_remedy(const std::string& said);
[[nodiscard]] std::vector<std::string> slots_question();
// The error of a node that answers with no slot at all.
[[nodiscard]] Error no_cluster();

class SlotSearch final {
 public:
  // Errc::unavailable: no node says it; the text has what each said.
  using OnFound = std::function<void(const Result<SlotMap>&)>;

  // Options and loop outlive the search.
  SlotSearch(uv_loop_t* loop, const RedisOptions& options, OnFound on_found);
  SlotSearch(const SlotSearch&) = delete;
  SlotSearch& operator=(const SlotSearch&) = delete;

  // `nodes` is not empty. Answered once, later; asked again before that, the search begins anew.
  void begin(std::vector<RedisAddress> nodes);
  [[nodiscard]] bool searching() const { return at_ < nodes_.size(); }

 private:
  void ask_next();
  void on_node(const RedisState& state);
  void end(const Result<SlotMap>& found);

  uv_loop_t* loop_;
  const RedisOptions& options_;
  OnFound on_found_;
  NullLogger silent_;
  std::vector<RedisAddress> nodes_;
  std::size_t at_ = 0;
  std::string said_;
  SlotMap map_;  // as the one that is asked says
  uv::Timer timer_;
  std::unique_ptr<RedisClient> node_;
};

}  // namespace reclaim
