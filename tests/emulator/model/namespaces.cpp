// Format NVM, Namespace Management and Namespace Attachment.
#include <algorithm>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint16_t kOacsFormat = 1U << 1U;
constexpr std::uint16_t kOacsNamespaces = 1U << 3U;
constexpr std::uint8_t kFnaFormatAll = 1U << 0U;
constexpr std::uint8_t kFnaEraseAll = 1U << 1U;
constexpr std::uint8_t kFnaCrypto = 1U << 2U;
constexpr std::uint8_t kFnaNoBroadcast = 1U << 3U;
constexpr std::uint8_t kEraseNothing = 0;
constexpr std::uint8_t kEraseCrypto = 2;

}  // namespace

std::uint16_t Controller::format_one(std::uint32_t nsid, std::uint8_t lba_format,
                                     std::uint8_t erase) {
  NamespaceState& each = *allocated(nsid);
  const std::uint64_t bytes = namespace_bytes(nsid);
  // SES = 0 promises nothing; the most hostile reading is a drive that keeps everything.
  const bool lies = state_.faults.lies_keeps_data || state_.faults.format_keeps_data;
  if (erase != kEraseNothing && !lies) {
    const std::uint64_t length = state_.faults.erases_half ? bytes / 8192 * 4096 : bytes;
    if (!erase_range(nsid, 0, length, erase == kEraseCrypto, false)) return kInternalError;
  }
  if (erase != kEraseNothing) end_self_test(NVME_ST_RESULT_ABORTED_FORMAT);
  each.lba_format = lba_format;
  each.blocks = bytes / block_bytes(nsid);
  return kSuccess;
}

Completion Controller::format(const Command& command) {
  const Capabilities& can = state_.capabilities;
  if ((can.oacs & kOacsFormat) == 0) return Completion{kInvalidOpcode, 0};
  if (state_.faults.refuses_format != 0) return Completion{state_.faults.refuses_format, 0};
  const auto lba_format =
      static_cast<std::uint8_t>((command.cdw10 & 0xfU) | (command.cdw10 >> 8U & 0x30U));
  const auto erase = static_cast<std::uint8_t>(command.cdw10 >> 9U & 7U);
  const bool metadata_or_protection = (command.cdw10 & 0x1f0U) != 0;
  if (lba_format >= kExtendedFormat || metadata_or_protection) return Completion{kInvalidFormat, 0};
  if (erase > kEraseCrypto) return Completion{kInvalidField, 0};
  if (erase == kEraseCrypto && (can.fna & kFnaCrypto) == 0) return Completion{kInvalidField, 0};
  const bool broadcast = command.nsid == NVME_NSID_ALL;
  if (broadcast && (can.fna & kFnaNoBroadcast) != 0) return Completion{kInvalidField, 0};
  if (!broadcast && attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
  const bool everywhere =
      broadcast || (can.fna & (erase == kEraseNothing ? kFnaFormatAll : kFnaEraseAll)) != 0;
  if (state_.security.locked) return Completion{kAccessDenied, 0};
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
    const NamespaceState* each = allocated(nsid);
    if (each == nullptr || (!everywhere && nsid != command.nsid)) continue;
    // A broadcast reaches the namespaces attached to the controller; hidden ones survive it.
    if (broadcast && !each->attached && (can.fna & kFnaFormatAll) == 0) continue;
    if (each->write_protect != 0) return Completion{kWriteProtected, 0};
    if (reserved_to_others(nsid, true) != kSuccess) return Completion{kReservationConflict, 0};
    const std::uint16_t done = format_one(nsid, lba_format, erase);
    if (done != kSuccess) return Completion{done, 0};
  }
  return Completion{};
}

Completion Controller::manage_namespace(const Command& command) {
  if ((state_.capabilities.oacs & kOacsNamespaces) == 0 || state_.faults.lacks_namespace_commands) {
    return Completion{kInvalidOpcode, 0};
  }
  const std::uint32_t select = command.cdw10 & 0xfU;
  if (select == NVME_NS_MGMT_SEL_CREATE) return create_namespace(command);
  if (select != NVME_NS_MGMT_SEL_DELETE) return Completion{kInvalidField, 0};
  const bool all = command.nsid == NVME_NSID_ALL;
  if (!all && visible(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
    NamespaceState& each = state_.namespaces[nsid - 1];
    if (visible(nsid) == nullptr || (!all && nsid != command.nsid)) continue;
    if (each.write_protect != 0) return Completion{kWriteProtected, 0};
    if (state_.security.locked) return Completion{kAccessDenied, 0};
    if (reserved_to_others(nsid, true) != kSuccess) return Completion{kReservationConflict, 0};
    if (state_.faults.ignores_delete) continue;
    if (state_.faults.recycles_blocks) {
      media_.retire(nsid);
    } else {
      media_.remove(nsid);
    }
    each = NamespaceState{};
  }
  return Completion{};
}

// A new namespace reads as zeros, unless the drive hands the blocks of a deleted one out again.
Completion Controller::create_namespace(const Command& command) {
  if (command.data.size() < sizeof(nvme_id_ns)) return Completion{kInvalidField, 0};
  nvme_id_ns wanted{};
  std::memcpy(&wanted, command.data.data(), sizeof(wanted));
  const auto lba_format = static_cast<std::uint8_t>(wanted.flbas & 0xfU);
  if (lba_format >= kExtendedFormat || wanted.dps != 0) return Completion{kInvalidFormat, 0};
  if (wanted.nsze == 0 || wanted.ncap != wanted.nsze) return Completion{kInvalidField, 0};
  const std::uint64_t block = lba_format == 1 ? 4096 : 512;
  const std::uint64_t free_bytes = unallocated_bytes();
  const std::uint64_t headroom = std::min(state_.faults.namespace_headroom, free_bytes);
  if (wanted.nsze > (free_bytes - headroom) / block) {
    const auto other = static_cast<std::uint16_t>(state_.faults.too_large_status);
    return Completion{other != 0 ? other : kInsufficientCapacity, 0};
  }
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
    NamespaceState& each = state_.namespaces[nsid - 1];
    if (each.allocated) continue;
    if (!media_.create(nsid, wanted.nsze * block, state_.faults.recycles_blocks))
      return Completion{kInternalError, 0};
    each = NamespaceState{};
    each.allocated = true;
    each.lba_format = lba_format;
    each.nmic = wanted.nmic;
    each.blocks = wanted.nsze;
    // Identifiers are never reused: the drive's own counter of them is its noise.
    state_.noise_seed = state_.noise_seed * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(each.eui64.data(), &state_.noise_seed, each.eui64.size());
    std::memcpy(each.nguid.data() + 8, &state_.noise_seed, 8);
    each.nguid[0] = static_cast<std::uint8_t>(nsid);
    return Completion{kSuccess, nsid};
  }
  return Completion{kNamespaceIdUnavailable, 0};
}

Completion Controller::attach_namespace(const Command& command) {
  if ((state_.capabilities.oacs & kOacsNamespaces) == 0) return Completion{kInvalidOpcode, 0};
  NamespaceState* found = visible(command.nsid);
  if (found == nullptr) return Completion{kInvalidNamespace, 0};
  if (command.data.size() < sizeof(nvme_ctrl_list)) return Completion{kInvalidField, 0};
  nvme_ctrl_list list{};
  std::memcpy(&list, command.data.data(), sizeof(list));
  const auto known = [&](std::uint16_t id) {
    return id == state_.controller_id || (id != 0 && id == state_.other_controller_id);
  };
  if (list.num == 0 || list.num > 2 || !known(list.identifier[0]) ||
      (list.num == 2 && (!known(list.identifier[1]) || list.identifier[0] == list.identifier[1]))) {
    return Completion{kControllerListInvalid, 0};
  }
  const std::uint32_t select = command.cdw10 & 0xfU;
  if (select > NVME_NS_ATTACH_SEL_CTRL_DEATTACH) return Completion{kInvalidField, 0};
  const bool attach = select == NVME_NS_ATTACH_SEL_CTRL_ATTACH;
  NamespaceState changed = *found;
  for (std::uint16_t i = 0; i < list.num; ++i) {
    bool& here =
        list.identifier[i] == state_.controller_id ? changed.attached : changed.other_attached;
    if (here == attach) return Completion{attach ? kAlreadyAttached : kNotAttached, 0};
    here = attach;
  }
  if (changed.attached && changed.other_attached && (found->nmic & 1U) == 0) {
    return Completion{kNamespacePrivate, 0};
  }
  *found = changed;
  return Completion{};
}

}  // namespace reclaim::emulator
