// What may happen to the small world (model.h), and which of it belongs to an extra. A world is the
// base plus a set of extras: what each adds is a kind of device, or happenings of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace reclaim::exhaustive {

enum class Extra : std::uint8_t {
  remade,       // Nova makes the provider anew, unreserved
  second,       // a second provider stands for the drive, and has tenants
  cyborg,       // the drive is Cyborg's
  unmanaged,    // it stands on vfio-pci, and nobody reads it there
  maintenance,  // an operator's, and what it took out of the pool goes back
  hold,         // a step of the plan waits for an operator
  steps,        // an operator names steps for a cleaning
  disown,       // he takes the device_spec entry away, lets the device go, puts the entry back
  enrol,        // he accepts the drive that he finds
  ledger,       // the ledger's disk is full
  stop,         // the worker is told to stop, and started again
  reboot,       // the host is
  clock,        // the wall clock is set
  reading,      // a tenancy of which nobody hears, where nothing is read that did not move
};
inline constexpr std::size_t kExtraCount = 14;
using Extras = std::set<Extra>;

[[nodiscard]] std::string_view to_string(Extra extra);
// Of a list of names with commas between them; nothing: there is one that no extra has.
[[nodiscard]] std::optional<Extras> parse_extras(std::string_view names);
// Every state of such a world is another one. The others add happenings, and a path without these
// is the base's.
[[nodiscard]] bool is_another_world(Extra extra);

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
  // Of the extras.
  remake,           // the provider is deleted, and made again unreserved
  second_comes,     // a provider of another name for the same address, unreserved
  second_goes,      // it is deleted
  second_begins,    // a tenant gets the drive by it
  second_ends,      // and leaves it burned
  maintain_cyborg,  // an administrator disables the device in Cyborg
  enable_cyborg,    // and enables it, which un-reserves it
  report,           // the agent of Cyborg writes its inventory again, with reserved = 0
  maintain,         // an operator's order
  end_maintenance,  // the same
  approve,          // the same, at a hold
  name_steps,       // the same: to clean, with a step of his own
  remove_entry,     // of device_spec
  disown,           // an operator's order
  put_entry_back,
  enrol,      // an operator's order
  fill_disk,  // each write of the ledger fails
  free_disk,  // they succeed again
  stop,       // in order: the worker comes back when it has stopped
  reboot,     // guests are not started again; the boot is another one
  set_back,   // the wall clock, by ten minutes
  set_ahead,  // by a day
  visit,      // a whole tenancy, and nobody hears of it
  slip_away,  // a tenant leaves, and nobody hears of it
};
inline constexpr std::size_t kHappeningCount = 42;

[[nodiscard]] std::string_view to_string(Happening happening);
// As how many it counts: what somebody else writes into Redis, as two.
[[nodiscard]] std::size_t counts_as(Happening happening);
// Nothing: it is the base's.
[[nodiscard]] std::optional<Extra> extra_of(Happening happening);

}  // namespace reclaim::exhaustive
