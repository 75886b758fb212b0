// One look at the host. It reads libvirt's domains, the device files that processes have open, and
// the names of its slots. Each is read once, when it is first asked for, however many drives it is
// compared with. A later decision takes a new look. Blocking; thread: its owner's, which is not the
// loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nvme/host/domain_xml.h"
#include "nvme/host/sysfs.h"
#include "nvme/options.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct Domain {
  std::string path;  // of its XML
  // Errc::invalid, Errc::failed: it cannot be read, and may name any device.
  Result<DomainDevices> devices;
  std::vector<std::string> nodes;  // behind devices->nodes, one each; see node_behind()
};

struct DomainFolder {
  std::string path;
  std::optional<Error> error;  // it cannot be listed; Errc::not_found: it does not exist
  std::vector<Domain> domains;
};

// A descriptor of another process that may be of a device's node. A node may be open under any name
// (a container has nodes of its own, and names in other mount namespaces say nothing), so that the
// number tells.
struct OpenFile {
  std::string pid;
  std::string link;  // what /proc/PID/fd/N points to
  std::optional<DeviceNumber> block;
  std::optional<DeviceNumber> character;
};

struct OpenFiles {
  std::vector<OpenFile> files;
  // Errc::failed: not every live process lets us look at what it has open.
  std::optional<Error> error;
};

class HostLook final {
 public:
  // One for each of Options::libvirt_dirs.
  [[nodiscard]] const std::vector<DomainFolder>& domains(const Options& options);
  [[nodiscard]] const OpenFiles& open_files(const Options& options);
  [[nodiscard]] const PciSlots& slots(const Options& options);

 private:
  std::optional<std::vector<DomainFolder>> domains_;
  std::optional<OpenFiles> open_files_;
  std::optional<PciSlots> slots_;
};

// "4711 (qemu-system-x86)"; "4711 (?)" when it has ended.
[[nodiscard]] std::string name_of_process(const Options& options, const std::string& pid);

// The name of the node a path leads to, by links of udev's too; "" for what is not below /dev.
// Under an injected dev root the path is looked up there.
[[nodiscard]] std::string node_behind(const Options& options, const std::string& path);

}  // namespace reclaim::nvme
