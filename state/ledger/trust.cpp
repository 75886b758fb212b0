#include "state/ledger/trust.h"

#include <algorithm>

#include "state/device/step.h"

namespace reclaim {

bool is_of_this_host(const Record& stored) {
  return stored.damage.empty() && stored.epoch < kStoredEpochMax;
}

bool knows_erase(const LedgerEntry* known, const Record& record,
                 const std::function<std::string(const std::string&)>& digest) {
  return known != nullptr && known->dirty && known->dirty_since <= record.cleaning_started_at &&
         !record.cleaning_nonce.empty() && known->cleaning.nonce == record.cleaning_nonce &&
         !known->cleaning.baseline_digest.empty() &&
         known->cleaning.baseline_digest == digest(record.baseline);
}

std::string mark_of_zeroing(const LedgerEntry* known, const Record& record,
                            const std::function<std::string(const std::string&)>& digest) {
  if (!record.erase_begun || !knows_erase(known, record, digest)) return {};
  return known->cleaning.zero_mark;
}

bool is_disowned_since(const LedgerEntry* known, const Record& record) {
  return known != nullptr && record.epoch < known->epoch && !known->dirty && !known->error &&
         known->provider.empty() && known->serial.empty() && known->certificate_id.empty();
}

namespace {

// True if the record's zeroing had ended, and nobody can have been offered the drive since. Whether
// anybody wrote to it all the same, its mark tells.
bool has_ended_zeroing(const LedgerEntry* known, const Record& record) {
  const bool behind = record.stage == Stage::verifying || record.stage == Stage::concluding ||
                      record.stage == Stage::restoring || record.stage == Stage::looking;
  return behind && known != nullptr && !known->cleaning.zero_mark.empty() &&
         known->certificate_pending.empty();
}

// A record from before a release that `known` says was asked for tells nothing of its outcome: it
// is read back, by what the ledger has of it.
void recall_release(const LedgerEntry& known, Record& record) {
  const auto certificate = decode_certificate(known.certificate_pending);
  const bool asked_for = certificate && certificate->returned() && known.release_generation >= 0 &&
                         known.dirty && known.dirty_since <= certificate->released_at;
  if (!asked_for || known.cleaning.nonce.empty()) return;
  record.stage = Stage::confirming;
  // It may be from before the device was cleaned at all, or was another kind of device.
  record.by_steps = known.by_steps;
  if (record.is_drive() == known.by_steps) {
    record.type = known.by_steps ? kTypeUnknown : kTypeNvme;
  }
  record.provider = known.provider;
  record.release_generation = known.release_generation;
  record.cleaning_nonce = known.cleaning.nonce;
  record.findings = known.cleaning.findings;
  record.evidence = certificate->evidence;
  record.verification = certificate->verification;
  record.verified_at = known.dirty_since;
}

}  // namespace

void be_in_error_again(Record& record) {
  if (record.stage == Stage::error) return;
  record.stage = Stage::error;
  record.erase_begun = false;
  record.clean_step.clear();
  record.waiting_for.clear();
  record.last_error =
      "it was in error before Redis lost its record, or somebody put an older one back: see this "
      "host's journal, then `reclaim device clean` it";
  if (!record.retired.empty()) record.last_error += "; it is retired: " + record.retired;
}

Record confirmed_by(const LedgerEntry* known, Record record,
                    const std::function<std::string(const std::string&)>& digest) {
  record.erase_begun = (record.erase_begun || has_ended_zeroing(known, record)) &&
                       knows_erase(known, record, digest);
  if (record.erase_begun && known != nullptr) record.findings = known->cleaning.findings;
  // The operator's word in an older record was for an earlier cleaning.
  if (known == nullptr || record.epoch < known->epoch) forget_order(record);
  // A retirement, and its end, are on the ledger before they are on the record; but a ledger may be
  // lost, or an older one.
  if (known != nullptr && record.epoch <= known->epoch) record.retired = known->retired;
  if (known == nullptr) {
    record.accepted = false;
    return record;
  }
  // An enrolment is on the ledger before it is on the record.
  const bool enrolled_since =
      (known->accepted && !record.accepted && record.epoch <= known->epoch) ||
      (!known->enrolled_serial.empty() && known->enrolled_serial != record.serial);
  record.accepted = record.accepted && known->accepted;
  if (enrolled_since) {
    record.serial = known->enrolled_serial;  // empty: by its Device Serial Number
    record.hardware = known->hardware;
    record.boot_id = known->boot_id;
    record.enrolment.clear();
  }
  if (is_dirty_since(*known, record.certificate_at)) record.held = false;
  if (!known->enrolment.empty()) record.enrolment = known->enrolment;
  if (record.epoch < known->epoch) {
    // It was released since: where it rested before says nothing of who had it after.
    const bool released_since = !known->dirty && known->certificate_id != record.certificate_id;
    if (released_since && known->rest.generation >= 0) {
      record.rest = known->rest;
      record.handed_over = known->handed_over;
    }
    record.epoch = known->epoch;
    forget_tenancy(record);
    if (known->error) {
      be_in_error_again(record);
    } else {
      recall_release(*known, record);
    }
  }
  return record;
}

std::string retirement_of(const std::map<PciAddress, LedgerEntry>& entries, const Record& record) {
  if (!record.retired.empty()) return record.retired;
  const auto own = entries.find(record.address);
  if (own != entries.end() && !own->second.retired.empty()) return own->second.retired;
  const auto moved = std::find_if(entries.begin(), entries.end(), [&record](const auto& each) {
    return !each.second.retired.empty() && !record.serial.empty() &&
           serial_of(each.second) == record.serial;
  });
  return moved == entries.end() ? std::string() : moved->second.retired;
}

bool shows_no_release(const LedgerEntry* known, const Record& record, std::int64_t generation) {
  if (generation == record.release_generation) return true;
  return known != nullptr && known->fence_generation >= 0 && known->provider == record.provider &&
         (generation == known->fence_generation || generation == known->fence_generation + 1);
}

std::optional<Certificate> release_asked_for(const LedgerEntry* known, const Record& record) {
  if (known == nullptr || !known->dirty || record.cleaning_nonce.empty() ||
      known->cleaning.nonce != record.cleaning_nonce || known->dirty_since > erased_at(record)) {
    return std::nullopt;
  }
  auto certificate = decode_certificate(known->certificate_pending);
  if (!certificate || !certificate->returned()) return std::nullopt;
  return *std::move(certificate);
}

}  // namespace reclaim
