#include "state/certificate/mirror.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "state/base/durable_file.h"
#include "state/certificate/chain.h"
#include "state/certificate/file_ledger.h"

namespace reclaim {
namespace {

constexpr std::string_view kHead = "head";
constexpr std::string_view kSent = "certificates.sent";
constexpr std::size_t kLineBytesMax = 4096;

// Empty: there is no such file.
Result<std::string> read_line(const std::string& path) {
  // Others may write to a shared folder: no link is followed, and a pipe is not waited for.
  const auto file = durable_file::File::open_regular(path, O_NOFOLLOW);
  if (!file.ok() && file.error().raw == ENOENT) return std::string();
  if (!file.ok()) return file.error();
  return file->read_all(kLineBytesMax);
}

// This host's folder in the mirror.
Result<std::string> folder_in(const MirrorPlaces& places) {
  if (places.host.find('/') != std::string::npos || places.host.starts_with('.')) {
    return Error{Errc::invalid,
                 fmt::format("[certificates] mirror_dir: the host '{}' cannot be the name of a "
                             "folder: set [DEFAULT] host to a name without / that begins with no .",
                             printable_excerpt(places.host))};
  }
  return places.mirror_dir + "/" + places.host;
}

// A folder that is shared may hold what others put there: no link is followed.
Status make_folder(const std::string& mirror_dir, const std::string& folder) {
  struct stat info {};
  if (::mkdir(folder.c_str(), 0750) == 0) return durable_file::sync_folder(mirror_dir);
  if (errno != EEXIST) {
    return Error{Errc::failed, fmt::format("cannot create {}: {}", folder, std::strerror(errno)),
                 errno};
  }
  if (::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return Ok{};
  return Error{Errc::invalid, folder + " is not a folder: move it away"};
}

// A chain that was put back from a backup, or begun anew, is another one than the copy, which is
// whole, and stays so.
Result<std::vector<std::string>> missing_in(const std::string& folder,
                                            const std::vector<ChainFile>& files) {
  const auto copied = list_chain(folder);
  if (!copied.ok()) return copied.error();
  std::set<std::string> there;
  for (const ChainFile& file : copied->files) {
    // In a shared folder others may put anything under such a name.
    struct stat info {};
    const bool is_copy = ::lstat(fmt::format("{}/{}", folder, file.name).c_str(), &info) == 0 &&
                         S_ISREG(info.st_mode) && info.st_size > 0 &&
                         std::cmp_less_equal(info.st_size, kSealedBytesMax);
    if (is_copy) there.insert(file.name);
  }
  std::set<std::string> here;
  for (const ChainFile& file : files) here.insert(file.name);
  std::vector<std::string> strange;
  std::set_difference(there.begin(), there.end(), here.begin(), here.end(),
                      std::back_inserter(strange));
  if (!strange.empty()) {
    return Error{Errc::conflict,
                 fmt::format("{} has {}, which this host's chain does not have, and nothing is "
                             "copied, so that the two are not mixed: where a new chain was begun, "
                             "move {} away; where certificates were restored from a backup, put "
                             "the mirror's in their place",
                             folder, strange.front(), folder)};
  }
  std::vector<std::string> missing;
  std::set_difference(here.begin(), here.end(), there.begin(), there.end(),
                      std::back_inserter(missing));
  return missing;
}

// Behind the newest that it took; all of a chain that does not have that one.
Result<std::vector<std::string>> unsent(const MirrorPlaces& places,
                                        const std::vector<ChainFile>& files) {
  const auto sent = read_line(fmt::format("{}/{}", places.state_path, kSent));
  if (!sent.ok()) return sent.error();
  const auto newest = std::find_if(
      files.begin(), files.end(), [&](const ChainFile& file) { return file.name + "\n" == *sent; });
  std::vector<std::string> names;
  for (auto file = newest == files.end() ? files.begin() : newest + 1; file != files.end();
       ++file) {
    names.push_back(file->name);
  }
  return names;
}

Status copy_all(const MirrorPlaces& places, const std::string& chain,
                const std::vector<std::string>& names, const std::vector<ChainFile>& files,
                const std::function<bool()>& stopped) {
  const auto folder = folder_in(places);
  if (!folder.ok()) return folder.error();
  if (Status made = make_folder(places.mirror_dir, *folder); !made.ok()) return made;
  for (const std::string& name : names) {
    if (stopped()) return Error{Errc::cancelled, "stopped"};
    const auto text = read_sealed(chain, name);
    if (!text.ok()) return text.error();
    if (Status kept = durable_file::replace_file(*folder, name, *text); !kept.ok()) return kept;
  }
  const auto newest = read_sealed(chain, files.back().name);
  if (!newest.ok()) return newest.error();
  const std::string head = fmt::format("{}  {}\n", sha256_of(*newest), files.back().name);
  const auto written = read_line(fmt::format("{}/{}", *folder, kHead));
  if (written.ok() && *written == head) return Ok{};
  return durable_file::replace_file(*folder, std::string(kHead), head);
}

Status send_all(const MirrorPlaces& places, const std::string& chain,
                const std::vector<std::string>& names, MirrorCommand& command,
                const std::function<bool()>& stopped) {
  for (const std::string& name : names) {
    if (stopped()) return Error{Errc::cancelled, "stopped"};
    if (Status taken = command.run(fmt::format("{}/{}", chain, name)); !taken.ok()) {
      return taken.error().wrap(name);
    }
    if (Status kept =
            durable_file::replace_file(places.state_path, std::string(kSent), name + "\n");
        !kept.ok()) {
      return kept;
    }
  }
  return Ok{};
}

Result<MirrorOwed> owed_of(const MirrorPlaces& places, const std::vector<ChainFile>& files) {
  MirrorOwed owed;
  if (!places.mirror_dir.empty()) {
    const auto folder = folder_in(places);
    if (!folder.ok()) return folder.error();
    auto missing = missing_in(*folder, files);
    if (!missing.ok()) return std::move(missing).error();
    owed.to_folder = *std::move(missing);
  }
  if (places.has_command) {
    auto names = unsent(places, files);
    if (!names.ok()) return std::move(names).error();
    owed.to_command = *std::move(names);
  }
  return owed;
}

}  // namespace

Result<MirrorOwed> mirror_owed(const MirrorPlaces& places) {
  const auto listing = list_chain(certificates_folder(places.state_path));
  if (!listing.ok()) return listing.error();
  return owed_of(places, listing->files);
}

Status mirror_all(const MirrorPlaces& places, MirrorCommand* command,
                  const std::function<bool()>& stopped) {
  const std::string chain = certificates_folder(places.state_path);
  const auto listing = list_chain(chain);
  if (!listing.ok()) return listing.error();
  if (listing->files.empty()) return Ok{};
  Status copied = Ok{};
  if (!places.mirror_dir.empty()) {
    MirrorPlaces only_folder = places;
    only_folder.has_command = false;
    const auto owed = owed_of(only_folder, listing->files);
    copied = owed.ok() ? copy_all(places, chain, owed->to_folder, listing->files, stopped)
                       : Status(owed.error());
  }
  if (command == nullptr) return copied;
  const auto names = unsent(places, listing->files);
  const Status sent =
      names.ok() ? send_all(places, chain, *names, *command, stopped) : Status(names.error());
  if (copied.ok() || sent.ok()) return copied.ok() ? sent : copied;
  return Error{copied.error().code,
               fmt::format("{}; and {}", copied.error().what, sent.error().what)};
}

class CertificateMirror::Core final {
 public:
  Core(MirrorOptions options, Logger& log)
      : options_(std::move(options)), log_(log), thread_([this] { work(); }) {}

  ~Core() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (options_.command) options_.command->stop();
    thread_.join();
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::int64_t pause_ms = 0;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      woken_ = false;
      lock.unlock();
      const Status done = mirror_all(options_.places, options_.command.get(), [this] {
        const std::lock_guard held(mutex_);
        return stopping_;
      });
      lock.lock();
      if (stopping_) return;
      tell(done);
      if (done.ok()) {
        pause_ms = 0;
        changed_.wait(lock, [this] { return stopping_ || woken_; });
        continue;
      }
      // Entries that are sealed meanwhile wait too: they would fail as well.
      pause_ms =
          pause_ms == 0 ? options_.pause_min_ms : std::min(2 * pause_ms, options_.pause_max_ms);
      (void)changed_.wait_for(lock, std::chrono::milliseconds(pause_ms),
                              [this] { return stopping_; });
    }
  }

  // Tells each reason once, until all is copied again.
  void tell(const Status& done) {
    const std::string why = done.ok() ? std::string() : done.error().what;
    const std::string before = std::exchange(told_, why);
    if (why == before) return;
    if (why.empty()) {
      log_.info(log_name::kLedger, "the mirror has every entry of the chain again");
    } else {
      log_.warning(
          log_name::kLedger,
          "entries of the chain are not mirrored; tried again until they are, releases go on",
          {{"why", why}});
    }
  }

  const MirrorOptions options_;
  Logger& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::string told_;  // of the mirror's thread: the last reason
  std::thread thread_;
};

CertificateMirror::CertificateMirror(MirrorOptions options, Logger& log)
    : core_(std::make_unique<Core>(std::move(options), log)) {}
CertificateMirror::~CertificateMirror() = default;

void CertificateMirror::wake() {
  core_->wake();
}

}  // namespace reclaim
