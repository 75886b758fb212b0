#include "state/ledger/ledger_file.h"

#include <fmt/core.h>
#include <zlib.h>

#include <utility>

#include "state/base/embedded_json.h"
#include "state/base/fields.h"
#include "state/base/log.h"

namespace reclaim::ledger_file {
namespace {

// An enrolment (nvme/'s limit is 256 KiB), a certificate (1 MiB, and its quotes escaped) and what
// little there is beside them.
constexpr std::size_t kLineBytesMax = 4'194'304;
constexpr std::size_t kEnrolmentBytesMax = 524'288;
constexpr std::size_t kChecksumDigits = 8;

std::string checksum(std::string_view bytes) {
  return fmt::format("{:08x}",
                     crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

// A line: an address, and what is remembered of it.
struct Line {
  PciAddress address;
  LedgerEntry entry;
};

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Line> auto& line) {
  using enum field::Rule;
  auto& entry = line.entry;
  visit.text("address", line.address, parse_pci_address);
  visit("dirty", entry.dirty);
  visit("error", entry.error);
  visit("aborted", entry.aborted, sparse);
  visit("maintenance", entry.maintenance);
  visit("retired", entry.retired, sparse);
  visit("by_steps", entry.by_steps, sparse);
  visit("reserved_at_bind", entry.reserved_at_bind, sparse);
  visit("reserved_for_maintenance", entry.taken_out, sparse);
  if (visit.wants(entry.asked.generation >= 0)) {
    visit("asked_provider", entry.asked.provider, lenient);
    visit("asked_generation", entry.asked.generation, lenient);
    visit("asked_reserved", entry.asked.reserved, sparse);
  }
  visit("maintenance_until", entry.maintenance_until, sparse);
  visit("paused_until", entry.paused_until, sparse);
  visit("paused_by", entry.paused_by, sparse);
  visit("serial", entry.serial);
  visit("provider", entry.provider);
  visit("enrolled_serial", entry.enrolled_serial);
  visit("dirty_since", entry.dirty_since);
  visit("hardware", entry.hardware, sparse);
  visit("boot_id", entry.boot_id, sparse);
  visit("first_boot_id", entry.first_boot_id, sparse);
  if (visit.wants(entry.enrolment.size() <= kEnrolmentBytesMax)) {
    visit.embedded("enrolment", entry.enrolment, sparse);
  }
  if (visit.wants(!entry.certificate_id.empty())) {
    visit("certificate_id", entry.certificate_id, lenient);
    visit.moment("certificate_at", entry.certificate_at, younger);
  }
  visit("host_reads", entry.host_reads, sparse);
  visit("host_writes", entry.host_writes, sparse);
  if (visit.wants(entry.rest.generation >= 0)) {
    visit("rest_provider", entry.rest.provider, lenient);
    visit("rest_generation", entry.rest.generation, lenient);
    visit("rest_reserved", entry.rest.reserved, sparse);
    visit("rest_unburned", entry.rest.unburned, sparse);
  }
  visit("handed_over", entry.handed_over, sparse);
  visit("accepted", entry.accepted, sparse);
  visit("ordered_at", entry.ordered_at, sparse);
  visit("epoch", entry.epoch, sparse);
  if (visit.wants(!entry.cleaning.nonce.empty())) {
    visit("cleaning_nonce", entry.cleaning.nonce, lenient);
    visit("baseline_sha256", entry.cleaning.baseline_digest, lenient);
    visit("findings", entry.cleaning.findings, lenient);
    visit("zero_mark", entry.cleaning.zero_mark, sparse);
  }
  visit("certificate_pending", entry.certificate_pending, sparse);
  if (visit.wants(!entry.certificate_pending.empty())) {
    visit("release_generation", entry.release_generation, lenient);
    if (visit.wants(entry.fence_generation >= 0)) {
      visit("fence_generation", entry.fence_generation, lenient);
    }
  }
}

namespace {

Result<Line> decode_line(std::string_view line) {
  if (line.size() <= kChecksumDigits + 1 || line[kChecksumDigits] != ' ') {
    return Error{Errc::invalid, "it does not begin with a checksum"};
  }
  const std::string_view body = line.substr(kChecksumDigits + 1);
  if (checksum(body) != line.substr(0, kChecksumDigits)) {
    return Error{Errc::invalid, "its checksum does not match"};
  }
  const Result<rapidjson::Document> document = parse_shallow(body, kLineBytesMax);
  return document ? field::from_json<Line>(*document) : Result<Line>(document.error());
}

}  // namespace

std::string encode_line(const PciAddress& address, const LedgerEntry& entry) {
  const std::string body = field::to_json_text(Line{address, entry});
  return fmt::format("{} {}\n", checksum(body), body);
}

std::string encode_all(const Entries& entries) {
  std::string text(kHeader);
  for (const auto& [address, entry] : entries) text += encode_line(address, entry);
  return text;
}

Result<Replay> replay(std::string_view text, std::string_view name, std::size_t entries_max) {
  Replay replay;
  if (!text.starts_with(kHeader)) {
    return Error{Errc::invalid,
                 fmt::format("{}, line 1: '{}' is not the beginning of a ledger this "
                             "version reads ('{}')",
                             name, printable_excerpt(text.substr(0, 40), 40),
                             kHeader.substr(0, kHeader.size() - 1))};
  }
  std::size_t at = kHeader.size();
  std::size_t line_number = 1;
  while (at < text.size()) {
    ++line_number;
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) {
      replay.torn = true;
      break;
    }
    const auto decoded = decode_line(text.substr(at, end - at));
    if (!decoded.ok()) {
      return Error{Errc::invalid,
                   fmt::format("{}, line {}: {}; what it remembered is not known, so nothing is "
                               "started: compare with Placement, mend or remove the line, and "
                               "treat the host's drives as dirty",
                               name, line_number, decoded.error().what)};
    }
    replay.entries[decoded->address] = decoded->entry;
    if (replay.entries.size() > entries_max) {
      return Error{Errc::limit, fmt::format("{}, line {}: more than {} devices", name, line_number,
                                            entries_max)};
    }
    at = end + 1;
  }
  replay.bytes_good = at;
  return replay;
}

}  // namespace reclaim::ledger_file
