// A small world that is searched through: one device of Nova's flow with one drive and one
// provider, the conductor that ships, the simulation's fakes without chance, and what may happen to
// them. It begins with a drive that a tenant has just left: its first, or the one after a cleaning.
//
// A state is told by its digest: all that decides what comes next and can be seen from outside the
// conductor. Times count by their order, names by whether they are the same, pending work by how
// soon it is due; so worlds that differ in dates or numbers alone are one state.
//
// Thread: the caller's; several models may live at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"

namespace reclaim::exhaustive {

enum class Happening : std::uint8_t {
  crash,        // the worker dies and comes back at once
  lose_put,     // the next PUT's answer is lost; it may be made later, or never
  land_put,     // such a PUT is made now
  lose_answer,  // Redis takes the next record, and its answer is lost
  forget,       // Redis shows what stood in it a minute ago
  begin,        // a tenant gets the drive: allocated, burned, written to
  end,          // and leaves it burned
  swap,         // another drive, with somebody's data, is put in
  reserve,      // by an operator's hand
  unreserve,    // the same
  touch,        // something else moves the provider's generation
  abort,        // an operator's order
  clean,        // the same
  // Two that go together: the host loses its power with a PUT on its way, which may be made later,
  // and Redis forgets all since the erase was recorded.
  lose_power,
  // Somebody has the password of Redis and not the host's key: he writes a record of his own,
  forge,
  // or puts one of ours back, which the next worker finds: of a cleaning that is over, as it stood
  // while the drive was being erased or was being given back, or when it had been.
  restore_erasing,
  restore_releasing,
  restore_available,
};
inline constexpr std::size_t kHappeningCount = 18;

// As how many it counts: what somebody else writes into Redis, as two.
[[nodiscard]] std::size_t counts_as(Happening happening);

// Where it begins.
enum class Start : std::uint8_t {
  first,  // nothing is known of the drive but that it was allocated
  again,  // it was cleaned and given back, and another tenant has left it since
};

[[nodiscard]] std::string_view to_string(Happening happening);

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

class Model final {
 public:
  // `trace`: trace() tells what happened.
  explicit Model(Start start, bool trace = false);

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
  [[nodiscard]] const std::string& trace() const { return world_.log.text; }

 private:
  using Seen = std::array<std::int64_t, 18>;  // what moved() compares

  void hear_worker();
  void tenancy();
  void keep(const Record& record);
  void come_back();
  void forge();
  void restore(Stage stage);
  void swap();
  void reserve();
  [[nodiscard]] sim::Provider& provider() { return world_.provider(); }
  [[nodiscard]] sim::Drive& drive() { return world_.drive(); }
  [[nodiscard]] sim::Slot& slot() { return world_.slots.front(); }
  [[nodiscard]] bool busy();
  [[nodiscard]] bool releases();
  [[nodiscard]] bool restorable(Stage stage);
  [[nodiscard]] Seen seen();

  sim::World world_;
  std::uint64_t steps_ = 0;
  std::int64_t moved_ms_ = 0;
  Seen seen_{};
  bool put_sent_ = false;  // with the last move
  struct LostPut {
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
  std::string broken_;
};

}  // namespace reclaim::exhaustive
