#include "nvme/erase/sanitized_media.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "nvme/controller/admin.h"
#include "nvme/controller/admin_command.h"
#include "nvme/controller/status.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint8_t kRead = 0x02;
// NVM Command Set 1.1, 5.10.1: the data was moved, and errors of its integrity were ignored.
constexpr std::uint16_t kSuccessfulMediaRead = 0x19c;
constexpr std::uint32_t kReadBytes = 4096;  // or one block: each drive can move that at once
constexpr std::byte kNothingCame{0xa5};

// Reads by a command of our own: the block layer takes the drive's answer for an error.
Status read_blocks(const DriveContext& drive, const ClaimedNamespace& ns,
                   std::uint64_t offset_bytes, std::span<std::byte> into) {
  std::fill(into.begin(), into.end(), kNothingCame);
  const std::uint64_t block = offset_bytes / ns.facts.block_bytes;
  RawCommand read;
  read.opcode = kRead;
  read.nsid = ns.facts.nsid;
  read.cdw10 = static_cast<std::uint32_t>(block);
  read.cdw11 = static_cast<std::uint32_t>(block >> 32U);
  read.cdw12 = static_cast<std::uint32_t>(into.size() / ns.facts.block_bytes - 1);
  read.data = into;
  const auto done = io_command(ns.fd.get(), read, drive.options.admin_timeout_ms, "Read");
  if (!done && status_code(done.error().raw) != kSuccessfulMediaRead) return done.error();
  if (is_uniform(into) && into.front() == kNothingCame) {
    return Error{Errc::failed, "Read: the kernel handed over no data"};
  }
  return Ok{};
}

Result<std::span<std::byte>> read_media(const DriveContext& drive, const Sample& sample,
                                        AlignedBuffer& buffer) {
  const ClaimedNamespace* ns = drive.claim.find(sample.nsid);
  if (ns == nullptr || sample.offset_bytes > ns->facts.capacity_bytes ||
      sample.length_bytes > ns->facts.capacity_bytes - sample.offset_bytes) {
    return Error{Errc::failed, fmt::format("{} bytes at {:#x} of namespace {} are not there",
                                           sample.length_bytes, sample.offset_bytes, sample.nsid)};
  }
  const auto bytes = buffer.bytes().first(sample.length_bytes);
  const std::size_t step = std::max(kReadBytes, ns->facts.block_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const auto piece = bytes.subspan(at, std::min(step, bytes.size() - at));
    if (auto read = read_blocks(drive, *ns, sample.offset_bytes + at, piece); !read) {
      return std::move(read).error();
    }
  }
  return bytes;
}

// Finds what the baseline saw, wherever it shows up.
class OldContent final {
 public:
  explicit OldContent(const Baseline& baseline) {
    for (const auto* places : {&baseline.samples, &baseline.canaries}) {
      for (const Sample& sample : *places) {
        longest_bytes_ = std::max(longest_bytes_, sample.length_bytes);
        if (sample.blank) continue;
        digests_.insert(sample.sha256);
        lengths_.insert(sample.length_bytes);
      }
    }
  }

  [[nodiscard]] std::uint32_t longest_bytes() const { return longest_bytes_; }
  [[nodiscard]] bool is_in(const Reading& reading) const {
    return std::any_of(reading.pieces.begin(), reading.pieces.end(),
                       [this](const std::string& piece) { return digests_.count(piece) != 0; });
  }
  [[nodiscard]] Reading read(std::span<const std::byte> bytes, const Sample& at) const {
    Reading reading = survey(bytes, at.offset_bytes, lengths_);
    reading.pieces.push_back(sha256_hex(bytes));
    return reading;
  }

 private:
  std::set<std::string> digests_;
  std::set<std::uint32_t> lengths_;
  std::uint32_t longest_bytes_ = 0;
};

}  // namespace

bool can_show_media(const DriveContext& drive, const Baseline& baseline) {
  const Rules& rules = drive.claim.rules();
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    if (ns.facts.metadata_bytes != 0) return false;  // a read would need a place for them
  }
  return drive.claim.identity().capabilities.media_verification() && !baseline.canaries.empty() &&
         rules.verify != VerifyLevel::log && !rules.relaxed.media_verification &&
         drive.claim.whole().ok();
}

bool shows_media(const DriveContext& drive, const SanitizeLog& log) {
  return drive.claim.identity().capabilities.media_verification() && log.media_verification();
}

Result<SanitizedMedia> read_sanitized_media(const DriveContext& drive, const Baseline& baseline,
                                            MonoMs deadline, StopFlag& stop) {
  const OldContent old(baseline);
  AlignedBuffer buffer(std::max(old.longest_bytes(), kReadBytes));
  SanitizedMedia look;
  std::string first_error = "there is nothing to compare with it";
  for (const auto* places : {&baseline.samples, &baseline.canaries}) {
    for (const Sample& before : *places) {
      if (stop.requested()) return Error{Errc::cancelled, "stopped while reading the media"};
      const bool late = drive.clock.now().mono.ms >= deadline.ms;
      const auto bytes = late ? Error{Errc::failed, "the time of the erase was up"}
                              : read_media(drive, before, buffer);
      if (!bytes) {
        if (look.places_unreadable++ == 0) first_error = bytes.error().what;
        continue;
      }
      const Reading reading = old.read(*bytes, before);
      if (old.is_in(reading)) {
        return Error{Errc::failed,
                     fmt::format("the media still holds content of before the erase (namespace {}, "
                                 "{} bytes at {:#x}), which the drive hides once it is "
                                 "deallocated; replace the drive",
                                 before.nsid, before.length_bytes, before.offset_bytes)};
      }
      ++look.places_read;
      look.places_compared += before.blank ? 0U : 1U;
      look.bytes_read += reading.length_bytes;
      look.bytes_nonzero += reading.length_bytes - reading.zero_bytes;
    }
  }
  if (look.places_read == 0) look.not_read = "it could not be read: " + first_error;
  return look;
}

Status leave_media_verification(const DriveContext& drive) {
  auto left = exit_media_verification(drive.claim.controller_fd(), drive.options.admin_timeout_ms);
  if (left || left.error().code != Errc::failed) return left;
  return Error{Errc::failed,
               fmt::format("the drive does not leave its media verification: {}; power-cycle it, "
                           "then reclaim device clean {}",
                           left.error().what, to_string(drive.claim.sys().address)),
               left.error().raw};
}

}  // namespace reclaim::nvme
