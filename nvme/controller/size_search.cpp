#include "nvme/controller/size_search.h"

#include <algorithm>

namespace reclaim::nvme {

SizeSearch::SizeSearch(std::uint64_t whole_blocks, std::uint64_t former_blocks,
                       std::uint64_t unit_blocks)
    : whole_(whole_blocks),
      former_(former_blocks < whole_blocks ? former_blocks : 0),
      unit_(std::max<std::uint64_t>(std::min(whole_blocks, unit_blocks), 1)),
      refused_(whole_blocks + 1),
      next_(former_ != 0 ? former_ : whole_),
      step_(unit_) {}

std::optional<std::uint64_t> SizeSearch::next() const {
  const bool nothing_was_asked = taken_ == 0 && refused_ > whole_ && whole_ != 0;
  if (!nothing_was_asked && refused_ - taken_ <= unit_) return std::nullopt;
  return next_;
}

void SizeSearch::taken() {
  taken_ = next_;
  // The former size is mostly all that the drive takes: one unit more is refused then, and ends the
  // search.
  if (taken_ == former_) {
    next_ = std::min(former_ + unit_, whole_);
  } else if (refused_ > whole_) {
    next_ = whole_;
  } else {
    halve();
  }
}

void SizeSearch::refused() {
  refused_ = next_;
  if (taken_ != 0) return halve();
  next_ = refused_ - std::min(step_, refused_ - 1);
  step_ *= 2;
  // Nothing was taken yet: the last to be asked for is one block.
  next_ = std::max<std::uint64_t>(next_, 1);
}

void SizeSearch::halve() {
  next_ = taken_ + (refused_ - taken_) / 2;
}

}  // namespace reclaim::nvme
