// RedisStore's book of ARQs: one hash a host, the ARQ's UUID its field, its JSON the value.
#include <fmt/core.h>

#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr const char* kPieceCount = "500";
constexpr std::size_t kLoadedArqsMax = 20'000;

}  // namespace

// Reads the ARQs in pieces: however many were written there, no answer is too long to be read.
void RedisStore::load_arqs(const std::string& host, Callback<std::vector<Arq>> done) {
  remove_unreadable_keys();
  load_arqs_from(host, "0", {}, std::move(done));
}

void RedisStore::load_arqs_from(const std::string& host, const std::string& cursor,
                                std::vector<Arq> arqs, Callback<std::vector<Arq>> done) {
  read(host, {"HSCAN", redis_keys::of_host(host, "arqs"), cursor, "COUNT", kPieceCount},
       [this, host, arqs = std::move(arqs),
        done = std::move(done)](Result<RedisReply> reply) mutable {
         if (reply.ok() && (reply->elements.size() != 2 || !reply->elements[1].is_array())) {
           reply = Error{Errc::failed, "the answer to HSCAN is not of its form"};
         }
         if (!reply.ok()) {
           if (remove_unreadable(host, redis_keys::of_host(host, "arqs"), reply.error())) {
             return done(std::move(arqs));
           }
           const std::string key = redis_keys::of_host(host, "arqs");
           if (is_of_what_is_stored(reply.error())) {
             logger_.warning(log_name::kStore, fmt::format("{} cannot be read", key),
                             {{"why", reply.error().what}});
           }
           return done(redis_keys::not_read(key, reply.error()));
         }
         const std::vector<RedisReply>& piece = reply->elements[1].elements;
         for (std::size_t i = 0; i + 1 < piece.size(); i += 2) {
           Result<Arq> arq = decode_arq(piece[i + 1].text);
           if (arq.ok()) {
             arqs.push_back(*std::move(arq));
             continue;
           }
           logger_.warning(
               log_name::kStore,
               fmt::format("{}, ARQ {} is passed over: {}", redis_keys::of_host(host, "arqs"),
                           printable_excerpt(piece[i].text), arq.error().what));
         }
         const std::string& next = reply->elements[0].text;
         if (arqs.size() > kLoadedArqsMax) {
           logger_.error(log_name::kStore,
                         fmt::format("{} holds more than {} ARQs, of which no more are read; "
                                     "another client writes there, see docs/redis.md",
                                     redis_keys::of_host(host, "arqs"), kLoadedArqsMax));
           return done(std::move(arqs));
         }
         if (next == "0") return done(std::move(arqs));
         load_arqs_from(host, next, std::move(arqs), std::move(done));
       });
}

void RedisStore::save_arq(const std::string& host, const Arq& arq, Callback<Ok> done) {
  client_->command(
      {"HSET", redis_keys::of_host(host, "arqs"), arq.uuid, encode_arq(arq)},
      without_value<RedisReply>(std::move(done), fmt::format("ARQ {} is not saved", arq.uuid)));
}

void RedisStore::remove_arq(const std::string& host, const std::string& uuid, Callback<Ok> done) {
  client_->command(
      {"HDEL", redis_keys::of_host(host, "arqs"), uuid},
      without_value<RedisReply>(std::move(done), fmt::format("ARQ {} is not removed", uuid)));
}

}  // namespace reclaim
