#include "tests/exhaustive/model.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace reclaim::exhaustive {
namespace {

constexpr std::int64_t kRestMs = 130'000;  // two periodic surveys
constexpr const char* kNamedCommand = "/steps/by_hand";
constexpr std::int64_t kNeverMs = 365 * sim::kDayMs;

sim::WorldOptions options_of(const Extras& extras, bool trace) {
  sim::WorldOptions options;
  options.scripted = true;
  options.trace = trace;
  options.cyborg = extras.contains(Extra::cyborg);
  return options;
}

OperatorStep own(const char* interface, const char* name, int priority) {
  OperatorStep step;
  step.interface = interface;
  step.name = name;
  step.priority = priority;
  step.args = "{}";
  if (!step.is_hold()) step.command = fmt::format("/steps/{}", name);
  return step;
}

}  // namespace

Model::Model(Start start, Extras extras, bool trace)
    : extras_(std::move(extras)), world_(options_of(extras_, trace)) {
  equip();
  world_.placement.keep_late = [this](const placement::ProviderView& view, std::int64_t reserved,
                                      std::function<void()> make) {
    world_.faults.put_lost_late = 0;
    lost_ = LostPut{view.uuid, view.generation, reserved, std::move(make)};
  };
  world_.placement.on_written =
      [this, checks = world_.placement.on_written](const sim::Provider& written) {
        written_ = true;
        checks(written);
      };
  world_.placement.on_release_asked =
      [this, checks = world_.placement.on_release_asked](const placement::ProviderView& view) {
        release_at_ = view.generation;
        checks(view);
      };
  world_.store.on_saved = [this, checks = world_.store.on_saved](const Record& record,
                                                                 const JournalEntry& entry) {
    world_.faults.store_lost_done = 0;
    keep(record);
    checks(record, entry);
  };
  world_.start_worker();
  hear_worker();
  world_.pass(1'000);
  tenancy();
  if (start == Start::again) {
    world_.pass(kRestMs / 2);
    if (has(Extra::hold)) world_.command("unhold", slot().address);
    world_.pass(kRestMs / 2);
    CHECK(world_.releases == 1);
    tenancy();
  }
  seen_ = seen();
  moved_ms_ = world_.scheduler.now_ms();
}

// What is there from the beginning.
void Model::equip() {
  world_.orders_are_sealed = !extras_.empty();
  if (has(Extra::unmanaged)) {
    slot().managed = false;
    drive().home = drive().driver = "vfio-pci";
  }
  if (has(Extra::hold)) world_.own_steps.push_back(own("hold", "eyes", 60));
  if (has(Extra::steps)) {
    world_.own_steps.push_back(own("a", "by_hand", 0));
    world_.hardware.commands[kNamedCommand] = "first";
  }
  if (has(Extra::reading)) world_.conductor_options.full_survey_interval_ms = kNeverMs;
}

void Model::tenancy() {
  world_.tenancy_begins();
  world_.kick({0});
  world_.pass(1'000);
  verified_ = false;
  world_.tenancy_ends();
  world_.kick({0});
}

// What may be put back later, and of which cleaning: one is over with its release.
void Model::keep(const Record& record) {
  const bool kept = record.stage == Stage::available || record.stage == Stage::releasing ||
                    (record.stage == Stage::erasing && record.erase_begun);
  if (record.stage == Stage::erasing) erase_saved_ms_ = world_.scheduler.now_ms();
  if (kept) of_cleaning_.insert_or_assign(record.stage, record);
  if (record.stage == Stage::available && of_cleaning_.contains(Stage::releasing)) {
    of_releases_ = std::exchange(of_cleaning_, {});
  }
}

void Model::hear_worker() {
  if (!world_.drives || heard_ == world_.scheduler.worker()) return;
  heard_ = world_.scheduler.worker();
  written_ = false;
  world_.drives->on_verified = [this, checks = world_.drives->on_verified](const sim::Drive& of) {
    verified_ = true;
    checks(of);
  };
  world_.drives->on_touch = [this, checks = world_.drives->on_touch](const PciAddress& at,
                                                                     const char* what) {
    verified_ = false;
    if (drive().guest != 0) broken_ = fmt::format("{}: a guest has the drive", what);
    if (!provider().consumers.empty() && !slot().blamed) {
      broken_ = fmt::format("{}: an instance has it in Placement", what);
    }
    const Record* saved = world_.store.last_saved(at);
    const bool named = saved != nullptr && !saved->steps_ordered.empty();
    if (std::string_view(what) == "erase" && named &&
        !world_.drives->proof(at).commands_before.contains(kNamedCommand)) {
      broken_ = "erase: before the step that was named";
    }
    checks(at, what);
  };
}

sim::Provider* Model::second() {
  return world_.placement.find_by_name(kSecondProvider);
}

void Model::step() {
  (void)world_.scheduler.step(world_.scheduler.now_ms() + sim::kDayMs);
  steps_ += 1;
  if (world_.conductor == nullptr) world_.start_worker();  // it was told to stop
  hear_worker();
}

bool Model::rests() {
  return !broken().empty() || world_.scheduler.now_ms() - moved_ms_ > kRestMs;
}

bool Model::can(Happening happening) {
  const auto extra = extra_of(happening);
  if (!extra) return can_of_base(happening);
  return has(*extra) && can_of_extras(happening);
}

void Model::let(Happening happening) {
  world_.log.say(fmt::format("--- {}", to_string(happening)));
  return extra_of(happening) ? let_of_extras(happening) : let_of_base(happening);
}

std::string Model::broken() {
  if (!broken_.empty()) return broken_;
  if (world_.failure) return *world_.failure;
  if (sim::Provider* other = second()) {
    if (std::string why = broken(*other); !why.empty()) return "the second provider: " + why;
  }
  return broken(provider());
}

std::string Model::unsettled() {
  const Record* stored = world_.store.stored(slot().address);
  const bool answers = !world_.disk.full && !is_armed();
  const bool looked_at = world_.started && slot().ours && answers && is_free();
  // What somebody else wrote into Redis is no word of the worker's.
  const bool is_its = stored != nullptr && stored->damage.empty() && stored->cleanable();
  if (!looked_at || !is_its) return "";
  const bool reserved = provider().inventory.reserved != 0;
  // Which drive stands unmanaged in a slot nothing shows.
  const bool shown = slot().managed || stored->serial == drive().serial;
  if (!reserved && drive().owner != 0 && shown && !slot().swapped) {
    return "on offer for good, and dirty";
  }
  const bool told = stored->held || stored->maintenance || !stored->waiting_for.empty();
  if (reserved && stored->stage == Stage::available && !told) return "reserved without a word";
  if (reserved && stored->stage == Stage::pending_cleaning && !told) return "waits without a word";
  if (stored->stage == Stage::error && stored->last_error.empty()) return "in error without a word";
  return "";
}

std::string Model::broken(const sim::Provider& offered) {
  const bool offered_by_us = offered.inventory.reserved == 0 && offered.consumers.empty() &&
                             offered.offered == sim::Offered::by_us;
  if (!offered_by_us) return "";
  if (drive().owner != 0) return "released, and a tenant's data is on it";
  if (!verified_) return "released, and not erased and verified since a tenant last had it";
  if (drive().running || drive().canary != 0) return "released, and being erased";
  return "";
}

}  // namespace reclaim::exhaustive
