#include "state/redis/client.h"

#include <fmt/core.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <random>
#include <utility>

#include "state/redis/answers.h"
#include "state/redis/link.h"
#include "state/redis/sentinel.h"

namespace reclaim {
namespace {

constexpr std::size_t kAddressesMax = 16;
constexpr std::uint32_t kDoublingsMax = 16;  // of the pause before the next attempt
constexpr std::int64_t kArrivingMs = 500;    // in which some of a long answer has to arrive

std::int64_t now_ms() {
  return static_cast<std::int64_t>(uv_hrtime() / 1'000'000);
}

void ignore_sigpipe() {
  struct sigaction current {};
  if (sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

bool is_ip_address(const std::string& host) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  return uv_ip4_addr(host.c_str(), 0, &v4) == 0 || uv_ip6_addr(host.c_str(), 0, &v6) == 0;
}

// A replica, which a master becomes that another one was put in the place of.
bool says_read_only(const Result<RedisReply>& reply) {
  return !reply && reply.error().code == Errc::unavailable &&
         reply.error().what.find("READONLY") != std::string::npos;
}

}  // namespace

// All of the client; on its own so that it survives a callback in which the client is destroyed.
class RedisClient::Core final : public std::enable_shared_from_this<RedisClient::Core> {
 public:
  Core(uv_loop_t* loop, RedisOptions options, Logger& logger, RedisGreeting greeting)
      : loop_(loop),
        options_(std::move(options)),
        logger_(logger),
        greeting_(std::move(greeting)),
        retry_timer_(loop),
        connect_timer_(loop),
        deadline_timer_(loop),
        answers_(loop, [this] { drain(); }),
        random_(uv_hrtime()) {
    if (!options_.sentinels.empty()) options_.host.clear();
    if (options_.tls.enabled) tls_ = make_redis_tls(options_.tls);
    name_ = describe(options_);
  }

  void start();
  void close();
  void command(std::vector<std::string> args, Callback<RedisReply> done, int timeout_ms);
  void answer(Result<RedisReply> result, Callback<RedisReply> done);

  const RedisState& state() const { return state_; }
  std::function<void(const RedisState&)> on_change;

 private:
  struct Pending {
    std::uint64_t ticket = 0;
    Callback<RedisReply> done;
    std::int64_t deadline_ms = 0;
    std::string word;  // the command's first, for messages
  };
  struct Resolving {
    uv_getaddrinfo_t request{};
    std::weak_ptr<Core> core;
  };

  void find_master();
  void on_master(const Result<RedisAddress>& master);
  void on_master_moved(const RedisAddress& master);
  void resolve();
  void on_resolved(int status, const addrinfo* found);
  void connect_next();
  void on_activity();
  void introduce();
  void on_introduction(Result<RedisReply> reply);
  void settle_calls(const Result<RedisReply>& answer);
  void on_ready();
  void attempt_failed(const std::string& why);
  void lose_connection(const Error& outcome, const std::string& why);
  void retry_later();
  void on_deadline();
  void arm_deadline();
  void give_up();
  void finish(Callback<RedisReply> done, Result<RedisReply> result);
  void drain();
  void report(bool connected, const std::string& error);

  uv_loop_t* loop_;
  RedisOptions options_;
  // "127.0.0.1:6379/0" or "/run/redis.sock/0", for messages; before a sentinel named the master,
  // who they are.
  std::string name_;
  Logger& logger_;
  RedisGreeting greeting_;
  RedisState state_;
  bool started_ = false;
  bool closed_ = false;

  Resolving* resolving_ = nullptr;
  std::unique_ptr<RedisTls> tls_;  // nullptr: without
  std::vector<std::string> addresses_;
  std::size_t next_address_ = 0;
  std::unique_ptr<RedisLink> link_;
  bool introduced_ = false;
  std::size_t introductions_left_ = 0;
  RedisCalls calls_;
  std::uint32_t failures_ = 0;

  std::uint64_t last_ticket_ = 0;
  std::deque<Pending> pending_;

  uv::Timer retry_timer_;
  uv::Timer connect_timer_;
  uv::Timer deadline_timer_;
  RedisAnswers answers_;
  std::int64_t deadline_armed_ms_ = 0;  // 0: not armed
  std::uint64_t late_ticket_ = 0;       // the command that was given one more round
  std::minstd_rand random_;
  std::unique_ptr<SentinelWatch> sentinels_;
};

void RedisClient::Core::start() {
  CHECK(!started_ && !closed_);
  const auto self = shared_from_this();
  started_ = true;
  find_master();
}

void RedisClient::Core::find_master() {
  if (options_.sentinels.empty()) return resolve();
  if (sentinels_ == nullptr) {
    sentinels_ = std::make_unique<SentinelWatch>(
        loop_, options_,
        [this](const Result<RedisAddress>& master) {
          const auto self = shared_from_this();
          on_master(master);
          drain();
        },
        [this](const RedisAddress& master) {
          const auto self = shared_from_this();
          on_master_moved(master);
          drain();
        });
  }
  sentinels_->find();
}

void RedisClient::Core::on_master(const Result<RedisAddress>& master) {
  if (!master) {
    options_.host.clear();
    name_ = describe(options_);
    addresses_.clear();
    next_address_ = 0;
    return attempt_failed(master.error().what);
  }
  options_.host = master->host;
  options_.port = master->port;
  name_ = describe(options_);
  resolve();
}

void RedisClient::Core::on_master_moved(const RedisAddress& master) {
  const std::string why = fmt::format("the sentinels have made {} the master", describe(master));
  if (!state_.connected) {
    // Whatever was on its way to the old one; what is being resolved counts for nothing.
    retry_timer_.stop();
    connect_timer_.stop();
    resolving_ = nullptr;
    link_.reset();
    return on_master(master);
  }
  lose_connection(Error{Errc::unknown, fmt::format("{} before Redis at {} answered; the outcome is "
                                                   "unknown",
                                                   why, name_)},
                  why);
}

void RedisClient::Core::resolve() {
  if (!options_.unix_socket.empty() || is_ip_address(options_.host)) {
    addresses_ = {options_.host};
    next_address_ = 0;
    connect_next();
    return;
  }
  auto request = std::make_unique<Resolving>();
  request->core = weak_from_this();
  request->request.data = request.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int rc = uv_getaddrinfo(
      loop_, &request->request,
      [](uv_getaddrinfo_t* done, int status, addrinfo* found) {
        const std::unique_ptr<Resolving> owner(static_cast<Resolving*>(done->data));
        const std::shared_ptr<Core> core = owner->core.lock();
        if (core && core->resolving_ == owner.get()) core->on_resolved(status, found);
        uv_freeaddrinfo(found);
      },
      options_.host.c_str(), nullptr, &hints);
  if (rc != 0) {
    attempt_failed(fmt::format("cannot resolve '{}': {}", options_.host, uv_strerror(rc)));
    return;
  }
  resolving_ = request.release();
}

void RedisClient::Core::on_resolved(int status, const addrinfo* found) {
  resolving_ = nullptr;
  if (closed_) return;
  addresses_.clear();
  next_address_ = 0;
  for (; found != nullptr && addresses_.size() < kAddressesMax; found = found->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses_.emplace_back(text.data());
    }
  }
  if (status != 0 || addresses_.empty()) {
    attempt_failed(fmt::format("cannot resolve '{}': {}", options_.host,
                               status != 0 ? uv_strerror(status) : "no address"));
    drain();
    return;
  }
  connect_next();
}

void RedisClient::Core::connect_next() {
  const RedisTarget target{addresses_.at(next_address_++), options_.port, options_.unix_socket};
  introduced_ = false;
  introductions_left_ = 0;
  Result<std::unique_ptr<RedisTlsSession>> tls = std::unique_ptr<RedisTlsSession>();
  if (tls_ != nullptr) tls = tls_->session(options_.host);
  if (!tls.ok()) return attempt_failed(tls.error().what);
  Result<std::unique_ptr<RedisLink>> link =
      RedisLink::open(loop_, target, *std::move(tls), options_.reply_bytes_max,
                      options_.reply_elements_max, [this] { on_activity(); });
  if (!link.ok()) {
    attempt_failed(link.error().what);
    return;
  }
  link_ = *std::move(link);
  connect_timer_.after(options_.connect_timeout_ms, [this] {
    const auto self = shared_from_this();
    attempt_failed(fmt::format(
        "no answer within {} ms{}", options_.connect_timeout_ms,
        link_->in_handshake() ? ", nor a TLS handshake; name its tls-port in [redis] url" : ""));
    drain();
  });
}

void RedisClient::Core::on_activity() {
  const auto self = shared_from_this();
  if (link_->connected() && !introduced_) introduce();
  std::string renewed_why;
  std::deque<RedisArrival> arrivals = link_->take_arrivals();
  for (RedisArrival& arrival : arrivals) {
    if (link_ == nullptr) break;
    if (arrival.ticket == 0) {
      on_introduction(std::move(arrival.reply));
      continue;
    }
    CHECK(!pending_.empty() && pending_.front().ticket == arrival.ticket);
    if (says_read_only(arrival.reply)) {
      renewed_why = "it takes no writes any more: it has become a replica";
    } else if (greeting_.calls && calls_.is_outdated_by(arrival.reply)) {
      renewed_why = "it lacks the functions of Reclaim now, or the user's rights were changed";
    }
    finish(std::move(pending_.front().done), std::move(arrival.reply));
    pending_.pop_front();
  }
  if (link_ != nullptr && !renewed_why.empty() && state_.connected) {
    // Connected anew, to what the name stands for now; not at once, for it may be that one again.
    failures_ = kDoublingsMax;
    lose_connection(Error{Errc::unknown, fmt::format("Redis at {}: {}; the outcome is unknown",
                                                     name_, renewed_why)},
                    renewed_why);
  }
  if (link_ != nullptr && link_->closed()) {
    const std::string why = link_->closed_why();
    if (state_.connected) {
      // The command would have an answer over the limits each time.
      if (link_->reply_over_limit() && !pending_.empty()) {
        finish(std::move(pending_.front().done),
               Error{Errc::limit,
                     fmt::format("the answer to {} is too long: {}", pending_.front().word, why)});
        pending_.pop_front();
      }
      lose_connection(Error{Errc::unknown, fmt::format("the connection to Redis at {} ended before "
                                                       "the answer came: {}",
                                                       name_, why)},
                      why);
    } else {
      attempt_failed(why);
    }
  }
  if (pending_.empty()) {
    deadline_timer_.stop();
    deadline_armed_ms_ = 0;
  }
  drain();
}

// Presents itself: all in one go, the answers come in order.
void RedisClient::Core::introduce() {
  introduced_ = true;
  std::vector<std::vector<std::string>> commands;
  if (!options_.password.empty() && !options_.username.empty()) {
    commands.push_back({"AUTH", options_.username, options_.password});
  } else if (!options_.password.empty()) {
    commands.push_back({"AUTH", options_.password});
  }
  if (options_.db != 0) commands.push_back({"SELECT", std::to_string(options_.db)});
  if (!options_.sentinels.empty()) commands.push_back({"ROLE"});
  commands.push_back(greeting_.command);
  introductions_left_ = commands.size();
  for (const std::vector<std::string>& words : commands) {
    if (!link_->send(words, 0)) return;  // closed: on_activity sees it next
  }
}

void RedisClient::Core::on_introduction(Result<RedisReply> reply) {
  if (introductions_left_ == 0) return settle_calls(reply);
  --introductions_left_;
  Status judged = Ok{};
  if (reply.ok() && introductions_left_ == 1 && !options_.sentinels.empty()) {
    judged = check_is_master(*reply, "the sentinel");
  } else if (reply.ok() && introductions_left_ == 0 && greeting_.judge) {
    judged = greeting_.judge(*reply);
  }
  if (!judged.ok()) reply = judged.error();
  if (!reply.ok()) {
    std::string why = reply.error().what;
    if (why.find("AUTH") != std::string::npos || why.find("WRONGPASS") != std::string::npos) {
      why += options_.called == "Redis"
                 ? "; check user and password in [redis] url"
                 : "; check sentinel_username and sentinel_password in [redis] url";
    } else if (why.find("NOPERM") != std::string::npos && !options_.sentinels.empty()) {
      why += "; allow the user of [redis] url the command ROLE";
    }
    next_address_ = addresses_.size();  // the server was found; another address is no remedy
    attempt_failed(why);
    return;
  }
  if (introductions_left_ > 0) return;
  if (!greeting_.calls) return on_ready();
  (void)link_->send(RedisCalls::first_question(), 0);  // closed: on_activity sees it next
}

void RedisClient::Core::settle_calls(const Result<RedisReply>& answer) {
  const auto question = calls_.next(answer);
  if (!question.ok()) {
    next_address_ = addresses_.size();
    return attempt_failed(question.error().what);
  }
  if (question->empty()) return on_ready();
  (void)link_->send(*question, 0);
}

void RedisClient::Core::on_ready() {
  connect_timer_.stop();
  failures_ = 0;
  ++state_.connects;
  state_.tls = link_->tls_facts();
  logger_.info(log_name::kRedis,
               fmt::format("connected to {} at {}{}{}", options_.called, name_,
                           state_.tls.version.empty() ? "" : " by ", state_.tls.version));
  if (const std::string why = why_no_functions(calls_.lua());
      !why.empty() && calls_.lua() != state_.lua) {
    logger_.warning(log_name::kRedis, fmt::format("{}: {}", name_, why));
  }
  report(true, state_.last_error);
}

void RedisClient::Core::attempt_failed(const std::string& why) {
  connect_timer_.stop();
  link_.reset();
  if (next_address_ < addresses_.size()) {
    // Another address of the same name: at once, but never deeper in the stack.
    retry_timer_.after(0, [this] {
      const auto self = shared_from_this();
      connect_next();
    });
    return;
  }
  const std::string text = fmt::format("cannot use {} at {}: {}", options_.called, name_, why);
  if (failures_ == 0 || text != state_.last_error) logger_.warning(log_name::kRedis, text);
  retry_later();
  report(false, text);
}

void RedisClient::Core::lose_connection(const Error& outcome, const std::string& why) {
  link_.reset();
  const std::string text = fmt::format("lost {} at {}: {}", options_.called, name_, why);
  logger_.warning(log_name::kRedis, text);
  std::deque<Pending> lost;
  lost.swap(pending_);
  for (Pending& pending : lost) finish(std::move(pending.done), outcome);
  retry_later();
  report(false, text);
}

void RedisClient::Core::retry_later() {
  const std::uint32_t doublings = std::min(failures_, kDoublingsMax);
  ++failures_;
  const std::int64_t full = std::min<std::int64_t>(
      options_.reconnect_max_ms, static_cast<std::int64_t>(options_.reconnect_min_ms) << doublings);
  // Half of it by chance, so that a cloud's hosts do not all come back in the same moment.
  const std::int64_t delay =
      full / 2 + std::uniform_int_distribution<std::int64_t>(0, full - full / 2)(random_);
  retry_timer_.after(delay, [this] {
    const auto self = shared_from_this();
    find_master();
    drain();
  });
}

void RedisClient::Core::report(bool connected, const std::string& error) {
  state_.connected = connected;
  state_.last_error = error;
  state_.lua = calls_.lua();
  const auto notify = on_change;
  if (notify) notify(state_);
}

void RedisClient::Core::command(std::vector<std::string> args, Callback<RedisReply> done,
                                int timeout_ms) {
  CHECK(!args.empty() && done);
  const auto refuse = [&](Errc code, std::string why) {
    answer(Error{code, std::move(why)}, std::move(done));
  };
  if (closed_) return refuse(Errc::cancelled, "the connection to Redis was given up");
  if (!state_.connected) {
    return refuse(Errc::unavailable, state_.last_error.empty()
                                         ? fmt::format("not yet connected to Redis at {}", name_)
                                         : state_.last_error);
  }
  if (pending_.size() >= options_.commands_in_flight_max) {
    return refuse(Errc::limit,
                  fmt::format("{} commands wait for Redis at {} already", pending_.size(), name_));
  }
  if (Status length = check_length(args, options_); !length.ok()) {
    return answer(std::move(length).error(), std::move(done));
  }
  calls_.fit(args);
  const std::uint64_t ticket = ++last_ticket_;
  if (!link_->send(args, ticket)) {
    return refuse(Errc::unavailable, fmt::format("the connection to Redis at {} is ending", name_));
  }
  const int timeout = timeout_ms > 0 ? timeout_ms : options_.command_timeout_ms;
  pending_.push_back(Pending{ticket, std::move(done), now_ms() + timeout, std::move(args.front())});
  if (deadline_armed_ms_ == 0 || pending_.back().deadline_ms < deadline_armed_ms_) arm_deadline();
}

void RedisClient::Core::arm_deadline() {
  if (pending_.empty()) return;
  const auto first = std::min_element(
      pending_.begin(), pending_.end(),
      [](const Pending& a, const Pending& b) { return a.deadline_ms < b.deadline_ms; });
  deadline_armed_ms_ = first->deadline_ms;
  deadline_timer_.after(first->deadline_ms - now_ms(), [this] { on_deadline(); });
}

void RedisClient::Core::on_deadline() {
  const auto self = shared_from_this();
  deadline_armed_ms_ = 0;
  const std::int64_t now = now_ms();
  const auto late = std::find_if(pending_.begin(), pending_.end(), [now](const Pending& pending) {
    return pending.deadline_ms <= now;
  });
  if (late == pending_.end()) {
    arm_deadline();
    return;
  }
  if (link_ != nullptr && link_->arriving()) {
    // A long answer, on a slow line: it ends, or grows over the limit.
    deadline_armed_ms_ = now + kArrivingMs;
    deadline_timer_.after(kArrivingMs, [this] { on_deadline(); });
    return;
  }
  if (late->ticket != late_ticket_) {
    // The loop may have been late, and the answer be waiting to be read: one more round.
    late_ticket_ = late->ticket;
    deadline_armed_ms_ = now;
    deadline_timer_.after(1, [this] { on_deadline(); });
    return;
  }
  const std::string why = fmt::format("no answer to {} in time", late->word);
  lose_connection(Error{Errc::unknown, fmt::format("Redis at {}: {}, so the connection was given "
                                                   "up; the outcome is unknown",
                                                   name_, why)},
                  why);
  drain();
}

void RedisClient::Core::finish(Callback<RedisReply> done, Result<RedisReply> result) {
  answers_.add(std::move(done), std::move(result));
}

void RedisClient::Core::answer(Result<RedisReply> result, Callback<RedisReply> done) {
  finish(std::move(done), std::move(result));
  answers_.soon();
}

void RedisClient::Core::drain() {
  const auto self = shared_from_this();
  answers_.drain();
}

void RedisClient::Core::close() {
  const auto self = shared_from_this();
  if (!closed_) give_up();
  answers_.drain_all();
}

void RedisClient::Core::give_up() {
  closed_ = true;
  on_change = nullptr;
  state_.connected = false;
  if (resolving_ != nullptr) uv_cancel(reinterpret_cast<uv_req_t*>(&resolving_->request));
  resolving_ = nullptr;
  link_.reset();
  sentinels_.reset();
  retry_timer_.stop();
  connect_timer_.stop();
  deadline_timer_.stop();
  std::deque<Pending> given_up;
  given_up.swap(pending_);
  for (Pending& pending : given_up) {
    finish(std::move(pending.done),
           Error{Errc::cancelled, "the connection to Redis was given up before the answer came"});
  }
}

RedisClient::RedisClient(std::shared_ptr<Core> core) : core_(std::move(core)) {}

RedisClient::~RedisClient() {
  core_->close();
}

Result<std::unique_ptr<RedisClient>> RedisClient::create(uv_loop_t* loop, RedisOptions options,
                                                         Logger& logger, RedisGreeting greeting) {
  if (Status checked = check_options(options); !checked.ok()) return std::move(checked).error();
  ignore_sigpipe();
  return std::unique_ptr<RedisClient>(new RedisClient(
      std::make_shared<Core>(loop, std::move(options), logger, std::move(greeting))));
}

void RedisClient::start() {
  core_->start();
}
void RedisClient::close() {
  core_->close();
}
const RedisState& RedisClient::state() const {
  return core_->state();
}

void RedisClient::on_state(std::function<void(const RedisState&)> on_change) {
  core_->on_change = std::move(on_change);
}

void RedisClient::command(std::vector<std::string> args, Callback<RedisReply> done,
                          int timeout_ms) {
  core_->command(std::move(args), measured(measure_, std::move(done)), timeout_ms);
}

void RedisClient::ask_each(const std::vector<std::string>& args,
                           Callback<std::vector<RedisSaid>> done) {
  command(args, [done = std::move(done)](Result<RedisReply> reply) {
    std::vector<RedisSaid> said;
    said.push_back({"", std::move(reply)});
    done(std::move(said));
  });
}

void RedisClient::answer(Result<RedisReply> result, Callback<RedisReply> done) {
  core_->answer(std::move(result), std::move(done));
}

}  // namespace reclaim
