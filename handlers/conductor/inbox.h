// Each device's inbox: one event at a time through the reducer, the record made durable, and only
// then the effect carried out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "handlers/conductor/certificate_keeper.h"
#include "handlers/conductor/context.h"
#include "handlers/conductor/ledger_gate.h"
#include "handlers/conductor/record_writer.h"

namespace reclaim {

// Thread: the loop's.
class Inbox final {
 public:
  struct Hooks {
    // The event asks for what is over; it is dropped.
    std::function<bool(const PciAddress& address, const Event& event)> is_over;
    // Adds to the event's facts what was heard meanwhile of the tenancy on record.
    std::function<void(const PciAddress& address, Event& event)> add_heard;
    // The record that the event made is durable: its effect is due. `detail`: the event's.
    std::function<void(const PciAddress& address, const Record& before, const Update& update,
                       const std::string& detail)>
        transitioned;
    // The inbox has been worked through as far as it can be now; a save may be under way.
    std::function<void(const PciAddress& address)> at_rest;
  };

  Inbox(const ConductorContext& context, DeviceTable& devices, RecordWriter& writer,
        LedgerGate& ledger, CertificateKeeper& certificates, Hooks hooks)
      : context_(context),
        devices_(devices),
        writer_(writer),
        ledger_(ledger),
        certificates_(certificates),
        hooks_(std::move(hooks)) {}

  // Dropped for a device that is unknown or quarantined, and after the stop.
  void post(const PciAddress& address, Event event);
  void pump(const PciAddress& address);
  // True if the ledger lacked the line of a dirty device, or has an older one than what may have
  // come since: the line is written now, for nothing else that moves would write it again.
  bool write_missing_line(const PciAddress& address);
  // An event waits that ends the cleaning: nothing more is begun before it.
  [[nodiscard]] bool ends_are_waiting(const PciAddress& address) const;
  // Events that meant nothing in their stage, or to another epoch.
  [[nodiscard]] std::uint64_t stale_events() const { return stale_events_; }

 private:
  const ConductorContext& context_;
  DeviceTable& devices_;
  RecordWriter& writer_;
  LedgerGate& ledger_;
  CertificateKeeper& certificates_;
  Hooks hooks_;
  std::uint64_t stale_events_ = 0;
};

}  // namespace reclaim
