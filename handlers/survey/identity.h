// Tells whether the drive at an address is the one on record there. Addresses may be others after a
// reboot, and an unmanaged drive does not say its serial before it is claimed: it is told by what
// stays with its hardware, and otherwise by the boot of the host in which it was last known. So is
// a PCI function that is no drive and is cleaned by its steps; of it the slot counts, too. Pure.
//
// Within one boot an address is taken to stay where it is; a drive that is exchanged then is
// noticed by its Device Serial Number, or by its serial when it is next asked for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/survey/admission.h"
#include "handlers/survey/survey.h"
#include "nvme/controller/hardware_identity.h"
#include "state/device/order.h"
#include "state/device/record.h"
#include "state/ledger/ledger.h"

namespace reclaim {

using LedgerEntries = std::map<PciAddress, LedgerEntry>;

// The dirty line of another address that speaks of this drive, told by its serial or its Device
// Serial Number: the ledger goes by address, but dirt goes with the drive. end(): there is none.
[[nodiscard]] LedgerEntries::const_iterator dirt_of_drive(const Sighting& sighting,
                                                          const LedgerEntries& entries);

// The ledger's line of the drive that stands there: that of its address, unless only another
// address's line knows it to be dirty. Null: none.
[[nodiscard]] const LedgerEntry* line_of_drive(const Sighting& sighting,
                                               const LedgerEntries& entries);

// `record` is null for a device never seen before. `seen`: all drives of the same survey.
// `boot_id`: of the boot that runs, empty where it is not known.
[[nodiscard]] DriveStanding standing_of(const Sighting& sighting, const Record* record,
                                        const LedgerEntries& entries,
                                        const std::vector<SeenDrive>& seen,
                                        const std::string& boot_id);

// Ok if the drive may be claimed for a cleaning; Errc::refused with the remedy.
[[nodiscard]] Status is_the_one_on_record(const Sighting& sighting, const Record& record);

// Nova may give a guest another device than Placement says, after a resize or a migration, say. A
// guest is a tenancy, whoever else saw it: out of the pool, and cleaned when it is gone.
void assess_guest(Assessment& out, const placement::ProviderView& view, const std::string& guest);

// A text for waiting_for: why an unmanaged drive's counters could not be read.
[[nodiscard]] std::string not_peeked(const std::string& why);

// The drive as a look found it.
[[nodiscard]] FoundDrive found_drive(const std::optional<nvme::DriveFacts>& drive);

// The reason why what was found at an address is not the drive that an order accepts. Empty: it is,
// or, where no serial can be read, the claim will tell.
[[nodiscard]] std::string not_the_drive_of(const Order& order, const FoundDrive& found,
                                           bool by_steps);

// Ok if the drive that a claim has opened is the one that an operator accepted, where one did, by
// record and ledger. Errc::failed with the remedy.
[[nodiscard]] Status is_the_accepted_one(const nvme::DriveFacts& opened, const Record& record,
                                         const LedgerEntry* entry);

// Ok if the ledger has the drive that a claim has opened as dirty at no other address, since its
// last release here. Otherwise it may be the drive of an instance that is shut off there, whose
// address has changed: Errc::failed with the remedy, unless an operator accepted the drive here.
[[nodiscard]] Status is_nobody_elses(const nvme::DriveFacts& opened, const Record& record,
                                     const LedgerEntries& entries);

// The hardware that is to be noted of a drive that is the one on record: of what cannot be read
// now, what was known in the same boot stays.
[[nodiscard]] std::string hardware_to_note(const Record& record, const nvme::DriveFacts& drive,
                                           const std::string& boot_id);

}  // namespace reclaim
