// TokenValidator: Tokens over an HttpTransport: asks Keystone, with a token of our own, whose token
// this is, and remembers the answer for a while.
//
// What it promises: a token is looked at before it is sent anywhere (it becomes a header); a good
// one is remembered for cache_time_ms, never past its expiry on our own clock; a refused one for
// refused_time_ms; callers with one and the same token share one request, and at most so many
// requests are under way, so that a flood of bad tokens floods nobody. Tokens are kept as SHA-256
// only, while they are not on their way. A trouble of ours (Keystone away, our own login refused)
// is never Errc::refused: the caller's token is not to blame.
//
// Thread: the loop's. The ports outlive the validator; callbacks outstanding when it is destroyed
// are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/keystone/api_session.h"
#include "placement/keystone/token_answers.h"
#include "placement/keystone/token_cache.h"
#include "placement/keystone/token_options.h"
#include "placement/keystone/tokens.h"
#include "state/base/clock.h"
#include "state/base/log.h"

namespace reclaim::placement {

class TokenValidator final : public Tokens {
 public:
  // Fails with Errc::invalid, naming the option, where options cannot work.
  [[nodiscard]] static Result<std::unique_ptr<TokenValidator>> create(TokenOptions options,
                                                                      Ports ports);
  ~TokenValidator() override;
  TokenValidator(const TokenValidator&) = delete;
  TokenValidator& operator=(const TokenValidator&) = delete;

  void validate(const std::string& token, const std::string& service_token,
                Callback<Identity> done) override;

  // Logs in if that has not been done, and says where to.
  void log_in(Callback<LoginFacts> done);

  [[nodiscard]] const RequestCounts& counts() const { return api_.counts(); }

 private:
  using OnToken = Once<const Result<Identity>&>;
  // One token that is asked about, and who waits for the answer.
  struct Question {
    std::string token;
    bool allow_expired = false;
    std::vector<OnToken> callers;
  };

  TokenValidator(TokenOptions options, Ports ports);

  void look_up(const std::string& token, bool allow_expired, OnToken done);
  void pump();
  void answered(const std::string& key, Result<HttpResponse> answer);
  [[nodiscard]] Result<Identity> judge(const Question& question, const std::string& key,
                                       Result<HttpResponse> answer);
  [[nodiscard]] bool is_service(const Identity& identity) const;

  const TokenOptions options_;
  const Clock& clock_;
  Logger& logger_;
  TokenCache cache_;
  std::map<std::string, Question> questions_;  // by the cache's key
  std::deque<std::string> waiting_;            // keys whose request is not sent yet
  std::size_t in_flight_ = 0;
  std::size_t callers_ = 0;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  ApiSession api_;
};

}  // namespace reclaim::placement
