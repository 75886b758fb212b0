// Callbacks that read an answer for another callback: what asks speaks the peer's language, what
// waits its own.
#pragma once

#include <string>
#include <utility>

#include "state/base/callback.h"

namespace reclaim {

// Answers `done` with what `read` makes of the value. An error is passed on, after `what` if that
// is not empty.
template <typename From, typename To, typename Read>
[[nodiscard]] Callback<From> reading(Callback<To> done, std::string what, Read read) {
  return [done = std::move(done), what = std::move(what),
          read = std::move(read)](Result<From> from) mutable {
    if (from.ok()) return done(read(*std::move(from)));
    done(what.empty() ? std::move(from).error() : from.error().wrap(what));
  };
}

// Calls `done` without the value, for a caller who only wants to know whether it went well.
template <typename From>
[[nodiscard]] Callback<From> without_value(Callback<Ok> done, std::string what = "") {
  return reading<From>(std::move(done), std::move(what), [](const From&) { return Ok{}; });
}

}  // namespace reclaim
