// One simulated host: Placement, Redis, a ledger on disk, drives, Nova with its tenants, an
// operator, and the worker among them, which may die at any step and comes back over what is left.
//
// A world fails when the promise is broken (docs/safety.md#the-promise) or when it does not come to
// rest after its faults have ended; the failure says which check, and the same seed shows it again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "handlers/conductor/conductor.h"
#include "tests/sim/fake_cyborg.h"
#include "tests/sim/fake_drives.h"
#include "tests/sim/fake_ledger.h"
#include "tests/sim/fake_placement.h"
#include "tests/sim/fake_store.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

inline constexpr std::int64_t kMinuteMs = 60'000;
inline constexpr std::int64_t kHalfHourMs = 30 * kMinuteMs;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;

// Where a tenancy stands, as Nova and the host see it together.
enum class Phase : std::uint8_t {
  none,
  claimed,    // allocated in Placement, not burned yet
  building,   // burned, the guest does not run yet
  running,    // the guest has the drive
  unplugged,  // the guest is gone, the allocation is not
  ghost,      // the allocation is gone, the guest is not (nova-compute was down)
};

struct Slot {
  PciAddress address;
  std::string provider_name;
  bool ours = true;             // a device_spec entry matches it
  bool was_ours = false;        // one did, at some time
  bool disown_ordered = false;  // the operator said so, at some time
  bool disowned = false;        // the worker has struck its line for that, and has not come back
  bool managed = true;
  // Cyborg's: nobody burns it, an ARQ binds it.
  bool cyborg = false;
  bool reserves = false;  // its Cyborg is the specification's: reserved at bind
  bool is_drive = true;   // or something that is shown and nothing else
  bool by_steps = false;  // cleaned as a drive is, and none: by its steps alone
  std::string arq;        // its last ARQ
  bool bound = false;     // says Cyborg
  WallMs unbound_at;      // by the worker's clock, in which its agent's orders are counted
  bool by_hand = false;   // bound without an allocation
  bool maintaining = false;
  bool unregistered = false;       // at first: the worker makes its provider
  bool enrolled = false;           // an operator said so
  bool enrol_before_hold = false;  // and this worker may carry that out after he reserved it
  bool steps_before_hold = false;  // the same of steps that he named
  bool interrupted = false;        // the worker found it at work, and nobody has said `clean` since
  std::uint64_t bound_heard = 0;   // the worker that heard of its binding
  std::int64_t taken_ms = 0;       // allocated, and not reserved since
  std::int64_t unreserved_ms = 0;  // dirty and un-reserved by Cyborg, and not reserved since
  bool unreported = false;         // Cyborg's agent does not see it for a while
  std::int64_t unreserved_since_ms = 0;
  nvme::ClearAction action = nvme::ClearAction::auto_;  // sanitize: not every drive can
  Phase phase = Phase::none;
  std::uint64_t tenancy = 0;
  std::string consumer;
  std::string instance;  // the tenant, whatever the consumer is called meanwhile
  std::uint64_t told_epoch = 0;
  std::string told;                    // whom this worker's last record of it named
  std::int64_t misnamed_since_ms = 0;  // that names another than the tenant
  bool blamed = false;                 // the tenant got it by somebody else's doing than ours
  int missed = 0;                      // Nova's periodics that did not see the drive
  bool reserved_by_hand = false;       // by an operator, and nothing has undone it
  bool held = false;                   // and the worker can know it: it must not touch the drive
  bool reserved_unnoted = false;       // by us, and the ledger does not say so
  bool maintained = false;             // maintenance was ordered once
  // Reserved by one write of somebody else's, with nobody having it; or the record is lost that
  // would tell.
  bool like_a_hand = false;
  bool ours_taken_out = false;  // the worker reserved it at rest, and nobody else did since
  bool given_back = false;      // by the release that was asked for last: without a cleaning
  bool given = false;           // to a tenant, since its last release
  bool had_data = false;
  std::string own_serial;         // of the drive that its tenant was given
  std::string expected_serial;    // empty: the worker had no chance to learn it yet
  std::string ordered_serial;     // of the drive whose enrolment is ordered, and not on the ledger
  std::set<std::int64_t> enrols;  // when those orders were issued that are not refused
  bool swapped = false;           // and not enrolled
  std::int64_t swapped_ms = 0;    // when that was last
  bool displaced = false;         // its drive came from another address, and no --enrol since
  std::string home_serial;        // and that of the drive which stood there before
  bool tellable = false;          // and the worker can know that
  std::int64_t displaced_dirty_since_ms = 0;
  std::int64_t release_asked_ms = 0;
  std::set<std::string> approved_by;  // at a hold of the cleaning that goes on
  bool clean_ordered = false;         // since its last tenancy or release
  // A release was made since an operator's word, and this was the record's certificate then.
  std::optional<std::string> ordered_before;
  int operator_tries = 0;              // in the quiet end
  std::int64_t erase_recorded_ms = 0;  // its last erase was
  std::int64_t verified_ms = 0;        // and its last verification passed
  std::int64_t offered_dirty_since_ms = 0;
  std::int64_t left_dirty_since_ms = 0;  // by Cyborg's tenant, unreserved
  bool had_tenants = false;
  bool counts_anew = false;  // its provider, made anew with the same UUID since it was cleaned
  std::int64_t unseen_since_ms = 0;  // an instance runs on it, and the record has it in the pool
  std::int64_t withheld_ms = 0;  // the verification that its last certificate of no return is of
  std::int64_t offered_unfit_since_ms = 0;  // though its policy cannot be satisfied by its drive
};

class TraceLogger final : public Logger {
 public:
  explicit TraceLogger(const Scheduler& scheduler) : scheduler_(scheduler) {}
  void write(LogLevel level, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override;
  void say(std::string_view text);
  bool enabled = false;
  bool transitions_only = false;
  std::string text;

 private:
  const Scheduler& scheduler_;
};

// What there is in a world goes by the range of its seed. From here on an operator has clean steps
// of his own.
inline constexpr std::uint64_t kOwnStepsFrom = 2'000'000'000'000'000ULL;
// And some devices are no drives.
inline constexpr std::uint64_t kFunctionsFrom = 3'000'000'000'000'000ULL;
// And he takes entries away, lets devices go and names steps.
inline constexpr std::uint64_t kDisownsFrom = 4'000'000'000'000'000ULL;
// Instead of that, every device is Cyborg's, which writes to Placement whatever comes to its mind.
inline constexpr std::uint64_t kCyborgWritesFrom = 5'000'000'000'000'000ULL;
// Not that, and Nova tells by name of each instance that begins, ends or is to be deleted, a
// zeroing how far it is, and workers die between an erase and its release. Up to kUnwatchedFrom.
inline constexpr std::uint64_t kEndsToldFrom = 8'000'000'000'000'000ULL;

// Drives go unerased from one tenant to the next while no worker runs, and tenants move as Nova
// moves them, with what comes in between. Before, Placement tells at once who a consumer is.
inline constexpr std::uint64_t kTenantsFrom = 6'000'000'000'000'000ULL;

// And nobody looks at the right moment (unwatched.cpp); tenants move here as well.
inline constexpr std::uint64_t kUnwatchedFrom = 12'000'000'000'000'000ULL;
// Not that, and somebody sends orders, kicks and ARQs many times a second (floods.cpp). Tenants
// move here as well.
inline constexpr std::uint64_t kFloodsFrom = 13'000'000'000'000'000ULL;

// As kUnwatchedFrom, and lives are brief, absences long, Placement answers late, and faults come
// several at once. From kBriefWritersFrom on each guest writes.
inline constexpr std::uint64_t kBriefFrom = 14'000'000'000'000'000ULL;
inline constexpr std::uint64_t kBriefWritersFrom = 15'000'000'000'000'000ULL;

[[nodiscard]] constexpr bool has_disowns(std::uint64_t seed) {
  return seed >= kDisownsFrom && seed < kCyborgWritesFrom;
}

// Not that, and drives wear out or are too hot (unfit.cpp).
inline constexpr std::uint64_t kUnfitFrom = 16'000'000'000'000'000ULL;

struct WorldOptions {
  std::uint64_t seed = 1;
  bool trace = false;
  // A scripted world: no faults, no Nova, no chaos; the test does everything by itself.
  bool scripted = false;
  int scripted_slots = 1;
  bool cyborg = false;     // a scripted world's slots are Cyborg's
  bool cyborg_api = true;  // and the worker may ask Cyborg's API
};

class World final {
 public:
  explicit World(const WorldOptions& options);

  // Runs to the end; the failure's text, or nothing.
  [[nodiscard]] std::optional<std::string> run();
  // The same trouble, and a worker that only observes: nothing else is looked at than that it
  // touches no drive and writes nothing to Placement.
  [[nodiscard]] std::optional<std::string> run_observed();

  // For scripted worlds.
  void start_worker();
  void kill_worker();
  // SIGHUP: the worker reads what the slots say of its configuration.
  void reload();
  void stop_worker();
  void pass(std::int64_t ms);
  void kick(std::vector<int> delays_s);
  void mark(const std::string& reason, const std::string& instance);
  void command(const std::string& what, const PciAddress& address,
               const std::string& who = "operator@sim", const std::string& steps = "");
  void name_drive(const Slot& slot, Order& order) const;
  [[nodiscard]] const Record& record(std::size_t slot = 0) const;
  [[nodiscard]] Drive& drive(std::size_t slot = 0);
  [[nodiscard]] Provider& provider(std::size_t slot = 0);
  void tell_arq(Slot& slot, const std::string& event);  // at once
  void switch_maintaining(Slot& slot, bool on);
  // By Cyborg's hand.
  void offer(Slot& slot, Provider& provider, std::int64_t reserved);
  void tenancy_begins(std::size_t slot = 0);  // allocated, burned, guest running, data written
  void tenancy_ends(std::size_t slot = 0);    // left burned

  std::function<Status(std::uint16_t, std::uint16_t, const PciAddress&)> one_claimant;
  std::string next_instance;            // of a scripted world; empty: a name of its own
  std::vector<OperatorStep> own_steps;  // of every device
  bool manual = false;                  // cleaned only when an operator says so
  RolePolicies roles;                   // [policy:NAME] sections that there are
  std::vector<std::string> tags;        // of every device
  std::vector<Slot> slots;
  Rng rng;
  Scheduler scheduler;
  Faults faults;
  FakeStore store;
  FakePlacement placement;
  FakeCyborg cyborg;
  LedgerDisk disk;
  Hardware hardware;
  TraceLogger log;
  std::unique_ptr<FakeLedger> ledger;
  std::unique_ptr<FakeDrives> drives;
  std::unique_ptr<Conductor> conductor;
  ConductorOptions conductor_options;
  bool started = false;                   // the worker has loaded its records
  std::string order_code = "of the key";  // by which orders are known for an operator's
  bool orders_are_sealed = false;         // a key of orders is configured
  std::optional<std::string> failure;
  std::uint64_t releases = 0;
  std::uint64_t erases = 0;
  // From the allocation to our reservation, where Cyborg does not reserve: the window that remains.
  std::vector<std::int64_t> windows_ms;
  // From the moment when Cyborg un-reserved what is dirty to our reservation.
  std::vector<std::int64_t> unreserved_windows_ms;
  std::map<std::string, std::uint64_t> given_dirty;  // by whose doing, if not by ours

 private:
  // world.cpp
  void make_slots(int count);
  void draw_capabilities(Drive& drive);
  void wire_checks();
  void fail(std::string what);
  void say(std::string_view text) { log.say(text); }
  Slot* slot_of_provider(const std::string& uuid);
  Slot& slot_at(const PciAddress& address);
  Drive& drive_of(const Slot& slot) { return hardware.drives.at(slot.address); }
  Provider* provider_of(const Slot& slot) { return placement.find_by_name(slot.provider_name); }
  void run_active();
  void run_quiet();

  // nova.cpp
  void nova_tick(std::size_t index);
  void nova_allocates(Slot& slot);
  void nova_burns(Slot& slot);
  void nova_boots(Slot& slot);
  void nova_ends(Slot& slot);
  void nova_deallocates(Slot& slot);
  void guest_leaves(Slot& slot);
  void rebind_later(const PciAddress& address, std::int64_t delay_ms);
  void nova_periodic();
  void notify(bool mark_allocated);
  void tell_of_the_end(const std::string& instance);

  // cyborg.cpp
  void draw_cyborg(Slot& slot, Drive& drive);
  void cyborg_binds(Slot& slot);
  void cyborg_unbinds(Slot& slot);
  void cyborg_binds_by_hand(Slot& slot);
  void cyborg_periodic();
  void notify_arq(Slot& slot, const std::string& event);
  void hand_over(const Slot& slot, const std::string& event, const Arq& arq, int tries);
  void note_interrupted();
  void check_written(const Provider& provider);
  void check_bound(Slot& slot, const Provider* provider);
  [[nodiscard]] bool is_bound_by_hand(const Slot& slot) const;
  [[nodiscard]] std::string check_cyborg_touch(const Slot& slot, const Drive& drive);
  [[nodiscard]] std::string unsettled_cyborg(const Slot& slot, const Record& record,
                                             const Provider& provider) const;

  // nova_moves.cpp
  [[nodiscard]] bool has_tenants() const {
    const bool moves = options_.seed >= kTenantsFrom && options_.seed < kEndsToldFrom;
    return (!options_.scripted && moves) || is_unwatched() || has_floods();
  }
  bool nova_moves(Slot& slot);
  bool nova_passes_on(Slot& slot);
  void check_tenant(const Record& record, const JournalEntry& entry);
  [[nodiscard]] bool is_misnamed(const Slot& slot) const;

  // unwatched.cpp
  [[nodiscard]] bool is_unwatched() const;
  [[nodiscard]] bool is_brief() const;
  void draw_unwatched();
  void guest_writes_nothing(Slot& slot);
  void tell_of_the_failed_build(const std::string& instance);
  void worker_is_away();
  void agent_asks_to_clean(const Slot& slot);
  void agent_looks();
  void agent_unreserves(Slot& slot);
  [[nodiscard]] bool is_dirty(const Slot& slot);
  [[nodiscard]] bool tells_of_nobody(const Slot& slot);
  void check_told_clean(const Slot& slot);
  void check_left(Slot& slot, const Provider* provider);
  void count_given_dirty(const Slot& slot, Offered offered);

  // floods.cpp
  enum class Flood : std::uint8_t { orders, kicks, arqs };
  [[nodiscard]] bool has_floods() const;
  void flood_begins();
  void flood_goes_on(std::size_t at, Flood kind, std::int64_t apart_ms, std::int64_t until_ms);
  void send_of_flood(Slot& slot, Flood kind);
  void check_seen(Slot& slot);

  // unfit.cpp
  [[nodiscard]] bool has_unfit() const;
  void draw_unfit(Drive& drive);
  void health_trouble(Slot& slot);
  void note_retired(const PciAddress& address, const LedgerEntry& entry);
  [[nodiscard]] std::string unsettled_unfit(const Slot& slot, const Record& record);

  // lives.cpp
  void life_begins(const Slot& slot);
  void life_ends(const Slot& slot);
  void tell_life(const Slot& slot, Life life);
  void bring_later(const Kick& kick);
  void bring_waiting();
  void check_heard(const Record& record);

  // cyborg_writes.cpp
  [[nodiscard]] bool cyborg_writes() const;
  void cyborg_reports();
  void cyborg_drops(Slot& slot);
  void cyborg_reports_again(Slot& slot);
  Slot& switched_slot(Slot& slot);
  void note_unreserved(Slot& slot);

  // chaos.cpp
  void chaos_tick();
  void chaos_at(const Record& record);
  void worker_trouble();
  void service_trouble();
  void host_trouble(Slot& slot);
  void operator_acts(Slot& slot);
  void operator_holds(Slot& slot);
  void power_failure();
  void release_is_forgotten(Slot& slot);
  [[nodiscard]] bool names_ends() const;
  void worker_dies_behind_an_erase(Slot& slot);
  void swap_drive(Slot& slot);
  void redis_goes_away(std::int64_t for_ms);
  void damage_a_record(const Slot& slot, std::int64_t for_ms);
  void store_forgets();
  void restart_worker_later(std::int64_t delay_ms);
  void unguard_everything();
  void operator_tidies();

  // own_steps.cpp
  void draw_own_steps();
  void own_steps_trouble(Slot& slot);
  void tidy_own_steps();
  ConductorPolicies policies();
  void note_approval(Slot& slot, const std::string& who);
  [[nodiscard]] std::string check_holds(const Slot& slot, StepStage stage) const;
  void draw_function(Slot& slot);
  [[nodiscard]] std::string check_own_steps(const Slot& slot, const Proof& proof) const;

  // disowns.cpp
  void draw_named_steps();
  void operator_disowns(Slot& slot);
  void operator_names_steps(Slot& slot);
  static void named_steps(Slot& slot);
  [[nodiscard]] bool is_let_go(const PciAddress& address);
  void note_disowned();
  void check_disowned(const Record& record, const std::string& trigger);
  [[nodiscard]] std::string check_named_steps(const Record& record, const Proof& proof) const;

  // machine_chaos.cpp
  [[nodiscard]] bool is_in_release(const Slot& slot) const;
  [[nodiscard]] bool may_move(const Slot& slot);
  void change_places(Slot& a, Slot& b, bool renumbered);
  void exchange_drives(Slot& slot);
  void host_reboots();
  void drive_hangs(const PciAddress& address);
  void discovery_hangs();
  void stranger_writes(const Slot& slot);
  void forget_displaced();
  void remove_forged();
  static void hold_is_forgotten(Slot& slot);
  void remember_record(const Record& record);
  [[nodiscard]] std::string living_owner(const Slot& slot, const Drive& drive) const;
  [[nodiscard]] bool offers_another(const Slot& slot);
  void check_displaced(Slot& slot);

  // checks.cpp
  void check_touch(const PciAddress& address, const char* what);
  [[nodiscard]] const Record* last_known(const PciAddress& address) const;
  [[nodiscard]] std::string check_given_back(const Slot& slot,
                                             const placement::ProviderView& view) const;
  void check_release_asked(const placement::ProviderView& view);
  void check_released(Provider& provider);
  static void enrolled(Slot& slot, Stage from);
  static void accepted(Slot& slot, const LedgerEntry& entry);
  [[nodiscard]] bool is_surely_held(const PciAddress& address) const;
  [[nodiscard]] bool is_unanswered(const Record& saved) const;
  void check_saved(const Record& record);
  void check_ledger(const PciAddress& address, const LedgerEntry& entry);
  void check_certificate(const std::string& json_text);
  void check_given(Slot& slot, const Provider& provider);
  // Fails when what is wrong of a slot lasts for longer than `limit_ms`; `since_ms` is its clock.
  void check_ends(bool wrong, std::int64_t& since_ms, std::int64_t limit_ms,
                  const std::string& what);
  void check_offered();
  void check_unfit(Slot& slot, const Provider* provider);
  [[nodiscard]] std::string unsettled();
  [[nodiscard]] std::string unsettled(const Slot& slot, const Record* record);

  WorldOptions options_;
  bool quiet_ = false;
  std::int64_t quiet_since_ms_ = 0;
  double moment_ = 0;  // how often something goes wrong in the very moment of a transition
  std::uint64_t next_tenancy_ = 1;
  std::uint64_t next_certificate_ = 1;
  std::uint64_t next_serial_ = 1;
  std::uint64_t incarnation_ = 0;
  std::uint64_t boots_ = 1;
  std::int64_t away_until_ms_ = 0;  // no worker is started before
  std::vector<Record> old_records_;
  WallMs last_order_at_;
  std::int64_t last_offer_check_ms_ = 0;
  bool prompt_ = true;    // so were the faults drawn
  bool touches_ = false;  // Nova writes providers again now and then
  static constexpr const char* kElsewhere = "instance-elsewhere";
  bool kicks_of_others_ = false;  // they name an instance that has nothing here: kElsewhere
  bool notifier_ = true;          // Cyborg has one; today's has not
  bool cyborg_api_ = true;        // and the worker may ask it
  std::uint64_t next_arq_ = 1;
  std::map<std::string, int> verified_serials_;
  // Of each certificate that the ledger had before its release, when its drive was verified.
  std::map<std::string, std::int64_t> certificates_verified_ms_;
  std::map<std::string, std::string> moved_from_;  // a migration's instance
  struct Gone {
    std::int64_t from_ms = 0;
    std::int64_t until_ms = 0;  // 0: it lives
  };
  std::map<std::string, Gone> lives_;               // of instances that had a device here, by UUID
  std::vector<Kick> waiting_;                       // for a worker, at the broker
  std::set<std::string> certificates_owed_;         // ids in records; Redis forgetting them excuses
  std::set<std::string> certificates_handed_over_;  // ids in records that hand one over
};

}  // namespace reclaim::sim
