// Checks the form of a caller's token, and reads Keystone's answer about it. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "placement/http/http.h"
#include "placement/keystone/tokens.h"
#include "state/base/clock.h"
#include "state/base/result.h"

namespace reclaim::placement {

// Fernet tokens have some 250 bytes, signed (JWS) ones more; what is longer is none.
inline constexpr std::size_t kTokenBytesMax = 8'192;

// Letters, digits and -._~+/= only, and not too many: whatever else is sent as a token never
// becomes part of a request of ours. The error does not repeat it.
[[nodiscard]] Status check_token_text(std::string_view token);

struct SubjectToken {
  Identity identity;
  WallMs expires_at;
};

// The answer to GET /auth/tokens with status 200. Errors: invalid, naming the member.
[[nodiscard]] Result<SubjectToken> parse_subject_token(const HttpResponse& response,
                                                       std::size_t body_bytes_max);

}  // namespace reclaim::placement
