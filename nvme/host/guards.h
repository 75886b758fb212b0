// The guards of the host's side (docs/dev/safety-claims.md#nothing-is-erased-that-anyone-may-use):
// each looks at one thing and says in one line what it saw or what is in the way. They only read;
// whatever they cannot read refuses. Blocking; thread: a drive thread's or the scan's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nvme/controller/facts.h"
#include "nvme/host/host_look.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct GuardContext {
  const Options& options;
  const ClaimRequest& request;
  const SysDrive& drive;
  // An unmanaged drive that has yet to be taken over: it need not be bound to nvme.
  bool to_take_over = false;
  std::string_view thing = "drive";  // what the messages of guards on any function call it
  // The look at the host's guests and processes. One look at many drives shares it; each new
  // context is a new look.
  std::shared_ptr<HostLook> host = std::make_shared<HostLook>();
};

struct GuardResult;
using Guard = GuardResult (*)(const GuardContext&);

struct GuardResult {
  GuardFinding finding;
  // The code of a refusal: refused; busy, where it may pass by itself; failed, where only an
  // operator can mend it.
  Errc code = Errc::refused;
  Guard by = nullptr;  // set by look_at()
};

// On the PCI function.
[[nodiscard]] GuardResult guard_pci_class(const GuardContext& context);
[[nodiscard]] GuardResult guard_pci_ids(const GuardContext& context);
[[nodiscard]] GuardResult guard_sriov(const GuardContext& context);
[[nodiscard]] GuardResult guard_iommu_group(const GuardContext& context);
[[nodiscard]] GuardResult guard_driver(const GuardContext& context);
[[nodiscard]] GuardResult guard_live(const GuardContext& context);
[[nodiscard]] GuardResult guard_subsystem_peers(const GuardContext& context);

// Refuses where /proc is not that of the host: holders of the drive would not be seen there.
[[nodiscard]] GuardResult guard_process_view(const GuardContext& context);

// On guests: a domain that names the function or one of its block nodes; a process that holds its
// vfio group or cdev, or one of its nodes, block or character.
[[nodiscard]] GuardResult guard_libvirt_domain(const GuardContext& context);
[[nodiscard]] GuardResult guard_vfio_open(const GuardContext& context);
[[nodiscard]] GuardResult guard_node_open(const GuardContext& context);

// On the host's own use of the drive.
[[nodiscard]] GuardResult guard_own_disk(const GuardContext& context);
[[nodiscard]] GuardResult guard_holders(const GuardContext& context);
[[nodiscard]] GuardResult guard_mounted(const GuardContext& context);
[[nodiscard]] GuardResult guard_swap(const GuardContext& context);
[[nodiscard]] GuardResult guard_btrfs_member(const GuardContext& context);
[[nodiscard]] GuardResult guard_network(const GuardContext& context);
// On users inside the kernel that open a node without claiming it: loop devices, NVMe targets.
[[nodiscard]] GuardResult guard_loop(const GuardContext& context);
[[nodiscard]] GuardResult guard_exported(const GuardContext& context);

// On what the opened controller says. Pure.
[[nodiscard]] GuardResult guard_serial(const GuardContext& context, const Identity& opened);
[[nodiscard]] GuardResult guard_shared_subsystem(const GuardContext& context,
                                                 const Identity& opened);

// The guards that open nothing, in the order they are looked at: cheap and decisive first.
[[nodiscard]] const std::vector<Guard>& guards_before_opening();
// The guards that can change while a claim is held; looked at again right before anything is
// written.
[[nodiscard]] const std::vector<Guard>& guards_before_command();

// The guards on the host's own use of a drive that is bound to nvme, or of what read_function()
// told of another function, whoever asks.
[[nodiscard]] const std::vector<Guard>& guards_on_host_use();

// Looks at them in order, up to and including the first that refuses, or at all of them.
[[nodiscard]] std::vector<GuardResult> look_at(const std::vector<Guard>& guards,
                                               const GuardContext& context, bool all);
// The error of a refusal: "guard mounted: /dev/nvme0n1p1 is mounted on /srv; …".
[[nodiscard]] Error refusal(const GuardResult& result);

// Results of a guard; for guards' own use.
[[nodiscard]] GuardResult passes(std::string_view guard, std::string detail);
[[nodiscard]] GuardResult refuses(std::string_view guard, Errc code, std::string detail);

}  // namespace reclaim::nvme
