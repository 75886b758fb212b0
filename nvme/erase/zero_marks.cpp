#include "nvme/erase/zero_marks.h"

#include <fmt/core.h>

#include "nvme/controller/admin.h"
#include "nvme/host/sysfs.h"
#include "nvme/verify/block_io.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kBootIdBytesMax = 64;

}  // namespace

ZeroTarget zero_target(const DriveContext& drive) {
  ZeroTarget target;
  const auto boot =
      read_file(drive.options.proc_root + "/sys/kernel/random/boot_id", kBootIdBytesMax);
  if (boot) target.boot_id = *boot;
  target.serial = drive.claim.identity().serial;
  target.hardware = encode_hardware(drive.claim.sys().hardware);
  for (const ClaimedNamespace& ns : drive.claim.namespaces()) {
    target.namespaces.push_back({ns.facts.nsid, ns.facts.capacity_bytes, ns.facts.block_bytes,
                                 ns.facts.identifier, ns.sys.disk_sequence});
  }
  return target;
}

void ZeroMarks::begin(std::uint64_t position_bytes) {
  if (auto provable = check_provable(zero_target(drive_)); !provable) {
    return give_up(provable.error());
  }
  const auto now = host_writes();
  if (!now) return give_up(now.error());
  position_bytes_ = position_bytes;
  host_writes_ = *now;
}

std::optional<std::string> ZeroMarks::take(std::uint64_t position_bytes, bool ended) {
  if (!marks_ || position_bytes == 0) return std::nullopt;
  const auto mark = marked(position_bytes, ended);
  if (mark) return encode_mark(*mark);
  if (mark.error().code == Errc::not_found) give_up(mark.error());
  return std::nullopt;
}

// Flushes, and makes the mark. The kernel decides how many commands it makes of what we write. So
// the next mark is given twice what has come since the last one: a zeroing that was faster, or a
// mark that came later, is not proven to be ours alone, and begins again.
Result<ZeroMark> ZeroMarks::marked(std::uint64_t position_bytes, bool ended) {
  for (const ClaimedNamespace& ns : drive_.claim.namespaces()) {
    if (auto flushed = flush(ns.fd.get()); !flushed) return std::move(flushed).error();
  }
  auto now = host_writes();
  const bool moved = !now || *now != host_writes_ || position_bytes != position_bytes_;
  if (!moved && !(ended && counts_)) {
    return Error{Errc::busy, "nothing was written since the last mark"};
  }
  if (now && !counts_ && *now == host_writes_) now = counted_write();
  if (!now) return std::move(now).error();
  if (*now < host_writes_) return Error{Errc::not_found, "the drive's counter went back"};
  counts_ = true;
  ZeroMark mark;
  mark.method = method_;
  mark.target = zero_target(drive_);
  mark.position_bytes = position_bytes;
  mark.host_writes = *now;
  mark.host_writes_max = *now + (ended ? 0 : 2 * (*now - host_writes_));
  position_bytes_ = position_bytes;
  host_writes_ = *now;
  return mark;
}

Result<std::uint64_t> ZeroMarks::host_writes() const {
  const auto now = read_counters(drive_.claim.controller_fd(), drive_.options.admin_timeout_ms);
  if (!now) return now.error();
  return now->host_writes;
}

// Drives need not count Write Zeroes. A counter that does not show a write of ours would not show
// anybody else's either: so the first block, which is zeroed, is written once more.
Result<std::uint64_t> ZeroMarks::counted_write() const {
  const ClaimedNamespace& first = drive_.claim.namespaces().front();
  Place block{first.facts.nsid, 0, first.facts.block_bytes};
  if (auto written = write_zeros(first.fd.get(), block, zeros_); !written) {
    return std::move(written).error();
  }
  auto now = host_writes();
  if (now && *now == host_writes_) {
    return Error{Errc::not_found, "the drive does not count write commands"};
  }
  return now;
}

void ZeroMarks::give_up(const Error& why) {
  marks_ = false;
  drive_.log.info(log_name::kNvme,
                  fmt::format("{}: after a stop or a crash this zeroing begins with the first byte",
                              to_string(drive_.claim.sys().address)),
                  {{"why", why.what}});
}

}  // namespace reclaim::nvme
