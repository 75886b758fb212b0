// Get Features and Set Features: what is current, what is saved and what the factory set.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint32_t kSelectSupported = 3;
constexpr std::uint32_t kSaveable = 1U << 0U;
constexpr std::uint32_t kOfNamespace = 1U << 1U;
constexpr std::uint32_t kChangeable = 1U << 2U;
constexpr std::uint16_t kOncsSaveSelect = 1U << 4U;
constexpr std::uint32_t kFlexiblePlacement = 0x1d;

// Features whose value is one dword and that this drive has.
constexpr std::array<std::uint32_t, 17> kFeatures{
    NVME_FEAT_FID_ARBITRATION,  NVME_FEAT_FID_POWER_MGMT,  NVME_FEAT_FID_TEMP_THRESH,
    NVME_FEAT_FID_ERR_RECOVERY, NVME_FEAT_FID_VOLATILE_WC, NVME_FEAT_FID_NUM_QUEUES,
    NVME_FEAT_FID_IRQ_COALESCE, NVME_FEAT_FID_IRQ_CONFIG,  NVME_FEAT_FID_WRITE_ATOMIC,
    NVME_FEAT_FID_ASYNC_EVENT,  NVME_FEAT_FID_AUTO_PST,    NVME_FEAT_FID_KATO,
    NVME_FEAT_FID_HCTM,         NVME_FEAT_FID_NOPSC,       NVME_FEAT_FID_SANITIZE,
    NVME_FEAT_FID_SW_PROGRESS,  NVME_FEAT_FID_RESV_MASK};

bool known(std::uint32_t fid) {
  return std::find(kFeatures.begin(), kFeatures.end(), fid) != kFeatures.end();
}

// The kernel asks for queues at every start; the answer is not kept.
bool saveable(std::uint32_t fid) {
  return fid != NVME_FEAT_FID_NUM_QUEUES && fid != NVME_FEAT_FID_IRQ_CONFIG;
}

}  // namespace

Completion Controller::host_identifier(const Command& command, bool set) {
  const bool extended = (command.cdw11 & 1U) != 0;
  const std::size_t length = extended ? 16 : 8;
  if (command.data.size() < length) return Completion{kInvalidField, 0};
  if (set) {
    state_.host_id = {};
    std::memcpy(state_.host_id.data(), command.data.data(), length);
    state_.host_id_extended = extended;
  } else {
    std::memcpy(command.data.data(), state_.host_id.data(), length);
  }
  return Completion{};
}

Completion Controller::host_memory(const Command& command, bool set) {
  if (state_.capabilities.hmpre == 0) return Completion{kInvalidField, 0};
  HostMemoryState& memory = state_.host_memory;
  if (set) {
    memory = HostMemoryState{};
    if ((command.cdw11 & 1U) == 0) return Completion{};
    memory.enabled = true;
    memory.size = command.cdw12;
    memory.list_address = command.cdw13 | std::uint64_t{command.cdw14} << 32U;
    memory.list_entries = command.cdw15;
    return Completion{};
  }
  nvme_host_mem_buf_attrs attributes{};
  attributes.hsize = memory.size;
  attributes.hmdlal = static_cast<std::uint32_t>(memory.list_address);
  attributes.hmdlau = static_cast<std::uint32_t>(memory.list_address >> 32U);
  attributes.hmdlec = memory.list_entries;
  std::memcpy(command.data.data(), &attributes, std::min(command.data.size(), sizeof(attributes)));
  return Completion{kSuccess, memory.enabled ? 1U : 0U};
}

Completion Controller::write_protection(const Command& command) {
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) {
    return Completion{barred, 0};
  }
  const std::uint32_t wanted = command.cdw11 & 7U;
  const std::uint8_t can = state_.capabilities.nwpc;
  NamespaceState* found = attached(command.nsid);
  if (found == nullptr) return Completion{kInvalidNamespace, 0};
  if (found->write_protect >= 2) return Completion{kFeatureNotChangeable, 0};
  const bool possible =
      wanted < 2 || (wanted == 2 && (can & 2U) != 0) || (wanted == 3 && (can & 4U) != 0);
  if (!possible) return Completion{kInvalidField, 0};
  if (!state_.faults.ignores_features) found->write_protect = static_cast<std::uint8_t>(wanted);
  return Completion{};
}

Completion Controller::get_features(const Command& command) {
  const std::uint32_t fid = command.cdw10 & 0xffU;
  const std::uint32_t select = command.cdw10 >> 8U & 7U;
  if (fid == NVME_FEAT_FID_HOST_ID) return host_identifier(command, false);
  if (fid == NVME_FEAT_FID_HOST_MEM_BUF) {
    if (select == kSelectSupported) return Completion{kSuccess, kChangeable};
    return host_memory(command, false);
  }
  if (fid == NVME_FEAT_FID_WRITE_PROTECT && (state_.capabilities.nwpc & 1U) != 0) {
    if (select == kSelectSupported) return Completion{kSuccess, kChangeable | kOfNamespace};
    const NamespaceState* found = attached(command.nsid);
    if (found == nullptr) return Completion{kInvalidNamespace, 0};
    return Completion{kSuccess, select == 0 ? found->write_protect : 0U};
  }
  if (fid == kFlexiblePlacement && state_.capabilities.endurance_groups != 0) {
    const std::uint32_t group = command.cdw11 & 0xffffU;
    if (group == 0 || group > state_.capabilities.endurance_groups) {
      return Completion{kInvalidField, 0};
    }
    return Completion{kSuccess, state_.placement};
  }
  const bool structured = fid == NVME_FEAT_FID_AUTO_PST || state_.feature_structured[fid];
  if (!known(fid) && !structured) return Completion{kInvalidField, 0};
  const bool saves = (state_.capabilities.oncs & kOncsSaveSelect) != 0;
  if (select != 0 && !saves) return Completion{kInvalidField, 0};
  const FeatureState& feature = state_.features[fid];
  if (structured && select != kSelectSupported) {
    std::uint64_t word = select == 1 ? 0 : state_.feature_seed[fid];
    for (std::byte& each : command.data) {
      word = word * 6364136223846793005ULL;
      each = static_cast<std::byte>(word >> 56U);
    }
  }
  switch (select) {
    case 0:
      return Completion{kSuccess, feature.current};
    case 1:
      return Completion{kSuccess, feature.factory};
    case 2:
      return Completion{kSuccess, feature.saved};
    case kSelectSupported: {
      const bool of_namespace = fid == NVME_FEAT_FID_ERR_RECOVERY;
      return Completion{kSuccess, kChangeable | (saveable(fid) ? kSaveable : 0U) |
                                      (of_namespace ? kOfNamespace : 0U)};
    }
    default:
      return Completion{kInvalidField, 0};
  }
}

Completion Controller::set_features(const Command& command) {
  const std::uint32_t fid = command.cdw10 & 0xffU;
  const bool save = (command.cdw10 >> 31U) != 0;
  if (fid == NVME_FEAT_FID_HOST_ID) return host_identifier(command, true);
  if (fid == NVME_FEAT_FID_HOST_MEM_BUF) {
    return save ? Completion{kFeatureNotSaveable, 0} : host_memory(command, true);
  }
  if (fid == NVME_FEAT_FID_WRITE_PROTECT && (state_.capabilities.nwpc & 1U) != 0) {
    return save ? Completion{kFeatureNotSaveable, 0} : write_protection(command);
  }
  if (!known(fid)) return Completion{kInvalidField, 0};
  FeatureState& feature = state_.features[fid];
  if (fid == NVME_FEAT_FID_NUM_QUEUES) return Completion{kSuccess, feature.current};
  const bool saves = (state_.capabilities.oncs & kOncsSaveSelect) != 0;
  if (save && (!saves || !saveable(fid))) return Completion{kFeatureNotSaveable, 0};
  if (!state_.faults.ignores_features) {
    feature.current = command.cdw11;
    if (save) feature.saved = command.cdw11;
  }
  return Completion{kSuccess, fid == NVME_FEAT_FID_ASYNC_EVENT ? 0 : feature.current};
}

}  // namespace reclaim::emulator
