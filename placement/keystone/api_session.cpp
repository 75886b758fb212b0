#include "placement/keystone/api_session.h"

#include <fmt/core.h>

#include <numeric>

namespace reclaim::placement {
namespace {

constexpr std::string_view kLog = "reclaim.placement";

}  // namespace

std::uint64_t RequestCounts::placement() const {
  return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0}) - of(RequestKind::token);
}

ApiSession::ApiSession(const Service& service, Options options, Ports ports)
    : service_(service), options_(std::move(options)), ports_(ports) {}

void ApiSession::log_in(Callback<LoginFacts> done) {
  later([this, done = std::move(done)] {
    need_session("", [done](const Result<Session>& session) {
      if (!session.ok()) {
        done(session.error());
      } else {
        done(LoginFacts{session->endpoint, to_string(session->microversion)});
      }
    });
  });
}

void ApiSession::exchange(ApiRequest request, OnResponse done) {
  const auto exchange = std::make_shared<Exchange>(options_, std::move(request), service_);
  advance(exchange, done, exchange->start());
}

void ApiSession::advance(const std::shared_ptr<Exchange>& exchange, const OnResponse& done,
                         Exchange::Step step) {
  if (auto* finished = std::get_if<Finished<HttpResponse>>(&step)) {
    // Another version answers there now: the next login asks which it speaks.
    if (finished->result.ok() && finished->result->status == 406) session_.reset();
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
    ports_.logger.warning(kLog, fmt::format("{} is tried again in {} ms",
                                            to_string(exchange->request().kind), delay_ms));
    pause(delay_ms, [this, exchange, done] { advance(exchange, done, exchange->on_pause_over()); });
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
    const int delay_ms = std::get<Pause>(step).delay_ms;
    ports_.logger.warning(kLog, fmt::format("the login is tried again in {} ms", delay_ms));
    pause(delay_ms, [this] { advance_login(login_->on_pause_over()); });
  }
}

void ApiSession::login_over(const Result<Session>& session) {
  login_.reset();
  if (session.ok()) {
    session_ = *session;
    std::string what = fmt::format("logged in; {} is {}", service_.name, session->endpoint);
    if (!service_.api.empty()) {
      what += fmt::format(", microversion {}", to_string(session->microversion));
    }
    ports_.logger.info(kLog, what);
  } else {
    ports_.logger.error(
        kLog, fmt::format("cannot log in to {}: {}", service_.name, session.error().what));
  }
  // Whoever asks from within these callbacks waits for the next login, not for this one.
  const auto waiting = std::exchange(waiting_for_login_, {});
  const std::weak_ptr<const bool> alive = alive_;
  for (const OnSession& done : waiting) {
    done(session);
    if (alive.expired()) return;
  }
}

void ApiSession::send(Send what, OnResponse done) {
  ++counts_.by_kind[static_cast<std::size_t>(what.kind)];
  ports_.transport.send(std::move(what.request),
                        [alive = std::weak_ptr<const bool>(alive_),
                         done = std::move(done)](Result<HttpResponse> answer) {
                          if (!alive.expired()) done(std::move(answer));
                        });
}

void ApiSession::pause(int delay_ms, std::function<void()> wake) {
  ports_.pauses.after(delay_ms,
                      [alive = std::weak_ptr<const bool>(alive_), wake = std::move(wake)] {
                        if (!alive.expired()) wake();
                      });
}

}  // namespace reclaim::placement
