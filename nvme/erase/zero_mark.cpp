#include "nvme/erase/zero_mark.h"

#include <fmt/core.h>

#include "state/base/embedded_json.h"
#include "state/base/fields.h"

namespace reclaim::nvme {

template <typename Visit>
void visit_fields(Visit& visit, field::Of<MarkedNamespace> auto& ns) {
  visit("nsid", ns.nsid);
  visit("capacity_bytes", ns.capacity_bytes);
  visit("block_bytes", ns.block_bytes);
  visit("identifier", ns.identifier);
  visit("disk_sequence", ns.disk_sequence);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<ZeroTarget> auto& target) {
  visit("boot_id", target.boot_id);
  visit("serial", target.serial);
  visit("hardware", target.hardware);
  visit("namespaces", target.namespaces);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<ZeroMark> auto& mark) {
  visit.text("method", mark.method, parse_erase_method);
  visit("target", mark.target);
  visit("position_bytes", mark.position_bytes);
  visit("host_writes", mark.host_writes);
  visit("host_writes_max", mark.host_writes_max);
}

namespace {

constexpr std::size_t kMarkBytesMax = std::size_t{64} * 1024;

Error not_proven(std::string what) {
  return Error{Errc::not_found, std::move(what)};
}

std::uint64_t bytes_of(const ZeroTarget& target) {
  std::uint64_t bytes = 0;
  for (const MarkedNamespace& ns : target.namespaces) bytes += ns.capacity_bytes;
  return bytes;
}

Status check_namespaces(const std::vector<MarkedNamespace>& then,
                        const std::vector<MarkedNamespace>& now) {
  if (then.size() != now.size()) {
    return not_proven(fmt::format("it has {} namespaces now, and had {}", now.size(), then.size()));
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    const MarkedNamespace& was = then[i];
    const MarkedNamespace& is = now[i];
    if (was.nsid != is.nsid || was.capacity_bytes != is.capacity_bytes ||
        was.block_bytes != is.block_bytes || was.identifier != is.identifier) {
      return not_proven(fmt::format("namespace {} is not the one that was zeroed", is.nsid));
    }
    if (was.disk_sequence != is.disk_sequence) {
      return not_proven(
          fmt::format("the kernel has another disk for namespace {} since: it was "
                      "away from its driver, or made anew",
                      is.nsid));
    }
  }
  return Ok{};
}

}  // namespace

bool ZeroMark::is_of_the_end() const {
  return position_bytes == bytes_of(target) && host_writes == host_writes_max;
}

Status check_provable(const ZeroTarget& target) {
  if (target.boot_id.empty()) return not_proven("the host does not tell one boot from another");
  if (target.serial.empty()) return not_proven("the drive has no serial number");
  if (target.namespaces.empty()) return not_proven("the drive has no namespaces");
  for (const MarkedNamespace& ns : target.namespaces) {
    if (ns.identifier.empty()) {
      return not_proven(fmt::format("namespace {} has no identifier of its own", ns.nsid));
    }
    if (!ns.disk_sequence) {
      return not_proven(
          fmt::format("the kernel does not number its disk of namespace {}", ns.nsid));
    }
  }
  return Ok{};
}

Status may_go_on(const ZeroMark& mark, EraseMethod method, const ZeroTarget& now,
                 std::uint64_t host_writes_now) {
  if (auto provable = check_provable(now); !provable) return provable;
  if (mark.method != method) {
    return not_proven(fmt::format("it was begun by {}", to_string(mark.method)));
  }
  if (mark.target.boot_id != now.boot_id) return not_proven("the host was started again since");
  if (mark.target.serial != now.serial || mark.target.hardware != now.hardware) {
    return not_proven("it is another drive");
  }
  if (auto same = check_namespaces(mark.target.namespaces, now.namespaces); !same) return same;
  if (mark.position_bytes == 0 || mark.position_bytes > bytes_of(now)) {
    return not_proven("nothing of it is marked as zeroed");
  }
  if (mark.host_writes == 0) return not_proven("the drive does not count write commands");
  if (host_writes_now < mark.host_writes || host_writes_now > mark.host_writes_max) {
    return not_proven(
        fmt::format("the drive counts {} write commands, and by our own there can be "
                    "{} to {}: somebody else wrote, or our last writes were not "
                    "marked",
                    host_writes_now, mark.host_writes, mark.host_writes_max));
  }
  return Ok{};
}

std::string encode_mark(const ZeroMark& mark) {
  return field::to_json_text(mark);
}

Result<ZeroMark> decode_mark(std::string_view text) {
  const auto document = parse_shallow(text, kMarkBytesMax);
  return document ? field::from_json<ZeroMark>(*document) : Result<ZeroMark>(document.error());
}

}  // namespace reclaim::nvme
