// The emulated kernel: what open, ioctl, read, write and stat do to the nodes of an emulated host.
// One per process, shared by all its threads; made on the first call of an interposer. (A preload
// library has no main() that could own it, hence the one function-local object of this project.)
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "tests/emulator/host/host.h"

struct nvme_passthru_cmd;
struct nvme_user_io;

namespace reclaim::emulator {

// Programs that link the interposers in (gtests) name the host here; others by the environment
// variable RECLAIM_EMULATOR_ROOT. An empty path switches the emulation off. Descriptors that are
// open stay what they were.
void set_emulator_root(const std::filesystem::path& root);

enum class NodeKind { controller, disk, vfio, sysfs };

// One open file description.
struct OpenNode {
  NodeKind kind = NodeKind::sysfs;
  std::string path;  // canonical
  std::shared_ptr<Host> host;
  DriveFile* drive = nullptr;
  std::uint32_t nsid = 0;
  std::uint32_t generation = 0;
  std::array<std::uint8_t, 8> eui64{};  // a namespace made again under the same number is another
  bool direct = false;
  bool writable = false;
  dev_t backing_device = 0;
  ino_t backing_inode = 0;
};

class Kernel final {
 public:
  static Kernel& instance();

  // Whether the calling thread's calls are to be looked at: this is not the emulator's own I/O
  // (asked first: making the instance does I/O itself), and an emulated host is named.
  [[nodiscard]] static bool concerned();
  void set_root(const std::filesystem::path& root);

  // `/dev/nvme…` and sysfs as the emulated host has them; other paths come back as they are. Never
  // falls back to the machine's own drives.
  [[nodiscard]] std::string redirect(const char* path) const;

  // Each returns what the system call would, with errno set.
  int open(int folder, const char* path, int flags, mode_t mode);
  void closed(int fd);
  void duplicated(int from, int to);
  std::shared_ptr<OpenNode> find(int fd);
  int ioctl(OpenNode& node, int fd, unsigned long request, void* argument);
  ssize_t read(OpenNode& node, int fd, const iovec* parts, int count, off_t offset);
  ssize_t write(OpenNode& node, int fd, const iovec* parts, int count, off_t offset);
  int fallocate(OpenNode& node, int mode, off_t offset, off_t length);
  // Lets what is due by now happen (Host::settle), for a path below the root or redirected to it.
  void settle(const char* path);
  // Makes a node look like the device it stands for.
  void disguise(const OpenNode& node, struct stat& about);
  std::optional<OpenNode> at_path(int folder, const char* path, int flags);

 private:
  Kernel();
  std::shared_ptr<Host> host();
  std::optional<OpenNode> classify(const std::string& canonical);
  int open_device(int folder, OpenNode node, int flags);
  int read_sysfs(const OpenNode& node, int fd, off_t offset);
  ssize_t write_sysfs(OpenNode& node, int fd, const std::string& text);
  int sysfs_action(OpenNode& node, const std::string& value);
  int function_action(Host& host, const PciFunction& function, const std::string& name,
                      const std::string& parent, const std::string& value);
  static bool claimed(const std::string& path);  // a descriptor of this node is open, anywhere
  static int would_hang(const std::string& address, const std::string& driver);
  int unbind(Host& host, const std::string& address, const std::string& driver);
  [[nodiscard]] int dead(const OpenNode& node);  // errno, or 0 for a node that still stands
  int admin(OpenNode& node, ::nvme_passthru_cmd& command, std::uint64_t& result);
  int io(OpenNode& node, ::nvme_passthru_cmd& command, std::uint64_t& result);
  int submit_io(OpenNode& node, const ::nvme_user_io& request);
  int passthrough(OpenNode& node, unsigned long request, void* argument);
  int block_ioctl(OpenNode& node, unsigned long request, void* argument);
  int zero(OpenNode& node, std::uint64_t offset, std::uint64_t length);

  mutable std::mutex mutex_;
  std::string root_;  // canonical
  std::atomic<bool> enabled_{false};
  std::shared_ptr<Host> host_;
  std::unordered_map<int, std::shared_ptr<OpenNode>> open_;
  // Whether a descriptor is in `open_`, readable without the lock (a child between fork and exec
  // must not wait for a lock whose holder it left behind).
  std::array<std::atomic<bool>, 65536> ours_{};
};

}  // namespace reclaim::emulator
