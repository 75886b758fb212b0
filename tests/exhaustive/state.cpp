// What is looked at in the model: whether it moved, and what its state is.
#include <fmt/core.h>

#include "tests/exhaustive/model.h"

namespace reclaim::exhaustive {

Model::Seen Model::seen() {
  const PciAddress& address = slot().address;
  const Record* stored = world_.store.stored(address);
  const auto ledger = world_.disk.entries.find(address);
  const bool noted = ledger != world_.disk.entries.end();
  const sim::Proof proof = world_.drives ? world_.drives->proof(address) : sim::Proof{};
  const sim::Provider* other = second();
  return {stored == nullptr ? -1 : static_cast<std::int64_t>(stored->epoch),
          provider().row.generation,
          provider().inventory.reserved,
          static_cast<std::int64_t>(provider().consumers.size()),
          static_cast<std::int64_t>(drive().version),
          drive().running.has_value() ? 1 : 0,
          drive().sstat,
          static_cast<std::int64_t>(drive().guest),
          world_.drives && world_.drives->claimed(address) ? 1 : 0,
          world_.store.granted(address) ? 1 : 0,
          lost_.has_value() ? 1 : 0,
          world_.started ? 1 : 0,
          (proof.erased ? 1 : 0) + (proof.verified ? 2 : 0),
          static_cast<std::int64_t>(proof.steps.size()),
          static_cast<std::int64_t>(proof.commands_before.size()),
          noted && ledger->second.dirty ? 1 : 0,
          noted && ledger->second.maintenance ? 1 : 0,
          noted && ledger->second.taken_out ? 1 : 0,
          noted ? static_cast<std::int64_t>(ledger->second.certificate_at.ms) : 0,
          noted ? static_cast<std::int64_t>(ledger->second.enrolled_serial.size()) : 0,
          static_cast<std::int64_t>(world_.disk.certificates.size()),
          other == nullptr ? -1 : other->row.generation,
          world_.cyborg.told_maintaining(address) ? 1 : 0,
          world_.placement.requests().set_reserved};
}

bool Model::moved() {
  const Seen now = seen();
  if (now == seen_) return false;
  put_sent_ = now.back() != seen_.back();
  seen_ = now;
  moved_ms_ = world_.scheduler.now_ms();
  return true;
}

Digest Model::digest() {
  const PciAddress& address = slot().address;
  Telling telling(drive(), slot(), provider().row);
  telling.add(
      fmt::format("{}{}{}{}", world_.conductor != nullptr, world_.started, written_, put_sent_));
  if (const Record* stored = world_.store.stored(address)) telling.add(*stored);
  if (world_.conductor) {
    for (const Record& record : world_.conductor->records()) telling.add(record);
  }
  const auto add_entry = [&](const std::map<PciAddress, LedgerEntry>& entries) {
    const auto it = entries.find(address);
    if (it != entries.end()) telling.add(it->second);
  };
  add_entry(world_.disk.entries);
  if (world_.ledger) add_entry(world_.ledger->entries());
  const sim::Drive& of = drive();
  const sim::Proof proof = world_.drives ? world_.drives->proof(address) : sim::Proof{};
  const bool claimed = world_.drives && world_.drives->claimed(address);
  telling.add(fmt::format("{}{}{}{}", provider().inventory.reserved, provider().consumers.size(),
                          static_cast<int>(provider().offered), lost_.has_value()));
  if (lost_) {
    telling.add(fmt::format("{}{}{}", lost_->provider == provider().row.uuid,
                            lost_->generation == provider().row.generation, lost_->reserved));
  }
  telling.add(fmt::format("{}{}{}{}{}{}{}{}{}", of.owner != 0, of.content == 0, of.canary != 0,
                          of.running.has_value(), of.sstat, of.global_data_erased, of.driver,
                          of.guest != 0, verified_));
  telling.add(fmt::format("{}{}{}{}{}{}{}", claimed, claimed && world_.drives->intact(address),
                          proof.erased, proof.verified, proof.step_failed, proof.steps.size(),
                          proof.version == of.version));
  telling.add(fmt::format("{}{}{}", world_.store.granted(address), world_.store.locked(address),
                          static_cast<int>(slot().phase)));
  telling.add(fmt::format("{}{}{}{}{}|{}{}", slot().held, slot().reserved_by_hand, slot().swapped,
                          slot().blamed, slot().expected_serial == of.serial,
                          world_.faults.put_lost_late > 0, world_.faults.store_lost_done > 0));
  for (const auto& [stage, record] : of_releases_) telling.add_times(record);
  if (!extras_.empty()) add_extras(telling);
  telling.add_pending(world_.scheduler.pending_ms());
  return telling.digest();
}

// What only their happenings change.
void Model::add_extras(Telling& telling) {
  const sim::Slot& at = slot();
  const PciAddress& address = at.address;
  if (const sim::Provider* other = second()) {
    telling.add(fmt::format("{}{}{}", other->inventory.reserved, other->consumers.size(),
                            static_cast<int>(other->offered)));
  }
  telling.add(fmt::format("{}{}{}{}{}", at.bound, at.maintaining, at.interrupted, at.taken_ms != 0,
                          world_.cyborg.told_maintaining(address)));
  telling.add(fmt::format("{}{}{}{}{}", at.ours, at.was_ours, at.disowned, at.disown_ordered,
                          at.maintained));
  telling.add(fmt::format("{}{}{}{}", at.enrolled, at.enrol_before_hold, at.steps_before_hold,
                          at.ordered_serial == drive().serial));
  telling.add(fmt::format("{}{}{}{}", at.ours_taken_out, at.reserved_unnoted, at.given,
                          at.approved_by.size()));
  const sim::Proof proof = world_.drives ? world_.drives->proof(address) : sim::Proof{};
  telling.add(fmt::format("{}{}{}{}", world_.disk.full, drive().taken_over,
                          world_.disk.unwritten.contains(address), proof.commands_before.size()));
  telling.add(world_.conductor_options.boot_id);
  if (has(Extra::clock)) telling.add_time(world_.scheduler.now().wall.ms);
}

}  // namespace reclaim::exhaustive
