// One emulated drive on disk: its DriveState mapped from a file, its namespaces as sparse files
// beside it. Shared by any number of processes and threads: every access goes through with(), which
// holds the file's lock; the lock dies with its holder, so a killed process leaves nothing locked.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "state/base/result.h"
#include "tests/emulator/host/internal_io.h"
#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {

// `ADDRESS-nsN.img` in one folder. A node under dev/ is a second link to the same file, so
// detaching a namespace (removing the node) keeps its bytes.
class FileMedia final : public Media {
 public:
  FileMedia(std::filesystem::path folder, std::string stem);
  bool create(std::uint32_t nsid, std::uint64_t bytes, bool recycle = false) override;
  void remove(std::uint32_t nsid) override;
  void retire(std::uint32_t nsid) override;
  bool read(std::uint32_t nsid, std::uint64_t offset, std::span<std::byte> into) override;
  bool write(std::uint32_t nsid, std::uint64_t offset, std::span<const std::byte> from) override;
  bool discard(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] std::filesystem::path path(std::uint32_t nsid) const;

 private:
  [[nodiscard]] std::filesystem::path pool() const;  // the blocks of retired namespaces, in a row

  std::filesystem::path folder_;
  std::string stem_;
};

// Milliseconds of CLOCK_BOOTTIME: the drive's time goes on while no process looks.
MonoMs drive_now();

class DriveFile final {
 public:
  static Result<std::unique_ptr<DriveFile>> create(const std::filesystem::path& folder,
                                                   const std::string& address);
  static Result<std::unique_ptr<DriveFile>> open(const std::filesystem::path& state_file);
  ~DriveFile();
  DriveFile(const DriveFile&) = delete;
  DriveFile& operator=(const DriveFile&) = delete;

  // Calls `work(Controller&, DriveState&)` under the lock, with the drive's time brought up to now.
  template <typename Work>
  auto with(Work&& work) {
    const Hold hold(*this);
    Controller controller(*state_, media_, drive_now());
    return work(controller, *state_);
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] FileMedia& media() { return media_; }

 private:
  class Hold {
   public:
    explicit Hold(DriveFile& file);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    InternalIo internal_;
    DriveFile& file_;
  };

  DriveFile(std::filesystem::path path, std::string address);
  Status map(bool fresh);
  void lock();
  void unlock();

  std::filesystem::path path_;
  std::string address_;
  FileMedia media_;
  std::mutex mutex_;
  int lock_fd_ = -1;
  pid_t lock_owner_ = 0;  // a forked child must not share its parent's lock
  DriveState* state_ = nullptr;
};

}  // namespace reclaim::emulator
