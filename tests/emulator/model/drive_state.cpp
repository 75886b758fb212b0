#include "tests/emulator/model/drive_state.h"

#include <nvme/types.h>

#include <algorithm>

namespace reclaim::emulator {

void reset_to_factory(DriveState& state) {
  state = DriveState{};
  state.magic = kStateMagic;
  state.version = kStateVersion;
  state.bytes = sizeof(DriveState);
  state.serial.fill(' ');
  state.model.fill(' ');
  state.firmware = {'R', 'C', 'L', '0', '0', '0', '1', ' '};
  state.firmware_slots[0] = state.firmware;
  state.firmware_slot_active = 1;
  state.controller_id = 1;
  state.noise_seed = 0x9e3779b97f4a7c15ULL;
  Capabilities& can = state.capabilities;
  can.sanicap = 3;                 // crypto and block erase
  can.oacs = 1U << 1U | 1U << 3U;  // Format NVM and namespace management
  can.oncs = 1U << 0U | 1U << 2U | 1U << 3U | 1U << 4U;
  can.fna = 1U << 2U;
  can.dlfeat = 1U | 1U << 3U;  // deallocated blocks read as zeros; Write Zeroes honours DEAC
  can.mdts = 7;                // 512 KiB
  can.vwc = 7;
  can.frmw = 1U << 1U;  // one slot, writable
  can.lpa = 1U << 2U;
  can.nwpc = 7;
  state.sanitize.data_erased = true;
  state.sanitize.duration_ms = 3000;
  state.sanitize.estimate_s.fill(0xffffffffU);
  state.sanitize.estimate_deallocate_s = 0xffffffffU;
  SmartState& smart = state.smart;
  smart.available_spare = 100;
  smart.spare_threshold = 10;
  smart.percent_used = 1;
  smart.temperature_k = 310;
  smart.power_cycles = 7;
  smart.power_on_hours = 1234;
  const auto feature = [&](std::uint32_t fid, std::uint32_t value) {
    state.features[fid] = FeatureState{value, value, value};
  };
  feature(NVME_FEAT_FID_TEMP_THRESH, 350);
  feature(NVME_FEAT_FID_VOLATILE_WC, 1);
  feature(NVME_FEAT_FID_NUM_QUEUES, 63U << 16U | 63U);
  state.security.block_sid = true;
  state.self_test.duration_ms = 60'000;
  state.host.generation = 1;
  state.host.vendor = 0x144d;
  state.host.device = 0xa80a;
  state.host.numa_node = 0;
}

}  // namespace reclaim::emulator
