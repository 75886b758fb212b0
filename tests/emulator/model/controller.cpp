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

NamespaceState* Controller::attached(std::uint32_t nsid) const {
  NamespaceState* found = allocated(nsid);
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

bool Controller::touches_unreadable(std::uint32_t nsid, std::uint64_t offset,
                                    std::uint64_t length) const {
  const Faults& faults = state_.faults;
  return faults.io_error_nsid == nsid && faults.io_error_length > 0 &&
         offset < faults.io_error_offset + faults.io_error_length &&
         faults.io_error_offset < offset + length;
}

// While a sanitize runs only what a host needs to watch it is answered (base specification,
// "Sanitize Operations", the table of admin commands allowed).
Completion Controller::admin(const Command& command) {
  ++state_.admin_commands;
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
    default:
      return Completion{kInvalidOpcode, 0};
  }
}

void Controller::reset() {
  for (FeatureState& feature : state_.features) feature.current = feature.saved;
  if (state_.firmware_slot_pending != 0) {
    state_.firmware_slot_active = state_.firmware_slot_pending;
    state_.firmware_slot_pending = 0;
    state_.firmware = state_.firmware_slots[state_.firmware_slot_active - 1U];
  }
}

void Controller::power_loss() {
  ++state_.smart.unsafe_shutdowns;
  ++state_.smart.power_cycles;
  for (NamespaceState& each : state_.namespaces) {
    if (each.write_protect == 2) each.write_protect = 0;
  }
  reset();
}

}  // namespace reclaim::emulator
