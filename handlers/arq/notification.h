// The payload of an accelerator_request.* notification as an Arq: a versioned object of any
// namespace (cyborg_object.*), or the same members as a flat dict. Pure; thread: any.
#pragma once

#include <cstddef>
#include <string_view>

#include "handlers/arq/events.h"
#include "state/base/result.h"
#include "state/device/arq.h"

namespace reclaim {

inline constexpr std::size_t kArqPayloadBytesMax = 65'536;
// attach_handle_info's members beside the address and `managed`; a longer rest is left out, since
// it only informs and the ARQ must not be lost for it.
inline constexpr std::size_t kArqOtherInfoBytesMax = 4'096;

// `payload` is one JSON object. Errc::invalid, or Errc::limit: the error names the member, what is
// wrong with it and what is accepted.
[[nodiscard]] Result<Arq> decode_arq_payload(std::string_view payload, const ArqRow& row);

}  // namespace reclaim
