// A claimed drive of the emulated host whose clean steps are run one by one.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "tests/integration/nvme_fixture.h"

namespace reclaim::nvme {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// Sizes and formats of the namespaces that are attached now.
inline std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes_of(const Drive& drive) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes;
  for (const NamespaceFacts& ns : drive.claim().namespace_facts()) {
    sizes.emplace_back(ns.capacity_bytes, ns.block_bytes);
  }
  return sizes;
}

class SurfacesTest : public NvmeFixture {
 protected:
  [[nodiscard]] Result<StepReport> step(const std::string& name, const std::string& enrolment = "",
                                        EraseMethod method = EraseMethod::sanitize_crypto) {
    StepRequest request;
    request.step = parse_drive_step(name).value();
    request.enrolment = enrolment;
    request.method = method;
    request.accept_found = accept_found_;
    request.timeout_ms = step_timeout_ms_;
    return drive_->run_step(
        request, [this](EraseProgress p) { progress_.push_back(p); }, stop_);
  }
  void take(const std::string& more = "", bool fill = true) {
    make_drive(more, fill);
    take_again();
  }
  void take_again() {
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
  }
  void throw_away() {
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
  // The drive as it is now, as a cleaning would have left it.
  [[nodiscard]] std::string enrol() {
    auto text = drive_->enrolment();
    EXPECT_TRUE(text.ok()) << text.error().what;
    return text.ok() ? *text : "";
  }
  void erase_fully_again() {
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    auto evidence = erase(*drive_);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    evidence_ = *evidence;
  }
  static void expect_finding(const Result<StepReport>& report, std::string_view surface,
                             std::string_view says, bool reset) {
    ASSERT_TRUE(report.ok()) << report.error().what;
    std::string all;
    for (const StepFinding& each : report->findings) {
      all += each.surface + ": " + each.found + (each.reset ? " (reset)\n" : "\n");
      if (each.surface == surface && each.found.find(says) != std::string::npos &&
          each.reset == reset) {
        return;
      }
    }
    FAIL() << "no finding of " << surface << " says '" << says << "' in\n" << all;
  }
  static std::size_t resets(const Result<StepReport>& report) {
    EXPECT_TRUE(report.ok()) << report.error().what;
    if (!report.ok()) return 99;
    return static_cast<std::size_t>(std::count_if(report->findings.begin(), report->findings.end(),
                                                  [](const StepFinding& f) { return f.reset; }));
  }
  bool accept_found_ = false;
  std::int64_t step_timeout_ms_ = 300'000;
};

}  // namespace reclaim::nvme
