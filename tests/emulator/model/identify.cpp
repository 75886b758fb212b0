// Controller, the part that answers Identify: what the drive says it is and can do.
#include <algorithm>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint32_t kNvme14 = 0x00010400;
constexpr std::uint32_t kNvmSetList = 0x04;
constexpr std::uint32_t kEnduranceGroupList = 0x19;

// A 128-bit little-endian field of which we need the lower half.
void put128(std::uint8_t (&field)[16], std::uint64_t value) {
  std::memset(field, 0, sizeof(field));
  std::memcpy(field, &value, sizeof(value));
}

template <typename Page>
void copy_out(std::span<std::byte> into, const Page& page) {
  std::memcpy(into.data(), &page, std::min(into.size(), sizeof(page)));
}

void fill_with_noise(std::span<std::byte> page, std::uint64_t noise) {
  for (std::byte& each : page) {
    noise = noise * 6364136223846793005ULL + 1442695040888963407ULL;
    each = static_cast<std::byte>(noise >> 56U);
  }
}

struct NamespaceListPage {
  std::uint32_t nsid[1024];
};

}  // namespace

std::uint64_t Controller::unallocated_bytes() const {
  std::uint64_t used = 0;
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) used += namespace_bytes(nsid);
  const std::uint64_t whole = state_.capabilities.capacity_bytes;
  return used < whole ? whole - used : 0;
}

void Controller::made_up_controller(nvme_id_ctrl& id) const {
  const Capabilities& can = state_.capabilities;
  id.ssvid = state_.host.vendor;
  id.rab = 6;
  id.ver = kNvme14;
  id.oaes = 1U << 8U;  // namespace attribute notices
  id.cntrltype = 1;    // I/O controller
  id.ctratt = 1;       // Host Identifiers of 128 bits
  if (can.nvm_sets != 0) id.ctratt |= 1U << 2U;
  if (can.endurance_groups != 0) id.ctratt |= 1U << 4U | 1U << 19U;  // with flexible placement
  id.nsetidmax = can.nvm_sets;
  id.endgidmax = can.endurance_groups;
  id.acl = 3;
  id.aerl = 3;
  id.elpe = 63;
  id.avscc = 1;
  id.wctemp = 350;
  id.cctemp = 360;
  id.hmmin = can.hmpre;
  id.edstt = 1;  // minutes
  id.sqes = 0x66;
  id.cqes = 0x44;
  id.nn = kNamespacesMax;
  id.psd[0].mp = 2500;  // hundredths of a watt
}

void Controller::identify_controller(nvme_id_ctrl& id) const {
  const Capabilities& can = state_.capabilities;
  std::memcpy(&id, state_.pages.identify.data(), sizeof(id));
  const bool real = id.vid != 0;
  if (!real) made_up_controller(id);
  id.vid = state_.host.vendor;
  std::memcpy(id.sn, state_.serial.data(), sizeof(id.sn));
  const std::uint64_t after = state_.faults.serial_changes_after;
  const bool swapped =
      state_.faults.serial_changes || (after != 0 && state_.admin_commands > after);
  if (swapped) std::memcpy(id.sn, "SWAPPED             ", sizeof(id.sn));
  std::memcpy(id.mn, state_.model.data(), sizeof(id.mn));
  std::memcpy(id.fr, state_.firmware.data(), sizeof(id.fr));
  id.cmic = can.cmic;
  id.mdts = can.mdts;
  id.cntlid = state_.controller_id;
  id.oacs = can.oacs;
  id.frmw = can.frmw;
  id.fwug = can.fwug;
  id.lpa = can.lpa;
  if (!state_.faults.tells_no_capacity) {
    put128(id.tnvmcap, can.capacity_bytes);
    put128(id.unvmcap, unallocated_bytes());
  }
  id.rpmbs = can.rpmbs;
  id.hmpre = can.hmpre;
  id.sanicap = can.sanicap;
  id.oncs = can.oncs;
  id.fna = can.fna;
  id.vwc = can.vwc;
  id.nwpc = can.nwpc;
  id.npss = can.npss;
  // Of a drive that tells none the kernel makes one up.
  if (real && id.subnqn[0] == 0) return;
  std::memcpy(id.subnqn, state_.subsystem_nqn.data(), state_.subsystem_nqn.size());
}

void Controller::identify_namespace(std::uint32_t nsid, nvme_id_ns& id) const {
  const NamespaceState& each = *allocated(nsid);
  id.nsze = each.blocks;
  id.ncap = each.blocks;
  id.nuse = each.blocks;
  id.nlbaf = kLbaFormats - 1;
  id.flbas = each.lba_format == kExtendedFormat
                 ? static_cast<std::uint8_t>(kExtendedFormat | NVME_NS_FLBAS_META_EXT)
                 : each.lba_format;
  id.nmic = each.nmic;
  id.dlfeat = state_.capabilities.dlfeat;
  id.rescap = (state_.capabilities.oncs & 1U << 5U) != 0 ? 0xff : 0;
  id.nsattr = each.write_protect != 0 ? 1 : 0;
  put128(id.nvmcap, namespace_bytes(nsid));
  std::copy(each.nguid.begin(), each.nguid.end(), id.nguid);
  std::copy(each.eui64.begin(), each.eui64.end(), id.eui64);
  id.lbaf[0].ds = 9;
  id.lbaf[0].rp = 2;
  id.lbaf[1].ds = 12;
  id.lbaf[kExtendedFormat].ds = 9;
  id.lbaf[kExtendedFormat].ms = 8;
}

void Controller::namespace_descriptors(std::uint32_t nsid, std::span<std::byte> page) const {
  const NamespaceState& each = *allocated(nsid);
  std::size_t at = 0;
  const auto add = [&](std::uint8_t type, const void* bytes, std::uint8_t length) {
    nvme_ns_id_desc header{};
    header.nidt = type;
    header.nidl = length;
    std::memcpy(page.data() + at, &header, sizeof(header));
    std::memcpy(page.data() + at + sizeof(header), bytes, length);
    at += sizeof(header) + length;
  };
  const std::uint8_t nvm_command_set = 0;
  add(NVME_NIDT_EUI64, each.eui64.data(), 8);
  add(NVME_NIDT_NGUID, each.nguid.data(), 16);
  add(NVME_NIDT_CSI, &nvm_command_set, 1);
}

Completion Controller::identify(const Command& command) {
  if (command.data.size() < NVME_IDENTIFY_DATA_SIZE) return Completion{kInvalidField, 0};
  const std::span<std::byte> page = command.data.first(NVME_IDENTIFY_DATA_SIZE);
  std::fill(page.begin(), page.end(), std::byte{0});
  if (state_.faults.garbage_identify) {
    fill_with_noise(page, state_.noise_seed);
    return Completion{};
  }
  const std::uint32_t cns = command.cdw10 & 0xffU;
  const auto list = [&](auto&& wanted, std::uint32_t above) {
    NamespaceListPage ids{};
    std::size_t count = 0;
    for (std::uint32_t nsid = above + 1; nsid != 0 && nsid <= kNamespacesMax; ++nsid) {
      if (wanted(nsid)) ids.nsid[count++] = nsid;
    }
    copy_out(page, ids);
    return Completion{};
  };
  const auto name_space = [&](const NamespaceState* found) {
    if (command.nsid == 0 || (command.nsid > kNamespacesMax && command.nsid != NVME_NSID_ALL)) {
      return Completion{kInvalidNamespace, 0};
    }
    nvme_id_ns id{};  // an inactive namespace identifies as zeros
    if (found != nullptr) identify_namespace(command.nsid, id);
    copy_out(page, id);
    return Completion{};
  };
  const auto controllers = [&](bool ours, bool others) {
    nvme_ctrl_list ids{};
    const auto add = [&](bool wanted, std::uint16_t id) {
      if (wanted && (command.cdw10 >> 16U) <= id) ids.identifier[ids.num++] = id;
    };
    others = others && state_.other_controller_id != 0;
    const bool first = state_.other_controller_id < state_.controller_id;
    add(others && first, state_.other_controller_id);
    add(ours, state_.controller_id);
    add(others && !first, state_.other_controller_id);
    copy_out(page, ids);
    return Completion{};
  };
  switch (cns) {
    case NVME_IDENTIFY_CNS_CTRL: {
      nvme_id_ctrl id{};
      identify_controller(id);
      copy_out(page, id);
      return Completion{};
    }
    case NVME_IDENTIFY_CNS_NS:
      return name_space(attached(command.nsid));
    case NVME_IDENTIFY_CNS_ALLOCATED_NS:
      return name_space(visible(command.nsid));
    case NVME_IDENTIFY_CNS_NS_ACTIVE_LIST:
      return list([&](std::uint32_t nsid) { return attached(nsid) != nullptr; }, command.nsid);
    case NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST:
      return list([&](std::uint32_t nsid) { return visible(nsid) != nullptr; }, command.nsid);
    case NVME_IDENTIFY_CNS_NS_DESC_LIST:
      if (attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
      namespace_descriptors(command.nsid, page);
      return Completion{};
    case NVME_IDENTIFY_CNS_NS_CTRL_LIST:
      if (visible(command.nsid) == nullptr) return controllers(false, false);
      return controllers(visible(command.nsid)->attached, visible(command.nsid)->other_attached);
    case NVME_IDENTIFY_CNS_CTRL_LIST:
      return controllers(true, true);
    case kNvmSetList: {
      page[0] = std::byte{state_.capabilities.nvm_sets};
      const std::uint64_t each =
          state_.capabilities.capacity_bytes / std::max<unsigned>(state_.capabilities.nvm_sets, 1);
      for (std::uint16_t set = 1; set <= state_.capabilities.nvm_sets; ++set) {
        const std::span<std::byte> entry = page.subspan(set * std::size_t{128}, 128);
        std::memcpy(entry.data(), &set, sizeof(set));
        std::memcpy(entry.data() + 16, &each, sizeof(each));
      }
      return Completion{};
    }
    case kEnduranceGroupList:
      for (std::uint16_t group = 0; group <= state_.capabilities.endurance_groups; ++group) {
        const std::uint16_t value = group == 0 ? state_.capabilities.endurance_groups : group;
        std::memcpy(page.data() + group * sizeof(value), &value, sizeof(value));
      }
      return Completion{};
    case NVME_IDENTIFY_CNS_CSI_CTRL: {
      if ((command.cdw11 >> 24U) != 0) return Completion{kInvalidField, 0};
      nvme_id_ctrl_nvm id{};
      id.wzsl = state_.capabilities.wzsl;
      copy_out(page, id);
      return Completion{};
    }
    default:
      return Completion{kInvalidField, 0};
  }
}

}  // namespace reclaim::emulator
