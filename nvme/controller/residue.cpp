#include "nvme/controller/residue.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nvme/controller/firmware_slots.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kErrorRecovery = 0x05;
constexpr std::uint32_t kDulbe = 1U << 16U;  // reading a deallocated block is an error
constexpr std::uint8_t kSanitizeConfig = 0x17;
constexpr std::uint32_t kNodrm = 1U;  // a sanitize that may not deallocate goes on with a warning

constexpr std::string_view kAcceptIt =
    "if it is yours, accept the drive as it is with `reclaim device set ADDRESS --enrol`";

struct Judge {
  const ControllerState& now;
  const ControllerState* enrolled;
  const Rules& rules;
  bool accept_found;
  ResidueJudgement out;
  std::size_t by_owner = 0;  // of what quarantines it: what an owner of TCG Opal did

  void tell(std::string_view surface, std::string found) {
    out.findings.push_back(StepFinding{std::string(surface), std::move(found), false});
  }
  void quarantine(std::string_view surface, std::string_view found, std::string_view remedy) {
    tell(surface, std::string(found));
    out.quarantine.push_back(fmt::format("{}: {}; {}", surface, found, remedy));
  }
  // True if nothing tells whether a tenant did it, and no operator has said that it is his.
  [[nodiscard]] bool doubtful() const { return enrolled == nullptr && !accept_found; }
  void reset(ResidueReset what, std::string found) {
    out.findings.push_back(StepFinding{what.surface, std::move(found), true});
    out.resets.push_back(std::move(what));
  }
};

void judge_unreadable(Judge& judge) {
  for (const Unreadable& each : judge.now.unreadable) {
    judge.quarantine(each.surface, "the drive says it has it, but it cannot be read: " + each.why,
                     "clean the device again; if that fails too, look for a firmware update or "
                     "replace the drive");
  }
}

void judge_firmware_slots(Judge& judge) {
  const FirmwareState& firmware = judge.now.firmware;
  const bool by_list = !judge.rules.firmware_allowed.empty();
  const FirmwareState* const before =
      judge.enrolled != nullptr ? &judge.enrolled->firmware : nullptr;
  for (const SlotDifference& each :
       differing_slots(firmware, before, judge.rules.firmware_allowed)) {
    if (each.not_allowed) {
      judge.quarantine("firmware",
                       fmt::format("slot {} holds revision {}, which firmware of its "
                                   "device_spec does not name",
                                   each.slot, each.revision),
                       "install an allowed revision (firmware_images can), or allow this one");
    } else {
      judge.quarantine("firmware",
                       fmt::format("slot {} holds revision '{}', at enrolment it was '{}'",
                                   each.slot, each.revision, each.enrolled),
                       each.enrolled.empty()
                           ? "no command empties a slot: name the revision in firmware of its "
                             "device_spec if you trust it, install one that is named there "
                             "(firmware_images can), or replace the drive"
                           : "install the former revision (firmware_images can), or name the new "
                             "one in firmware of its device_spec");
    }
  }
  if (!by_list && before != nullptr && before->active_slot != firmware.active_slot) {
    judge.quarantine("firmware",
                     fmt::format("slot {} is active, at enrolment it was slot {}",
                                 firmware.active_slot, before->active_slot),
                     "activate the former slot with `nvme fw-commit`");
  }
}

void judge_firmware(Judge& judge) {
  const FirmwareState& firmware = judge.now.firmware;
  if (firmware.active_slot == 0 || firmware.active_slot > firmware.revisions.size()) {
    if (judge.now.unreadable.empty()) {
      judge.quarantine("firmware", "its log names no active slot",
                       "look for a firmware update or replace the drive");
    }
    return;
  }
  const std::string& active = firmware.revisions[firmware.active_slot - 1U];
  const std::size_t before = judge.out.quarantine.size();
  if (activation_waits(firmware)) {
    const std::string& next = firmware.next_slot <= firmware.revisions.size()
                                  ? firmware.revisions[firmware.next_slot - 1U]
                                  : active;
    judge.quarantine("firmware",
                     fmt::format("slot {} with revision '{}' becomes active at the next reset; now "
                                 "slot {} with '{}' is",
                                 firmware.next_slot, next, firmware.active_slot, active),
                     "choose the slot you trust with `nvme fw-commit`, reset the drive, then clean "
                     "the device again");
  }
  if (active != judge.now.firmware_revision) {
    judge.quarantine("firmware",
                     fmt::format("Identify says revision '{}', the slot log says '{}'",
                                 judge.now.firmware_revision, active),
                     "reset the drive, then clean the device again");
  }
  judge_firmware_slots(judge);
  if (judge.out.quarantine.size() != before) return;
  std::vector<std::string> slots;
  for (std::size_t i = 0; i < firmware.revisions.size(); ++i) {
    if (!firmware.revisions[i].empty()) {
      slots.push_back(fmt::format("{}={}", i + 1, firmware.revisions[i]));
    }
  }
  judge.tell("firmware", fmt::format("slot {} is active; slots {}", firmware.active_slot,
                                     fmt::join(slots, " ")));
}

void judge_opal(Judge& judge) {
  constexpr std::string_view kUnlock =
      "unlock it, or revert it by a tool of your own and the PSID on its label, then clean the "
      "device again";
  const OpalState& opal = judge.now.opal;
  if (judge.enrolled != nullptr && lost_block(judge.enrolled->opal, opal)) {
    judge.reset(ResidueReset{ResidueReset::Kind::block_sid, "opal"},
                "the SID was blocked at enrolment and was not any more; it is blocked until the "
                "next power cycle");
  }
  if (!opal.supported) return judge.tell("opal", "not supported");
  const std::size_t before = judge.out.quarantine.size();
  if (opal.locked) {
    judge.quarantine("opal", "a locking range is locked", kUnlock);
  } else if (opal.locking_enabled) {
    judge.quarantine("opal", "locking is enabled: ownership of the drive was taken", kUnlock);
  }
  if (opal.mbr_enabled) {
    judge.quarantine("opal",
                     fmt::format("a shadow MBR is enabled{}",
                                 opal.mbr_done ? "" : " and hides the media's beginning"),
                     kUnlock);
  }
  const bool sid_was_changed = judge.enrolled != nullptr && judge.enrolled->opal.sid_changed;
  if (opal.sid_known && judge.enrolled != nullptr && opal.sid_changed != sid_was_changed) {
    judge.quarantine("opal",
                     opal.sid_changed
                         ? "the SID was changed since enrolment: ownership of the drive was taken"
                         : "the SID was set back since enrolment",
                     opal.sid_changed ? kUnlock : "set it again, then enrol the drive again");
  }
  if (opal.sid_known && opal.sid_changed && judge.doubtful()) {
    judge.quarantine(
        "opal", "the SID has an owner, and no enrolment baseline tells whether a tenant took it",
        fmt::format("{}; otherwise {}", kAcceptIt, kUnlock));
  }
  // A revert takes nothing from an owner of the enrolment, nor from one of whom no more is known
  // than that there is one.
  const bool taken = opal.locked || opal.locking_enabled || opal.mbr_enabled ||
                     (judge.enrolled != nullptr && opal.sid_changed);
  if (taken && !sid_was_changed) judge.by_owner = judge.out.quarantine.size() - before;
  if (judge.out.quarantine.size() != before) return;
  const bool may_be_taken = opal.sid_known && !opal.sid_changed && !opal.sid_blocked;
  judge.tell("opal",
             fmt::format("not locked{}{}{}", opal.sid_changed ? ", the SID has an owner" : "",
                         opal.sid_blocked ? ", the SID is blocked" : "",
                         may_be_taken ? ", the SID has no owner and is not blocked: a "
                                        "tenant can own and lock the drive"
                                      : ""));
}

void judge_rpmb(Judge& judge) {
  if (judge.now.rpmb_targets == 0) return judge.tell("rpmb", "not supported");
  const unsigned before = judge.enrolled != nullptr ? judge.enrolled->rpmb_programmed : 0U;
  const unsigned fresh = judge.now.rpmb_programmed & ~before;
  if (judge.enrolled != nullptr && fresh != 0) {
    return judge.quarantine(
        "rpmb",
        fmt::format("an authentication key was programmed since enrolment (targets {:#04x}); it "
                    "cannot be changed or erased any more",
                    fresh),
        "replace the drive, or enrol it again if the key is yours");
  }
  if (judge.now.rpmb_programmed != 0 && judge.doubtful()) {
    return judge.quarantine(
        "rpmb",
        fmt::format("an authentication key is programmed (targets {:#04x}), and no enrolment "
                    "baseline tells whether a tenant did it; it cannot be changed or erased",
                    judge.now.rpmb_programmed),
        fmt::format("{}; otherwise replace the drive", kAcceptIt));
  }
  judge.tell("rpmb", fmt::format("{} targets, keys programmed {:#04x}", judge.now.rpmb_targets,
                                 judge.now.rpmb_programmed));
}

void judge_boot_partitions(Judge& judge) {
  const BootPartitionState& boot = judge.now.boot;
  if (!boot.supported) {
    if (judge.enrolled != nullptr && judge.enrolled->boot.supported) {
      return judge.quarantine("boot_partitions", "they were there at enrolment and are not now",
                              "look at its firmware, then enrol the drive again");
    }
    return judge.tell("boot_partitions", "not supported");
  }
  if (judge.enrolled != nullptr && !(judge.enrolled->boot == boot)) {
    const bool content = judge.enrolled->boot.sha256 != boot.sha256;
    return judge.quarantine(
        "boot_partitions",
        content ? "their content is not that of the enrolment"
                : fmt::format("partition {} is active, at enrolment it was {}", boot.active,
                              judge.enrolled->boot.active),
        "write them again with `nvme fw-download` and `nvme fw-commit --action=6`, then clean the "
        "device again, or enrol it again");
  }
  judge.tell("boot_partitions",
             fmt::format("2 of {} bytes, {} is active{}", boot.bytes, boot.active,
                         judge.enrolled != nullptr ? ", as enrolled" : ""));
}

void judge_lockdown(Judge& judge) {
  if (judge.now.locked_commands.empty() && judge.now.locked_features.empty()) {
    return judge.tell("lockdown", "nothing is locked down");
  }
  std::vector<std::string> names;
  for (const std::uint8_t opcode : judge.now.locked_commands) {
    names.push_back(fmt::format("command {:#04x}", opcode));
  }
  for (const std::uint8_t id : judge.now.locked_features) {
    names.push_back(fmt::format("feature {:#04x}", id));
  }
  judge.quarantine("lockdown", fmt::format("prohibited by lockdown: {}", fmt::join(names, ", ")),
                   "power-cycle the drive, which lifts it, then clean the device again");
}

void judge_self_test(Judge& judge) {
  if (judge.now.self_test == 0) return judge.tell("self_test", "none is running");
  ResidueReset abort;
  abort.kind = ResidueReset::Kind::self_test;
  abort.surface = "self_test";
  judge.reset(std::move(abort),
              fmt::format("a device self-test (operation {}) was running", judge.now.self_test));
}

void judge_write_protect(Judge& judge, const NamespaceState& ns) {
  const bool by_attribute = (ns.attributes & 1U) != 0;
  if (ns.write_protect == 0 && !by_attribute) return;
  const std::string who = fmt::format("namespace {}", ns.nsid);
  if (ns.write_protect >= 2) {
    return judge.quarantine("write_protect",
                            who + (ns.write_protect == 2 ? " is write protected until a power cycle"
                                                         : " is write protected permanently"),
                            ns.write_protect == 2
                                ? "power-cycle the drive, then clean the device again"
                                : "it can never be erased: replace and destroy the drive");
  }
  if (!ns.active) {
    return judge.quarantine(
        "write_protect", who + " is write protected and detached",
        fmt::format("attach it with `nvme attach-ns -n {0}`, clear it with `nvme set-feature -f "
                    "0x84 -n {0} --value=0`, then clean the device again",
                    ns.nsid));
  }
  ResidueReset clear;
  clear.kind = ResidueReset::Kind::write_protect;
  clear.surface = "write_protect";
  clear.nsid = ns.nsid;
  judge.reset(std::move(clear), who + " was write protected");
}

void judge_namespaces(Judge& judge) {
  const std::size_t before = judge.out.findings.size();
  for (const NamespaceState& ns : judge.now.namespaces) {
    judge_write_protect(judge, ns);
    if (ns.registrants == 0 && ns.reservation == 0) continue;
    ResidueReset clear;
    clear.kind = ResidueReset::Kind::reservation;
    clear.surface = "reservations";
    clear.nsid = ns.nsid;
    judge.reset(std::move(clear),
                fmt::format("namespace {} had {} registrants and a reservation of type {}{}",
                            ns.nsid, ns.registrants, ns.reservation,
                            ns.reservation_persists ? " that outlives a power loss" : ""));
  }
  if (judge.out.findings.size() == before) {
    judge.tell("write_protect", "no namespace is write protected");
    judge.tell("reservations", "none");
  }
}

const FeatureState* find_feature(const ControllerState& state, const FeatureState& like) {
  const auto found =
      std::find_if(state.features.begin(), state.features.end(),
                   [&](const FeatureState& f) { return f.id == like.id && f.nsid == like.nsid; });
  return found == state.features.end() ? nullptr : &*found;
}

// Bits that must be clear whatever the enrolment says.
std::uint32_t forbidden_bits(std::uint8_t id) {
  return id == kErrorRecovery ? kDulbe : id == kSanitizeConfig ? kNodrm : 0U;
}

void judge_feature(Judge& judge, const FeatureState& feature, std::size_t& differing) {
  const FeatureRule* const rule = find_feature_rule(feature.id);
  if (rule == nullptr) return;
  const std::uint32_t forbidden = forbidden_bits(feature.id);
  const FeatureState* const before =
      judge.enrolled != nullptr ? find_feature(*judge.enrolled, feature) : nullptr;
  // The feature should be as enrolled. A namespace that is new since, or a first cleaning, is
  // measured by the drive's own default, where only the forbidden bits count.
  const bool known = before != nullptr;
  std::uint32_t wanted = feature.current;
  if (known) {
    wanted = before->saved.value_or(before->current);
  } else if (feature.factory) {
    wanted = *feature.factory;
  }
  wanted &= ~forbidden;
  const bool current_differs = !rule->host_sets && feature.current != wanted;
  const bool saved_differs = feature.saved && *feature.saved != wanted;
  if (!current_differs && !saved_differs) return;
  const std::string found = fmt::format(
      "{}{} (feature {:#04x}) is {:#x}{}, {} {:#x}", rule->name,
      feature.nsid != 0 ? fmt::format(" of namespace {}", feature.nsid) : "", feature.id,
      feature.current, feature.saved ? fmt::format(", saved {:#x}", *feature.saved) : "",
      known ? "at enrolment it was" : "its default is", wanted);
  ++differing;
  const bool bad_by_itself = ((feature.current | feature.saved.value_or(0)) & forbidden) != 0;
  if (!known && !bad_by_itself) return judge.tell("features", found + "; left as it is");
  if (!feature.changeable) {
    return judge.quarantine("features", found + " and cannot be changed",
                            "power-cycle the drive, then clean the device again; if that fails "
                            "too, replace it");
  }
  ResidueReset reset;
  reset.kind = ResidueReset::Kind::feature;
  reset.surface = "features";
  reset.nsid = feature.nsid;
  reset.feature = feature.id;
  // Without a yardstick only the forbidden bits are cleared.
  reset.value = known ? wanted : feature.saved.value_or(feature.current) & ~forbidden;
  reset.save = feature.saveable;
  judge.reset(std::move(reset), found);
}

void judge_features(Judge& judge) {
  std::size_t differing = 0;
  for (const FeatureState& feature : judge.now.features) judge_feature(judge, feature, differing);
  if (differing == 0) {
    judge.tell("features",
               fmt::format("{} looked at, none differs from {}", judge.now.features.size(),
                           judge.enrolled != nullptr ? "the enrolment" : "the drive's defaults"));
  }
}

void judge_virtualization(Judge& judge) {
  std::vector<std::string> online;
  std::vector<std::string> provided;
  for (const SecondaryController& each : judge.now.secondary) {
    if (each.online) online.push_back(fmt::format("{}", each.id));
    if (each.queues != 0 || each.interrupts != 0) provided.push_back(fmt::format("{}", each.id));
  }
  if (!online.empty()) {
    return judge.quarantine(
        "virtualization",
        fmt::format("secondary controllers {} are online", fmt::join(online, " ")),
        "take them offline with `nvme virt-mgmt --act=7 --cntlid=ID`, then clean the device again");
  }
  const bool as_enrolled =
      judge.enrolled == nullptr || judge.enrolled->secondary == judge.now.secondary;
  if (!as_enrolled) {
    return judge.quarantine(
        "virtualization",
        fmt::format("the resources of secondary controllers are not those of the enrolment "
                    "(assigned to {})",
                    provided.empty() ? "none" : fmt::format("{}", fmt::join(provided, " "))),
        "assign them again with `nvme virt-mgmt`, then clean the device again");
  }
  judge.tell("virtualization", judge.now.secondary.empty()
                                   ? "no secondary controllers"
                                   : fmt::format("{} secondary controllers, all offline",
                                                 judge.now.secondary.size()));
}

void judge_memory(Judge& judge, std::string_view surface, std::string_view what,
                  std::optional<bool> present, EraseMethod method) {
  if (!present && is_sanitize(method)) {
    return judge.tell(surface,
                      fmt::format("whether there is {} was not told; a sanitize clears it", what));
  }
  if (!present) {
    return judge.quarantine(
        surface,
        fmt::format("whether there is {}, which {} does not clear, was not told: its registers "
                    "could not be read, and the drive shows more memory than theirs",
                    what, to_string(method)),
        "clean the device with clear_action=sanitize, which clears it, or start the host with "
        "iomem=relaxed");
  }
  if (!*present) return judge.tell(surface, "none");
  if (is_sanitize(method)) {
    return judge.tell(surface, fmt::format("there is {}; a sanitize clears it", what));
  }
  judge.quarantine(surface,
                   fmt::format("there is {}, which {} does not clear", what, to_string(method)),
                   "clean the device with clear_action=sanitize, which clears it");
}

// Finds the enrolment's entry of the same surface and name; nullptr: there is no yardstick.
const ConfigurationState* find_configuration(const ControllerState* enrolled,
                                             const ConfigurationState& like) {
  if (enrolled == nullptr) return nullptr;
  const auto found = std::find_if(enrolled->configuration.begin(), enrolled->configuration.end(),
                                  [&](const ConfigurationState& each) {
                                    return each.surface == like.surface && each.name == like.name;
                                  });
  return found == enrolled->configuration.end() ? nullptr : &*found;
}

void judge_configuration(Judge& judge) {
  for (const ConfigurationState& each : judge.now.configuration) {
    const ConfigurationState* const before = find_configuration(judge.enrolled, each);
    if (before != nullptr && before->now != each.now) {
      judge.quarantine(each.surface,
                       fmt::format("{}: {}, at enrolment: {}", each.name, each.now, before->now),
                       "set it back with the tool of its vendor or `nvme set-feature`, then clean "
                       "the device again, or enrol it again if it is yours");
    } else if (before != nullptr) {
      judge.tell(each.surface, fmt::format("{}: as enrolled", each.name));
    } else if (!each.factory.empty() && each.factory != each.now) {
      judge.tell(each.surface, fmt::format("{}: {}, its default is {}; left as it is", each.name,
                                           each.now, each.factory));
    } else {
      judge.tell(each.surface, fmt::format("{}: {}", each.name, each.now));
    }
  }
}

void judge_identity(Judge& judge) {
  if (judge.enrolled == nullptr) {
    return judge.tell("enrolment",
                      judge.accept_found
                          ? "no enrolment baseline: an operator accepted the drive as it is found"
                          : "no enrolment baseline: only what is wrong by itself was looked for");
  }
  if (judge.enrolled->serial != judge.now.serial || judge.enrolled->model != judge.now.model) {
    return judge.quarantine(
        "enrolment",
        fmt::format("the baseline is of {} {}, this drive is {} {}", judge.enrolled->model,
                    judge.enrolled->serial, judge.now.model, judge.now.serial),
        "enrol the drive that is there now");
  }
  judge.tell("enrolment", "compared with the baseline of this drive");
}

}  // namespace

ResidueJudgement judge_surfaces(const ControllerState& now, const ControllerState* enrolled,
                                const Rules& rules, EraseMethod method, bool accept_found) {
  Judge judge{now, enrolled, rules, accept_found, {}};
  judge_identity(judge);
  judge_unreadable(judge);
  judge_firmware(judge);
  judge_opal(judge);
  judge_rpmb(judge);
  judge_boot_partitions(judge);
  judge_lockdown(judge);
  judge_self_test(judge);
  judge_namespaces(judge);
  judge_features(judge);
  judge_virtualization(judge);
  judge.tell("host_memory_buffer", now.host_memory_pages == 0
                                       ? "not asked for"
                                       : fmt::format("the drive would like {} KiB of the host's "
                                                     "memory; a reset takes it back",
                                                     std::uint64_t{now.host_memory_pages} * 4));
  const bool groups = std::any_of(
      now.configuration.begin(), now.configuration.end(),
      [](const ConfigurationState& each) { return each.surface == "endurance_groups"; });
  if (!groups) judge.tell("endurance_groups", fmt::format("{}", now.endurance_groups));
  judge_configuration(judge);
  judge_memory(judge, "controller_memory_buffer", "a controller memory buffer", now.memory_buffer,
               method);
  judge_memory(judge, "persistent_memory_region", "a persistent memory region", now.memory_region,
               method);
  judge.tell("not_looked_at",
             "vital product data (NVMe-MI); the persistent event, telemetry and error logs, which "
             "no erase clears; vendor specific features and logs; the firmware itself");
  judge.out.revertible = judge.by_owner != 0 && judge.by_owner == judge.out.quarantine.size();
  return std::move(judge.out);
}

bool lost_block(const OpalState& before, const OpalState& now) {
  return before.sid_blocked && !now.sid_blocked && !now.sid_changed;
}

}  // namespace reclaim::nvme
