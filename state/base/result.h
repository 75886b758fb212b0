// Result: what anything that can fail returns. We never throw; an error is a value that names what
// happened, and the compiler refuses to let a caller drop it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "state/base/check.h"
#include "state/base/enum_names.h"

namespace reclaim {

// A code exists only if some caller reacts to it. `unknown` is never folded into failure or
// success: the thing asked for may or may not have happened, and the answer is always to read back.
enum class Errc {
  invalid,      // bad input: the caller's text, option, message or argument is at fault
  not_found,    // the thing named does not exist
  refused,      // a guard, a policy or a permission says no
  conflict,     // somebody else changed it meanwhile: read again, decide again
  busy,         // in use by somebody: try later
  unavailable,  // the peer cannot be reached or is overloaded; nothing was done
  failed,       // it was tried and is known not to be done
  unknown,      // timeout, reset, lost lock: it may have been done
  limit,        // one of our own bounds was reached
  cancelled,    // we gave it up ourselves, at shutdown or by an operator's word
  usage,        // a command line that no command takes: its exit code says so
};

constexpr std::string_view to_string(Errc code) {
  return enum_names<Errc::usage>("invalid", "not_found", "refused", "conflict", "busy",
                                 "unavailable", "failed", "unknown", "limit", "cancelled",
                                 "usage")[code];
}

struct Error {
  Errc code = Errc::failed;
  std::string what;  // a sentence for an operator, without a trailing full stop
  int raw = 0;       // errno, HTTP status or NVMe status, where there is one; 0 otherwise

  // Wraps outward, "outer: inner", keeping the code and the raw number.
  [[nodiscard]] Error wrap(std::string_view outer) const {
    return Error{code, std::string(outer) + ": " + what, raw};
  }
};

struct Ok {
  friend constexpr bool operator==(Ok, Ok) = default;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Error{...};` are how results are made.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & {
    CHECK(ok());
    return std::get<0>(value_);
  }
  [[nodiscard]] const T& value() const& {
    CHECK(ok());
    return std::get<0>(value_);
  }
  [[nodiscard]] T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(value_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    CHECK(!ok());
    return std::get<1>(value_);
  }
  [[nodiscard]] Error&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(value_));
  }

 private:
  std::variant<T, Error> value_;
};

// The result of an operation that yields nothing but success: `return Ok{};` or an Error.
using Status = Result<Ok>;

}  // namespace reclaim
