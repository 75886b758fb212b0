// Reading and writing a namespace's media past the page cache (O_DIRECT), and digesting it.
// Blocking; thread: whichever owns the descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "nvme/controller/buffer.h"
#include "nvme/verify/sampling.h"
#include "nvme/verify/verdict.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// Digest and composition of what was read.
[[nodiscard]] Reading digest(std::span<const std::byte> bytes);
// Composition of what was read at `offset_bytes`, and the digests of the pieces within it that are
// `piece_lengths` long, aligned to their length on the media, and not blank. The whole is not
// digested. Blank media are judged at the speed of memory.
[[nodiscard]] Reading survey(std::span<const std::byte> bytes, std::uint64_t offset_bytes,
                             const std::set<std::uint32_t>& piece_lengths);
[[nodiscard]] bool is_uniform(std::span<const std::byte> bytes);

// The place's bytes, in full, into the front of `buffer`, which must be large enough. Errc::failed
// names place and reason.
[[nodiscard]] Result<std::span<std::byte>> read_place(int fd, const Place& place,
                                                      AlignedBuffer& buffer);
[[nodiscard]] Status write_place(int fd, const Place& place, std::span<const std::byte> bytes);
// Writes `zeros` (at least one block of them) over the place. What was done is taken off its front,
// so that after an error the rest can be tried again.
[[nodiscard]] Status write_zeros(int fd, Place& place, std::span<const std::byte> zeros);
// Has the kernel zero the place: by the drive's Write Zeroes, never by deallocating, and by writing
// zeroes where the kernel knows the drive's command to be broken.
[[nodiscard]] Status zero_out(int fd, const Place& place);
// Flushes: what was written is on the media then, not in a cache of the host or the drive.
[[nodiscard]] Status flush(int fd);
// Throws away what the kernel cached of the device, and its idea of the partitions: after an erase
// both are of the past.
[[nodiscard]] Status forget_cached(int fd);

[[nodiscard]] std::string to_string(const Place& place);

}  // namespace reclaim::nvme
