// Asks Cyborg's API, where it is configured: beside each survey, and once more before a device of
// Cyborg's is touched or given back. Carries no authority to touch a drive; it can keep one from
// being touched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "handlers/arq/book.h"
#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class CyborgWatch final {
 public:
  // A sighting of a device of Cyborg's, with its record's epoch when the survey began, if it had
  // one.
  struct Waiting {
    Sighting sighting;
    std::optional<std::uint64_t> epoch;
  };

  // `news`: an answer of ask() changed the book. `settled`: what waits is to be assessed now.
  CyborgWatch(const ConductorContext& context, ArqBook& arqs, std::function<void()> news,
              std::function<void()> settled)
      : context_(context), arqs_(arqs), news_(std::move(news)), settled_(std::move(settled)) {}

  [[nodiscard]] bool is_configured() const { return context_.ports.accelerators != nullptr; }
  // Asks beside the survey of Nova's devices, and never in its way: only what is Cyborg's waits for
  // the answer. One that is slow is not asked twice at a time, and not waited for long.
  void ask();
  // Asks Cyborg's API on behalf of the record of `epoch`, of a device that goes on only with the
  // answer. `done` is told whether the book changed; it is not called when the device went on
  // without it.
  void ask_for(const PciAddress& address, std::uint64_t epoch,
               std::function<void(Result<bool> news)> done);

  // It sees again what waits.
  void survey_begins() { waiting_.clear(); }
  [[nodiscard]] bool is_awaited() const { return awaited_; }
  void let_wait(const Sighting& sighting, std::optional<std::uint64_t> epoch) {
    waiting_[sighting.address] = {sighting, epoch};
  }
  [[nodiscard]] std::map<PciAddress, Waiting> take_waiting() { return std::exchange(waiting_, {}); }

  // The device's status by Cyborg's last answer; empty: the device is unknown, or nobody is asked;
  // nothing: Cyborg does not answer.
  [[nodiscard]] std::optional<std::string> status_of(const PciAddress& address,
                                                     const std::string& provider) const;
  // The status where Cyborg tells that it is of this device; empty: it does not tell, or nobody is
  // asked, or it does not answer.
  [[nodiscard]] std::string own_status_of(const PciAddress& address,
                                          const std::string& provider) const;
  // An ARQ that Cyborg still lists as bound to the device, though Placement showed no allocation of
  // it for a while and the book of ARQs knows that it is over. `question`: as the survey saw it.
  [[nodiscard]] std::optional<Arq> leaked(const ArqQuestion& question,
                                          const std::optional<Arq>& holder);
  // The UUID of Cyborg's device, as status_of() tells the status; empty also where several of
  // Cyborg's devices may be it.
  [[nodiscard]] std::optional<std::string> uuid_of(const PciAddress& address,
                                                   const std::string& provider) const;
  // The reason why a device must be left as it is; empty: none.
  [[nodiscard]] std::string why_withheld(const Record& record) const;

 private:
  void read(std::function<void(Result<placement::CyborgView>)> answered) const;
  void answered(Result<placement::CyborgView> view, MonoMs asked_at);
  void settle();

  const ConductorContext& context_;
  ArqBook& arqs_;
  std::function<void()> news_;
  std::function<void()> settled_;
  bool asked_ = false;    // an answer to ask() is on its way, however late,
  bool awaited_ = false;  // and what is Cyborg's waits for it
  std::uint64_t asks_ = 0;
  std::map<PciAddress, Waiting> waiting_;      // of the last survey alone
  std::optional<placement::CyborgView> view_;  // the last answer; none: it does not answer now
  std::map<std::string, MonoMs> idle_since_;   // by ARQ: bound, and nothing speaks for it
};

}  // namespace reclaim
