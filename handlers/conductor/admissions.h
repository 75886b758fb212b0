// Admits devices to a cleaning, one at a time and no more than the host's limit, on what the last
// survey saw of each; a device that is not admitted is told why in its record.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "handlers/arq/book.h"
#include "handlers/conductor/audit_keeper.h"
#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/record_writer.h"
#include "handlers/conductor/write_fence.h"

namespace reclaim {

// Thread: the loop's.
class Admissions final {
 public:
  // `maintenance_begins`: it was ordered, and the record does not say so yet.
  Admissions(const ConductorContext& context, DeviceTable& devices, LedgerGate& ledger,
             RecordWriter& writer, CertificateKeeper& certificates, WriteFence& fence,
             const ArqBook& book, AuditKeeper& audits,
             std::function<bool(const PciAddress& address)> maintenance_begins)
      : context_(context),
        devices_(devices),
        ledger_(ledger),
        writer_(writer),
        certificates_(certificates),
        fence_(fence),
        book_(book),
        audits_(audits),
        maintenance_begins_(std::move(maintenance_begins)) {}

  // Keeps what the survey going on saw: the next admission decides on it, and only one does.
  void see(const PciAddress& address, const Sighting& sighting) {
    waiting_[address].sighting = sighting;
  }
  void forget_sighting(const PciAddress& address) { waiting_[address].sighting.reset(); }
  [[nodiscard]] const std::optional<Sighting>& sighting(const PciAddress& address) {
    return waiting_[address].sighting;
  }
  // Its provider was written to since.
  void provider_moved(const PciAddress& address, const placement::ProviderView& view);

  void try_admit(const PciAddress& address);
  // Adds what a survey, or a refusal, says to the record without moving it.
  void annotate(const PciAddress& address, const Assessment& assessment);
  // A drive that waits for one is surveyed again.
  void thread_is_free();
  // A drive waits for one of them, and finds none free.
  [[nodiscard]] bool is_one_waiting_for_thread() const;
  // It was ordered, and the record does not say so yet.
  [[nodiscard]] bool is_maintenance_due(const PciAddress& address) const {
    return maintenance_begins_(address);
  }
  // Its record has moved.
  void moved(const PciAddress& address) { waiting_[address].admitting = false; }

  // Hands over the provider that the admission decided on, for the recheck; once.
  [[nodiscard]] std::optional<placement::ProviderView> take_admitted_view(
      const PciAddress& address) {
    return std::exchange(waiting_[address].admitted_view, std::nullopt);
  }
  // The tenancies by ARQ that the cleaning ends; once.
  [[nodiscard]] std::vector<PastTenancy> take_arqs_over(const PciAddress& address) {
    return std::exchange(waiting_[address].arqs_over, {});
  }

 private:
  struct Waiting {
    std::optional<Sighting> sighting;
    bool admitting = false;   // admitted, and its record does not say so yet
    bool for_thread = false;  // admitted but for the limit of cleanings
    std::optional<placement::ProviderView> admitted_view;
    std::vector<PastTenancy> arqs_over;
  };

  [[nodiscard]] bool is_admitting(const PciAddress& address) const {
    const auto waiting = waiting_.find(address);
    return waiting != waiting_.end() && waiting->second.admitting;
  }
  [[nodiscard]] std::size_t busy_count() const;
  void forget_earlier_life(const PciAddress& address);

  const ConductorContext& context_;
  DeviceTable& devices_;
  LedgerGate& ledger_;
  RecordWriter& writer_;
  CertificateKeeper& certificates_;
  WriteFence& fence_;
  const ArqBook& book_;
  AuditKeeper& audits_;
  std::function<bool(const PciAddress& address)> maintenance_begins_;
  std::map<PciAddress, Waiting> waiting_;
};

}  // namespace reclaim
