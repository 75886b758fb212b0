// RedisStore's book of ARQs: one hash a host, the ARQ's UUID its field, its JSON the value.
#include <fmt/core.h>

#include <utility>

#include "state/redis_keys.h"
#include "state/redis_store.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.store";

StoreCallback<RedisReply> written(std::string what, StoreCallback<Ok> done) {
  return [what = std::move(what), done = std::move(done)](Result<RedisReply> reply) {
    if (reply.ok()) {
      done(Ok{});
    } else {
      done(reply.error().wrap(what));
    }
  };
}

}  // namespace

void RedisStore::load_arqs(const std::string& host, StoreCallback<std::vector<Arq>> done) {
  client_->command(
      {"HGETALL", redis_keys::of_host(host, "arqs")},
      [this, host, done = std::move(done)](Result<RedisReply> reply) {
        if (!reply.ok()) return done(reply.error().wrap(fmt::format("the ARQs of host {}", host)));
        std::vector<Arq> arqs;
        for (std::size_t i = 0; i + 1 < reply->elements.size(); i += 2) {
          Result<Arq> arq = decode_arq(reply->elements[i + 1].text);
          if (arq.ok()) {
            arqs.push_back(*std::move(arq));
            continue;
          }
          logger_.warning(
              kLog, fmt::format("{}, ARQ {} is passed over: {}", redis_keys::of_host(host, "arqs"),
                                printable_excerpt(reply->elements[i].text, 80), arq.error().what));
        }
        done(std::move(arqs));
      });
}

void RedisStore::save_arq(const std::string& host, const Arq& arq, StoreCallback<Ok> done) {
  client_->command({"HSET", redis_keys::of_host(host, "arqs"), arq.uuid, encode_arq(arq)},
                   written(fmt::format("ARQ {} is not saved", arq.uuid), std::move(done)));
}

void RedisStore::remove_arq(const std::string& host, const std::string& uuid,
                            StoreCallback<Ok> done) {
  client_->command({"HDEL", redis_keys::of_host(host, "arqs"), uuid},
                   written(fmt::format("ARQ {} is not removed", uuid), std::move(done)));
}

}  // namespace reclaim
