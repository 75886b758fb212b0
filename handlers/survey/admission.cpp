#include "handlers/survey/admission.h"

#include <fmt/core.h>

#include <algorithm>

#include "handlers/survey/admitted_plan.h"
#include "handlers/survey/cyborg_remarks.h"
#include "handlers/survey/device_kind.h"
#include "handlers/survey/function_plan.h"
#include "handlers/survey/hold.h"
#include "handlers/survey/identity.h"
#include "handlers/survey/reserved_by.h"
#include "handlers/survey/strictest.h"
#include "handlers/survey/taken.h"
#include "handlers/survey/unseen.h"
#include "state/base/uuid.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

Error refuse(std::string why) {
  return Error{Errc::refused, std::move(why)};
}

// Notes what the drive says of itself once; later differences are the guards' business. The serial
// of a drive that may be another is not learnt.
void describe_drive(const nvme::DriveFacts& drive, bool is_the_one, Record& record) {
  record.vendor_id = fmt::format("{:04x}", drive.vendor_id);
  record.product_id = fmt::format("{:04x}", drive.device_id);
  record.mac = drive.mac;
  if (!drive.identity) return;
  if (record.serial.empty() && is_the_one) record.serial = drive.identity->serial;
  record.model = drive.identity->model;
  record.firmware = drive.identity->firmware;
}

// The owner of the device, by its provider's traits; where they name both or nobody, as it was.
Flow flow_of(const Sighting& sighting, Flow otherwise) {
  if (sighting.rows.size() != 1) return otherwise;
  const placement::ProviderRow& row = sighting.rows.front();
  if (row.one_time_use == row.owner_cyborg) return otherwise;
  return row.owner_cyborg ? Flow::cyborg : Flow::nova;
}

// A device of Cyborg's that an ARQ binds, or an instance has in Placement. Today's Cyborg does not
// reserve it, and the specification's does: where it is not reserved, it is at once.
void assess_bound(Assessment& out, const Record& record, const LedgerEntry* ledger,
                  const Sighting& sighting) {
  const placement::ProviderView& view = *sighting.view;
  const Stage stage = record.stage;
  const std::string who = view.free() ? fmt::format("ARQ {}", sighting.holder->uuid)
                                      : fmt::format("consumer {}", view.consumers.front());
  const bool other_tenant = view.free() ? record.arq != sighting.holder->uuid
                                        : record.consumer() != view.consumers.front();
  out.facts.detail = who;
  out.reserve = !view.burned();
  if (stage == Stage::allocated && !view.free()) return assess_tenant(out, record, sighting);
  if (!view.free()) name_tenant(out.facts, sighting);
  // Its certificate names whom Placement showed, and admission says what it waits for.
  const bool stays = stage == Stage::pending_cleaning && view.free() && !record.consumer().empty();
  if (stage == Stage::allocated || stays) {
    if (!view.burned()) out.trigger = Trigger::reserved_dropped;
    if (stays) return;
    out.waiting_for = fmt::format(
        "{} binds it, and Placement shows no allocation; if it is not in use, `reclaim device "
        "clean`",
        who);
    return;
  }
  if (stage == Stage::error) {
    out.waiting_for = note_of_taken(who);
    if (record.erase_begun || other_tenant) out.trigger = Trigger::allocation_seen;
  } else {
    out.trigger = Trigger::allocation_seen;
  }
  if (out.trigger && view.free()) {
    out.facts.name_tenant(sighting.holder->instance_uuid, InstanceSource::arq);
  }
  if (!out.trigger || !is_known_dirty(record, ledger)) return;
  // The error that an operator was told of stands, whatever the bus says.
  if (stage == Stage::error && view.free()) return;
  raise_alarm(out, record, who, view.burned());
}

// Reserved by somebody's hand as far as is known, and an ARQ that nothing else speaks for is said
// to bind it: the hold stands.
bool stays_held(const Record& record, const LedgerEntry* ledger, const Sighting& sighting) {
  return record.stage == Stage::available && sighting.view->burned() &&
         !is_proven(*sighting.holder) && cyborg_hold(record, ledger, sighting) != Hold::dirty;
}

// A device that is neither a drive of ours nor cleaned by steps follows its allocation and is
// otherwise left alone: its reservation is the business of Nova, or of Cyborg's conductor.
void assess_uncleanable(Assessment& out, const Record& record, const LedgerEntry* ledger,
                        const Sighting& sighting) {
  if (record.flow == Flow::nova) out.waiting_for = kNotListed;
  if (!sighting.view) {
    out.waiting_for = sighting.problem;
    return;
  }
  const placement::ProviderView& view = *sighting.view;
  out.facts.provider = view.uuid;
  out.facts.provider_name = sighting.rows.front().name;
  if (view.inventories.size() == 1) {
    out.facts.resource_class = view.inventories.front().resource_class;
  }
  const bool bound = !view.free() || sighting.holder;
  if (!bound && ledger != nullptr &&
      reserved_by(ledger->reserved_at_bind, ledger->asked, view) == ReservedBy::unknown) {
    out.waiting_for = std::string(kReservedByWhom) + ", un-reserve it in Placement by hand";
  }
  if (bound == (record.stage == Stage::allocated)) return;
  out.trigger = bound ? Trigger::allocation_seen : Trigger::gone_uncleanable;
  if (!view.free()) out.facts.name_tenant(view.consumers.front(), InstanceSource::allocation);
  if (bound) {
    out.facts.detail = view.free() ? fmt::format("ARQ {}", sighting.holder->uuid)
                                   : fmt::format("consumer {}", view.consumers.front());
  }
}

// Reserved by hand, or so it seems, and another drive was put there since: what is known of the one
// on record tells nothing of it.
std::string exchanged_note(const Sighting& sighting) {
  return fmt::format(
      "{}: it stays reserved; its hold over, it waits for `reclaim device set {} --enrol`",
      sighting.standing.why, to_string(sighting.address));
}

// Ok if Cyborg does not keep the device from being cleaned, where it can be asked.
Status cyborg_allows(const Sighting& sighting, const Record& record) {
  if (sighting.holder) {
    return refuse(fmt::format("ARQ {} binds it; if it is not in use, `reclaim device clean`",
                              sighting.holder->uuid));
  }
  if (sighting.cyborg_silent) {
    return refuse(
        "Cyborg's API does not answer, so it is unknown whether an ARQ binds it or Cyborg has "
        "it under maintenance");
  }
  if (sighting.cyborg_status.value_or(record.cyborg_status) == kMaintaining) {
    return refuse("Cyborg's status of it is maintaining: enable it there");
  }
  return Ok{};
}

// Reserved by this worker when maintenance began, or when somebody may have had it, and not known
// to have been touched. When that is over it goes back as it is, if the certificate of its last
// erasure stands, and is cleaned if nothing proves that it does.
void assess_taken_out(Assessment& out, const Record& record, const LedgerEntry& ledger,
                      const Sighting& sighting, Hold hold) {
  out.held = true;
  if (record.maintenance) return;
  if (record.flow == Flow::cyborg) {
    if (const Status allowed = cyborg_allows(sighting, record); !allowed) {
      out.waiting_for = allowed.error().what;
      return;
    }
  }
  if (hold == Hold::unknown && is_told_by_a_claim(record, sighting)) {
    out.unsure = true;
    out.waiting_for = "reserved until its counters tell whether somebody had it";
    return;
  }
  out.give_back = hold == Hold::held && record.is_drive() && !record.certificate_id.empty() &&
                  record.certified_host_writes && sighting.standing.match == nvme::Match::same &&
                  !(record.flow == Flow::cyborg && missed_tenancy(record, sighting)) &&
                  !is_in_question(record, &ledger, sighting);
  if (out.give_back) {
    out.host_reads = sighting.drive->counters->host_reads;
    return;
  }
  out.held = false;
  out.trigger = Trigger::dirty_seen;
  out.facts.detail = "it was taken out of the pool, and no certificate says that it is clean";
}

// True if this worker reserved it without a cleaning, or may have: an answer was lost.
bool assess_own(Assessment& out, const Record& record, const LedgerEntry& ledger,
                const Sighting& sighting, Hold hold) {
  switch (reserved_by(ledger.taken_out, ledger.asked, *sighting.view)) {
    case ReservedBy::us:
      assess_taken_out(out, record, ledger, sighting, hold);
      return true;
    case ReservedBy::unknown:
      out.held = out.unsure = true;
      out.waiting_for = std::string(kReservedByWhom) + std::string(kCleanInDoubt);
      return true;
    case ReservedBy::others:
    case ReservedBy::us_late:
      return false;
  }
  return false;
}

void assess_burned(Assessment& out, const Record& record, const LedgerEntry* ledger,
                   const Sighting& sighting, const HostView& host, WallMs now) {
  if (record.stage == Stage::allocated) {
    out.trigger = Trigger::dirty_seen;
    if (!sighting.followed_by.empty()) out.facts.migration = sighting.followed_by;
    return;
  }
  if (record.stage != Stage::available) return;
  const bool cyborg = record.flow == Flow::cyborg;
  const bool dirty_line = ledger != nullptr && ledger->dirty && !sighting.standing.brought_dirt;
  const Hold hold =
      cyborg ? cyborg_hold(record, ledger, sighting) : operator_hold(record, ledger, sighting);
  if (ledger != nullptr && hold != Hold::dirty && !sighting.standing.brought_dirt &&
      assess_own(out, record, *ledger, sighting, hold)) {
    out.strike = dirty_line;
    return;
  }
  if (record.handed_over && hold != Hold::dirty &&
      doubt_of_hold(record, ledger, sighting, now).empty() &&
      sighting.standing.match != nvme::Match::different) {
    out.waiting_for = kHandedOver;
    out.unsure = hold == Hold::unknown;  // until its counters are read, it is not told as clean
    out.strike = dirty_line;
    return;
  }
  if (!cyborg && !record.held && hold != Hold::dirty &&
      may_have_had_a_tenant(record.rest, sighting)) {
    return assess_failed_build(out, record, host);
  }
  const std::string doubt = doubt_of_hold(record, ledger, sighting, now);
  const bool stays = hold == Hold::unknown && record.held && !cyborg && !dirty_line &&
                     (doubt.empty() || doubt == kReservedLate);
  switch (stays ? Hold::held : hold) {
    case Hold::held:
      out.held = true;
      if (!doubt.empty()) {
        out.unsure = true;
        out.waiting_for = doubt +
                          ": taken for a hold and left as it is; if neither an operator nor Cyborg "
                          "reserved it" +
                          std::string(kCleanInDoubt);
      }
      out.strike = dirty_line;
      if (!out.unsure && record.certified_host_reads && sighting.drive &&
          sighting.drive->counters) {
        out.host_reads = sighting.drive->counters->host_reads;
      }
      break;
    case Hold::dirty:
      out.trigger = Trigger::dirty_seen;
      break;
    case Hold::unknown:
      out.held = record.held || cyborg;
      out.unsure = true;
      out.waiting_for =
          record.is_drive()
              ? "reserved without a tenancy that was seen, and the drive's counters cannot be read "
                "to tell an operator's hold from a missed tenancy: left as it is; if no operator "
                "reserved it"
              : "reserved without a tenancy that was seen, and the device has no counters to tell "
                "an operator's hold from a missed tenancy: left as it is; if no operator reserved "
                "it";
      out.waiting_for += kCleanInDoubt;
      break;
  }
  if (!out.trigger && sighting.standing.match == nvme::Match::different) {
    out.waiting_for = exchanged_note(sighting);
  }
}

// Offered, and yet not the drive that was certified, or written to since: somebody had it whom
// nobody saw. Empty: nothing of the kind is known.
std::string changed_since_certified(const Record& record, const Sighting& sighting) {
  if (!sighting.drive) return {};
  const nvme::DriveFacts& drive = *sighting.drive;
  if (drive.identity && !record.serial.empty() && drive.identity->serial != record.serial) {
    return fmt::format("the drive with serial {} was replaced by one with serial {}", record.serial,
                       drive.identity->serial);
  }
  if (drive.counters && record.certified_host_writes &&
      drive.counters->host_writes != *record.certified_host_writes) {
    return "the drive was written to since it was certified, and no tenancy was seen";
  }
  return {};
}

void assess_unreserved(Assessment& out, const Record& record, const LedgerEntry* ledger,
                       const Sighting& sighting) {
  if (record.stage != Stage::available) {
    out.reserve = true;
    if (is_busy(record.stage)) return;
    out.trigger =
        record.stage == Stage::allocated ? Trigger::allocation_gone : Trigger::reserved_dropped;
    if (record.stage != Stage::allocated) out.facts.detail = record.waiting_for;
    if (!sighting.followed_by.empty()) out.facts.migration = sighting.followed_by;
    return;
  }
  if (std::string why = changed_since_certified(record, sighting); !why.empty()) {
    out.reserve = true;
    out.trigger = Trigger::reserved_dropped;
    out.facts.detail = std::move(why);
    return;
  }
  if (sighting.standing.match != nvme::Match::same) {
    out.reserve = true;
    out.trigger = Trigger::reserved_dropped;
    out.facts.detail = sighting.standing.why;
    return;
  }
  if (record.flow == Flow::cyborg && missed_tenancy(record, sighting)) {
    out.reserve = true;
    out.trigger = Trigger::reserved_dropped;
    out.facts.detail = fmt::format("ARQ {} was bound and released; the tenancy was not observed",
                                   sighting.ended->uuid);
    return;
  }
  if (is_in_question(record, ledger, sighting)) {
    return assess_in_question(out, record, ledger, sighting);
  }
  if (ledger != nullptr && ledger->dirty) {
    out.strike = outlives(record, *ledger);
    out.reserve = !out.strike;
    out.taken_over = out.strike && record.handed_over;
    if (out.reserve) out.trigger = Trigger::reserved_dropped;
    return;
  }
  out.taken_over = record.handed_over;
  if (!sighting.drive || !sighting.drive->counters) return;
  const nvme::Counters& counters = *sighting.drive->counters;
  if (record.certified_host_writes == counters.host_writes && record.certified_host_reads) {
    out.host_reads = counters.host_reads;
  }
  // Nobody burns Cyborg's devices, so that a tenancy that nobody saw is only told by the drive.
  if (record.flow == Flow::cyborg && !record.certified_host_writes) {
    out.host_reads = counters.host_reads;
    out.host_writes = counters.host_writes;
  }
}

// The note of a device that was ours: nobody has cleaned it since, as far as is known.
std::string gone_entry(const Sighting& sighting) {
  return fmt::format(
      "no [{}] device_spec entry matches {:04x}:{:04x} at {}: not ours to touch, and not known "
      "to be clean, so that it stays reserved until an entry matches it again and it is cleaned, "
      "or `reclaim device disown {} --reason TEXT` lets it go as it is",
      sighting.is_drive() ? "nvme" : "devices", sighting.drive->vendor_id,
      sighting.drive->device_id, to_string(sighting.address), to_string(sighting.address));
}

// Exactly one provider stands for the drive, and it was read.
void assess_one(Assessment& out, const Record& base, const LedgerEntry* ledger,
                const Sighting& sighting, const HostView& host, WallMs now) {
  const placement::ProviderView& view = *sighting.view;
  out.held = false;
  out.facts.provider = view.uuid;
  out.facts.provider_name = sighting.rows.front().name;
  out.facts.resource_class = view.inventories.front().resource_class;

  const bool cyborg = base.flow == Flow::cyborg;
  if (cyborg && (!view.free() || (sighting.holder && !stays_held(base, ledger, sighting)))) {
    assess_bound(out, base, ledger, sighting);
  } else if (!view.free()) {
    assess_allocated(out, base, ledger, sighting);
  } else if (base.stage == Stage::available && sighting.drive && !sighting.drive->guest.empty()) {
    assess_guest(out, view, sighting.drive->guest);
  } else if (view.burned()) {
    assess_burned(out, base, ledger, sighting, host, now);
  } else {
    assess_unreserved(out, base, ledger, sighting);
  }
  if (base.stage == Stage::available && view.free() && !out.reserve && !out.trigger) {
    out.take_out = out.take_out || (base.maintenance && !view.burned());
    const bool moved = may_have_had_a_tenant(last_rest(base, ledger), sighting) ||
                       may_be_reserved_again(base, view);
    const bool asked = moved && (out.unsure || is_in_question(base, ledger, sighting));
    if (!asked) out.rest = rest_of(sighting);
  }
  if (cyborg) out.mismatch = mismatch_of(base, out, view);
}

// Learns what is new of the drive that is the one on record.
void learn_of_drive(Assessment& out, const Record& base, const Sighting& sighting,
                    const HostView& host) {
  if (base.serial.empty() && sighting.drive->identity) {
    out.facts.serial = sighting.drive->identity->serial;
  }
  out.facts.hardware = hardware_to_note(base, *sighting.drive, host.boot_id);
  out.facts.boot_id = host.boot_id;
  if (!sighting.drive->mac.empty()) out.facts.mac = sighting.drive->mac;
}

void assess_rows(Assessment& out, const Record& base, const LedgerEntry* ledger,
                 const Sighting& sighting, const HostView& host, WallMs now) {
  if (sighting.rows.size() > 1) {
    assess_several(out, base, ledger, sighting);
    return;
  }
  if (sighting.rows.empty()) {
    out.waiting_for = remembers(ledger)
                          ? "its provider is gone from Placement; it is remembered as dirty and "
                            "will be reserved when a provider for it appears"
                          : "its provider is gone from Placement";
    return;
  }
  if (!base.cleanable()) {
    assess_uncleanable(out, base, ledger, sighting);
    return;
  }
  if (!sighting.view) {
    out.waiting_for = sighting.problem;
    return;
  }
  const placement::ProviderView& view = *sighting.view;
  if (!view.is_device()) {
    const auto& all = view.inventories;
    out.waiting_for = fmt::format(
        "its provider has {} inventories{}: a passthrough device has exactly one, with total = 1{}",
        all.size(), all.size() == 1 ? fmt::format(" with total = {}", all.front().total) : "",
        view.free() ? "" : fmt::format("; {} has it", view.consumers.front()));
    return;
  }
  assess_one(out, base, ledger, sighting, host, now);
  if (was_ours(sighting, base) && base.stage == Stage::error && out.waiting_for.empty()) {
    out.waiting_for = gone_entry(sighting);
  }
}

}  // namespace

Record first_record(const Sighting& sighting, const LedgerEntry* ledger, const HostView& host,
                    WallMs now) {
  Record record;
  record.host = host.host;
  record.address = sighting.address;
  record.uuid = device_uuid(host.host, sighting.address);
  record.created_at = record.stage_since = record.updated_at = now;
  const bool is_the_one = sighting.standing.match == nvme::Match::same;
  if (ledger != nullptr) {
    record.serial = serial_of(*ledger);
    record.maintenance = ledger->maintenance;
    record.retired = ledger->retired;
    if (ledger->by_steps) {
      record.by_steps = true;
      record.type = kTypeUnknown;
    }
    record.provider = ledger->provider;
    record.enrolment = ledger->enrolment;
    record.hardware = ledger->hardware;
    record.boot_id = ledger->boot_id;
    // The former address of a drive says whose the dirt is that came with it: an instance's, maybe.
    if (sighting.standing.brought_dirt) {
      record.serial = sighting.standing.home_serial;
      record.enrolment = sighting.standing.home_enrolment;
      record.hardware = record.boot_id = "";
    }
    record.certificate_id = ledger->certificate_id;
    record.certificate_at = ledger->certificate_at;
    record.certified_host_reads = ledger->host_reads;
    record.certified_host_writes = ledger->host_writes;
    // A reserved device may be held, and written to since its release; Cyborg's rest is only said.
    const bool says_only = flow_of(sighting, Flow::nova) == Flow::cyborg;
    if (says_only || (sighting.view && !sighting.view->burned())) record.rest = ledger->rest;
    record.handed_over = says_only && !ledger->dirty && ledger->handed_over;
    if (ledger->error) be_in_error_again(record);
  }
  if (!sighting.drive) return record;
  describe_drive(*sighting.drive, is_the_one, record);
  if (is_the_one && (sighting.is_drive() || sighting.by_steps)) {
    record.hardware = hardware_to_note(record, *sighting.drive, host.boot_id);
    record.boot_id = host.boot_id;
  }
  return record;
}

std::optional<Assessment> assess(const Sighting& sighting, const Record* record,
                                 const LedgerEntry* ledger, const HostView& host, WallMs now) {
  bool marked = false;
  for (const placement::ProviderRow& row : sighting.rows) {
    marked = marked || row.one_time_use || (row.owner_cyborg && sighting.ours.value_or(false));
  }
  const bool remembered = remembers(ledger);
  if (!marked && record == nullptr && !remembered) return std::nullopt;
  if (is_unknown(sighting, record, ledger)) return std::nullopt;

  Assessment out;
  Record base = record != nullptr ? *record : first_record(sighting, ledger, host, now);
  if (!is_busy(base.stage)) out.facts.flow = base.flow = flow_of(sighting, base.flow);
  settle_kind(out, base, record, sighting, ledger);
  out.held = base.held;  // a survey that cannot see ends no hold
  if (base.flow == Flow::cyborg) {
    out.cyborg_status = sighting.cyborg_status;
    out.cyborg_uuid = sighting.cyborg_uuid;
    const auto& arq = sighting.holder ? sighting.holder : sighting.ended;
    if (arq) out.facts.arq = arq->uuid;
  }
  if (record == nullptr) {
    if (!sighting.rows.empty()) {
      base.provider = sighting.rows.front().uuid;
      base.provider_name = sighting.rows.front().name;
    }
    out.first_seen = base;
  } else if (is_busy(base.stage) && !may_last_long(base.stage)) {
    return out;  // the conductor reads Placement by itself there
  } else if ((sighting.is_drive() || sighting.by_steps) &&
             sighting.standing.match == nvme::Match::same) {
    learn_of_drive(out, base, sighting, host);
  }

  // Recorded as it is first; the next survey then tells what follows from it.
  if (record != nullptr && !record->cleanable() && base.cleanable()) return out;

  if (base.flow == Flow::cyborg && base.stage == Stage::available && !remembered &&
      !sighting.ours.value_or(true)) {
    out.waiting_for = "its configuration does not match it any more: not ours to touch";
    return out;
  }
  assess_rows(out, base, ledger, sighting, host, now);
  if (!remembered && host.clean_first) clean_at_first_sight(out, base, sighting);
  remark_on_cyborg(out, base, sighting);
  return out;
}

bool must_be_reserved(const Sighting& sighting, const Record& record, const LedgerEntry* ledger,
                      const HostView& host, WallMs now) {
  if (!sighting.view || !sighting.view->is_device() || sighting.view->burned()) return false;
  // A device in cleaning was admitted, and is reserved; only its next tenant is to be told.
  if (is_busy(record.stage)) return record.flow == Flow::cyborg && !sighting.view->free();
  const auto assessment = assess(sighting, &record, ledger, host, now);
  return assessment && (assessment->reserve || (assessment->take_out && !record.maintenance));
}

namespace {

// Ok if neither its provider nor whoever owns that keeps the device from being cleaned.
Status provider_allows(const Sighting& sighting, const Record& record) {
  if (sighting.rows.size() != 1 || !sighting.view) {
    return refuse("it needs exactly one provider that can be read");
  }
  const placement::ProviderRow& row = sighting.rows.front();
  if (row.one_time_use && row.owner_cyborg) {
    return refuse("its provider has both HW_PCI_ONE_TIME_USE and OWNER_CYBORG: one owner only");
  }
  if (!row.one_time_use && !row.owner_cyborg) {
    return refuse(
        record.flow == Flow::cyborg
            ? "its provider does not have OWNER_CYBORG any more: set the trait again, or "
              "un-reserve "
              "it by hand once you know it is clean"
            : "burned, but its provider does not have HW_PCI_ONE_TIME_USE any more: set "
              "one_time_use in Nova's device_spec again, or un-reserve it by hand once you know it "
              "is clean");
  }
  if (row.owner_cyborg) {
    if (Status allowed = cyborg_allows(sighting, record); !allowed) return allowed;
  }
  if (!sighting.view->burned() || !sighting.view->free()) {
    return refuse("not burned and unallocated in Placement");
  }
  return Ok{};
}

}  // namespace

Result<std::vector<CleanStep>> admit(const Sighting& sighting, const Record& record,
                                     const HostView& host, const Planning& planning) {
  if (record.maintenance) return refuse(std::string(kInMaintenance));
  // A record carries one: the next release would take its place.
  if (!record.certificate_pending.empty()) {
    return refuse(
        "the certificate of its last release could not be sealed yet, and nothing more is released "
        "before it is sealed: the log says why, `reclaim certificate verify` looks at the chain");
  }
  if (!host.problem.empty()) return refuse(host.problem);
  if (!host.compute_id.empty() && host.compute_id != host.root_uuid) {
    return refuse(fmt::format(
        "the root provider is {}, but Nova's compute_id file on this machine says {}: these are "
        "another machine's books",
        host.root_uuid, host.compute_id));
  }
  if (Status allowed = provider_allows(sighting, record); !allowed) return allowed.error();
  if (!sighting.drive || sighting.is_drive() != record.is_drive()) {
    return refuse(record.is_drive() ? "the host shows no NVMe controller at this address"
                                    : "the host does not show the device at this address");
  }
  const nvme::DriveFacts& drive = *sighting.drive;
  if (!planning.policy) {
    return refuse(gone_entry(sighting));
  }
  if (const Status told = is_the_one_on_record(sighting, record); !told) return told.error();
  if (std::string why = why_unknown(*planning.policy); !why.empty()) return refuse(std::move(why));
  if (record.by_steps) {
    if (Status able = check_function_plan(*planning.policy); !able) return able.error();
  }
  if (awaits_operator(*planning.policy, record)) return refuse(std::string(kCleanedManually));
  // A controller that is dead comes back by no waiting: its claim resets it, once and behind every
  // guard, and only then tells what it can.
  const bool dead = drive.driver == "nvme" && drive.controller_state == "dead";
  if (record.is_drive() && !drive.identity && planning.policy->managed && !dead) {
    return refuse(drive.problem.empty() ? "the controller does not answer yet" : drive.problem);
  }
  return admitted_plan(record, drive, planning);
}

}  // namespace reclaim
