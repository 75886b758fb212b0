// An accelerator request (ARQ) as it was heard of: by notification, or read from Cyborg's API. A
// value; what it means for a device is decided in handlers/. In Redis it stands as JSON under
// reclaim:{HOST}:arqs, by its UUID, because Cyborg wipes an ARQ's device on unbind and nobody could
// be asked afterwards (docs/redis-keys.md). Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/clock.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim {

// The encoded form of one ARQ is at most this long.
inline constexpr std::size_t kArqBytesMax = 16'384;

// Cyborg's states of an ARQ (cyborg/common/constants.py ARQ_STATES).
enum class ArqState : std::uint8_t {
  initial,
  bind_started,
  bound,
  unbound,
  bind_failed,
  unbind_failed,
  deleting,
};

// "Initial", "BindStarted", …, as Cyborg's API spells them.
[[nodiscard]] std::string_view to_string(ArqState state);
[[nodiscard]] Result<ArqState> parse_arq_state(std::string_view text);

struct Arq {
  std::string uuid;
  ArqState state = ArqState::initial;
  std::string project_id;  // empty: not told; so are all texts here
  std::string device_profile_name;
  std::int64_t device_profile_group_id = 0;
  std::string hostname;  // of the device's host: Nova's name of the node, by which it binds
  std::string device_rp_uuid;
  std::string instance_uuid;
  std::string attach_handle_type;  // "PCI", "TEST_PCI", "MDEV"; empty while unbound
  std::string attach_handle_uuid;
  // attach_handle_info: the PCI function, and the members that are neither its address nor
  // `managed` (physical_network, asked_type), as a JSON object's text; empty: there are none.
  std::optional<PciAddress> address;
  std::optional<bool> managed;  // nothing: no marker stored, which means true
  std::string other_info;
  std::string created_at, updated_at;  // as told
  WallMs heard_at;                     // by us, last

  // The fields that the book of its host remembers beside what was told (handlers/arq/book.h).
  WallMs held_at;       // when it was first heard to bind a device; 0: never
  bool listed = false;  // Cyborg's API has listed it: that it no longer does says something
  bool allocation_seen = false;  // Placement had an allocation on its device while it was bound
  bool released = false;         // it binds nothing any more, whatever Cyborg still says of it

  // True if somebody may be using a device through it: everything between the start of its binding
  // and the end of its unbinding, failed or not.
  [[nodiscard]] bool holds_device() const {
    return state == ArqState::bind_started || state == ArqState::bound ||
           state == ArqState::unbind_failed || state == ArqState::deleting;
  }
  // The specification's default of an absent marker (VFIO managed mode, "ARQ attach handle
  // information").
  [[nodiscard]] bool is_managed() const { return managed.value_or(true); }
  friend bool operator==(const Arq&, const Arq&) = default;
};

[[nodiscard]] std::string encode_arq(const Arq& arq);
// The error names the member that is wrong.
[[nodiscard]] Result<Arq> decode_arq(std::string_view json_text);

// {"domain": "0000", "bus": "0c", "device": "00", "function": "0"} as a PCI address: hex digits
// with or without 0x, in either case. The error names the member.
[[nodiscard]] Result<PciAddress> pci_address_of_parts(std::string_view domain, std::string_view bus,
                                                      std::string_view device,
                                                      std::string_view function);

}  // namespace reclaim
