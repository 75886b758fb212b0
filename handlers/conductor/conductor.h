// The conductor runs each device of this host through its life: it hears kicks, surveys, asks
// admission, feeds the reducer, persists what it answers and only then carries the effect out. An
// answer comes back as an event that bears the record's epoch; one of another epoch is dropped by
// the reducer, in that one place.
//
// Thread: the loop's. Owns the records in memory, the inbox of each device and the schedule of
// surveys.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "handlers/arq/book.h"
#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/cyborg_watch.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/lock_keeper.h"
#include "handlers/conductor/order_desk.h"
#include "handlers/conductor/registration.h"
#include "handlers/conductor/reserver.h"
#include "handlers/survey/admission.h"
#include "handlers/survey/close_watch.h"
#include "handlers/survey/schedule.h"
#include "handlers/survey/survey.h"
#include "handlers/survey/watch.h"
#include "state/device/step.h"

namespace reclaim {

struct ConductorCounters {
  std::uint64_t surveys = 0;
  std::uint64_t surveys_failed = 0;
  std::uint64_t kicks = 0;
  std::uint64_t transitions = 0;
  std::uint64_t stale_events = 0;
  std::uint64_t released = 0;
  std::uint64_t errors = 0;
};

class Conductor final : private OrderDesk::Devices {
 public:
  Conductor(ConductorPorts ports, ConductorPolicies policies, ConductorOptions options);

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

  // The planned stop: no new work, every lane told to leave its drive as it is, records marked,
  // claims and locks given back. `stopped` is called once.
  void stop(std::function<void()> stopped);

  [[nodiscard]] std::vector<Record> records() const;
  [[nodiscard]] const ConductorCounters& counters() const { return counters_; }
  // The last survey went through; empty reason, or why not.
  [[nodiscard]] const std::string& survey_problem() const { return survey_problem_; }

 private:
  struct Device {
    Record record;
    bool persisted = false;  // a record of it stands in the store
    bool saving = false;     // one save at a time; events wait in the inbox
    std::deque<Event> inbox;
    std::optional<Event> in_work;   // whose outcome is being saved
    std::optional<Record> unsaved;  // what it makes of the record
    MonoMs saving_since;
    bool may_be_saved = false;  // an answer to a write of it was lost: it is not given up
    bool claimed = false;
    bool lane_open = false;  // from the claim until the drive is closed again
    bool adopting = false;   // the erase now asked for may be running since before a restart
    std::int64_t retry_ms = 0;
    std::optional<Sighting> sighting;      // of the survey going on: what admission may decide on
    FoundDrive found;                      // by the last survey, or claim
    bool peeking = false;                  // claimed only to read its counters
    std::optional<nvme::Counters> peeked;  // for the survey that comes next
    std::string peek_refused;              // why they could not be read
    std::optional<placement::ProviderView> release_view;  // read by `look`, for the PUT
    std::vector<std::string> providers;                   // of its address, in the last survey
    bool other_kind = false;      // what stands there is no drive, as the last survey saw
    bool surveyed = false;        // since this worker started
    bool admitting = false;       // admitted, and its record does not say so yet
    bool waits_for_lane = false;  // admitted but for the limit of cleanings
    bool progress_in_flight = false;
    bool look_again = false;   // a survey came while its record was being written
    bool unsure = false;       // reserved, and nothing tells a hold from a missed tenancy
    bool quarantined = false;  // its record in the store cannot be read: shown, never touched
    bool met_anew = false;     // that record was removed: the next survey begins another
    std::optional<bool> maintenance_wanted;  // by an operator, while something else was under way
    // A release whose outcome nobody waited for may still be made: one of this worker, or of one
    // before it. Until a write of ours has moved the provider's generation past it, nothing is done
    // to the drive.
    bool fence = true;
    bool fence_first = false;  // an earlier worker may have sent one: raised before all else
    bool fencing = false;      // it is being raised
    std::optional<placement::ProviderView> admitted_view;  // what admission decided on
    std::vector<PastTenancy> arqs_over;  // whose tenancies the cleaning under way ends
    bool interrupted = false;   // a restart is to end in error, once the release is read back
    std::string mismatch_told;  // so that each is told once
    std::string audit_told;     // the last audited; not once more while it cannot be reserved
    // What was claimed may be erased so, by what is configured today.
    std::optional<nvme::EraseMethod> permitted;
  };

  // conductor.cpp: schedule, survey, admission.
  void want_survey(std::int64_t delay_ms, const std::string& for_instance = "");
  void load(std::function<void(Status)> started);
  void take_over(Record record);
  void forget_earlier_life(Device& device) const;
  void prove(Device& device);
  void quarantine(Device& device, const Record& damaged);
  void end_quarantine(const PciAddress& address, const Record* found);
  [[nodiscard]] HostInfo host_info() const;
  void not_ours(const Error& error);
  void run_survey(bool periodic);
  void look_around();
  void mend_store(const std::vector<Record>& stored);
  void after_survey(Result<Survey>&& survey, const std::map<PciAddress, std::uint64_t>& epochs);
  [[nodiscard]] Planning planning_for(const Sighting& sighting) const;
  // `epoch`: of its record when the survey began, unless it is not to be compared.
  void assess_one(const Sighting& seen, std::optional<std::uint64_t> epoch);
  void reserve_quarantined(const Device& device, const Sighting& sighting);
  bool moved_meanwhile(Device& device, const Sighting& sighting,
                       std::optional<std::uint64_t> epoch);
  void reserve_unrecorded(const Device& device, const Sighting& sighting);
  void apply(const PciAddress& address, const Assessment& assessment);
  void annotate(Device& device, const Assessment& assessment);
  void try_admit(const PciAddress& address);

  // watch.cpp: what is not clean and what waits, between two surveys.
  [[nodiscard]] bool is_watched(const Device& device) const;
  [[nodiscard]] std::vector<Watched> to_be_watched() const;
  void found_on_offer(const PciAddress& address, const std::string& provider);
  void lane_is_free();
  [[nodiscard]] bool waits_for_survey(const Order& order, const PciAddress& address) const override;

  // arqs.cpp: ARQs and what Cyborg's API says.
  void know_cyborg_devices(const Survey& survey);
  void hear_arq(const Kick& kick);
  void stop_what_is_bound();
  void assess_cyborgs();
  [[nodiscard]] bool waits_for_cyborg(const Sighting& sighting);
  void ask_cyborg_once_more(const PciAddress& address, std::uint64_t epoch,
                            std::function<void()> next);
  void save_arqs();
  void mend_arqs();
  void know_of_cyborg(Sighting& sighting, const Record* record);
  void say_mismatch(Device& device, const Assessment& assessment);
  [[nodiscard]] bool is_ours(const Sighting& sighting) const;
  [[nodiscard]] std::optional<Arq> binding_of(const Device& device) const;
  // Heard of since its cleaning was decided on: the answer is given, and nothing more is begun.
  bool bound_meanwhile(const PciAddress& address, std::uint64_t epoch);
  [[nodiscard]] bool is_managed(const Sighting& sighting) const;
  [[nodiscard]] static DevicePolicy as_bound(DevicePolicy policy, const Record& record);

  // identity.cpp: which drive stands where.
  [[nodiscard]] bool may_peek(const Device& device, const Assessment& assessment) const;
  void peek(const PciAddress& address);
  const LedgerEntry* know_standing(Sighting& sighting, const Record* record) const;
  void know_what_was_seen(Sighting& sighting, Device& device) const;
  void note_in_ledger(const PciAddress& address, const Facts& facts);
  void note_claimed(const nvme::DriveFacts& drive, Facts& facts) const;
  void register_drive(const Sighting& sighting);

  // commands.cpp.
  void cleanup_device(const Kick& kick);
  using OrderDone = OrderDesk::Done;
  [[nodiscard]] std::string why_refused(const Order& order) const override;
  void carry_out(const Order& order, const PciAddress& address, const OrderDone& done) override;
  [[nodiscard]] std::string clean(Device& device, Facts facts);
  void enrol(Device& device, const Order& order, Facts facts, const OrderDone& done);
  void enrol_from_pool(const PciAddress& address, Facts facts, const OrderDone& done);
  void refuse_enrolment(const PciAddress& address, const std::string& reason);
  [[nodiscard]] bool stands_unopened(const Device& device) const;
  void settle_maintenance(const PciAddress& address);
  void set_maintenance(const PciAddress& address, bool on);

  // inbox.cpp: inbox, reducer, persistence.
  void post(const PciAddress& address, Event event);
  [[nodiscard]] static bool is_over(const Device& device, const Event& event);
  void pump(const PciAddress& address);
  bool write_missing_line(const PciAddress& address);
  // What changed of a device that stays in its stage; why and detail are the journal's.
  void save_note(
      const Record& noted, std::string trigger, std::string why, std::string detail,
      std::function<void()> saved = [] {});
  void save(const PciAddress& address, Record next, JournalEntry entry,
            std::function<void()> saved);
  void save_failed(const PciAddress& address, Record next, JournalEntry entry, const Error& error,
                   std::function<void()> saved);
  void settle_conflict(const PciAddress& address, Record next, JournalEntry entry,
                       std::function<void()> saved);
  void save_again(const PciAddress& address, Record next, JournalEntry entry,
                  std::function<void()> saved);
  void settle_later(const PciAddress& address, Record next, JournalEntry entry,
                    std::function<void()> saved);
  void overwrite(const PciAddress& address, const Record& stored, Record next, JournalEntry entry,
                 std::function<void()> saved);
  void lose_lock(const PciAddress& address);
  void begin_save(Device& device) const;
  static void settle_save(Device& device);
  void transitioned(const PciAddress& address, const Record& before, const Update& update,
                    const std::string& detail);
  void audit(const PciAddress& address, const std::vector<AuditEntry>& entries);
  [[nodiscard]] bool ends_are_waiting(const PciAddress& address) const;
  [[nodiscard]] std::int64_t backoff(const PciAddress& address);
  [[nodiscard]] std::size_t busy_count() const;
  Device* find(const PciAddress& address);

  // effects.cpp: what is done once the record is durable.
  void carry_out(const PciAddress& address, EffectKind effect);
  void take_lock_and_claim(const PciAddress& address, std::uint64_t epoch);
  [[nodiscard]] std::optional<nvme::ClaimRequest> claim_request(const Record& record) const;
  [[nodiscard]] std::optional<DevicePolicy> policy_of(const Record& record) const;
  void claim(const PciAddress& address, std::uint64_t epoch);
  void claimed(const PciAddress& address, std::uint64_t epoch, const DevicePolicy& policy,
               const nvme::ClaimReport& report);
  void recheck(const PciAddress& address, std::uint64_t epoch);
  void recheck_placement(const PciAddress& address, std::uint64_t epoch);
  void rechecked(const PciAddress& address, std::uint64_t epoch,
                 Result<placement::ProviderView> view);
  void raise_fence(const PciAddress& address, const placement::ProviderView& view,
                   std::function<void(Result<placement::ProviderView>)> done);
  void raise_fence_first(const PciAddress& address, const placement::ProviderView& view);
  void drop(const PciAddress& address);
  void answer(const PciAddress& address, std::uint64_t epoch, Trigger trigger, Facts facts = {});
  void answer_later(const PciAddress& address, std::uint64_t epoch, Trigger trigger, Facts facts);

  // steps.cpp: what the drive is asked for.
  void run_step(const PciAddress& address, std::uint64_t epoch);
  void step_answered(const PciAddress& address, std::uint64_t epoch, const std::string& name,
                     const Result<nvme::StepReport>& report);
  void take_baseline(const PciAddress& address, std::uint64_t epoch);
  void baseline_taken(const PciAddress& address, std::uint64_t epoch, Facts facts);
  void erase(const PciAddress& address, std::uint64_t epoch);
  void show_progress(const PciAddress& address, std::uint64_t epoch, nvme::EraseProgress progress);
  void verify(const PciAddress& address, std::uint64_t epoch);
  void restore_driver(const PciAddress& address, std::uint64_t epoch);

  // release.cpp: giving it back.
  void look(const PciAddress& address, std::uint64_t epoch);
  void look_at_placement(const PciAddress& address, std::uint64_t epoch);
  void release(const PciAddress& address, std::uint64_t epoch);
  [[nodiscard]] Certificate certificate_to_be(const Record& record) const;
  [[nodiscard]] std::string certificate_of_release(const Device& device) const;
  void ask_the_drive(const PciAddress& address, std::uint64_t epoch);
  void put_release(const PciAddress& address, std::uint64_t epoch);
  void confirm(const PciAddress& address, std::uint64_t epoch);
  void confirmed(const PciAddress& address, std::uint64_t epoch,
                 const placement::ProviderView& view);
  void released(const PciAddress& address, std::uint64_t epoch, Trigger how, Facts facts);
  void finish(const PciAddress& address);
  void settle_certificate(const PciAddress& address);

  ConductorPorts ports_;
  ConductorPolicies policies_;
  ConductorOptions options_;
  Stopping stopping_;
  ConductorContext context_;
  LockKeeper locks_;
  LedgerGate ledger_;
  CertificateKeeper certificates_;
  Reserver reserver_;
  Registration registration_;
  OrderDesk orders_;
  Surveyor surveyor_;
  std::map<PciAddress, Device> devices_;

  SurveySchedule schedule_;
  SurveyWatch survey_watch_;
  CloseWatch watch_;
  bool not_ours_ = false;  // these are another machine's books
  bool periodic_ = false;  // the survey going on is the periodic one: busy devices are read too
  std::int64_t survey_retry_ms_ = 0;
  HostView host_view_;
  std::string survey_problem_;

  ArqBook arqs_;
  CyborgWatch cyborg_;
  bool has_cyborg_ = true;  // there may be something here that an accelerator request could bind
  std::vector<SeenDrive> seen_drives_;  // by the last survey
  std::set<std::string> shared_serial_numbers_;
  MonoMs survey_began_;

  std::size_t stops_pending_ = 0;
  std::function<void()> stopped_;
  ConductorCounters counters_;
};

}  // namespace reclaim
