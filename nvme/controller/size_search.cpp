#include "nvme/controller/size_search.h"

#include <algorithm>

namespace reclaim::nvme {

std::optional<std::uint64_t> SizeSearch::next() const {
  if (refused_ - taken_ <= 1) return std::nullopt;
  return next_;
}

void SizeSearch::taken() {
  taken_ = next_;
  next_ = taken_ + (refused_ - taken_) / 2;
}

void SizeSearch::refused() {
  refused_ = next_;
  if (taken_ != 0) {
    next_ = taken_ + (refused_ - taken_) / 2;
    return;
  }
  next_ = refused_ - std::min(step_, refused_ - 1);
  step_ *= 2;
  // Nothing was taken yet: the last to be asked for is one block.
  next_ = std::max<std::uint64_t>(next_, 1);
}

}  // namespace reclaim::nvme
