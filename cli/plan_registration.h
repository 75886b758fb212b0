// reclaim plan: the drives that a worker with [nvme] manage_providers would make known to
// Placement.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/session.h"
#include "handlers/survey/survey.h"
#include "state/device/record.h"

namespace reclaim::cli {

struct Registration {
  PciAddress address;
  std::string provider;  // the name it would have
  std::string model;
  std::string serial;
  std::string verdict;  // register | wait
  std::string why;
};

// Drives of ours that no provider stands for, with what they have; opened read-only, if at all.
// None without manage_providers.
[[nodiscard]] std::map<PciAddress, Registration> registrations(
    Session& session, const Survey& survey, const std::map<PciAddress, Record>& records);

}  // namespace reclaim::cli
