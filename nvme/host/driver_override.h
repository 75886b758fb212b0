// Changes the driver that a PCI function is bound to, by way of driver_override. The former driver
// is noted before the first change; a change is believed only when sysfs shows it. Blocking;
// thread: a drive thread's.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "nvme/options.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// The driver of a function before it was taken over, and its driver meanwhile. A drive had a vfio
// driver and is on nvme meanwhile; another function may have been, or be, without a driver ("").
struct FormerDriver {
  std::string driver;
  std::string driver_override;  // "" for none
  std::string meanwhile = "nvme";
  friend bool operator==(const FormerDriver&, const FormerDriver&) = default;
};
[[nodiscard]] std::string encode_former_driver(const FormerDriver& former);
// Errc::failed for what no worker wrote; the names can be used in paths.
[[nodiscard]] Result<FormerDriver> decode_former_driver(std::string_view text);

// RUN_PATH/ADDRESS.driver. Nothing when no function there is taken over.
[[nodiscard]] Result<std::optional<FormerDriver>> read_former_driver(const Options& options,
                                                                     const PciAddress& address);
// Writes the note under its name at once or not at all: a worker that ends here leaves no half of a
// note.
[[nodiscard]] Status note_former_driver(const Options& options, const PciAddress& address,
                                        const FormerDriver& former);
[[nodiscard]] Status remove_former_driver(const Options& options, const PciAddress& address);
inline constexpr std::string_view kFormerDriverEnd = ".driver";  // of the notes' names

// A driver's name, as it can be used in paths.
[[nodiscard]] bool is_driver_name(std::string_view text);

// The folder of a function, and the inode it has: one that was plugged in anew has another.
[[nodiscard]] std::string function_path(const Options& options, const PciAddress& address);
[[nodiscard]] ino_t function_inode(const Options& options, const PciAddress& address);

// One write(2), since each is a command of its own to the kernel. Errc::not_found: no such file.
[[nodiscard]] Status write_attribute(const std::string& path, std::string_view text);

// "" for none, which the kernel prints as "(null)".
[[nodiscard]] Result<std::string> read_override(const Options& options, const PciAddress& address);
[[nodiscard]] Status write_override(const Options& options, const PciAddress& address,
                                    const std::string& name);

// Binds `wanted` by way of driver_override where `from` or nothing is bound now, and believes only
// the link. Errc::failed: another driver is bound, or none took the function.
[[nodiscard]] Status bind_driver(const Options& options, const PciAddress& address,
                                 const std::string& from, const std::string& wanted);
// Unbinds `from`, so that no driver at all is bound; errors as bind_driver(). `override_name`
// becomes the override, so that none is bound by a probe meanwhile.
[[nodiscard]] Status unbind_driver(const Options& options, const PciAddress& address,
                                   const std::string& from, const std::string& override_name);

}  // namespace reclaim::nvme
