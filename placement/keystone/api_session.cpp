#include "placement/keystone/api_session.h"

#include <fmt/core.h>

#include <functional>
#include <numeric>

namespace reclaim::placement {
std::uint64_t RequestCounts::placement() const {
  return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0}) - of(RequestKind::token);
}

ApiSession::ApiSession(const Service& service, Options options, Ports ports)
    : service_(service), options_(std::move(options)), ports_(ports) {
  random_.seed(static_cast<std::minstd_rand::result_type>(std::hash<std::string>{}(options_.host)));
}

ApiSession::~ApiSession() {
  for (const OnSession& done : waiting_for_login_) done.drop();
}

void ApiSession::log_in(Callback<LoginFacts> done) {
  later([this, done = std::move(done)]() mutable {
    need_session("", [done = std::move(done)](const Result<Session>& session) {
      if (!session.ok()) return done(session.error());
      done(LoginFacts{session->endpoint, to_string(session->microversion), session->roles});
    });
  });
}

void ApiSession::exchange(ApiRequest request, Callback<HttpResponse> done) {
  Open open{Exchange(options_, std::move(request), service_), std::move(done)};
  Exchange::Step step = open.exchange.start();
  advance(std::move(open), std::move(step));
}

void ApiSession::advance(Open open, Exchange::Step step) {
  if (auto* finished = std::get_if<Finished<HttpResponse>>(&step)) {
    // Another version answers there now: the next login asks which it speaks.
    if (finished->result.ok() && finished->result->status == 406) session_.reset();
    open.done(std::move(finished->result));
  } else if (auto* what = std::get_if<Send>(&step)) {
    send(std::move(*what), [this, open = std::move(open)](Result<HttpResponse> answer) mutable {
      Exchange::Step next = open.exchange.on_answer(std::move(answer));
      advance(std::move(open), std::move(next));
    });
  } else if (auto* need = std::get_if<NeedSession>(&step)) {
    need_session(need->rejected_token,
                 [this, open = std::move(open)](const Result<Session>& session) mutable {
                   Exchange::Step next = open.exchange.on_session(session);
                   advance(std::move(open), std::move(next));
                 });
  } else {
    const int delay_ms = spread(std::get<Pause>(step));
    ports_.logger.warning(log_name::kPlacement,
                          fmt::format("{} is tried again in {} ms",
                                      to_string(open.exchange.request().kind), delay_ms));
    pause(delay_ms, [this, open = std::move(open)]() mutable {
      Exchange::Step next = open.exchange.on_pause_over();
      advance(std::move(open), std::move(next));
    });
  }
}

void ApiSession::need_session(const std::string& rejected_token, OnSession done) {
  // Somebody else may have renewed the token since the one that was refused went out.
  if (session_ && session_->token == rejected_token) session_->renew_at = MonoMs{};
  if (login_ == nullptr && session_ && ports_.clock.now().mono < session_->renew_at) {
    done(*session_);
    return;
  }
  waiting_for_login_.push_back(std::move(done));
  if (login_ != nullptr) return;
  login_ = std::make_unique<Login>(options_, session_, service_);
  advance_login(login_->start());
}

void ApiSession::advance_login(Login::Step step) {
  if (auto* finished = std::get_if<Finished<Session>>(&step)) {
    login_over(finished->result);
  } else if (auto* what = std::get_if<Send>(&step)) {
    send(std::move(*what), [this](const Result<HttpResponse>& answer) {
      advance_login(login_->on_answer(answer, ports_.clock.now()));
    });
  } else {
    const int delay_ms = spread(std::get<Pause>(step));
    ports_.logger.warning(log_name::kPlacement,
                          fmt::format("the login is tried again in {} ms", delay_ms));
    pause(delay_ms, [this] { advance_login(login_->on_pause_over()); });
  }
}

// Up to half as long again: a fleet that was refused together does not come back together.
int ApiSession::spread(const Pause& pause) {
  return pause.delay_ms + std::uniform_int_distribution(0, pause.delay_ms / 2)(random_);
}

void ApiSession::login_over(const Result<Session>& session) {
  login_.reset();
  if (session.ok()) {
    session_ = *session;
    std::string what = fmt::format("logged in; {} is {}", service_.name, session->endpoint);
    if (!service_.api.empty()) {
      what += fmt::format(", microversion {}", to_string(session->microversion));
    }
    ports_.logger.info(log_name::kPlacement, what);
  } else {
    ports_.logger.error(log_name::kPlacement, fmt::format("cannot log in to {}: {}", service_.name,
                                                          session.error().what));
  }
  // Whoever asks from within these callbacks waits for the next login, not for this one.
  const auto waiting = std::exchange(waiting_for_login_, {});
  const std::weak_ptr<const bool> alive = alive_;
  for (const OnSession& done : waiting) {
    if (alive.expired()) {
      done.drop();
    } else {
      done(session);
    }
  }
}

void ApiSession::send(Send what, Callback<HttpResponse> done) {
  ++counts_.by_kind[static_cast<std::size_t>(what.kind)];
  ports_.transport.send(std::move(what.request),
                        [alive = std::weak_ptr<const bool>(alive_),
                         done = std::move(done)](Result<HttpResponse> answer) {
                          if (alive.expired()) return done.drop();
                          done(std::move(answer));
                        });
}

void ApiSession::pause(int delay_ms, Once<> wake) {
  ports_.timers.after(delay_ms,
                      [alive = std::weak_ptr<const bool>(alive_), wake = std::move(wake)] {
                        if (alive.expired()) return wake.drop();
                        wake();
                      });
}

}  // namespace reclaim::placement
