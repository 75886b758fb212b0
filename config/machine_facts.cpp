#include "config/machine_facts.h"

#include <fmt/core.h>
#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "state/base/host_names.h"
#include "state/base/uuid.h"

namespace reclaim::config {
namespace {

// The first line of a small file, without its end.
Result<std::string> first_line(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    const int error = errno;
    return Error{error == ENOENT ? Errc::not_found : Errc::invalid,
                 fmt::format("{} cannot be read: {}", path,
                             error == 0 ? "it is empty" : std::strerror(error)),
                 error};
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

std::string full_name(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::string name = found->ai_canonname == nullptr ? "" : found->ai_canonname;
  freeaddrinfo(found);
  return is_full_name_of(name, host) ? name : "";
}

}  // namespace

Result<MachineFacts> read_machine_facts(const Settings& settings) {
  MachineFacts out;
  auto machine_id = first_line(settings.machine_id_file);
  if (!machine_id || machine_id->empty()) {
    return Error{Errc::invalid, fmt::format("no machine-id: {} ([reclaim] machine_id_file)",
                                            machine_id ? settings.machine_id_file + " is empty"
                                                       : machine_id.error().what)};
  }
  out.machine_id = *machine_id;
  auto compute_id = first_line(settings.compute_id_file);
  if (compute_id) {
    if (!looks_like_uuid(*compute_id)) {
      return Error{Errc::invalid,
                   fmt::format("{} has no UUID; Nova writes the compute node's there",
                               settings.compute_id_file)};
    }
    out.compute_id = *compute_id;
  } else if (compute_id.error().code != Errc::not_found) {
    return compute_id.error();
  }
  if (auto boot = first_line(settings.nvme.proc_root + "/sys/kernel/random/boot_id")) {
    out.boot_id = *std::move(boot);
  }
  out.fqdn = full_name(settings.host);
  return out;
}

}  // namespace reclaim::config
