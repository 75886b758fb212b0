// The handlers' part of the configuration, as plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/operator_step.h"
#include "handlers/role_policy.h"
#include "nvme/controller/facts.h"
#include "nvme/pci/config_compare.h"
#include "nvme/rules.h"
#include "state/base/pci_address.h"
#include "state/device/step.h"

namespace reclaim {

// The fields of [devices] device_spec for a PCI function that is no drive, besides.
struct FunctionPolicy {
  std::string type;                       // its own word for what it is; empty: by PCI class
  std::string driver;                     // of the host, that it may stand on; empty: none
  std::vector<std::string> roms_allowed;  // SHA-256 of expansion ROMs, lower-case hex
  std::vector<nvme::ConfigRange> config_ignored;  // registers that change by themselves
};

// The policy that device_spec has for one device. The method that it means for a drive is told
// where its capabilities are known: MethodChoice.
struct DevicePolicy {
  bool managed = true;                        // libvirt binds it back to the host driver by itself
  bool shared_subsystem_allowed = false;      // shared_subsystem = allow
  std::optional<std::string> resource_class;  // the operator's own, normalised
  nvme::Rules rules;
  std::optional<std::int64_t> cleanup_timeout_ms;  // nothing: ConductorOptions'
  bool manual = false;                             // cleaned only when an operator says so
  std::vector<OperatorStep> steps;  // of an operator's own that are for it, in no order
  std::vector<std::string> tags;    // of its entry, as the record shows them
  PolicyOrigin origin;
  RolePolicies roles;       // those that there are; null: none (handlers/survey/strictest.h)
  FunctionPolicy function;  // of no drive
};

// The first device_spec entry that matches, or nothing: then the device is not ours to touch.
using DevicePolicyLookup = std::function<std::optional<DevicePolicy>(
    std::uint16_t vendor_id, std::uint16_t product_id, const PciAddress& address)>;

// Chooses the erase method for a drive, or says why none will do (nvme/erase/policy.h).
using MethodChoice =
    std::function<Result<nvme::EraseMethod>(const DevicePolicy&, const nvme::Capabilities&)>;

// [nvme] clean_step_priority_override: "nvme.check_health" -> its priority, 0 to leave it out
// (handlers/survey/plan.h says what is accepted).
using StepPriorities = std::map<std::string, int>;

// True if a [pci] passthrough_whitelist entry of Cyborg's matches: then a device that is not a
// drive is shown, and never touched.
using Whitelist = std::function<bool(std::uint16_t vendor_id, std::uint16_t product_id,
                                     const PciAddress& address)>;

// The one who un-reserves a device of Cyborg's that is clean again.
enum class CyborgOwner : std::uint8_t {
  worker,  // we do: no Cyborg that there is does
  agent,   // the agent of a Cyborg that has the specification
};

// [clean] failed_builds.
enum class FailedBuilds : std::uint8_t {
  clean,
  wait,  // for an operator: his own hand may have been among the writes
};

enum class FirstSight : std::uint8_t { clean, accept };

// [reclaim] mode.
enum class Mode : std::uint8_t {
  serve,
  observe,  // decides and records as ever, and writes to no drive and to nothing in Placement
};

struct ConductorOptions {
  std::string host;  // [DEFAULT] host: keys and kicks go by it
  std::vector<std::string>
      node_names;          // what Nova may call it; one of them names its root provider
  std::string machine_id;  // of /etc/machine-id
  std::string version;
  std::string compute_id;  // of Nova's compute_id file; empty: there is none
  // /proc/sys/kernel/random/boot_id: PCI addresses stay where they are while it does. Empty: not
  // known, as if the host had just been started.
  std::string boot_id;
  std::string holder;               // who holds our locks: "host/machine-id"
  std::vector<std::string> labels;  // [reclaim] labels: by which hosts are chosen
  Mode mode = Mode::serve;
  [[nodiscard]] bool observes() const { return mode == Mode::observe; }
  InterruptedCleaning interrupted_cleaning = InterruptedCleaning::automatic;
  StepPriorities step_priorities;
  StepPriorities function_step_priorities;  // [devices] clean_step_priority_override
  bool clean_automated = true;  // [clean] automated, where a device_spec entry says nothing else
  FailedBuilds failed_builds = FailedBuilds::clean;
  std::vector<std::string> clean_interfaces = {"hold", "pci", "nvme"};  // that breaks ties
  // [nvme] enrol_first_sight: what becomes of a drive of Cyborg's that is on offer when it is first
  // seen.
  FirstSight first_sight = FirstSight::accept;
  // [nvme] manage_providers: drives that a device_spec entry matches and for which no provider
  // stands are registered in Placement, reserved, and cleaned first.
  bool manage_providers = false;
  // [agent_door] socket: Cyborg's agent is told of the drives. They are registered the same way,
  // and it is Cyborg that first un-reserves each, when it knows it.
  bool agent_door = false;
  CyborgOwner cyborg_owner = CyborgOwner::worker;
  // [cyborg] reserve_all_types: also what is neither a drive nor cleaned by steps is reserved while
  // it is bound.
  bool reserve_all_types = false;
  // [cyborg] listen_rpc or [agent_door]: somebody here hears what Cyborg wants cleaned.
  bool hears_cleanups = true;
  [[nodiscard]] bool registers() const { return manage_providers || agent_door; }
  std::int64_t cleanup_timeout_ms = 900'000;
  // [nvme] zero_rate_max: what all drives of the host together may be zeroed with; 0: no limit.
  std::uint64_t zero_bytes_per_s_max = 0;
  std::int64_t stall_timeout_ms = 600'000;
  std::int64_t lock_ttl_ms = 60'000;
  std::int64_t survey_interval_ms = 60'000;
  std::int64_t survey_jitter_ms = 6'000;
  // A provider that has not moved is read again after this; 0: with every survey.
  std::int64_t full_survey_interval_ms = 600'000;
  std::int64_t survey_spacing_ms = 2'000;  // from the end of a survey to the next one
  std::int64_t watch_ms = 2'000;           // between two looks at a device that is not clean
  std::int64_t retry_min_ms = 500;         // Placement or Redis away: doubled up to retry_max_ms
  std::int64_t retry_max_ms = 30'000;
  std::uint32_t erases_max = 5;   // of one device without a release; then an operator has to look
  std::size_t cleanings_max = 8;  // at the same time on this host
};

}  // namespace reclaim
