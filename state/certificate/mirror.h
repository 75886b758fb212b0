// CertificateMirror: what is sealed is copied off its folder, to another folder, to a command of
// the operator's, or to both. It comes after the seal, so nothing waits for it: what fails is tried
// again, and at each start whatever is missing is made up for.
//
//   MIRROR_DIR/HOST/000000001-ID.json …   the same files; those that are there are not read again
//   MIRROR_DIR/HOST/head                  the newest of them, as sha256sum writes it
//   STATE_PATH/certificates.sent          the name of the newest file that the command took
//
// Thread: wake() from any; the constructor and the destructor the loop's. Owns: a thread of its
// own, because a network's folder or a command may take minutes; the ledger's has no such time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/base/log.h"
#include "state/base/result.h"

namespace reclaim {

// The command that is run with a sealed file's path. One real implementation
// (listener/mirror_command.h).
class MirrorCommand {
 public:
  virtual ~MirrorCommand() = default;
  // Blocks until it has ended. Errc::cancelled: stop() was called.
  [[nodiscard]] virtual Status run(const std::string& path) = 0;
  // Ends what runs, and what would be run later. Thread: any.
  virtual void stop() = 0;
};

struct MirrorPlaces {
  std::string state_path;
  std::string host;        // its folder's name
  std::string mirror_dir;  // exists, may be shared by many hosts; empty: none
  bool has_command = false;
};

// Names of files that are not where they should be yet, in the chain's order.
struct MirrorOwed {
  std::vector<std::string> to_folder;
  std::vector<std::string> to_command;
};
[[nodiscard]] Result<MirrorOwed> mirror_owed(const MirrorPlaces& places);

// Copies and sends all that is owed; the first error, though the other way was tried as well.
// `command` may be null where there is none; `stopped` is asked before each file: Errc::cancelled.
[[nodiscard]] Status mirror_all(const MirrorPlaces& places, MirrorCommand* command,
                                const std::function<bool()>& stopped);

struct MirrorOptions {
  MirrorPlaces places;
  std::shared_ptr<MirrorCommand> command;  // null: none
  std::int64_t pause_min_ms = 5'000;       // after the first failure; doubled with each
  std::int64_t pause_max_ms = 600'000;
};

class CertificateMirror final {
 public:
  // Begins with what is missing.
  CertificateMirror(MirrorOptions options, Logger& log);
  // Stops the command; waits for a copy that is under way.
  ~CertificateMirror();
  CertificateMirror(const CertificateMirror&) = delete;
  CertificateMirror& operator=(const CertificateMirror&) = delete;

  // Something was sealed.
  void wake();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reclaim
