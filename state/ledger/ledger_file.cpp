#include "state/ledger/ledger_file.h"

#include <fmt/core.h>
#include <zlib.h>

#include <utility>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
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

Result<bool> get_flag(const rapidjson::Value& value, const char* name) {
  const rapidjson::Value* member = json::find(value, name);
  if (member == nullptr || !member->IsBool()) {
    return Error{Errc::invalid, fmt::format("'{}' is absent or neither true nor false", name)};
  }
  return member->GetBool();
}

// What lines of the first version lack.
Status read_certified(const rapidjson::Value& line, LedgerEntry& entry) {
  if (const rapidjson::Value* enrolment = json::find(line, "enrolment");
      enrolment != nullptr && (enrolment->IsObject() || enrolment->IsString())) {
    entry.enrolment = unembed(*enrolment);
  }
  entry.hardware = json::maybe_string(line, "hardware").value_or("");
  entry.boot_id = json::maybe_string(line, "boot_id").value_or("");
  entry.certificate_id = json::maybe_string(line, "certificate_id").value_or("");
  if (const auto text = json::maybe_string(line, "certificate_at"); text && !text->empty()) {
    const Result<WallMs> at = from_iso8601(*text);
    if (!at.ok()) return at.error();
    entry.certificate_at = *at;
  }
  for (const auto& [name, member] :
       {std::pair{"host_reads", &entry.host_reads}, std::pair{"host_writes", &entry.host_writes}}) {
    const rapidjson::Value* number = json::find(line, name);
    if (number != nullptr && number->IsUint64()) *member = number->GetUint64();
  }
  return Ok{};
}

// What lines lack that are older than the authenticated records.
void read_cleaning(const rapidjson::Value& line, LedgerEntry& entry) {
  const rapidjson::Value* accepted = json::find(line, "accepted");
  entry.accepted = accepted != nullptr && accepted->IsTrue();
  if (const auto at = from_iso8601(json::maybe_string(line, "ordered_at").value_or(""))) {
    entry.ordered_at = *at;
  }
  const rapidjson::Value* epoch = json::find(line, "epoch");
  if (epoch != nullptr && epoch->IsUint64()) entry.epoch = epoch->GetUint64();
  entry.cleaning.nonce = json::maybe_string(line, "cleaning_nonce").value_or("");
  entry.cleaning.baseline_digest = json::maybe_string(line, "baseline_sha256").value_or("");
  entry.cleaning.findings = json::maybe_string(line, "findings").value_or("");
  entry.certificate_pending = json::maybe_string(line, "certificate_pending").value_or("");
}

Result<std::pair<PciAddress, LedgerEntry>> decode_entry(std::string_view text) {
  const Result<rapidjson::Document> document = parse_shallow(text, kLineBytesMax);
  if (!document.ok()) return document.error();
  LedgerEntry entry;
  const Result<std::string> address_text = json::get_string(*document, "address");
  if (!address_text.ok()) return address_text.error();
  const Result<PciAddress> address = parse_pci_address(*address_text);
  if (!address.ok()) return address.error();
  const std::pair<const char*, bool*> flags[] = {
      {"dirty", &entry.dirty}, {"error", &entry.error}, {"maintenance", &entry.maintenance}};
  for (const auto& [name, flag] : flags) {
    const Result<bool> read = get_flag(*document, name);
    if (!read.ok()) return read.error();
    *flag = *read;
  }
  const std::pair<const char*, std::string*> texts[] = {
      {"serial", &entry.serial},
      {"provider", &entry.provider},
      {"enrolled_serial", &entry.enrolled_serial}};
  for (const auto& [name, member] : texts) {
    Result<std::string> read = json::get_string(*document, name);
    if (!read.ok()) return std::move(read).error();
    *member = *std::move(read);
  }
  const Result<std::string> since = json::get_string(*document, "dirty_since");
  if (!since.ok()) return since.error();
  if (!since->empty()) {
    const Result<WallMs> at = from_iso8601(*since);
    if (!at.ok()) return at.error();
    entry.dirty_since = *at;
  }
  if (Status certified = read_certified(*document, entry); !certified.ok()) {
    return std::move(certified).error();
  }
  read_cleaning(*document, entry);
  return std::pair{*address, entry};
}

Result<std::pair<PciAddress, LedgerEntry>> decode_line(std::string_view line) {
  if (line.size() <= kChecksumDigits + 1 || line[kChecksumDigits] != ' ') {
    return Error{Errc::invalid, "it does not begin with a checksum"};
  }
  const std::string_view body = line.substr(kChecksumDigits + 1);
  if (checksum(body) != line.substr(0, kChecksumDigits)) {
    return Error{Errc::invalid, "its checksum does not match"};
  }
  return decode_entry(body);
}

}  // namespace

std::string encode_line(const PciAddress& address, const LedgerEntry& entry) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto add_text = [&](const char* name, std::string_view text) {
    document.AddMember(rapidjson::StringRef(name), json_string(text, allocator), allocator);
  };
  add_text("address", to_string(address));
  document.AddMember("dirty", entry.dirty, allocator);
  document.AddMember("error", entry.error, allocator);
  document.AddMember("maintenance", entry.maintenance, allocator);
  add_text("serial", entry.serial);
  add_text("provider", entry.provider);
  add_text("enrolled_serial", entry.enrolled_serial);
  add_text("dirty_since", entry.dirty_since.ms == 0 ? "" : to_iso8601(entry.dirty_since));
  if (!entry.hardware.empty()) add_text("hardware", entry.hardware);
  if (!entry.boot_id.empty()) add_text("boot_id", entry.boot_id);
  if (!entry.enrolment.empty() && entry.enrolment.size() <= kEnrolmentBytesMax) {
    document.AddMember("enrolment", embed(entry.enrolment, allocator), allocator);
  }
  if (!entry.certificate_id.empty()) {
    add_text("certificate_id", entry.certificate_id);
    add_text("certificate_at", to_iso8601(entry.certificate_at));
  }
  if (entry.host_reads) document.AddMember("host_reads", *entry.host_reads, allocator);
  if (entry.host_writes) document.AddMember("host_writes", *entry.host_writes, allocator);
  if (entry.accepted) document.AddMember("accepted", entry.accepted, allocator);
  if (entry.ordered_at.ms != 0) add_text("ordered_at", to_iso8601(entry.ordered_at));
  if (entry.epoch != 0) document.AddMember("epoch", entry.epoch, allocator);
  if (!entry.cleaning.nonce.empty()) {
    add_text("cleaning_nonce", entry.cleaning.nonce);
    add_text("baseline_sha256", entry.cleaning.baseline_digest);
    add_text("findings", entry.cleaning.findings);
  }
  if (!entry.certificate_pending.empty()) {
    add_text("certificate_pending", entry.certificate_pending);
  }
  const std::string body = json::to_text(document);
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
    replay.entries[decoded->first] = decoded->second;
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
