// The ledger's bytes: lines with a checksum. Pure; thread: any.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/ledger/ledger.h"

namespace reclaim::ledger_file {

using Entries = std::map<PciAddress, LedgerEntry>;

// The first line of every ledger. A new ledger appears whole, so a file without it is a damaged
// one.
inline constexpr std::string_view kHeader = "reclaim-ledger 1\n";

// "CRC32 JSON\n", the checksum of the JSON in eight hexadecimal digits.
[[nodiscard]] std::string encode_line(const PciAddress& address, const LedgerEntry& entry);
[[nodiscard]] std::string encode_all(const Entries& entries);

struct Replay {
  Entries entries;
  std::size_t bytes_good = 0;  // up to the end of the last whole line
  bool torn = false;           // something without a line's end follows
};
// `name` is the file's, for messages.
[[nodiscard]] Result<Replay> replay(std::string_view text, std::string_view name,
                                    std::size_t entries_max);

}  // namespace reclaim::ledger_file
