// Tenants: tells whose the tenancies of a chain are. The entry that tells of a tenancy's begin may
// know less than a later one, as where an accelerator request came before its allocation, and the
// UUID of a migration may stand for the instance's: all entries and certificates of a tenancy tell
// of it. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "state/ledger/audit.h"

namespace reclaim {

// The form in which ids are compared: they may have dashes or none, and either case.
[[nodiscard]] std::string plain_id(std::string_view id);

enum class Whose : std::uint8_t {
  asked_for,
  not_known,  // nothing in the chain tells, so it may be his
  anothers,
};

// The tenants of one chain: another host's word of an instance does not count there.
class Tenants final {
 public:
  // Takes in what one entry or certificate says; empty: it does not.
  void add(const std::string& instance, const std::string& migration, const std::string& project);
  // Judges the tenancy that `entry` is of. Asked for is a project, an instance, or both; empty:
  // any.
  [[nodiscard]] Whose whose(const AuditEntry& entry, const std::string& project,
                            const std::string& instance) const;

 private:
  // The ids and projects that were told together with an instance or a migration.
  struct Known {
    std::set<std::string> others;
    std::set<std::string> projects;
  };
  std::map<std::string, Known> known_;
};

}  // namespace reclaim
