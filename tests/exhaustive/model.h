// A small world that is searched through: one device of Nova's flow with one drive and one
// provider, the conductor that ships, the simulation's fakes without chance, and what may happen to
// them. It begins with a drive that a tenant has just left: its first, or the one after a cleaning.
//
// A state is told by its digest (telling.h): all that decides what comes next and can be seen from
// outside the conductor.
//
// Thread: the caller's; several models may live at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tests/exhaustive/happenings.h"
#include "tests/exhaustive/telling.h"
#include "tests/sim/world.h"

namespace reclaim::exhaustive {

inline constexpr const char* kSecondProvider = "node-1.example_0000:C1:00.0";

// Where it begins.
enum class Start : std::uint8_t {
  first,  // nothing is known of the drive but that it was allocated
  again,  // it was cleaned and given back, and another tenant has left it since
};

class Model final {
 public:
  // `extras`: what there is beside the base. `trace`: trace() tells what happened.
  explicit Model(Start start, Extras extras = {}, bool trace = false);

  // The next item of the world's queue.
  void step();
  // Nothing that can be seen from outside has changed for two surveys, or something is broken.
  [[nodiscard]] bool rests();
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // Whether something that can be seen from outside has changed since it was last asked.
  [[nodiscard]] bool moved();

  [[nodiscard]] bool can(Happening happening);
  void let(Happening happening);

  [[nodiscard]] Digest digest();
  // What is broken; empty: nothing.
  [[nodiscard]] std::string broken();
  // The same of what must not last: asked for at rest.
  [[nodiscard]] std::string unsettled();
  [[nodiscard]] const std::string& trace() const { return world_.log.text; }

 private:
  using Seen = std::array<std::int64_t, 24>;  // what moved() compares

  // model.cpp
  void equip();
  void hear_worker();
  void tenancy();
  void keep(const Record& record);
  [[nodiscard]] bool has(Extra extra) const { return extras_.contains(extra); }
  [[nodiscard]] std::string broken(const sim::Provider& offered);
  [[nodiscard]] sim::Provider* second();  // null: there is none
  [[nodiscard]] sim::Provider& provider() { return world_.provider(); }
  [[nodiscard]] sim::Drive& drive() { return world_.drive(); }
  [[nodiscard]] sim::Slot& slot() { return world_.slots.front(); }

  // state.cpp
  [[nodiscard]] Seen seen();
  void add_extras(Telling& telling);

  // base_happenings.cpp
  [[nodiscard]] bool can_of_base(Happening happening);
  void let_of_base(Happening happening);
  void come_back();
  void forge();
  void restore(Stage stage);
  void swap();
  void reserve();
  // The next answer of its kind is lost.
  [[nodiscard]] bool is_armed() const {
    return world_.faults.put_lost_late + world_.faults.store_lost_done > 0;
  }
  [[nodiscard]] bool is_free();
  [[nodiscard]] bool busy();
  [[nodiscard]] bool releases();
  [[nodiscard]] bool restorable(Stage stage);

  // extra_happenings.cpp
  [[nodiscard]] bool can_of_extras(Happening happening);
  void let_of_extras(Happening happening);
  void remake();
  void second_begins();
  void second_ends();
  void reboot();

  Extras extras_;
  sim::World world_;
  std::uint64_t steps_ = 0;
  std::int64_t moved_ms_ = 0;
  Seen seen_{};
  bool put_sent_ = false;  // with the last move
  struct LostPut {
    std::string provider;
    std::int64_t generation = 0;
    std::int64_t reserved = 0;
    std::function<void()> make;
  };
  std::optional<LostPut> lost_;
  std::int64_t release_at_ = -1;  // the generation that the last release was asked with
  std::int64_t erase_saved_ms_ = 0;
  std::map<Stage, Record> of_releases_;  // what led to the last release, as it was saved
  std::map<Stage, Record> of_cleaning_;  // and what may lead to the next one
  std::uint64_t heard_ = 0;              // the worker that we listen to
  bool written_ = false;                 // `reserved`, by the worker now running
  bool verified_ = false;  // the drive was erased and verified since a tenant last had it
  std::uint64_t swaps_ = 0;
  std::uint64_t boots_ = 1;
  std::string broken_;
};

}  // namespace reclaim::exhaustive
