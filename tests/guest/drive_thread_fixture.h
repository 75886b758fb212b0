// The shipped DriveThreads on a drive of the guest, its answers waited for.
#pragma once

#include <optional>

#include "nvme/drive_threads.h"
#include "state/base/uv.h"
#include "tests/guest/guest_fixture.h"

namespace reclaim::guest {

using nvme::Baseline;
using nvme::EraseEvidence;
using nvme::EraseMethod;
using nvme::EraseRequest;
using nvme::StepReport;
using nvme::StepRequest;
using nvme::VerifyReport;

class DriveThreadTest : public GuestTest {
 protected:
  explicit DriveThreadTest(const char* address) : address_(*parse_pci_address(address)) {}
  void SetUp() override {
    GuestTest::SetUp();
    options_.samples_max = 64;
  }
  void TearDown() override { drive_threads_.reset(); }

  template <typename T>
  Result<T> await(const std::function<void(Callback<T>)>& begin) {
    std::optional<Result<T>> answer;
    begin([&answer](Result<T> got) { answer.emplace(std::move(got)); });
    turn_until([&answer] { return answer.has_value(); });
    return answer ? *std::move(answer) : Result<T>(Error{Errc::unknown, "no answer"});
  }
  void turn_until(const std::function<bool()>& done) {
    const std::int64_t deadline = clock_.now().mono.ms + 300'000;
    uv::Timer tick(loop_.raw());
    tick.start(20, 20, [] {});
    while (!done() && clock_.now().mono.ms < deadline) loop_.run_once();
  }

  Result<nvme::ClaimReport> claim_on_thread(const nvme::ClaimRequest& asked) {
    drive_threads_.emplace(loop_.raw(), options_, clock_, log_);
    return await<nvme::ClaimReport>(
        [&](auto done) { drive_threads_->claim(asked, std::move(done)); });
  }
  Result<StepReport> step(const std::string& name, EraseMethod method,
                          const std::string& enrolment = "") {
    StepRequest request;
    request.step = nvme::parse_drive_step(name).value();
    request.method = method;
    request.enrolment = enrolment;
    return await<StepReport>([&](auto done) {
      drive_threads_->run_step(
          address_, request, [](auto) {}, std::move(done));
    });
  }
  Result<Baseline> take_baseline() {
    return await<Baseline>(
        [&](auto done) { drive_threads_->take_baseline(address_, std::move(done)); });
  }
  Result<EraseEvidence> erase(
      const EraseRequest& request, const std::function<void()>& on_progress = [] {}) {
    return await<EraseEvidence>([&](auto done) {
      drive_threads_->erase(
          address_, request, [on_progress](auto) { on_progress(); }, std::move(done));
    });
  }
  Result<VerifyReport> verify(const Baseline& baseline, const EraseEvidence& evidence) {
    return await<VerifyReport>([&](auto done) {
      drive_threads_->verify(
          address_, baseline, evidence, [](auto) {}, std::move(done));
    });
  }
  Result<nvme::Counters> still_ours(const nvme::Counters& since) {
    return await<nvme::Counters>(
        [&](auto done) { drive_threads_->still_ours(address_, since, std::move(done)); });
  }
  void drop() {
    bool dropped = false;
    drive_threads_->drop(address_, [&] { dropped = true; });
    turn_until([&] { return dropped; });
    EXPECT_TRUE(dropped);
  }

  // Every clean step before the baseline, in the order of the plan.
  void all_steps(EraseMethod method) {
    for (const char* name :
         {"check_health", "recover_sanitize", "reset_controller_state", "reset_namespaces"}) {
      const auto report = step(name, method);
      ASSERT_TRUE(report.ok()) << name << ": " << report.error().what;
      for (const auto& each : report->findings) findings_of_steps_.push_back(each);
    }
  }
  // From the baseline to the last look; all of it must succeed. The claim is there.
  void erase_and_verify(EraseMethod method) {
    EraseRequest request;
    request.method = method;
    const auto baseline = take_baseline();
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    EXPECT_GT(baseline->counted(), 0U);
    const auto evidence = erase(request);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->method, method);
    const auto verified = verify(*baseline, *evidence);
    ASSERT_TRUE(verified.ok()) << verified.error().what;
    EXPECT_EQ(verified->samples_unchanged, 0U);
    report_ = *verified;
    const auto ours = still_ours(verified->counters);
    ASSERT_TRUE(ours.ok()) << ours.error().what;
  }

  const PciAddress address_;
  uv::Loop loop_;
  std::optional<nvme::DriveThreads> drive_threads_;
  std::vector<nvme::StepFinding> findings_of_steps_;
  VerifyReport report_;
};

}  // namespace reclaim::guest
