#include "handlers/survey/taken.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "handlers/survey/tenant.h"

namespace reclaim {
namespace {

constexpr std::string_view kTakenInError = "in error, and ";

bool is_a_row_of_cyborgs(const Sighting& sighting, const std::string& provider) {
  return std::any_of(sighting.rows.begin(), sighting.rows.end(),
                     [&](const placement::ProviderRow& row) {
                       return row.uuid == provider && row.owner_cyborg && !row.one_time_use;
                     });
}

// A drive is on offer by whichever provider is not reserved.
void reserve_each(Assessment& out, const Sighting& sighting) {
  for (const placement::ProviderView& view : sighting.views) {
    if (view.is_device() && !view.burned()) out.reserve_too.push_back(view.uuid);
  }
}

// Somebody has it by one of them, or has left it burned, or has it and is in no allocation.
bool is_had(const Record& base, const Sighting& sighting) {
  const auto had = [&base](const placement::ProviderView& view) {
    return !view.free() || (view.is_device() && view.burned() && !base.held);
  };
  return (sighting.drive && !sighting.drive->guest.empty()) ||
         std::any_of(sighting.views.begin(), sighting.views.end(), had);
}

// Judges an address of several providers: whoever has the device by one of them may write to it.
void assess_had_by_several(Assessment& out, const Record& base, const LedgerEntry* ledger,
                           const Sighting& sighting) {
  reserve_each(out, sighting);
  const bool reserved = out.reserve_too.empty();
  const auto taken = std::find_if(sighting.views.begin(), sighting.views.end(),
                                  [](const auto& view) { return !view.free(); });
  if (taken == sighting.views.end()) {
    if (base.stage != Stage::available) return;
    out.trigger = Trigger::reserved_dropped;
    out.facts.detail = out.waiting_for;
    return;
  }
  const std::string& consumer = taken->consumers.front();
  if (base.stage == Stage::error && !base.erase_begun && base.consumer() == consumer) return;
  out.trigger = Trigger::allocation_seen;
  out.facts.name_tenant(consumer, InstanceSource::allocation);
  out.facts.detail = fmt::format("consumer {} of provider {}", consumer, taken->uuid);
  if (is_known_dirty(base, ledger)) raise_alarm(out, base, out.facts.detail, reserved);
}

}  // namespace

bool outlives(const Record& record, const LedgerEntry& ledger) {
  return !record.certificate_id.empty() && record.certificate_at >= ledger.dirty_since;
}

bool is_known_dirty(const Record& record, const LedgerEntry* ledger) {
  if (!record.cleanable() || record.stage == Stage::allocated) return false;
  if (record.stage != Stage::available) return true;
  return ledger != nullptr && ledger->dirty && !outlives(record, *ledger);
}

void raise_alarm(Assessment& out, const Record& record, const std::string& who, bool reserved) {
  std::string why = record.stage == Stage::error
                        ? std::string("it is in error")
                        : fmt::format("it is {}", to_string(device_state(record.stage)));
  if (record.stage == Stage::available) why = "it is remembered as dirty";
  if (record.stage == Stage::allocated) {
    why = record.instance + (record.consumer().empty()
                                 ? " had it, as its ARQ said, and nobody erased it since"
                                 : " had it, and nobody erased it since");
  }
  out.alarm = fmt::format("bound by {} although {}: {}; {}", who, why, kNotKnownToBeClean,
                          reserved ? "it is reserved" : "it is reserved again now");
  out.facts.detail = out.alarm;
  out.facts.last_error = out.alarm;
}

Assessment given_in_cleaning(const Record& record, const placement::ProviderView& view) {
  const std::string& consumer = view.consumers.front();
  Assessment out;
  raise_alarm(out, record, fmt::format("consumer {}", consumer), view.burned());
  out.facts.name_tenant(consumer, InstanceSource::allocation);
  return out;
}

bool has_anothers_dirt(const Record& record) {
  return record.stage == Stage::allocated &&
         record.last_error.find(kNotKnownToBeClean) != std::string::npos;
}

std::string note_of_taken(const std::string& who) {
  return fmt::format("{}{} holds it", kTakenInError, who);
}

bool is_taken_in_error(const Record& record) {
  const bool not_looked_at_since =
      record.tenancy_seen_at.ms > 0 && record.tenancy_seen_at == record.updated_at;
  return record.stage == Stage::error &&
         (not_looked_at_since || record.waiting_for.starts_with(kTakenInError));
}

void name_tenant(Facts& facts, const Sighting& sighting) {
  const std::string& consumer = sighting.view->consumers.front();
  facts.name_tenant(consumer, InstanceSource::allocation);
  const placement::Consumer* told = told_of(sighting, consumer);
  if (told == nullptr || !told->holds) return;
  facts.project = told->project;
  facts.user = told->user;
}

void assess_tenant(Assessment& out, const Record& record, const Sighting& sighting) {
  const std::string& consumer = sighting.view->consumers.front();
  const bool burned = sighting.view->burned();
  Facts tenant;
  name_tenant(tenant, sighting);
  switch (tenant_of(sighting, record)) {
    case Tenant::moving:
      out.facts.migration = consumer;
      [[fallthrough]];
    case Tenant::same:
      if (consumer != record.migration && !out.facts.migration) {
        out.facts.name_tenant(consumer, InstanceSource::allocation);
      }
      if (record.project.empty()) out.facts.project = tenant.project;
      if (record.user.empty()) out.facts.user = tenant.user;
      break;
    case Tenant::another:
      out.facts.instance = tenant.instance;
      out.facts.instance_source = tenant.instance_source;
      out.facts.project = tenant.project;
      out.facts.user = tenant.user;
      out.trigger = Trigger::passed_on;
      return raise_alarm(out, record, fmt::format("consumer {}", consumer), burned);
    case Tenant::unknown:
      out.waiting_for = fmt::format(
          "consumer {} has it, and {} had it: Placement does not tell yet whether it is its "
          "migration, or an instance that got the drive before it was erased",
          consumer, record.instance);
      break;
  }
  if (!burned) out.trigger = Trigger::reserved_dropped;
}

void assess_allocated(Assessment& out, const Record& record, const LedgerEntry* ledger,
                      const Sighting& sighting) {
  const placement::ProviderView& view = *sighting.view;
  const Stage stage = record.stage;
  const std::string& consumer = view.consumers.front();
  // Nova burns what it gives away; where it did not, nobody else must be given it.
  out.reserve = !view.burned() && stage != Stage::available;
  if (stage == Stage::allocated) {
    out.facts.detail = fmt::format("consumer {}", consumer);
    return assess_tenant(out, record, sighting);
  }
  name_tenant(out.facts, sighting);
  out.facts.detail = fmt::format("consumer {}", consumer);
  if (stage == Stage::available || stage == Stage::pending_cleaning || is_busy(stage)) {
    out.trigger = Trigger::allocation_seen;
  } else if (stage == Stage::error) {
    // Its erasure, if one was begun, is no longer what this drive's content follows from.
    if (record.erase_begun || record.consumer() != consumer) out.trigger = Trigger::allocation_seen;
    out.waiting_for = note_of_taken(consumer);
  }
  if (out.trigger == Trigger::allocation_seen && is_known_dirty(record, ledger)) {
    out.reserve = !view.burned();
    raise_alarm(out, record, fmt::format("consumer {}", consumer), view.burned());
  }
}

void assess_several(Assessment& out, const Record& base, const LedgerEntry* ledger,
                    const Sighting& sighting) {
  out.waiting_for = fmt::format("{} providers have this address ({}, {}): delete the wrong one",
                                sighting.rows.size(), sighting.rows[0].name, sighting.rows[1].name);
  const bool had = base.stage == Stage::available && base.cleanable() && is_had(base, sighting);
  if (had || is_known_dirty(base, ledger)) {
    return assess_had_by_several(out, base, ledger, sighting);
  }
  // Nobody else gets by another provider what a tenant has, or has left.
  if (base.stage == Stage::allocated && base.cleanable()) return reserve_each(out, sighting);
  // Two pools may offer it now; the one that is ours to write does not.
  if (base.flow == Flow::cyborg && base.stage == Stage::available && !base.held &&
      base.cleanable() && is_a_row_of_cyborgs(sighting, base.provider)) {
    out.facts.provider = base.provider;
    out.reserve = true;
    out.trigger = Trigger::reserved_dropped;
    out.facts.detail = out.waiting_for;
  }
}

std::string mismatch_of(const Record& record, const Assessment& assessment,
                        const placement::ProviderView& view) {
  const placement::Inventory& inventory = view.inventories.front();
  const bool available = record.stage == Stage::available;
  if (view.burned() != available) return {};
  if (assessment.waiting_for == kHandedOver) return {};
  if (available && !view.free()) return {};  // reserved at its bind; this survey records that
  return fmt::format("device_state is {}, but {} of {} are reserved in Placement: {}",
                     to_string(device_state(record.stage)), inventory.reserved, inventory.total,
                     !available           ? "it is reserved again"
                     : assessment.trigger ? "it is not known to be clean"
                                          : "held, and left as it is");
}

}  // namespace reclaim
