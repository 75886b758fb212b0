#include "handlers/conductor/registration.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <utility>

#include "handlers/survey/observed.h"
#include "handlers/survey/registrar.h"
#include "state/base/uuid.h"

namespace reclaim {
// True only where no provider stands anywhere in the tree, and none but ours ever did: Nova's of a
// device that vanished for a moment comes back, and Cyborg's agent makes its own again.
bool Registration::is_wanted(const Sighting& sighting, const Record* record) const {
  if (!context_.options.registers() || !sighting.rows.empty() || !sighting.is_drive() ||
      !sighting.ours.value_or(false) || !context_.survey.host.problem.empty()) {
    return false;
  }
  const std::string ours =
      provider_uuid(fmt::format("{}_{}", context_.options.host, to_string(sighting.address)));
  if (record == nullptr) {
    const LedgerEntry* known = context_.on_ledger(sighting.address);
    return known == nullptr || known->provider.empty() || known->provider == ours;
  }
  const bool rests = record->stage == Stage::available || record->stage == Stage::allocated ||
                     record->stage == Stage::pending_cleaning;
  const bool never_known = record->provider.empty();
  return rests && !record->maintenance &&
         (never_known || (record->flow == Flow::cyborg && record->provider == ours));
}

// Somebody else registered it, and neither as a one-time-use device nor as one of Cyborg's: an
// error of that device alone, told once, and nothing of it is touched.
void Registration::say_foreign(const Sighting& sighting) {
  if (!context_.options.registers() || !sighting.is_drive() || !sighting.ours.value_or(false))
    return;
  if (sighting.rows.empty()) return say_former(sighting.address);
  const placement::ProviderRow& row = sighting.rows.front();
  std::string& said = foreign_said_[sighting.address];
  if (said == row.uuid) return;
  said = row.uuid;
  context_.ports.log.error(
      log_name::kRegistrar,
      fmt::format(
          "{} is not ours: its provider {} ({}) has neither OWNER_CYBORG nor HW_PCI_ONE_TIME_USE; "
          "delete the provider if it is not needed, or take the drive out of device_spec",
          to_string(sighting.address), row.name, row.uuid));
}

// Nova's device that vanished for a moment comes back; until then nothing tells why it is not
// registered but this.
void Registration::say_former(const PciAddress& address) {
  const LedgerEntry* known = context_.on_ledger(address);
  if (known == nullptr || known->provider.empty()) return;
  const std::string ours =
      provider_uuid(fmt::format("{}_{}", context_.options.host, to_string(address)));
  std::string& said = foreign_said_[address];
  if (known->provider == ours || said == known->provider) return;
  said = known->provider;
  context_.ports.log.warning(log_name::kRegistrar,
                             fmt::format("{} is not registered: its former provider {} was "
                                         "created by another service, and may come back",
                                         to_string(address), said));
}

void Registration::begin(const Record& record, const nvme::DriveFacts& drive) {
  const PciAddress address = record.address;
  // Asked at the start of those that were there; drives come later too.
  if (context_.policies.one_claimant) {
    const Status alone = context_.policies.one_claimant(drive.vendor_id, drive.device_id, address);
    if (!alone) return waits_(address, "not registered: " + alone.error().what);
  }
  // Nobody is to miss what a tenant left since its last release.
  const bool tenants = record.tenancy_seen_at > record.certificate_at;
  // The tenancy is that of the drive on record; another may have been put there since. One that
  // stands on another driver is compared when it is claimed, with what was accepted.
  const bool unread = !drive.identity && !is_managed_now(drive);
  const bool same = unread ? record.accepted && !record.serial.empty()
                           : drive.identity && drive.identity->serial == record.serial;
  if (unread && !same) {
    return waits_(
        address,
        fmt::format("not registered: it stands on {}, so that what it has cannot be looked "
                    "at; if that is not needed any more, `reclaim device set {} --enrol "
                    "--serial SERIAL`, with what is printed on it, and it is registered "
                    "and erased",
                    drive.driver.empty() ? "no driver" : drive.driver, to_string(address)));
  }
  if ((same && (record.accepted || tenants)) || drives_[address].blank) {
    return register_device(address, drive);
  }
  find_signatures(address, drive);
}

bool Registration::is_managed_now(const nvme::DriveFacts& drive) const {
  const auto policy =
      context_.policies.device_policy(drive.vendor_id, drive.device_id, drive.address);
  return !policy || policy->managed;
}

void Registration::find_signatures(const PciAddress& address, const nvme::DriveFacts& drive) {
  drives_[address].under_way = true;
  context_.ports.drives.find_signatures(
      address, context_.stopping.unless_begun([this, address,
                                               drive](Result<std::vector<std::string>> found) {
        drives_[address].under_way = false;
        if (!found) {
          return waits_(address, fmt::format("not registered: what it has cannot be looked at: {}",
                                             found.error().what));
        }
        if (!found->empty()) {
          return waits_(
              address,
              fmt::format("not registered: it has {}; if that is not needed any more, `reclaim "
                          "device set {} --enrol`, and it is registered and erased",
                          fmt::join(*found, ", "), to_string(address)));
        }
        drives_[address].blank = true;
        register_device(address, drive);
      }));
}

void Registration::register_device(const PciAddress& address, const nvme::DriveFacts& drive) {
  auto wanted = new_device(context_.options.host, context_.survey.host.root_uuid, drive,
                           is_managed_now(drive));
  if (!wanted) {
    drives_[address].blank = false;
    return waits_(address, "not registered: " + wanted.error().what);
  }
  if (context_.options.observes()) {
    return waits_(address,
                  fmt::format("{}register it in Placement as {}", kObserved, wanted->name));
  }
  drives_[address].under_way = true;
  context_.ports.providers.register_device(
      *wanted, context_.stopping.unless_begun([this, address, name = wanted->name](
                                                  Result<placement::ProviderView> made) {
        drives_[address] = {};
        if (!made) {
          if (made.error().code == Errc::refused) {
            context_.ports.log.error(log_name::kRegistrar,
                                     fmt::format("{} is not registered", to_string(address)),
                                     {{"why", made.error().what}});
          }
          return waits_(address, "not registered: " + made.error().what);
        }
        context_.ports.log.info(
            log_name::kRegistrar,
            fmt::format("{} is registered as {}, reserved", to_string(address), name));
        context_.want_survey(0);
      }));
}

}  // namespace reclaim
