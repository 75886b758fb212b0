// The ledger's bytes: lines with a checksum, and writing files so that they are there, whole, after
// a crash. Blocks: for the ledger's own thread and for the start.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/ledger.h"

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

// A file descriptor with an owner.
class File final {
 public:
  // As open(2), with O_CLOEXEC.
  static Result<File> open(const std::string& path, int flags, unsigned mode = 0640);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] int fd() const { return fd_; }
  // All of it; what was written of it before an error stays.
  [[nodiscard]] Status write_all(std::string_view bytes) const;
  [[nodiscard]] Status sync() const;
  [[nodiscard]] Status truncate(std::size_t bytes) const;
  [[nodiscard]] Result<std::string> read_all(std::size_t bytes_max) const;

 private:
  File(int fd, std::string path);
  int fd_;
  std::string path_;
};

// A file that only its owner may read: one that others may is refused (Errc::invalid), one that is
// not there is Errc::not_found.
[[nodiscard]] Result<std::string> read_secret(const std::string& path);

// Makes `folder`/`name` hold `bytes`, or what it held before: written beside, fsynced, renamed, and
// the folder fsynced.
[[nodiscard]] Status replace_file(const std::string& folder, const std::string& name,
                                  std::string_view bytes, unsigned mode = 0640);
[[nodiscard]] Status sync_folder(const std::string& folder);

}  // namespace reclaim::ledger_file
