// The sanitize state machine (NVM Express base, "Sanitize Operations"): idle, processing and
// failure, each restricted (AUSE = 0) or not. Nothing but time ends the processing state: no reset,
// no power loss and no other command. With EMVS (base 2.1) its media verification follows, until
// a command or a loss of power ends that, and then the deallocation.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint32_t kExitFailure = 1;
constexpr std::uint32_t kBlockErase = 2;
constexpr std::uint32_t kOverwrite = 3;
constexpr std::uint32_t kCryptoErase = 4;
constexpr std::uint32_t kExitMediaVerification = 5;
constexpr std::uint32_t kSanicapVerification = 1U << 3U;
constexpr std::uint32_t kSanicapNoDeallocateInhibited = 1U << 29U;
constexpr std::size_t kNodrmFeature = NVME_FEAT_FID_SANITIZE;
constexpr std::uint32_t kProgressWhole = 65536;

std::uint32_t action_of(std::uint32_t cdw10) {
  return cdw10 & 7U;
}
bool unrestricted(std::uint32_t cdw10) {
  return (cdw10 & 1U << 3U) != 0;
}
bool no_deallocate(std::uint32_t cdw10) {
  return (cdw10 & 1U << 9U) != 0;
}

bool enters_verification(std::uint32_t cdw10) {
  return (cdw10 & 1U << 10U) != 0;
}

// xorshift64*: what a changed key turns old ciphertext into.
std::uint64_t next_noise(std::uint64_t& seed) {
  seed ^= seed >> 12U;
  seed ^= seed << 25U;
  seed ^= seed >> 27U;
  return seed * 0x2545f4914f6cdd1dULL;
}

}  // namespace

std::uint32_t Controller::progress() const {
  const SanitizeState& sanitize = state_.sanitize;
  if (sanitize.phase == SanitizePhase::media_verification) return kProgressWhole;
  const bool deallocates = sanitize.phase == SanitizePhase::post_verification;
  const std::int64_t since_ms = deallocates ? sanitize.left_ms : sanitize.started_ms;
  const std::uint32_t duration_ms = deallocates ? sanitize.deallocate_ms : sanitize.duration_ms;
  const std::int64_t elapsed = std::max<std::int64_t>(0, now_ms_ - since_ms);
  std::uint64_t done = kProgressWhole;
  if (duration_ms > 0 && elapsed < duration_ms) {
    done = static_cast<std::uint64_t>(elapsed) * kProgressWhole / duration_ms;
  }
  if (state_.faults.stalls_at >= 0) {
    const auto limit = static_cast<std::uint64_t>(state_.faults.stalls_at) * kProgressWhole / 100;
    done = std::min(done, limit);
  }
  return static_cast<std::uint32_t>(done);
}

void Controller::advance() {
  if (state_.self_test.running != 0 && self_test_percent() >= 100) {
    end_self_test(NVME_ST_RESULT_NO_ERR);
  }
  SanitizeState& sanitize = state_.sanitize;
  if (sanitize.status != SanitizeStatus::in_progress) return;
  if (sanitize.phase == SanitizePhase::media_verification) return;
  const std::uint32_t done = progress();
  disturb_sanitize(done);
  const int fails_at = state_.faults.fails_at;
  if (fails_at >= 0 && done >= static_cast<std::uint32_t>(fails_at) * kProgressWhole / 100) {
    erase_all(static_cast<std::uint32_t>(fails_at));
    sanitize.status = SanitizeStatus::failed;
    sanitize.failure_mode = true;
    return;
  }
  // A drive that stalls at 100 % stands at FFFFh with SSTAT still "in progress".
  if (done < kProgressWhole || state_.faults.stalls_at >= 0) return;
  const bool shows_media = sanitize.phase == SanitizePhase::processing &&
                           enters_verification(sanitize.cdw10) && !sanitize.verification_canceled;
  if (!shows_media) return finish_sanitize();
  // What an erase leaves of the media, before it is deallocated.
  sanitize.phase = SanitizePhase::media_verification;
  if (!state_.faults.lies_keeps_data && !state_.faults.hides_media) erase_all(100);
}

void Controller::leave_media_verification() {
  state_.sanitize.phase = SanitizePhase::post_verification;
  state_.sanitize.left_ms = now_ms_;
}

void Controller::cancel_media_verification() {
  SanitizeState& sanitize = state_.sanitize;
  if (sanitize.status != SanitizeStatus::in_progress) return;
  if (sanitize.phase == SanitizePhase::media_verification) leave_media_verification();
  sanitize.verification_canceled = enters_verification(sanitize.cdw10);
}

// What happens to the drive on its way; the sanitize itself goes on.
void Controller::disturb_sanitize(std::uint32_t done) {
  Faults& faults = state_.faults;
  const auto reached = [&](std::int8_t percent) {
    return percent >= 0 && done >= static_cast<std::uint32_t>(percent) * kProgressWhole / 100;
  };
  if (reached(faults.power_loss_at)) {
    faults.power_loss_at = -1;
    power_loss();
    ++state_.host.generation;  // the function left the bus and came back
  }
  if (reached(faults.reset_at)) {
    faults.reset_at = -1;
    reset();
  }
}

void Controller::finish_sanitize() {
  SanitizeState& sanitize = state_.sanitize;
  sanitize.phase = SanitizePhase::processing;
  if (!state_.faults.lies_keeps_data) erase_all(100);
  sanitize.unreadable =
      state_.faults.unreadable_after_crypto && action_of(sanitize.cdw10) == kCryptoErase;
  for (auto& each : state_.written) each.fill(0);
  const bool asked_to_keep = no_deallocate(sanitize.cdw10);
  const bool inhibited = (state_.capabilities.sanicap & kSanicapNoDeallocateInhibited) != 0;
  const bool unexpected = state_.faults.unexpected_deallocation || (asked_to_keep && inhibited);
  sanitize.status =
      unexpected ? SanitizeStatus::success_unexpected_deallocation : SanitizeStatus::success;
  sanitize.failure_mode = false;
  sanitize.data_erased = !state_.faults.no_gde;
  if (action_of(sanitize.cdw10) == kOverwrite) {
    const std::uint32_t passes = sanitize.cdw10 >> 4U & 0xfU;
    sanitize.passes_done = static_cast<std::uint8_t>(passes == 0 ? 16 : passes);
  }
}

void Controller::erase_all(std::uint32_t percent) {
  const SanitizeState& sanitize = state_.sanitize;
  const bool crypto = action_of(sanitize.cdw10) == kCryptoErase;
  const bool inhibited = (state_.capabilities.sanicap & kSanicapNoDeallocateInhibited) != 0;
  const bool keep_allocated = sanitize.phase == SanitizePhase::media_verification ||
                              (no_deallocate(sanitize.cdw10) && !inhibited);
  const std::uint32_t share = state_.faults.erases_half ? std::min(percent, 50U) : percent;
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
    if (allocated(nsid) == nullptr) continue;
    const std::uint64_t block = block_bytes(nsid);
    const std::uint64_t length = namespace_bytes(nsid) / 100 * share / block * block;
    erase_range(nsid, 0, share == 100 ? namespace_bytes(nsid) : length, crypto, keep_allocated);
  }
}

// What the range reads as afterwards: zeros or ones where DLFEAT promises so, and noise where a key
// was changed under blocks that stay allocated or whose reading the drive does not promise.
bool Controller::erase_range(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length,
                             bool crypto, bool keep_allocated) {
  for (const Part& part : reachable(nsid, offset, length)) {
    if (!erase_part(nsid, part, crypto, keep_allocated)) return false;
  }
  return true;
}

bool Controller::erase_part(std::uint32_t nsid, const Part& part, bool crypto,
                            bool keep_allocated) {
  const std::uint32_t dlfeat = state_.capabilities.dlfeat & 7U;
  const bool overwrite =
      action_of(state_.sanitize.cdw10) == kOverwrite && !crypto && keep_allocated;
  const bool noise = crypto && (keep_allocated || dlfeat == 0);
  const bool ones = !noise && !overwrite && (dlfeat == 2 || (keep_allocated && !crypto));
  if (!noise && !ones && !overwrite) return media_.discard(nsid, part.offset, part.length);
  constexpr std::uint64_t kChunk = 1U << 20U;
  std::vector<std::uint64_t> words(kChunk / sizeof(std::uint64_t), ~std::uint64_t{0});
  const std::uint64_t pattern = state_.sanitize.pattern;
  if (overwrite) std::fill(words.begin(), words.end(), pattern << 32U | pattern);
  for (std::uint64_t at = 0; at < part.length; at += kChunk) {
    if (noise) {
      for (std::uint64_t& word : words) word = next_noise(state_.noise_seed);
    }
    const auto bytes = std::as_bytes(std::span(words));
    const std::uint64_t length = std::min(kChunk, part.length - at);
    if (!media_.write(nsid, part.offset + at, bytes.first(length))) return false;
  }
  return true;
}

std::uint16_t Controller::barred_by_sanitize() const {
  if (state_.sanitize.status == SanitizeStatus::in_progress) return kSanitizeInProgress;
  return state_.sanitize.failure_mode ? kSanitizeFailed : kSuccess;
}

std::uint16_t Controller::sanitize_prohibited() const {
  if (state_.faults.refuses_sanitize != 0) return state_.faults.refuses_sanitize;
  if (state_.sanitize.status == SanitizeStatus::in_progress) return kSanitizeInProgress;
  if (state_.firmware_slot_pending != 0) return kNeedsReset;
  if (state_.capabilities.pmr_enabled) return kPmrProhibitsSanitize;
  if (state_.security.locked) return kAccessDenied;
  const bool any_protected =
      std::any_of(state_.namespaces.begin(), state_.namespaces.end(),
                  [](const auto& each) { return each.allocated && each.write_protect != 0; });
  return any_protected ? kWriteProtected : kSuccess;
}

bool Controller::shows_media() const {
  return state_.sanitize.status == SanitizeStatus::in_progress &&
         state_.sanitize.phase == SanitizePhase::media_verification;
}

// While the media can be read no other action than its exit is valid, and at no other time that.
Completion Controller::exit_media_verification(std::uint32_t action) {
  if (state_.faults.refuses_sanitize != 0) return Completion{state_.faults.refuses_sanitize, 0};
  if (!shows_media() || action != kExitMediaVerification) return Completion{kInvalidField, 0};
  leave_media_verification();
  advance();
  return Completion{};
}

Completion Controller::sanitize(const Command& command) {
  SanitizeState& sanitize = state_.sanitize;
  const std::uint32_t action = action_of(command.cdw10);
  if ((state_.capabilities.sanicap & 7U) == 0) return Completion{kInvalidOpcode, 0};
  // A namespace is not the object of this command; drives have refused one (edk2 #12212).
  if (command.nsid != 0 && command.nsid != NVME_NSID_ALL) return Completion{kInvalidField, 0};
  if (shows_media()) return exit_media_verification(action);
  if (const std::uint16_t no = sanitize_prohibited(); no != kSuccess) return Completion{no, 0};
  if (action == kExitFailure) {
    if (!sanitize.failure_mode) return Completion{};
    if (sanitize.restricted) return Completion{kSanitizeFailed, 0};
    sanitize.failure_mode = false;
    return Completion{};
  }
  const std::uint32_t wanted = action == kCryptoErase  ? 1U
                               : action == kBlockErase ? 2U
                               : action == kOverwrite  ? 4U
                                                       : 0U;
  if ((state_.capabilities.sanicap & wanted) == 0) return Completion{kInvalidField, 0};
  const bool verifies = (state_.capabilities.sanicap & kSanicapVerification) != 0;
  if (enters_verification(command.cdw10) && (!verifies || state_.faults.refuses_emvs)) {
    return Completion{kInvalidField, 0};
  }
  if (sanitize.failure_mode && sanitize.restricted && unrestricted(command.cdw10)) {
    return Completion{kSanitizeFailed, 0};
  }
  const bool inhibited = (state_.capabilities.sanicap & kSanicapNoDeallocateInhibited) != 0;
  const bool warn_only = (state_.features[kNodrmFeature].current & 1U) != 0;
  if (no_deallocate(command.cdw10) && inhibited && !warn_only) return Completion{kInvalidField, 0};
  sanitize.status = SanitizeStatus::in_progress;
  sanitize.phase = SanitizePhase::processing;
  sanitize.verification_canceled = false;
  sanitize.restricted = !unrestricted(command.cdw10);
  sanitize.data_erased = false;
  sanitize.passes_done = 0;
  sanitize.cdw10 = command.cdw10;
  sanitize.pattern = command.cdw11;
  sanitize.started_ms = now_ms_;
  ++state_.sanitizes_accepted;
  end_self_test(NVME_ST_RESULT_ABORTED_SANITIZE);
  advance();
  return Completion{};
}

void Controller::sanitize_log(nvme_sanitize_log_page& log) const {
  const SanitizeState& sanitize = state_.sanitize;
  std::memcpy(&log, state_.pages.sanitize_log.data(), sizeof(log));
  const bool running = sanitize.status == SanitizeStatus::in_progress;
  log.sprog = static_cast<std::uint16_t>(running ? std::min(progress(), 65535U) : 65535U);
  log.sstat = static_cast<std::uint16_t>(
      static_cast<std::uint32_t>(sanitize.status) | (sanitize.passes_done & 0x1fU) << 3U |
      (sanitize.data_erased ? 1U << 8U : 0U) | (sanitize.verification_canceled ? 1U << 9U : 0U));
  // The lie is a well-formed command, only not ours: a block erase for a crypto erase and so on.
  log.scdw10 = state_.faults.wrong_scdw10 ? sanitize.cdw10 ^ 6U : sanitize.cdw10;
  log.eto = sanitize.estimate_s[0];
  log.etbe = sanitize.estimate_s[1];
  log.etce = sanitize.estimate_s[2];
  log.etond = sanitize.estimate_s[3];
  log.etbend = sanitize.estimate_s[4];
  log.etcend = sanitize.estimate_s[5];
  if ((state_.capabilities.sanicap & kSanicapVerification) == 0) return;
  // ETPVDS and SSI, which the headers of older libraries do not name.
  const std::uint8_t processing = sanitize.restricted ? 1 : 3;
  const std::uint8_t phase = !running ? sanitize.failure_mode ? processing + 1 : 0
                             : sanitize.phase == SanitizePhase::processing
                                 ? processing
                                 : static_cast<std::uint8_t>(sanitize.phase);
  const auto page = std::as_writable_bytes(std::span(&log, 1));
  std::memcpy(page.data() + 32, &sanitize.estimate_deallocate_s, sizeof(std::uint32_t));
  page[36] = std::byte{phase};
}

}  // namespace reclaim::emulator
