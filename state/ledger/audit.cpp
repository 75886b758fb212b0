#include "state/ledger/audit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::size_t kTextBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kDetailBytesMax = 4096;

constexpr std::array<std::string_view, 9> kNames{
    "tenancy_seen", "tenancy_ended", "quarantined",  "released_elsewhere", "reserved_again",
    "enrolled",     "maintenance",   "key_endorsed", "enrol_refused"};

struct Member {
  const char* name;
  std::string AuditEntry::*member;
};

constexpr Member kMembers[] = {
    {"id", &AuditEntry::id},
    {"host", &AuditEntry::host},
    {"address", &AuditEntry::address},
    {"serial", &AuditEntry::serial},
    {"instance", &AuditEntry::instance},
    {"detail", &AuditEntry::detail},
    {"public_key", &AuditEntry::public_key},
};

}  // namespace

std::string_view to_string(AuditEvent event) {
  return kNames[static_cast<std::size_t>(event)];
}

std::string encode_audit(const AuditEntry& entry) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& memory = document.GetAllocator();
  document.AddMember("schema", rapidjson::Value(kSchema), memory);
  for (const Member& each : kMembers) {
    document.AddMember(rapidjson::StringRef(each.name),
                       rapidjson::Value(entry.*each.member, memory), memory);
    if (each.member == &AuditEntry::id) {
      document.AddMember("event", rapidjson::Value(std::string(to_string(entry.event)), memory),
                         memory);
    }
  }
  document.AddMember("at", rapidjson::Value(to_iso8601(entry.at), memory), memory);
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
  AuditEntry entry;
  for (const Member& each : kMembers) {
    auto text = json::get_string(*document, each.name);
    if (!text) return text.error().wrap("an audit entry");
    entry.*each.member = *std::move(text);
  }
  const auto event = json::get_string(*document, "event");
  if (!event) return event.error().wrap("an audit entry");
  const auto* const name = std::find(kNames.begin(), kNames.end(), *event);
  if (name == kNames.end()) {
    return Error{Errc::invalid,
                 fmt::format("an audit entry: 'event' is '{}', which is not known", *event)};
  }
  entry.event = static_cast<AuditEvent>(name - kNames.begin());
  const auto at = json::get_string(*document, "at");
  if (!at) return at.error().wrap("an audit entry");
  const auto time = from_iso8601(*at);
  if (!time) return time.error().wrap("an audit entry: 'at'");
  entry.at = *time;
  return entry;
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
