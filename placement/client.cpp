#include "placement/client.h"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "placement/keystone.h"

namespace reclaim::placement {
namespace {

constexpr std::string_view kLog = "reclaim.placement";

}  // namespace

// One conversation under way.
template <typename Conversation>
struct Client::Talk {
  Conversation conversation;
  Callback<typename Conversation::Value> done;
};

std::uint64_t RequestCounts::placement() const {
  return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0}) - of(RequestKind::token);
}

Result<std::unique_ptr<Client>> Client::create(Options options, HttpTransport& transport,
                                               Pauses& pauses, const Clock& clock, Logger& logger) {
  if (auto good = check_options(options); !good.ok()) return std::move(good).error();
  return std::unique_ptr<Client>(new Client(std::move(options), transport, pauses, clock, logger));
}

Client::Client(Options options, HttpTransport& transport, Pauses& pauses, const Clock& clock,
               Logger& logger)
    : options_(std::move(options)),
      transport_(transport),
      pauses_(pauses),
      clock_(clock),
      logger_(logger) {}

void Client::list_tree(Callback<Tree> done) {
  begin(ListTree(options_, root_),
        Callback<Tree>([this, done = std::move(done)](Result<Tree> tree) {
          if (tree.ok()) {
            root_ = Root{tree->root_uuid, tree->root_name};
          } else if (tree.error().code == Errc::not_found) {
            root_.reset();
          }
          done(std::move(tree));
        }));
}

void Client::read(const std::string& provider_uuid, Callback<ProviderView> done) {
  begin(ReadProvider(options_, provider_uuid), std::move(done));
}

void Client::set_reserved(const ProviderView& view, std::int64_t reserved,
                          Callback<ProviderView> done) {
  begin(SetReserved(options_, view, reserved), std::move(done));
}

void Client::register_device(const NewDevice& device, Callback<ProviderView> done) {
  pause(0, [name = device.name, done = std::move(done)] {
    done(Error{Errc::failed, "registering " + name + " is not done yet"});
  });
}

void Client::log_in(Callback<LoginFacts> done) {
  pause(0, [this, done = std::move(done)] {
    need_session("", [done](const Result<Session>& session) {
      if (!session.ok()) {
        done(session.error());
      } else {
        done(LoginFacts{session->endpoint, to_string(session->microversion)});
      }
    });
  });
}

template <typename Conversation>
void Client::begin(Conversation conversation, Callback<typename Conversation::Value> done) {
  auto talk = std::make_shared<Talk<Conversation>>(
      Talk<Conversation>{std::move(conversation), std::move(done)});
  // Not at once, so that no callback runs inside the call it belongs to.
  pause(0, [this, talk] { carry_on(talk, talk->conversation.start()); });
}

template <typename Conversation>
void Client::carry_on(const std::shared_ptr<Talk<Conversation>>& talk,
                      typename Conversation::Step step) {
  using Value = typename Conversation::Value;
  if (auto* finished = std::get_if<Finished<Value>>(&step)) {
    talk->done(std::move(finished->result));
    return;
  }
  exchange(std::move(std::get<ApiRequest>(step)), [this, talk](Result<HttpResponse> answer) {
    carry_on(talk, talk->conversation.on_answer(std::move(answer)));
  });
}

void Client::exchange(ApiRequest request, OnResponse done) {
  const auto exchange = std::make_shared<Exchange>(options_, std::move(request));
  advance(exchange, done, exchange->start());
}

void Client::advance(const std::shared_ptr<Exchange>& exchange, const OnResponse& done,
                     Exchange::Step step) {
  if (auto* finished = std::get_if<Finished<HttpResponse>>(&step)) {
    done(std::move(finished->result));
  } else if (auto* what = std::get_if<Send>(&step)) {
    send(std::move(*what), [this, exchange, done](Result<HttpResponse> answer) {
      advance(exchange, done, exchange->on_answer(std::move(answer)));
    });
  } else if (auto* need = std::get_if<NeedSession>(&step)) {
    need_session(need->rejected_token, [this, exchange, done](const Result<Session>& session) {
      advance(exchange, done, exchange->on_session(session));
    });
  } else {
    const int delay_ms = std::get<Pause>(step).delay_ms;
    logger_.warning(kLog, fmt::format("{} is tried again in {} ms",
                                      to_string(exchange->request().kind), delay_ms));
    pause(delay_ms, [this, exchange, done] { advance(exchange, done, exchange->on_pause_over()); });
  }
}

void Client::need_session(const std::string& rejected_token, OnSession done) {
  // Somebody else may have renewed the token since the one that was refused went out.
  if (session_ && session_->token == rejected_token) session_->renew_at = MonoMs{};
  if (login_ == nullptr && session_ && clock_.now().mono < session_->renew_at) {
    done(*session_);
    return;
  }
  waiting_for_login_.push_back(std::move(done));
  if (login_ != nullptr) return;
  login_ = std::make_unique<Login>(options_, session_);
  advance_login(login_->start());
}

void Client::advance_login(Login::Step step) {
  if (auto* finished = std::get_if<Finished<Session>>(&step)) {
    login_over(finished->result);
  } else if (auto* what = std::get_if<Send>(&step)) {
    send(std::move(*what), [this](const Result<HttpResponse>& answer) {
      advance_login(login_->on_answer(answer, clock_.now()));
    });
  } else {
    const int delay_ms = std::get<Pause>(step).delay_ms;
    logger_.warning(kLog, fmt::format("the login is tried again in {} ms", delay_ms));
    pause(delay_ms, [this] { advance_login(login_->on_pause_over()); });
  }
}

void Client::login_over(const Result<Session>& session) {
  login_.reset();
  if (session.ok()) {
    session_ = *session;
    logger_.info(kLog, fmt::format("logged in; Placement is {}, microversion {}", session->endpoint,
                                   to_string(session->microversion)));
  } else {
    logger_.error(kLog, fmt::format("cannot log in: {}", session.error().what));
  }
  // Whoever asks from within these callbacks waits for the next login, not for this one.
  const auto waiting = std::exchange(waiting_for_login_, {});
  const std::weak_ptr<const bool> alive = alive_;
  for (const OnSession& done : waiting) {
    done(session);
    if (alive.expired()) return;
  }
}

void Client::send(Send what, OnResponse done) {
  ++counts_.by_kind[static_cast<std::size_t>(what.kind)];
  transport_.send(std::move(what.request), [alive = std::weak_ptr<const bool>(alive_),
                                            done = std::move(done)](Result<HttpResponse> answer) {
    if (!alive.expired()) done(std::move(answer));
  });
}

void Client::pause(int delay_ms, std::function<void()> wake) {
  pauses_.after(delay_ms, [alive = std::weak_ptr<const bool>(alive_), wake = std::move(wake)] {
    if (!alive.expired()) wake();
  });
}

}  // namespace reclaim::placement
