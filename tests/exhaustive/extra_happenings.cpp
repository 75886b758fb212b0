// What may happen in worlds with extras.
#include <fmt/core.h>

#include "tests/exhaustive/model.h"

namespace reclaim::exhaustive {
namespace {

constexpr std::uint64_t kSecondTenant = 2'000;
constexpr const char* kSecondConsumer = "instance-of-the-second";
constexpr std::int64_t kBackMs = -600'000;
constexpr const char* kNamedSteps =
    R"([{"interface":"a","step":"by_hand","priority":0,"args":{},"by_hand":true}])";

}  // namespace

bool Model::can_of_extras(Happening happening) {
  const sim::Slot& at = slot();
  const Record* stored = world_.store.stored(at.address);
  const sim::Provider* other = second();
  const bool may_order = world_.started && stored != nullptr;
  switch (happening) {
    case Happening::remake:
      return provider().consumers.empty();
    case Happening::second_comes:
      return other == nullptr;
    case Happening::second_goes:
      return other != nullptr && other->consumers.empty();
    case Happening::second_begins:
      // As for a swap: the PUT of the one provider on its way knows nothing of the other.
      return other != nullptr && is_free() && other->inventory.reserved == 0 && !releases();
    case Happening::second_ends:
      return other != nullptr && !other->consumers.empty();
    case Happening::maintain_cyborg:
      return is_free() && !at.maintaining && !at.bound;
    case Happening::enable_cyborg:
      return at.maintaining;
    case Happening::report:
      return provider().inventory.reserved != 0 && !at.maintaining;
    case Happening::maintain:
      return may_order && !stored->maintenance;
    case Happening::end_maintenance:
      return may_order && stored->maintenance;
    case Happening::approve:
      return may_order && stored->clean_step.starts_with("hold.");
    case Happening::name_steps:
      return may_order;
    case Happening::remove_entry:
      return at.ours && !at.swapped;
    case Happening::disown:
      return may_order && !at.disowned;
    case Happening::put_entry_back:
      return !at.ours;
    case Happening::enrol:
      return may_order;
    case Happening::fill_disk:
      return !world_.disk.full;
    case Happening::free_disk:
      return world_.disk.full;
    case Happening::stop:
      return world_.started;
    case Happening::reboot:
    case Happening::set_back:
    case Happening::set_ahead:
      return true;
    case Happening::visit:
      return is_free() && provider().inventory.reserved == 0;
    case Happening::slip_away:
      return at.phase == sim::Phase::running;
    default:
      return false;
  }
}

void Model::let_of_extras(Happening happening) {
  sim::Slot& at = slot();
  switch (happening) {
    case Happening::remake:
      return remake();
    case Happening::second_comes:
      (void)world_.placement.create(kSecondProvider, !at.cyborg, at.cyborg);
      return;
    case Happening::second_goes:
      (void)world_.placement.remove(second()->row.uuid);
      return;
    case Happening::second_begins:
      return second_begins();
    case Happening::second_ends:
      return second_ends();
    case Happening::maintain_cyborg:
      return world_.switch_maintaining(at, true);
    case Happening::enable_cyborg:
      return world_.switch_maintaining(at, false);
    case Happening::report:
      return world_.offer(at, provider(), 0);
    case Happening::maintain:
      return world_.command("maintenance_on", at.address);
    case Happening::end_maintenance:
      return world_.command("maintenance_off", at.address);
    case Happening::approve:
      return world_.command("unhold", at.address);
    case Happening::name_steps:
      return world_.command("clean", at.address, "operator@sim", kNamedSteps);
    case Happening::remove_entry:
      at.ours = false;
      at.was_ours = true;
      return world_.kick({0});
    case Happening::disown:
      return world_.command("disown", at.address);
    case Happening::put_entry_back:
      at.ours = true;
      return world_.kick({0});
    case Happening::enrol:
      return world_.command("enrol", at.address);
    case Happening::fill_disk:
    case Happening::free_disk:
      world_.disk.full = happening == Happening::fill_disk;
      return;
    case Happening::stop:
      return world_.stop_worker();
    case Happening::reboot:
      return reboot();
    case Happening::set_back:
      return world_.scheduler.shift_wall_clock(kBackMs);
    case Happening::set_ahead:
      return world_.scheduler.shift_wall_clock(sim::kDayMs);
    case Happening::visit:
      world_.tenancy_begins();
      verified_ = false;
      return world_.tenancy_ends();
    case Happening::slip_away:
      return world_.tenancy_ends();
    default:
      return;
  }
}

void Model::remake() {
  sim::Slot& at = slot();
  (void)world_.placement.remove(provider().row.uuid);
  (void)world_.placement.create(at.provider_name, !at.cyborg, at.cyborg);
  at.held = at.reserved_by_hand = false;
  release_at_ = -1;
}

void Model::second_begins() {
  const std::string uuid = second()->row.uuid;
  (void)world_.placement.allocate(uuid, kSecondConsumer);
  world_.placement.set_reserved_by(sim::Offered::no, uuid, 1);
  sim::Drive& of = drive();
  of.driver = "vfio-pci";
  of.disk += 1;
  of.guest = kSecondTenant;
  if (world_.drives) world_.drives->breaks(slot().address);
  if (!of.running) sim::write_media(of, kSecondTenant, kSecondTenant);
  slot().held = slot().reserved_by_hand = false;
  verified_ = false;
  // Whoever made the second answers for what the first offers.
  if (provider().inventory.reserved == 0) provider().offered = sim::Offered::by_operator;
}

void Model::second_ends() {
  drive().guest = 0;
  drive().driver = drive().home;
  world_.placement.deallocate(second()->row.uuid, kSecondConsumer);
  world_.kick({0, 5, 30});
}

// What Nova had allocated stays allocated.
void Model::reboot() {
  world_.kill_worker();
  world_.conductor_options.boot_id = fmt::format("boot-{}", ++boots_);
  sim::Drive& of = drive();
  of.guest = 0;
  of.taken_over = false;
  of.driver = of.home;
  of.disk += 1;
  if (slot().phase == sim::Phase::running) slot().phase = sim::Phase::building;
  come_back();
}

}  // namespace reclaim::exhaustive
