// TLS where hiredis has none. The configuration has refused it before.
#include "state/redis/tls.h"

namespace reclaim {
namespace {

class NoRedisTls final : public RedisTls {
 public:
  Result<std::unique_ptr<RedisTlsSession>> session(const std::string& /*host*/) override {
    return Error{Errc::refused,
                 "this build has no TLS, which hiredis has on Debian 13 and not on Debian 12; use "
                 "a unix socket or a tunnel"};
  }
};

}  // namespace

std::unique_ptr<RedisTls> make_redis_tls(const RedisTlsOptions& /*options*/) {
  return std::make_unique<NoRedisTls>();
}

}  // namespace reclaim
