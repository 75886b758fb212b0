// Every order of what may become of a write to `reserved`: it is answered, its answer is lost, it
// is lost, or kept and made later; the worker dies, other hands write, the ledger is full. Breadth
// first, for each reason to reserve, until there is no state that was not seen. After each of them
// all comes to rest, and then must be as it is meant. What a release makes of its own write is
// played by tests/exhaustive, which needs a whole worker for it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "handlers/conductor/bind_reservation.h"
#include "handlers/conductor/reserver.h"
#include "handlers/conductor/taken_out.h"
#include "tests/sim/world.h"

namespace reclaim::sim {
namespace {

constexpr int kSurveysToRest = 6;
constexpr const char* kProvider = "00000000-0000-4000-8000-000000000100";

enum class Why : std::uint8_t {
  taken_out,  // by maintenance
  bound,      // of no drive
  unclean,    // and offered by somebody
};

enum class Happening : std::uint8_t {
  reason_turns,  // it begins, or ends
  survey,
  answered,
  answer_lost,  // made, and nothing comes back
  overtaken,    // made, another hand does the contrary, and the answer tells of it
  never_made,   // and nothing comes back
  kept_late,    // the same, and it is made some time later:
  arrives,
  worker_dies,
  hand_reserves,
  hand_unreserves,
  touched,  // somebody wrote something else
  disk_turns,
};
constexpr std::array kHappenings{
    Happening::reason_turns,  Happening::survey,     Happening::answered,
    Happening::answer_lost,   Happening::never_made, Happening::overtaken,
    Happening::kept_late,     Happening::arrives,    Happening::worker_dies,
    Happening::hand_reserves, Happening::touched,    Happening::hand_unreserves,
    Happening::disk_turns};

enum class By : std::uint8_t { us, others, either };  // either: nobody could tell

// Placement, with what is on its way to it.
class LateProviders final : public placement::Providers {
 public:
  struct Put {
    std::int64_t generation;
    std::int64_t reserved;
    Callback<placement::ProviderView> done;
  };

  void list_tree_again(placement::Tree, Callback<placement::Tree>) override { CHECK(false); }
  void list_rows(Callback<std::vector<placement::ProviderRow>>) override { CHECK(false); }
  void read(const std::string&, Callback<placement::ProviderView> done) override { done(view()); }
  void read_again(const placement::ProviderView&, Callback<placement::ProviderView>) override {
    CHECK(false);
  }
  void read_inventories(const std::string&, Callback<std::vector<placement::Inventory>>) override {
    CHECK(false);
  }
  void read_consumers(const std::string&, Callback<std::vector<std::string>>) override {
    CHECK(false);
  }
  void describe_consumer(const std::string&, Callback<placement::Consumer>) override {
    CHECK(false);
  }
  void find(const std::string&, Callback<std::string>) override { CHECK(false); }
  void register_device(const placement::NewDevice&, Callback<placement::ProviderView>) override {
    CHECK(false);
  }
  void set_reserved(const placement::ProviderView& seen, std::int64_t to,
                    Callback<placement::ProviderView> done) override {
    sent.push_back({seen.generation, to, std::move(done)});
  }

  [[nodiscard]] placement::ProviderView view() const {
    placement::ProviderView view{kProvider, generation, {{"CUSTOM_PCI", 1, reserved}}, {}};
    if (taken) view.consumers = {"vm"};
    return view;
  }
  // Whether it is made.
  bool make(std::int64_t at, std::int64_t to) {
    if (at != generation) return false;
    if (to == 0 && by == By::others) ended_anothers = true;
    write(to, By::us);
    return true;
  }
  void write(std::int64_t to, By whom) {
    if (to == 0) unreserved_by = whom;
    generation += 1;
    reserved = to;
    by = whom;
  }

  std::int64_t generation = 1;
  std::int64_t reserved = 0;
  bool taken = false;
  By by = By::others;  // of whom what is reserved is
  By unreserved_by = By::others;
  bool ended_anothers = false;
  std::deque<Put> sent;
  // Generation, reserved. Of those of one generation one is made.
  std::set<std::pair<std::int64_t, std::int64_t>> kept;
};

// What is durable at once, or not at all.
class SmallLedger final : public Ledger {
 public:
  [[nodiscard]] const std::map<PciAddress, LedgerEntry>& entries() const override { return shown; }
  void put(const PciAddress& address, const LedgerEntry& entry, Callback<Ok> done) override {
    shown[address] = entry;
    if (full) return done(Error{Errc::failed, "disk full"});
    disk[address] = entry;
    done(Ok{});
  }
  void keep_certificate(const std::string&, const std::string&, Callback<std::string>) override {
    CHECK(false);
  }
  void keep_audit(const AuditEntry&, Callback<Ok>) override { CHECK(false); }

  std::map<PciAddress, LedgerEntry> shown;
  std::map<PciAddress, LedgerEntry> disk;
  bool full = false;
};

// One worker's life.
struct Worker {
  explicit Worker(const ConductorContext& context)
      : ledger(context),
        fence(context, [](const PciAddress&, const placement::ProviderView&) {}),
        reserver(context, ledger, fence),
        bound(context, ledger, fence),
        taken_out(context, ledger, fence) {}

  LedgerGate ledger;
  WriteFence fence;
  Reserver reserver;
  BindReservation bound;
  TakenOut taken_out;
};

// What the objects need besides, and none of them asks anything of here.
struct Surroundings {
  Surroundings() : world(WorldOptions{.scripted = true}) { world.start_worker(); }
  World world;
  ConductorPolicies policies;
};

class Life {
 public:
  Life(Surroundings& around, Why why)
      : why_(why),
        ports_{around.world.store,
               ledger_,
               providers_,
               *around.world.drives,
               around.world.scheduler,
               around.world.scheduler,
               around.world.log},
        context_{ports_,
                 around.policies,
                 options_,
                 stopping_,
                 devices_,
                 survey_,
                 [](std::int64_t) {},
                 [](const PciAddress&) {},
                 [](const PciAddress&, Event) {},
                 [](const PciAddress&) { return std::int64_t{1}; }} {
    options_.reserve_all_types = true;
    Record& record = devices_[kAddress].record;
    record.address = kAddress;
    record.flow = why == Why::bound ? Flow::cyborg : Flow::nova;
    record.type = why == Why::bound ? "GPU" : kTypeNvme;
    record.stage = why == Why::unclean ? Stage::pending_cleaning : Stage::available;
    record.provider = kProvider;
    worker_.emplace(context_);
  }
  ~Life() { die(); }

  // False: it cannot happen now.
  bool happens(Happening what) {
    switch (what) {
      case Happening::reason_turns:
        return reason_turns();
      case Happening::survey:
        survey();
        return true;
      case Happening::answered:
      case Happening::answer_lost:
      case Happening::overtaken:
      case Happening::never_made:
      case Happening::kept_late:
        return answer(what);
      case Happening::arrives:
        return arrives();
      case Happening::worker_dies:
        die();
        ledger_.shown = ledger_.disk;
        worker_.emplace(context_);
        return true;
      case Happening::hand_reserves:
        return hand_reserves();
      case Happening::hand_unreserves:
        if (providers_.reserved == 0) return false;
        providers_.write(0, By::others);
        return true;
      case Happening::touched:
        providers_.write(providers_.reserved, providers_.by);
        return true;
      case Happening::disk_turns:
        ledger_.full = !ledger_.full;
        return true;
    }
    return false;
  }

  // What is wrong once nothing goes wrong any more; empty: nothing.
  std::string at_rest() {
    ledger_.full = false;
    for (int i = 0; i < kSurveysToRest; ++i) {
      survey();
      while (answer(Happening::answered)) {
      }
    }
    if (providers_.ended_anothers) return "it ended a reservation that was not its own";
    const bool reserved = providers_.reserved != 0;
    if (is_wanted() && !reserved) return "not reserved, and the reason stands";
    if (is_wanted() && may_still_come(0)) return "a late write may still un-reserve it";
    if (is_wanted()) return {};
    if (!reserved && may_still_come(1)) return "a late write may still reserve it";
    if (reserved && providers_.by == By::us && !is_in_doubt())
      return "reserved for ever, and no word";
    return {};
  }

  // The same for all that goes on alike.
  [[nodiscard]] std::string key() const {
    std::string key = fmt::format(
        "{} {} {} {} {} {} {}", providers_.reserved, providers_.taken,
        static_cast<int>(providers_.by), static_cast<int>(providers_.unreserved_by), wanted_,
        ledger_.full, worker_ && const_cast<WriteFence&>(worker_->fence).is_needed(kAddress));
    for (const auto& put : providers_.sent) {
      key += fmt::format(" s{}:{}", put.generation == providers_.generation, put.reserved);
    }
    for (const auto& [generation, to] : providers_.kept) {
      if (generation == providers_.generation) key += fmt::format(" k{}", to);
    }
    return key + told(ledger_.shown) + told(ledger_.disk);
  }

 private:
  static constexpr PciAddress kAddress{0, 0x81, 0, 0};

  [[nodiscard]] bool is_wanted() const { return why_ == Why::bound ? providers_.taken : wanted_; }
  [[nodiscard]] LedgerEntry line() const {
    const auto found = ledger_.shown.find(kAddress);
    return found == ledger_.shown.end() ? LedgerEntry{} : found->second;
  }
  [[nodiscard]] ReservedBy reserved_by() const {
    const LedgerEntry now = line();
    return reclaim::reserved_by(why_ == Why::bound ? now.reserved_at_bind : now.taken_out,
                                now.asked, providers_.view());
  }
  [[nodiscard]] bool is_in_doubt() const { return reserved_by() == ReservedBy::unknown; }
  [[nodiscard]] bool may_still_come(std::int64_t to) const {
    return providers_.kept.contains({providers_.generation, to});
  }
  [[nodiscard]] std::string told(const std::map<PciAddress, LedgerEntry>& entries) const {
    const auto found = entries.find(kAddress);
    if (found == entries.end()) return " -";
    const LedgerEntry& entry = found->second;
    const std::int64_t age = providers_.generation - entry.asked.generation;
    return fmt::format(" {}{}{} {}:{}", entry.dirty, entry.taken_out, entry.reserved_at_bind,
                       entry.asked ? (age > 2 ? 2 : age) : -1, entry.asked.reserved);
  }

  bool reason_turns() {
    if (why_ == Why::bound) {
      if (!providers_.taken && providers_.reserved != 0) return false;  // nobody gets it
      providers_.taken = !providers_.taken;
      if (providers_.taken) providers_.generation += 1;
      return true;
    }
    // It is clean by a release, which un-reserves what was reserved at that generation.
    if (why_ == Why::unclean && wanted_) {
      if (providers_.reserved == 0) return false;
      providers_.write(0, By::others);
    }
    wanted_ = !wanted_;
    return true;
  }

  void survey() {
    survey_.began = ports_.clock.now().mono;
    const placement::ProviderView view = providers_.view();
    Record& record = devices_[kAddress].record;
    if (why_ == Why::unclean) {
      record.certificate_id = wanted_ ? "" : "c1";
      if (wanted_ && !view.burned()) worker_->reserver.reserve(kAddress, kProvider);
      return;
    }
    Sighting sighting;
    sighting.address = kAddress;
    sighting.rows = {{kProvider, "name", "root", view.generation, false, true}};
    sighting.view = view;
    sighting.ours = true;
    if (why_ == Why::bound) return worker_->bound.see(sighting, record);
    record.maintenance = wanted_;
    Assessment assessment;
    assessment.take_out = wanted_ && !view.burned();
    assessment.give_back = !wanted_ && view.burned() && reserved_by() == ReservedBy::us;
    worker_->taken_out.see(sighting, record, assessment);
  }

  bool answer(Happening how) {
    if (providers_.sent.empty()) return false;
    LateProviders::Put put = std::move(providers_.sent.front());
    providers_.sent.pop_front();
    if (how == Happening::kept_late) providers_.kept.insert({put.generation, put.reserved});
    const bool reaches = how != Happening::never_made && how != Happening::kept_late;
    const bool made = reaches && providers_.make(put.generation, put.reserved);
    if (how == Happening::overtaken && made) {
      providers_.write(1 - put.reserved, By::others);
      put.done(Error{Errc::conflict, "written, but a read shows otherwise"});
    } else if (how == Happening::answered || how == Happening::overtaken) {
      put.done(made ? Result<placement::ProviderView>(providers_.view())
                    : Error{Errc::conflict, "409", 409});
    } else {
      put.done(Error{Errc::unknown, "lost"});
    }
    return true;
  }

  bool arrives() {
    for (const std::int64_t to : {0, 1}) {
      if (providers_.kept.erase({providers_.generation, to}) == 0) continue;
      return providers_.make(providers_.generation, to);
    }
    return false;
  }

  // Where a write of ours is not answered that would have been made right here, or where ours was
  // un-reserved and no survey saw it, nothing tells his from ours.
  bool hand_reserves() {
    if (providers_.reserved != 0) return false;
    const LedgerEntry now = line();
    const bool marked = why_ == Why::bound ? now.reserved_at_bind : now.taken_out;
    const bool like_ours =
        marked && (now.asked.reserved ? now.asked.generation == providers_.generation
                                      : providers_.unreserved_by != By::us);
    providers_.write(1, like_ours ? By::either : By::others);
    return true;
  }

  // What it sent goes on.
  void die() {
    for (LateProviders::Put& put : providers_.sent) {
      providers_.kept.insert({put.generation, put.reserved});
      put.done.drop();
    }
    providers_.sent.clear();
    worker_.reset();
  }

  Why why_;
  bool wanted_ = false;
  LateProviders providers_;
  SmallLedger ledger_;
  ConductorPorts ports_;
  ConductorOptions options_;
  Stopping stopping_;
  DeviceTable devices_;
  LastSurvey survey_;
  ConductorContext context_;
  std::optional<Worker> worker_;
};

struct LateOrders : ::testing::TestWithParam<Why> {};

TEST_P(LateOrders, EachComesToRestAsItIsMeant) {
  Surroundings around;
  std::deque<std::vector<Happening>> paths{{}};
  std::set<std::string> seen;
  while (!paths.empty()) {
    const std::vector<Happening> path = std::move(paths.front());
    paths.pop_front();
    for (const Happening next : kHappenings) {
      Life life(around, GetParam());
      for (const Happening what : path) ASSERT_TRUE(life.happens(what));
      if (!life.happens(next) || !seen.insert(life.key()).second) continue;
      std::vector<Happening> longer = path;
      longer.push_back(next);
      std::string told;
      for (const Happening what : longer) told += fmt::format(" {}", static_cast<int>(what));
      ASSERT_EQ(life.at_rest(), "") << "after" << told;
      paths.push_back(std::move(longer));
    }
  }
  RecordProperty("states", static_cast<int>(seen.size()));
}

INSTANTIATE_TEST_SUITE_P(Reasons, LateOrders,
                         ::testing::Values(Why::taken_out, Why::bound, Why::unclean));

}  // namespace
}  // namespace reclaim::sim
