#include "handlers/survey/tenant.h"

namespace reclaim {
namespace {

bool is_of_another_project(const Sighting& sighting, const Record& record,
                           const std::string& consumer) {
  const placement::Consumer* told = told_of(sighting, consumer);
  return told != nullptr && told->holds && !record.project.empty() &&
         told->project != record.project;
}

bool is_named(const Record& record, const std::string& consumer) {
  return consumer == record.instance || consumer == record.migration;
}

}  // namespace

const placement::Consumer* told_of(const Sighting& sighting, const std::string& consumer) {
  const auto told = sighting.consumers.find(consumer);
  return told == sighting.consumers.end() || !told->second ? nullptr : &*told->second;
}

Tenant tenant_of(const Sighting& sighting, const Record& record) {
  const std::string& now = sighting.view->consumers.front();
  if (record.instance.empty() || is_named(record, now)) return Tenant::same;
  if (record.consumer().empty()) return Tenant::another;
  if (sighting.view->uuid != record.provider) return Tenant::another;
  if (is_of_another_project(sighting, record, now)) return Tenant::another;
  const placement::Consumer* former = told_of(sighting, record.instance);
  const placement::Consumer* told = told_of(sighting, now);
  if (former != nullptr && former->holds) return Tenant::moving;
  // It may have gone since it was seen, and the other with it.
  if (former == nullptr || told == nullptr || !told->holds) return Tenant::unknown;
  return sighting.followed_for_ms < kMoveMs ? Tenant::unknown : Tenant::another;
}

std::optional<std::string> asks_about(const Sighting& sighting, const Record* record) {
  // A device that is not reserved is to be, first of all.
  if (!sighting.view || sighting.view->free() || !sighting.view->burned()) return std::nullopt;
  const std::string& now = sighting.view->consumers.front();
  const bool asked = sighting.consumers.contains(now);
  if (record == nullptr) return asked || sighting.remembered ? std::nullopt : std::optional(now);
  if (!record->cleanable()) return std::nullopt;
  const bool follows =
      record->stage == Stage::allocated && tenant_of(sighting, *record) == Tenant::unknown;
  if (follows && !sighting.consumers.contains(record->instance)) return record->instance;
  if (!asked && (!is_named(*record, now) || record->project.empty())) return now;
  return std::nullopt;
}

}  // namespace reclaim
