// Tells how worn a drive is, as the health step found it at its last cleaning: read from the
// findings of a record or a certificate (handlers/conductor/evidence.h writes them). Pure; thread:
// any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reclaim {

// Nothing: the drive was not looked at, or does not tell.
struct DriveWear {
  std::optional<int> used_percent;  // 255 stands for all that is more
  std::optional<int> spare_percent;
  std::optional<std::uint64_t> media_errors;
};
[[nodiscard]] DriveWear wear_of(std::string_view findings);
// True if a drive is near its end: of its life at least so many per cent are used, or no more of
// its spare is left than what remains to 100.
inline constexpr int kWornPercent = 80;
[[nodiscard]] bool is_worn(const DriveWear& wear, int percent = kWornPercent);
// The wear, 0 to 255: the worse of the two. For an order of drives.
[[nodiscard]] int worn_percent(const DriveWear& wear);
// "3 % used, 100 % spare, 0 media errors"; empty: nothing is known.
[[nodiscard]] std::string wear_text(const DriveWear& wear);

// The health step's word on a drive that is going to be erased and not returned; empty: nothing.
[[nodiscard]] std::string said_to_be_kept(std::string_view findings);

}  // namespace reclaim
