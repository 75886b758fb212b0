#include "state/ledger/audit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "state/base/enum_names.h"
#include "state/base/fields.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/uuid.h"

namespace reclaim {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kDetailBytesMax = 4096;

constexpr auto kNames = enum_names<AuditEvent::opal_reverted>(
    "tenancy_seen", "tenancy_ended", "quarantined", "released_elsewhere", "reserved_again",
    "enrolled", "maintenance", "key_endorsed", "enrol_refused", "disowned", "key_revoked",
    "retired", "opal_reverted");

Result<AuditEvent> parse_event(std::string_view text) {
  if (const auto event = kNames.find(text)) return *event;
  return Error{Errc::invalid, fmt::format("'{}' is not known", text)};
}

// Adds the begin of each tenancy whose begin the chain does not have, as where a new chain began in
// its middle: its end alone tells of it. One that runs may end under another name: a migration's,
// before its instance's.
std::vector<DriveEvent> with_begins(const std::vector<DriveEvent>& events) {
  std::vector<DriveEvent> whole;
  whole.reserve(events.size());
  std::set<std::string> begun;
  for (const DriveEvent& event : events) {
    const bool runs = !whole.empty() && whole.back().kind == DriveEvent::Kind::tenancy;
    if (event.kind != DriveEvent::Kind::erasure && begun.insert(event.instance).second &&
        event.kind == DriveEvent::Kind::ended && !runs) {
      whole.push_back(event);
      whole.back().kind = DriveEvent::Kind::tenancy;
    }
    whole.push_back(event);
  }
  return whole;
}

// The place of an erasure among what the chain tells of a drive before it. A certificate may be
// sealed after the next tenancy was seen: it belongs to the one that it names.
std::size_t place_of(const DriveEvent& erasure, const std::vector<DriveEvent>& before) {
  std::optional<std::size_t> named;
  for (std::size_t i = before.size(); i > 0 && !erasure.instance.empty(); --i) {
    const DriveEvent& each = before[i - 1];
    if (each.kind != DriveEvent::Kind::tenancy || each.instance != erasure.instance) continue;
    // The instance may have had several tenancies: the last one before the erasure counts. Where
    // the clock was set back, it is the last one of all.
    if (!named || each.at <= erasure.at) named = i;
    if (each.at <= erasure.at) break;
  }
  std::size_t place = named.value_or(before.size());
  if (named) {
    while (place < before.size() && before[place].kind == DriveEvent::Kind::ended) ++place;
  } else {
    while (place > 0 && before[place - 1].at > erasure.at) --place;
  }
  return place;
}

// The chain's order is what happened, whatever the clock was set to meanwhile.
std::vector<DriveEvent> with_erasures_in_place(std::vector<DriveEvent> events) {
  std::vector<DriveEvent> placed;
  placed.reserve(events.size());
  for (DriveEvent& event : events) {
    const std::size_t place =
        event.kind == DriveEvent::Kind::erasure ? place_of(event, placed) : placed.size();
    placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(place), std::move(event));
  }
  return placed;
}

// The events of each drive, in order.
std::map<std::string, std::vector<DriveEvent>> by_drive(const std::vector<DriveEvent>& events) {
  std::map<std::string, std::vector<DriveEvent>> drives;
  for (const DriveEvent& event : events) drives[event.drive].push_back(event);
  for (auto& [drive, of_it] : drives) of_it = with_erasures_in_place(with_begins(of_it));
  return drives;
}

// The events that the chains, by their places, tell of one serial.
using OfChains = std::map<std::size_t, std::vector<DriveEvent>>;

std::set<std::string> models_of(const std::vector<DriveEvent>& events) {
  std::set<std::string> models;
  for (const DriveEvent& event : events) {
    if (!event.model.empty()) models.insert(event.model);
  }
  return models;
}

struct Placed {
  WallMs when;
  std::size_t chain;
  const DriveEvent* event;
};
// The events of what may be of the model, by the clocks, and each chain in its own order.
std::vector<Placed> by_time(const OfChains& of_chains, const std::string& model) {
  std::vector<Placed> all;
  for (const auto& [chain, events] : of_chains) {
    const auto named = models_of(events);
    if (!named.empty() && !named.contains(model)) continue;
    WallMs when;
    for (const DriveEvent& event : events) {
      when = std::max(when, event.at);
      all.push_back({when, chain, &event});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Placed& a, const Placed& b) { return a.when < b.when; });
  return all;
}

void add_moves(const std::vector<Placed>& all, std::vector<UnerasedMove>& moves) {
  const Placed* open = nullptr;
  for (const Placed& each : all) {
    if (each.event->kind == DriveEvent::Kind::ended) continue;
    const bool tenancy = each.event->kind == DriveEvent::Kind::tenancy;
    const std::string& instance = each.event->instance;
    if (tenancy && open != nullptr && open->chain != each.chain &&
        (instance.empty() || instance != open->event->instance)) {
      moves.push_back({open->chain, each.chain, {*open->event, *each.event}});
    }
    open = tenancy ? &each : nullptr;
  }
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
  visit("project", entry.project, field::Rule::sparse);  // of schema 2, and the next two
  visit("user", entry.user, field::Rule::sparse);
  visit("migration", entry.migration, field::Rule::sparse);
  visit("detail", entry.detail);
  visit("public_key", entry.public_key);
  visit("key_id", entry.key_id, field::Rule::sparse);  // younger, and the next
  visit("from_sequence", entry.from_sequence, field::Rule::sparse);
  visit.moment("at", entry.at);
}

std::string encode_audit(const AuditEntry& entry, std::int64_t schema) {
  rapidjson::Document document(rapidjson::kObjectType);
  document.AddMember("schema", schema, document.GetAllocator());
  field::add_members(document, entry);
  return json::to_text(document);
}

AuditEntry identified(AuditEntry entry) {
  entry.detail = printable_excerpt(entry.detail, kDetailBytesMax);
  entry.id.clear();
  entry.id = message_uuid(encode_audit(entry));
  return entry;
}

std::string detail_of(const AuditEntry& entry) {
  if (entry.event != AuditEvent::key_revoked) return entry.detail;
  return fmt::format("key {} from entry {} on: {}", entry.key_id, entry.from_sequence,
                     entry.detail);
}

Result<AuditEntry> decode_audit(std::string_view json_text) {
  const auto document = json::parse(json_text, kTextBytesMax);
  if (!document) return document.error().wrap("an audit entry");
  auto entry = field::from_json<AuditEntry>(*document);
  return entry ? entry : entry.error().wrap("an audit entry");
}

std::vector<MissingErasure> find_missing_erasures(const std::vector<DriveEvent>& events) {
  std::vector<MissingErasure> missing;
  for (const auto& [drive, of_it] : by_drive(events)) {
    const DriveEvent* open = nullptr;
    bool ended = false;
    for (const DriveEvent& event : of_it) {
      if (event.kind == DriveEvent::Kind::ended) {
        ended = true;
        continue;
      }
      if (event.kind == DriveEvent::Kind::tenancy) {
        // It is the same tenancy, seen once more: after a restart, or come back before anything was
        // done.
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

std::vector<MissingErasure> find_missing_erasures(const DriveEvents& events) {
  std::vector<MissingErasure> missing = find_missing_erasures(events.proven);
  const auto place = [](const MissingErasure& it) {
    return std::tuple(it.tenancy.sequence, it.tenancy.file, it.next.sequence, it.next.file);
  };
  std::set<std::tuple<std::uint64_t, std::string, std::uint64_t, std::string>> found;
  for (const MissingErasure& it : missing) found.insert(place(it));
  for (MissingErasure& it : find_missing_erasures(events.with_unproven)) {
    if (!found.insert(place(it)).second) continue;
    it.is_proven = false;
    missing.push_back(std::move(it));
  }
  return missing;
}

namespace {

auto place_of(const UnerasedMove& it) {
  const DriveEvent& next = it.missing.next;
  const DriveEvent& tenancy = it.missing.tenancy;
  return std::tie(it.to, next.sequence, next.file, it.from, tenancy.sequence, tenancy.file);
}

std::vector<UnerasedMove> moves_between(const std::vector<std::vector<DriveEvent>>& chains) {
  std::map<std::string, OfChains> drives;
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    for (auto& [drive, events] : by_drive(chains[chain])) drives[drive][chain] = std::move(events);
  }
  std::vector<UnerasedMove> moves;
  for (const auto& [drive, of_chains] : drives) {
    if (of_chains.size() < 2) continue;
    std::set<std::string> models;
    for (const auto& [chain, events] : of_chains) models.merge(models_of(events));
    if (models.empty()) models.insert("");
    for (const std::string& model : models) add_moves(by_time(of_chains, model), moves);
  }
  return moves;
}

}  // namespace

std::vector<UnerasedMove> find_unerased_moves(const std::vector<DriveEvents>& chains) {
  std::vector<std::vector<DriveEvent>> proven;
  std::vector<std::vector<DriveEvent>> all;
  bool has_unproven = false;
  for (const DriveEvents& chain : chains) {
    proven.push_back(chain.proven);
    all.push_back(chain.with_unproven.empty() ? chain.proven : chain.with_unproven);
    has_unproven |= !chain.with_unproven.empty();
  }
  std::vector<UnerasedMove> moves = moves_between(proven);
  if (has_unproven) {
    for (UnerasedMove& it : moves_between(all)) {
      it.missing.is_proven = false;
      moves.push_back(std::move(it));
    }
  }
  // A move of what may be of several models was found with each, and a proven one twice.
  std::stable_sort(moves.begin(), moves.end(),
                   [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  moves.erase(std::unique(moves.begin(), moves.end(),
                          [](const auto& a, const auto& b) { return place_of(a) == place_of(b); }),
              moves.end());
  return moves;
}

}  // namespace reclaim
