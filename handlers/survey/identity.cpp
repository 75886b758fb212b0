#include "handlers/survey/identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "state/base/log.h"

namespace reclaim {
namespace {

using nvme::HardwareIdentity;
using nvme::Match;

constexpr std::size_t kTextBytesMax = 1024;  // of an identity

// The identity that the text holds. One that somebody has edited so that it cannot be read tells
// nothing.
HardwareIdentity noted(const std::string& text) {
  const auto identity = nvme::decode_hardware(text);
  return identity ? *identity : HardwareIdentity{};
}

std::string shown(const std::string& text) {
  return text.empty() ? "not known" : text;
}

std::string other_than_accepted(const std::string& serial, const std::string& hardware,
                                const std::string& address, const std::string& found) {
  return fmt::format(
      "the order accepts {}, the drive in {} is {}; check it, then issue the order again",
      serial.empty() ? quoted_excerpt(hardware, kTextBytesMax)
                     : "serial " + quoted_excerpt(serial, kTextBytesMax),
      address, found.empty() ? "not known" : quoted_excerpt(found, kTextBytesMax));
}

// Cards are not exchanged as drives are: without Device Serial Numbers, which many do not have, the
// same slot is the same card.
Match compare_cards(const HardwareIdentity& noted, const HardwareIdentity& now) {
  const Match match = nvme::compare(noted, now);
  const bool same_slot = !noted.slot.empty() && noted.slot == now.slot;
  const bool by_number = !noted.serial_number.empty() || !now.serial_number.empty();
  return match == Match::unknown && same_slot && !by_number ? Match::same : match;
}

Match compare_as(bool by_steps, const HardwareIdentity& noted, const HardwareIdentity& now) {
  return by_steps ? compare_cards(noted, now) : nvme::compare(noted, now);
}

// The memory of the drive of one address.
struct Memory {
  std::string serial;
  std::string hardware;
  std::string boot_id;
};

// The ledger's word is this host's own; a record may have been lost and brought back.
Memory remember(const Record* record, const LedgerEntry* entry) {
  Memory memory;
  if (record != nullptr) {
    memory = {record->serial, record->hardware, record->boot_id};
  } else if (entry != nullptr) {
    memory.serial = serial_of(*entry);
  }
  if (entry != nullptr && !entry->boot_id.empty()) {
    memory.hardware = entry->hardware;
    memory.boot_id = entry->boot_id;
  }
  return memory;
}

std::optional<PciAddress> found_elsewhere(const PciAddress& address, const std::string& serial,
                                          const HardwareIdentity& hardware,
                                          const std::vector<SeenDrive>& seen) {
  for (const SeenDrive& drive : seen) {
    if (drive.address == address) continue;
    const bool by_serial = !serial.empty() && drive.serial == serial;
    if (by_serial || nvme::compare(hardware, drive.hardware) == Match::same) return drive.address;
  }
  return std::nullopt;
}

// Another address at which a drive tells the same serial now: another port of the drive, or a
// clone.
std::optional<PciAddress> twin_of(const Sighting& sighting, const std::vector<SeenDrive>& seen) {
  if (!sighting.drive->identity) return std::nullopt;
  return found_elsewhere(sighting.address, sighting.drive->identity->serial, {}, seen);
}

// Ends a note that says which drive may be another.
std::string and_twin(const Sighting& sighting, const std::vector<SeenDrive>& seen) {
  const auto twin = twin_of(sighting, seen);
  return twin ? fmt::format("; its serial {} is also at {}", sighting.drive->identity->serial,
                            to_string(*twin))
              : std::string();
}

// The boot in which the drive of a line stood at its address; empty: it may be this one or another.
const std::string& boot_of(const LedgerEntry& entry) {
  return entry.boot_id.empty() ? entry.first_boot_id : entry.boot_id;
}

// A device that nothing is remembered of begins with the drive that is there, unless a dirty drive
// that may be of an earlier boot has not been found yet: it may be this one.
DriveStanding standing_of_first(const nvme::DriveFacts& drive, bool by_steps,
                                const LedgerEntries& entries, const std::vector<SeenDrive>& seen,
                                const std::string& boot_id) {
  for (const auto& [address, entry] : entries) {
    if (!entry.dirty || entry.by_steps != by_steps) continue;
    const bool both_known = !boot_id.empty() && !boot_of(entry).empty();
    if (both_known && boot_of(entry) == boot_id) continue;
    const HardwareIdentity lost = noted(entry.hardware);
    const bool told_by_serial = drive.identity && !entry.serial.empty();
    if (told_by_serial || nvme::compare(lost, drive.hardware) == Match::different) continue;
    const auto at_home = std::find_if(
        seen.begin(), seen.end(), [at = address](const auto& each) { return each.address == at; });
    const bool stayed =
        at_home != seen.end() && ((!entry.serial.empty() && at_home->serial == entry.serial) ||
                                  nvme::compare(lost, at_home->hardware) == Match::same);
    if (stayed || found_elsewhere(address, entry.serial, lost, seen)) continue;
    return {Match::unknown,
            fmt::format("the host {} restarted since, and the dirty drive that was at {} is not "
                        "found again: it may be this one",
                        both_known ? "was" : "may have been", to_string(address))};
  }
  return {};
}

// An operator accepts one of another kind by enrolling it.
bool is_of_another_kind(const Sighting& sighting, const Record* record, const LedgerEntry* entry) {
  if (record != nullptr) {
    return record->cleanable() && record->by_steps != sighting.by_steps && !record->accepted;
  }
  return entry != nullptr && entry->dirty && entry->by_steps != sighting.by_steps;
}

}  // namespace

LedgerEntries::const_iterator dirt_of_drive(const Sighting& sighting,
                                            const LedgerEntries& entries) {
  if (!sighting.drive) return entries.end();
  const nvme::DriveFacts& drive = *sighting.drive;
  return std::find_if(entries.begin(), entries.end(), [&](const auto& each) {
    const auto& [address, entry] = each;
    if (address == sighting.address || !entry.dirty) return false;
    const bool by_serial =
        drive.identity && !entry.serial.empty() && entry.serial == drive.identity->serial;
    return by_serial || nvme::compare(noted(entry.hardware), drive.hardware) == Match::same;
  });
}

const LedgerEntry* line_of_drive(const Sighting& sighting, const LedgerEntries& entries) {
  const auto own = entries.find(sighting.address);
  if (own != entries.end() && own->second.dirty) return &own->second;
  if (const auto dirt = dirt_of_drive(sighting, entries); dirt != entries.end()) {
    return &dirt->second;
  }
  return own == entries.end() ? nullptr : &own->second;
}

DriveStanding standing_of(const Sighting& sighting, const Record* record,
                          const LedgerEntries& entries, const std::vector<SeenDrive>& seen,
                          const std::string& boot_id) {
  if (!sighting.is_drive() && !sighting.by_steps) return {};
  const nvme::DriveFacts& drive = *sighting.drive;
  const auto found = entries.find(sighting.address);
  const LedgerEntry* entry = found == entries.end() ? nullptr : &found->second;
  if (is_of_another_kind(sighting, record, entry)) {
    return {Match::different, fmt::format("{} is at this address now, and on record is {}",
                                          sighting.is_drive() ? "a drive" : "another PCI device",
                                          sighting.is_drive() ? "none" : "a drive")};
  }
  const Memory memory = remember(record, entry);
  if (drive.identity && !memory.serial.empty()) {
    if (drive.identity->serial == memory.serial) return {};
    return {Match::different, fmt::format("the drive with serial {} was replaced by one with "
                                          "serial {}",
                                          memory.serial, drive.identity->serial)};
  }
  const HardwareIdentity known = noted(memory.hardware);
  switch (compare_as(sighting.by_steps, known, drive.hardware)) {
    case Match::same:
      return {};
    case Match::different:
      return {Match::different,
              fmt::format("another drive is at this address: its hardware is {}, on record is {}",
                          shown(nvme::encode_hardware(drive.hardware)), memory.hardware)};
    case Match::unknown:
      break;
  }
  if (const auto at = found_elsewhere(sighting.address, memory.serial, known, seen)) {
    return {
        Match::different,
        fmt::format("the drive on record answers at {} now, so another drive is at this address",
                    to_string(*at))};
  }
  if (const auto from = dirt_of_drive(sighting, entries); from != entries.end()) {
    const auto twin = twin_of(sighting, seen);
    if (twin == from->first) {
      return {Match::different,
              fmt::format("its serial {} is also at {}, which is dirty: whether it is one drive by "
                          "two addresses is not known",
                          drive.identity->serial, to_string(*twin))};
    }
    return {Match::different, fmt::format("the dirty drive that was at {} is at this address now",
                                          to_string(from->first))};
  }
  if (record == nullptr && entry == nullptr) {
    return standing_of_first(drive, sighting.by_steps, entries, seen, boot_id);
  }
  if (!known.serial_number.empty() && drive.hardware.serial_number.empty()) {
    return {Match::unknown,
            "the drive on record has a Device Serial Number, and the one at this address has none"};
  }
  if (!boot_id.empty() && memory.boot_id == boot_id) return {};
  const bool restarted = !boot_id.empty() && !memory.boot_id.empty();
  return {Match::unknown,
          fmt::format("{}, and nothing shows whether this is the same one{}",
                      restarted
                          ? "the host was restarted since the drive at this address was last known"
                          : "it is not known which drive was at this address",
                      and_twin(sighting, seen))};
}

void assess_guest(Assessment& out, const placement::ProviderView& view, const std::string& guest) {
  out.reserve = !view.burned();
  out.trigger = view.burned() ? Trigger::dirty_seen : Trigger::reserved_dropped;
  out.alarm =
      fmt::format("{}, and Placement shows no allocation: {}, and cleaned when the guest is gone",
                  guest, view.burned() ? "it stays reserved" : "it is reserved now");
  out.facts.detail = out.alarm;
}

std::string not_peeked(const std::string& why) {
  return fmt::format(
      "reserved without a tenancy that was seen, and it cannot be claimed to read its counters "
      "({}): tried again with each survey; if no operator reserved it, `reclaim device clean` "
      "it",
      why);
}

// A claim compares serials, where one is on record. Where none is, or the drive is known to be
// another, it may be that of an instance that is shut off: no serial is learnt from it.
Status is_the_one_on_record(const Sighting& sighting, const Record& record) {
  const bool told_by_claim =
      !record.serial.empty() &&
      (sighting.standing.match == nvme::Match::unknown || sighting.drive->identity);
  if (sighting.standing.match == nvme::Match::same || told_by_claim) return Ok{};
  return Error{Errc::refused,
               fmt::format("{}; once you know that no instance's data is on it, `reclaim device "
                           "set {} --enrol` accepts it",
                           sighting.standing.why, to_string(record.address))};
}

FoundDrive found_drive(const std::optional<nvme::DriveFacts>& drive) {
  FoundDrive found;
  if (!drive) return found;
  if (drive->identity) {
    found.serial = drive->identity->serial;
    found.model = drive->identity->model;
  }
  found.hardware = nvme::encode_hardware(drive->hardware);
  return found;
}

std::string not_the_drive_of(const Order& order, const FoundDrive& found, bool by_steps) {
  const Match hardware = compare_as(by_steps, noted(order.hardware), noted(found.hardware));
  std::optional<std::string> is;
  if (order.serial.empty()) {
    if (hardware != Match::same) is = found.hardware;
  } else if (!found.serial.empty() && found.serial != order.serial) {
    is = found.serial;
  } else if (hardware == Match::different) {
    is = found.hardware;
  }
  return is ? other_than_accepted(order.serial, order.hardware, order.address, *is) : "";
}

Status is_the_accepted_one(const nvme::DriveFacts& opened, const Record& record,
                           const LedgerEntry* entry) {
  const bool on_ledger = entry != nullptr && entry->accepted;
  if (!on_ledger && !record.accepted) return Ok{};
  const std::string& serial = on_ledger ? entry->enrolled_serial : record.serial;
  const bool noted_there = on_ledger && !entry->boot_id.empty();
  const std::string& hardware = noted_there ? entry->hardware : record.hardware;
  const std::string is = opened.identity ? opened.identity->serial : std::string();
  if (!serial.empty() && serial == is) return Ok{};
  const Match same = compare_as(record.by_steps, noted(hardware), opened.hardware);
  if (serial.empty() && same == Match::same) return Ok{};
  return Error{Errc::failed, "not enrolled: " +
                                 other_than_accepted(
                                     serial, hardware, to_string(record.address),
                                     serial.empty() ? nvme::encode_hardware(opened.hardware) : is)};
}

Status is_nobody_elses(const nvme::DriveFacts& opened, const Record& record,
                       const LedgerEntries& entries) {
  const auto own = entries.find(record.address);
  const bool accepted = own != entries.end() && own->second.accepted;
  if (!opened.identity || opened.identity->serial.empty() || accepted) return Ok{};
  for (const auto& [address, entry] : entries) {
    const bool same = serial_of(entry) == opened.identity->serial && address != record.address;
    if (!same || !is_dirty_since(entry, record.certificate_at)) continue;
    return Error{Errc::failed,
                 fmt::format("the drive with serial {} is recorded as dirty at {} too, so that an "
                             "instance of that address may need what is on it; once you know that "
                             "none does, `reclaim device set {} --enrol` accepts it",
                             serial_of(entry), to_string(address), to_string(record.address))};
  }
  return Ok{};
}

std::string hardware_to_note(const Record& record, const nvme::DriveFacts& drive,
                             const std::string& boot_id) {
  HardwareIdentity now = drive.hardware;
  const HardwareIdentity before =
      record.boot_id == boot_id ? noted(record.hardware) : HardwareIdentity{};
  if (now.serial_number.empty()) now.serial_number = before.serial_number;
  if (now.slot.empty()) now.slot = before.slot;
  return nvme::encode_hardware(now);
}

}  // namespace reclaim
