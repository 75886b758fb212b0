#include "handlers/conductor/assessor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/policy_of.h"
#include "handlers/survey/cyborg_remarks.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/observed.h"
#include "handlers/survey/tenant.h"

namespace reclaim {
namespace {

// True if the device is not clean, and the conductor is not about to read or write its provider by
// itself.
bool is_left_to_others(const Record& record) {
  const Stage stage = record.stage;
  return record.cleanable() &&
         (stage == Stage::pending_cleaning || stage == Stage::error || stage == Stage::guarding ||
          stage == Stage::looking || may_last_long(stage));
}

// Nothing of the device moves by it, neither here nor in Placement; its record may be annotated.
bool changes_nothing(const Assessment& assessment) {
  return !assessment.first_seen && !assessment.trigger && !assessment.reserve &&
         assessment.reserve_too.empty() && !assessment.strike && !assessment.take_out &&
         !assessment.give_back && !assessment.taken_over && !assessment.unsure &&
         assessment.alarm.empty();
}

// True if the device is cleaned by steps, by the configuration of today or by that in which it was
// ours.
bool is_by_steps(const Sighting& sighting, const LedgerEntry* entry, const Record& record) {
  return sighting.by_steps || record.by_steps || (entry != nullptr && entry->by_steps);
}

}  // namespace

const Assessor::Seen& Assessor::seen(const PciAddress& address) const {
  static const Seen kNothing;
  const auto found = seen_.find(address);
  return found == seen_.end() ? kNothing : found->second;
}

void Assessor::assess(const Sighting& seen, std::optional<std::uint64_t> epoch) {
  Sighting sighting = seen;
  const PciAddress& address = sighting.address;
  const auto found = devices_.find(address);
  Device* device = found == devices_.end() ? nullptr : &found->second;
  Seen& seen_here = seen_[address];
  arqs_.fill_in(sighting, device == nullptr ? nullptr : &device->record);
  seen_here.providers.clear();
  for (const auto& row : sighting.rows) seen_here.providers.push_back(row.uuid);
  if (device != nullptr) {
    seen_here.other_kind = sighting.drive && !sighting.is_drive() &&
                           !is_by_steps(sighting, context_.on_ledger(address), device->record);
    seen_here.listed = reclaim::is_listed(sighting);
  }
  const bool met_anew = device != nullptr && seen_here.met_anew && !claims_.is_open(address);
  if (device != nullptr && device->quarantined && !met_anew) {
    looks_.counted(address);
    return reserve_quarantined(sighting);
  }
  if (device != nullptr && !met_anew && moved_meanwhile(sighting, epoch)) return;
  looks_.counted(address);
  const Record* record = device == nullptr || met_anew ? nullptr : &device->record;
  const LedgerEntry* line = know_standing(sighting, record);
  if (record != nullptr) know_what_was_seen(sighting);
  if (record != nullptr) know_who_followed(sighting, *record);
  know_of_switches(sighting);
  auto assessment = reclaim::assess(sighting, record, line, context_.survey.host,
                                    context_.ports.clock.now().wall);
  if (registration_.is_wanted(sighting, device == nullptr ? nullptr : &device->record)) {
    register_drive(sighting);
    seen_here.surveyed = true;
    return;
  }
  if (!assessment) return registration_.say_foreign(sighting);
  const Planning planning = planning_for(context_, sighting);
  const Record& base = assessment->first_seen ? *assessment->first_seen : device->record;
  resolve_policy(*assessment, base, sighting, planning);
  note_policy(*assessment, base, sighting, planning);
  if (sighting.remembered && !changes_nothing(*assessment)) {
    if (device != nullptr) looks_.came_to_nothing(address);
    return context_.look_afresh(address);
  }
  if (assessment->first_seen) {
    device = &devices_[address];
    const LedgerEntry* known = context_.on_ledger(address);
    const bool dirty = known != nullptr && known->dirty;
    ledger_.set_dirty_durable(address, dirty && !device->quarantined);
    fence_.need_first(address, dirty);
    device->quarantined = device->persisted = seen_here.met_anew = false;
    device->record = *assessment->first_seen;
    if (known != nullptr) device->record.epoch = std::max(device->record.epoch, known->epoch);
  }
  note_arq(*assessment, device->record, sighting);
  admissions_.see(address, sighting);
  seen_here.surveyed = true;
  seen_here.unsure = assessment->unsure;
  const std::string& refused = claims_.peek_refused(address);
  if (seen_here.unsure && !refused.empty()) assessment->waiting_for = not_peeked(refused);
  device->found = found_drive(sighting.drive);
  const bool listed_now =
      (assessment->facts.type == kTypeNvme || assessment->facts.by_steps == true) &&
      !device->record.cleanable();
  note_in_ledger(address, assessment->facts);
  if (device->record.stage == Stage::available) {
    assessment->facts.last_free = last_free(device->record);
  }
  act_on(sighting, *assessment, device->record);
  note_look(sighting, *assessment);
  if (listed_now) context_.want_survey(kLookAgainMs);
}

// Notes which ARQ the tenancy is of, and what that says of libvirt's managed mode.
void Assessor::note_arq(Assessment& assessment, const Record& record,
                        const Sighting& sighting) const {
  const auto& arq = sighting.holder ? sighting.holder : sighting.ended;
  const bool begins = assessment.trigger && begins_tenancy(*assessment.trigger);
  if (begins && record.flow == Flow::cyborg && !assessment.facts.arq) assessment.facts.arq = "";
  if (!assessment.facts.arq) return;
  assessment.facts.managed =
      arq && arq->managed ? *arq->managed : is_managed(context_.policies, sighting);
}

void Assessor::act_on(const Sighting& sighting, Assessment& assessment, const Record& record) {
  const PciAddress& address = sighting.address;
  if (context_.options.observes()) {
    only_observe(assessment, record);
    return apply(address, assessment);
  }
  const bool peeks = claims_.may_peek(record, assessment, sighting);
  apply(address, assessment);
  bind_reservation_.see(sighting, record);
  taken_out_.see(sighting, record, assessment);
  if (peeks) claims_.peek(address, *sighting.view);
}

// Told to Cyborg's agent, which must not take what an earlier survey saw for today's.
void Assessor::note_look(const Sighting& sighting, const Assessment& assessment) {
  LastLook& look = seen_[sighting.address].look;
  const auto& drive = sighting.drive;
  look.began = {context_.survey.began_at, context_.survey.began};
  const bool is_device = sighting.rows.size() == 1 && sighting.view && sighting.view->is_device();
  // Nobody reads an unmanaged drive where it stands. Whether somebody may have had it, its
  // provider's generation tells, and the assessment has asked it.
  const bool is_read =
      drive && (drive->identity || drive->counters || !is_managed(context_.policies, sighting));
  look.read = is_device && is_read;
  look.offered = look.read && !sighting.view->burned();
  const bool rests = context_.record_of(sighting.address).stage == Stage::available;
  if (rests && is_device && sighting.view->free() && !assessment.trigger && !assessment.unsure) {
    look.free_at = look.began.wall;
  }
  look.unrecorded = assessment.trigger.has_value();
  if (drive && drive->identity) look.capabilities = drive->identity->capabilities;
}

// It moved while the survey was reading: what was read may be older than what is recorded, and the
// orders for it wait for the next look. What is being cleaned reads for itself.
bool Assessor::moved_meanwhile(const Sighting& sighting, std::optional<std::uint64_t> epoch) {
  Device& device = devices_.at(sighting.address);
  if (epoch && *epoch == device.record.epoch && !device.saving) return false;
  const bool at_rest = !is_busy(device.record.stage);
  if (device.saving) {
    device.look_again = at_rest;
    if (device.saving_since <= context_.survey.began) reserve_unrecorded(sighting);
  } else if (at_rest) {
    context_.want_survey(kLookAgainMs);
    // Only what the drive tells is old as long as it is still being closed, which may be for ever.
    const bool stood = !epoch && device.record.stage_since < context_.survey.began_at;
    if (stood && sighting.view && !sighting.view->free()) reserve_unrecorded(sighting);
  }
  if (epoch && at_rest) looks_.came_to_nothing(sighting.address);
  return true;
}

void Assessor::apply(const PciAddress& address, const Assessment& assessment) {
  // Towards safety, and made again if it is made twice: this waits for no record, so that Redis
  // being away leaves no dirty device on offer.
  const Device& device = devices_.at(address);
  if (assessment.reserve) {
    reserver_.reserve(
        address, *assessment.facts.provider,
        assessment.trigger ? why_reserved(*assessment.trigger) : WhyReserved::offered);
  }
  for (const std::string& provider : assessment.reserve_too) reserver_.reserve(address, provider);
  const auto& sighting = admissions_.sighting(address);
  // A unit that somebody added stays on offer, and was told of.
  const bool has_more_units = sighting && sighting->view && !sighting->view->is_device();
  if (!assessment.reserve && assessment.reserve_too.empty() && !has_more_units) {
    reserver_.nothing_to_reserve(address);
    audits_.forget_last(address);
  }
  say_mismatch(address, assessment);
  if (fence_.is_needed_first(address) && sighting && sighting->view) {
    fence_.raise_first(address, *sighting->view);
  }
  if (assessment.trigger) {
    context_.post(address, Event{*assessment.trigger, 0, assessment.facts});
    return;
  }
  if (inbox_.write_missing_line(address)) return;
  if (assessment.strike && !certificates_.is_owed(device.record)) {
    ledger_.strike(address, device.record.certificate_id);
  }
  admissions_.annotate(address, assessment);
  if (device.record.stage == Stage::pending_cleaning && !device.saving)
    admissions_.try_admit(address);
}

// Towards safety only: what the ledger knows to be dirty must not be offered.
void Assessor::reserve_quarantined(const Sighting& sighting) {
  const LedgerEntry* known = context_.on_ledger(sighting.address);
  const bool dirty = known != nullptr && known->dirty && !seen_[sighting.address].other_kind;
  const bool cleanable = sighting.is_drive() || sighting.by_steps;
  const bool bound = sighting.ours && cleanable && sighting.rows.size() == 1 &&
                     sighting.rows.front().owner_cyborg && *sighting.ours && sighting.view &&
                     (sighting.holder || !sighting.view->free());
  if ((dirty || bound) && sighting.view && sighting.view->is_device() && !sighting.view->burned()) {
    reserver_.reserve(sighting.address, sighting.view->uuid);
  }
}

// The half of an assessment that goes towards safety waits for no record: one that was being saved
// when the survey began may not be for long.
void Assessor::reserve_unrecorded(const Sighting& sighting) {
  const Device& device = devices_.at(sighting.address);
  const bool taken = sighting.view && !sighting.view->free();
  if (taken && context_.stays_ours(sighting.address) && device.record.stage == Stage::available &&
      device.record.cleanable()) {
    ledger_.note_offered(sighting.address, [] {});
  }
  const auto& remembered = context_.ports.ledger.entries();
  const auto entry = remembered.find(sighting.address);
  const Record& record = device.unsaved ? *device.unsaved : device.record;
  if (must_be_reserved(sighting, record, entry == remembered.end() ? nullptr : &entry->second,
                       context_.survey.host, context_.ports.clock.now().wall)) {
    reserver_.reserve(sighting.address, sighting.view->uuid);
  }
}

void Assessor::register_drive(const Sighting& sighting) {
  const PciAddress address = sighting.address;
  const auto found = devices_.find(address);
  Device* device = found == devices_.end() ? nullptr : &found->second;
  const nvme::DriveFacts& drive = *sighting.drive;
  if (device == nullptr) {
    const auto entry = context_.ports.ledger.entries().find(address);
    const bool remembered = entry != context_.ports.ledger.entries().end();
    Record record = first_record(sighting, remembered ? &entry->second : nullptr,
                                 context_.survey.host, context_.ports.clock.now().wall);
    record.flow = Flow::cyborg;
    device = &devices_[address];
    device->record = std::move(record);
    ledger_.set_dirty_durable(address, remembered && entry->second.dirty);
  }
  device->found = found_drive(drive);
  admissions_.forget_sighting(address);
  if (device->saving || registration_.is_under_way(address)) return;
  if (device->record.stage == Stage::available) {
    Facts facts;
    facts.detail = "Placement has no provider for it";
    facts.flow = Flow::cyborg;
    // One whose provider Cyborg un-reserved is known to it, and it does not do so again by itself.
    const LedgerEntry* known = context_.on_ledger(address);
    const bool had_none =
        device->record.provider.empty() && (known == nullptr || known->provider.empty());
    facts.handed_over = context_.options.agent_door && (device->record.handed_over || had_none);
    if (drive.identity && device->record.serial.empty()) facts.serial = drive.identity->serial;
    return context_.post(address, Event{Trigger::unregistered_seen, 0, std::move(facts)});
  }
  if (inbox_.write_missing_line(address) || device->record.stage == Stage::error) return;
  registration_.begin(device->record, drive);
}

// Finds out whether the drive is the one on record, and the ledger's line that speaks of it; null:
// none does.
const LedgerEntry* Assessor::know_standing(Sighting& sighting, const Record* record) const {
  const auto& remembered = context_.ports.ledger.entries();
  sighting.standing = standing_of(sighting, record, remembered, context_.survey.seen_drives,
                                  context_.options.boot_id);
  const LedgerEntry* line = line_of_drive(sighting, remembered);
  const LedgerEntry* own = context_.on_ledger(sighting.address);
  sighting.standing.brought_dirt = line != nullptr && line != own;
  if (sighting.standing.brought_dirt && own != nullptr) {
    sighting.standing.home_serial = serial_of(*own);
    sighting.standing.home_enrolment = own->enrolment;
  }
  return line;
}

// Notes a switch of Cyborg's that missed its device, here or at another address. Which device it
// hit instead cannot be told.
void Assessor::know_of_switches(Sighting& sighting) {
  const bool astray = is_disable_astray(sighting);
  if (astray && !std::exchange(seen_[sighting.address].disable_astray, astray)) {
    context_.ports.log.error(
        log_name::kCyborg,
        fmt::format("{}: Cyborg calls it maintaining and its provider is not reserved: its disable "
                    "may have hit another device",
                    to_string(sighting.address)));
  }
  seen_[sighting.address].disable_astray = astray;
  sighting.disable_astray = std::any_of(seen_.begin(), seen_.end(), [&sighting](const auto& each) {
    return each.first != sighting.address && each.second.disable_astray;
  });
}

// Notes since when another consumer than the one on record has it, of which it is not known whose
// it is.
void Assessor::know_who_followed(Sighting& sighting, const Record& record) {
  Seen& here = seen_[sighting.address];
  if (record.stage != Stage::allocated || !sighting.view) return here.followed_by.clear();
  if (sighting.view->free()) {
    sighting.followed_by = here.followed_by;
    return;
  }
  if (tenant_of(sighting, record) != Tenant::unknown) return here.followed_by.clear();
  const std::string& consumer = sighting.view->consumers.front();
  if (std::exchange(here.followed_by, consumer) != consumer) {
    here.followed_since = context_.ports.clock.now().mono;
    context_.want_survey(kMoveMs);
  }
  // This survey's answers are from its beginning, or later.
  sighting.followed_for_ms = context_.survey.began.ms - here.followed_since.ms;
}

// Counts for one survey.
void Assessor::know_what_was_seen(Sighting& sighting) {
  const auto peeked = claims_.take_peeked(sighting.address, sighting.view);
  if (!peeked || !sighting.drive || sighting.drive->counters) return;
  if (sighting.standing.match == nvme::Match::different) return;  // they are another drive's
  sighting.drive->counters = *peeked;
  sighting.peeked = true;
}

// A line of an earlier boot says where the drive stood then, and one of before the host showed the
// device may be of another kind. Where there is no line the record alone has it, as long as the
// device was never dirty.
void Assessor::note_in_ledger(const PciAddress& address, const Facts& facts) {
  const auto line = context_.ports.ledger.entries().find(address);
  if (line == context_.ports.ledger.entries().end()) return;
  LedgerEntry entry = line->second;
  const Record& record = context_.record_of(address);
  if (record.cleanable()) entry.by_steps = facts.by_steps.value_or(record.by_steps);
  if (facts.boot_id && !facts.boot_id->empty()) {
    entry.hardware = facts.hardware.value_or(entry.hardware);
    entry.boot_id = *facts.boot_id;
  }
  if (entry == line->second) return;
  context_.ports.ledger.put(address, entry, [this, address](Status kept) {
    if (kept || context_.stopping) return;
    context_.ports.log.error(log_name::kConductor,
                             to_string(address) + ": the ledger cannot be written",
                             {{"why", kept.error().what}});
  });
}

// Told once, until it is another one, or over.
void Assessor::say_mismatch(const PciAddress& address, const Assessment& assessment) {
  if (!assessment.alarm.empty()) {
    context_.ports.log.error(log_name::kCyborg,
                             fmt::format("{}: {}", to_string(address), assessment.alarm));
  }
  if (seen_[address].mismatch_told == assessment.mismatch) return;
  seen_[address].mismatch_told = assessment.mismatch;
  if (assessment.mismatch.empty()) return;
  context_.ports.log.warning(log_name::kCyborg,
                             fmt::format("{}: {}", to_string(address), assessment.mismatch));
}

bool Assessor::is_watched(const PciAddress& address) const {
  if (context_.survey.not_ours) return false;
  const Device& device = devices_.at(address);
  if (!device.quarantined) {
    const Record& record = device.record;
    // Whoever makes its provider again makes it unreserved, and its tenant may be gone by then.
    const bool is_gone = record.cleanable() && record.stage == Stage::allocated &&
                         seen(address).surveyed && seen(address).providers.empty();
    return context_.stays_ours(address) && (is_left_to_others(record) || is_gone);
  }
  const auto entry = context_.ports.ledger.entries().find(address);
  return entry != context_.ports.ledger.entries().end() && entry->second.dirty &&
         !seen(address).other_kind;
}

void Assessor::see_on_offer(const PciAddress& address, const std::string& provider) {
  if (!is_watched(address) || !reserver_.reserve(address, provider)) return;
  const Device& device = devices_.at(address);
  if (device.quarantined || is_busy(device.record.stage)) return;
  Facts facts;
  if (device.record.stage != Stage::allocated) facts.detail = device.record.waiting_for;
  context_.post(address, Event{Trigger::reserved_dropped, 0, std::move(facts)});
}

std::vector<Watched> Assessor::to_be_watched() const {
  std::vector<Watched> out;
  for (const auto& [address, device] : devices_) {
    if (!is_watched(address)) continue;
    const Record& record = device.record;
    const std::vector<std::string>& providers = seen(address).providers;
    // Cyborg's agent makes the UUID of a provider from its name.
    const bool generation_tells = record.flow == Flow::nova && providers.size() <= 1;
    for (const std::string& provider : providers) {
      out.push_back({address, provider, record.provider_name, generation_tells});
    }
    if (providers.empty() && !record.provider.empty()) {
      out.push_back({address, record.provider, record.provider_name, generation_tells});
    }
  }
  return out;
}

}  // namespace reclaim
