#include "tests/emulator/shim/real.h"

#include <dlfcn.h>

#include "state/base/check.h"

namespace reclaim::emulator {
namespace {

template <typename Function>
void find(Function& into, const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  CHECK(found != nullptr);
  into = reinterpret_cast<Function>(found);
}

Real load() {
  Real all{};
  find(all.openat, "openat");
  find(all.close, "close");
  find(all.dup, "dup");
  find(all.dup2, "dup2");
  find(all.dup3, "dup3");
  find(all.fcntl, "fcntl");
  find(all.ioctl, "ioctl");
  find(all.fstat, "fstat");
  find(all.fstatat, "fstatat");
  find(all.statx, "statx");
  find(all.read, "read");
  find(all.write, "write");
  find(all.pread, "pread");
  find(all.pwrite, "pwrite");
  find(all.readv, "readv");
  find(all.writev, "writev");
  find(all.preadv, "preadv");
  find(all.pwritev, "pwritev");
  find(all.lseek, "lseek");
  find(all.ftruncate, "ftruncate");
  find(all.fallocate, "fallocate");
  find(all.fopen, "fopen");
  find(all.opendir, "opendir");
  find(all.scandir, "scandir");
  find(all.readlink, "readlink");
  find(all.realpath, "realpath");
  find(all.access, "access");
  return all;
}

}  // namespace

const Real& real() {
  static const Real all = load();
  return all;
}

}  // namespace reclaim::emulator
