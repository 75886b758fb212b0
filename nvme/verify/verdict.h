// Judges whether what was read after an erase shows that it happened. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/verify/sampling.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// A place as it was read: its digest and what its bytes are made of.
struct Reading {
  std::string sha256;  // lower-case hex; empty where the whole was not digested
  std::uint32_t length_bytes = 0;
  std::uint32_t zero_bytes = 0;
  std::uint32_t ones_bytes = 0;     // 0xff
  bool uniform = false;             // all bytes equal: blank
  std::vector<std::string> pieces;  // digests of what lies within it, see Judge::piece_lengths()

  [[nodiscard]] bool all_zeroes() const { return zero_bytes == length_bytes; }
  [[nodiscard]] bool all_ones() const { return ones_bytes == length_bytes; }
};

// One verdict over all that was read. Told each reading, it counts; the first failure is told in
// full, the rest are counted. Thread: one at a time.
class Judge final {
 public:
  // Everything that is read has to be:
  // - after a zero method: zeroes, every byte of it;
  // - after a sanitize: as the namespace's DLFEAT promises for deallocated blocks, or else changed;
  // - after a format: changed;
  // and nowhere may there be anything that the baseline saw, unless it was blank.
  // `relaxed` puts up with blocks that cannot be read and with broken promises of DLFEAT, never of
  // a zero method; and with a clear Global Data Erased.
  Judge(const Baseline& baseline, EraseMethod method, const std::vector<NamespaceFacts>& namespaces,
        VerifyLevel level, const Relaxations& relaxed);

  // The lengths of what the baseline digested. Aligned pieces of these lengths are to be digested
  // within everything that is read, unless they are blank.
  [[nodiscard]] const std::set<std::uint32_t>& piece_lengths() const { return piece_lengths_; }

  // A place of the baseline, read again.
  void look(const Sample& before, const Reading& after, bool canary);
  // A part of the further stretches that nist and full read.
  void look_further(const Place& place, const Reading& reading);
  // A place of the baseline, or a part of the further stretches, that could not be read, also after
  // trying again; `error` says why.
  void cannot_reread(const Sample& before, const Error& error);
  void cannot_read_further(const Place& place, const Error& error);
  // Tells, before the verdict, which further stretches were to be read.
  void expect_further(const std::vector<Stretch>& stretches);
  [[nodiscard]] bool failed() const { return !failure_.empty(); }

  // Errc::failed: any of the above, no canary or nothing that counted (but for level log), or,
  // after a sanitize, Global Data Erased clear. `counters` and `global_data_erased` are read last
  // of all.
  [[nodiscard]] Result<VerifyReport> verdict(const Counters& counters,
                                             bool global_data_erased) const;

 private:
  [[nodiscard]] const NamespaceFacts* find(std::uint32_t nsid) const;
  void look_for_old_content(const Place& place, const Reading& reading);
  void look_for_promise(const Place& place, const Reading& reading);
  void count(const Place& place, const Reading& reading);
  void count_unreadable(const Place& place, const Error& error);
  void fail(std::string what);

  const Baseline& baseline_;
  EraseMethod method_;
  const std::vector<NamespaceFacts>& namespaces_;
  Relaxations relaxed_;
  VerifyReport report_;
  std::set<std::uint32_t> piece_lengths_;
  std::set<std::string> old_samples_;
  std::set<std::string> old_canaries_;
  std::size_t places_told_ = 0;  // of the baseline
  std::uint64_t further_told_bytes_ = 0;
  std::uint64_t further_wanted_bytes_ = 0;
  std::string failure_;
};

}  // namespace reclaim::nvme
