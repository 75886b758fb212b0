// What zero_bench and many_drives do to block devices: the sweeps that ship, the commands of
// others, loop devices of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nvme/erase/rate_limit.h"
#include "nvme/options.h"
#include "nvme/rules.h"
#include "state/base/clock.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {

// A block device whose content is lost.
struct Target {
  std::string device;
  std::uint64_t bytes = 0;
};

// Exclusively, past the page cache.
[[nodiscard]] UniqueFd open_device(const std::string& device);

[[nodiscard]] double seconds_of(const std::function<bool()>& work, bool& ok);
[[nodiscard]] double median(std::vector<double> values);
// Whether the shell command ends well.
[[nodiscard]] bool command(const std::string& text);
// What it prints; nothing where it does not end well.
[[nodiscard]] std::optional<std::string> printed(const std::string& text);

// The sweep that a zeroing makes, with its options; `rate`, where there is one, is obeyed.
[[nodiscard]] bool zero(const Target& target, const Options& options, const Clock& clock,
                        bool by_kernel, RateLimit* rate = nullptr);
// What a level of verification reads, and how it is taken apart: all has to be zero.
[[nodiscard]] bool look(const Target& target, const Options& options, const Clock& clock,
                        VerifyLevel level);

// A loop device over a file that is unlinked at once. Empty: there is none to be had.
[[nodiscard]] std::string attach_loop(const std::string& file, std::uint64_t bytes);

}  // namespace reclaim::nvme
