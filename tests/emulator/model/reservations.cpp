// Reservations: who registered a key with a namespace, who holds it, and whom that keeps out. This
// host is one registrant: its Host Identifier (feature 81h) and our controller. A host with the
// identifier 0 is another one after each reset, so nothing of it outlasts one.
#include <algorithm>
#include <cstring>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::uint16_t kOncsReservations = 1U << 5U;
constexpr std::uint32_t kIgnoreKey = 1U << 3U;
constexpr std::size_t kHeader = 24;
constexpr std::size_t kExtendedHeader = 64;

using HostId = std::array<std::uint8_t, 16>;

// A type that every registrant holds together.
bool of_all(std::uint8_t type) {
  return type == NVME_RESERVATION_RTYPE_WEAR || type == NVME_RESERVATION_RTYPE_EAAR;
}
bool registrants_may(std::uint8_t type) {
  return type >= NVME_RESERVATION_RTYPE_WERO;
}
bool bars_reading(std::uint8_t type) {
  return type == NVME_RESERVATION_RTYPE_EA || type == NVME_RESERVATION_RTYPE_EARO ||
         type == NVME_RESERVATION_RTYPE_EAAR;
}

// Index + 1 of the registrant, 0 when there is none.
std::uint8_t index_of(const ReservationState& state, const HostId& host) {
  for (std::size_t i = 0; i < state.registrants.size(); ++i) {
    const Registrant& each = state.registrants[i];
    if (each.registered && each.host_id == host) return static_cast<std::uint8_t>(i + 1);
  }
  return 0;
}

std::uint64_t key_at(const Command& command, std::size_t offset) {
  std::uint64_t key = 0;
  std::memcpy(&key, command.data.data() + offset, sizeof(key));
  return key;
}

// A registrant goes; a reservation that only it held goes with it.
void forget(ReservationState& state, std::uint8_t index) {
  state.registrants[index - 1U] = Registrant{};
  const bool anybody = std::any_of(state.registrants.begin(), state.registrants.end(),
                                   [](const Registrant& each) { return each.registered; });
  if (state.holder == index || !anybody) {
    state.holder = 0;
    if (!of_all(state.type) || !anybody) state.type = 0;
  }
}

}  // namespace

std::uint16_t Controller::reserved_to_others(std::uint32_t nsid, bool write) const {
  const NamespaceState* found = allocated(nsid);
  if (found == nullptr || found->reservation.type == 0) return kSuccess;
  const ReservationState& state = found->reservation;
  if (!write && !bars_reading(state.type)) return kSuccess;
  const std::uint8_t me = index_of(state, state_.host_id);
  const bool holds = me != 0 && (state.holder == me || registrants_may(state.type));
  return holds ? kSuccess : kReservationConflict;
}

void Controller::reset_reservations(bool power_lost) {
  for (NamespaceState& each : state_.namespaces) {
    ReservationState& state = each.reservation;
    if (power_lost && !state.persists) {
      const std::uint32_t generation = state.generation;
      state = ReservationState{};
      state.generation = generation;
      continue;
    }
    const std::uint8_t nameless = index_of(state, HostId{});
    if (nameless != 0) forget(state, nameless);
  }
}

Completion Controller::reservation_register(const Command& command) {
  ReservationState& state = attached(command.nsid)->reservation;
  const std::uint32_t action = command.cdw10 & 7U;
  const std::uint32_t persist = command.cdw10 >> 30U;
  if (persist == 1) return Completion{kInvalidField, 0};
  const std::uint64_t current_key = key_at(command, 0);
  const std::uint64_t new_key = key_at(command, 8);
  const std::uint8_t me = index_of(state, state_.host_id);
  const bool matches = (command.cdw10 & kIgnoreKey) != 0 ||
                       (me != 0 && state.registrants[me - 1U].key == current_key);
  switch (action) {
    case NVME_RESERVATION_RREGA_REGISTER_KEY: {
      if (me != 0) {
        if (state.registrants[me - 1U].key != new_key) return Completion{kReservationConflict, 0};
        break;
      }
      const auto free = std::find_if(state.registrants.begin(), state.registrants.end(),
                                     [](const Registrant& each) { return !each.registered; });
      if (free == state.registrants.end()) return Completion{kInternalError, 0};
      *free = Registrant{true, state_.controller_id, state_.host_id, new_key};
      break;
    }
    case NVME_RESERVATION_RREGA_UNREGISTER_KEY:
      if (me == 0 || !matches) return Completion{kReservationConflict, 0};
      forget(state, me);
      break;
    case NVME_RESERVATION_RREGA_REPLACE_KEY:
      if (me == 0 || !matches) return Completion{kReservationConflict, 0};
      state.registrants[me - 1U].key = new_key;
      break;
    default:
      return Completion{kInvalidField, 0};
  }
  if (persist != NVME_RESERVATION_CPTPL_NO_CHANGE) {
    state.persists = persist == NVME_RESERVATION_CPTPL_PERSIST;
  }
  ++state.generation;
  return Completion{};
}

Completion Controller::reservation_acquire(const Command& command) {
  ReservationState& state = attached(command.nsid)->reservation;
  const std::uint32_t action = command.cdw10 & 7U;
  const auto type = static_cast<std::uint8_t>(command.cdw10 >> 8U & 0xffU);
  if (type == 0 || type > NVME_RESERVATION_RTYPE_EAAR) return Completion{kInvalidField, 0};
  const std::uint8_t me = index_of(state, state_.host_id);
  if (me == 0 ||
      ((command.cdw10 & kIgnoreKey) == 0 && state.registrants[me - 1U].key != key_at(command, 0))) {
    return Completion{kReservationConflict, 0};
  }
  if (action == NVME_RESERVATION_RACQA_ACQUIRE) {
    if (state.type != 0 && (state.holder != me || state.type != type)) {
      return Completion{kReservationConflict, 0};
    }
    state.type = type;
    state.holder = me;
    return Completion{};
  }
  if (action > NVME_RESERVATION_RACQA_PREEMPT_AND_ABORT) return Completion{kInvalidField, 0};
  const std::uint64_t victim = key_at(command, 8);
  const bool of_holder =
      state.type != 0 &&
      (of_all(state.type)
           ? victim == 0
           : state.holder != 0 && state.registrants[state.holder - 1U].key == victim);
  for (std::uint8_t i = 1; i <= kRegistrantsMax; ++i) {
    const Registrant& each = state.registrants[i - 1U];
    const bool meant = of_all(state.type) && victim == 0 ? true : each.key == victim;
    if (i != me && each.registered && meant) state.registrants[i - 1U] = Registrant{};
  }
  if (of_holder) {
    state.type = type;
    state.holder = me;
  }
  ++state.generation;
  return Completion{};
}

Completion Controller::reservation_release(const Command& command) {
  ReservationState& state = attached(command.nsid)->reservation;
  const std::uint32_t action = command.cdw10 & 7U;
  const auto type = static_cast<std::uint8_t>(command.cdw10 >> 8U & 0xffU);
  const std::uint8_t me = index_of(state, state_.host_id);
  if (me == 0 ||
      ((command.cdw10 & kIgnoreKey) == 0 && state.registrants[me - 1U].key != key_at(command, 0))) {
    return Completion{kReservationConflict, 0};
  }
  if (action == NVME_RESERVATION_RRELA_CLEAR) {
    state.registrants = {};
    state.type = 0;
    state.holder = 0;
    ++state.generation;
    return Completion{};
  }
  if (action != NVME_RESERVATION_RRELA_RELEASE) return Completion{kInvalidField, 0};
  if (state.type == 0) return Completion{};
  if (state.holder != me && !of_all(state.type)) return Completion{};  // not ours to release
  if (state.type != type) return Completion{kInvalidField, 0};
  state.type = 0;
  state.holder = 0;
  return Completion{};
}

Completion Controller::reservation_report(const Command& command) {
  const ReservationState& state = attached(command.nsid)->reservation;
  const bool extended = (command.cdw11 & 1U) != 0;
  if (state_.host_id_extended && !extended) return Completion{kHostIdFormat, 0};
  std::vector<std::byte> page(extended ? kExtendedHeader : kHeader);
  std::uint16_t count = 0;
  for (std::uint8_t i = 1; i <= kRegistrantsMax; ++i) {
    const Registrant& each = state.registrants[i - 1U];
    if (!each.registered) continue;
    ++count;
    const bool holds = state.type != 0 && (of_all(state.type) || state.holder == i);
    const auto add = [&](auto entry) {
      entry.cntlid = each.controller_id;
      entry.rcsts = holds ? 1 : 0;
      entry.rkey = each.key;
      std::memcpy(&entry.hostid, each.host_id.data(), sizeof(entry.hostid));
      const auto* bytes = reinterpret_cast<const std::byte*>(&entry);
      page.insert(page.end(), bytes, bytes + sizeof(entry));
    };
    if (extended) {
      add(nvme_registered_ctrl_ext{});
    } else {
      add(nvme_registered_ctrl{});
    }
  }
  std::memcpy(page.data(), &state.generation, sizeof(state.generation));
  page[4] = static_cast<std::byte>(state.type);
  std::memcpy(page.data() + 5, &count, sizeof(count));
  page[9] = static_cast<std::byte>(state.persists ? 1 : 0);
  const std::uint64_t wanted = (std::uint64_t{command.cdw10} + 1) * 4;
  if (command.data.size() < wanted) return Completion{kInvalidField, 0};
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  std::copy_n(page.data(), std::min<std::uint64_t>(wanted, page.size()), command.data.data());
  return Completion{};
}

Completion Controller::reservation(const Command& command) {
  if ((state_.capabilities.oncs & kOncsReservations) == 0) return Completion{kInvalidOpcode, 0};
  if (attached(command.nsid) == nullptr) return Completion{kInvalidNamespace, 0};
  if (command.opcode == nvme_cmd_resv_report) return reservation_report(command);
  const std::size_t keys = command.opcode == nvme_cmd_resv_release ? 8 : 16;
  if (command.data.size() < keys) return Completion{kInvalidField, 0};
  switch (command.opcode) {
    case nvme_cmd_resv_register:
      return reservation_register(command);
    case nvme_cmd_resv_acquire:
      return reservation_acquire(command);
    default:
      return reservation_release(command);
  }
}

}  // namespace reclaim::emulator
