// The conductor runs each device of this host through its life: it hears kicks, surveys, asks
// admission, feeds the reducer, persists what it answers and only then carries the effect out. An
// answer comes back as an event that has the record's epoch; one of another epoch is dropped by
// the reducer, in that one place.
//
// Thread: the loop's. Owns the records in memory, the inbox of each device and the schedule of
// surveys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "handlers/arq/book.h"
#include "handlers/conductor/admissions.h"
#include "handlers/conductor/agent_report.h"
#include "handlers/conductor/arq_desk.h"
#include "handlers/conductor/assessor.h"
#include "handlers/conductor/audit_keeper.h"
#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/cleaning_steps.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/cyborg_watch.h"
#include "handlers/conductor/device_orders.h"
#include "handlers/conductor/disowning.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/inbox.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/lock_keeper.h"
#include "handlers/conductor/look_watch.h"
#include "handlers/conductor/operator_steps.h"
#include "handlers/conductor/order_desk.h"
#include "handlers/conductor/recheck.h"
#include "handlers/conductor/record_writer.h"
#include "handlers/conductor/registration.h"
#include "handlers/conductor/release.h"
#include "handlers/conductor/reserver.h"
#include "handlers/conductor/taken_out.h"
#include "handlers/conductor/write_fence.h"
#include "handlers/survey/close_watch.h"
#include "handlers/survey/heard.h"
#include "handlers/survey/hearing.h"
#include "handlers/survey/schedule.h"
#include "handlers/survey/survey.h"
#include "handlers/survey/watch.h"

namespace reclaim {

struct ConductorCounters {
  std::uint64_t surveys = 0;
  std::uint64_t surveys_failed = 0;
  std::optional<WallMs> survey_at;  // of the last that went through
  std::uint64_t kicks = 0;
  std::uint64_t transitions = 0;
  std::uint64_t stale_events = 0;
  std::uint64_t released = 0;
  std::uint64_t reserved_in_cleaning = 0;
  std::uint64_t errors = 0;
};

class Conductor final {
 public:
  Conductor(ConductorPorts ports, ConductorPolicies policies, ConductorOptions options);
  // Replaces what says which devices are ours and how they are cleaned, and surveys by it. What is
  // locked in stays. Of `options` only the order of the steps and who begins a cleaning count.
  void replace_policies(ConductorPolicies policies, const ConductorOptions& options);

  // Loads the host's records, settles what an earlier worker left in the middle, surveys, and goes
  // on surveying. `started` tells whether the records could be loaded; without them nothing is
  // begun.
  void start(std::function<void(Status)> started);

  // A notification's kick. Carries no authority. The caller acknowledges it afterwards: what it
  // asks for is scheduled here, and a survey at the next start makes up for a loss.
  void take(const Kick& kick);

  // An operator's order, taken from the stream: carried out once, or refused, which who issued it
  // is told (Store::answer_order). Those for one device are carried out in the order given.
  void take(const Order& order);

  // The planned stop: no new work, every drive thread told to leave its drive as it is, records
  // marked, claims and locks given back. `stopped` is called once.
  void stop(std::function<void()> stopped);

  [[nodiscard]] std::vector<Record> records() const;
  [[nodiscard]] ConductorCounters counters() const;
  // The drives as Cyborg's agent is told of them.
  [[nodiscard]] std::vector<ReportedDrive> drives_for_agent() const {
    return agent_report(context_, assessor_, claims_);
  }
  // A survey of this run went through: until then nothing is known of today.
  [[nodiscard]] bool has_looked() const { return survey_.gone_through && !survey_.not_ours; }
  // Notes the queues that nobody reads, for the heartbeat.
  void tell_of_queues(std::vector<std::string> unread, WallMs since) {
    unread_queues_ = std::move(unread);
    unread_since_ = since;
  }
  // The host as its heartbeat tells of it.
  [[nodiscard]] HostInfo host_info() const;
  // A survey soon, as for a kick.
  void look_soon() { want_survey(0); }
  // The last survey went through; empty reason, or why not.
  [[nodiscard]] const std::string& survey_problem() const { return survey_problem_; }

 private:
  // conductor.cpp: the start, and the schedule of surveys.
  void want_survey(std::int64_t delay_ms, const std::string& for_instance = "");
  void load(std::function<void(Status)> started);
  void take_over(Record record);
  void leave_disowned(const Record& record);
  void quarantine(Device& device, const Record& damaged);
  void begin_surveys();
  void end_quarantine(const PciAddress& address, const Record* found);
  void look_afresh(const PciAddress& address);
  [[nodiscard]] bool is_settled(const Device& device) const;
  void not_ours(const Error& error);
  void run_survey(bool periodic);
  void look_around();
  void mend_store(const std::vector<Record>& stored);
  void after_survey(Result<Survey>&& survey, const std::map<PciAddress, std::uint64_t>& epochs);
  [[nodiscard]] bool waits_for_cyborg(const Sighting& sighting);
  void assess_cyborgs();

  // conduct.cpp: what follows from a durable record.
  [[nodiscard]] bool is_told_again(const Kick& kick);
  [[nodiscard]] bool says_nothing_new(const Kick& kick) const;
  [[nodiscard]] static bool names_no_host(const Kick& kick);
  [[nodiscard]] bool may_have_had_a_device(const std::string& instance) const;
  [[nodiscard]] bool is_on_record(const std::string& instance) const;
  void forget_the_deviceless(const Survey& survey);
  void look_at_once(const Kick& kick, bool newly_begun);
  void add_heard(const PciAddress& address, Event& event);
  [[nodiscard]] bool is_over(const PciAddress& address, const Event& event) const;
  void settle(const PciAddress& address);
  void settle_certificate(const PciAddress& address);
  void transitioned(const PciAddress& address, const Record& before, const Update& update,
                    const std::string& detail);
  void look_again(LookAgain look, std::uint32_t attempts);
  void carry_out(const PciAddress& address, const Row& row);
  void drop(const PciAddress& address);
  void look_again_at(const std::string& instance);
  void say_goodbye(const std::function<void()>& done);
  void finish(const PciAddress& address);

  ConductorPorts ports_;
  ConductorPolicies policies_;
  ConductorOptions options_;
  Stopping stopping_;
  DeviceTable devices_;
  LastSurvey survey_;
  ConductorContext context_;

  // Each object owns its flags and timers, and knows only those above it; what goes the other way
  // is a function that it was given.
  LockKeeper locks_;
  LedgerGate ledger_;
  CertificateKeeper certificates_;
  WriteFence fence_;
  Reserver reserver_;
  BindReservation bind_reservation_;
  TakenOut taken_out_;
  Registration registration_;
  AuditKeeper audits_;
  ArqBook arq_book_;
  CyborgWatch cyborg_;
  ArqDesk arqs_;
  RecordWriter writer_;
  LookWatch looks_;
  Inbox inbox_;
  DriveClaims claims_;
  Admissions admissions_;
  OperatorSteps own_steps_;
  CleaningSteps steps_;
  Recheck recheck_;
  Release release_;
  Assessor assessor_;
  Disowning disowning_;
  DeviceOrders device_orders_;
  OrderDesk orders_;
  Surveyor surveyor_;

  SurveySchedule schedule_;
  SurveyWatch survey_watch_;
  Hearing hearing_;
  HeardInstances heard_;
  std::vector<std::string> unread_queues_;
  WallMs unread_since_;
  CloseWatch watch_;
  std::set<PciAddress> unsettled_;  // for the next survey, besides those that do not rest
  struct {
    std::string instance;
    std::string event;
    MonoMs at;
  } last_told_;                    // by a kick
  std::set<std::string> deleted_;  // instances, told of since the last survey began
  bool periodic_ = false;  // the survey going on is the periodic one: busy devices are read too
  std::int64_t survey_retry_ms_ = 0;
  std::string survey_problem_;
  // A restart is to end in error, once the release that it interrupted is read back.
  std::map<PciAddress, bool> interrupted_;

  std::size_t stops_pending_ = 0;
  std::function<void()> stopped_;
  ConductorCounters counters_;
};

}  // namespace reclaim
