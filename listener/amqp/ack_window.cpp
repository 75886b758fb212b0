#include "listener/amqp/ack_window.h"

namespace reclaim::listener {

void AckWindow::reset() {
  sent_through_ = 0;
  settled_through_ = 0;
  settled_.clear();
}

bool AckWindow::delivered(std::uint64_t tag) {
  if (tag != settled_through_ + settled_.size() + 1) return false;
  settled_.push_back(false);
  return true;
}

bool AckWindow::settle(std::uint64_t tag) {
  if (tag <= settled_through_ || tag > settled_through_ + settled_.size()) return false;
  const auto index = static_cast<std::size_t>(tag - settled_through_ - 1);
  if (settled_[index]) return false;
  settled_[index] = true;
  while (!settled_.empty() && settled_.front()) {
    settled_.pop_front();
    ++settled_through_;
  }
  return true;
}

}  // namespace reclaim::listener
