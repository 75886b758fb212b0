// Boot partitions, Lockdown and Device Self-test.
#include <algorithm>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint16_t kOacsSelfTest = 1U << 4U;
constexpr std::uint16_t kOacsLockdown = 1U << 10U;
constexpr std::size_t kBootUnit = std::size_t{128} * 1024;
constexpr std::size_t kBootHeader = 16;
constexpr std::size_t kLockdownIds = 508;

bool has(const std::array<std::uint64_t, 4>& bits, std::uint32_t id) {
  return (bits[id / 64] >> id % 64 & 1U) != 0;
}

// Commands that this drive can be told to prohibit.
bool can_be_prohibited(std::uint32_t opcode) {
  switch (opcode) {
    case nvme_admin_sanitize_nvm:
    case nvme_admin_format_nvm:
    case nvme_admin_ns_mgmt:
    case nvme_admin_ns_attach:
    case nvme_admin_fw_commit:
    case nvme_admin_fw_download:
    case nvme_admin_security_send:
    case nvme_admin_security_recv:
    case nvme_admin_set_features:
    case nvme_admin_dev_self_test:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::byte> Controller::boot_partition_log(std::uint32_t partition) const {
  const BootState& boot = state_.boot;
  std::vector<std::byte> page(kBootHeader + boot.units * kBootUnit);
  page[0] = std::byte{NVME_LOG_LID_BOOT_PARTITION};
  const std::uint32_t info = boot.units | std::uint32_t{boot.active & 1U} << 31U;
  std::memcpy(page.data() + 4, &info, sizeof(info));
  std::uint64_t word = boot.seed[partition];
  if (word == 0) return page;
  for (std::size_t at = kBootHeader; at < page.size(); ++at) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    page[at] = static_cast<std::byte>(word >> 56U);
  }
  return page;
}

// `selected` bits 3:0: 0 admin commands, 2 features; bits 5:4: 0 what can be prohibited, 1 what is
// from the host's queue, 2 what is out of band.
std::vector<std::byte> Controller::lockdown_log(std::uint32_t selected) const {
  std::vector<std::byte> page(512);
  const std::uint32_t scope = selected & 0xfU;
  const std::uint32_t content = selected >> 4U & 3U;
  page[0] = static_cast<std::byte>(selected & 0x3fU);
  std::size_t count = 0;
  for (std::uint32_t id = 0; id < 256 && count < kLockdownIds; ++id) {
    const bool of_commands =
        scope == 0 &&
        (content == 0 ? can_be_prohibited(id) : content == 1 && has(state_.lockdown.opcodes, id));
    const bool of_features = scope == 2 && content == 1 && has(state_.lockdown.features, id);
    if (of_commands || of_features) page[4 + count++] = static_cast<std::byte>(id);
  }
  page[3] = static_cast<std::byte>(count);
  return page;
}

std::uint16_t Controller::locked_down(const Command& command) const {
  if (has(state_.lockdown.opcodes, command.opcode)) return kLockedDown;
  const bool feature = command.opcode == nvme_admin_set_features &&
                       has(state_.lockdown.features, command.cdw10 & 0xffU);
  return feature ? kLockedDown : kSuccess;
}

Completion Controller::lock_down(const Command& command) {
  if ((state_.capabilities.oacs & kOacsLockdown) == 0) return Completion{kInvalidOpcode, 0};
  const std::uint32_t scope = command.cdw10 & 0xfU;
  const bool prohibit = (command.cdw10 & 1U << 4U) != 0;
  const std::uint32_t interface = command.cdw10 >> 5U & 3U;
  const std::uint32_t id = command.cdw10 >> 8U & 0xffU;
  if (scope != 0 && scope != 2) return Completion{kInvalidField, 0};
  if (scope == 0 && !can_be_prohibited(id)) return Completion{kCannotBeProhibited, 0};
  if (interface == 2) return Completion{};  // out of band alone is not modelled further
  auto& bits = scope == 0 ? state_.lockdown.opcodes : state_.lockdown.features;
  const std::uint64_t bit = std::uint64_t{1} << id % 64;
  bits[id / 64] = prohibit ? bits[id / 64] | bit : bits[id / 64] & ~bit;
  return Completion{};
}

std::uint32_t Controller::self_test_percent() const {
  const SelfTestState& test = state_.self_test;
  if (test.duration_ms == 0) return 100;
  const std::int64_t elapsed = std::max<std::int64_t>(0, now_ms_ - test.started_ms);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(100, elapsed * 100 / test.duration_ms));
}

void Controller::end_self_test(std::uint8_t result) {
  SelfTestState& test = state_.self_test;
  if (test.running == 0) return;
  std::copy_backward(test.results.begin(), test.results.end() - 1, test.results.end());
  test.results[0] = SelfTestResult{test.running, result, state_.smart.power_on_hours};
  test.results_count = std::min(test.results_count + 1, kSelfTestResults);
  test.running = 0;
}

std::vector<std::byte> Controller::self_test_log() const {
  const SelfTestState& test = state_.self_test;
  nvme_self_test_log log{};
  log.current_operation = test.running;
  log.completion = test.running == 0 ? 0 : static_cast<std::uint8_t>(self_test_percent());
  for (std::uint32_t i = 0; i < kSelfTestResults; ++i) {
    const SelfTestResult& each = test.results[i];
    log.result[i].dsts = i < test.results_count
                             ? static_cast<std::uint8_t>(each.code << 4U | each.result)
                             : static_cast<std::uint8_t>(NVME_ST_RESULT_NOT_USED);
    log.result[i].poh = each.power_on_hours;
  }
  std::vector<std::byte> page(sizeof(log));
  std::memcpy(page.data(), &log, sizeof(log));
  return page;
}

Completion Controller::self_test(const Command& command) {
  if ((state_.capabilities.oacs & kOacsSelfTest) == 0) return Completion{kInvalidOpcode, 0};
  SelfTestState& test = state_.self_test;
  const std::uint32_t code = command.cdw10 & 0xfU;
  if (code == NVME_ST_CODE_ABORT) {
    end_self_test(NVME_ST_RESULT_ABORTED);
    return Completion{};
  }
  if (code != NVME_ST_CODE_SHORT && code != NVME_ST_CODE_EXTENDED) {
    return Completion{kInvalidField, 0};
  }
  if (test.running != 0) return Completion{kSelfTestRunning, 0};
  test.running = static_cast<std::uint8_t>(code);
  test.started_ms = now_ms_;
  return Completion{};
}

}  // namespace reclaim::emulator
