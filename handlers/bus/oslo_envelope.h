// The envelope that oslo.messaging puts around notifications and RPC alike: version 2.0, whose
// message is JSON inside a JSON string, or none. Pure; thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim {

struct OsloMessage {
  std::string_view text;  // of `body`, or of `inner`
  std::string_view what;  // "the body" or "the message", for errors about the text
};

// The message's text, which is not looked at. `inner` holds it where it had to be unescaped. The
// error (Errc::invalid, or Errc::limit) is a clause for an operator and holds no foreign text but
// versions.
[[nodiscard]] Result<OsloMessage> open_envelope(std::string_view body, std::size_t body_bytes_max,
                                                std::string& inner);

}  // namespace reclaim
