#include "tests/emulator/host/settings.h"

#include <algorithm>
#include <map>

#include "tests/emulator/host/setting_values.h"

namespace reclaim::emulator {

const char* const kSettingsHelp =
    R"(identity   serial= model= firmware= subsysnqn= cntlid= vendor=0x144d device=0xa80a
           instance=N (nvmeN) disk=N (nvmeNnM) numa_node= iommu_group= sriov_total= sriov_enabled=
abilities  size=64M (first namespace) capacity= sanicap=crypto+block+overwrite+verify+ndi|none|0x3
           oacs= oncs= fna= cmic= dlfeat= mdts= wzsl= nwpc= rpmbs= frmw= npss=
sanitize   duration_ms=3000 estimate_block_s= estimate_crypto_s= estimate_overwrite_s=
           deallocate_ms= estimate_deallocate_s= (after a media verification)
           sstat=0..4 gde=0|1 media_verification=1 (as the last tenant left it)
           advance_ms= (time leaps forward)
health     critical_warning= available_spare= percent_used= temperature_k= media_errors=
           host_reads= host_writes= unsafe_shutdowns=
faults     lies_keeps_data= erases_half= no_gde= wrong_scdw10= serial_changes= garbage_identify=
           refuses_emvs= refuses_media_reads= hides_media=
           unexpected_deallocation= never_writes= reset_fails= (0|1)
           stalls_at=PERCENT|off fails_at=PERCENT|off
           refuses_sanitize=STATUS refuses_format=STATUS refuses_log=STATUS (0x4002, 0 = off)
           io_error_at=NSID:OFFSET:LENGTH|off
namespace  write_protect=NSID:0..3 lba_format=NSID:0|1|2 (512, 4096, 512 + 8)
host       state=live|resetting|dead|… claimed=0|1 needs_rescan=0|1 (nodes come and go at one)
)";

namespace {

Status sanicap(const Setting& setting, std::uint32_t& into) {
  if (setting.value.starts_with("0x")) return number(setting, into);
  const std::map<std::string_view, std::uint32_t> bits{{"none", 0},   {"crypto", 1},
                                                       {"block", 2},  {"overwrite", 4},
                                                       {"verify", 8}, {"ndi", 1U << 29U}};
  std::uint32_t value = 0;
  std::string_view rest = setting.value;
  while (!rest.empty()) {
    const std::size_t cut = std::min(rest.find('+'), rest.size());
    const auto found = bits.find(rest.substr(0, cut));
    if (found == bits.end())
      return bad(setting, "none, crypto, block, overwrite, verify, ndi joined by +");
    value |= found->second;
    rest.remove_prefix(std::min(cut + 1, rest.size()));
  }
  into = value;
  return Ok{};
}

Status namespace_field(DriveState& state, const Setting& setting, std::uint64_t limit,
                       std::uint8_t NamespaceState::*member) {
  const auto values = fields(setting, 2);
  if (!values.ok()) return values.error();
  const std::uint64_t nsid = (*values)[0];
  if (nsid == 0 || nsid > kNamespacesMax || !state.namespaces[nsid - 1].allocated ||
      (*values)[1] > limit) {
    return bad(setting, "NSID:VALUE of an allocated namespace");
  }
  state.namespaces[nsid - 1].*member = static_cast<std::uint8_t>((*values)[1]);
  return Ok{};
}

// A changed LBA format keeps the namespace's bytes, as the tenant's own Format NVM would.
Status lba_format(DriveState& state, const Setting& setting) {
  const DriveState before = state;
  const Status done = namespace_field(state, setting, kLbaFormats - 1, &NamespaceState::lba_format);
  if (!done.ok()) return done;
  for (std::size_t i = 0; i < state.namespaces.size(); ++i) {
    NamespaceState& each = state.namespaces[i];
    if (each.lba_format == before.namespaces[i].lba_format) continue;
    const bool before_large = before.namespaces[i].lba_format == 1;
    if (before_large == (each.lba_format == 1)) continue;
    each.blocks = each.lba_format == 1 ? each.blocks / 8 : each.blocks * 8;
  }
  return Ok{};
}

Status io_error_at(DriveState& state, const Setting& setting) {
  state.faults.io_error_nsid = 0;
  state.faults.io_error_length = 0;
  if (setting.value == "off") return Ok{};
  const auto values = fields(setting, 3);
  if (!values.ok()) return values.error();
  state.faults.io_error_nsid = static_cast<std::uint32_t>((*values)[0]);
  state.faults.io_error_offset = (*values)[1];
  state.faults.io_error_length = (*values)[2];
  return Ok{};
}

Status sanitize_status(DriveState& state, const Setting& setting) {
  std::uint32_t value = 0;
  if (!number(setting, value).ok() || value > 4) return bad(setting, "0..4");
  state.sanitize.status = static_cast<SanitizeStatus>(value);
  state.sanitize.failure_mode = value == 3;
  state.sanitize.restricted = value == 3;
  if (value == 3) state.sanitize.data_erased = false;
  return Ok{};
}

// A crypto erase that ended, whose media nobody has looked at.
Status media_verification(DriveState& state, const Setting& setting) {
  bool left = false;
  if (!flag(setting, left).ok() || !left) return bad(setting, "1");
  state.sanitize.status = SanitizeStatus::in_progress;
  state.sanitize.phase = SanitizePhase::media_verification;
  state.sanitize.cdw10 = 0x404;
  state.sanitize.data_erased = false;
  return Ok{};
}

Status advance(DriveState& state, const Setting& setting) {
  std::int64_t value = 0;
  if (const Status done = number(setting, value); !done.ok()) return done;
  state.clock_offset_ms += value;
  return Ok{};
}

Status firmware(DriveState& state, const Setting& setting) {
  if (const Status done = text(setting, state.firmware, ' '); !done.ok()) return done;
  state.firmware_slots[state.firmware_slot_active - 1U] = state.firmware;
  return Ok{};
}

void add_identity(SettingTable& table) {
  table["serial"] = [](auto& s, auto& v) { return text(v, s.serial, ' '); };
  table["model"] = [](auto& s, auto& v) { return text(v, s.model, ' '); };
  table["firmware"] = firmware;
  table["subsysnqn"] = [](auto& s, auto& v) { return text(v, s.subsystem_nqn, '\0'); };
  table["cntlid"] = [](auto& s, auto& v) { return number(v, s.controller_id); };
  table["vendor"] = [](auto& s, auto& v) { return number(v, s.host.vendor); };
  table["device"] = [](auto& s, auto& v) { return number(v, s.host.device); };
  table["instance"] = [](auto& s, auto& v) { return number(v, s.host.instance); };
  table["disk"] = [](auto& s, auto& v) { return number(v, s.host.disk); };
  table["numa_node"] = [](auto& s, auto& v) { return number(v, s.host.numa_node); };
  table["iommu_group"] = [](auto& s, auto& v) { return number(v, s.host.iommu_group); };
  table["sriov_total"] = [](auto& s, auto& v) { return number(v, s.host.sriov_total); };
  table["sriov_enabled"] = [](auto& s, auto& v) { return number(v, s.host.sriov_enabled); };
  table["state"] = [](auto& s, auto& v) {
    return text(v, std::span(s.host.controller_state).first(15), '\0');
  };
  table["needs_rescan"] = [](auto& s, auto& v) { return flag(v, s.host.needs_rescan); };
  table["claimed"] = [](auto& s, auto& v) { return flag(v, s.host.claimed); };
  table["firmware_pending"] = [](auto& s, auto& v) { return number(v, s.firmware_slot_pending); };
}

void add_abilities(SettingTable& table) {
  table["capacity"] = [](auto& s, auto& v) { return size(v, s.capabilities.capacity_bytes); };
  table["sanicap"] = [](auto& s, auto& v) { return sanicap(v, s.capabilities.sanicap); };
  table["oacs"] = [](auto& s, auto& v) { return number(v, s.capabilities.oacs); };
  table["oncs"] = [](auto& s, auto& v) { return number(v, s.capabilities.oncs); };
  table["fna"] = [](auto& s, auto& v) { return number(v, s.capabilities.fna); };
  table["cmic"] = [](auto& s, auto& v) { return number(v, s.capabilities.cmic); };
  table["dlfeat"] = [](auto& s, auto& v) { return number(v, s.capabilities.dlfeat); };
  table["npss"] = [](auto& s, auto& v) { return number(v, s.capabilities.npss); };
  table["mdts"] = [](auto& s, auto& v) { return number(v, s.capabilities.mdts); };
  table["wzsl"] = [](auto& s, auto& v) { return number(v, s.capabilities.wzsl); };
  table["nwpc"] = [](auto& s, auto& v) { return number(v, s.capabilities.nwpc); };
  table["frmw"] = [](auto& s, auto& v) { return number(v, s.capabilities.frmw); };
  table["rpmbs"] = [](auto& s, auto& v) { return number(v, s.capabilities.rpmbs); };
  table["duration_ms"] = [](auto& s, auto& v) { return number(v, s.sanitize.duration_ms); };
  table["estimate_overwrite_s"] = [](auto& s, auto& v) {
    return number(v, s.sanitize.estimate_s[0]);
  };
  table["estimate_block_s"] = [](auto& s, auto& v) { return number(v, s.sanitize.estimate_s[1]); };
  table["estimate_crypto_s"] = [](auto& s, auto& v) { return number(v, s.sanitize.estimate_s[2]); };
  table["deallocate_ms"] = [](auto& s, auto& v) { return number(v, s.sanitize.deallocate_ms); };
  table["estimate_deallocate_s"] = [](auto& s, auto& v) {
    return number(v, s.sanitize.estimate_deallocate_s);
  };
  table["sstat"] = sanitize_status;
  table["media_verification"] = media_verification;
  table["gde"] = [](auto& s, auto& v) { return flag(v, s.sanitize.data_erased); };
  table["advance_ms"] = advance;
}

void add_health_and_faults(SettingTable& table) {
  table["critical_warning"] = [](auto& s, auto& v) { return number(v, s.smart.critical_warning); };
  table["available_spare"] = [](auto& s, auto& v) { return number(v, s.smart.available_spare); };
  table["percent_used"] = [](auto& s, auto& v) { return number(v, s.smart.percent_used); };
  table["temperature_k"] = [](auto& s, auto& v) { return number(v, s.smart.temperature_k); };
  table["media_errors"] = [](auto& s, auto& v) { return number(v, s.smart.media_errors); };
  table["host_reads"] = [](auto& s, auto& v) { return number(v, s.smart.host_reads); };
  table["host_writes"] = [](auto& s, auto& v) { return number(v, s.smart.host_writes); };
  table["unsafe_shutdowns"] = [](auto& s, auto& v) { return number(v, s.smart.unsafe_shutdowns); };
  table["lies_keeps_data"] = [](auto& s, auto& v) { return flag(v, s.faults.lies_keeps_data); };
  table["erases_half"] = [](auto& s, auto& v) { return flag(v, s.faults.erases_half); };
  table["no_gde"] = [](auto& s, auto& v) { return flag(v, s.faults.no_gde); };
  table["refuses_emvs"] = [](auto& s, auto& v) { return flag(v, s.faults.refuses_emvs); };
  table["refuses_media_reads"] = [](auto& s, auto& v) {
    return flag(v, s.faults.refuses_media_reads);
  };
  table["hides_media"] = [](auto& s, auto& v) { return flag(v, s.faults.hides_media); };
  table["wrong_scdw10"] = [](auto& s, auto& v) { return flag(v, s.faults.wrong_scdw10); };
  table["serial_changes"] = [](auto& s, auto& v) { return flag(v, s.faults.serial_changes); };
  table["garbage_identify"] = [](auto& s, auto& v) { return flag(v, s.faults.garbage_identify); };
  table["unexpected_deallocation"] = [](auto& s, auto& v) {
    return flag(v, s.faults.unexpected_deallocation);
  };
  table["never_writes"] = [](auto& s, auto& v) { return flag(v, s.faults.never_writes); };
  table["reset_fails"] = [](auto& s, auto& v) { return flag(v, s.faults.reset_fails); };
  table["stalls_at"] = [](auto& s, auto& v) { return percent(v, s.faults.stalls_at); };
  table["fails_at"] = [](auto& s, auto& v) { return percent(v, s.faults.fails_at); };
  table["refuses_sanitize"] = [](auto& s, auto& v) { return number(v, s.faults.refuses_sanitize); };
  table["refuses_format"] = [](auto& s, auto& v) { return number(v, s.faults.refuses_format); };
  table["refuses_log"] = [](auto& s, auto& v) { return number(v, s.faults.refuses_log); };
  table["io_error_at"] = io_error_at;
  table["write_protect"] = [](auto& s, auto& v) {
    return namespace_field(s, v, 3, &NamespaceState::write_protect);
  };
  table["lba_format"] = lba_format;
}

SettingTable make_table() {
  SettingTable table;
  add_identity(table);
  add_abilities(table);
  add_health_and_faults(table);
  add_surface_settings(table);
  add_firmware_settings(table);
  add_page_settings(table);
  return table;
}

}  // namespace

Result<std::vector<Setting>> parse_settings(std::string_view text) {
  std::vector<Setting> settings;
  while (!text.empty()) {
    const std::size_t cut = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, cut);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{Errc::invalid, "'" + std::string(one) + "' is not key=value"};
    }
    settings.push_back({std::string(one.substr(0, equals)), std::string(one.substr(equals + 1))});
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  return settings;
}

Status apply_setting(DriveState& state, const Setting& setting) {
  const SettingTable table = make_table();
  const auto found = table.find(setting.key);
  if (found == table.end()) {
    return Error{Errc::invalid, "unknown setting '" + setting.key + "'"};
  }
  return found->second(state, setting);
}

}  // namespace reclaim::emulator
