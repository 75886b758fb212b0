// Whose token it is, asked of a real Keystone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "placement/keystone/keystone.h"
#include "placement/keystone/token_validator.h"
#include "tests/integration/openstack_test.h"
#include "tests/integration/placement_bench.h"

namespace reclaim::testing {
namespace {

using placement::HttpRequest;
using placement::Identity;
using placement::Options;
using placement::TokenOptions;
using placement::TokenValidator;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenBench final : public LoopBench {
 public:
  explicit TokenBench(const TokenOptions& options) : LoopBench(options.session) {
    auto made = TokenValidator::create(options, ports());
    CHECK(made.ok());
    validator_ = *std::move(made);
  }
  explicit TokenBench(const Options& who) : TokenBench(with(who)) {}

  static TokenOptions with(const Options& who) {
    TokenOptions options;
    const Options defaults = options.session;
    options.session = who;
    options.session.service_type = defaults.service_type;
    options.session.connect_retries = 0;
    return options;
  }

  Result<Identity> validate(const std::string& token, const std::string& service_token = "") {
    return wait<Identity>(
        [&](auto done) { validator_->validate(token, service_token, std::move(done)); });
  }
  [[nodiscard]] std::uint64_t asked() const {
    return validator_->counts().of(placement::RequestKind::validate);
  }

 private:
  std::unique_ptr<TokenValidator> validator_;
};

// A token of this user's, as he would get it himself.
std::string token_of(LoopBench& bench, const Options& who) {
  auto request = placement::token_request(who);
  EXPECT_TRUE(request.ok());
  const auto answer = bench.send(*std::move(request));
  EXPECT_TRUE(answer.ok()) << answer.error().what;
  if (!answer.ok()) return "";
  EXPECT_EQ(answer->status, 201);
  return std::string(answer->header("X-Subject-Token"));
}

HttpRequest about(const std::string& method, const Options& who, const std::string& own,
                  const std::string& subject) {
  return {method,
          who.auth_url + "/auth/tokens",
          {{"X-Auth-Token", own}, {"X-Subject-Token", subject}},
          ""};
}

class TokensStack : public OpenStackTest {
 protected:
  static Options user(const std::string& name) {
    Options options = stack_->options();
    options.username = name;
    return options;
  }
};

TEST_F(TokensStack, SaysWhoseTokenItIs) {
  TokenBench bench(user("reclaim"));
  const std::string token = token_of(bench, user("nova"));
  const auto identity = bench.validate(token);
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_EQ(identity->user_name, "nova");
  EXPECT_EQ(identity->user_domain_id, "default");
  EXPECT_EQ(identity->project_name, "service");
  EXPECT_EQ(identity->project_domain_id, "default");
  EXPECT_FALSE(identity->project_id.empty());
  EXPECT_FALSE(identity->user_id.empty());
  EXPECT_THAT(identity->roles, Contains("admin"));
  EXPECT_EQ(identity->system_scope, "");
  EXPECT_TRUE(bench.validate(token).ok());
  EXPECT_EQ(bench.asked(), 1U);  // remembered
  const auto reader = bench.validate(token_of(bench, user("nobody")));
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_THAT(reader->roles, Not(Contains("admin")));
}

TEST_F(TokensStack, ATokenOfTheSystemSaysSo) {
  TokenBench bench(user("reclaim"));
  Options admin = user("admin");
  admin.password = stack_->endpoint("admin_password");
  admin.project_name.clear();
  admin.project_domain_name.clear();
  admin.system_scope = "all";
  const auto identity = bench.validate(token_of(bench, admin));
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_EQ(identity->system_scope, "all");
  EXPECT_EQ(identity->project_id, "");
  EXPECT_THAT(identity->roles, Contains("admin"));
}

TEST_F(TokensStack, WrongTokensAreRefused) {
  TokenBench bench(user("reclaim"));
  const std::string good = token_of(bench, user("nova"));
  std::string changed = good;
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& bad : {std::string("x"), std::string("gAAAAABfoo"), changed,
                                 std::string(4'000, 'x'), good + good}) {
    const auto refused = bench.validate(bad);
    EXPECT_EQ(refused.error().code, Errc::refused) << refused.error().what;
  }
  EXPECT_TRUE(bench.validate(good).ok());
}

TEST_F(TokensStack, ARevokedTokenIsRefusedOnceItIsAskedAboutAgain) {
  TokenOptions options = TokenBench::with(user("reclaim"));
  options.cache_time_ms = 0;
  TokenBench bench(options);
  const std::string token = token_of(bench, user("nova"));
  ASSERT_TRUE(bench.validate(token).ok());
  const auto gone = bench.send(about("DELETE", user("nova"), token, token));
  ASSERT_TRUE(gone.ok());
  ASSERT_EQ(gone->status, 204);
  EXPECT_EQ(bench.validate(token).error().code, Errc::refused);
}

TEST_F(TokensStack, AServiceTokenNeedsTheRole) {
  TokenBench bench(user("reclaim"));
  const std::string user_token = token_of(bench, user("nobody"));
  const auto identity = bench.validate(user_token, token_of(bench, user("nova")));
  ASSERT_TRUE(identity.ok()) << identity.error().what;
  EXPECT_EQ(identity->user_name, "nobody");
  EXPECT_THAT(identity->service_roles, Contains("service"));
  const auto refused = bench.validate(user_token, token_of(bench, user("nobody")));
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().what, HasSubstr("service_token_roles"));
  EXPECT_EQ(bench.validate(user_token, "gAAAAABfoo").error().code, Errc::refused);
}

TEST_F(TokensStack, AUserOfOursThatMayNotAskIsOurTrouble) {
  TokenBench bench(user("nobody"));
  const auto forbidden = bench.validate(token_of(bench, user("nova")));
  EXPECT_EQ(forbidden.error().code, Errc::unavailable);
  EXPECT_THAT(forbidden.error().what, HasSubstr("role admin or service"));
  Options wrong = user("reclaim");
  wrong.password = "wrong";
  TokenBench locked_out(wrong);
  EXPECT_EQ(locked_out.validate("x").error().code, Errc::unavailable);
}

TEST_F(TokensStack, OurOwnTokenIsRenewedWhenItIsRevoked) {
  TokenOptions options = TokenBench::with(user("reclaim"));
  options.cache_time_ms = 0;
  TokenBench bench(options);
  const std::string token = token_of(bench, user("nova"));
  ASSERT_TRUE(bench.validate(token).ok());
  const std::string own = bench.transport().last_token();
  ASSERT_EQ(bench.send(about("DELETE", user("reclaim"), own, own))->status, 204);
  EXPECT_TRUE(bench.validate(token).ok());
  EXPECT_NE(bench.transport().last_token(), own);
}

// Keystone of its own, whose tokens live for seconds.
TEST(TokensShortLived, ExpiryIsHonouredAndAServiceTokenLetsItPass) {
  auto stack = OpenStackStack::start({"--token-life-s", "5"});
  ASSERT_TRUE(stack.ok()) << stack.error().what;
  const Options reclaim = (*stack)->options();
  Options nova = reclaim;
  nova.username = "nova";
  TokenBench bench(reclaim);
  // A slow machine may take longer than a token lives; then it is tried again.
  const auto within_its_life = [&](auto attempt) {
    for (int i = 0; i < 20; ++i) {
      if (attempt()) return true;
    }
    return false;
  };
  std::string token;
  ASSERT_TRUE(within_its_life([&] {
    token = token_of(bench, nova);
    return bench.validate(token).ok();
  }));
  // The cache would keep it for minutes.
  Result<Identity> over = bench.validate(token);
  for (int i = 0; i < 600 && over.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    over = bench.validate(token);
  }
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, Errc::refused) << over.error().what;
  EXPECT_TRUE(within_its_life([&] {
    const auto with_service = bench.validate(token, token_of(bench, nova));
    return with_service.ok() && with_service->user_name == "nova";
  }));

  // And Keystone gone.
  const std::string last = token_of(bench, nova);
  ASSERT_TRUE((*stack)->run("stop", {}).ok());
  const auto away = bench.validate(last);
  EXPECT_EQ(away.error().code, Errc::unavailable) << away.error().what;
}

}  // namespace
}  // namespace reclaim::testing
