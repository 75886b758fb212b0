#include "nvme/verify/verdict.h"

#include <fmt/core.h>

#include <algorithm>

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kReadsZeroes = 1;
constexpr std::uint8_t kReadsOnes = 2;

bool zeroes(EraseMethod method) {
  return method == EraseMethod::write_zeroes || method == EraseMethod::overwrite;
}

std::string expectation_of(std::uint8_t dlfeat, EraseMethod method) {
  if (zeroes(method)) return "zeroes (written)";
  if (!is_sanitize(method)) return fmt::format("changed ({})", to_string(method));
  switch (dlfeat) {
    case kReadsZeroes:
      return "zeroes (DLFEAT 1)";
    case kReadsOnes:
      return "ones (DLFEAT 2)";
    default:
      return fmt::format("changed ({} erase, DLFEAT {})",
                         method == EraseMethod::sanitize_crypto ? "crypto" : "block", dlfeat);
  }
}

std::string where(const Place& place) {
  return fmt::format("namespace {}, {} bytes at {:#x}", place.nsid, place.length_bytes,
                     place.offset_bytes);
}

Place place_of(const Sample& sample) {
  return Place{sample.nsid, sample.offset_bytes, sample.length_bytes};
}

Error not_erased(std::string what) {
  return Error{Errc::failed, "the erasure is not verified: " + std::move(what)};
}

}  // namespace

Judge::Judge(const Baseline& baseline, EraseMethod method,
             const std::vector<NamespaceFacts>& namespaces, VerifyLevel level,
             const Relaxations& relaxed)
    : baseline_(baseline), method_(method), namespaces_(namespaces), relaxed_(relaxed) {
  report_.level = level;
  report_.relaxed = relaxed;
  for (const NamespaceFacts& each : namespaces) report_.capacity_bytes += each.capacity_bytes;
  for (const Sample& sample : baseline.samples) {
    if (sample.blank) continue;
    old_samples_.insert(sample.sha256);
    piece_lengths_.insert(sample.length_bytes);
  }
  for (const Sample& canary : baseline.canaries) {
    old_canaries_.insert(canary.sha256);
    piece_lengths_.insert(canary.length_bytes);
  }
}

const NamespaceFacts* Judge::find(std::uint32_t nsid) const {
  const auto found = std::find_if(namespaces_.begin(), namespaces_.end(),
                                  [nsid](const NamespaceFacts& ns) { return ns.nsid == nsid; });
  return found == namespaces_.end() ? nullptr : &*found;
}

void Judge::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

void Judge::count(const Place& place, const Reading& reading) {
  report_.bytes_read += reading.length_bytes;
  report_.bytes_nonzero += reading.length_bytes - reading.zero_bytes;
  if (reading.length_bytes != place.length_bytes) {
    fail(fmt::format("{}: only {} bytes could be read", where(place), reading.length_bytes));
  }
}

void Judge::look(const Sample& before, const Reading& after, bool canary) {
  const Place place = place_of(before);
  ++places_told_;
  ++report_.samples_read;
  count(place, after);
  if (!before.blank) ++report_.samples_counted;
  if (!before.blank && before.sha256 == after.sha256) {
    ++(canary ? report_.canaries_found : report_.samples_unchanged);
    fail(canary
             ? fmt::format("the canary written before the erase is still there ({})", where(place))
             : fmt::format("the old content is still there ({})", where(place)));
  } else {
    look_for_old_content(place, after);
  }
  look_for_promise(place, after);
}

void Judge::look_further(const Place& place, const Reading& reading) {
  further_told_bytes_ += place.length_bytes;
  count(place, reading);
  look_for_old_content(place, reading);
  look_for_promise(place, reading);
}

// A drive may keep what it was told to erase and show it elsewhere.
void Judge::look_for_old_content(const Place& place, const Reading& reading) {
  const auto meet = [&](const std::string& digest) {
    if (old_canaries_.count(digest) != 0) {
      ++report_.canaries_found;
      fail(fmt::format("a canary written before the erase is met again ({})", where(place)));
    } else if (old_samples_.count(digest) != 0) {
      ++report_.samples_unchanged;
      fail(fmt::format("content of before the erase is met again ({})", where(place)));
    }
  };
  meet(reading.sha256);
  for (const std::string& piece : reading.pieces) meet(piece);
}

void Judge::look_for_promise(const Place& place, const Reading& reading) {
  const NamespaceFacts* facts = find(place.nsid);
  if (facts == nullptr) return fail(fmt::format("namespace {} is gone", place.nsid));
  const std::string expectation = expectation_of(facts->dlfeat, method_);
  if (report_.expectation.empty()) report_.expectation = expectation;
  if (report_.expectation != expectation) report_.expectation = "differs by namespace";
  if (zeroes(method_)) {
    if (reading.all_zeroes()) return;
    return fail(fmt::format("{} bytes were zeroed and do not read as zeroes ({})",
                            reading.length_bytes - reading.zero_bytes, where(place)));
  }
  if (!is_sanitize(method_)) return;
  const bool zeroes_broken = facts->dlfeat == kReadsZeroes && !reading.all_zeroes();
  const bool ones_broken = facts->dlfeat == kReadsOnes && !reading.all_ones();
  if (!zeroes_broken && !ones_broken) return;
  if (relaxed_.deallocated_value) {
    ++report_.places_off_value;
    return;
  }
  fail(
      fmt::format("{} bytes do not read as {}, which the drive promises for erased blocks ({}); "
                  "if this model is known for it, put deallocated_value into relax in its "
                  "device_spec",
                  reading.length_bytes - (zeroes_broken ? reading.zero_bytes : reading.ones_bytes),
                  zeroes_broken ? "zeroes" : "ones", where(place)));
}

void Judge::cannot_reread(const Sample& before, const Error& error) {
  ++places_told_;
  ++report_.samples_read;
  count_unreadable(place_of(before), error);
}

void Judge::cannot_read_further(const Place& place, const Error& error) {
  further_told_bytes_ += place.length_bytes;
  count_unreadable(place, error);
}

void Judge::count_unreadable(const Place& place, const Error& error) {
  // A place that was zeroed can be read, or it was not zeroed.
  if (relaxed_.unreadable_blocks && !zeroes(method_)) {
    ++report_.places_unreadable;
    report_.bytes_unreadable += place.length_bytes;
    return;
  }
  fail(zeroes(method_) ? error.what + "; the media is broken there: replace the drive"
                       : error.what +
                             "; if this model is known for blocks that cannot be read after an "
                             "erase, put unreadable_blocks into relax in its device_spec");
}

void Judge::expect_further(const std::vector<Stretch>& stretches) {
  report_.samples_read += static_cast<std::uint32_t>(stretches.size());
  for (const Stretch& stretch : stretches) further_wanted_bytes_ += stretch.length_bytes;
}

Result<VerifyReport> Judge::verdict(const Counters& counters, bool global_data_erased) const {
  VerifyReport report = report_;
  report.counters = counters;
  report.global_data_erased = global_data_erased;
  if (!failure_.empty()) {
    const std::uint32_t old = report.samples_unchanged + report.canaries_found;
    return not_erased(old == 0 ? failure_
                               : fmt::format("{}; {} places show old content, of {} that held data",
                                             failure_, old, report.samples_counted));
  }
  const bool reads = report.level != VerifyLevel::log;
  const std::size_t wanted =
      reads ? baseline_.samples.size() + baseline_.canaries.size() : std::size_t{0};
  if (places_told_ != wanted) {
    return not_erased(fmt::format("{} of {} places were read again", places_told_, wanted));
  }
  const bool further = report.level == VerifyLevel::nist || report.level == VerifyLevel::full;
  if (further_told_bytes_ != further_wanted_bytes_ || (further && further_wanted_bytes_ == 0)) {
    return not_erased(fmt::format("{} of {} bytes of the media were read", further_told_bytes_,
                                  further_wanted_bytes_));
  }
  // Only canaries are surely of this cleaning: a tenant may have changed every sample by itself.
  if (reads && baseline_.canaries.empty()) {
    return not_erased("no canary was written before the erase, so nothing shows that it happened");
  }
  if (reads && report.samples_counted == 0) {
    return not_erased(
        "nothing that held data before the erase can be read, so nothing shows that it happened");
  }
  if (is_sanitize(method_) && !global_data_erased && !relaxed_.global_data_erased) {
    return not_erased(
        "Global Data Erased is clear: something was written to the drive after the erase");
  }
  if (!reads) report.expectation = "nothing was read (verify=log)";
  return report;
}

}  // namespace reclaim::nvme
