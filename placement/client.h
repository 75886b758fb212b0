// Client: Providers over an HttpTransport, with Keystone behind it. Owns the session (one token for
// all, one login at a time however many wait for it), the root provider once found, and the counts
// of requests.
//
// Thread: the loop's. Transport, pauses, clock and logger outlive the client; callbacks that are
// outstanding when it is destroyed are dropped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/conversations.h"
#include "placement/exchange.h"
#include "placement/http.h"
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
  // All that went to Placement, so without the tokens.
  [[nodiscard]] std::uint64_t placement() const;
};

// What a login found: for `reclaim doctor` and for the log.
struct LoginFacts {
  std::string endpoint;
  std::string microversion;
};

class Client final : public Providers {
 public:
  // Fails with Errc::invalid, naming the option, where options cannot work.
  [[nodiscard]] static Result<std::unique_ptr<Client>> create(Options options,
                                                              HttpTransport& transport,
                                                              Pauses& pauses, const Clock& clock,
                                                              Logger& logger);
  ~Client() override = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void list_tree(Callback<Tree> done) override;
  void read(const std::string& provider_uuid, Callback<ProviderView> done) override;
  void set_reserved(const ProviderView& view, std::int64_t reserved,
                    Callback<ProviderView> done) override;

  void register_device(const NewDevice& device, Callback<ProviderView> done) override;

  // Logs in if that has not been done, and says where to.
  void log_in(Callback<LoginFacts> done);

  [[nodiscard]] const RequestCounts& counts() const { return counts_; }

 private:
  using OnSession = std::function<void(const Result<Session>&)>;
  using OnResponse = std::function<void(Result<HttpResponse>)>;
  template <typename Conversation>
  struct Talk;

  Client(Options options, HttpTransport& transport, Pauses& pauses, const Clock& clock,
         Logger& logger);

  template <typename Conversation>
  void begin(Conversation conversation, Callback<typename Conversation::Value> done);
  template <typename Conversation>
  void carry_on(const std::shared_ptr<Talk<Conversation>>& talk, typename Conversation::Step step);

  void exchange(ApiRequest request, OnResponse done);
  void advance(const std::shared_ptr<Exchange>& exchange, const OnResponse& done,
               Exchange::Step step);
  void need_session(const std::string& rejected_token, OnSession done);
  void advance_login(Login::Step step);
  void login_over(const Result<Session>& session);
  void send(Send what, OnResponse done);
  void pause(int delay_ms, std::function<void()> wake);

  const Options options_;
  HttpTransport& transport_;
  Pauses& pauses_;
  const Clock& clock_;
  Logger& logger_;
  RequestCounts counts_;
  std::optional<Root> root_;
  std::optional<Session> session_;
  std::unique_ptr<Login> login_;  // while one is under way
  std::vector<OnSession> waiting_for_login_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace reclaim::placement
