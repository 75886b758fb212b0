// The loop's time, shared among those whom the API serves; listener/http_turns.h gives it.
//
// Thread: the loop's.
#pragma once

#include <functional>

namespace reclaim::api {

class Turns {
 public:
  Turns() = default;
  virtual ~Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Whether something may be begun now. If not: wait().
  [[nodiscard]] virtual bool may_begin() const = 0;
  // `go` is called in a later round of the loop, where something may be begun; never after the
  // Turns is gone.
  virtual void wait(std::function<void()> go) = 0;
};

}  // namespace reclaim::api
