#include "state/ledger/audit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::size_t kTextBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kDetailBytesMax = 4096;

constexpr auto kNames = enum_names<AuditEvent::disowned>(
    "tenancy_seen", "tenancy_ended", "quarantined", "released_elsewhere", "reserved_again",
    "enrolled", "maintenance", "key_endorsed", "enrol_refused", "disowned");

Result<AuditEvent> parse_event(std::string_view text) {
  if (const auto event = kNames.find(text)) return *event;
  return Error{Errc::invalid, fmt::format("'{}' is not known", text)};
}

}  // namespace

std::string_view to_string(AuditEvent event) {
  return kNames[event];
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<AuditEntry> auto& entry) {
  visit("id", entry.id);
  visit.text("event", entry.event, parse_event);
  visit("host", entry.host);
  visit("address", entry.address);
  visit("serial", entry.serial);
  visit("instance", entry.instance);
  visit("detail", entry.detail);
  visit("public_key", entry.public_key);
  visit.moment("at", entry.at);
}

std::string encode_audit(const AuditEntry& entry) {
  rapidjson::Document document(rapidjson::kObjectType);
  document.AddMember("schema", kSchema, document.GetAllocator());
  field::add_members(document, entry);
  return json::to_text(document);
}

AuditEntry identified(AuditEntry entry) {
  entry.detail = printable_excerpt(entry.detail, kDetailBytesMax);
  entry.id.clear();
  entry.id = message_uuid(encode_audit(entry));
  return entry;
}

Result<AuditEntry> decode_audit(std::string_view json_text) {
  const auto document = json::parse(json_text, kTextBytesMax);
  if (!document) return document.error().wrap("an audit entry");
  auto entry = field::from_json<AuditEntry>(*document);
  return entry ? entry : entry.error().wrap("an audit entry");
}

std::vector<MissingErasure> find_missing_erasures(const std::vector<DriveEvent>& events) {
  std::map<std::string, std::vector<DriveEvent>> drives;
  for (const DriveEvent& event : events) drives[event.drive].push_back(event);
  std::vector<MissingErasure> missing;
  for (auto& [drive, of_it] : drives) {
    // A certificate may be sealed after the next tenancy was seen: what counts is when it was.
    std::stable_sort(of_it.begin(), of_it.end(),
                     [](const DriveEvent& a, const DriveEvent& b) { return a.at < b.at; });
    const DriveEvent* open = nullptr;
    bool ended = false;
    for (const DriveEvent& event : of_it) {
      if (event.kind == DriveEvent::Kind::ended) {
        ended = true;
        continue;
      }
      if (event.kind == DriveEvent::Kind::tenancy) {
        // The same one, seen once more: after a restart, or come back before anything was done.
        const bool same = open != nullptr && open->instance == event.instance &&
                          (!ended || !event.instance.empty());
        if (open != nullptr && !same) missing.push_back(MissingErasure{*open, event});
      }
      open = event.kind == DriveEvent::Kind::tenancy ? &event : nullptr;
      ended = false;
    }
  }
  std::sort(missing.begin(), missing.end(), [](const MissingErasure& a, const MissingErasure& b) {
    return a.tenancy.sequence < b.tenancy.sequence;
  });
  return missing;
}

}  // namespace reclaim
