// FirstError: for a value that is put together from many results. Each is put where it belongs
// until one is an error; what comes after that is left as it is.
#pragma once

#include <utility>

#include "state/base/result.h"

namespace reclaim {

class FirstError final {
 public:
  template <typename T, typename U>
  void or_set(T& into, Result<U> from) {
    if (!status_.ok()) return;
    if (from.ok()) {
      into = *std::move(from);
    } else {
      status_ = std::move(from).error();
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }
  // The value, if there was no error.
  template <typename T>
  [[nodiscard]] Result<T> or_value(T value) const {
    if (!status_.ok()) return status_.error();
    return value;
  }

 private:
  Status status_ = Ok{};
};

}  // namespace reclaim
