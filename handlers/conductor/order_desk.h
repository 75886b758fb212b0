// Takes operators' orders: judges each, lets it wait for the first survey or behind another one for
// the same device, and tells who issued it what became of it. The devices carry it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"

namespace reclaim {

// Thread: the loop's.
class OrderDesk final {
 public:
  // Empty: it is carried out. Called once, but not after the planned stop.
  using Done = std::function<void(const std::string& refusal)>;

  class Devices {
   public:
    // The reason why no device takes the order now; empty: the one that it names does.
    [[nodiscard]] virtual std::string why_refused(const Order& order) const = 0;
    // A survey has to be asked first: one of this run, whether the device is clean and which drive
    // is there; or the next, where the last look at the device came to nothing.
    [[nodiscard]] virtual bool waits_for_survey(const Order& order,
                                                const PciAddress& address) const = 0;
    // Carries out an order that the device does not refuse. `is_proven`: it is authenticated, and
    // no copy; else anybody may have put that name into it.
    virtual void carry_out(const Order& order, bool is_proven, const PciAddress& address,
                           const Done& done) = 0;

   protected:
    ~Devices() = default;
  };

  OrderDesk(const ConductorContext& context, LedgerGate& ledger, Devices& devices)
      : context_(context), ledger_(ledger), devices_(devices) {}

  void take(const Order& order);
  // Answers, at the start, the orders that an earlier worker took and did not answer.
  void tell_left(std::function<void(Status)> next);
  void carry_out_waiting();
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  // Refuses, at the stop, what waits; `one_done` is called for each.
  void refuse_waiting(const std::function<void()>& one_done);

 private:
  // True if this run has taken that entry of the stream already; else it is remembered.
  [[nodiscard]] bool was_heard(const Order& order);
  // `again`: it has waited already.
  void judge(const Order& order, bool again = false);
  void answer(const Order& order, const std::string& refusal);
  [[nodiscard]] bool has_to_wait(const Order& order) const;
  void let_wait(const Order& order, bool again);
  [[nodiscard]] bool is_proven(const Order& order) const;
  // True if the order is believed only if it is proven.
  [[nodiscard]] bool has_to_be_proven(const Order& order) const;
  [[nodiscard]] std::string why_not_believed(const Order& order) const;
  void remember_if_ahead(const Order& order);
  [[nodiscard]] std::string why_not(const Order& order) const;
  [[nodiscard]] bool proves_anew(const Order& order, const PciAddress& address);
  void use_up(const PciAddress& address, const Order& order, const std::string& refusal);

  const ConductorContext& context_;
  LedgerGate& ledger_;
  Devices& devices_;
  std::deque<Order> waiting_;
  std::set<std::pair<std::int64_t, std::string>> heard_;  // ids, by when they were written
  // Devices for which an order is on its way through ledger and Placement: until it is done, those
  // that follow wait.
  std::set<PciAddress> accepting_;
  std::map<PciAddress, WallMs> proven_;  // when the last one that was carried out was issued
  // Address, and when it was issued, of those that were refused because their clock was ahead, for
  // as long as a copy would be believed. This run's.
  std::set<std::pair<std::string, WallMs>> refused_ahead_;
};

}  // namespace reclaim
