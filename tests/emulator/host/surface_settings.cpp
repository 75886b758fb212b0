// Settings of what a tenant may have left beside blocks, and of the faults around it.
#include <algorithm>
#include <cstring>

#include "tests/emulator/host/drive_file.h"
#include "tests/emulator/host/setting_values.h"

namespace reclaim::emulator {

const char* const kSurfaceSettingsHelp =
    R"(health     spare_threshold= percentage_used= data_units_written= power_on_hours=
features   feature=FID:VALUE (current and saved) feature_current= feature_saved= feature_default=
           feature_data=FID:SEED (03h, 0Ch, 7Dh-7Fh: current and saved; SEED 0: zeros)
           dulbe=0|1 nodrm=0|1 hmb=PAGES (wish, HMPRE) hmb_enabled=0|1
reserve    reservation=NSID:TYPE:KEY[:HOSTID] (of another host; TYPE 0 = registered only)|off
           reservation_persists=NSID:0|1
security   opal=0|1 opal_enabled= opal_locked= opal_mbr= opal_mbr_done= opal_sid_set=
           opal_block_sid= opal_sid_blocked= opal_block_ends= opal_reverts_nothing= (0|1)
           opal_psid=32 CHARACTERS opal_answers_after=0..31
           rpmb=UNITS rpmb_key=0|1 rpmb_counter=
boot       boot_partition=SIZE (128K units; 0 = none) boot_seed=0|1:SEED boot_active=0|1
lockdown   lockdown=OPCODE|off lockdown_feature=FID|off
self-test  self_test=0|1|2 self_test_ms=
other      pmr=0|1 cmb=0|1 nvm_sets=0..31 endurance_groups=0..31 placement=VALUE (feature 1Dh)
subsystem  other_controller=CNTLID (0 = none) other_attached=NSID:0|1 nmic=NSID:BITS
           multipath=0|1 (disks are the subsystem's; give drives of one subsystem the same
           subsysnqn= and disk=)
host       settle_ms= (from bind or reset to nodes and live) vfio_user=0|1 (a guest has it open)
faults     unreadable_after_crypto= garbage_sanitize_log= recycles_blocks= zeroes_nothing=
           zeroes_half= drops_zero_writes= format_keeps_data= ignores_features= ignores_delete=
           lacks_namespace_commands= written_while_read= counts_no_zeroing=
           counts_no_writes= (0|1)
           namespace_headroom=SIZE (stays beside each namespace that is made)
           too_large_status=0x410a (one that is too large is refused so) tells_no_capacity=0|1
           power_loss_at=PERCENT|off reset_at=PERCENT|off serial_changes_after=COMMANDS
           probe_fails=unbound|dead|released|off (of nvme, until a reset mends it)
           write_error_at=NSID:OFFSET:LENGTH|off write_error_times=N (0 = always)
           keeps_region=NSID:OFFSET:LENGTH|off hides_namespace=NSID|0
)";

namespace {

constexpr std::uint16_t kOacsSecurity = 1U << 0U;
constexpr std::uint16_t kOacsFirmware = 1U << 2U;
constexpr std::uint16_t kOacsSelfTest = 1U << 4U;
constexpr std::uint16_t kOacsLockdown = 1U << 10U;
constexpr std::uint16_t kOncsReservations = 1U << 5U;
constexpr std::size_t kFeatureErrorRecovery = 0x05;
constexpr std::size_t kFeatureNodrm = 0x17;
constexpr std::uint32_t kDulbe = 1U << 16U;

// "FID:VALUE" into the members named.
Status feature(DriveState& state, const Setting& setting,
               std::initializer_list<std::uint32_t FeatureState::*> members) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  if ((*values)[0] > 0xff || (*values)[1] > 0xffffffffU) return bad(setting, "FID:VALUE");
  for (const auto member : members) {
    state.features[(*values)[0]].*member = static_cast<std::uint32_t>((*values)[1]);
  }
  return Ok{};
}

Status feature_data(DriveState& state, const Setting& setting) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  if ((*values)[0] > 0xff) return bad(setting, "FID:SEED");
  state.feature_structured[(*values)[0]] = true;
  state.feature_seed[(*values)[0]] = (*values)[1];
  return Ok{};
}

template <typename T>
Status few(const Setting& setting, T& into) {
  T value = 0;
  if (!number(setting, value).ok() || value > 31) return bad(setting, "0..31");
  into = value;
  return Ok{};
}

Status feature_bit(DriveState& state, const Setting& setting, std::size_t fid, std::uint32_t bit) {
  bool on = false;
  if (const Status done = flag(setting, on); !done.ok()) return done;
  for (std::uint32_t* each : {&state.features[fid].current, &state.features[fid].saved}) {
    *each = on ? *each | bit : *each & ~bit;
  }
  return Ok{};
}

NamespaceState* namespace_of(DriveState& state, std::uint64_t nsid) {
  const bool there = nsid != 0 && nsid <= kNamespacesMax && state.namespaces[nsid - 1].allocated;
  return there ? &state.namespaces[nsid - 1] : nullptr;
}

Status reservation(DriveState& state, const Setting& setting) {
  state.capabilities.oncs |= kOncsReservations;
  if (setting.value == "off") {
    for (NamespaceState& each : state.namespaces) each.reservation = ReservationState{};
    return Ok{};
  }
  const bool named = std::count(setting.value.begin(), setting.value.end(), ':') == 3;
  const auto values = fields(setting, named ? 4 : 3);
  if (!values.ok()) return values.error();
  NamespaceState* found = namespace_of(state, (*values)[0]);
  if (found == nullptr || (*values)[1] > 6) {
    return bad(setting, "NSID:TYPE:KEY[:HOSTID] with an allocated namespace and a type of 0..6");
  }
  ReservationState& made = found->reservation;
  auto free = std::find_if(made.registrants.begin(), made.registrants.end(),
                           [](const Registrant& each) { return !each.registered; });
  if (free == made.registrants.end()) return bad(setting, "at most 8 registrants");
  *free = Registrant{true, state.controller_id, {}, (*values)[2]};
  const std::uint64_t host = named ? (*values)[3] : 0x7e4a7700ULL;  // some guest's
  std::memcpy(free->host_id.data(), &host, sizeof(host));
  ++made.generation;
  if ((*values)[1] == 0) return Ok{};
  made.type = static_cast<std::uint8_t>((*values)[1]);
  made.holder = static_cast<std::uint8_t>(free - made.registrants.begin() + 1);
  return Ok{};
}

Status reservation_persists(DriveState& state, const Setting& setting) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  NamespaceState* found = namespace_of(state, (*values)[0]);
  if (found == nullptr || (*values)[1] > 1) return bad(setting, "NSID:0|1");
  found->reservation.persists = (*values)[1] == 1;
  return Ok{};
}

// A flag of the TPer: naming one makes the drive an Opal drive.
Apply opal(bool SecurityState::*member) {
  return [member](DriveState& state, const Setting& setting) -> Status {
    state.security.opal = true;
    state.capabilities.oacs |= kOacsSecurity;
    return flag(setting, state.security.*member);
  };
}

Status opal_psid(DriveState& state, const Setting& setting) {
  std::array<char, 32>& psid = state.security.psid;
  if (setting.value.size() != psid.size()) return bad(setting, "32 characters");
  state.security.opal = true;
  state.capabilities.oacs |= kOacsSecurity;
  std::copy(setting.value.begin(), setting.value.end(), psid.begin());
  return Ok{};
}

Status rpmb(DriveState& state, const Setting& setting) {
  std::uint32_t units = 0;
  if (!number(setting, units).ok() || units > 7) return bad(setting, "0..7 units");
  // HMAC SHA-256, 128 KiB each, one 512-byte block a command.
  state.capabilities.rpmbs = units;
  if (units != 0) state.capabilities.oacs |= kOacsSecurity;
  return Ok{};
}

Status boot_partition(DriveState& state, const Setting& setting) {
  std::uint64_t bytes = 0;
  if (const Status done = size(setting, bytes); !done.ok()) return done;
  if (bytes % (128 * 1024) != 0 || bytes > (16U << 20U)) {
    return bad(setting, "a multiple of 128K, at most 16M");
  }
  state.boot.units = static_cast<std::uint32_t>(bytes / (128 * 1024));
  if (bytes != 0) state.capabilities.oacs |= kOacsFirmware;
  return Ok{};
}

Status boot_seed(DriveState& state, const Setting& setting) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  if ((*values)[0] > 1) return bad(setting, "0:SEED or 1:SEED");
  state.boot.seed[(*values)[0]] = (*values)[1];
  return Ok{};
}

Status lockdown(DriveState& state, const Setting& setting, std::array<std::uint64_t, 4>& bits) {
  state.capabilities.oacs |= kOacsLockdown;
  if (setting.value == "off") {
    bits = {};
    return Ok{};
  }
  std::uint8_t id = 0;
  if (!number(setting, id).ok()) return bad(setting, "a number of one byte, or off");
  bits[id / 64] |= std::uint64_t{1} << id % 64;
  return Ok{};
}

Status self_test(DriveState& state, const Setting& setting) {
  std::uint8_t code = 0;
  if (!number(setting, code).ok() || code > 2) return bad(setting, "0, 1 (short) or 2 (extended)");
  state.capabilities.oacs |= kOacsSelfTest;
  state.self_test.running = code;
  state.self_test.started_ms = drive_now().ms + state.clock_offset_ms;
  return Ok{};
}

Status probe_fails(DriveState& state, const Setting& setting) {
  constexpr std::array<std::string_view, 4> kNames{"off", "unbound", "dead", "released"};
  const auto found = std::find(kNames.begin(), kNames.end(), setting.value);
  if (found == kNames.end()) return bad(setting, "unbound, dead, released or off");
  state.faults.probe_fails = static_cast<ProbeFault>(found - kNames.begin());
  return Ok{};
}

Status region(const Setting& setting, std::uint32_t& nsid, std::uint64_t& offset,
              std::uint64_t& length) {
  nsid = 0;
  offset = 0;
  length = 0;
  if (setting.value == "off") return Ok{};
  const auto values = fields(setting, 3);
  if (!values.ok()) return values.error();
  nsid = static_cast<std::uint32_t>((*values)[0]);
  offset = (*values)[1];
  length = (*values)[2];
  return Ok{};
}

void add_features(SettingTable& table) {
  using State = FeatureState;
  table["feature"] = [](auto& s, auto& v) {
    return feature(s, v, {&State::current, &State::saved});
  };
  table["feature_current"] = [](auto& s, auto& v) { return feature(s, v, {&State::current}); };
  table["feature_saved"] = [](auto& s, auto& v) { return feature(s, v, {&State::saved}); };
  table["feature_default"] = [](auto& s, auto& v) { return feature(s, v, {&State::factory}); };
  table["feature_data"] = feature_data;
  table["dulbe"] = [](auto& s, auto& v) {
    return feature_bit(s, v, kFeatureErrorRecovery, kDulbe);
  };
  table["nodrm"] = [](auto& s, auto& v) { return feature_bit(s, v, kFeatureNodrm, 1); };
  table["hmb"] = [](auto& s, auto& v) { return number(v, s.capabilities.hmpre); };
  table["hmb_enabled"] = [](auto& s, auto& v) {
    if (s.capabilities.hmpre == 0) s.capabilities.hmpre = 1024;
    s.host_memory.size = s.capabilities.hmpre;
    return flag(v, s.host_memory.enabled);
  };
}

void add_security(SettingTable& table) {
  table["opal"] = opal(&SecurityState::opal);
  table["opal_enabled"] = opal(&SecurityState::locking_enabled);
  table["opal_locked"] = opal(&SecurityState::locked);
  table["opal_mbr"] = opal(&SecurityState::mbr_enabled);
  table["opal_mbr_done"] = opal(&SecurityState::mbr_done);
  table["opal_sid_set"] = opal(&SecurityState::sid_set);
  table["opal_block_sid"] = opal(&SecurityState::block_sid);
  table["opal_sid_blocked"] = opal(&SecurityState::sid_blocked);
  table["opal_block_ends"] = opal(&SecurityState::block_ends);
  table["opal_reverts_nothing"] = opal(&SecurityState::reverts_nothing);
  table["opal_psid"] = opal_psid;
  table["opal_answers_after"] = [](auto& s, auto& v) { return few(v, s.security.answers_after); };
  table["rpmb"] = rpmb;
  table["rpmb_key"] = [](auto& s, auto& v) { return flag(v, s.security.rpmb_key); };
  table["rpmb_counter"] = [](auto& s, auto& v) { return number(v, s.security.rpmb_counter); };
  table["boot_partition"] = boot_partition;
  table["boot_seed"] = boot_seed;
  table["boot_active"] = [](auto& s, auto& v) { return number(v, s.boot.active); };
  table["lockdown"] = [](auto& s, auto& v) { return lockdown(s, v, s.lockdown.opcodes); };
  table["lockdown_feature"] = [](auto& s, auto& v) { return lockdown(s, v, s.lockdown.features); };
  table["self_test"] = self_test;
  table["self_test_ms"] = [](auto& s, auto& v) { return number(v, s.self_test.duration_ms); };
  table["cmb"] = [](auto& s, auto& v) { return flag(v, s.capabilities.cmb); };
  table["nvm_sets"] = [](auto& s, auto& v) { return few(v, s.capabilities.nvm_sets); };
  table["endurance_groups"] = [](auto& s, auto& v) {
    return few(v, s.capabilities.endurance_groups);
  };
  table["placement"] = [](auto& s, auto& v) { return number(v, s.placement); };
  table["pmr"] = [](auto& s, auto& v) { return flag(v, s.capabilities.pmr_enabled); };
}

void add_faults(SettingTable& table) {
  const auto fault = [&](const char* key, bool Faults::*member) {
    table[key] = [member](auto& s, auto& v) { return flag(v, s.faults.*member); };
  };
  fault("unreadable_after_crypto", &Faults::unreadable_after_crypto);
  fault("garbage_sanitize_log", &Faults::garbage_sanitize_log);
  fault("recycles_blocks", &Faults::recycles_blocks);
  fault("zeroes_nothing", &Faults::zeroes_nothing);
  fault("zeroes_half", &Faults::zeroes_half);
  fault("drops_zero_writes", &Faults::drops_zero_writes);
  fault("format_keeps_data", &Faults::format_keeps_data);
  fault("ignores_features", &Faults::ignores_features);
  fault("ignores_delete", &Faults::ignores_delete);
  fault("lacks_namespace_commands", &Faults::lacks_namespace_commands);
  fault("written_while_read", &Faults::written_while_read);
  fault("counts_no_zeroing", &Faults::counts_no_zeroing);
  fault("counts_no_writes", &Faults::counts_no_writes);
  table["probe_fails"] = probe_fails;
  table["settle_ms"] = [](auto& s, auto& v) { return number(v, s.host.settle_ms); };
  table["multipath"] = [](auto& s, auto& v) { return flag(v, s.host.multipath); };
  table["other_controller"] = [](auto& s, auto& v) { return number(v, s.other_controller_id); };
  table["other_attached"] = [](auto& s, auto& v) -> Status {
    const auto values = fields(v, 2);
    if (!values.ok()) return values.error();
    NamespaceState* found = namespace_of(s, (*values)[0]);
    if (found == nullptr || (*values)[1] > 1) return bad(v, "NSID:0|1");
    found->other_attached = (*values)[1] == 1;
    return Ok{};
  };
  table["nmic"] = [](auto& s, auto& v) -> Status {
    const auto values = fields(v, 2);
    if (!values.ok()) return values.error();
    NamespaceState* found = namespace_of(s, (*values)[0]);
    if (found == nullptr || (*values)[1] > 255) return bad(v, "NSID:BITS");
    found->nmic = static_cast<std::uint8_t>((*values)[1]);
    return Ok{};
  };
  table["vfio_user"] = [](auto& s, auto& v) { return flag(v, s.host.vfio_user); };
  table["power_loss_at"] = [](auto& s, auto& v) { return percent(v, s.faults.power_loss_at); };
  table["reset_at"] = [](auto& s, auto& v) { return percent(v, s.faults.reset_at); };
  table["serial_changes_after"] = [](auto& s, auto& v) -> Status {
    std::uint64_t commands = 0;
    if (const Status done = number(v, commands); !done.ok()) return done;
    s.faults.serial_changes_after = commands == 0 ? 0 : s.admin_commands + commands;
    return Ok{};
  };
  table["write_error_at"] = [](auto& s, auto& v) {
    return region(v, s.faults.write_error_nsid, s.faults.write_error_offset,
                  s.faults.write_error_length);
  };
  table["write_error_times"] = [](auto& s, auto& v) {
    return number(v, s.faults.write_error_times);
  };
  table["keeps_region"] = [](auto& s, auto& v) {
    return region(v, s.faults.keeps_nsid, s.faults.keeps_offset, s.faults.keeps_length);
  };
  table["namespace_headroom"] = [](auto& s, auto& v) {
    return size(v, s.faults.namespace_headroom);
  };
  table["too_large_status"] = [](auto& s, auto& v) { return number(v, s.faults.too_large_status); };
  table["tells_no_capacity"] = [](auto& s, auto& v) { return flag(v, s.faults.tells_no_capacity); };
  table["hides_namespace"] = [](auto& s, auto& v) { return number(v, s.faults.hidden_nsid); };
}

}  // namespace

void add_surface_settings(SettingTable& table) {
  table["spare_threshold"] = [](auto& s, auto& v) { return number(v, s.smart.spare_threshold); };
  table["percentage_used"] = [](auto& s, auto& v) { return number(v, s.smart.percent_used); };
  table["power_on_hours"] = [](auto& s, auto& v) { return number(v, s.smart.power_on_hours); };
  table["data_units_written"] = [](auto& s, auto& v) -> Status {
    std::uint64_t units = 0;
    if (const Status done = number(v, units); !done.ok()) return done;
    s.smart.sectors_written = units * 1000;
    return Ok{};
  };
  table["reservation"] = reservation;
  table["reservation_persists"] = reservation_persists;
  add_features(table);
  add_security(table);
  add_faults(table);
}

}  // namespace reclaim::emulator
