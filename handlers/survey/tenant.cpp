#include "handlers/survey/tenant.h"

namespace reclaim {
namespace {

bool is_of_another_project(const Sighting& sighting, const Record& record,
                           const std::string& consumer) {
  const placement::Consumer* told = told_of(sighting, consumer);
  return told != nullptr && told->holds && !record.project.empty() &&
         told->project != record.project;
}

}  // namespace

const placement::Consumer* told_of(const Sighting& sighting, const std::string& consumer) {
  const auto told = sighting.consumers.find(consumer);
  return told == sighting.consumers.end() || !told->second ? nullptr : &*told->second;
}

Tenant tenant_of(const Sighting& sighting, const Record& record) {
  const std::string& now = sighting.view->consumers.front();
  const std::string former = record.consumer();
  if (former.empty() || now == former || now == record.migration) return Tenant::same;
  if (sighting.view->uuid != record.provider) return Tenant::another;
  if (is_of_another_project(sighting, record, now)) return Tenant::another;
  const placement::Consumer* told = told_of(sighting, former);
  if (told == nullptr) return Tenant::unknown;
  if (told->holds) return Tenant::moving;
  return sighting.followed_for_ms < kMoveMs ? Tenant::unknown : Tenant::another;
}

std::optional<std::string> asks_about(const Sighting& sighting, const Record* record) {
  if (!sighting.view || sighting.view->free()) return std::nullopt;
  const std::string& now = sighting.view->consumers.front();
  const bool asked = sighting.consumers.contains(now);
  if (record == nullptr) return asked || sighting.remembered ? std::nullopt : std::optional(now);
  if (!record->cleanable()) return std::nullopt;
  const bool named = now == record->consumer() || now == record->migration;
  if (!asked && (!named || record->project.empty())) return now;
  if (record->stage != Stage::allocated) return std::nullopt;
  const bool open = tenant_of(sighting, *record) == Tenant::unknown;
  if (open && !sighting.consumers.contains(record->consumer())) return record->consumer();
  return std::nullopt;
}

}  // namespace reclaim
