// What a drive answers, at any length: Identify Controller and Namespace, SMART, the sanitize log.
// And the other foreign texts of nvme/: a persisted baseline, mountinfo.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nvme/controller/log_pages.h"
#include "nvme/controller/sanitize.h"
#include "nvme/host/mounts.h"
#include "nvme/verify/sampling.h"
#include "state/base/check.h"

namespace {

using namespace reclaim::nvme;

void check_namespace(std::span<const std::byte> page) {
  const auto facts = parse_identify_namespace(page, 1);
  if (!facts) return;
  CHECK(facts->block_bytes >= 512 && facts->capacity_bytes >= facts->block_bytes);
  // Whatever size a drive claims can be sampled, inside of it.
  const auto plan = plan_samples({*facts}, 16, 65'536, 1);
  CHECK(plan.ok());
  for (const Place& place : plan->samples) {
    CHECK(place.offset_bytes % facts->block_bytes == 0);
    CHECK(place.length_bytes <= facts->capacity_bytes);
    CHECK(place.offset_bytes <= facts->capacity_bytes - place.length_bytes);
  }
}

void check_sanitize_log(std::span<const std::byte> page) {
  const auto log = parse_sanitize_log(page);
  if (!log) return;
  for (const EraseMethod method : {EraseMethod::sanitize_crypto, EraseMethod::sanitize_block}) {
    const SanitizeJudgement judgement = judge_sanitize(*log, sanitize_cdw10(method));
    CHECK(!judgement.text.empty());
    if (judgement.outcome == SanitizeOutcome::erased) {
      CHECK(log->scdw10 == sanitize_cdw10(method));
      CHECK(log->global_data_erased());
      CHECK(log->status() == 1 || log->status() == 4);
    }
    CHECK(progress_percent(*log) >= 0 && progress_percent(*log) <= 100);
    CHECK(eta_s(*log, method) >= -1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> raw = std::as_bytes(std::span(data, size));
  // As it came, and padded to a whole page.
  std::vector<std::byte> page(raw.begin(), raw.end());
  page.resize(std::max(page.size(), kIdentifyBytes));
  for (const std::span<const std::byte> bytes : {raw, std::span<const std::byte>(page)}) {
    const auto identity = parse_identify_controller(bytes);
    if (identity) {
      CHECK(!identity->serial.empty());
      for (const std::string* text : {&identity->serial, &identity->model, &identity->firmware}) {
        CHECK(std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; }));
      }
    }
    check_namespace(bytes);
    check_sanitize_log(bytes);
    static_cast<void>(parse_smart(bytes).ok());
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto baseline = decode_baseline(text);
  if (baseline) CHECK(*decode_baseline(encode_baseline(*baseline)) == *baseline);
  static_cast<void>(parse_mountinfo(text).ok());
  static_cast<void>(parse_swaps(text).size());
  return 0;
}
