// ApiSession: what every client of a service behind Keystone needs: a session (one token for all,
// one login at a time however many wait for it), single requests with their retries, conversations
// of several, and the counts of requests.
//
// Thread: the loop's. Transport, timers, clock and logger outlive it; callbacks that are
// outstanding when it is destroyed are dropped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "placement/http/http.h"
#include "placement/keystone/exchange.h"
#include "placement/keystone/service.h"
#include "placement/options.h"
#include "placement/providers.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/timers.h"

namespace reclaim::placement {

// Requests sent, by kind; retries count, for they are load too.
struct RequestCounts {
  std::array<std::uint64_t, kRequestKinds> by_kind{};

  [[nodiscard]] std::uint64_t of(RequestKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  // All that went to the service, so without the tokens.
  [[nodiscard]] std::uint64_t placement() const;
};

// The outcome of a login, for `reclaim doctor` and for the log.
struct LoginFacts {
  std::string endpoint;
  std::string microversion;
  std::vector<std::string> roles;  // of the login, as Keystone names them
};

// The ports that a client is given.
struct Ports {
  HttpTransport& transport;
  Timers& timers;
  const Clock& clock;
  Logger& logger;
};

class ApiSession final {
 public:
  // Many may wait for one login.
  using OnSession = Once<const Result<Session>&>;

  // Options have passed check_options().
  ApiSession(const Service& service, Options options, Ports ports);
  ~ApiSession();
  ApiSession(const ApiSession&) = delete;
  ApiSession& operator=(const ApiSession&) = delete;

  // One request; what its status means is the caller's to say (triage()).
  void exchange(ApiRequest request, Callback<HttpResponse> done);

  // A conversation (placement/conversations.h) to its end. Begins later, so that no callback runs
  // inside the call it belongs to.
  template <typename Conversation>
  void converse(Conversation conversation, Callback<typename Conversation::Value> done);

  // A session that is good, after a login where that is needed. Calls back at once where there is
  // one.
  void need_session(const std::string& rejected_token, OnSession done);

  // Logs in if that has not been done, and says where to. Calls back later.
  void log_in(Callback<LoginFacts> done);

  void later(Once<> wake) { pause(0, std::move(wake)); }

  [[nodiscard]] const RequestCounts& counts() const { return counts_; }

 private:
  template <typename Conversation>
  struct Talk {
    Conversation conversation;
    Callback<typename Conversation::Value> done;
  };
  template <typename Conversation>
  void carry_on(Talk<Conversation> talk, typename Conversation::Step step);

  // One request that waits for something.
  struct Open {
    Exchange exchange;
    Callback<HttpResponse> done;
  };
  void advance(Open open, Exchange::Step step);
  void advance_login(Login::Step step);
  void login_over(const Result<Session>& session);
  void send(Send what, Callback<HttpResponse> done);
  [[nodiscard]] int spread(const Pause& pause);
  void pause(int delay_ms, Once<> wake);

  const Service& service_;
  const Options options_;
  const Ports ports_;
  std::minstd_rand random_;  // by the host's name
  RequestCounts counts_;
  std::optional<Session> session_;
  std::unique_ptr<Login> login_;  // while one is under way
  std::vector<OnSession> waiting_for_login_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

template <typename Conversation>
void ApiSession::converse(Conversation conversation, Callback<typename Conversation::Value> done) {
  later([this, talk = Talk<Conversation>{std::move(conversation), std::move(done)}]() mutable {
    auto step = talk.conversation.start();
    carry_on(std::move(talk), std::move(step));
  });
}

template <typename Conversation>
void ApiSession::carry_on(Talk<Conversation> talk, typename Conversation::Step step) {
  using Value = typename Conversation::Value;
  if (auto* finished = std::get_if<Finished<Value>>(&step)) {
    return talk.done(std::move(finished->result));
  }
  exchange(std::move(std::get<ApiRequest>(step)),
           [this, talk = std::move(talk)](Result<HttpResponse> answer) mutable {
             auto next = talk.conversation.on_answer(std::move(answer));
             carry_on(std::move(talk), std::move(next));
           });
}

}  // namespace reclaim::placement
