// Judges whether this process can answer the device API: Redis is read for it, at most once a view,
// and Keystone is judged by what became of the tokens that were to be validated.
//
// Thread: the loop's. The store's callbacks may come after it is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/base/clock.h"
#include "state/device/store.h"

namespace reclaim::api {

class Readiness final {
 public:
  // Called with the reason why it is not ready; empty: it is. It is told to anybody, so that it
  // names no address.
  using Told = std::function<void(const std::string& why_not)>;

  Readiness(Store& store, const Clock& clock, std::int64_t view_ms)
      : state_(std::make_shared<State>(State{store, clock, view_ms})) {}

  // Redis alone: what is asked of it needs no token.
  void of_redis(Told told) { ask(std::move(told)); }
  void of_all(Told told);

  // Keystone has judged a token, or could not be asked. What was so half a minute ago says nothing:
  // nobody may ask again before this is called ready.
  void keystone_answered() { state_->keystone_why.clear(); }
  void keystone_failed();

 private:
  struct State {
    Store& store;
    const Clock& clock;
    std::int64_t view_ms;
    bool asking = false;
    bool known = false;
    MonoMs known_at{};
    std::string redis_why{};
    MonoMs keystone_at{};
    std::string keystone_why{};
    std::vector<Told> waiting{};
  };

  void ask(Told told);

  std::shared_ptr<State> state_;
};

}  // namespace reclaim::api
