// The mark of a zeroing, noted while it runs, so that another process can go on from there. It may
// only where the mark shows that nobody else can have written since. Pure; part of nvme_core. The
// argument is in docs/dev/safety-claims.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvme/controller/facts.h"
#include "state/base/result.h"

namespace reclaim::nvme {

struct MarkedNamespace {
  std::uint32_t nsid = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint32_t block_bytes = 0;
  std::string identifier;  // NamespaceFacts::identifier; empty: it has none
  // The kernel's number of the disk (diskseq), which none before it had and none after it gets
  // while the host is up: another driver, another drive and a new namespace all make a new disk.
  std::optional<std::uint64_t> disk_sequence;
  friend bool operator==(const MarkedNamespace&, const MarkedNamespace&) = default;
};

// The blocks that are zeroed, and what tells that nobody else got hold of them.
struct ZeroTarget {
  std::string boot_id;
  std::string serial;
  std::string hardware;  // encode_hardware(); empty: it shows none
  std::vector<MarkedNamespace> namespaces;
  friend bool operator==(const ZeroTarget&, const ZeroTarget&) = default;
};

struct ZeroMark {
  EraseMethod method = EraseMethod::write_zeroes;
  ZeroTarget target;
  std::uint64_t position_bytes = 0;  // all before it was written and flushed, all namespaces in row
  // The drive's own counter of write commands when it was flushed; and how far our own writes can
  // have moved it before the next mark. Equal: nothing was written any more.
  std::uint64_t host_writes = 0;
  std::uint64_t host_writes_max = 0;
  // True if all of it was zeroed, and nothing was in flight any more.
  [[nodiscard]] bool is_of_the_end() const;
  friend bool operator==(const ZeroMark&, const ZeroMark&) = default;
};

// Checks that nothing is missing that a proof would need. Errc::not_found says what is.
[[nodiscard]] Status check_provable(const ZeroTarget& target);

// Checks that a zeroing by `method` of `now`, whose counter is at `host_writes_now`, may go on
// behind `mark`. Errc::not_found says why it begins with the first byte instead.
[[nodiscard]] Status may_go_on(const ZeroMark& mark, EraseMethod method, const ZeroTarget& now,
                               std::uint64_t host_writes_now);

// One line of JSON, and back. Errc::invalid for what is none of ours.
[[nodiscard]] std::string encode_mark(const ZeroMark& mark);
[[nodiscard]] Result<ZeroMark> decode_mark(std::string_view text);

}  // namespace reclaim::nvme
