// Plans how a drive gets the namespaces that it should have: one over its whole capacity, in the
// enrolled format, attached. A tenant may have made more, hidden some by detaching them, shrunk or
// reformatted them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvme/controller/controller_state.h"
#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Drives round: a difference of up to this much, the larger of both but never more than a tenth, is
// put up with (an Intel P4510 gives 64 MiB less than it promises), and only where it cannot hide
// anything: where a sanitize reaches it.
inline constexpr std::uint64_t kCapacitySlackBytes = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kCapacitySlackPercent = 1;

struct NamespaceToMake {
  std::uint8_t format = 0;        // index into the drive's LBA formats
  std::uint32_t block_bytes = 0;  // of that format
  std::uint16_t metadata_bytes = 0;
  std::uint8_t sharing = 0;        // NMIC
  std::uint64_t former_bytes = 0;  // of the namespace that was enrolled, or of those there now
  friend bool operator==(const NamespaceToMake&, const NamespaceToMake&) = default;
};

struct NamespaceToFormat {
  std::uint32_t nsid = 0;
  std::uint8_t format = 0;
  friend bool operator==(const NamespaceToFormat&, const NamespaceToFormat&) = default;
};

// The plan of a new layout. Nothing in the last three: the layout is left as it is.
struct LayoutPlan {
  std::vector<StepFinding> findings;
  std::vector<std::uint32_t> remove;      // deleted, all of them, before one is made
  std::optional<NamespaceToMake> make;    // over everything that is then unallocated, and attached
  std::vector<NamespaceToFormat> format;  // without namespace management: back to the enrolled one

  [[nodiscard]] bool nothing_to_do() const {
    return remove.empty() && !make.has_value() && format.empty();
  }
};

// `can_manage`: whether namespaces can be deleted and made; OACS says so, but some drives say it
// and do not know the commands. Errc::failed, with the remedy, where the layout can be neither
// mended nor covered by the erase: what no attached namespace covers is reached by a sanitize
// alone, so that for the other methods namespaces that can be managed are always made again.
[[nodiscard]] Result<LayoutPlan> plan_namespaces(const ControllerState& now,
                                                 const ControllerState* enrolled,
                                                 EraseMethod method, bool can_manage);

// Checks that the namespaces cover all that `method` has to reach, to the block: what is left
// beside them keeps what a tenant wrote there, and another layout brings it to light. Errc::failed,
// with the remedy; never of a sanitize, nor of a drive that cannot manage namespaces.
[[nodiscard]] Status check_covered(const ControllerState& now, EraseMethod method);

// True if two capacities are the same but for rounding.
[[nodiscard]] bool about_equal(std::uint64_t a_bytes, std::uint64_t b_bytes);

}  // namespace reclaim::nvme
