// Makes the facts that the conductor's effects tell of an error, and tells which errors only mean
// "later". Of the conductor alone.
#pragma once

#include <string>
#include <utility>

#include "state/base/result.h"
#include "state/device/step.h"

namespace reclaim {

inline Facts said(const Error& error) {
  Facts facts;
  facts.detail = error.what;
  return facts;
}

inline Facts said(std::string text) {
  Facts facts;
  facts.detail = std::move(text);
  return facts;
}

// Nothing is wrong with what was asked, only with the time.
inline bool away(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::unknown || error.code == Errc::busy;
}

// A guard refused before anything was sent: it is looked at again with the next survey.
inline bool may_pass(const Error& error) {
  return error.code == Errc::refused || error.code == Errc::busy;
}

}  // namespace reclaim
