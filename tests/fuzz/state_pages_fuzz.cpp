// What a drive answers of the state a tenant can leave, at any length, and an enrolment baseline as
// it is kept; judged and planned with, too.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nvme/controller/health.h"
#include "nvme/controller/namespace_layout.h"
#include "nvme/controller/opal_session.h"
#include "nvme/controller/residue.h"
#include "nvme/controller/state_pages.h"
#include "state/base/check.h"

namespace {

using namespace reclaim::nvme;

void judge(const ControllerState& state, const ControllerState* enrolled) {
  const auto surfaces = judge_surfaces(state, enrolled, Rules{}, EraseMethod::overwrite);
  CHECK(!surfaces.findings.empty());
  for (const ResidueReset& reset : surfaces.resets) CHECK(!reset.surface.empty());
  const EnrolledHealth before{enrolled != nullptr ? enrolled->health : HealthState{}, false};
  const auto health = judge_health(state.health, enrolled != nullptr ? &before : nullptr, Rules{});
  CHECK(!health.findings.empty());
  for (const bool can_manage : {true, false}) {
    const auto plan = plan_namespaces(state, enrolled, EraseMethod::sanitize_crypto, can_manage);
    if (!plan) continue;
    CHECK(!plan->findings.empty());
    CHECK(plan->remove.empty() || plan->make.has_value());
  }
}

void parse_all(std::span<const std::byte> bytes) {
  ControllerState state;
  static_cast<void>(parse_controller_abilities(bytes, state).ok());
  const auto nsids = parse_nsid_list(bytes);
  if (nsids) CHECK(std::is_sorted(nsids->begin(), nsids->end()));
  const auto ns = parse_namespace_state(bytes, 1, state.formats);
  if (ns) {
    CHECK(ns->block_bytes >= 512 && ns->bytes() / ns->block_bytes == ns->size_blocks);
    state.namespaces.push_back(*ns);
  }
  if (const auto health = parse_health(bytes)) state.health = *health;
  if (auto firmware = parse_firmware(bytes)) state.firmware = *std::move(firmware);
  if (const auto running = parse_self_test(bytes)) state.self_test = *running;
  if (auto locked = parse_lockdown(bytes)) state.locked_commands = *std::move(locked);
  if (auto secondary = parse_secondary_controllers(bytes)) {
    state.secondary = *std::move(secondary);
  }
  static_cast<void>(parse_supported_log(bytes, 0xff).ok());
  static_cast<void>(parse_boot_header(bytes).ok());
  static_cast<void>(parse_security_protocols(bytes).ok());
  if (const auto opal = parse_level0(bytes)) state.opal = *opal;
  const auto answer = parse_opal_answer(bytes, 0x07fe);
  if (answer) CHECK(!answer->pending || answer->status == 0);
  const std::array<std::byte, 16> nonce{};
  static_cast<void>(parse_rpmb_counter(bytes, nonce).ok());
  if (!state.namespaces.empty()) {
    static_cast<void>(parse_reservations(bytes, state.namespaces.front()).ok());
  }
  judge(state, nullptr);
  state.can_sanitize = false;  // not encoded, as the next
  state.opal.com_id = 0;
  const auto back = decode_controller_state(encode_controller_state(state));
  CHECK(back.ok() && *back == state);
  judge(state, &*back);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> raw = std::as_bytes(std::span(data, size));
  parse_all(raw);
  std::vector<std::byte> page(raw.begin(), raw.end());
  page.resize(std::max<std::size_t>(page.size(), 4096));
  parse_all(page);
  const auto decoded = decode_controller_state({reinterpret_cast<const char*>(data), size});
  if (decoded) {
    judge(*decoded, nullptr);
    judge(*decoded, &*decoded);
  }
  return 0;
}
