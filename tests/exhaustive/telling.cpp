#include "tests/exhaustive/telling.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace reclaim::exhaustive {
namespace {

// Numbers in a text for people decide nothing.
std::string masked(std::string text) {
  for (char& c : text) {
    if (c >= '0' && c <= '9') c = '#';
  }
  return text;
}

// Their order, and which are the same.
std::string ranks(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (const std::int64_t at : times) {
    text += fmt::format("{},", std::lower_bound(sorted.begin(), sorted.end(), at) - sorted.begin());
  }
  return text;
}

// Which of them are the same, and which are empty.
std::string sameness(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += name.empty()
                ? "-,"
                : fmt::format("{},", std::find(names.begin(), names.end(), name) - names.begin());
  }
  return text;
}

// FNV-1a, twice with different beginnings.
Digest digest_of(std::string_view text) {
  Digest digest{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  for (const char c : text) {
    digest.high = (digest.high ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    digest.low = (digest.low ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15ULL;
    digest.low ^= digest.low >> 29U;
  }
  return digest;
}

}  // namespace

// Of how many writes it is, as far as any judgement counts them.
std::string Telling::said(const Rest& rest) const {
  constexpr std::int64_t kCounted = 4;
  if (rest.generation < 0) return "-";
  return fmt::format(
      "{}{}{}{}", rest.provider == provider_.uuid, rest.reserved, rest.unburned,
      std::clamp<std::int64_t>(provider_.generation - rest.generation, -1, kCounted));
}

void Telling::add(const Record& record) {
  const std::string& serial = record.serial;
  std::string text =
      fmt::format("{}{}|{}{}{}{}{}{}|{}|{}|{}{}{}|{}|{}|{}|{}|", record.damage.empty(),
                  static_cast<int>(record.stage), record.held, record.maintenance,
                  record.erase_begun, record.planned_stop, record.accepted, record.managed,
                  masked(record.waiting_for), masked(record.last_error), serial.empty(),
                  serial == drive_.serial, record.provider == provider_.uuid,
                  record.instance.empty() ? 0 : (record.instance == slot_.consumer ? 1 : 2),
                  record.step_index, record.clean_step, std::min(record.erases, 4U));
  for (const CleanStep& step : record.plan) text += step.step + ",";
  for (const CleanStep& step : record.steps_ordered) text += step.step + ";";
  for (const std::string* const kept :
       {&record.baseline, &record.evidence, &record.verification, &record.enrolment,
        &record.certificate_id, &record.certificate_pending}) {
    text += kept->empty() ? '-' : '+';
  }
  // While somebody has it they are shown, and nothing depends on them.
  if (record.stage != Stage::allocated) text += masked(record.findings);
  text += said(record.rest);
  text += record.certified_host_reads == drive_.host_reads ? 'r' : '-';
  text += record.certified_host_writes == drive_.host_writes ? 'w' : '-';
  text += record.cleanable() ? 'c' : '-';
  text += record.cyborg_status;
  add(text);
  add_times(record);
}

void Telling::add_times(const Record& record) {
  for (const WallMs at : {record.tenancy_seen_at, record.cleaning_started_at, record.verified_at,
                          record.certificate_at}) {
    times_.push_back(at.ms);
  }
  epochs_.push_back(static_cast<std::int64_t>(record.epoch));
  names_.insert(names_.end(), {record.cleaning_nonce, record.baseline, record.certificate_id,
                               record.certificate_pending, record.boot_id});
}

void Telling::add(const LedgerEntry& entry) {
  add(fmt::format("{}{}{}{}{}{}|{}{}{}|{}{}|", entry.dirty, entry.error, entry.maintenance,
                  entry.accepted, entry.taken_out, entry.reserved_at_bind, entry.serial.empty(),
                  entry.serial == drive_.serial, entry.provider == provider_.uuid,
                  entry.enrolled_serial == drive_.serial, entry.enrolment.empty()) +
      fmt::format("{}{}|", entry.host_reads == drive_.host_reads,
                  entry.host_writes == drive_.host_writes) +
      masked(entry.cleaning.findings) + said(entry.rest));
  for (const WallMs at :
       {entry.dirty_since, entry.certificate_at, entry.ordered_at, entry.maintenance_until}) {
    times_.push_back(at.ms);
  }
  epochs_.push_back(static_cast<std::int64_t>(entry.epoch));
  // The world's digest of a baseline is its text.
  names_.insert(names_.end(), {entry.cleaning.nonce, entry.cleaning.baseline_digest,
                               entry.certificate_id, entry.certificate_pending, entry.boot_id});
}

// How soon, not to the millisecond; and how many, not beyond a few.
void Telling::add_pending(const std::vector<std::int64_t>& pending_ms) {
  constexpr std::array<std::int64_t, 5> kWithin{50, 1'000, 10'000, 60'000, 600'000};
  std::array<int, kWithin.size() + 1> counts{};
  for (const std::int64_t ms : pending_ms) {
    const auto* const at = std::lower_bound(kWithin.begin(), kWithin.end(), ms);
    int& count = counts.at(static_cast<std::size_t>(at - kWithin.begin()));
    count = std::min(count + 1, 3);
  }
  std::string text;
  for (const int count : counts) text += static_cast<char>('0' + count);
  add(text);
}

Digest Telling::digest() const {
  return digest_of(text_ + '|' + ranks(times_) + '|' + ranks(epochs_) + '|' + sameness(names_));
}

}  // namespace reclaim::exhaustive
