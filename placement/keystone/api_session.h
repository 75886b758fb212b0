// ApiSession: what every client of a service behind Keystone needs: a session (one token for all,
// one login at a time however many wait for it), single requests with their retries, conversations
// of several, and the counts of requests.
//
// Thread: the loop's. Transport, pauses, clock and logger outlive it; callbacks that are
// outstanding when it is destroyed are dropped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

// What a login found: for `reclaim doctor` and for the log.
struct LoginFacts {
  std::string endpoint;
  std::string microversion;
};

// The ports that a client is given.
struct Ports {
  HttpTransport& transport;
  Pauses& pauses;
  const Clock& clock;
  Logger& logger;
};

class ApiSession final {
 public:
  using OnResponse = std::function<void(Result<HttpResponse>)>;
  using OnSession = std::function<void(const Result<Session>&)>;

  // Options have passed check_options().
  ApiSession(const Service& service, Options options, Ports ports);
  ApiSession(const ApiSession&) = delete;
  ApiSession& operator=(const ApiSession&) = delete;

  // One request; what its status means is the caller's to say (triage()).
  void exchange(ApiRequest request, OnResponse done);

  // A conversation (placement/conversations.h) to its end. Begins later, so that no callback runs
  // inside the call it belongs to.
  template <typename Conversation>
  void converse(Conversation conversation, Callback<typename Conversation::Value> done);

  // A session that is good, after a login where that is needed. Calls back at once where there is
  // one.
  void need_session(const std::string& rejected_token, OnSession done);

  // Logs in if that has not been done, and says where to. Calls back later.
  void log_in(Callback<LoginFacts> done);

  void later(std::function<void()> wake) { pause(0, std::move(wake)); }

  [[nodiscard]] const RequestCounts& counts() const { return counts_; }

 private:
  template <typename Conversation>
  struct Talk {
    Conversation conversation;
    Callback<typename Conversation::Value> done;
  };
  template <typename Conversation>
  void carry_on(const std::shared_ptr<Talk<Conversation>>& talk, typename Conversation::Step step);

  void advance(const std::shared_ptr<Exchange>& exchange, const OnResponse& done,
               Exchange::Step step);
  void advance_login(Login::Step step);
  void login_over(const Result<Session>& session);
  void send(Send what, OnResponse done);
  void pause(int delay_ms, std::function<void()> wake);

  const Service& service_;
  const Options options_;
  const Ports ports_;
  RequestCounts counts_;
  std::optional<Session> session_;
  std::unique_ptr<Login> login_;  // while one is under way
  std::vector<OnSession> waiting_for_login_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

template <typename Conversation>
void ApiSession::converse(Conversation conversation, Callback<typename Conversation::Value> done) {
  auto talk = std::make_shared<Talk<Conversation>>(
      Talk<Conversation>{std::move(conversation), std::move(done)});
  later([this, talk] { carry_on(talk, talk->conversation.start()); });
}

template <typename Conversation>
void ApiSession::carry_on(const std::shared_ptr<Talk<Conversation>>& talk,
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

}  // namespace reclaim::placement
