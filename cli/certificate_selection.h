// Selects the erasures that a list or a report of certificates is of: by period, project, instance,
// host. It counts what is left out because nobody knows whose it was, so that it is not taken for
// nobody's. Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>
#include <vector>

#include "state/base/clock.h"
#include "state/base/result.h"
#include "state/device/record.h"

namespace reclaim::cli {

struct CertificateOptions;

struct Period {
  WallMs from;
  WallMs to;  // the first moment that is no part of it
  [[nodiscard]] bool has(WallMs at) const { return at >= from && at < to; }
};
// Each a day ("2026-11-25", whole) or a time ("2026-11-25T21:00:00Z"), UTC. Errc::usage names the
// option, what it was given and what is accepted.
[[nodiscard]] Result<Period> parse_period(const std::string& from, const std::string& to);

struct Selection {
  Period period{WallMs{std::numeric_limits<std::int64_t>::min()},
                WallMs{std::numeric_limits<std::int64_t>::max()}};
  std::string project = {};  // ids, with or without dashes, in either case; empty: any
  std::string instance = {};
  std::string host = {};

  [[nodiscard]] bool names_a_tenant() const { return !project.empty() || !instance.empty(); }
};
// Takes --from and --to, of which either may be left out, --project, --instance and --host.
[[nodiscard]] Result<Selection> selection_of(const CertificateOptions& options);

// Counts what is of the period and the host, and may be the tenant's. Erasures are not shown as
// his. Of each that was asked for, it also knows whether any erasure has it at all, so that an
// empty list can say what it lacks.
struct LeftOut {
  std::size_t no_project = 0;  // they name no project, and one was asked for
  std::size_t heard = 0;       // of a tenancy that nobody saw; the instance is among those heard of
  std::size_t unerased = 0;    // tenancies without an erasure of which nothing tells whose: shown
  std::size_t other_times = 0;  // erasures that are meant but for the period
  bool has_host = false;
  bool has_project = false;
  bool has_instance = false;
};
// True if the certificate is meant; one that is not, but may be the tenant's, is counted.
[[nodiscard]] bool selects(const Selection& selection, const std::string& host,
                           const Certificate& certificate, LeftOut& left_out);
// A sentence for each kind of them.
[[nodiscard]] std::vector<std::string> remarks(const LeftOut& left_out);
// Writes the remarks to a command's `err`, and where nothing was found, why.
void say_selected(const CertificateOptions& options, bool found_none, const LeftOut& left_out,
                  std::ostream& err);

}  // namespace reclaim::cli
