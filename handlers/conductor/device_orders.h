// Carries out operators' orders, and Cyborg's: clean, abort, enrol, disown, retire, and
// maintenance, which begins and ends between two cleanings.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "handlers/arq/book.h"
#include "handlers/conductor/assessor.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/disowning.h"
#include "handlers/conductor/look_watch.h"
#include "handlers/conductor/operator_steps.h"
#include "handlers/conductor/order_desk.h"
#include "handlers/conductor/record_writer.h"

namespace reclaim {

// The objects of the conductor that an order sets to work.
struct OrderHands {
  LedgerGate& ledger;
  RecordWriter& writer;
  Inbox& inbox;
  ArqBook& book;
  ArqDesk& arqs;
  Admissions& admissions;
  Assessor& assessor;
  OperatorSteps& own_steps;
  AuditKeeper& audits;
  Disowning& disowning;
  LookWatch& looks;
};

// Thread: the loop's.
class DeviceOrders final : public OrderDesk::Devices {
 public:
  DeviceOrders(const ConductorContext& context, const OrderHands& hands)
      : context_(context),
        ledger_(hands.ledger),
        writer_(hands.writer),
        inbox_(hands.inbox),
        book_(hands.book),
        arqs_(hands.arqs),
        admissions_(hands.admissions),
        assessor_(hands.assessor),
        own_(hands.own_steps),
        audits_(hands.audits),
        disowning_(hands.disowning),
        looks_(hands.looks) {}

  [[nodiscard]] std::string why_refused(const Order& order) const override;
  [[nodiscard]] bool waits_for_survey(const Order& order, const PciAddress& address) const override;
  void carry_out(const Order& order, bool is_proven, const PciAddress& address,
                 const OrderDesk::Done& done) override;
  // Cyborg's conductor asks for a cleaning: at an unbind, which a survey tells by itself, or for an
  // administrator, whose word it is where the device is in error, but not by an operator's abort.
  // It is of the stage that the device was in when it was given: a copy of it, or one heard again
  // after a crash, says nothing of a later one.
  void cleanup_device(const Kick& kick);
  // Maintenance that was ordered begins or ends now, unless the device is being cleaned.
  void settle_maintenance(const PciAddress& address);
  // Ends, with each survey, the maintenance whose order was not authenticated, after a day, or
  // where an earlier run began it.
  void end_unproven_maintenance();
  // It was ordered, and its record does not say so yet.
  [[nodiscard]] bool maintenance_begins(const PciAddress& address) const {
    const auto wanted = maintenance_wanted_.find(address);
    return wanted != maintenance_wanted_.end() && wanted->second.on;
  }

 private:
  using Done = OrderDesk::Done;

  [[nodiscard]] bool is_repeated(const Record& record, const Kick& kick) const;
  [[nodiscard]] std::string why_not_cleaned_up(const Record& record, const Kick& kick) const;
  void clean_what_was_bound(const PciAddress& address);
  [[nodiscard]] std::string why_outdated(const Device& device, WallMs issued_at) const;
  [[nodiscard]] std::string clean(const Device& device, WallMs issued_at, Facts facts);
  void enrol(const Device& device, const Order& order, Facts facts, const Done& done);
  void let_arq_go(const Record& record);
  void clean_by_hand(const Device& device, const Order& order, Facts facts, const Done& done);
  void retire(const Device& device, const Order& order, Facts facts, const Done& done);
  [[nodiscard]] bool is_kept_by_us(const Device& device) const;
  [[nodiscard]] bool is_held_by_others(const Device& device) const;
  void from_pool(const PciAddress& address, const Event& event, bool kept_by_us, const Done& done,
                 const std::function<void(const std::string& why)>& refused);
  void refuse_enrolment(const PciAddress& address, const std::string& reason);
  [[nodiscard]] bool stands_unopened(const Record& record) const;
  struct Maintenance {
    bool on = false;
    WallMs until;    // as in the ledger
    std::string by;  // for the journal
    bool is_proven = false;
  };
  void order_maintenance(const PciAddress& address, Maintenance wanted);
  void set_maintenance(const PciAddress& address, const Maintenance& wanted);
  // Pauses the host, whichever of its devices the order names.
  void pause_host(const PciAddress& address, WallMs until, const std::string& by, const Done& done);
  void resume_host(const std::string& by, const Done& done);
  // Keeps an entry in the audit journal, as of now: the same again is another entry.
  void audit(const PciAddress& address, AuditEvent event, std::string detail, bool is_proven);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  RecordWriter& writer_;
  Inbox& inbox_;
  ArqBook& book_;
  ArqDesk& arqs_;
  Admissions& admissions_;
  Assessor& assessor_;
  OperatorSteps& own_;
  AuditKeeper& audits_;
  Disowning& disowning_;
  LookWatch& looks_;
  std::map<PciAddress, Maintenance> maintenance_wanted_;
  std::map<PciAddress, WallMs> cleanups_asked_;  // when the last that was judged was sent, this run
  std::set<PciAddress> begun_here_;  // maintenance of this run whose order was not authenticated
};

}  // namespace reclaim
