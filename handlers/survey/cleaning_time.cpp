#include "handlers/survey/cleaning_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "handlers/survey/function_plan.h"
#include "handlers/survey/plan.h"
#include "nvme/controller/sanitize.h"

namespace reclaim {
namespace {

constexpr std::int64_t kMsPerS = 1'000;
constexpr std::int64_t kPartMaxMs = 604'800'000;
// A drive that is only slow writes and reads this much in a second, for hours.
constexpr std::uint64_t kZeroBytesPerS = 100'000'000;
constexpr std::uint64_t kReadBytesPerS = 200'000'000;
constexpr std::uint64_t kNistShare = 10;  // every tenth byte (nvme/verify/sampling.h)

// The rate that counts. One that is allowed to all drives of the host together is shared by as many
// as are cleaned at a time. Half of what is allowed is reached in any case.
std::uint64_t slowest(std::uint64_t rate, std::uint64_t of_drive, const ConductorOptions& options) {
  if (of_drive != 0) rate = std::min(rate, of_drive / 2);
  const std::uint64_t of_host = options.zero_bytes_per_s_max;
  if (of_host != 0) rate = std::min<std::uint64_t>(rate, of_host / 2 / options.cleanings_max);
  return std::max<std::uint64_t>(rate, 1);
}

std::int64_t ms_for(std::uint64_t bytes, std::uint64_t bytes_per_s) {
  constexpr std::uint64_t kMaxS = kPartMaxMs / kMsPerS;
  return static_cast<std::int64_t>(std::min(bytes / bytes_per_s + 1, kMaxS)) * kMsPerS;
}

std::uint64_t whole_of(const nvme::DriveFacts& drive, std::uint64_t capacity_bytes) {
  std::uint64_t in_namespaces = 0;
  for (const nvme::NamespaceFacts& ns : drive.namespaces) in_namespaces += ns.capacity_bytes;
  const std::uint64_t told = drive.identity ? drive.identity->capacity_bytes : 0;
  return std::max({in_namespaces, told, capacity_bytes});
}

// The time of an operator's own step, and of one that writes whole firmware images.
std::int64_t beside_cleanup_timeout_ms(const CleanStep& step) {
  const bool built_in = step.interface == kNvmeInterface || step.interface == kPciInterface;
  if (built_in && name_of(step) != restore_firmware_step()) return 0;
  return std::min(step_time_ms(step, "timeout_ms", 0), kPartMaxMs);
}

class Sum final {
 public:
  void add(std::int64_t ms, const std::string& what) {
    if (ms <= 0) return;
    total_ms_ += ms;
    parts_.push_back(fmt::format("{} {}", ms / kMsPerS, what));
  }
  [[nodiscard]] CleaningTime time() const {
    return {total_ms_,
            fmt::format("at most {} s: {}", total_ms_ / kMsPerS, fmt::join(parts_, ", "))};
  }

 private:
  std::int64_t total_ms_ = 0;
  std::vector<std::string> parts_;
};

// Adds what the erase and the verification of a drive take beside cleanup_timeout.
void add_drive(nvme::EraseMethod method, const DevicePolicy& policy,
               const ConductorOptions& options, const nvme::DriveFacts& drive, std::uint64_t bytes,
               std::int64_t cleanup_ms, Sum& sum) {
  const double gb = static_cast<double>(bytes) / 1e9;
  const auto more_for = [&](std::uint32_t cdw10) {
    return nvme::time_limit_ms(*drive.sanitize, cdw10, cleanup_ms) - cleanup_ms;
  };
  if (drive.sanitize && nvme::is_sanitize(method)) {
    const bool shows_media = drive.identity && drive.identity->capabilities.media_verification();
    sum.add(more_for(nvme::sanitize_cdw10(method, shows_media)),
            "for the sanitize, by the drive's estimate");
  }
  if (drive.sanitize && drive.sanitize->in_progress()) {
    sum.add(cleanup_ms + more_for(drive.sanitize->scdw10), "for the sanitize that runs already");
  }
  const bool zeroes =
      method == nvme::EraseMethod::write_zeroes || method == nvme::EraseMethod::overwrite;
  if (zeroes) {
    const auto rate = slowest(kZeroBytesPerS, policy.rules.zero_bytes_per_s_max, options);
    sum.add(ms_for(bytes, rate), fmt::format("to zero {:.0f} GB", gb));
  }
  const std::uint64_t read_rate = slowest(kReadBytesPerS, 0, options);
  if (policy.rules.verify == nvme::VerifyLevel::full) {
    sum.add(ms_for(bytes, read_rate), fmt::format("to read {:.0f} GB", gb));
  } else if (policy.rules.verify == nvme::VerifyLevel::nist) {
    sum.add(ms_for(bytes / kNistShare, read_rate), fmt::format("to read a tenth of {:.0f} GB", gb));
  }
}

}  // namespace

CleaningTime cleaning_time(const std::vector<CleanStep>& plan, const DevicePolicy& policy,
                           const ConductorOptions& options, const nvme::DriveFacts& drive,
                           std::uint64_t capacity_bytes) {
  const std::size_t erase = erase_index(plan);
  const std::int64_t configured_ms = policy.cleanup_timeout_ms.value_or(options.cleanup_timeout_ms);
  const std::int64_t cleanup_ms =
      erase == plan.size() ? configured_ms : step_time_ms(plan[erase], "timeout_ms", configured_ms);
  Sum sum;
  sum.add(cleanup_ms, "cleanup_timeout");
  if (const auto method = erase_of(plan)) {
    add_drive(*method, policy, options, drive, whole_of(drive, capacity_bytes), cleanup_ms, sum);
  }
  std::int64_t own_ms = 0;
  for (const CleanStep& step : plan) own_ms += beside_cleanup_timeout_ms(step);
  sum.add(own_ms, "for steps with a limit of their own");
  return sum.time();
}

}  // namespace reclaim
