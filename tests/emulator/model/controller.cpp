#include "tests/emulator/model/controller.h"

#include <algorithm>
#include <bit>

namespace reclaim::emulator {

static_assert(std::endian::native == std::endian::little, "the wire structs are filled in place");

Controller::Controller(DriveState& state, Media& media, MonoMs now)
    : state_(state), media_(media), now_ms_(now.ms + state.clock_offset_ms) {
  advance();
}

NamespaceState* Controller::allocated(std::uint32_t nsid) const {
  if (nsid == 0 || nsid > kNamespacesMax) return nullptr;
  NamespaceState& found = state_.namespaces[nsid - 1];
  return found.allocated ? &found : nullptr;
}

NamespaceState* Controller::visible(std::uint32_t nsid) const {
  return nsid == state_.faults.hidden_nsid ? nullptr : allocated(nsid);
}

NamespaceState* Controller::attached(std::uint32_t nsid) const {
  NamespaceState* found = visible(nsid);
  return found != nullptr && found->attached ? found : nullptr;
}

std::uint32_t Controller::block_bytes(std::uint32_t nsid) const {
  const NamespaceState* found = allocated(nsid);
  return found != nullptr && found->lba_format == 1 ? 4096 : 512;
}

std::uint64_t Controller::namespace_bytes(std::uint32_t nsid) const {
  const NamespaceState* found = allocated(nsid);
  return found == nullptr ? 0 : found->blocks * block_bytes(nsid);
}

std::uint16_t Controller::check_range(std::uint32_t nsid, std::uint64_t offset,
                                      std::uint64_t length) const {
  if (attached(nsid) == nullptr) return kInvalidNamespace;
  const std::uint64_t size = namespace_bytes(nsid);
  if (offset > size || length > size - offset) return kLbaOutOfRange;
  return kSuccess;
}

std::uint16_t Controller::write_fault(std::uint32_t nsid, std::uint64_t offset,
                                      std::uint64_t length) {
  Faults& faults = state_.faults;
  const bool meets = faults.write_error_nsid == nsid &&
                     offset < faults.write_error_offset + faults.write_error_length &&
                     faults.write_error_offset < offset + length;
  if (!meets) return kSuccess;
  if (faults.write_error_times == 0) return kWriteFault;
  if (--faults.write_error_times == 0) faults.write_error_nsid = 0;
  return kInternalError;
}

bool Controller::touches_unreadable(std::uint32_t nsid, std::uint64_t offset,
                                    std::uint64_t length) const {
  const Faults& faults = state_.faults;
  if (state_.sanitize.unreadable) {
    const std::uint64_t part = std::max<std::uint64_t>(namespace_bytes(nsid) / 4096, 1);
    for (std::uint64_t at = offset / part; at <= (offset + length - 1) / part; ++at) {
      const std::uint64_t bit = std::min<std::uint64_t>(at, 4095);
      if ((state_.written[nsid - 1][bit / 64] >> bit % 64 & 1U) == 0) return true;
    }
  }
  return faults.io_error_nsid == nsid && faults.io_error_length > 0 &&
         offset < faults.io_error_offset + faults.io_error_length &&
         faults.io_error_offset < offset + length;
}

// While a sanitize runs only what a host needs to watch it is answered (base specification,
// "Sanitize Operations", the table of admin commands allowed).
Completion Controller::admin(const Command& command) {
  ++state_.admin_commands;
  if (const std::uint16_t no = locked_down(command); no != kSuccess) return Completion{no, 0};
  switch (command.opcode) {
    case nvme_admin_identify:
      return identify(command);
    case nvme_admin_get_log_page:
      return get_log(command);
    case nvme_admin_get_features:
      return get_features(command);
    case nvme_admin_set_features:
      return set_features(command);
    case nvme_admin_sanitize_nvm:
      return sanitize(command);
    case nvme_admin_abort_cmd:
      return Completion{kSuccess, 1};  // bit 0: not aborted
    case nvme_admin_keep_alive:
      return Completion{};
    default:
      break;
  }
  if (const std::uint16_t barred = barred_by_sanitize(); barred != kSuccess) {
    return Completion{barred, 0};
  }
  switch (command.opcode) {
    case nvme_admin_format_nvm:
      return format(command);
    case nvme_admin_ns_mgmt:
      return manage_namespace(command);
    case nvme_admin_ns_attach:
      return attach_namespace(command);
    case nvme_admin_security_send:
      return security_send(command);
    case nvme_admin_security_recv:
      return security_receive(command);
    case nvme_admin_lockdown:
      return lock_down(command);
    case nvme_admin_dev_self_test:
      return self_test(command);
    case nvme_admin_fw_download:
      return download_firmware(command);
    case nvme_admin_fw_commit:
      return commit_firmware(command);
    default:
      return Completion{kInvalidOpcode, 0};
  }
}

void Controller::reset() {
  constexpr std::uint8_t kShortSelfTest = 1;  // an extended one goes on
  for (FeatureState& feature : state_.features) feature.current = feature.saved;
  state_.host_memory = HostMemoryState{};
  reset_reservations(false);
  state_.host_id = {};
  state_.host_id_extended = false;
  if (state_.self_test.running == kShortSelfTest) end_self_test(NVME_ST_RESULT_CLR);
  SecurityState& security = state_.security;
  security.session = 0;
  security.answer_bytes = 0;
  security.sid_blocked = security.sid_blocked && !security.block_ends;
  reset_firmware(false);
}

void Controller::power_loss() {
  ++state_.smart.unsafe_shutdowns;
  ++state_.smart.power_cycles;
  for (NamespaceState& each : state_.namespaces) {
    if (each.write_protect == 2) each.write_protect = 0;
  }
  state_.lockdown = LockdownState{};
  SecurityState& security = state_.security;
  security.sid_blocked = false;
  security.psid_tries = 0;
  security.mbr_done = false;
  security.locked = security.locked || security.locking_enabled;  // ranges lock on reset
  cancel_media_verification();
  reset_reservations(true);
  reset_firmware(true);
  reset();
}

}  // namespace reclaim::emulator
