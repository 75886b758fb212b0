#include "state/redis/redis.h"

#include <fmt/core.h>

#include "state/redis/client.h"
#include "state/redis/cluster.h"

namespace reclaim {
namespace {

std::int64_t now_ms() {
  return static_cast<std::int64_t>(uv_hrtime() / 1'000'000);
}

}  // namespace

Result<std::unique_ptr<Redis>> Redis::create(uv_loop_t* loop, RedisOptions options, Logger& logger,
                                             RedisGreeting greeting) {
  if (!options.cluster.empty()) {
    auto cluster = RedisCluster::create(loop, std::move(options), logger, std::move(greeting));
    if (!cluster.ok()) return std::move(cluster).error();
    return std::unique_ptr<Redis>(*std::move(cluster));
  }
  auto client = RedisClient::create(loop, std::move(options), logger, std::move(greeting));
  if (!client.ok()) return std::move(client).error();
  return std::unique_ptr<Redis>(*std::move(client));
}

Callback<RedisReply> measured(RedisMeasure measure, Callback<RedisReply> done) {
  if (!measure) return done;
  return [measure = std::move(measure), began = now_ms(),
          done = std::move(done)](Result<RedisReply> reply) {
    measure(reply.ok() ? "ok" : to_string(reply.error().code), now_ms() - began);
    done(std::move(reply));
  };
}

Status check_length(const std::vector<std::string>& args, const RedisOptions& options) {
  std::size_t bytes = 0;
  for (const std::string& arg : args) bytes += arg.size();
  if (bytes <= options.command_bytes_max) return Ok{};
  return Error{Errc::limit, fmt::format("a command of {} bytes is over the limit of {} bytes",
                                        bytes, options.command_bytes_max)};
}

}  // namespace reclaim
