// The operator's rules for the cleaning of a drive (device_spec), as plain values: which way it is
// erased, how much is looked at afterwards, which of a drive's faults are put up with. Pure;
// config/ reads them, handlers/ hands them to the drive with its claim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/result.h"

namespace reclaim::nvme {

// `format` is not of the specification: an operator's own choice for drives without Sanitize, and
// of the weaker class (clear, not purge). `auto` never chooses it.
enum class ClearAction : std::uint8_t { auto_, sanitize, zero, format };
enum class ClearStrategy : std::uint8_t { auto_, crypto, block };

[[nodiscard]] std::string_view to_string(ClearAction action);
[[nodiscard]] std::string_view to_string(ClearStrategy strategy);
[[nodiscard]] Result<ClearAction> parse_clear_action(std::string_view text);
[[nodiscard]] Result<ClearStrategy> parse_clear_strategy(std::string_view text);

// The part of the media that is read after an erase.
enum class VerifyLevel : std::uint8_t {
  log,     // nothing: the drive's word, with every cross-check of its log
  sample,  // the places sampled before, and the canaries
  nist,    // NIST SP 800-88r1 §4.7: >= 1000 subsections, two samples each, >= 10 % of the media
  full,    // every block
};
[[nodiscard]] std::string_view to_string(VerifyLevel level);
[[nodiscard]] Result<VerifyLevel> parse_verify_level(std::string_view text);

// Bits of Critical Warning (NVM Express Base 2.0, Figure 207, SMART / Health log, byte 0).
enum class Warning : std::uint8_t {
  spare,        // spare capacity below its threshold
  temperature,  // outside its thresholds
  reliability,  // degraded, by media or internal errors
  read_only,    // the media is
  backup,       // of the volatile memory failed
  pmr,          // the persistent memory region is read only or unreliable
};
inline constexpr std::size_t kWarningCount = 6;
[[nodiscard]] std::string_view to_string(Warning warning);
[[nodiscard]] constexpr std::uint8_t bit_of(Warning warning) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(warning));
}

// Cross-checks that real drives are known to break, and warnings that an operator puts up with. One
// is relaxed only by its name in device_spec, and every certificate says which were.
struct Relaxations {
  bool global_data_erased = false;  // the drive never sets Global Data Erased
  bool unreadable_blocks = false;   // blocks cannot be read after the erase
  bool deallocated_value = false;   // erased blocks do not read as DLFEAT promises
  bool media_verification = false;  // the drive is not asked for its media verification
  std::uint8_t warnings = 0;        // bits of Critical Warning

  [[nodiscard]] bool any() const {
    return global_data_erased || unreadable_blocks || deallocated_value || media_verification ||
           warnings != 0;
  }
  [[nodiscard]] bool puts_up_with(Warning warning) const {
    return (warnings & bit_of(warning)) != 0;
  }
  friend bool operator==(const Relaxations&, const Relaxations&) = default;
};
// The names device_spec and certificates use: "global_data_erased", …
[[nodiscard]] std::vector<std::string> names(const Relaxations& relaxations);
// Adds the named one; Errc::invalid lists the names there are.
[[nodiscard]] Status relax(Relaxations& relaxations, std::string_view name);

// A drive beyond these is erased, and not given back. Read from the SMART log after the erase.
struct HealthLimits {
  std::uint8_t percentage_used_max = 100;    // of the estimated endurance; 255: no limit
  std::uint64_t media_errors_delta_max = 0;  // more than this since the enrolment baseline
  bool judged = true;  // false: nvme.check_health is left out of the plan, nothing is refused
  friend bool operator==(const HealthLimits&, const HealthLimits&) = default;
};

// All that device_spec says of one drive beyond its match.
struct Rules {
  ClearAction action = ClearAction::auto_;
  ClearStrategy strategy = ClearStrategy::auto_;
  VerifyLevel verify = VerifyLevel::sample;
  Relaxations relaxed;
  HealthLimits health;
  // Firmware revisions a tenant may leave in any slot; empty: those of the enrolment baseline.
  std::vector<std::string> firmware_allowed;
  std::uint64_t zero_bytes_per_s_max = 0;  // of zeroing this drive; 0: no limit
  friend bool operator==(const Rules&, const Rules&) = default;
};

}  // namespace reclaim::nvme
