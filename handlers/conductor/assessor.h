// Draws from a survey's sighting what it means for one device: its record, its reservation, its
// admission. What goes towards safety is done at once; all else goes through the inbox.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handlers/conductor/admissions.h"
#include "handlers/conductor/arq_desk.h"
#include "handlers/conductor/audit_keeper.h"
#include "handlers/conductor/bind_reservation.h"
#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/inbox.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/look_watch.h"
#include "handlers/conductor/registration.h"
#include "handlers/conductor/reserver.h"
#include "handlers/conductor/taken_out.h"
#include "handlers/conductor/write_fence.h"
#include "handlers/survey/close_watch.h"

namespace reclaim {

// The objects of the conductor that an assessment sets to work.
struct AssessorHands {
  LedgerGate& ledger;
  CertificateKeeper& certificates;
  Reserver& reserver;
  BindReservation& bind_reservation;
  TakenOut& taken_out;
  Registration& registration;
  WriteFence& fence;
  DriveClaims& claims;
  ArqDesk& arqs;
  Inbox& inbox;
  Admissions& admissions;
  AuditKeeper& audits;
  LookWatch& looks;
};

// The last look at a device of which something was made.
struct LastLook {
  Now began;             // of the survey; 0: none yet
  bool read = false;     // its one provider, and the drive as far as it can be read where it stands
  bool offered = false;  // the provider was not reserved
  bool unrecorded = false;  // it saw what the record does not say yet, and may not for long
  std::optional<nvme::Capabilities> capabilities;  // as a drive tells that can be read
  WallMs free_at;  // of the last one that found it in the pool, free and not in doubt; 0: none
};

// Thread: the loop's.
class Assessor final {
 public:
  Assessor(const ConductorContext& context, DeviceTable& devices, const AssessorHands& hands)
      : context_(context),
        devices_(devices),
        ledger_(hands.ledger),
        certificates_(hands.certificates),
        reserver_(hands.reserver),
        bind_reservation_(hands.bind_reservation),
        taken_out_(hands.taken_out),
        registration_(hands.registration),
        fence_(hands.fence),
        claims_(hands.claims),
        arqs_(hands.arqs),
        inbox_(hands.inbox),
        admissions_(hands.admissions),
        audits_(hands.audits),
        looks_(hands.looks) {}

  // `epoch`: of its record when the survey began, unless it is not to be compared.
  void assess(const Sighting& seen, std::optional<std::uint64_t> epoch);
  // Its unreadable record was deleted: the next survey begins another.
  void begin_another(const PciAddress& address) { seen_[address].met_anew = true; }
  // Its record was quarantined.
  void keep_record(const PciAddress& address) { seen_[address].met_anew = false; }
  // Its record has moved.
  void moved(const PciAddress& address) { seen_[address].unsure = false; }

  // Forgets that each device was surveyed: the entries were replaced, and what they match is to be
  // seen again.
  void forget_surveys() {
    for (auto& [address, seen] : seen_) seen.surveyed = false;
  }

  // True if a survey saw it since this worker started, and since its configuration was read again.
  [[nodiscard]] bool is_surveyed(const PciAddress& address) const { return seen(address).surveyed; }
  // A device_spec entry matches what the last survey saw there.
  [[nodiscard]] bool is_listed(const PciAddress& address) const { return seen(address).listed; }
  // Reserved, and nothing tells a hold from a tenancy that nobody saw.
  [[nodiscard]] bool is_unsure(const PciAddress& address) const { return seen(address).unsure; }

  [[nodiscard]] const LastLook& last_look(const PciAddress& address) const {
    return seen(address).look;
  }

  // Facts::last_free. Not before it came into the pool, whoever saw it there.
  [[nodiscard]] WallMs last_free(const Record& record) const {
    return std::max(seen(record.address).look.free_at, record.stage_since);
  }

  // The devices that are not clean: the close watch looks at them between two surveys.
  [[nodiscard]] std::vector<Watched> to_be_watched() const;
  // It saw one of them un-reserved, by whoever's hand: that is reserved, and told as what a survey
  // sees.
  void see_on_offer(const PciAddress& address, const std::string& provider);

 private:
  struct Seen {
    std::vector<std::string> providers;  // of its address, in the last survey
    bool other_kind = false;             // what is there is no drive, as the last survey saw
    bool listed = false;                 // a device_spec entry matched it then
    bool surveyed = false;
    bool unsure = false;
    bool met_anew = false;
    std::string mismatch_told;    // so that each is told once
    bool disable_astray = false;  // of Cyborg's, as the last survey saw
    // Holds the device, or held it last, and it is not known whether it is another tenant.
    std::string followed_by;
    MonoMs followed_since;
    LastLook look;
  };

  [[nodiscard]] const Seen& seen(const PciAddress& address) const;
  bool moved_meanwhile(const Sighting& sighting, std::optional<std::uint64_t> epoch);
  void note_arq(Assessment& assessment, const Record& record, const Sighting& sighting) const;
  void act_on(const Sighting& sighting, Assessment& assessment, const Record& record);
  void apply(const PciAddress& address, const Assessment& assessment);
  void note_look(const Sighting& sighting, const Assessment& assessment);
  void reserve_quarantined(const Sighting& sighting);
  void reserve_unrecorded(const Sighting& sighting);
  void register_drive(const Sighting& sighting);
  const LedgerEntry* know_standing(Sighting& sighting, const Record* record) const;
  void know_of_switches(Sighting& sighting);
  void know_who_followed(Sighting& sighting, const Record& record);
  void know_what_was_seen(Sighting& sighting);
  [[nodiscard]] bool is_watched(const PciAddress& address) const;
  void note_in_ledger(const PciAddress& address, const Facts& facts);
  void say_mismatch(const PciAddress& address, const Assessment& assessment);

  const ConductorContext& context_;
  DeviceTable& devices_;
  LedgerGate& ledger_;
  CertificateKeeper& certificates_;
  Reserver& reserver_;
  BindReservation& bind_reservation_;
  TakenOut& taken_out_;
  Registration& registration_;
  WriteFence& fence_;
  DriveClaims& claims_;
  ArqDesk& arqs_;
  Inbox& inbox_;
  Admissions& admissions_;
  AuditKeeper& audits_;
  LookWatch& looks_;
  std::map<PciAddress, Seen> seen_;
};

}  // namespace reclaim
