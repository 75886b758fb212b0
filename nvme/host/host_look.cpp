#include "nvme/host/host_look.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kDomainBytesMax = 8U << 20U;
constexpr std::size_t kNameBytesMax = 256;

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Reads a domain; none: it was undefined while we looked. Gone is as good as never there.
std::optional<Domain> read_domain(const Options& options, const std::string& path) {
  auto text = read_file(path, kDomainBytesMax);
  if (!text && text.error().code == Errc::not_found) return std::nullopt;
  Domain domain{path, text ? parse_domain(*text) : Result<DomainDevices>(text.error()), {}};
  if (domain.devices) {
    for (const std::string& node : domain.devices->nodes) {
      domain.nodes.push_back(node_behind(options, node));
    }
  }
  return domain;
}

DomainFolder read_folder(const Options& options, const std::string& path) {
  DomainFolder folder{path, std::nullopt, {}};
  const auto files = list_directory(path);
  if (!files) {
    folder.error = files.error();
    return folder;
  }
  for (const std::string& file : *files) {
    if (!file.ends_with(".xml")) continue;
    if (auto domain = read_domain(options, path + "/" + file)) {
      folder.domains.push_back(*std::move(domain));
    }
  }
  return folder;
}

// Notes the device of a descriptor without asking a file's server for anything: a network
// filesystem that is away must not hold us. Notes nothing of one that was closed meanwhile, or that
// cannot be looked at: its name has been.
void note_device(const std::string& descriptor, OpenFile& file) {
  struct statx info {};
  const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(AT_FDCWD, descriptor.c_str(), flags, STATX_TYPE, &info) != 0) return;
  const DeviceNumber number{info.stx_rdev_major, info.stx_rdev_minor};
  if (S_ISBLK(info.stx_mode)) file.block = number;
  if (S_ISCHR(info.stx_mode)) file.character = number;
}

// Adds those of one process. Errc::failed: not all of them can be looked at.
Status read_descriptors(const Options& options, const std::string& pid,
                        std::vector<OpenFile>& files) {
  const std::string folder = fmt::format("{}/{}/fd", options.proc_root, pid);
  const auto names = list_directory(folder);
  if (!names) {
    // The process has ended meanwhile.
    if (names.error().code == Errc::not_found || names.error().raw == ESRCH) return Ok{};
    return Error{Errc::failed,
                 fmt::format("process {} cannot be looked at: {}; the worker needs CAP_SYS_PTRACE",
                             name_of_process(options, pid), names.error().what)};
  }
  const std::string nodes = options.dev_root + "/";
  for (const std::string& name : *names) {
    const std::string descriptor = folder + "/" + name;
    std::array<char, 4096> target{};
    const ssize_t length = ::readlink(descriptor.c_str(), target.data(), target.size());
    if (length < 0 && (errno == ENOENT || errno == ESRCH)) continue;
    if (length < 0) {
      return Error{Errc::failed,
                   fmt::format("descriptor {} of process {} cannot be looked at: {}", name,
                               name_of_process(options, pid), std::strerror(errno))};
    }
    const std::string_view link(target.data(), static_cast<std::size_t>(length));
    if (link.empty() || link.front() != '/') continue;  // "socket:[4711]"
    OpenFile file{pid, std::string(link), std::nullopt, std::nullopt};
    note_device(descriptor, file);
    const bool may_be_of_a_node =
        link.find(nodes) != std::string_view::npos || link.find("/vfio/") != std::string_view::npos;
    if (file.block || file.character || may_be_of_a_node) files.push_back(std::move(file));
  }
  return Ok{};
}

OpenFiles read_open_files(const Options& options) {
  OpenFiles found;
  const auto processes = list_directory(options.proc_root);
  if (!processes) {
    found.error = processes.error();
    return found;
  }
  const std::string self = std::to_string(::getpid());
  for (const std::string& pid : *processes) {
    if (!parse_number<pid_t>(pid) || pid == self) continue;
    auto read = read_descriptors(options, pid, found.files);
    if (!read && !found.error) found.error = std::move(read).error();
  }
  return found;
}

}  // namespace

const std::vector<DomainFolder>& HostLook::domains(const Options& options) {
  if (!domains_) {
    domains_.emplace();
    for (const std::string& folder : options.libvirt_dirs) {
      domains_->push_back(read_folder(options, folder));
    }
  }
  return *domains_;
}

const OpenFiles& HostLook::open_files(const Options& options) {
  if (!open_files_) open_files_ = read_open_files(options);
  return *open_files_;
}

const PciSlots& HostLook::slots(const Options& options) {
  if (!slots_) slots_ = list_slots(options.sysfs_root);
  return *slots_;
}

std::string name_of_process(const Options& options, const std::string& pid) {
  const auto name = read_file(fmt::format("{}/{}/comm", options.proc_root, pid), kNameBytesMax);
  return fmt::format("{} ({})", pid, name ? *name : "?");
}

std::string node_behind(const Options& options, const std::string& path) {
  if (path.rfind("/dev/", 0) != 0) return {};
  const std::string here = options.dev_root + path.substr(4);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(here.c_str(), nullptr),
                                                         &std::free);
  return base_name(real == nullptr ? path : real.get());
}

}  // namespace reclaim::nvme
