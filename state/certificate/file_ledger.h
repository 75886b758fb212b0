// FileLedger: the Ledger as a file under state_path. One line a put, "CRC32 JSON", appended and
// fsynced, those that wait together and share a page with one fsync; read back at start. A line
// without its end is a write that a crash cut short; no caller was told that it succeeded. It is
// dropped with a warning. Anything else that is wrong is an error naming file and line, since
// behind a forgotten line may be a dirty drive.
//
//   STATE_PATH/ledger              what must not be forgotten
//   STATE_PATH/ledger.lock         flock: one worker at a time
//   STATE_PATH/certificates/       the chain of certificates and audit (state/certificate/chain.h)
//   STATE_PATH/certificate.key     what they are signed with, unless an operator names another
//   STATE_PATH/machine             whose all of this is (state/certificate/state_folder.h)
//
// Thread: the loop's; a thread of its own writes. Owns: the files, the lock, that thread. The
// destructor lets the thread finish what was asked, and then calls the callbacks still due; it is
// not to run inside of one. A failed write leaves the old file as it was: the next put writes the
// whole ledger again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "state/base/log.h"
#include "state/base/result.h"
#include "state/base/uv.h"
#include "state/certificate/signing_key.h"
#include "state/certificate/state_folder.h"
#include "state/ledger/ledger.h"

namespace reclaim {

struct FileLedgerOptions {
  std::string state_path;   // a directory that exists
  FolderOwner owner;        // this machine
  std::string signing_key;  // of an operator, must exist; empty: ours, made when there is none
  std::size_t ledger_bytes_max =
      std::size_t{4} * 1024 * 1024;  // beyond, the ledger is written again
  std::size_t entries_max = 4096;
  std::size_t writes_waiting_max = 4096;
  std::size_t certificate_bytes_max = std::size_t{1024} * 1024;
  // Called after each seal, on the ledger's own thread; outlives the ledger, and returns at once.
  std::function<void()> on_sealed = {};
};

class FileLedger final : public Ledger {
 public:
  // Reads what is there; blocks, so it belongs before the loop runs. What a copied disk brought is
  // put aside first, with a warning. Errc::busy: another worker has it open. Errc::invalid: a
  // damaged file, or a signing key that is none. Errc::refused: it may be another machine's.
  static Result<std::unique_ptr<FileLedger>> open(uv_loop_t* loop, FileLedgerOptions options,
                                                  Logger& logger);
  ~FileLedger() override;

  [[nodiscard]] const std::map<PciAddress, LedgerEntry>& entries() const override;
  void put(const PciAddress& address, const LedgerEntry& entry, Callback<Ok> done) override;
  void keep_certificate(const std::string& id, const std::string& json_text,
                        Callback<std::string> done) override;
  void keep_audit(const AuditEntry& entry, Callback<Ok> done) override;

 private:
  class Core;
  explicit FileLedger(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// Seals, with the key that is in use, what an operator says of another: key_endorsed, it is the
// next, or key_revoked. While no worker has the folder; blocks. Errc::busy: one has. Errc::refused:
// it would revoke the key that is in use, or the key is another machine's.
[[nodiscard]] Status keep_key_entry(const FileLedgerOptions& options, AuditEntry entry);

// The folder of the certificates, and the default file of the signing key.
[[nodiscard]] std::string certificates_folder(const std::string& state_path);
[[nodiscard]] std::string default_signing_key(const std::string& state_path);

}  // namespace reclaim
