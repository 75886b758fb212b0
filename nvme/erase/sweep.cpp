#include "nvme/erase/sweep.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace reclaim::nvme {
namespace {

constexpr std::int64_t kGlanceMs = 50;  // how late a stop may be heard
// The threads' niceness: where many drives are swept at once, the loop goes first, which has to
// answer.
constexpr int kNice = 10;

// One sweep, shared by its threads.
class Sweep final {
 public:
  Sweep(const std::vector<Stretch>& stretches, const SweepOptions& options, const SweepWork& work,
        const Clock& clock)
      : stretches_(stretches), options_(options), work_(work), clock_(clock) {
    for (const Stretch& stretch : stretches) total_ += stretch.length_bytes;
  }

  SweepResult run(const std::function<void(EraseProgress)>& on_progress, StopFlag& stop) {
    CHECK(options_.queue_depth > 0 && options_.chunk_bytes > 0);
    begun_ = clock_.now().mono;
    std::vector<std::thread> threads;
    const std::size_t count = std::min<std::uint64_t>(
        options_.queue_depth, total_ / options_.chunk_bytes + stretches_.size() + 1);
    {
      const std::lock_guard lock(mutex_);
      running_ = count;
    }
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([this, i] { carry(i); });
    watch(on_progress, stop);
    for (std::thread& thread : threads) thread.join();
    const std::lock_guard lock(mutex_);
    if (result_.end == SweepEnd::done) CHECK(result_.bytes_done == total_);
    return result_;
  }

 private:
  struct Chunk {
    Place place;
    std::uint64_t begin = 0;  // bytes of the whole pass before it
  };

  std::optional<Chunk> next_chunk() {
    const std::lock_guard lock(mutex_);
    if (ending_) return std::nullopt;
    while (at_ < stretches_.size() && offset_ == stretches_[at_].length_bytes) {
      ++at_;
      offset_ = 0;
    }
    if (at_ == stretches_.size()) return std::nullopt;
    const Stretch& stretch = stretches_[at_];
    const std::uint64_t length = std::min(options_.chunk_bytes, stretch.length_bytes - offset_);
    const Place place{stretch.nsid, stretch.offset_bytes + offset_,
                      static_cast<std::uint32_t>(length)};
    offset_ += length;
    return Chunk{place, std::exchange(given_out_, given_out_ + length)};
  }

  // False: the sweep ends.
  bool may_begin(const Place& chunk) {
    std::int64_t wait_ms = 0;
    for (RateLimit* rate : options_.rates) {
      wait_ms = std::max(wait_ms, rate->reserve_ms(chunk.length_bytes));
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(wait_ms), [this] { return ending_; });
    if (ending_) return false;
    result_.bytes_begun += chunk.length_bytes;
    if (in_flight_++ == 0) moved_ = clock_.now().mono;
    return true;
  }

  void carry(std::size_t worker) {
    // The niceness is of this thread alone. Where it is refused, the thread is only not as polite.
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice));
    while (const auto chunk = next_chunk()) {
      if (!may_begin(chunk->place)) break;
      const Status status = work_(worker, chunk->place);
      const std::lock_guard lock(mutex_);
      --in_flight_;
      moved_ = clock_.now().mono;
      if (status) {
        note_done(chunk->begin, chunk->place.length_bytes);
        continue;
      }
      end(SweepEnd::failed, &status.error());
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  // Needs the lock.
  void note_done(std::uint64_t begin, std::uint64_t length) {
    result_.bytes_done += length;
    ahead_.emplace(begin, length);
    while (!ahead_.empty() && ahead_.begin()->first == result_.bytes_in_row) {
      result_.bytes_in_row += ahead_.begin()->second;
      ahead_.erase(ahead_.begin());
    }
  }

  // The first reason stands. Needs the lock.
  void end(SweepEnd how, const Error* error) {
    if (ending_) return;
    ending_ = true;
    result_.end = how;
    if (error != nullptr) result_.error = *error;
    changed_.notify_all();
  }

  void watch(const std::function<void(EraseProgress)>& on_progress, StopFlag& stop) {
    MonoMs reported = begun_;
    MonoMs marked = begun_;
    while (true) {
      std::optional<EraseProgress> progress;
      std::optional<std::uint64_t> in_row;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(kGlanceMs),
                          [this] { return running_ == 0 || ending_; });
        if (running_ == 0 || ending_) break;
        const MonoMs now = clock_.now().mono;
        if (stop.requested()) {
          end(SweepEnd::stopped, nullptr);
        } else if (now.ms >= options_.deadline.ms) {
          end(SweepEnd::late, nullptr);
        } else if (in_flight_ > 0 && now.ms - moved_.ms >= options_.stall_timeout_ms) {
          end(SweepEnd::stalled, nullptr);
        }
        if (ending_) break;
        if (now.ms - reported.ms >= options_.report_interval_ms) {
          reported = now;
          progress = measured(now);
        }
        if (options_.on_mark && now.ms - marked.ms >= options_.mark_interval_ms) {
          marked = now;
          in_row = result_.bytes_in_row;
        }
      }
      if (progress) on_progress(*progress);
      if (in_row) options_.on_mark(*in_row);
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
    if (result_.end != SweepEnd::done) return;
    lock.unlock();
    on_progress(EraseProgress{100, 0});
  }

  [[nodiscard]] EraseProgress measured(MonoMs now) const {
    const auto done = static_cast<double>(result_.bytes_done);
    const double left = static_cast<double>(total_) - done;
    EraseProgress progress;
    progress.percent = total_ == 0 ? 100 : done * 100 / static_cast<double>(total_);
    if (done > 0) {
      const double spent_s = static_cast<double>(now.ms - begun_.ms) / 1000;
      progress.eta_s = static_cast<std::int64_t>(left / done * spent_s);
    }
    return progress;
  }

  const std::vector<Stretch>& stretches_;
  const SweepOptions& options_;
  const SweepWork& work_;
  const Clock& clock_;
  std::uint64_t total_ = 0;
  MonoMs begun_;

  std::mutex mutex_;
  std::condition_variable changed_;               // a thread ended, or all are to
  std::size_t at_ = 0;                            // the stretch that is handed out now
  std::uint64_t offset_ = 0;                      // within it
  std::uint64_t given_out_ = 0;                   // bytes of all stretches
  std::map<std::uint64_t, std::uint64_t> ahead_;  // done behind a gap: begin and length
  std::size_t running_ = 0;
  std::size_t in_flight_ = 0;
  MonoMs moved_;
  bool ending_ = false;
  SweepResult result_;
};

}  // namespace

SweepResult sweep(const std::vector<Stretch>& stretches, const SweepOptions& options,
                  const SweepWork& work, const std::function<void(EraseProgress)>& on_progress,
                  const Clock& clock, StopFlag& stop) {
  return Sweep(stretches, options, work, clock).run(on_progress, stop);
}

}  // namespace reclaim::nvme
