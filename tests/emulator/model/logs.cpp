// Log pages and features.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint32_t kFeatureWriteProtect = NVME_FEAT_FID_WRITE_PROTECT;
constexpr std::uint32_t kFeatureHostId = NVME_FEAT_FID_HOST_ID;
constexpr std::uint32_t kFeatureQueues = NVME_FEAT_FID_NUM_QUEUES;

// Features whose value is one dword and that this drive has.
constexpr std::array<std::uint32_t, 15> kFeatures{
    NVME_FEAT_FID_ARBITRATION,  NVME_FEAT_FID_POWER_MGMT,  NVME_FEAT_FID_TEMP_THRESH,
    NVME_FEAT_FID_ERR_RECOVERY, NVME_FEAT_FID_VOLATILE_WC, NVME_FEAT_FID_NUM_QUEUES,
    NVME_FEAT_FID_IRQ_COALESCE, NVME_FEAT_FID_IRQ_CONFIG,  NVME_FEAT_FID_WRITE_ATOMIC,
    NVME_FEAT_FID_ASYNC_EVENT,  NVME_FEAT_FID_KATO,        NVME_FEAT_FID_HCTM,
    NVME_FEAT_FID_SANITIZE,     NVME_FEAT_FID_SW_PROGRESS, NVME_FEAT_FID_RESV_MASK};

bool known(std::uint32_t fid) {
  return std::find(kFeatures.begin(), kFeatures.end(), fid) != kFeatures.end();
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

Completion Controller::get_log(const Command& command) {
  const std::uint32_t page_id = command.cdw10 & 0xffU;
  const std::uint64_t dwords =
      (command.cdw10 >> 16U | std::uint64_t{command.cdw11 & 0xffffU} << 16U) + 1;
  const std::uint64_t offset = command.cdw12 | std::uint64_t{command.cdw13} << 32U;
  std::vector<std::byte> page;
  switch (page_id) {
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
      break;
    }
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

Completion Controller::get_features(const Command& command) {
  const std::uint32_t fid = command.cdw10 & 0xffU;
  const std::uint32_t select = command.cdw10 >> 8U & 7U;
  if (fid == kFeatureHostId) {
    const std::size_t length = (command.cdw11 & 1U) != 0 ? 16 : 8;
    if (command.data.size() < length) return Completion{kInvalidField, 0};
    std::memcpy(command.data.data(), state_.host_id.data(), length);
    return Completion{};
  }
  if (fid == kFeatureWriteProtect && (state_.capabilities.nwpc & 1U) != 0) {
    const NamespaceState* found = attached(command.nsid);
    if (found == nullptr) return Completion{kInvalidNamespace, 0};
    return Completion{kSuccess, found->write_protect};
  }
  if (!known(fid)) return Completion{kInvalidField, 0};
  const FeatureState& feature = state_.features[fid];
  switch (select) {
    case 0:
      return Completion{kSuccess, feature.current};
    case 1:
      return Completion{kSuccess, feature.factory};
    case 2:
      return Completion{kSuccess, feature.saved};
    case 3:
      return Completion{kSuccess, 5};  // saveable and changeable
    default:
      return Completion{kInvalidField, 0};
  }
}

Completion Controller::set_features(const Command& command) {
  const std::uint32_t fid = command.cdw10 & 0xffU;
  const bool save = (command.cdw10 >> 31U) != 0;
  if (fid == kFeatureHostId) {
    const std::size_t length = (command.cdw11 & 1U) != 0 ? 16 : 8;
    if (command.data.size() < length) return Completion{kInvalidField, 0};
    std::memcpy(state_.host_id.data(), command.data.data(), length);
    return Completion{};
  }
  if (fid == kFeatureWriteProtect && (state_.capabilities.nwpc & 1U) != 0) {
    if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) {
      return Completion{barred, 0};
    }
    NamespaceState* found = attached(command.nsid);
    if (found == nullptr) return Completion{kInvalidNamespace, 0};
    if (found->write_protect >= 2) return Completion{0x10e | kDoNotRetry, 0};  // not changeable
    found->write_protect = static_cast<std::uint8_t>(command.cdw11 & 7U);
    return Completion{};
  }
  if (!known(fid)) return Completion{kInvalidField, 0};
  FeatureState& feature = state_.features[fid];
  if (fid == kFeatureQueues) return Completion{kSuccess, feature.current};
  if (save && (state_.capabilities.oncs & 1U << 4U) == 0) {
    return Completion{kFeatureNotSaveable, 0};
  }
  feature.current = command.cdw11;
  if (save) feature.saved = command.cdw11;
  return Completion{kSuccess, fid == NVME_FEAT_FID_ASYNC_EVENT ? 0 : feature.current};
}

}  // namespace reclaim::emulator
