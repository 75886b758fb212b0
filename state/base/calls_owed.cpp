#include "state/base/calls_owed.h"

#include <utility>

#include "state/base/check.h"

namespace reclaim {
namespace {

thread_local bool calls_owed = false;

}  // namespace

CallsOwed::CallsOwed(bool owed) : before_(std::exchange(calls_owed, owed)) {}
CallsOwed::~CallsOwed() {
  calls_owed = before_;
}

void left_uncalled() noexcept {
#ifdef RECLAIM_DEBUG
  const bool a_callback_is_destroyed_uncalled = calls_owed;
  CHECK(!a_callback_is_destroyed_uncalled);
#endif
}

}  // namespace reclaim
