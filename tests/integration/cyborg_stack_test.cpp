// Cyborg's client over real HTTP: the tokens are a real Keystone's, the answers the stand-in's
// (stack/cyborg.py), which is held against Cyborg's own samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/cyborg/client.h"
#include "tests/integration/cyborg_stand_in.h"
#include "tests/integration/openstack_test.h"
#include "tests/integration/placement_bench.h"

namespace reclaim::testing {
namespace {

using placement::CyborgClient;
using placement::CyborgDevice;
using placement::CyborgOptions;
using placement::CyborgView;
using placement::Options;
using ::testing::HasSubstr;

constexpr const char* kInstance = "d1e3ff56-feef-4495-8e4f-1cf6ea59ffbc";

class CyborgBench final : public LoopBench {
 public:
  explicit CyborgBench(const CyborgOptions& options) : LoopBench(options.session) {
    auto made = CyborgClient::create(options, ports());
    CHECK(made.ok());
    client_ = *std::move(made);
  }
  Result<CyborgView> read(const std::string& host) {
    return wait<CyborgView>([&](auto done) { client_->read({host, {}}, std::move(done)); });
  }
  Result<placement::LoginFacts> log_in() {
    return wait<placement::LoginFacts>([&](auto done) { client_->log_in(std::move(done)); });
  }

 private:
  std::unique_ptr<CyborgClient> client_;
};

class CyborgStack : public OpenStackTest {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NO_FATAL_FAILURE(OpenStackTest::SetUpTestSuite());
    auto cyborg = CyborgStandIn::start(
        {"--stack", stack_->directory(), "--register", "--max-version", "2.4"});
    ASSERT_TRUE(cyborg.ok()) << cyborg.error().what;
    cyborg_ = cyborg->release();
  }
  static void TearDownTestSuite() {
    delete cyborg_;
    cyborg_ = nullptr;
    OpenStackTest::TearDownTestSuite();
  }

  static CyborgOptions options(const std::string& user = "reclaim") {
    CyborgOptions made;
    const Options defaults = made.session;
    made.session = stack_->options();
    made.session.username = user;
    made.session.service_type = defaults.service_type;
    made.session.body_bytes_max = defaults.body_bytes_max;
    made.session.connect_retry_delay_ms = 1;
    made.session.status_code_retry_delay_ms = 1;
    return made;
  }

  static CyborgStandIn* cyborg_;
};
CyborgStandIn* CyborgStack::cyborg_ = nullptr;

TEST_F(CyborgStack, FollowsABindingFromItsBeginningToItsEnd) {
  CyborgBench bench(options());
  EXPECT_EQ(bench.log_in()->endpoint, cyborg_->endpoint());
  EXPECT_EQ(bench.log_in()->microversion, "2.4");
  const std::string device =
      cyborg_->made("device", {"hostname=bind-host", "address=0000:c1:00.0"});
  (void)cyborg_->run("device", {"hostname=another-host", "address=0000:c1:00.0"});
  const std::string arq = cyborg_->made("arq", {});
  auto view = bench.read("bind-host");
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_TRUE(view->arqs.empty());
  ASSERT_EQ(view->devices.size(), 1U);
  EXPECT_EQ(view->devices.front().uuid, device);
  EXPECT_EQ(view->devices.front().hostname, "bind-host");
  EXPECT_EQ(view->devices.front().type, "SSD");
  EXPECT_EQ(view->devices.front().status, "enabled");
  EXPECT_EQ(to_string(*view->devices.front().address), "0000:c1:00.0");
  EXPECT_FALSE(view->devices.front().provider.empty());

  const std::vector<std::string> binding{"arq=" + arq, "device=" + device,
                                         std::string("instance=") + kInstance};
  std::vector<std::string> begun = binding;
  begun.emplace_back("state=BindStarted");
  (void)cyborg_->run("bind", begun);
  view = bench.read("bind-host");
  ASSERT_EQ(view->arqs.size(), 1U);
  EXPECT_TRUE(view->arqs.front().holds_device());
  EXPECT_FALSE(view->arqs.front().address.has_value());
  EXPECT_EQ(view->arqs.front().device_rp_uuid, view->devices.front().provider);

  std::vector<std::string> bound = binding;
  bound.emplace_back("managed=false");
  (void)cyborg_->run("bind", bound);
  view = bench.read("bind-host");
  ASSERT_EQ(view->arqs.size(), 1U);
  EXPECT_EQ(view->arqs.front().uuid, arq);
  EXPECT_EQ(view->arqs.front().state, ArqState::bound);
  EXPECT_EQ(view->arqs.front().instance_uuid, kInstance);
  EXPECT_EQ(to_string(*view->arqs.front().address), "0000:c1:00.0");
  EXPECT_FALSE(view->arqs.front().is_managed());
  EXPECT_TRUE(bench.read("another-host")->arqs.empty());

  (void)cyborg_->run("unbind", {"arq=" + arq, "state=UnbindFailed"});
  view = bench.read("bind-host");
  ASSERT_EQ(view->arqs.size(), 1U);
  EXPECT_EQ(view->arqs.front().uuid, arq);
  EXPECT_TRUE(view->arqs.front().holds_device());
  EXPECT_EQ(view->arqs.front().hostname, "");

  (void)cyborg_->run("unbind", {"arq=" + arq});
  EXPECT_TRUE(bench.read("bind-host")->arqs.empty());
  (void)cyborg_->run("delete", {"arq=" + arq});
  EXPECT_TRUE(bench.read("bind-host")->arqs.empty());
}

TEST_F(CyborgStack, TellsWhichDeviceIsMaintaining) {
  CyborgBench bench(options());
  std::string first;
  for (const char* address : {"0000:01:00.0", "0000:02:00.0"}) {
    const std::string uuid = cyborg_->made(
        "device", {"hostname=status-host", std::string("address=") + address, "board=address"});
    if (first.empty()) first = uuid;
  }
  (void)cyborg_->run("disable", {"device=" + first});
  const auto of = [&] {
    const auto view = bench.read("status-host");
    std::string all;
    if (!view.ok()) return view.error().what;
    for (const CyborgDevice& each : view->devices) {
      all += to_string(*each.address) + "=" + each.status + " ";
    }
    return all;
  };
  EXPECT_EQ(of(), "0000:02:00.0=enabled 0000:01:00.0=maintaining ");
  (void)cyborg_->run("enable", {"device=" + first});
  EXPECT_EQ(of(), "0000:02:00.0=enabled 0000:01:00.0=enabled ");
}

// What Cyborg shows to a user without the role is 200 and no ARQ.
TEST_F(CyborgStack, WhoIsNoAdminIsNotBelieved) {
  CyborgBench bench(options("nobody"));
  const auto view = bench.read("bind-host");
  EXPECT_EQ(view.error().code, Errc::refused);
  EXPECT_THAT(view.error().what, HasSubstr("role admin"));
}

TEST_F(CyborgStack, AnArqThatCannotBeReadFailsTheWholeRead) {
  CyborgBench bench(options());
  const std::string device = cyborg_->made("device", {"hostname=odd", "address=0000:c1:00.0"});
  const std::string arq = cyborg_->made("arq", {});
  (void)cyborg_->run("bind", {"arq=" + arq, "device=" + device, "instance=x"});
  ASSERT_TRUE(bench.read("odd").ok());
  (void)cyborg_->run("set", {"arq=" + arq, "attach_handle_info={\"domain\": \"zz\"}"});
  EXPECT_THAT(bench.read("odd").error().what, HasSubstr(arq));
  EXPECT_TRUE(bench.read("bind-host").ok());  // it is of another host
  (void)cyborg_->run("delete", {"arq=" + arq});
}

TEST_F(CyborgStack, FaultsOnTheWay) {
  CyborgOptions made = options();
  made.session.timeout_ms = 60'000;
  CyborgBench bench(made);
  ASSERT_TRUE(bench.read("bind-host").ok());
  (void)cyborg_->run("fault", {"kind=503", "path=/v2/devices"});
  EXPECT_TRUE(bench.read("bind-host").ok());
  (void)cyborg_->run("fault", {"kind=503", "times=3"});
  EXPECT_EQ(bench.read("bind-host").error().code, Errc::unavailable);
  (void)cyborg_->run("fault", {"kind=html", "times=3"});
  EXPECT_EQ(bench.read("bind-host").error().code, Errc::unavailable);
  (void)cyborg_->run("fault", {"kind=garbage"});
  EXPECT_EQ(bench.read("bind-host").error().code, Errc::invalid);
  (void)cyborg_->run("fault", {"kind=truncated", "times=3"});
  EXPECT_EQ(bench.read("bind-host").error().code, Errc::unavailable);
  (void)cyborg_->run("fault", {"kind=slow", "delay_ms=60000"});
  CyborgOptions impatient = made;
  impatient.session.timeout_ms = 200;
  impatient.session.connect_retries = 0;
  // The version document of its login is slow already.
  EXPECT_EQ(CyborgBench(impatient).read("bind-host").error().code, Errc::unavailable);
  (void)cyborg_->run("fault", {"kind=401"});
  EXPECT_TRUE(bench.read("bind-host").ok());
}

TEST_F(CyborgStack, AnExpiredTokenIsRenewed) {
  CyborgBench bench(options());
  ASSERT_TRUE(bench.read("bind-host").ok());
  const std::string before = bench.transport().last_token();
  (void)cyborg_->run("expire");
  EXPECT_TRUE(bench.read("bind-host").ok());
  EXPECT_NE(bench.transport().last_token(), before);
}

TEST_F(CyborgStack, ADowngradeIsNoticed) {
  CyborgBench bench(options());
  ASSERT_TRUE(bench.read("bind-host").ok());
  (void)cyborg_->run("max_version", {"value=2.3"});
  EXPECT_THAT(bench.read("bind-host").error().what, HasSubstr("at most microversion 2.3"));
  EXPECT_TRUE(bench.read("bind-host").ok());
  EXPECT_EQ(bench.log_in()->microversion, "2.3");
  (void)cyborg_->run("max_version", {"value=2.4"});
}

// Cyborg of 2024.1 to 2026.1 answers the guideline's header with version 2.0, without a word.
TEST_F(CyborgStack, SeesTheStatusOfADeviceThroughTheBareHeaderToo) {
  auto old = CyborgStandIn::start({"--bare-version"});
  ASSERT_TRUE(old.ok()) << old.error().what;
  const std::string device = (*old)->made("device", {"hostname=h", "address=0000:c1:00.0"});
  (void)(*old)->run("disable", {"device=" + device});
  CyborgOptions made = options();
  made.session.endpoint_override = (*old)->endpoint();
  const auto view = CyborgBench(made).read("h");
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_EQ(view->devices.front().status, "maintaining");
}

}  // namespace
}  // namespace reclaim::testing
