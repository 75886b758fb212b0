#include "placement/keystone/token_validator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "placement/keystone/keystone.h"
#include "state/certificate/signing_key.h"

namespace reclaim::placement {
namespace {

// The trouble is ours, not the caller's: never refused.
Error ours(const Error& error) {
  return Error{Errc::unavailable, error.what, error.raw};
}

std::string key_of(const std::string& token, bool allow_expired) {
  return sha256_of(token) + (allow_expired ? "+" : "");
}

}  // namespace

Result<std::unique_ptr<TokenValidator>> TokenValidator::create(TokenOptions options, Ports ports) {
  if (auto good = check_options(options.session); !good.ok()) return std::move(good).error();
  if (options.in_flight_max == 0 || options.waiting_max == 0 || options.callers_max == 0) {
    return Error{Errc::invalid,
                 "in_flight_max, waiting_max and callers_max of the token validation must be at "
                 "least 1"};
  }
  return std::unique_ptr<TokenValidator>(new TokenValidator(std::move(options), ports));
}

TokenValidator::TokenValidator(TokenOptions options, Ports ports)
    : options_(std::move(options)),
      clock_(ports.clock),
      logger_(ports.logger),
      cache_({options_.cache_time_ms, options_.refused_time_ms, options_.good_max,
              options_.refused_max}),
      api_(kIdentity, options_.session, ports) {}

TokenValidator::~TokenValidator() {
  const CallsOwed none(false);
  questions_.clear();
}

void TokenValidator::log_in(Callback<LoginFacts> done) {
  api_.log_in(std::move(done));
}

bool TokenValidator::is_service(const Identity& identity) const {
  return std::any_of(identity.roles.begin(), identity.roles.end(), [&](const std::string& role) {
    const auto& wanted = options_.service_token_roles;
    return std::find(wanted.begin(), wanted.end(), role) != wanted.end();
  });
}

void TokenValidator::validate(const std::string& token, const std::string& service_token,
                              Callback<Identity> done) {
  Status good = check_token_text(token);
  if (good.ok() && !service_token.empty()) {
    good = check_token_text(service_token);
    if (!good.ok()) good = good.error().wrap("X-Service-Token");
  }
  if (!good.ok()) {
    return api_.later([error = good.error(), done = std::move(done)] { done(error); });
  }
  if (service_token.empty()) return look_up(token, false, std::move(done));
  look_up(service_token, false,
          [this, token, done = std::move(done)](const Result<Identity>& service) mutable {
            if (!service.ok()) return done(service.error().wrap("X-Service-Token"));
            const bool is_one = is_service(*service);
            if (!is_one && options_.service_token_roles_required) {
              return done(Error{Errc::refused,
                                "X-Service-Token: it has none of the roles of a service "
                                "(service_token_roles)"});
            }
            look_up(token, is_one,
                    [done = std::move(done), roles = service->roles](const Result<Identity>& user) {
                      if (!user.ok()) return done(user.error());
                      Identity identity = *user;
                      identity.service_roles = roles;
                      done(std::move(identity));
                    });
          });
}

void TokenValidator::look_up(const std::string& token, bool allow_expired, OnToken done) {
  const std::string key = key_of(token, allow_expired);
  const auto refuse = [&](std::string what) {
    api_.later([done = std::move(done), what = std::move(what)] {
      done(Error{Errc::unavailable, what});
    });
  };
  if (auto known = cache_.find(key, allow_expired, clock_.now())) {
    return api_.later([done = std::move(done), known = *std::move(known)] { done(known); });
  }
  if (callers_ >= options_.callers_max) {
    return refuse(fmt::format("{} callers wait for Keystone already", callers_));
  }
  const auto asked = questions_.find(key);
  if (asked != questions_.end()) {
    ++callers_;
    asked->second.callers.push_back(std::move(done));
    return;
  }
  if (waiting_.size() >= options_.waiting_max) {
    return refuse(fmt::format("{} tokens wait to be validated already", waiting_.size()));
  }
  ++callers_;
  Question& question = questions_[key];
  question.token = token;
  question.allow_expired = allow_expired;
  question.callers.push_back(std::move(done));
  waiting_.push_back(key);
  api_.later([this] { pump(); });
}

void TokenValidator::pump() {
  while (!waiting_.empty() && in_flight_ < options_.in_flight_max) {
    const std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    Question& question = questions_.at(key);
    ApiRequest request{RequestKind::validate, "/auth/tokens?nocatalog", ""};
    if (question.allow_expired) request.path += "&allow_expired=1";
    request.headers.push_back({"X-Subject-Token", std::exchange(question.token, {})});
    ++in_flight_;
    api_.exchange(std::move(request),
                  [this, key](Result<HttpResponse> answer) { answered(key, std::move(answer)); });
  }
}

Result<Identity> TokenValidator::judge(const Question& question, const std::string& key,
                                       Result<HttpResponse> answer) {
  if (!answer.ok()) return ours(answer.error());
  const Now now = clock_.now();
  const auto refuse = [&](std::string_view why) -> Result<Identity> {
    Error error{Errc::refused, fmt::format("the token is not valid: {}", why)};
    cache_.put_refused(key, error, now);
    return error;
  };
  // 401 comes with a token of ours that was made for this very request, so it is the caller's that
  // is meant.
  if (answer->status == 404 || answer->status == 401) {
    return refuse("Keystone does not know it, or it is expired or revoked");
  }
  static const ApiRequest kAsked{RequestKind::validate, "/auth/tokens", ""};
  const auto good = triage(kAsked, *std::move(answer), kIdentity);
  if (!good.ok()) return ours(good.error());
  auto subject =
      parse_subject_token(*good, static_cast<std::size_t>(options_.session.body_bytes_max));
  if (!subject.ok()) return ours(subject.error());
  if (!question.allow_expired && now.wall >= subject->expires_at) {
    return refuse(fmt::format("it expired at {}", to_iso8601(subject->expires_at)));
  }
  cache_.put_good(key, *subject, question.allow_expired, now);
  return std::move(subject->identity);
}

void TokenValidator::answered(const std::string& key, Result<HttpResponse> answer) {
  --in_flight_;
  const auto at = questions_.find(key);
  const Question question = std::move(at->second);
  questions_.erase(at);
  callers_ -= question.callers.size();
  const Result<Identity> result = judge(question, key, std::move(answer));
  if (!result.ok() && result.error().code != Errc::refused) {
    logger_.warning(log_name::kTokens,
                    fmt::format("a token cannot be validated: {}", result.error().what));
  }
  // The next one's turn comes before the callers: any of them may be the end of us.
  pump();
  const std::weak_ptr<const bool> alive = alive_;
  for (const OnToken& caller : question.callers) {
    if (alive.expired()) {
      caller.drop();
    } else {
      caller(result);
    }
  }
}

}  // namespace reclaim::placement
