// [nvme] manage_providers: a drive that is configured to be ours and that Placement does not know
// is made known to it, reserved, and cleaned before anybody can be given it. Nobody gave us the
// drive, so that one that bears partitions, filesystems or LVM waits until an operator enrols it.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/registrar.h"
#include "state/base/uuid.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.registrar";

}  // namespace

// Only where no provider stands anywhere in the tree, and none but ours ever did: Nova's of a
// device that vanished for a moment comes back, and Cyborg's agent makes its own again.
bool Conductor::to_be_registered(const Sighting& sighting, const Record* record) const {
  if (!options_.manage_providers || !sighting.rows.empty() || !sighting.is_drive() ||
      !sighting.ours.value_or(false) || !host_view_.problem.empty()) {
    return false;
  }
  const std::string ours =
      provider_uuid(fmt::format("{}_{}", options_.host, to_string(sighting.address)));
  if (record == nullptr) {
    const auto entry = ports_.ledger.entries().find(sighting.address);
    return entry == ports_.ledger.entries().end() || entry->second.provider.empty() ||
           entry->second.provider == ours;
  }
  const bool rests = record->stage == Stage::available || record->stage == Stage::allocated ||
                     record->stage == Stage::pending_cleaning;
  const bool never_known = record->provider.empty();
  return rests && !record->maintenance &&
         (never_known || (record->flow == Flow::cyborg && record->provider == ours));
}

// Somebody else registered it, and neither as a one-time-use device nor as one of Cyborg's: an
// error of that device alone, told once, and nothing of it is touched.
void Conductor::say_foreign(const Sighting& sighting) {
  if (!options_.manage_providers || !sighting.is_drive() || !sighting.ours.value_or(false)) return;
  if (sighting.rows.empty()) return say_former(sighting.address);
  const placement::ProviderRow& row = sighting.rows.front();
  std::string& said = foreign_said_[sighting.address];
  if (said == row.uuid) return;
  said = row.uuid;
  ports_.log.error(kLog, fmt::format("{} is not ours: its provider {} ({}) bears neither "
                                     "OWNER_CYBORG nor HW_PCI_ONE_TIME_USE; delete the provider if "
                                     "nobody needs it, or take the drive out of device_spec",
                                     to_string(sighting.address), row.name, row.uuid));
}

// Nova's device that vanished for a moment comes back; until then nothing tells why it is not
// registered but this.
void Conductor::say_former(const PciAddress& address) {
  const auto entry = ports_.ledger.entries().find(address);
  if (entry == ports_.ledger.entries().end() || entry->second.provider.empty()) return;
  const std::string ours = provider_uuid(fmt::format("{}_{}", options_.host, to_string(address)));
  std::string& said = foreign_said_[address];
  if (entry->second.provider == ours || said == entry->second.provider) return;
  said = entry->second.provider;
  ports_.log.warning(kLog, fmt::format("{} is not registered: its former provider {} was made by "
                                       "somebody else, and may come back",
                                       to_string(address), said));
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
    device->dirty_durable = remembered && entry->second.dirty;
  }
  device->found = found_drive(drive);
  device->sighting.reset();
  if (device->saving || device->registering) return;
  if (device->record.stage == Stage::available) {
    Facts facts;
    facts.detail = "no provider stands for it";
    facts.flow = Flow::cyborg;
    if (drive.identity && device->record.serial.empty()) facts.serial = drive.identity->serial;
    return post(address, Event{Trigger::unregistered_seen, 0, std::move(facts)});
  }
  if (write_missing_line(address) || device->record.stage == Stage::error) return;
  // Asked at the start of those that were there; drives come later too.
  if (policies_.one_claimant) {
    const Status alone = policies_.one_claimant(drive.vendor_id, drive.device_id, address);
    if (!alone) return registration_waits(address, "not registered: " + alone.error().what);
  }
  // What a tenant left since its last release is nobody's to be missed.
  const Record& record = device->record;
  const bool tenants = record.tenancy_seen_at > record.certificate_at;
  // That is said of the drive on record; another may have been put there since.
  const bool same = drive.identity && drive.identity->serial == record.serial;
  if ((same && (record.accepted || tenants)) || device->blank) {
    return register_device(address, drive);
  }
  find_signatures(address, drive);
}

void Conductor::find_signatures(const PciAddress& address, const nvme::DriveFacts& drive) {
  devices_.at(address).registering = true;
  ports_.drives.find_signatures(
      address, [this, address, drive](Result<std::vector<std::string>> found) {
        Device& device = devices_.at(address);
        device.registering = false;
        if (stopping_) return;
        if (!found) {
          return registration_waits(
              address, fmt::format("not registered: what it bears cannot be looked at: {}",
                                   found.error().what));
        }
        if (!found->empty()) {
          return registration_waits(
              address,
              fmt::format("not registered: it bears {}; if nobody needs that any more, `reclaim "
                          "device set {} --enrol`, and it is registered and erased",
                          fmt::join(*found, ", "), to_string(address)));
        }
        device.blank = true;
        register_device(address, drive);
      });
}

void Conductor::register_device(const PciAddress& address, const nvme::DriveFacts& drive) {
  auto wanted = new_device(options_.host, host_view_.root_uuid, drive);
  if (!wanted) {
    devices_.at(address).blank = false;
    return registration_waits(address, "not registered: " + wanted.error().what);
  }
  devices_.at(address).registering = true;
  ports_.providers.register_device(
      *wanted, [this, address, name = wanted->name](Result<placement::ProviderView> made) {
        Device& device = devices_.at(address);
        device.registering = false;
        if (stopping_) return;
        // What it bears by the next time is looked at anew.
        device.blank = false;
        if (!made) {
          if (made.error().code == Errc::refused) {
            ports_.log.error(kLog, fmt::format("{} is not registered", to_string(address)),
                             {{"why", made.error().what}});
          }
          return registration_waits(address, "not registered: " + made.error().what);
        }
        ports_.log.info(kLog,
                        fmt::format("{} is registered as {}, reserved", to_string(address), name));
        want_survey(0);
      });
}

// Tried again with the next survey.
void Conductor::registration_waits(const PciAddress& address, std::string why) {
  Assessment waits;
  waits.waiting_for = std::move(why);
  annotate(devices_.at(address), waits);
}

}  // namespace reclaim
