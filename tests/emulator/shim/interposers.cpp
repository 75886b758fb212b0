// The C library's names, so that a program's calls (and libnvme's) pass by the emulated kernel
// first. Built twice: as libreclaim_emulator.so for LD_PRELOAD, and as objects that a gtest links
// in. Thread: any. Each one asks whether the emulation concerns it and otherwise calls the real
// function.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "tests/emulator/shim/kernel.h"
#include "tests/emulator/shim/real.h"

// The functions get their names by assembler label: the C library's own declarations, with their
// attributes and 64-bit redirections, then have no say. Variadic ones (open, ioctl, fcntl) are
// taken with their optional argument always there, which the calling conventions of Linux allow.
#define INTERPOSE(name, result, function, ...)                                                  \
  extern "C" __attribute__((visibility("default"))) result function(__VA_ARGS__) __asm__(name); \
  result function(__VA_ARGS__)

namespace {

using reclaim::emulator::Kernel;
using reclaim::emulator::real;

Kernel& kernel() {
  return Kernel::instance();
}

int do_open(int folder, const char* path, int flags, mode_t mode) {
  if (!Kernel::concerned()) return real().openat(folder, path, flags, mode);
  return kernel().open(folder, path, flags, mode);
}

ssize_t do_read(int fd, const iovec* parts, int count, off_t offset) {
  if (Kernel::concerned()) {
    if (const auto node = kernel().find(fd)) {
      return kernel().read(*node, fd, parts, count, offset);
    }
  }
  return offset < 0 ? real().readv(fd, parts, count) : real().preadv(fd, parts, count, offset);
}

ssize_t do_write(int fd, const iovec* parts, int count, off_t offset) {
  if (Kernel::concerned()) {
    if (const auto node = kernel().find(fd)) {
      return kernel().write(*node, fd, parts, count, offset);
    }
  }
  return offset < 0 ? real().writev(fd, parts, count) : real().pwritev(fd, parts, count, offset);
}

bool ours(int fd) {
  return Kernel::concerned() && kernel().find(fd) != nullptr;
}

int do_fstatat(int folder, const char* path, struct stat* about, int flags) {
  if (!Kernel::concerned()) return real().fstatat(folder, path, about, flags);
  if ((flags & AT_EMPTY_PATH) != 0 && path[0] == '\0') {
    const int done = real().fstat(folder, about);
    if (done != 0) return done;
    if (const auto node = kernel().find(folder)) kernel().disguise(*node, *about);
    return 0;
  }
  const std::string target = kernel().redirect(path);
  kernel().settle(target.c_str());
  const int done = real().fstatat(folder, target.c_str(), about, flags);
  if (done != 0 || !S_ISREG(about->st_mode)) return done;
  const int follow = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  const auto node = kernel().at_path(folder, target.c_str(), follow);
  if (node) kernel().disguise(*node, *about);
  return 0;
}

int do_fstat(int fd, struct stat* about) {
  const int done = real().fstat(fd, about);
  if (done == 0 && Kernel::concerned()) {
    if (const auto node = kernel().find(fd)) kernel().disguise(*node, *about);
  }
  return done;
}

int do_fcntl(int fd, int command, void* argument) {
  const int done = real().fcntl(fd, command, argument);
  if (done < 0 || !Kernel::concerned()) return done;
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    kernel().duplicated(fd, done);
    return done;
  }
  if (command != F_GETFL && command != F_SETFL) return done;
  const auto node = kernel().find(fd);
  if (node == nullptr || node->drive == nullptr) return done;
  if (command == F_SETFL) {
    node->direct = (reinterpret_cast<std::intptr_t>(argument) & O_DIRECT) != 0;
    return done;
  }
  return (done & ~O_ACCMODE) | (node->writable ? done & O_ACCMODE : O_RDONLY) |
         (node->direct ? O_DIRECT : 0);
}

int do_ftruncate(int fd, off_t length) {
  if (Kernel::concerned()) {
    const auto node = kernel().find(fd);
    if (node != nullptr && node->drive != nullptr) {
      errno = EINVAL;
      return -1;
    }
  }
  return real().ftruncate(fd, length);
}

int do_fallocate(int fd, int mode, off_t offset, off_t length) {
  if (Kernel::concerned()) {
    if (const auto node = kernel().find(fd)) {
      return kernel().fallocate(*node, mode, offset, length);
    }
  }
  return real().fallocate(fd, mode, offset, length);
}

int do_duplicate(int from, int to) {
  if (to >= 0 && Kernel::concerned()) kernel().duplicated(from, to);
  return to;
}

std::string redirected(const char* path) {
  if (!Kernel::concerned()) return path;
  std::string target = kernel().redirect(path);
  kernel().settle(target.c_str());
  return target;
}

}  // namespace

INTERPOSE("open", int, reclaim_open, const char* path, int flags, mode_t mode) {
  return do_open(AT_FDCWD, path, flags, mode);
}
INTERPOSE("open64", int, reclaim_open64, const char* path, int flags, mode_t mode) {
  return do_open(AT_FDCWD, path, flags, mode);
}
INTERPOSE("__open_2", int, reclaim_open_2, const char* path, int flags) {
  return do_open(AT_FDCWD, path, flags, 0);
}
INTERPOSE("__open64_2", int, reclaim_open64_2, const char* path, int flags) {
  return do_open(AT_FDCWD, path, flags, 0);
}
INTERPOSE("openat", int, reclaim_openat, int folder, const char* path, int flags, mode_t mode) {
  return do_open(folder, path, flags, mode);
}
INTERPOSE("openat64", int, reclaim_openat64, int folder, const char* path, int flags, mode_t mode) {
  return do_open(folder, path, flags, mode);
}
INTERPOSE("__openat_2", int, reclaim_openat_2, int folder, const char* path, int flags) {
  return do_open(folder, path, flags, 0);
}
INTERPOSE("__openat64_2", int, reclaim_openat64_2, int folder, const char* path, int flags) {
  return do_open(folder, path, flags, 0);
}

INTERPOSE("close", int, reclaim_close, int fd) {
  if (Kernel::concerned()) kernel().closed(fd);
  return real().close(fd);
}
INTERPOSE("dup", int, reclaim_dup, int fd) {
  return do_duplicate(fd, real().dup(fd));
}
INTERPOSE("dup2", int, reclaim_dup2, int from, int to) {
  return do_duplicate(from, real().dup2(from, to));
}
INTERPOSE("dup3", int, reclaim_dup3, int from, int to, int flags) {
  return do_duplicate(from, real().dup3(from, to, flags));
}
INTERPOSE("fcntl", int, reclaim_fcntl, int fd, int command, void* argument) {
  return do_fcntl(fd, command, argument);
}
INTERPOSE("fcntl64", int, reclaim_fcntl64, int fd, int command, void* argument) {
  return do_fcntl(fd, command, argument);
}

INTERPOSE("ioctl", int, reclaim_ioctl, int fd, unsigned long request, void* argument) {
  if (Kernel::concerned()) {
    if (const auto node = kernel().find(fd)) return kernel().ioctl(*node, fd, request, argument);
  }
  return real().ioctl(fd, request, argument);
}

INTERPOSE("read", ssize_t, reclaim_read, int fd, void* into, size_t length) {
  if (!ours(fd)) return real().read(fd, into, length);
  const iovec part{into, length};
  return do_read(fd, &part, 1, -1);
}
INTERPOSE("__read_chk", ssize_t, reclaim_read_chk, int fd, void* into, size_t length, size_t) {
  return reclaim_read(fd, into, length);
}
INTERPOSE("write", ssize_t, reclaim_write, int fd, const void* from, size_t length) {
  if (!ours(fd)) return real().write(fd, from, length);
  const iovec part{const_cast<void*>(from), length};
  return do_write(fd, &part, 1, -1);
}
INTERPOSE("pread", ssize_t, reclaim_pread, int fd, void* into, size_t length, off_t offset) {
  if (!ours(fd)) return real().pread(fd, into, length, offset);
  const iovec part{into, length};
  return do_read(fd, &part, 1, offset);
}
INTERPOSE("pread64", ssize_t, reclaim_pread64, int fd, void* into, size_t length, off_t offset) {
  return reclaim_pread(fd, into, length, offset);
}
INTERPOSE("__pread_chk", ssize_t, reclaim_pread_chk, int fd, void* into, size_t length,
          off_t offset, size_t) {
  return reclaim_pread(fd, into, length, offset);
}
INTERPOSE("__pread64_chk", ssize_t, reclaim_pread64_chk, int fd, void* into, size_t length,
          off_t offset, size_t) {
  return reclaim_pread(fd, into, length, offset);
}
INTERPOSE("pwrite", ssize_t, reclaim_pwrite, int fd, const void* from, size_t length,
          off_t offset) {
  if (!ours(fd)) return real().pwrite(fd, from, length, offset);
  const iovec part{const_cast<void*>(from), length};
  return do_write(fd, &part, 1, offset);
}
INTERPOSE("pwrite64", ssize_t, reclaim_pwrite64, int fd, const void* from, size_t length,
          off_t offset) {
  return reclaim_pwrite(fd, from, length, offset);
}
INTERPOSE("readv", ssize_t, reclaim_readv, int fd, const iovec* parts, int count) {
  return do_read(fd, parts, count, -1);
}
INTERPOSE("writev", ssize_t, reclaim_writev, int fd, const iovec* parts, int count) {
  return do_write(fd, parts, count, -1);
}
INTERPOSE("preadv", ssize_t, reclaim_preadv, int fd, const iovec* parts, int count, off_t offset) {
  return do_read(fd, parts, count, offset);
}
INTERPOSE("preadv64", ssize_t, reclaim_preadv64, int fd, const iovec* parts, int count,
          off_t offset) {
  return do_read(fd, parts, count, offset);
}
INTERPOSE("pwritev", ssize_t, reclaim_pwritev, int fd, const iovec* parts, int count,
          off_t offset) {
  return do_write(fd, parts, count, offset);
}
INTERPOSE("pwritev64", ssize_t, reclaim_pwritev64, int fd, const iovec* parts, int count,
          off_t offset) {
  return do_write(fd, parts, count, offset);
}

INTERPOSE("ftruncate", int, reclaim_ftruncate, int fd, off_t length) {
  return do_ftruncate(fd, length);
}
INTERPOSE("ftruncate64", int, reclaim_ftruncate64, int fd, off_t length) {
  return do_ftruncate(fd, length);
}
INTERPOSE("fallocate", int, reclaim_fallocate, int fd, int mode, off_t offset, off_t length) {
  return do_fallocate(fd, mode, offset, length);
}
INTERPOSE("fallocate64", int, reclaim_fallocate64, int fd, int mode, off_t offset, off_t length) {
  return do_fallocate(fd, mode, offset, length);
}

INTERPOSE("fstat", int, reclaim_fstat, int fd, struct stat* about) {
  return do_fstat(fd, about);
}
INTERPOSE("fstat64", int, reclaim_fstat64, int fd, struct stat* about) {
  return do_fstat(fd, about);
}
INTERPOSE("stat", int, reclaim_stat, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, 0);
}
INTERPOSE("stat64", int, reclaim_stat64, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, 0);
}
INTERPOSE("lstat", int, reclaim_lstat, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
INTERPOSE("lstat64", int, reclaim_lstat64, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
INTERPOSE("fstatat", int, reclaim_fstatat, int folder, const char* path, struct stat* about,
          int flags) {
  return do_fstatat(folder, path, about, flags);
}
INTERPOSE("fstatat64", int, reclaim_fstatat64, int folder, const char* path, struct stat* about,
          int flags) {
  return do_fstatat(folder, path, about, flags);
}
// The names from before glibc 2.33, which ThreadSanitizer's own fstat still calls.
INTERPOSE("__fxstat", int, reclaim_fxstat, int, int fd, struct stat* about) {
  return do_fstat(fd, about);
}
INTERPOSE("__fxstat64", int, reclaim_fxstat64, int, int fd, struct stat* about) {
  return do_fstat(fd, about);
}
INTERPOSE("__xstat", int, reclaim_xstat, int, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, 0);
}
INTERPOSE("__xstat64", int, reclaim_xstat64, int, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, 0);
}
INTERPOSE("__lxstat", int, reclaim_lxstat, int, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
INTERPOSE("__lxstat64", int, reclaim_lxstat64, int, const char* path, struct stat* about) {
  return do_fstatat(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
INTERPOSE("statx", int, reclaim_statx, int folder, const char* path, int flags, unsigned mask,
          struct statx* about) {
  const std::string target = path == nullptr ? "" : redirected(path);
  const int done = real().statx(folder, target.c_str(), flags, mask, about);
  if (done != 0 || !Kernel::concerned()) return done;
  struct stat plain {};
  if (do_fstatat(folder, target.c_str(), &plain, flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) ==
          0 &&
      (S_ISBLK(plain.st_mode) || S_ISCHR(plain.st_mode))) {
    about->stx_mode = static_cast<std::uint16_t>(plain.st_mode);
    about->stx_rdev_major = major(plain.st_rdev);
    about->stx_rdev_minor = minor(plain.st_rdev);
    about->stx_size = static_cast<std::uint64_t>(plain.st_size);
  }
  return done;
}

// What only follows paths: nvme-cli's and libnvme's look around in sysfs.
INTERPOSE("fopen", FILE*, reclaim_fopen, const char* path, const char* mode) {
  return real().fopen(redirected(path).c_str(), mode);
}
INTERPOSE("fopen64", FILE*, reclaim_fopen64, const char* path, const char* mode) {
  return real().fopen(redirected(path).c_str(), mode);
}
INTERPOSE("opendir", DIR*, reclaim_opendir, const char* path) {
  return real().opendir(redirected(path).c_str());
}
INTERPOSE("scandir", int, reclaim_scandir, const char* path, dirent*** names,
          reclaim::emulator::DirentFilter filter, reclaim::emulator::DirentOrder order) {
  return real().scandir(redirected(path).c_str(), names, filter, order);
}
INTERPOSE("scandir64", int, reclaim_scandir64, const char* path, dirent*** names,
          reclaim::emulator::DirentFilter filter, reclaim::emulator::DirentOrder order) {
  return real().scandir(redirected(path).c_str(), names, filter, order);
}
INTERPOSE("readlink", ssize_t, reclaim_readlink, const char* path, char* into, size_t length) {
  return real().readlink(redirected(path).c_str(), into, length);
}
INTERPOSE("__readlink_chk", ssize_t, reclaim_readlink_chk, const char* path, char* into,
          size_t length, size_t) {
  return real().readlink(redirected(path).c_str(), into, length);
}
INTERPOSE("realpath", char*, reclaim_realpath, const char* path, char* into) {
  return real().realpath(redirected(path).c_str(), into);
}
INTERPOSE("__realpath_chk", char*, reclaim_realpath_chk, const char* path, char* into, size_t) {
  return real().realpath(redirected(path).c_str(), into);
}
INTERPOSE("access", int, reclaim_access, const char* path, int mode) {
  return real().access(redirected(path).c_str(), mode);
}
