// transport_url and [redis] url: what is understood is complete, and no password shows in what is
// logged.
#include <cstdint>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/transport_url.h"
#include "state/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reclaim::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto url = parse_transport_url(text); url.ok()) {
    CHECK(!url->hosts.empty());
    CHECK(!url->virtual_host.empty());
    TransportUrl plain = *url;
    for (reclaim::listener::AmqpHost& host : plain.hosts) {
      CHECK(!host.host.empty());
      CHECK(host.port != 0);
      host.password.clear();
    }
    // What is logged does not depend on the passwords, so it cannot show them.
    CHECK(redacted(plain) == redacted(*url));
  } else {
    CHECK(!url.error().what.empty());
  }
  reclaim::RedisOptions redis;
  if (parse_redis_url(text, redis).ok()) {
    CHECK(int{!redis.host.empty()} + int{!redis.unix_socket.empty()} +
              int{!redis.sentinels.empty()} + int{!redis.cluster.empty()} ==
          1);
    CHECK(redis.port != 0);
  }
  return 0;
}
