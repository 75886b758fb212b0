// The loop's time, shared among those whom the API serves; listener/http/loop_budget.h gives it.
//
// Thread: the loop's.
#pragma once

#include "state/base/callback.h"

namespace reclaim::api {

class LoopBudget {
 public:
  LoopBudget() = default;
  virtual ~LoopBudget() = default;
  LoopBudget(const LoopBudget&) = delete;
  LoopBudget& operator=(const LoopBudget&) = delete;

  // True if something may be begun now. If not: wait().
  [[nodiscard]] virtual bool may_begin() const = 0;
  // `go` is called in a later round of the loop, where something may be begun; never after the
  // LoopBudget is gone.
  virtual void wait(Once<> go) = 0;
};

}  // namespace reclaim::api
