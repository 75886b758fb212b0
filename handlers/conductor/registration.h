// [nvme] manage_providers, or [agent_door]: a drive that is configured to be ours and that
// Placement does not know is made known to it, reserved, and cleaned before anybody can be given
// it. Nobody gave us the drive, so that one that has partitions, filesystems or LVM waits until an
// operator enrols it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "handlers/conductor/context.h"

namespace reclaim {

// Thread: the loop's.
class Registration final {
 public:
  // The drive is not registered, and its record is to say why; tried again with the next survey.
  using Waits = std::function<void(const PciAddress& address, std::string why)>;

  Registration(const ConductorContext& context, Waits waits)
      : context_(context), waits_(std::move(waits)) {}

  [[nodiscard]] bool is_wanted(const Sighting& sighting, const Record* record) const;
  [[nodiscard]] bool is_under_way(const PciAddress& address) { return drives_[address].under_way; }
  // Registers a drive that is wanted, and whose line is in the ledger.
  void begin(const Record& record, const nvme::DriveFacts& drive);
  void say_foreign(const Sighting& sighting);

 private:
  struct Drive {
    bool under_way = false;  // its signatures are being read, or Placement is being told of it
    // Looked at, and it has nothing that somebody may miss. Holds until Placement has answered:
    // what it has by the next time is looked at again.
    bool blank = false;
  };

  void say_former(const PciAddress& address);
  [[nodiscard]] bool is_managed_now(const nvme::DriveFacts& drive) const;
  void find_signatures(const PciAddress& address, const nvme::DriveFacts& drive);
  void register_device(const PciAddress& address, const nvme::DriveFacts& drive);

  const ConductorContext& context_;
  Waits waits_;
  std::map<PciAddress, Drive> drives_;
  // The provider that was told of as somebody else's, by UUID, so that each is told once.
  std::map<PciAddress, std::string> foreign_said_;
};

}  // namespace reclaim
