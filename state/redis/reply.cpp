#include "state/redis/reply.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>

#include <array>

#include "state/base/log.h"

namespace reclaim {
namespace {

constexpr std::size_t kErrorTextBytes = 300;
constexpr std::string_view kSays = "Redis says: ";
constexpr std::string_view kClusterHint =
    " (a node of a Redis Cluster: write redis+cluster:// in [redis] url)";

struct KnownError {
  std::string_view word;  // the first of the error reply
  Errc code;
};

constexpr std::array kKnownErrors{
    KnownError{"NOAUTH", Errc::refused},       KnownError{"WRONGPASS", Errc::refused},
    KnownError{"NOPERM", Errc::refused},       KnownError{"DENIED", Errc::refused},
    KnownError{"MOVED", Errc::refused},        KnownError{"ASK", Errc::refused},
    KnownError{"CROSSSLOT", Errc::refused},    KnownError{"LOADING", Errc::unavailable},
    KnownError{"BUSY", Errc::unavailable},     KnownError{"MASTERDOWN", Errc::unavailable},
    KnownError{"TRYAGAIN", Errc::unavailable}, KnownError{"CLUSTERDOWN", Errc::unavailable},
    KnownError{"READONLY", Errc::unavailable}, KnownError{"MISCONF", Errc::unavailable},
    KnownError{"OOM", Errc::unavailable},      KnownError{"NOREPLICAS", Errc::unavailable},
    KnownError{"NOSCRIPT", Errc::not_found},   KnownError{"NOGROUP", Errc::not_found},
    KnownError{"BUSYGROUP", Errc::conflict},
};

}  // namespace

Error error_from_redis(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  Error error{Errc::failed, std::string(kSays) + printable_excerpt(text, kErrorTextBytes)};
  for (const KnownError& known : kKnownErrors) {
    if (known.word == word) error.code = known.code;
  }
  if (text.starts_with("ERR invalid password") || text.starts_with("ERR AUTH") ||
      text.starts_with("ERR Client sent AUTH")) {
    error.code = Errc::refused;
  }
  if (text.starts_with("ERR Function not found")) error.code = Errc::unavailable;
  if (word == "MOVED" || word == "ASK") {
    error.what += kClusterHint;
  }
  return error;
}

std::string_view redis_words_of(const Error& error) {
  std::string_view what = error.what;
  if (!what.starts_with(kSays)) return {};
  what.remove_prefix(kSays.size());
  if (what.ends_with(kClusterHint)) what.remove_suffix(kClusterHint.size());
  return what;
}

Result<RedisReply> reply_from_hiredis(const redisReply& reply) {
  RedisReply out;
  switch (reply.type) {
    case REDIS_REPLY_ERROR:
      return error_from_redis({reply.str, static_cast<std::size_t>(reply.len)});
    case REDIS_REPLY_INTEGER:
      out.type = RedisReply::Type::integer;
      out.integer = reply.integer;
      return out;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      out.type = RedisReply::Type::text;
      out.text.assign(reply.str, static_cast<std::size_t>(reply.len));
      return out;
    case REDIS_REPLY_ARRAY:
      out.type = RedisReply::Type::array;
      out.elements.reserve(reply.elements);
      for (std::size_t i = 0; i < reply.elements; ++i) {
        Result<RedisReply> element = reply_from_hiredis(*reply.element[i]);
        if (!element.ok()) return std::move(element).error();
        out.elements.push_back(*std::move(element));
      }
      return out;
    default:
      return out;
  }
}

}  // namespace reclaim
