// FolderOwner: the machine that a state_path belongs to. Ledger, keys and certificates are one
// machine's. A copied disk brings them to another machine, which must neither believe that ledger
// nor sign with those keys.
//
//   STATE_PATH/machine              one line: MACHINE-ID HOST
//   STATE_PATH/other-machine-ID/    what was put aside here: all that the worker of that one made
//
// The machine-id tells a copy from the machine that was copied. A host that is installed again has
// a new one too. So only a copy under another host name is put aside. Under the same host name
// nobody but an operator knows which of the two it is.
//
// Blocks: for the start. Only while STATE_PATH/ledger.lock is held. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "state/base/result.h"

namespace reclaim {

struct FolderOwner {
  std::string machine_id;  // of /etc/machine-id (machine-id(5))
  std::string host;        // [DEFAULT] host
  friend bool operator==(const FolderOwner&, const FolderOwner&) = default;
};

// Checks that `us` may use the folder as it is. One that names no owner is new: anyone's.
// Errc::refused: it is another machine's; the text says what becomes of it, and the remedy.
// Errc::invalid: the file is damaged.
[[nodiscard]] Status check_state_folder(const std::string& state_path, const FolderOwner& us);

// Makes the folder ours. Where that put another machine's aside, the value is the text that tells
// it. Nothing is deleted, and a crash in between is made up for by the next call. Errors: as
// check_state_folder(), and Errc::failed.
[[nodiscard]] Result<std::optional<std::string>> own_state_folder(const std::string& state_path,
                                                                  const FolderOwner& us);

}  // namespace reclaim
