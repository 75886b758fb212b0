#include "tests/sim/fake_placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace reclaim::sim {
namespace {

constexpr std::int64_t kClocksApartMs = 25'000;
constexpr std::int64_t kLateMs = 120'000;  // after that a lost write is not made any more

}  // namespace

placement::ProviderView FakePlacement::view_of(const Provider& provider) const {
  return placement::ProviderView{
      provider.row.uuid, provider.row.generation, {provider.inventory}, provider.consumers};
}

// The marks of rows that did not move are those of `known`: what moves no generation is not seen.
void FakePlacement::list_tree_again(placement::Tree known, Callback<placement::Tree> done) {
  scheduler_.answer(faults_.delay_ms(rng_), [this, known = std::move(known),
                                             done = std::move(done)]() mutable {
    requests_.list_tree += 1;
    Result<placement::Tree> result = Error{Errc::unavailable, "Placement is away"};
    if (!away_ && !rng_.chance(faults_.placement_away)) {
      placement::Tree tree;
      tree.root_uuid = root_uuid;
      tree.root_name = "compute-1";
      tree.root_generation = root_generation_;
      for (const auto& [uuid, provider] : providers_) tree.rows.push_back(provider.row);
      tree.last_modified = last_modified();
      const bool as_known =
          known.root_uuid == root_uuid &&
          std::equal(tree.rows.begin(), tree.rows.end(), known.rows.begin(), known.rows.end(),
                     [](const placement::ProviderRow& a, const placement::ProviderRow& b) {
                       return a.uuid == b.uuid && a.name == b.name && a.generation == b.generation;
                     });
      if (as_known) tree.rows = std::move(known.rows);
      if (!as_known) requests_.list_tree += 2;
      result = std::move(tree);
      if (rng_.chance(faults_.placement_odd)) result = Error{Errc::refused, "403 Forbidden"};
    }
    scheduler_.answer(listing_takes_ms + faults_.delay_ms(rng_),
                      [done = std::move(done), result = std::move(result)] { done(result); });
  });
}

void FakePlacement::read_consumers(const std::string& provider_uuid,
                                   Callback<std::vector<std::string>> done) {
  CHECK(provider_uuid == root_uuid);
  requests_.consumers += 1;
  scheduler_.answer(faults_.delay_ms(rng_), [this, done = std::move(done)]() mutable {
    Result<std::vector<std::string>> result = Error{Errc::unavailable, "Placement is away"};
    if (!away_ && !rng_.chance(faults_.placement_away)) {
      result = std::vector<std::string>(root_consumers_.begin(), root_consumers_.end());
    }
    scheduler_.answer(faults_.delay_ms(rng_),
                      [done = std::move(done), result = std::move(result)] { done(result); });
  });
}

void FakePlacement::read(const std::string& provider_uuid, Callback<placement::ProviderView> done) {
  requests_.read += 2;
  read_as(
      provider_uuid, [this](const Provider& provider) { return view_of(provider); },
      std::move(done));
}

// The consumers of the same generation are those of `known`: what moves no generation is not seen.
void FakePlacement::read_again(const placement::ProviderView& known,
                               Callback<placement::ProviderView> done) {
  requests_.read += 1;
  read_as(
      known.uuid,
      [this, known](const Provider& provider) {
        placement::ProviderView view = view_of(provider);
        if (view.generation == known.generation) {
          view.consumers = known.consumers;
        } else {
          requests_.read += 1;
        }
        return view;
      },
      std::move(done));
}

void FakePlacement::read_as(const std::string& provider_uuid,
                            std::function<placement::ProviderView(const Provider&)> view,
                            Callback<placement::ProviderView> done) {
  const std::int64_t begins_ms = reads_take_ms + faults_.delay_ms(rng_);
  scheduler_.answer(
      begins_ms, [this, provider_uuid, view = std::move(view), done = std::move(done)]() mutable {
        Result<placement::ProviderView> result = Error{Errc::unavailable, "Placement is away"};
        if (!away_ && !rng_.chance(faults_.placement_away)) {
          const Provider* provider = find(provider_uuid);
          if (provider == nullptr) {
            result = Error{Errc::not_found, "no such provider"};
          } else if (rng_.chance(faults_.placement_odd)) {
            constexpr std::array kOdd{Errc::refused, Errc::conflict, Errc::unknown, Errc::invalid};
            result = Error{kOdd.at(rng_.below(kOdd.size())), "an odd answer"};
          } else {
            result = view(*provider);
          }
        }
        scheduler_.answer(answers_take_ms + faults_.delay_ms(rng_),
                          [done = std::move(done), result = std::move(result)] { done(result); });
      });
}

template <typename T>
void FakePlacement::watched(std::function<Result<T>()> look, Callback<T> done) {
  requests_.watch += 1;
  requests_.watching_at_most = std::max(requests_.watching_at_most, ++requests_.watching);
  const std::uint64_t worker = scheduler_.worker();
  scheduler_.outside(faults_.delay_ms(rng_), [this, worker, look = std::move(look),
                                              done = std::move(done)]() mutable {
    requests_.watching -= 1;
    Result<T> result = Error{Errc::unavailable, "Placement is away"};
    if (!away_ && !rng_.chance(faults_.placement_away)) result = look();
    if (worker != scheduler_.worker()) return done.drop();
    scheduler_.answer(0, [done = std::move(done), result = std::move(result)] { done(result); });
  });
}

void FakePlacement::list_rows(Callback<std::vector<placement::ProviderRow>> done) {
  watched<std::vector<placement::ProviderRow>>(
      [this]() -> Result<std::vector<placement::ProviderRow>> {
        std::vector<placement::ProviderRow> rows;
        for (const auto& [uuid, provider] : providers_) rows.push_back(provider.row);
        return rows;
      },
      std::move(done));
}

void FakePlacement::read_inventories(const std::string& provider_uuid,
                                     Callback<std::vector<placement::Inventory>> done) {
  watched<std::vector<placement::Inventory>>(
      [this, provider_uuid]() -> Result<std::vector<placement::Inventory>> {
        const Provider* provider = find(provider_uuid);
        if (provider == nullptr) return Error{Errc::not_found, "no such provider"};
        return std::vector<placement::Inventory>{provider->inventory};
      },
      std::move(done));
}

std::string FakePlacement::project_of(const std::string& consumer) const {
  const auto project = projects_.find(consumer);
  return project == projects_.end() ? "project-1" : project->second;
}

placement::Consumer FakePlacement::consumer_of(const std::string& consumer) const {
  placement::Consumer told;
  told.holds = elsewhere_.contains(consumer) || root_consumers_.contains(consumer);
  for (const auto& [uuid, provider] : providers_) {
    const auto& has = provider.consumers;
    told.holds = told.holds || std::find(has.begin(), has.end(), consumer) != has.end();
  }
  if (!told.holds) return told;
  told.project = project_of(consumer);
  told.user = "user-of-" + told.project;
  return told;
}

void FakePlacement::describe_consumer(const std::string& consumer,
                                      Callback<placement::Consumer> done) {
  requests_.consumer += 1;
  if (tells_consumers_at_once) return done(consumer_of(consumer));
  scheduler_.answer(faults_.delay_ms(rng_), [this, consumer, done = std::move(done)]() mutable {
    Result<placement::Consumer> result = Error{Errc::unavailable, "Placement is away"};
    if (!away_ && !rng_.chance(faults_.placement_away)) result = consumer_of(consumer);
    scheduler_.answer(faults_.delay_ms(rng_),
                      [done = std::move(done), result = std::move(result)] { done(result); });
  });
}

void FakePlacement::find(const std::string& name, Callback<std::string> done) {
  watched<std::string>(
      [this, name]() -> Result<std::string> {
        const Provider* provider = find_by_name(name);
        if (provider == nullptr) return Error{Errc::not_found, "no provider of that name"};
        return provider->row.uuid;
      },
      std::move(done));
}

// One of several servers, whose clocks differ.
std::int64_t FakePlacement::servers_clock_s() {
  return (scheduler_.now_ms() + rng_.between(0, kClocksApartMs)) / 1'000;
}

void FakePlacement::moved(Provider& provider) {
  provider.row.generation += 1;
  provider.modified_s = servers_clock_s();
}

void FakePlacement::root_moved() {
  root_generation_ += 1;
  root_modified_s_ = servers_clock_s();
}

std::string FakePlacement::last_modified() const {
  std::int64_t newest = root_modified_s_;
  for (const auto& [uuid, provider] : providers_) newest = std::max(newest, provider.modified_s);
  return std::to_string(newest);
}

Status FakePlacement::write(const placement::ProviderView& view, std::int64_t reserved,
                            bool former_was_meant) {
  Provider* provider = find(view.uuid);
  if (provider == nullptr) return Error{Errc::not_found, "no such provider"};
  if (provider->row.generation != view.generation) {
    return Error{Errc::conflict, "409 concurrent_update", 409};
  }
  provider->inventory.reserved = reserved;
  provider->former_was_meant = former_was_meant;
  moved(*provider);
  if (on_written) on_written(*provider);
  if (reserved == 0) {
    provider->offered = Offered::by_us;
    offered_ms_[provider->row.name] = scheduler_.now_ms();
    if (on_released) on_released(*provider);
  }
  return Ok{};
}

// What the real client does after a write: reads it back, and says `conflict` where somebody else
// has written since.
void FakePlacement::confirm(const std::string& uuid, std::int64_t reserved, std::int64_t generation,
                            Callback<placement::ProviderView> done) {
  scheduler_.answer(
      faults_.delay_ms(rng_), [this, uuid, reserved, generation, done = std::move(done)] {
        const Provider* provider = find(uuid);
        if (away_ || rng_.chance(faults_.placement_away)) {
          return done(Error{Errc::unknown, "written, but could not be read back"});
        }
        if (provider == nullptr) return done(Error{Errc::not_found, "gone after it was written"});
        if (provider->inventory.reserved == reserved) return done(view_of(*provider));
        const bool moved = provider->row.generation > generation;
        done(Error{moved ? Errc::conflict : Errc::unknown, "written, but a read shows otherwise"});
      });
}

void FakePlacement::set_reserved(const placement::ProviderView& view, std::int64_t reserved,
                                 Callback<placement::ProviderView> done) {
  requests_.set_reserved += 2;
  if (on_asked) on_asked(view);
  if (reserved == 0 && on_release_asked) on_release_asked(view);
  if (reserved == 0 && !view.free()) {
    return scheduler_.answer(0, [done = std::move(done)] {
      done(Error{Errc::refused, "it has an allocation"});
    });
  }
  const std::uint64_t worker = scheduler_.worker();
  // Sent is sent: the write happens even if the worker dies before it does.
  auto carry_out = [this, view, reserved, worker, done = std::move(done)]() mutable {
    const auto answer = [&](Result<placement::ProviderView> result) {
      const bool is_dead = worker != scheduler_.worker();
      const bool tells =
          result || (result.error().code != Errc::unknown && result.error().code != Errc::invalid);
      if (on_lost && (is_dead || !tells)) on_lost(view);
      if (is_dead) return done.drop();
      scheduler_.answer(faults_.delay_ms(rng_),
                        [done = std::move(done), result = std::move(result)] { done(result); });
    };
    if (away_ || rng_.chance(faults_.placement_away)) {
      return answer(Error{Errc::unavailable, "503"});
    }
    if (rng_.chance(faults_.placement_conflict)) return answer(Error{Errc::conflict, "409", 409});
    if (read_only_ || rng_.chance(faults_.placement_odd)) {
      return answer(Error{Errc::refused, "403"});
    }
    if (rng_.chance(faults_.put_lost_not)) return answer(Error{Errc::unknown, "lost (not done)"});
    if (rng_.chance(faults_.put_lost_late)) {
      const Provider* meant = find(view.uuid);
      const auto make = [this, view, reserved, made = meant == nullptr ? 0 : meant->made] {
        const Provider* reached = find(view.uuid);
        (void)write(view, reserved, reached != nullptr && reached->made != made);
      };
      if (keep_late) {
        keep_late(view, reserved, make);
      } else {
        scheduler_.outside(rng_.between(0, kLateMs), make);
      }
      return answer(Error{Errc::unknown, "lost (will be done)"});
    }
    Status written = write(view, reserved);
    if (!written) return answer(std::move(written).error());
    if (rng_.chance(faults_.put_lost_done)) {
      constexpr std::array kLost{Errc::unknown, Errc::unknown, Errc::invalid};
      return answer(Error{kLost.at(rng_.below(kLost.size())), "lost (done)"});
    }
    if (worker != scheduler_.worker()) return done.drop();
    confirm(view.uuid, reserved, view.generation + 1, std::move(done));
  };
  scheduler_.outside(faults_.delay_ms(rng_), std::move(carry_out));
}

Provider& FakePlacement::create(const std::string& name, bool one_time_use, bool owner_cyborg) {
  std::string uuid = fmt::format("00000000-0000-4000-8000-{:012x}", next_uuid_++);
  if (owner_cyborg) uuid = cyborgs_uuids_.try_emplace(name, uuid).first->second;
  Provider& provider = providers_[uuid];
  provider.row = placement::ProviderRow{uuid, name, root_uuid, 1, one_time_use, owner_cyborg};
  provider.inventory = placement::Inventory{"CUSTOM_PCI_144D_A80A", 1, 0, 1, 1, 1, 1.0};
  provider.modified_s = servers_clock_s();
  provider.made = ++made_;
  offered_ms_[name] = scheduler_.now_ms();
  return provider;
}

bool FakePlacement::remove(const std::string& uuid) {
  const auto it = providers_.find(uuid);
  if (it == providers_.end() || !it->second.consumers.empty()) return false;
  providers_.erase(it);
  return true;
}

bool FakePlacement::allocate(const std::string& uuid, const std::string& consumer) {
  Provider* provider = find(uuid);
  if (provider == nullptr || !provider->consumers.empty() || provider->inventory.reserved != 0) {
    return false;
  }
  provider->consumers.push_back(consumer);
  moved(*provider);
  // One whose processors are of a NUMA node's provider is not among the root's.
  if (rng_.chance(beside_root)) return true;
  root_consumers_.insert(consumer);
  root_moved();
  return true;
}

void FakePlacement::deallocate(const std::string& uuid, const std::string& consumer) {
  Provider* provider = find(uuid);
  if (provider == nullptr) return;
  std::erase(provider->consumers, consumer);
  // DELETE /allocations leaves all generations as they are.
  if (root_consumers_.erase(consumer) == 0 || rng_.chance(0.5)) return;
  // A PUT without the device moves that of the root alone, which the consumer still has.
  root_consumers_.insert(consumer);
  root_moved();
}

void FakePlacement::hand_over(const std::string& uuid, const std::string& from,
                              const std::string& to) {
  Provider& provider = providers_.at(uuid);
  std::replace(provider.consumers.begin(), provider.consumers.end(), from, to);
  projects_[to] = project_of(from);
  elsewhere_.erase(to);
  elsewhere_.insert(from);
  moved(provider);
  if (root_consumers_.erase(from) == 0) return;
  root_consumers_.insert(to);
  root_moved();
}

void FakePlacement::register_device(const placement::NewDevice& device,
                                    Callback<placement::ProviderView> done) {
  const std::uint64_t worker = scheduler_.worker();
  // Sent is sent, here as well; the real client's crashes in the middle have a test of their own.
  scheduler_.outside(
      faults_.delay_ms(rng_), [this, device, worker, done = std::move(done)]() mutable {
        Result<placement::ProviderView> result = Error{Errc::unavailable, "Placement is away"};
        const bool lost = rng_.chance(faults_.put_lost_done);
        if (!away_ && !rng_.chance(faults_.placement_away)) result = make(device);
        if (lost && result.ok()) result = Error{Errc::unknown, "lost (done)"};
        if (worker != scheduler_.worker()) return done.drop();
        scheduler_.answer(faults_.delay_ms(rng_),
                          [done = std::move(done), result = std::move(result)] { done(result); });
      });
}

Result<placement::ProviderView> FakePlacement::make(const placement::NewDevice& device) {
  if (const Provider* there = find_by_name(device.name)) {
    if (there->row.uuid == device.uuid) return view_of(*there);
    return Error{Errc::refused, "another provider has that name"};
  }
  Provider& provider = providers_[device.uuid];
  provider.row =
      placement::ProviderRow{device.uuid, device.name, device.parent_uuid, 1, false, true};
  provider.inventory = placement::Inventory{device.resource_class, 1, 1, 1, 1, 1, 1.0};
  provider.offered = Offered::no;
  provider.modified_s = servers_clock_s();
  if (on_registered) on_registered(provider);
  return view_of(provider);
}

void FakePlacement::set_reserved_by(Offered who, const std::string& uuid, std::int64_t reserved) {
  Provider* provider = find(uuid);
  if (provider == nullptr) return;
  provider->inventory.reserved = reserved;
  moved(*provider);
  if (reserved != 0) return;
  provider->offered = who;
  offered_ms_[provider->row.name] = scheduler_.now_ms();
}

std::int64_t FakePlacement::offered_ms(const std::string& name) const {
  const auto it = offered_ms_.find(name);
  return it == offered_ms_.end() ? -1 : it->second;
}

void FakePlacement::touch(const std::string& uuid) {
  Provider* provider = find(uuid);
  if (provider != nullptr) moved(*provider);
}

Provider* FakePlacement::find(const std::string& uuid) {
  const auto it = providers_.find(uuid);
  return it == providers_.end() ? nullptr : &it->second;
}

Provider* FakePlacement::find_by_name(const std::string& name) {
  for (auto& [uuid, provider] : providers_) {
    if (provider.row.name == name) return &provider;
  }
  return nullptr;
}

}  // namespace reclaim::sim
