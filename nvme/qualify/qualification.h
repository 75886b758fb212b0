// The findings of a qualification: all of its report, and, while it is under way, all that a later
// run goes on from. docs/models/README.md describes the JSON. Pure; thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/qualify/pattern.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::nvme {

inline constexpr std::string_view kQualificationSchema = "reclaim.qualification/1";
inline constexpr std::size_t kQualificationBytesMax = std::size_t{1} << 20U;

// One way over the media.
struct Pass {
  std::uint64_t bytes = 0;
  std::int64_t duration_ms = 0;

  [[nodiscard]] std::uint64_t bytes_per_s() const {
    return bytes * 1000 / static_cast<std::uint64_t>(duration_ms > 0 ? duration_ms : 1);
  }
  friend bool operator==(const Pass&, const Pass&) = default;
};

// A drive as it describes itself.
struct DriveSays {
  std::string model;
  std::string serial;
  std::string firmware;
  std::string vendor_id;  // four hex digits
  std::string product_id;
  std::uint64_t capacity_bytes = 0;  // of all namespaces
  std::uint32_t namespaces = 0;
  std::uint32_t block_bytes = 0;  // of the first namespace
  std::uint8_t dlfeat = 0;        // of the first namespace, bits 2:0
  std::uint8_t cmic = 0;
  bool managed = true;  // false: it was taken over from another driver, to which it went back
  Capabilities capabilities;
  // The estimates of the sanitize log, -1: none is told.
  std::int64_t crypto_estimate_s = -1;
  std::int64_t block_estimate_s = -1;
  std::uint32_t percentage_used = 0;  // of the estimated endurance
  std::uint64_t media_errors = 0;
  friend bool operator==(const DriveSays&, const DriveSays&) = default;
};

// One method, tried from the pattern to the last look.
struct Trial {
  EraseMethod method = EraseMethod::sanitize_crypto;
  bool finished = false;  // false: it starts over in the next run
  Pass written;
  Pass read_back;
  MediaCounts before;   // what the pattern was read back as
  std::string failure;  // why it ended early: in the drive's or the host's words; empty: it did not
  Pass erased;
  bool claims_erased = false;  // the drive says that it did it
  std::uint32_t scdw10 = 0;    // of a sanitize, as logged
  std::uint32_t sstat = 0;
  bool global_data_erased = false;  // read after all else
  std::string power;                // what was done between erase and look, in words
  std::string reset;
  bool reset_failed = false;
  Pass looked_at;
  MediaCounts after;
  friend bool operator==(const Trial&, const Trial&) = default;
};

// The erase at the end, as a cleaning does it with the recommended entry.
struct LastErase {
  std::string method;  // empty: there was none
  bool verified = false;
  std::string text;  // what verification says, or what went wrong
  std::int64_t duration_ms = 0;
  friend bool operator==(const LastErase&, const LastErase&) = default;
};

enum class Verdict : std::uint8_t { undecided, recommended, with_relaxations, do_not_use };
[[nodiscard]] std::string_view to_string(Verdict verdict);
[[nodiscard]] Result<Verdict> parse_verdict(std::string_view text);

struct Conclusion {
  Verdict verdict = Verdict::undecided;
  std::vector<std::string> reasons;  // of the verdict
  std::vector<std::string> notes;    // what else an operator wants to know
  std::string method;                // that the entry chooses; empty: none
  std::vector<std::string> relax;
  std::string device_spec;  // the entry, JSON; empty: none
  friend bool operator==(const Conclusion&, const Conclusion&) = default;
};

struct Qualification {
  std::string tool_version;
  std::string kernel;  // release of the host's
  std::string address;
  WallMs began_at;
  WallMs ended_at;  // 0: under way
  DriveSays drive;
  std::vector<std::uint64_t> nonces;  // of all patterns that were ever begun, the newest last
  std::vector<Trial> trials;
  LastErase last_erase;
  Conclusion conclusion;
  friend bool operator==(const Qualification&, const Qualification&) = default;

  [[nodiscard]] const Trial* find(EraseMethod method) const;
  [[nodiscard]] std::vector<Pattern> patterns() const;
};

[[nodiscard]] std::string encode_qualification(const Qualification& qualification);
// Errc::invalid names the member that is wrong.
[[nodiscard]] Result<Qualification> decode_qualification(std::string_view text);

// All methods that a drive of these abilities can be asked for, the best first.
[[nodiscard]] std::vector<EraseMethod> methods_of(const Capabilities& capabilities);

}  // namespace reclaim::nvme
