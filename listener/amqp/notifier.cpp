#include "listener/amqp/notifier.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "listener/amqp/retry.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kAtOnceMax = 50;
constexpr std::int64_t kWakeMs = 100;     // after which what was posted is surely written
constexpr std::int64_t kRestMs = 30'000;  // what no wake told of: left by the worker before
constexpr std::int64_t kStopPatienceMs = 3'000;

}  // namespace

Notifier::Notifier(uv_loop_t* loop, NotifierOptions options, Outbox& outbox, Read read,
                   Logger& log, Publish publish)
    : options_(std::move(options)),
      outbox_(outbox),
      read_(std::move(read)),
      publish_(publish ? std::move(publish)
                       : [options = options_](std::size_t host_index,
                                              const std::vector<OutgoingMessage>& messages,
                                              const std::atomic<bool>& cancelled) {
                           return publish_confirmed(options, host_index, messages, cancelled);
                         }),
      log_(log),
      random_(static_cast<std::minstd_rand::result_type>(
          std::hash<std::string>{}(options_.amqp.connection_name))),
      first_host_(random_() % options_.amqp.hosts.size()),
      timer_(loop),
      patience_(loop),
      mailbox_(loop, [this](PublishOutcome outcome) { on_published(std::move(outcome)); }) {
  errand_->mailbox = &mailbox_;
}

// Neither a name lookup nor a connect can be called back.
Notifier::~Notifier() {
  errand_->cancelled = true;
  {
    const std::lock_guard lock(errand_->mutex);
    errand_->mailbox = nullptr;
  }
  if (thread_.joinable()) thread_.detach();
}

void Notifier::start() {
  rest(0);
}

void Notifier::wake() {
  woken_ = true;
  // While the broker is away its own pause counts.
  if (!busy_ && !stopping_ && failures_ == 0) rest(kWakeMs);
}

void Notifier::rest(std::int64_t delay_ms) {
  timer_.after(delay_ms, [this] { look(); });
}

void Notifier::look() {
  if (busy_ || stopping_) return;
  busy_ = true;
  woken_ = false;
  outbox_.read_outbox(kAtOnceMax, [this](Result<OutboxPage> page) { on_page(std::move(page)); });
}

void Notifier::on_page(Result<OutboxPage> page) {
  if (stopping_) return;
  if (!page) return try_again(page.error());
  counters_.waiting = page->waiting;
  counters_.refused += page->removed;
  if (page->dropped > counters_.dropped) {
    log_.error(log_name::kNotifier,
               fmt::format("{} notifications were dropped unsent so far: the outbox is full; see "
                           "that the broker takes them",
                           page->dropped));
  }
  counters_.dropped = page->dropped;
  std::vector<std::string> refused;
  for (const OutboxEntry& entry : page->entries) {
    if (auto message = read_(entry)) {
      batch_.push_back(*std::move(message));
    } else {
      refused.push_back(entry.id);
    }
  }
  if (!refused.empty() || page->removed > 0) {
    counters_.refused += refused.size();
    log_.error(log_name::kNotifier,
               fmt::format("{} entries of the outbox were not posted by this host's worker and are "
                           "removed; another client wrote them: find out who has this Redis's "
                           "password",
                           refused.size() + page->removed));
  }
  if (!refused.empty()) {
    batch_.clear();  // read again without them
    return remove(std::move(refused));
  }
  if (!batch_.empty()) return publish_next();
  busy_ = false;
  rest(woken_ ? kWakeMs : kRestMs);
}

void Notifier::publish_next() {
  const std::size_t index = host_for_attempt(options_.amqp.hosts.size(), first_host_, attempts_);
  ++attempts_;
  thread_ = std::thread([errand = errand_, publish = publish_, index, batch = batch_] {
    PublishOutcome outcome = publish(index, batch, errand->cancelled);
    const std::lock_guard lock(errand->mutex);
    if (errand->mailbox != nullptr) errand->mailbox->post(std::move(outcome));
  });
}

void Notifier::on_published(PublishOutcome outcome) {
  thread_.join();
  counters_.published += outcome.confirmed;
  counters_.unrouted += outcome.unrouted;
  if (outcome.unrouted > 0 && !std::exchange(told_unrouted_, true)) {
    log_.warning(log_name::kNotifier,
                 fmt::format("no queue is bound for some notifications in exchange '{}', and "
                             "RabbitMQ drops what nobody listens to: start a listener for their "
                             "topic and priority",
                             options_.exchange));
  }
  if (outcome.error && outcome.error->code != Errc::cancelled) {
    ++counters_.failed;
    ++failures_;
    log_.warning(log_name::kNotifier, "notifications wait", {{"why", outcome.error->what}});
  } else {
    failures_ = 0;
    --attempts_;  // the host that took them takes the next
  }
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(outcome.confirmed, batch_.size()); ++i) {
    ids.push_back(batch_[i].id);
  }
  batch_.clear();
  if (!ids.empty()) return remove(std::move(ids));
  if (stopping_) return finish_stop();
  busy_ = false;
  rest(retry_delay_ms(options_.amqp, failures_, static_cast<std::uint32_t>(random_())));
}

// Again until it is done: what was confirmed is not read again meanwhile.
void Notifier::remove(std::vector<std::string> ids) {
  outbox_.remove_from_outbox(ids, [this, ids](Result<Ok> removed) {
    if (!removed && !stopping_) {
      log_.warning(log_name::kNotifier,
                   "published notifications cannot be removed from the outbox, trying again",
                   {{"why", removed.error().what}});
      timer_.after(options_.amqp.reconnect_max_ms, [this, ids] { remove(ids); });
      return;
    }
    if (removed) counters_.waiting -= std::min<std::uint64_t>(counters_.waiting, ids.size());
    if (stopping_) return finish_stop();
    busy_ = false;
    rest(failures_ == 0
             ? 0
             : retry_delay_ms(options_.amqp, failures_, static_cast<std::uint32_t>(random_())));
  });
}

void Notifier::try_again(const Error& error) {
  busy_ = false;
  log_.warning(log_name::kNotifier, "the outbox cannot be read", {{"why", error.what}});
  rest(options_.amqp.reconnect_max_ms);
}

void Notifier::stop(Once<> on_stopped) {
  on_stopped_ = std::move(on_stopped);
  stopping_ = true;
  errand_->cancelled = true;
  timer_.stop();
  patience_.after(thread_.joinable() ? kStopPatienceMs : 0, [this] { finish_stop(); });
}

void Notifier::finish_stop() {
  patience_.stop();
  const Once<> done = std::move(on_stopped_);
  if (done) done();
}

}  // namespace reclaim::listener
