// Log pages.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint32_t kLogLockdown = 0x14;
constexpr std::uint8_t kLpaSupportedPages = 1U << 5U;
constexpr std::uint16_t kOacsSelfTest = 1U << 4U;
constexpr std::uint16_t kOacsLockdown = 1U << 10U;

void fill_with_noise(std::vector<std::byte>& page, std::uint64_t noise) {
  for (std::byte& each : page) {
    noise = noise * 6364136223846793005ULL + 1442695040888963407ULL;
    each = static_cast<std::byte>(noise >> 56U);
  }
}

void put128(std::uint8_t (&field)[16], std::uint64_t value) {
  std::memcpy(field, &value, sizeof(value));
}

std::uint64_t data_units(std::uint64_t sectors) {
  return (sectors + 999) / 1000;
}

template <typename Page>
std::vector<std::byte> bytes_of(const Page& page) {
  std::vector<std::byte> bytes(sizeof(page));
  std::memcpy(bytes.data(), &page, sizeof(page));
  return bytes;
}

}  // namespace

void Controller::smart_log(nvme_smart_log& log) const {
  const SmartState& smart = state_.smart;
  std::memcpy(&log, state_.pages.smart.data(), sizeof(log));
  log.critical_warning = smart.critical_warning;
  std::memcpy(log.temperature, &smart.temperature_k, sizeof(log.temperature));
  log.avail_spare = smart.available_spare;
  log.spare_thresh = smart.spare_threshold;
  log.percent_used = smart.percent_used;
  put128(log.data_units_read, data_units(smart.sectors_read));
  put128(log.data_units_written, data_units(smart.sectors_written));
  put128(log.host_reads, smart.host_reads);
  put128(log.host_writes, smart.host_writes);
  put128(log.power_cycles, smart.power_cycles);
  put128(log.power_on_hours, smart.power_on_hours);
  put128(log.unsafe_shutdowns, smart.unsafe_shutdowns);
  put128(log.media_errors, smart.media_errors);
  put128(log.num_err_log_entries, smart.error_log_entries);
}

void Controller::firmware_log(nvme_firmware_slot& log) const {
  log.afi =
      static_cast<std::uint8_t>(state_.firmware_slot_active | state_.firmware_slot_pending << 4U);
  for (std::size_t slot = 0; slot < state_.firmware_slots.size(); ++slot) {
    std::memcpy(log.frs[slot], state_.firmware_slots[slot].data(), sizeof(log.frs[slot]));
  }
}

// Of those that every drive has here: four bytes for each page, the lowest bit: it is there.
std::vector<std::byte> Controller::supported_logs() const {
  std::vector<std::byte> page(sizeof(std::uint32_t) * 256);
  for (const std::size_t id : {NVME_LOG_LID_SUPPORTED_LOG_PAGES, NVME_LOG_LID_ERROR,
                               NVME_LOG_LID_SMART, NVME_LOG_LID_FW_SLOT}) {
    page[id * sizeof(std::uint32_t)] = std::byte{1};
  }
  if ((state_.capabilities.sanicap & 7U) != 0) {
    page[NVME_LOG_LID_SANITIZE * sizeof(std::uint32_t)] = std::byte{1};
  }
  return page;
}

Completion Controller::get_log(const Command& command) {
  const std::uint32_t page_id = command.cdw10 & 0xffU;
  const std::uint64_t dwords =
      (command.cdw10 >> 16U | std::uint64_t{command.cdw11 & 0xffffU} << 16U) + 1;
  const std::uint32_t specific = command.cdw10 >> 8U & 0x7fU;
  const std::uint64_t offset = command.cdw12 | std::uint64_t{command.cdw13} << 32U;
  std::vector<std::byte> page;
  switch (page_id) {
    case NVME_LOG_LID_SUPPORTED_LOG_PAGES:
      if ((state_.capabilities.lpa & kLpaSupportedPages) == 0)
        return Completion{kInvalidLogPage, 0};
      page = supported_logs();
      break;
    case NVME_LOG_LID_ERROR:
      page = std::vector<std::byte>(sizeof(nvme_error_log_page) * 64);
      break;
    case NVME_LOG_LID_SMART: {
      nvme_smart_log log{};
      smart_log(log);
      page = bytes_of(log);
      break;
    }
    case NVME_LOG_LID_FW_SLOT: {
      nvme_firmware_slot log{};
      firmware_log(log);
      page = bytes_of(log);
      break;
    }
    case NVME_LOG_LID_CHANGED_NS:
      page = std::vector<std::byte>(4096);
      break;
    case NVME_LOG_LID_SANITIZE: {
      if ((state_.capabilities.sanicap & 7U) == 0) return Completion{kInvalidLogPage, 0};
      if (state_.faults.refuses_log != 0) return Completion{state_.faults.refuses_log, 0};
      nvme_sanitize_log_page log{};
      sanitize_log(log);
      page = bytes_of(log);
      if (state_.faults.garbage_sanitize_log) fill_with_noise(page, state_.noise_seed);
      break;
    }
    case NVME_LOG_LID_DEVICE_SELF_TEST:
      if ((state_.capabilities.oacs & kOacsSelfTest) == 0) return Completion{kInvalidLogPage, 0};
      page = self_test_log();
      break;
    case kLogLockdown:
      if ((state_.capabilities.oacs & kOacsLockdown) == 0) return Completion{kInvalidLogPage, 0};
      if ((specific >> 4U & 3U) == 3) return Completion{kInvalidField, 0};
      page = lockdown_log(specific);
      break;
    case NVME_LOG_LID_BOOT_PARTITION:
      if (state_.boot.units == 0) return Completion{kInvalidLogPage, 0};
      page = boot_partition_log(specific & 1U);
      break;
    default:
      return Completion{kInvalidLogPage, 0};
  }
  if (offset > page.size()) return Completion{kInvalidField, 0};
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  const std::uint64_t length =
      std::min({dwords * 4, std::uint64_t{command.data.size()}, page.size() - offset});
  std::copy_n(page.data() + offset, length, command.data.data());
  return Completion{};
}

}  // namespace reclaim::emulator
