// The block layer: reads, writes and ioctls of a disk node. Bytes go through the caller's own
// descriptor to the backing file, after the drive has said that it takes them.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tests/emulator/shim/kernel.h"
#include "tests/emulator/shim/real.h"

namespace reclaim::emulator {
namespace {

constexpr std::uintptr_t kMemoryAlignment = 512;

int fail(int number) {
  errno = number;
  return -1;
}

// nvme_error_status() and blk_status_to_errno() in one.
int errno_of(std::uint16_t status) {
  switch (status) {
    case kUnrecoveredRead:
    case kWriteFault:
    case kAccessDenied:
      return ENODATA;
    case kReservationConflict:
      return EBADE;
    case kLbaOutOfRange:
      return EREMOTEIO;
    case kWriteProtected:
      return EPERM;
    default:
      return EIO;
  }
}

struct Span {
  std::uint64_t offset;
  std::uint64_t length;
  bool moves_position;
};

// The range meant, and EINVAL for what O_DIRECT may not have.
int range_of(const OpenNode& node, int fd, const iovec* parts, int count, off_t offset,
             std::uint32_t block, Span& span) {
  span.moves_position = offset < 0;
  const off_t at = offset < 0 ? real().lseek(fd, 0, SEEK_CUR) : offset;
  span.offset = static_cast<std::uint64_t>(at);
  span.length = 0;
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(parts[i].iov_base);
    if (node.direct && (parts[i].iov_len % block != 0 || address % kMemoryAlignment != 0)) {
      return EINVAL;
    }
    span.length += parts[i].iov_len;
  }
  return node.direct && span.offset % block != 0 ? EINVAL : 0;
}

// Whether the drive answers this write with success and changes nothing.
bool swallowed_by(const Controller& controller, const iovec* parts, int count) {
  return std::all_of(parts, parts + count, [&](const iovec& each) {
    return controller.swallows({static_cast<const std::byte*>(each.iov_base), each.iov_len});
  });
}

}  // namespace

// Before an attribute is read; -1 with errno where it cannot be.
int Kernel::read_sysfs(const OpenNode& node, int fd, off_t offset) {
  if (node.host == nullptr) return 0;
  const std::filesystem::path path(node.path);
  const auto function = node.host->function(path.parent_path().filename());
  if (!function) return 0;
  if (path.filename() == "config") function->config_is_read();
  if (path.filename() != "rom") return 0;
  const off_t at = offset < 0 ? real().lseek(fd, 0, SEEK_CUR) : offset;
  const int number = function->rom_error(static_cast<std::uint64_t>(at));
  return number == 0 ? 0 : fail(number);
}

ssize_t Kernel::read(OpenNode& node, int fd, const iovec* parts, int count, off_t offset) {
  const InternalIo internal;
  const auto move = [&] {
    return offset < 0 ? real().readv(fd, parts, count) : real().preadv(fd, parts, count, offset);
  };
  if (node.kind == NodeKind::sysfs) return read_sysfs(node, fd, offset) == 0 ? move() : -1;
  if (node.kind != NodeKind::disk) return fail(EINVAL);
  if (dead(node) != 0) return fail(EIO);
  int number = 0;
  bool at_end = false;
  node.drive->with([&](Controller& controller, DriveState&) {
    Span span{};
    number = range_of(node, fd, parts, count, offset, controller.block_bytes(node.nsid), span);
    if (number != 0) return;
    const std::uint64_t size = controller.namespace_bytes(node.nsid);
    at_end = span.offset >= size || span.length == 0;
    if (at_end) return;
    const std::uint64_t length = std::min(span.length, size - span.offset);
    const std::uint16_t status = controller.begin_read(node.nsid, span.offset, length);
    if (status != kSuccess) number = errno_of(status);
  });
  if (number != 0) return fail(number);
  return at_end ? 0 : move();
}

ssize_t Kernel::write(OpenNode& node, int fd, const iovec* parts, int count, off_t offset) {
  const InternalIo internal;
  if (node.kind == NodeKind::sysfs) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    }
    return write_sysfs(node, fd, text);
  }
  if (node.kind != NodeKind::disk) return fail(EINVAL);
  if (!node.writable) return fail(EBADF);
  if (dead(node) != 0) return fail(EIO);
  Span span{};
  int number = 0;
  bool swallowed = false;
  node.drive->with([&](Controller& controller, DriveState&) {
    number = range_of(node, fd, parts, count, offset, controller.block_bytes(node.nsid), span);
    if (number != 0 || span.length == 0) return;
    const std::uint64_t size = controller.namespace_bytes(node.nsid);
    if (span.offset >= size) {
      number = ENOSPC;
      return;
    }
    span.length = std::min(span.length, size - span.offset);
    const std::uint16_t status = controller.begin_write(node.nsid, span.offset, span.length);
    if (status != kSuccess) number = errno_of(status);
    swallowed = swallowed_by(controller, parts, count);
  });
  if (number != 0) return fail(number);
  if (swallowed) {
    if (span.moves_position) real().lseek(fd, static_cast<off_t>(span.length), SEEK_CUR);
    return static_cast<ssize_t>(span.length);
  }
  // Up to the end of the device, and a short count for what lies behind it.
  std::vector<iovec> inside;
  std::uint64_t left = span.length;
  for (int i = 0; i < count && left > 0; ++i) {
    inside.push_back({parts[i].iov_base, std::min<std::size_t>(parts[i].iov_len, left)});
    left -= inside.back().iov_len;
  }
  const int kept = static_cast<int>(inside.size());
  return offset < 0 ? real().writev(fd, inside.data(), kept)
                    : real().pwritev(fd, inside.data(), kept, offset);
}

int Kernel::zero(OpenNode& node, std::uint64_t offset, std::uint64_t length) {
  if (!node.writable) return fail(EBADF);
  return node.drive->with([&](Controller& controller, DriveState&) {
    const std::uint64_t size = controller.namespace_bytes(node.nsid);
    const std::uint64_t block = controller.block_bytes(node.nsid);
    if (offset % block != 0 || length % block != 0) return fail(EINVAL);
    if (offset > size || length > size - offset) return fail(EINVAL);
    const std::uint16_t status = controller.zero_range(node.nsid, offset, length);
    return status == kSuccess ? 0 : fail(errno_of(status));
  });
}

int Kernel::fallocate(OpenNode& node, int mode, off_t offset, off_t length) {
  const InternalIo internal;
  if (node.kind != NodeKind::disk) return fail(ENODEV);
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) return fail(EOPNOTSUPP);
  if (dead(node) != 0) return fail(EIO);
  return zero(node, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(length));
}

int Kernel::block_ioctl(OpenNode& node, unsigned long request, void* argument) {
  std::uint64_t size = 0;
  std::uint32_t block = 0;
  bool read_only = false;
  node.drive->with([&](Controller& controller, DriveState& state) {
    const bool usable = state.namespaces[node.nsid - 1].lba_format != kExtendedFormat;
    size = usable ? controller.namespace_bytes(node.nsid) : 0;
    block = controller.block_bytes(node.nsid);
    read_only = state.namespaces[node.nsid - 1].write_protect != 0;
  });
  switch (request) {
    case BLKGETSIZE64:
      *static_cast<std::uint64_t*>(argument) = size;
      return 0;
    case BLKGETSIZE:
      *static_cast<unsigned long*>(argument) = size / 512;
      return 0;
    case BLKSSZGET:
    case BLKBSZGET:
      *static_cast<int*>(argument) = static_cast<int>(block);
      return 0;
    case BLKPBSZGET:
    case BLKIOMIN:
      *static_cast<unsigned*>(argument) = block;
      return 0;
    case BLKIOOPT:
    case BLKDISCARDZEROES:
      *static_cast<unsigned*>(argument) = 0;
      return 0;
    case BLKALIGNOFF:
      *static_cast<int*>(argument) = 0;
      return 0;
    case BLKROGET:
      *static_cast<int*>(argument) = read_only ? 1 : 0;
      return 0;
    case BLKROTATIONAL:
      *static_cast<unsigned short*>(argument) = 0;
      return 0;
    case BLKFLSBUF:
    case BLKRRPART:
    case BLKBSZSET:
      return 0;
    case BLKDISCARD:
    case BLKZEROOUT: {
      const auto* range = static_cast<const std::uint64_t*>(argument);
      return zero(node, range[0], range[1]);
    }
    case BLKSECDISCARD:
      return fail(EOPNOTSUPP);
    default:
      return fail(ENOTTY);
  }
}

}  // namespace reclaim::emulator
