// Settings from pages that a real drive answered, so that a user's report is replayed as it is.
#include <nvme/types.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/emulator/host/setting_values.h"

namespace reclaim::emulator {

const char* const kPageSettingsHelp =
    R"(real pages identify=FILE smart=FILE sanitize_log=FILE, as `nvme id-ctrl -b`, `nvme smart-log
           -b` and `nvme get-log --log-id=0x81 --log-len=512 -b` write them; settings behind
           them change them; size= stays the drive's capacity, or it tells none as the page does
)";

namespace {

// The lower half of a 128-bit field: no counter of a drive is larger.
std::uint64_t low(const std::uint8_t (&field)[16]) {
  std::uint64_t value = 0;
  std::memcpy(&value, field, sizeof(value));
  return value;
}

template <std::size_t kBytes>
Status read_page(const Setting& setting, std::array<std::uint8_t, kBytes>& page) {
  std::ifstream file(setting.value, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.size() != kBytes) {
    return bad(setting, "a file of " + std::to_string(kBytes) + " bytes; this one has " +
                            std::to_string(bytes.size()));
  }
  std::memcpy(page.data(), bytes.data(), kBytes);
  return Ok{};
}

Status identify(DriveState& state, const Setting& setting) {
  if (const Status read = read_page(setting, state.pages.identify); !read.ok()) return read;
  nvme_id_ctrl id{};
  std::memcpy(&id, state.pages.identify.data(), sizeof(id));
  std::memcpy(state.serial.data(), id.sn, sizeof(id.sn));
  std::memcpy(state.model.data(), id.mn, sizeof(id.mn));
  std::memcpy(state.firmware.data(), id.fr, sizeof(id.fr));
  state.firmware_slots[state.firmware_slot_active - 1U] = state.firmware;
  if (id.subnqn[0] != 0) {
    std::memcpy(state.subsystem_nqn.data(), id.subnqn, state.subsystem_nqn.size());
  }
  state.host.vendor = id.vid;
  state.controller_id = id.cntlid;
  Capabilities& can = state.capabilities;
  can.sanicap = id.sanicap;
  can.oacs = id.oacs;
  can.oncs = id.oncs;
  can.fna = id.fna;
  can.cmic = id.cmic;
  can.mdts = id.mdts;
  can.vwc = id.vwc;
  can.frmw = id.frmw;
  can.fwug = id.fwug;
  can.lpa = id.lpa;
  can.nwpc = id.nwpc;
  can.rpmbs = id.rpmbs;
  can.hmpre = id.hmpre;
  can.npss = id.npss;
  if (low(id.tnvmcap) == 0) can.capacity_bytes = 0;
  return Ok{};
}

Status smart(DriveState& state, const Setting& setting) {
  if (const Status read = read_page(setting, state.pages.smart); !read.ok()) return read;
  nvme_smart_log log{};
  std::memcpy(&log, state.pages.smart.data(), sizeof(log));
  SmartState& health = state.smart;
  health.critical_warning = log.critical_warning;
  std::memcpy(&health.temperature_k, log.temperature, sizeof(health.temperature_k));
  health.available_spare = log.avail_spare;
  health.spare_threshold = log.spare_thresh;
  health.percent_used = log.percent_used;
  health.sectors_read = low(log.data_units_read) * 1000;
  health.sectors_written = low(log.data_units_written) * 1000;
  health.host_reads = low(log.host_reads);
  health.host_writes = low(log.host_writes);
  health.power_cycles = low(log.power_cycles);
  health.power_on_hours = low(log.power_on_hours);
  health.unsafe_shutdowns = low(log.unsafe_shutdowns);
  health.media_errors = low(log.media_errors);
  health.error_log_entries = low(log.num_err_log_entries);
  return Ok{};
}

Status sanitize_log(DriveState& state, const Setting& setting) {
  if (const Status read = read_page(setting, state.pages.sanitize_log); !read.ok()) return read;
  nvme_sanitize_log_page log{};
  std::memcpy(&log, state.pages.sanitize_log.data(), sizeof(log));
  SanitizeState& sanitize = state.sanitize;
  sanitize.status = static_cast<SanitizeStatus>(log.sstat & 7U);
  sanitize.failure_mode = sanitize.status == SanitizeStatus::failed;
  sanitize.passes_done = static_cast<std::uint8_t>(log.sstat >> 3U & 0x1fU);
  sanitize.data_erased = (log.sstat >> 8U & 1U) != 0;
  sanitize.cdw10 = log.scdw10;
  sanitize.estimate_s = {log.eto, log.etbe, log.etce, log.etond, log.etbend, log.etcend};
  return Ok{};
}

}  // namespace

void add_page_settings(SettingTable& table) {
  table["identify"] = identify;
  table["smart"] = smart;
  table["sanitize_log"] = sanitize_log;
}

}  // namespace reclaim::emulator
