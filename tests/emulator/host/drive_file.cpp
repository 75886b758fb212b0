#include "tests/emulator/host/drive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace reclaim::emulator {
namespace {

// Opened for one transfer only: a namespace deleted by another process must not live on in us.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error(const std::string& what) {
  const int number = errno;
  return Error{Errc::failed, what + ": " + std::strerror(number), number};
}

}  // namespace

FileMedia::FileMedia(std::filesystem::path folder, std::string stem)
    : folder_(std::move(folder)), stem_(std::move(stem)) {}

std::filesystem::path FileMedia::path(std::uint32_t nsid) const {
  return folder_ / (stem_ + "-ns" + std::to_string(nsid) + ".img");
}

bool FileMedia::create(std::uint32_t nsid, std::uint64_t bytes, bool recycle) {
  const std::filesystem::path old = retired(nsid);
  std::error_code ignored;
  if (recycle && std::filesystem::exists(old, ignored)) {
    std::filesystem::rename(old, path(nsid), ignored);
  }
  const Descriptor file(path(nsid), O_RDWR | O_CREAT | (recycle ? 0 : O_TRUNC));
  return file.get() >= 0 && ::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0;
}

void FileMedia::remove(std::uint32_t nsid) {
  std::error_code ignored;
  std::filesystem::remove(path(nsid), ignored);
}

// Another file name, so that the nodes of old (links to it) are not those of the next namespace.
void FileMedia::retire(std::uint32_t nsid) {
  std::error_code ignored;
  std::filesystem::copy_file(path(nsid), retired(nsid),
                             std::filesystem::copy_options::overwrite_existing, ignored);
  std::filesystem::remove(path(nsid), ignored);
}

std::filesystem::path FileMedia::retired(std::uint32_t nsid) const {
  return folder_ / (stem_ + "-ns" + std::to_string(nsid) + ".retired");
}

bool FileMedia::read(std::uint32_t nsid, std::uint64_t offset, std::span<std::byte> into) {
  const Descriptor file(path(nsid), O_RDONLY);
  while (!into.empty()) {
    const ssize_t got = ::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return file.get() >= 0;
}

bool FileMedia::write(std::uint32_t nsid, std::uint64_t offset, std::span<const std::byte> from) {
  const Descriptor file(path(nsid), O_WRONLY);
  while (!from.empty()) {
    const ssize_t put = ::pwrite(file.get(), from.data(), from.size(), static_cast<off_t>(offset));
    if (put <= 0) return false;
    from = from.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return file.get() >= 0;
}

bool FileMedia::discard(std::uint32_t nsid, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return true;
  const Descriptor file(path(nsid), O_WRONLY);
  return ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
}

MonoMs drive_now() {
  timespec at{};
  ::clock_gettime(CLOCK_BOOTTIME, &at);
  return MonoMs{static_cast<std::int64_t>(at.tv_sec) * 1000 + at.tv_nsec / 1'000'000};
}

DriveFile::DriveFile(std::filesystem::path path, std::string address)
    : path_(std::move(path)), address_(std::move(address)), media_(path_.parent_path(), address_) {}

DriveFile::~DriveFile() {
  if (state_ != nullptr) ::munmap(state_, sizeof(DriveState));
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

Result<std::unique_ptr<DriveFile>> DriveFile::create(const std::filesystem::path& folder,
                                                     const std::string& address) {
  std::unique_ptr<DriveFile> made(new DriveFile(folder / (address + ".state"), address));
  const Status mapped = made->map(true);
  if (!mapped.ok()) return mapped.error();
  return made;
}

Result<std::unique_ptr<DriveFile>> DriveFile::open(const std::filesystem::path& state_file) {
  std::unique_ptr<DriveFile> made(new DriveFile(state_file, state_file.stem().string()));
  const Status mapped = made->map(false);
  if (!mapped.ok()) return mapped.error();
  return made;
}

Status DriveFile::map(bool fresh) {
  const Descriptor file(path_, fresh ? O_RDWR | O_CREAT | O_EXCL : O_RDWR);
  if (file.get() < 0) return system_error("cannot open the drive state " + path_.string());
  if (fresh) {
    DriveState factory;
    reset_to_factory(factory);
    if (::write(file.get(), &factory, sizeof(factory)) != sizeof(factory)) {
      return system_error("cannot write the drive state " + path_.string());
    }
  }
  DriveState head{};
  const ssize_t got = ::pread(file.get(), &head, sizeof(head), 0);
  if (got != sizeof(head) || head.magic != kStateMagic || head.version != kStateVersion ||
      head.bytes != sizeof(DriveState)) {
    return Error{
        Errc::invalid,
        path_.string() + " is not a drive state of this build; create the " + "emulated host anew"};
  }
  void* at = ::mmap(nullptr, sizeof(DriveState), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return system_error("cannot map the drive state " + path_.string());
  state_ = static_cast<DriveState*>(at);
  return Ok{};
}

void DriveFile::lock() {
  mutex_.lock();
  if (lock_owner_ != ::getpid()) {
    if (lock_fd_ >= 0) ::close(lock_fd_);
    lock_fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    lock_owner_ = ::getpid();
  }
  int done = 0;
  do {
    done = ::flock(lock_fd_, LOCK_EX);
  } while (done != 0 && errno == EINTR);
}

void DriveFile::unlock() {
  ::flock(lock_fd_, LOCK_UN);
  mutex_.unlock();
}

DriveFile::Hold::Hold(DriveFile& file) : file_(file) {
  file_.lock();
}
DriveFile::Hold::~Hold() {
  file_.unlock();
}

}  // namespace reclaim::emulator
