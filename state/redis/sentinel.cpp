#include "state/redis/sentinel.h"

#include <fmt/core.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::int64_t kAskAgainMs = 2'000;

}  // namespace

RedisOptions sentinel_options(const RedisOptions& redis, const RedisAddress& sentinel) {
  RedisOptions options = redis;
  options.called = "Sentinel";
  options.sentinels.clear();
  options.host = sentinel.host;
  options.port = sentinel.port;
  options.username = redis.sentinel_username;
  options.password = redis.sentinel_password;
  options.db = 0;
  return options;
}

std::vector<std::string> sentinel_question(const RedisOptions& redis) {
  return {"SENTINEL", "get-master-addr-by-name", redis.sentinel_service};
}

Result<RedisAddress> master_in(const RedisReply& answer, const RedisOptions& redis) {
  if (answer.type != RedisReply::Type::array || answer.elements.size() != 2) {
    return Error{Errc::not_found, fmt::format("it knows no service '{}'", redis.sentinel_service)};
  }
  const auto port = parse_number<std::uint16_t>(answer.elements[1].text);
  if (!port || answer.elements[0].text.empty()) {
    return Error{Errc::failed, "its answer has no address"};
  }
  return RedisAddress{answer.elements[0].text, *port};
}

Status check_is_master(const RedisReply& role, std::string_view who) {
  const bool told = role.type == RedisReply::Type::array && !role.elements.empty();
  const std::string& word = told ? role.elements.front().text : role.text;
  if (word == "master") return Ok{};
  return Error{Errc::unavailable, fmt::format("{} calls it a master, but it says that it is a {}",
                                              who, word.empty() ? "server without a role" : word)};
}

SentinelWatch::SentinelWatch(uv_loop_t* loop, const RedisOptions& options, OnFound on_found,
                             OnMoved on_moved)
    : loop_(loop),
      options_(options),
      on_found_(std::move(on_found)),
      on_moved_(std::move(on_moved)),
      timer_(loop) {}

void SentinelWatch::find() {
  searching_ = true;
  asked_ = 0;
  said_.clear();
  timer_.after(0, [this] { ask_next(); });
}

void SentinelWatch::ask_next() {
  sentinel_.reset();
  const RedisGreeting greeting{sentinel_question(options_),
                               [this](const RedisReply& reply) { return heard(reply); }};
  const RedisOptions asked = sentinel_options(options_, options_.sentinels.at(at_));
  auto created = RedisClient::create(loop_, asked, silent_, greeting);
  CHECK(created.ok());  // these options were checked with the others
  sentinel_ = *std::move(created);
  sentinel_->on_state([this](const RedisState& state) { on_sentinel(state); });
  sentinel_->start();
}

Status SentinelWatch::heard(const RedisReply& reply) {
  auto master = master_in(reply, options_);
  if (!master) return std::move(master).error();
  master_ = *std::move(master);
  return Ok{};
}

void SentinelWatch::on_sentinel(const RedisState& state) {
  if (state.connected) return settle();
  said_ += (said_.empty() ? "" : "; ") + state.last_error;
  at_ = (at_ + 1) % options_.sentinels.size();
  ++asked_;
  const bool all = asked_ >= options_.sentinels.size();
  timer_.after(all ? kAskAgainMs : 0, [this] { ask_next(); });
  sentinel_.reset();  // it does not go on by itself
  if (!all) return;
  asked_ = 0;
  const std::string said = std::exchange(said_, "");
  if (!std::exchange(searching_, false)) return;
  timer_.stop();
  const auto on_found = on_found_;
  on_found(Error{Errc::unavailable, "no sentinel names a master: " + said});
}

void SentinelWatch::settle() {
  asked_ = 0;
  said_.clear();
  timer_.after(kAskAgainMs, [this] { look_again(); });
  const bool moved = std::exchange(found_, master_) != master_;
  if (std::exchange(searching_, false)) {
    const auto on_found = on_found_;
    on_found(master_);
  } else if (moved) {
    const auto on_moved = on_moved_;
    on_moved(master_);
  }
}

void SentinelWatch::look_again() {
  sentinel_->command(sentinel_question(options_), [this](const Result<RedisReply>& reply) {
    if (!reply && reply.error().code == Errc::cancelled) return;  // it ended, perhaps with `this`
    // One whose connection ends says so by on_sentinel, which has gone on to the next already.
    if (sentinel_ == nullptr || searching_) return;
    if (reply && heard(*reply)) return settle();
    timer_.after(kAskAgainMs, [this] { ask_next(); });
  });
}

}  // namespace reclaim
