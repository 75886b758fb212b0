#include "state/ledger/tenants.h"

#include <algorithm>
#include <vector>

#include "state/base/text.h"

namespace reclaim {
namespace {

Whose judge(const std::set<std::string>& told, const std::string& asked) {
  if (asked.empty() || told.contains(plain_id(asked))) return Whose::asked_for;
  return told.empty() ? Whose::not_known : Whose::anothers;
}

}  // namespace

std::string plain_id(std::string_view id) {
  std::string out = lower(id);
  std::erase(out, '-');
  return out;
}

void Tenants::add(const std::string& instance, const std::string& migration,
                  const std::string& project) {
  const std::string ids[] = {plain_id(instance), plain_id(migration)};
  for (const std::string& id : ids) {
    if (id.empty()) continue;
    Known& known = known_[id];
    known.others.insert(std::begin(ids), std::end(ids));
    if (!project.empty()) known.projects.insert(plain_id(project));
  }
}

Whose Tenants::whose(const AuditEntry& entry, const std::string& project,
                     const std::string& instance) const {
  std::set<std::string> projects;
  if (!entry.project.empty()) projects.insert(plain_id(entry.project));
  std::set<std::string> instances;
  std::vector<std::string> open = {plain_id(entry.instance), plain_id(entry.migration)};
  while (!open.empty()) {
    const std::string id = std::move(open.back());
    open.pop_back();
    if (id.empty() || !instances.insert(id).second) continue;
    const auto known = known_.find(id);
    if (known == known_.end()) continue;
    projects.insert(known->second.projects.begin(), known->second.projects.end());
    open.insert(open.end(), known->second.others.begin(), known->second.others.end());
  }
  return std::max(judge(projects, project), judge(instances, instance));
}

}  // namespace reclaim
