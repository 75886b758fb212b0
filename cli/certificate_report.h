// Sums up what a chain of certificates says of a period: for an auditor's quarter or a provider's
// month. Pure: what was read from the chain goes in, a summary comes out. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/certificate_selection.h"
#include "cli/format.h"
#include "state/base/clock.h"
#include "state/device/record.h"
#include "state/ledger/audit.h"

namespace reclaim::cli {

// One file of the chain.
struct Erasure {
  std::uint64_t sequence = 0;
  Certificate certificate;
  bool is_unproven = false;  // signed by no key that is known there
  bool is_disputed = false;  // another history of the chain may have it
};
struct AuditLine {
  std::uint64_t sequence = 0;
  AuditEntry entry;
  bool is_void = false;      // by a key that proves nothing there, or of another history, maybe
  bool is_unproven = false;  // signed by no key that is known there
  std::string file = {};     // two may have one sequence
};

struct ChainState {
  enum class Verdict : std::uint8_t { verified, broken, not_checked };
  Verdict verdict = Verdict::not_checked;
  std::string text;                   // one line
  std::vector<std::string> problems;  // "FILE: what"
};
[[nodiscard]] std::string_view to_string(ChainState::Verdict verdict);

// All that the chain has, in its order.
struct ReportSource {
  std::string host;  // whose chain it is, by its place in a mirror; empty: as its entries say
  ChainState::Verdict verdict = ChainState::Verdict::not_checked;
  std::vector<Erasure> erasures;
  std::vector<AuditLine> audit;
  DriveEvents events;
};

// One drive in the period; a device that is no drive has its address for a name.
struct ReportedDevice {
  std::string host;
  std::string address;  // the last one
  std::string model;
  std::string serial;
  std::size_t erasures = 0;
  std::size_t quarantines = 0;
  std::uint64_t bytes = 0;           // erased, summed over its erasures
  std::string method;                // of the last erasure
  std::string class_of_last;         // of the last erasure; empty: no class is claimed
  std::optional<int> used_at_first;  // percentage used, as the health step first found it
  std::optional<int> used_at_last;
};

// Times of the cleanings by one method, from the start to the release.
struct MethodUse {
  std::string method;
  std::size_t count = 0;
  std::int64_t shortest_ms = 0;
  std::int64_t median_ms = 0;
  std::int64_t p95_ms = 0;
  std::int64_t longest_ms = 0;
};

// An event that an auditor asks about: a quarantine, a release by another hand, a tenancy without
// an erasure.
struct Incident {
  std::uint64_t sequence = 0;
  WallMs at;
  std::string event;  // as the audit journal calls it, or "unerased"
  std::string address;
  std::string serial;
  std::string detail;
  std::string host;  // empty: the chain has one host
};

// A stretch of whole days; the last one may end before its days do.
struct Stretch {
  WallMs from;
  std::map<std::string, std::size_t> erasures;  // by class; empty: no class
  std::size_t quarantines = 0;
};

struct PeriodReport {
  Selection selection;
  std::vector<std::string> hosts;
  std::vector<ReportedDevice> devices;         // by host and address
  std::map<std::string, std::size_t> classes;  // "purge", "clear", "" for none
  std::vector<MethodUse> methods;              // the most used first
  std::vector<Incident> incidents;             // by host, in its chain's order
  Table erasures_shown;                        // each, as `certificate list` has it, and "Chain"
  std::vector<Stretch> stretches;              // all of the period, in order
  std::int64_t stretch_days = 1;
  std::size_t erasures = 0;
  std::size_t not_returned = 0;  // of them, drives too unwell to be given back, or retired
  std::size_t quarantines = 0;
  std::size_t unerased = 0;
  LeftOut left_out;
  std::uint64_t bytes = 0;
  // The first and the last of the chain's entries in the period; 0: none, or of several chains.
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  ChainState chain;
};

// A certificate belongs to the period in which its device was released, or its drive was erased and
// not given back. Both ends of the selection's period are given. An incident is of a project or an
// instance that any entry of its tenancy names (state/ledger/tenants.h); what is of no device is
// everybody's. A tenancy without an erasure is shown where it may be of them, too, and where the
// next one is of another chain.
[[nodiscard]] PeriodReport report_of(const std::vector<ReportSource>& sources, ChainState chain,
                                     const Selection& selection);

[[nodiscard]] std::string class_text(std::string_view sanitization_class);  // "": "none claimed"
[[nodiscard]] std::string duration_text(std::int64_t ms);

[[nodiscard]] Fields summary_of(const PeriodReport& report);
[[nodiscard]] Table device_table(const PeriodReport& report);
[[nodiscard]] Table method_table(const PeriodReport& report);
// `for_people`: times to the minute, so that the address fits beside them.
[[nodiscard]] Table incident_table(const PeriodReport& report, bool for_people);

}  // namespace reclaim::cli
