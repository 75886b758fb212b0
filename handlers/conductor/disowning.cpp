#include "handlers/conductor/disowning.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/conductor/audit_trail.h"
#include "handlers/conductor/policy_of.h"
#include "handlers/survey/device_kind.h"

namespace reclaim {

std::string Disowning::why_not(const PciAddress& address) const {
  const Device& device = context_.devices.at(address);
  const Record& record = device.record;
  if (!record.cleanable() && !remembers(context_.on_ledger(address))) {
    return "it is not Reclaim's: nothing is remembered of it that could be struck";
  }
  if (is_busy(record.stage)) {
    return fmt::format("it is being cleaned: `reclaim device abort {}`, then issue the order again",
                       to_string(address));
  }
  const auto policy = policy_of(context_.policies, record);
  if (policy || assessor_.is_listed(address)) {
    return fmt::format(
        "a device_spec entry still matches it{}: remove the entry, reload the worker, then issue "
        "the order again",
        policy && !policy->origin.entry.empty() ? " (" + policy->origin.entry + ")" : "");
  }
  if (certificates_.is_owed(record)) {
    return "the certificate of its last release is not sealed yet: the log says why; issue the "
           "order again when it is";
  }
  if (device.saving || claims_.is_open(address)) {
    return "its record is being written, or its drive is still open: issue the order again in a "
           "moment";
  }
  return {};
}

void Disowning::begin(const PciAddress& address, const std::string& said,
                      std::function<void()> done) {
  const Record before = context_.record_of(address);
  Record next = let_go(before, context_.devices.at(address).found, context_.options.boot_id,
                       context_.ports.clock.now().wall);
  writer_.decide(address, next);
  fence_.need_first(address, false);
  admissions_.forget_sighting(address);
  JournalEntry entry{to_string(address),
                     std::string(to_string(before.stage)),
                     "disowned",
                     std::string(to_string(next.stage)),
                     "no device_spec entry matches it, and an operator lets it go as it is",
                     said,
                     next.updated_at};
  const auto saved = [this, address, before, said, done = std::move(done)] {
    admissions_.moved(address);
    assessor_.moved(address);
    context_.ports.log.warning(
        log_name::kConductor,
        fmt::format("{} is not Reclaim's any more: neither Placement nor the device was touched",
                    to_string(address)),
        {{"said", said}});
    AuditEntry told = audit_entry(AuditEvent::disowned, before, said);
    told.at = context_.record_of(address).updated_at;
    audits_.keep(address, {told}, true);
    done();
  };
  RecordChange change{std::move(next), std::move(entry), IfUnsaved::try_again, saved};
  ledger_.let_go(address, [this, address, change] { writer_.save(address, change); });
}

}  // namespace reclaim
