#include "state/certificate/state_folder.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "state/base/durable_file.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

namespace fs = std::filesystem;
using durable_file::File;

constexpr const char* kOwnerFile = "machine";
constexpr std::string_view kAside = "other-machine-";
// All that a worker and its commands make there, but the lock, which is held. What an operator put
// there, such as firmware, stays. The owner's file is the last: as long as it stands, the next
// start goes on.
constexpr std::array kMade = {
    "ledger",       "host.key", "certificate.key",   "certificate.key.pub",
    "certificates", "qualify",  "certificates.sent", kOwnerFile};
constexpr std::size_t kOwnerBytesMax = 4096;

std::string line_of(const FolderOwner& owner) {
  return fmt::format("{} {}\n", owner.machine_id, owner.host);
}

Result<std::optional<FolderOwner>> read_owner(const std::string& state_path) {
  const std::string path = fmt::format("{}/{}", state_path, kOwnerFile);
  const Result<File> file = File::open(path, O_RDONLY);
  if (!file.ok() && file.error().raw == ENOENT) return std::optional<FolderOwner>();
  if (!file.ok()) return file.error();
  const Result<std::string> text = file->read_all(kOwnerBytesMax);
  if (!text.ok()) return text.error();
  const std::size_t space = text->find(' ');
  const std::size_t end = text->find('\n');
  // The machine-id names a folder.
  const bool readable =
      space != 0 && space < end && end + 1 == text->size() && text->find('/') == std::string::npos;
  if (!readable) {
    return Error{Errc::invalid, fmt::format("{} is damaged ('{}'): remove it if {} is this host's "
                                            "own, and start the worker",
                                            path, printable_excerpt(*text), state_path)};
  }
  return std::optional(
      FolderOwner{text->substr(0, space), text->substr(space + 1, end - space - 1)});
}

std::string folder_for(const std::string& state_path, const FolderOwner& other) {
  return fmt::format("{}/{}{}", state_path, kAside, other.machine_id);
}

// An operator's to decide: the same host, or a copy of it.
Error in_doubt(const std::string& state_path, const FolderOwner& other, const FolderOwner& us) {
  return Error{
      Errc::refused,
      fmt::format("{0} was written by the machine with machine-id {1}, and this one has {2}, under "
                  "the same host name {3}: nothing is started. If this host was installed again, "
                  "remove {0}/{4}. In a container, mount the host's /etc/machine-id. If this is a "
                  "copy of {3}, give it a host name of its own ([DEFAULT] host)",
                  state_path, printable_excerpt(other.machine_id), us.machine_id, us.host,
                  kOwnerFile)};
}

// True if something is there, or cannot be looked at: that fails to move.
bool is_there(const fs::path& path) {
  std::error_code untold;
  return fs::symlink_status(path, untold).type() != fs::file_type::not_found;
}

// Moves a file, over nothing that is there already. What is not there was moved, or never made.
void move_into(const fs::path& folder, const fs::path& from, std::error_code& error) {
  if (!is_there(from)) return;
  const fs::path to = folder / from.filename();
  if (is_there(to)) {
    error = std::make_error_code(std::errc::file_exists);
    return;
  }
  fs::rename(from, to, error);
}

Status put_aside(const std::string& state_path, const std::string& aside) {
  std::error_code error;
  fs::create_directory(aside, error);
  for (auto name = kMade.begin(); !error && name != kMade.end(); ++name) {
    move_into(aside, fs::path(state_path) / *name, error);
  }
  if (error) {
    return Error{
        Errc::failed,
        fmt::format("{0} is another machine's, and cannot be put aside into {1}: {2}; move "
                    "what is in {0} elsewhere, and start the worker",
                    state_path, aside, error.message()),
        error.value()};
  }
  if (Status synced = durable_file::sync_folder(aside); !synced) return synced;
  return durable_file::sync_folder(state_path);
}

std::string told(const std::string& state_path, const FolderOwner& other) {
  return fmt::format(
      "{0} is a copy of {1}'s (machine-id {2}): its ledger, keys and certificates were put aside "
      "into {3}, and this host starts with nothing. If this is {1}, installed again under another "
      "name, stop the worker, move them back, remove {0}/{4}, and start it",
      state_path, printable_excerpt(other.host), other.machine_id, folder_for(state_path, other),
      kOwnerFile);
}

}  // namespace

Status check_state_folder(const std::string& state_path, const FolderOwner& us) {
  const auto owner = read_owner(state_path);
  if (!owner.ok()) return owner.error();
  if (!*owner || (*owner)->machine_id == us.machine_id) return Ok{};
  if ((*owner)->host == us.host) return in_doubt(state_path, **owner, us);
  return Error{Errc::refused,
               fmt::format("{} is a copy of {}'s (machine-id {}): start the worker, which puts it "
                           "aside",
                           state_path, printable_excerpt((*owner)->host), (*owner)->machine_id)};
}

Result<std::optional<std::string>> own_state_folder(const std::string& state_path,
                                                    const FolderOwner& us) {
  const auto owner = read_owner(state_path);
  if (!owner.ok()) return owner.error();
  if (*owner == us) return std::optional<std::string>();
  std::optional<std::string> text;
  if (*owner && (*owner)->machine_id != us.machine_id) {
    if ((*owner)->host == us.host) return in_doubt(state_path, **owner, us);
    if (Status aside = put_aside(state_path, folder_for(state_path, **owner)); !aside) {
      return std::move(aside).error();
    }
    text = told(state_path, **owner);
  }
  if (Status written = durable_file::replace_file(state_path, kOwnerFile, line_of(us)); !written) {
    return std::move(written).error();
  }
  return text;
}

}  // namespace reclaim
