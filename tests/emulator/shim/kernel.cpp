#include "tests/emulator/shim/kernel.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/emulator/shim/real.h"

namespace reclaim::emulator {
namespace {

// Where the claim of O_EXCL lives: a lock of this open file description far behind any media byte.
// It ends with the last descriptor, also when the process is killed, as the kernel's claim does.
constexpr off_t kClaimOffset = off_t{1} << 61;

struct flock claim_of(short type) {
  struct flock claim {};
  claim.l_type = type;
  claim.l_whence = SEEK_SET;
  claim.l_start = kClaimOffset;
  claim.l_len = 1;
  return claim;
}

// A group can be open once. A device's own node (cdev) can be opened by anybody, and whoever has it
// open keeps the driver from letting go of the device.
enum class VfioNode { none, container, group, device };

VfioNode vfio_node(const std::string& path) {
  if (path.find("/vfio/devices/") != std::string::npos) return VfioNode::device;
  return path.ends_with("/vfio/vfio") ? VfioNode::container : VfioNode::group;
}

int fail(int number) {
  errno = number;
  return -1;
}

bool writable(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY;
}

std::string canonical_of(int fd) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = real().readlink(link, path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

// Whether a descriptor of this node is open, anywhere.
bool claimed_by_anybody(const std::string& path) {
  const int fd = real().openat(AT_FDCWD, path.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return false;
  struct flock claim = claim_of(F_WRLCK);
  const bool taken = real().fcntl(fd, F_OFD_GETLK, &claim) == 0 && claim.l_type != F_UNLCK;
  real().close(fd);
  return taken;
}

}  // namespace

void set_emulator_root(const std::filesystem::path& root) {
  Kernel::instance().set_root(root);
}

Kernel& Kernel::instance() {
  static Kernel* const kernel = [] {
    const InternalIo internal;
    return new Kernel();
  }();  // never destroyed: exit handlers close files too
  return *kernel;
}

Kernel::Kernel() {
  const char* root = std::getenv("RECLAIM_EMULATOR_ROOT");
  if (root != nullptr && *root != '\0') set_root(root);
}

void Kernel::set_root(const std::filesystem::path& root) {
  const InternalIo internal;
  const std::lock_guard guard(mutex_);
  std::error_code code;
  root_ = root.empty() ? std::string() : std::filesystem::canonical(root, code).string();
  host_.reset();
  enabled_ = !root_.empty();
}

bool Kernel::concerned() {
  return !InternalIo::active() && instance().enabled_;
}

std::shared_ptr<Host> Kernel::host() {
  const std::lock_guard guard(mutex_);
  if (host_ == nullptr && !root_.empty()) {
    auto opened = Host::open(root_);
    if (opened.ok()) host_ = std::move(*opened);
  }
  return host_;
}

std::string Kernel::redirect(const char* path) const {
  if (path == nullptr || path[0] != '/') return path == nullptr ? "" : path;
  const std::lock_guard guard(mutex_);
  for (const char* each : {"/dev/nvme", "/sys/class/nvme", "/sys/class/block", "/sys/block",
                           "/sys/bus/pci", "/sys/dev/block", "/sys/dev/char"}) {
    if (std::strncmp(path, each, std::strlen(each)) == 0) return root_ + path;
  }
  return path;
}

void Kernel::settle(const char* path) {
  if (path == nullptr) return;
  {
    const std::lock_guard guard(mutex_);
    if (std::strncmp(path, root_.c_str(), root_.size()) != 0) return;
  }
  const InternalIo internal;
  if (const auto found = host()) found->settle();
}

std::optional<OpenNode> Kernel::classify(const std::string& canonical) {
  std::string root;
  {
    const std::lock_guard guard(mutex_);
    root = root_;
  }
  OpenNode node;
  node.path = canonical;
  if (canonical.starts_with(root + "/sys/")) return node;
  if (canonical.starts_with(root + "/dev/vfio/")) {
    node.kind = NodeKind::vfio;
    return node;
  }
  const std::string nodes = root + "/dev/";
  if (!canonical.starts_with(nodes + "nvme")) return std::nullopt;
  node.host = host();
  if (node.host == nullptr) return std::nullopt;
  const auto found = node.host->find_node(std::string_view(canonical).substr(nodes.size()));
  if (!found) return std::nullopt;
  node.drive = found->drive;
  node.nsid = found->nsid;
  node.kind = node.nsid == 0 ? NodeKind::controller : NodeKind::disk;
  node.drive->with([&](Controller&, DriveState& state) {
    node.generation = state.host.generation;
    if (node.nsid != 0) node.eui64 = state.namespaces[node.nsid - 1].eui64;
  });
  return node;
}

std::optional<OpenNode> Kernel::at_path(int folder, const char* path, int flags) {
  const InternalIo internal;
  const int fd = real().openat(folder, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW), 0);
  if (fd < 0) return std::nullopt;
  const std::string canonical = canonical_of(fd);
  real().close(fd);
  return classify(canonical);
}

int Kernel::open(int folder, const char* path, int flags, mode_t mode) {
  const std::string target = redirect(path);
  settle(target.c_str());
  if ((flags & O_PATH) == 0) {
    if (auto node = at_path(folder, target.c_str(), flags)) {
      const InternalIo internal;
      return open_device(folder, std::move(*node), flags);
    }
  }
  return real().openat(folder, target.c_str(), flags, mode);
}

int Kernel::open_device(int folder, OpenNode node, int flags) {
  const VfioNode vfio = node.kind == NodeKind::vfio ? vfio_node(node.path) : VfioNode::none;
  const bool exclusive =
      vfio == VfioNode::group || (node.kind == NodeKind::disk && (flags & O_EXCL) != 0);
  if (vfio == VfioNode::group) {
    const auto owner = host();
    const std::string group = node.path.substr(node.path.rfind('/') + 1);
    if (owner != nullptr && owner->group_in_use(group)) return fail(EBUSY);
  }
  node.direct = (flags & O_DIRECT) != 0;
  node.writable = writable(flags);
  if (node.drive != nullptr) {
    const int refused = node.drive->with([&](Controller&, DriveState& state) {
      const std::string now = text_of(state.host.controller_state);
      if (node.kind == NodeKind::controller && now != "live") return EWOULDBLOCK;
      return exclusive && state.host.claimed ? EBUSY : 0;
    });
    if (refused != 0) return fail(refused);
  }
  // O_CREAT and O_TRUNC mean nothing to a device; O_DIRECT is judged by us and not passed on, since
  // not every file system has it. A claim needs a descriptor that can be written.
  int kept = flags & ~(O_CREAT | O_TRUNC | O_EXCL | O_DIRECT | O_NOFOLLOW);
  if (node.kind == NodeKind::sysfs) kept = flags & ~(O_CREAT | O_TRUNC | O_EXCL);
  if (exclusive || vfio == VfioNode::device) kept = (kept & ~O_ACCMODE) | O_RDWR;
  const int fd = real().openat(folder, node.path.c_str(), kept, 0);
  if (fd < 0) return -1;
  if (exclusive || vfio == VfioNode::device) {
    struct flock claim = claim_of(vfio == VfioNode::device ? F_RDLCK : F_WRLCK);
    if (real().fcntl(fd, F_OFD_SETLK, &claim) != 0) {
      real().close(fd);
      return fail(EBUSY);
    }
  }
  struct stat about {};
  real().fstat(fd, &about);
  node.backing_device = about.st_dev;
  node.backing_inode = about.st_ino;
  if (node.kind == NodeKind::sysfs) {
    node.host = host();
    const std::filesystem::path path(node.path);
    const std::string attribute = path.filename();
    const bool read_by_us = attribute == "rom" || attribute == "config";
    if (!node.writable && !(read_by_us && node.host != nullptr &&
                            node.host->function(path.parent_path().filename()))) {
      return fd;
    }
  }
  const std::lock_guard guard(mutex_);
  const auto index = static_cast<std::size_t>(fd);
  if (index < ours_.size()) {
    open_[fd] = std::make_shared<OpenNode>(std::move(node));
    ours_[index] = true;
  }
  return fd;
}

std::shared_ptr<OpenNode> Kernel::find(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= ours_.size() || !ours_[index]) return nullptr;
  std::shared_ptr<OpenNode> node;
  {
    const std::lock_guard guard(mutex_);
    const auto found = open_.find(fd);
    if (found == open_.end()) return nullptr;
    node = found->second;
  }
  // The C library closes some descriptors without asking us (fclose): believe the file, not the
  // number.
  struct stat about {};
  if (real().fstat(fd, &about) == 0 && about.st_dev == node->backing_device &&
      about.st_ino == node->backing_inode) {
    return node;
  }
  closed(fd);
  return nullptr;
}

void Kernel::closed(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= ours_.size() || !ours_[index]) return;
  // The last descriptor of a host that was switched off closes its files: not under the lock.
  std::shared_ptr<OpenNode> last;
  const std::lock_guard guard(mutex_);
  ours_[index] = false;
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  last = std::move(found->second);
  open_.erase(found);
}

void Kernel::duplicated(int from, int to) {
  if (to < 0 || from == to) return;
  closed(to);
  auto node = find(from);
  const auto index = static_cast<std::size_t>(to);
  if (node == nullptr || index >= ours_.size()) return;
  const std::lock_guard guard(mutex_);
  open_[to] = std::move(node);
  ours_[index] = true;
}

int Kernel::dead(const OpenNode& node) {
  return node.drive->with([&](Controller&, DriveState& state) {
    if (state.host.generation != node.generation) return ENODEV;
    if (text_of(state.host.controller_state) == "dead") return ENODEV;
    if (node.nsid == 0) return 0;
    const NamespaceState& each = state.namespaces[node.nsid - 1];
    return each.attached && each.eui64 == node.eui64 ? 0 : ENODEV;
  });
}

bool Kernel::claimed(const std::string& path) {
  return claimed_by_anybody(path);
}

// The kernel waits, uninterruptibly in the end, until the last descriptor of the device is closed.
// Here that is an error nobody can miss.
int Kernel::would_hang(const std::string& address, const std::string& driver) {
  std::fprintf(stderr,
               "reclaim-emulator: %s is unbound from %s while somebody has it open: a kernel would "
               "hang here\n",
               address.c_str(), driver.c_str());
  return EDEADLK;
}

int Kernel::unbind(Host& host, const std::string& address, const std::string& driver) {
  auto drive = host.drive(address);
  if (!drive.ok()) return ENODEV;
  std::string cdev;
  const bool guest = (*drive)->with([&](Controller&, DriveState& state) {
    cdev = host.root() / "dev/vfio/devices" / ("vfio" + std::to_string(state.host.instance));
    return state.host.vfio_user;
  });
  if (driver.find("vfio") != std::string::npos && (guest || claimed(cdev))) {
    return would_hang(address, driver);
  }
  return host.bind(address, "").ok() ? 0 : EIO;
}

void Kernel::disguise(const OpenNode& node, struct stat& about) {
  if (node.kind == NodeKind::sysfs) return;
  const InternalIo internal;
  unsigned major = kVfioMajor;
  unsigned minor = 0;
  if (node.drive != nullptr) {
    node.drive->with([&](Controller&, DriveState& state) {
      major = node.nsid == 0 ? kControllerMajor : kBlockMajor;
      minor = node.nsid == 0 ? state.host.instance : block_minor(state, node.nsid);
    });
  }
  const mode_t type = node.kind == NodeKind::disk ? S_IFBLK : S_IFCHR;
  about.st_mode = type | 0600;
  about.st_rdev = makedev(major, minor);
  about.st_size = 0;
  about.st_blocks = 0;
}

}  // namespace reclaim::emulator
