#include "nvme/controller/status.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace reclaim::nvme {
namespace {

struct Row {
  std::uint16_t code;
  Errc errc;
  std::string_view text;
  std::string_view remedy;
};

// NVM Express Base 2.0, "Status Code"; only what Identify, Get Log Page, Sanitize, Format NVM and
// the firmware commands can answer.
constexpr std::array kRows = {
    Row{0x001, Errc::failed, "the drive does not know the command",
        "it cannot be erased this way; a locked TCG drive answers so too"},
    Row{0x002, Errc::failed, "the drive finds a field of the command invalid",
        "its firmware may not support this erase although it says so: look for an update"},
    Row{0x004, Errc::unknown, "data transfer error", "look for PCIe errors in the kernel's log"},
    Row{0x005, Errc::unknown, "aborted because power was lost", ""},
    Row{0x006, Errc::unknown, "internal error of the drive",
        "if it comes back, the drive is broken: replace it"},
    Row{0x007, Errc::unknown, "aborted on request", "Abort was sent, or the controller was reset"},
    Row{0x008, Errc::unknown, "aborted because its queue was deleted",
        "the controller was reset at the same time"},
    Row{0x00b, Errc::failed, "invalid namespace or format",
        "look at the namespaces with `nvme list-ns --all`, then clean the device again"},
    Row{0x00c, Errc::failed, "command sequence error",
        "the drive wants something done before: power-cycle it, then clean the device again"},
    Row{0x015, Errc::failed, "operation denied", "the drive is locked: unlock or revert it"},
    Row{0x01c, Errc::failed, "the last sanitize failed and the drive waits for one that succeeds",
        "clean the device again; if that fails too, replace the drive"},
    Row{0x01d, Errc::busy, "a sanitize is in progress", "wait for its end"},
    Row{0x020, Errc::failed, "a namespace is write protected",
        "clear it with `nvme set-feature -f 0x84 -n NSID --value=0`, or power-cycle the drive"},
    Row{0x021, Errc::busy, "the drive interrupted the command", "try again"},
    Row{0x022, Errc::unknown, "transient transport error", ""},
    Row{0x023, Errc::failed, "the command is prohibited by the lockdown feature",
        "power-cycle the drive to lift a lockdown"},
    Row{0x024, Errc::busy, "the media is not ready yet", "wait until the drive is ready"},
    Row{0x082, Errc::busy, "the namespace is not ready", "wait until the drive is ready"},
    Row{0x083, Errc::failed, "a reservation of another host is in the way",
        "clear it with `nvme resv-release`"},
    Row{0x084, Errc::busy, "a format is in progress", "wait for its end"},
    Row{0x106, Errc::failed, "the drive does not have this firmware slot, or it is read only",
        "correct the slot in [nvme] firmware_images"},
    Row{0x107, Errc::failed, "the drive finds the firmware image invalid",
        "get the image for this model from its vendor, then correct [nvme] firmware_images"},
    Row{0x109, Errc::failed, "the drive does not have this log page",
        "a drive without the sanitize log cannot be verified"},
    Row{0x10a, Errc::failed, "the drive does not have the format that is asked for",
        "look at the namespace with `nvme id-ns` and make it again"},
    Row{0x10b, Errc::failed, "a new firmware waits for a conventional reset",
        "reset the host or power-cycle the drive, then clean the device again"},
    Row{0x110, Errc::failed, "a new firmware waits for a subsystem reset",
        "run `nvme subsystem-reset`, then clean the device again"},
    Row{0x111, Errc::failed, "a new firmware waits for a controller reset",
        "run `nvme reset`, then clean the device again"},
    Row{0x112, Errc::failed, "activating the firmware at once takes longer than the drive promises",
        "activate it with a reset"},
    Row{0x113, Errc::failed, "the drive prohibits the activation of this firmware",
        "name an image in [nvme] firmware_images that its vendor allows after the one it runs"},
    Row{0x114, Errc::failed, "a piece of firmware overlaps one that was sent before",
        "run `nvme reset`, then clean the device again"},
    Row{0x11d, Errc::busy, "a device self-test is in progress", "wait for its end"},
    Row{0x123, Errc::failed, "prohibited while the persistent memory region is enabled",
        "disable it by resetting the controller, then clean the device again"},
    Row{0x281, Errc::failed, "unrecovered read error", "the media is damaged: replace the drive"},
    Row{0x286, Errc::failed, "access denied",
        "the drive is locked by TCG Opal: unlock it, or revert it with the PSID on its label"},
    Row{0x370, Errc::unknown, "the path to the drive failed", ""},
    Row{0x371, Errc::unknown, "aborted by the host",
        "the kernel gave the command up, mostly for a timeout or reset"},
};

}  // namespace

Error status_to_error(int raw, std::string_view command) {
  const std::uint16_t code = status_code(raw);
  for (const Row& row : kRows) {
    if (row.code != code) continue;
    std::string what = fmt::format("{}: {} (NVMe status {:#05x})", command, row.text, code);
    if (!row.remedy.empty()) what += fmt::format("; {}", row.remedy);
    return Error{row.errc, std::move(what), raw};
  }
  // Path related and vendor specific codes say nothing of whether the command was carried out.
  const std::uint16_t type = code >> 8U;
  const Errc errc = type == 3 || type == 7 ? Errc::unknown : Errc::failed;
  return Error{errc, fmt::format("{}: the drive answered NVMe status {:#05x}", command, code), raw};
}

Error errno_to_error(int error_number, std::string_view command) {
  const std::string what = fmt::format("{}: {}", command, std::strerror(error_number));
  switch (error_number) {
    case EACCES:
    case EPERM:
      return Error{Errc::failed, what + "; the worker needs CAP_SYS_ADMIN", error_number};
    case EBADF:
    case EFAULT:
    case EINVAL:
    case ENOMEM:
    case ENOTTY:
      // Refused by the kernel before anything reached the drive.
      return Error{Errc::failed, what, error_number};
    default:
      return Error{Errc::unknown, what, error_number};
  }
}

}  // namespace reclaim::nvme
