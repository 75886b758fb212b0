#include "nvme/verify/block_io.h"

#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace reclaim::nvme {
namespace {

Error io_error(std::string_view what, const Place& place, int number) {
  return Error{Errc::failed,
               fmt::format("cannot {} {}: {}", what, to_string(place), std::strerror(number)),
               number};
}

// The ordinary case, after an erase, is counted without a look at each byte.
Reading counted(std::span<const std::byte> bytes) {
  Reading reading;
  reading.length_bytes = static_cast<std::uint32_t>(bytes.size());
  reading.uniform = is_uniform(bytes);
  const auto count = [&](std::byte value) {
    if (reading.uniform) return bytes.front() == value ? reading.length_bytes : 0U;
    return static_cast<std::uint32_t>(std::count(bytes.begin(), bytes.end(), value));
  };
  reading.zero_bytes = count(std::byte{0});
  reading.ones_bytes = count(std::byte{0xff});
  return reading;
}

}  // namespace

Reading digest(std::span<const std::byte> bytes) {
  Reading reading = counted(bytes);
  reading.sha256 = sha256_hex(bytes);
  return reading;
}

bool is_uniform(std::span<const std::byte> bytes) {
  // Each byte equals the one before it.
  return !bytes.empty() && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

Reading survey(std::span<const std::byte> bytes, std::uint64_t offset_bytes,
               const std::set<std::uint32_t>& piece_lengths) {
  Reading reading = counted(bytes);
  if (reading.uniform) return reading;
  for (const std::uint32_t length : piece_lengths) {
    const std::uint64_t first = (length - offset_bytes % length) % length;
    for (std::uint64_t at = first; at + length <= bytes.size(); at += length) {
      const auto piece = bytes.subspan(at, length);
      if (!is_uniform(piece)) reading.pieces.push_back(sha256_hex(piece));
    }
  }
  return reading;
}

Result<std::span<std::byte>> read_place(int fd, const Place& place, AlignedBuffer& buffer) {
  CHECK(place.length_bytes <= buffer.bytes().size());
  const auto bytes = buffer.bytes().first(place.length_bytes);
  // Old content of the buffer must not be taken for the drive's if a read is shorter than it says.
  std::fill(bytes.begin(), bytes.end(), std::byte{0xa5});
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + have, bytes.size() - have,
                                static_cast<off_t>(place.offset_bytes + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", place, errno);
    if (got == 0) return io_error("read", place, ENODATA);
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

Status write_place(int fd, const Place& place, std::span<const std::byte> bytes) {
  CHECK(bytes.size() == place.length_bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(place.offset_bytes + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error("write", place, errno);
    if (put == 0) return io_error("write", place, ENOSPC);
    done += static_cast<std::size_t>(put);
  }
  return Ok{};
}

Status write_zeros(int fd, Place& place, std::span<const std::byte> zeros) {
  while (place.length_bytes > 0) {
    const std::size_t length = std::min<std::size_t>(place.length_bytes, zeros.size());
    const ssize_t put = ::pwrite(fd, zeros.data(), length, static_cast<off_t>(place.offset_bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error("zero", place, errno);
    if (put == 0) return io_error("zero", place, ENOSPC);
    place.offset_bytes += static_cast<std::uint64_t>(put);
    place.length_bytes -= static_cast<std::uint32_t>(put);
  }
  return Ok{};
}

Status zero_out(int fd, const Place& place) {
  std::uint64_t range[2] = {place.offset_bytes, place.length_bytes};
  if (::ioctl(fd, BLKZEROOUT, range) == 0) return Ok{};
  return io_error("zero", place, errno);
}

Status flush(int fd) {
  if (::fsync(fd) == 0) return Ok{};
  return Error{Errc::failed, fmt::format("cannot flush the drive: {}", std::strerror(errno)),
               errno};
}

Status forget_cached(int fd) {
  if (::ioctl(fd, BLKFLSBUF, 0) != 0) {
    return Error{
        Errc::failed,
        fmt::format("cannot drop the kernel's cache of the drive: {}", std::strerror(errno)),
        errno};
  }
  // Partitions are of the past now; a kernel that keeps them shows only nodes that lead nowhere,
  // and some devices have no table to read again.
  static_cast<void>(::ioctl(fd, BLKRRPART, 0));
  return Ok{};
}

std::string to_string(const Place& place) {
  return fmt::format("{} bytes at {:#x} of namespace {}", place.length_bytes, place.offset_bytes,
                     place.nsid);
}

}  // namespace reclaim::nvme
