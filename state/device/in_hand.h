// InHand: the seam to where the workers of the fleet mark which redelivered message one of them is
// about to read. A mark that is still there when the message comes again was left by a worker that
// died with it. One real implementation (state/redis/store.h).
//
// Thread: called on the loop's thread, returns at once; callbacks come later, once, on the loop's
// thread. Errors as the Store's.
#pragma once

#include <string>

#include "state/device/store.h"

namespace reclaim {

class InHand {
 public:
  virtual ~InHand() = default;

  // True: marked, now or by a call of this one's whose answer was lost. False: another's mark is
  // there. `name` stands for the message's body; a mark goes by itself after a day.
  virtual void mark_in_hand(const std::string& name, Callback<bool> done) = 0;
  virtual void clear_in_hand(const std::string& name, Callback<Ok> done) = 0;
};

}  // namespace reclaim
