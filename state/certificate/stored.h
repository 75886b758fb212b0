// The newest certificate of a device as Redis has it, for who shows it. The host's login may write
// anything there. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "state/base/result.h"
#include "state/device/record.h"

namespace reclaim {

struct StoredCertificate {
  std::uint64_t sequence = 0;
  Certificate certificate;
};
// It has the form of a seal to the byte, so that no two readers take two things from it; the
// signature is not looked at. Errc::refused: it is of another device than that of this host at this
// address, or its id is not as Reclaim makes it; Errc::invalid: it breaks the form or the published
// schema.
[[nodiscard]] Result<StoredCertificate> open_stored(std::string_view text, const std::string& host,
                                                    const std::string& address);

}  // namespace reclaim
