// Gives a device back: looks again, drops `reserved` to zero with one PUT, and reads back what
// became of it where the answer was lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "handlers/conductor/arq_desk.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/cyborg_watch.h"
#include "handlers/conductor/drive_claims.h"
#include "handlers/conductor/kept_erase.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/lock_keeper.h"
#include "handlers/conductor/recheck.h"
#include "handlers/conductor/write_fence.h"

namespace reclaim {

// Thread: the loop's. `epoch`: of the record that asks for it, and that the answer belongs to.
class Release final {
 public:
  Release(const ConductorContext& context, LockKeeper& locks, LedgerGate& ledger,
          DriveClaims& claims, Admissions& admissions, WriteFence& fence, ArqDesk& arqs,
          CyborgWatch& cyborg, Recheck& recheck)
      : context_(context),
        locks_(locks),
        ledger_(ledger),
        claims_(claims),
        fence_(fence),
        arqs_(arqs),
        cyborg_(cyborg),
        recheck_(recheck),
        kept_(
            context, locks, claims, admissions,
            [this](const PciAddress& address, std::uint64_t epoch) { look_now(address, epoch); }) {}

  void look(const PciAddress& address, std::uint64_t epoch);
  // Begins the release of what look() saw.
  void begin(const PciAddress& address, std::uint64_t epoch);
  // Finds out whether the release that was asked for was made.
  void confirm(const PciAddress& address, std::uint64_t epoch);
  // The claim is given up: what look() saw counts no more.
  void forget_look(const PciAddress& address) {
    views_.erase(address);
    kept_.forget(address);
  }
  // The number of devices that were given back.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  // Tells what is known of a PUT, of a device that is reserved.
  enum class Trace : std::uint8_t {
    unmade,   // surely: nobody can have had the device since
    none,     // that it was made is not shown
    written,  // somebody wrote the provider since: this release, or another client
  };

  void look_now(const PciAddress& address, std::uint64_t epoch);
  void look_at_placement(const PciAddress& address, std::uint64_t epoch);
  void looked(const PciAddress& address, std::uint64_t epoch, placement::ProviderView view);
  void look_is_ok(const PciAddress& address, std::uint64_t epoch, placement::ProviderView view);
  [[nodiscard]] Certificate certificate_to_be(const Record& record) const;
  [[nodiscard]] std::optional<Certificate> certificate_asked_for(const Record& record) const;
  [[nodiscard]] std::string certificate_of_release(const Record& record) const;
  void ask_the_drive(const PciAddress& address, std::uint64_t epoch);
  [[nodiscard]] bool is_agents_to_unreserve(const Record& record) const;
  void put(const PciAddress& address, std::uint64_t epoch);
  void hand_over(const PciAddress& address, std::uint64_t epoch);
  void confirmed(const PciAddress& address, std::uint64_t epoch,
                 const placement::ProviderView& view, std::int64_t generation);
  void overtake(const PciAddress& address, std::uint64_t epoch,
                const placement::ProviderView& view);
  [[nodiscard]] Trace trace_of_put(const Record& record, std::int64_t generation) const;
  void ask_the_claim(const PciAddress& address, std::uint64_t epoch, Trace trace);
  void claim_is_gone(const PciAddress& address, std::uint64_t epoch, Trace trace, Facts facts);
  void start_over(const PciAddress& address, std::uint64_t epoch, Trace trace, Facts facts);
  void released(const PciAddress& address, std::uint64_t epoch, Trigger how, Facts facts);

  const ConductorContext& context_;
  LockKeeper& locks_;
  LedgerGate& ledger_;
  DriveClaims& claims_;
  WriteFence& fence_;
  ArqDesk& arqs_;
  CyborgWatch& cyborg_;
  Recheck& recheck_;
  KeptErase kept_;
  std::map<PciAddress, placement::ProviderView> views_;  // as look() read them, for the PUT
  // True if this worker sent the PUT of the release it began last, or another hand released the
  // device; absent: it began none, and an earlier worker may have sent one.
  std::map<PciAddress, bool> sent_;
  std::uint64_t count_ = 0;
};

}  // namespace reclaim
