// A thread with a queue of jobs, run in order. Every job that was accepted is run, also after it
// was told to end: it then ends quickly and its caller still gets an answer. Thread: the owner's;
// jobs run on its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "nvme/stop_flag.h"
#include "state/base/callback.h"

namespace reclaim::nvme {

class JobThread final {
 public:
  using Job = Once<StopFlag&>;

  // `at_end` runs on that thread after the last job.
  explicit JobThread(Once<> at_end);
  // Finishes the queue, with every job told to end, and joins.
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Fewer than `queue_max` jobs wait.
  [[nodiscard]] bool has_room(std::size_t queue_max);
  void submit(Job job);
  // Tells the job that runs and those that wait to end; jobs submitted later are not concerned.
  void stop_all();
  // Ends the thread after the jobs that wait; nothing may be submitted any more.
  void finish();

 private:
  struct Entry {
    Job job;
    std::shared_ptr<StopFlag> stop;
  };
  void run();

  Once<> at_end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  std::shared_ptr<StopFlag> running_;  // of the job that runs now
  bool finishing_ = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace reclaim::nvme
