#include "nvme/job_thread.h"

#include <utility>

#include "state/base/check.h"

namespace reclaim::nvme {

JobThread::JobThread(Once<> at_end) : at_end_(std::move(at_end)), thread_([this] { run(); }) {}

JobThread::~JobThread() {
  stop_all();
  finish();
  thread_.join();
}

bool JobThread::has_room(std::size_t queue_max) {
  const std::lock_guard lock(mutex_);
  return queue_.size() < queue_max;
}

void JobThread::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(!finishing_);
    queue_.push_back(Entry{std::move(job), std::make_shared<StopFlag>()});
  }
  changed_.notify_one();
}

void JobThread::stop_all() {
  const std::lock_guard lock(mutex_);
  if (running_) running_->request();
  for (const Entry& entry : queue_) entry.stop->request();
}

void JobThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_one();
}

void JobThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return finishing_ || !queue_.empty(); });
    if (queue_.empty()) break;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    running_ = entry.stop;
    lock.unlock();
    entry.job(*entry.stop);  // what it captured goes here, not under the lock
    lock.lock();
    running_.reset();
  }
  lock.unlock();
  at_end_();
}

}  // namespace reclaim::nvme
