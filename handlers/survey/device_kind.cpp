#include "handlers/survey/device_kind.h"

#include <fmt/core.h>

namespace reclaim {
namespace {

// The entry's word, or Cyborg's for a PCI function by its class (cyborg/common/constants.py
// DEVICE_*). NVME is the word for what is erased.
std::string type_of(const Sighting& sighting) {
  if (sighting.is_drive() && is_listed(sighting)) return std::string(kTypeNvme);
  if (!sighting.type_by_entry.empty()) return sighting.type_by_entry;
  switch (sighting.drive->class_code >> 16U) {
    case 0x01:
      return "SSD";
    case 0x02:
      return "NIC";
    case 0x03:
      return "GPU";
    case 0x0b:
      return "QAT";
    case 0x12:
      return "AICHIP";
    default:
      return std::string(kTypeUnknown);
  }
}

// Nothing says that a drive was ever seen there.
bool was_never_seen(const Record& record) {
  return !is_busy(record.stage) && record.serial.empty() && record.certificate_id.empty() &&
         record.attempts == 0 && record.erases == 0;
}

void become(Record& base, Facts& facts, const std::string& type, bool by_steps) {
  if (base.type != type) facts.type = base.type = type;
  if (base.by_steps != by_steps) facts.by_steps = base.by_steps = by_steps;
}

void begin_as_shown(Record& base, const Sighting& sighting) {
  base.type = type_of(sighting);
  base.by_steps = sighting.by_steps;
  // The ledger's memory is of the drive that stood here before.
  base.stage = Stage::available;
  base.last_error.clear();
  base.waiting_for.clear();
}

}  // namespace

bool is_listed(const Sighting& sighting) {
  return sighting.by_steps || (sighting.is_drive() && sighting.ours.value_or(false));
}

bool remembers(const LedgerEntry* ledger) {
  return ledger != nullptr && (ledger->dirty || ledger->error);
}

bool is_unknown(const Sighting& sighting, const Record* record, const LedgerEntry* ledger) {
  return record == nullptr && !sighting.drive && !remembers(ledger);
}

bool was_ours(const Sighting& sighting, const Record& base) {
  return base.cleanable() && sighting.drive && sighting.is_drive() == base.is_drive() &&
         !is_listed(sighting);
}

Record let_go(const Record& record, const FoundDrive& found, const std::string& boot_id,
              WallMs now) {
  Record next;
  next.host = record.host;
  next.address = record.address;
  next.uuid = record.uuid;
  next.flow = record.flow;
  next.type = kTypeUnknown;
  next.vendor_id = record.vendor_id;
  next.product_id = record.product_id;
  next.found = found;
  next.serial = found.serial;
  next.model = found.model;
  next.hardware = found.hardware;
  next.boot_id = boot_id;
  next.provider = record.provider;
  next.provider_name = record.provider_name;
  next.resource_class = record.resource_class;
  next.epoch = record.epoch + 1;
  next.created_at = record.created_at;
  next.stage_since = next.updated_at = now;
  return next;
}

void settle_kind(Assessment& out, Record& base, const Record* record, const Sighting& sighting,
                 const LedgerEntry* ledger) {
  if (!sighting.drive) return;
  if (record == nullptr) {
    const bool remembered = remembers(ledger) && ledger->by_steps != sighting.is_drive();
    if (!is_listed(sighting) && !remembered) return begin_as_shown(base, sighting);
    base.by_steps = !sighting.is_drive();
    base.type = base.by_steps ? type_of(sighting) : std::string(kTypeNvme);
    return;
  }
  if (!base.cleanable()) return become(base, out.facts, type_of(sighting), sighting.by_steps);
  if (is_listed(sighting)) {
    // An operator accepted what is there now, and it is of another kind; or nothing but its dirt
    // was known while the host did not show it.
    const bool another = base.is_drive() != sighting.is_drive();
    const bool unseen = base.is_drive() && was_never_seen(base) && base.hardware.empty() &&
                        base.boot_id.empty() && base.instance.empty();
    if (another ? (base.accepted && !is_busy(base.stage)) || unseen : base.by_steps) {
      become(base, out.facts, type_of(sighting), sighting.by_steps);
    }
    return;
  }
  if (was_ours(sighting, base) && base.flow == Flow::nova && base.stage == Stage::available &&
      !remembers(ledger)) {
    become(base, out.facts, type_of(sighting), false);
  }
}

}  // namespace reclaim
