// The conductor's notes of which drive stands at which address (handlers/survey/identity.h
// decides), its looks at unmanaged drives that say nothing where they stand, and the first record
// of one that Placement is to learn of.
#include <fmt/core.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/identity.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.conductor";

}  // namespace

// A line of an earlier boot says where the drive stood then. Where there is no line the record
// alone has it, as long as the device was never dirty.
void Conductor::note_in_ledger(const PciAddress& address, const Facts& facts) {
  const auto line = ports_.ledger.entries().find(address);
  if (!facts.boot_id || facts.boot_id->empty() || line == ports_.ledger.entries().end()) return;
  LedgerEntry entry = line->second;
  entry.hardware = facts.hardware.value_or(entry.hardware);
  entry.boot_id = *facts.boot_id;
  if (entry == line->second) return;
  ports_.ledger.put(address, entry, [this, address](Status kept) {
    if (kept || stopping_) return;
    ports_.log.error(kLog, to_string(address) + ": the ledger cannot be written",
                     {{"why", kept.error().what}});
  });
}

// An unmanaged drive that is reserved and free, without a tenancy that was seen: nothing but its
// counters tells an operator's hold from a tenancy nobody saw.
bool Conductor::may_peek(const Device& device, const Assessment& assessment) const {
  const Record& record = device.record;
  if (!assessment.unsure || assessment.trigger || record.stage != Stage::available ||
      record.maintenance || device.saving || device.lane_open || !device.sighting ||
      !host_view_.problem.empty()) {
    return false;
  }
  const Sighting& sighting = *device.sighting;
  const auto entry = ports_.ledger.entries().find(record.address);
  const bool in_maintenance = entry != ports_.ledger.entries().end() && entry->second.maintenance;
  const bool stands = sighting.is_drive() && !sighting.drive->identity &&
                      sighting.drive->driver != "nvme" && sighting.drive->guest.empty() &&
                      sighting.standing.match != nvme::Match::different;
  const bool free = sighting.view && sighting.view->burned() && sighting.view->free() &&
                    !sighting.holder &&
                    sighting.cyborg_status.value_or(record.cyborg_status) != kMaintaining;
  const auto policy = policy_of(record);
  return stands && free && !in_maintenance && policy && !policy->managed &&
         !record.serial.empty() && record.certified_host_writes.has_value();
}

// Behind all guards of a claim, which compares the serial; nothing is written to the drive. The
// record stays as it is, so that a crash leaves nothing but a drive to be given back.
void Conductor::peek(const PciAddress& address) {
  Device& device = devices_.at(address);
  const auto request = claim_request(device.record);
  if (!request) return;
  device.peeking = device.lane_open = true;
  ports_.drives.claim(*request, [this, address](const Result<nvme::ClaimReport>& report) {
    Device& now = devices_.at(address);
    now.peek_refused = report ? "" : report.error().what;
    if (!report) {
      now.peeking = false;
      now.lane_open = now.claimed;
      return;
    }
    now.peeked = report->facts.counters;
    ports_.drives.drop(address, [this, address] {
      Device& after = devices_.at(address);
      after.peeking = false;
      if (!after.claimed) after.lane_open = false;
      if (after.peeked && !stopping_) want_survey(0);
    });
  });
}

void Conductor::register_drive(const Sighting& sighting) {
  const PciAddress address = sighting.address;
  Device* device = find(address);
  const nvme::DriveFacts& drive = *sighting.drive;
  if (device == nullptr) {
    const auto entry = ports_.ledger.entries().find(address);
    const bool remembered = entry != ports_.ledger.entries().end();
    Record record = first_record(sighting, remembered ? &entry->second : nullptr, host_view_,
                                 ports_.clock.now().wall);
    record.flow = Flow::cyborg;
    device = &devices_[address];
    device->record = std::move(record);
    ledger_.set_dirty_durable(address, remembered && entry->second.dirty);
  }
  device->found = found_drive(drive);
  device->sighting.reset();
  if (device->saving || registration_.is_under_way(address)) return;
  if (device->record.stage == Stage::available) {
    Facts facts;
    facts.detail = "no provider stands for it";
    facts.flow = Flow::cyborg;
    if (drive.identity && device->record.serial.empty()) facts.serial = drive.identity->serial;
    return post(address, Event{Trigger::unregistered_seen, 0, std::move(facts)});
  }
  if (write_missing_line(address) || device->record.stage == Stage::error) return;
  registration_.begin(device->record, drive);
}

// Whether the drive is the one on record, and the ledger's line that speaks of it; null: none does.
const LedgerEntry* Conductor::know_standing(Sighting& sighting, const Record* record) const {
  const auto& remembered = ports_.ledger.entries();
  sighting.standing = standing_of(sighting, record, remembered, seen_drives_, options_.boot_id);
  const LedgerEntry* line = line_of_drive(sighting, remembered);
  const LedgerEntry* own = context_.on_ledger(sighting.address);
  sighting.standing.brought_dirt = line != nullptr && line != own;
  if (sighting.standing.brought_dirt && own != nullptr) {
    sighting.standing.home_serial = serial_of(*own);
    sighting.standing.home_enrolment = own->enrolment;
  }
  return line;
}

// Counts for one survey. The take-over lets the kernel read, and nobody's data comes by reading: of
// the counters only the writes tell.
void Conductor::know_what_was_seen(Sighting& sighting, Device& device) const {
  const auto peeked = std::exchange(device.peeked, std::nullopt);
  if (!peeked || !sighting.drive || sighting.drive->counters) return;
  if (sighting.standing.match == nvme::Match::different) return;  // they are another drive's
  sighting.drive->counters = nvme::Counters{
      device.record.certified_host_reads.value_or(peeked->host_reads), peeked->host_writes};
}

// The claim has compared the serial with the one on record, or was allowed to learn it: this is
// what the surveys will find, whatever was noted before.
void Conductor::note_claimed(const nvme::DriveFacts& drive, Facts& facts) const {
  nvme::HardwareIdentity hardware = drive.hardware;
  if (shared_serial_numbers_.contains(hardware.serial_number)) hardware.serial_number.clear();
  facts.hardware = nvme::encode_hardware(hardware);
  facts.boot_id = options_.boot_id;
}

}  // namespace reclaim
