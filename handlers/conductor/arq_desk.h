// The ARQs that bind devices of Cyborg's, by notification and from Cyborg's API, kept in the host's
// book of ARQs. None of it carries authority to touch a drive; all of it can keep one from being
// touched or given back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "handlers/arq/book.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/cyborg_watch.h"

namespace reclaim {

// Thread: the loop's.
class ArqDesk final {
 public:
  ArqDesk(const ConductorContext& context, ArqBook& book, CyborgWatch& cyborg)
      : context_(context), book_(book), cyborg_(cyborg) {}

  // Tells the book which devices an ARQ may bind: those on record, and those that this survey is
  // about to assess for the first time. Before one has gone through, anything may be here.
  void know_devices(const Survey& survey);
  // There may be something here that an accelerator request could bind.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  void hear(const Kick& kick);
  // Whoever got a device that is being cleaned must not lose what he writes to it. At the release
  // itself the last look, or the next survey, finds it.
  void stop_what_is_bound();
  // The ARQ that binds a device which Placement showed free when its cleaning began, and since.
  [[nodiscard]] std::optional<Arq> binding_of(const Record& record) const;
  // Before a device is touched or given back: `next`, unless Cyborg's API or an ARQ speaks against
  // it for the record of `epoch`; then that is the answer. `maintaining` is called instead where
  // Cyborg's status of the device forbids it, with these words.
  void ask_once_more(const PciAddress& address, std::uint64_t epoch,
                     std::function<void(const std::string& why)> maintaining,
                     std::function<void()> next);
  // Heard of since its cleaning was decided on: the answer is given, and nothing more is begun.
  bool is_bound_meanwhile(const PciAddress& address, std::uint64_t epoch);
  // Fills into a sighting what is known of Cyborg's side.
  void fill_in(Sighting& sighting, const Record* record);
  // Saves in Redis what changed in the book. With each survey again, until it is there.
  void save();
  // Redis may have lost what was written.
  void compare();

 private:
  const ConductorContext& context_;
  ArqBook& book_;
  CyborgWatch& cyborg_;
  bool has_devices_ = true;
};

}  // namespace reclaim
