// RedisStore's hosts: which there are, which machine owns each name, which of them live, and what
// each measures of itself. A host
// writes only its own keys, so that none can speak for another.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr std::size_t kReadAtOnceMax = 500;
constexpr std::size_t kMetricsBytesMax = std::size_t{512} * 1024;  // some 200 lines

Error anothers_name(const std::string& host, const Error& stored) {
  return Error{
      Errc::conflict,
      fmt::format("another machine works under the host name '{}' ({}); if it is gone for "
                  "good, or this machine was installed again, an operator runs: redis-cli -c "
                  "DEL '{}'",
                  host, printable_excerpt(stored.what, 300), redis_keys::of_host(host, "machine"))};
}

HostInfo only_its_name(const std::string& host) {
  HostInfo info;
  info.host = host;
  info.burned = 1;  // a kick too many does no harm
  return info;
}

}  // namespace

void RedisStore::heartbeat(const HostInfo& info, Callback<Ok> done) {
  announce(info, [this, info, done = std::move(done)](Result<Ok> announced) mutable {
    if (!announced.ok()) return done(std::move(announced));
    run(RedisScript::heartbeat,
        {redis_keys::of_host(info.host, "machine"), redis_keys::of_host(info.host, "alive")},
        {info.machine_id, redis_keys::encode_host(info), std::to_string(options_.alive_ms)},
        "heartbeat", [host = info.host, done = std::move(done)](Result<std::string> result) {
          if (result.ok()) return done(Ok{});
          const bool taken = result.error().code == Errc::conflict;
          done(taken ? anothers_name(host, result.error()) : std::move(result).error());
        });
  });
}

// The name is in the list before the host's own keys are written. Where a hash of the first layout
// is in its place, that is upgraded.
void RedisStore::announce(const HostInfo& info, Callback<Ok> done) {
  client_->command({"SADD", redis_keys::kHosts, info.host}, [this, info, done = std::move(done)](
                                                                Result<RedisReply> reply) mutable {
    if (reply.ok()) return done(Ok{});
    if (reply.error().what.find("WRONGTYPE") == std::string::npos) {
      return done(std::move(reply).error().wrap("heartbeat"));
    }
    logger_.info(log_name::kStore, fmt::format("{} is upgraded", redis_keys::kHosts));
    run(RedisScript::upgrade_hosts, {redis_keys::kHosts}, {info.host, info.machine_id}, "heartbeat",
        [host = info.host, done = std::move(done)](Result<std::string> result) {
          if (result.ok()) return done(Ok{});
          const bool taken = result.error().code == Errc::conflict;
          done(taken ? Error{Errc::conflict,
                             fmt::format("another machine works under the host name '{}' ({}); "
                                         "if it is gone for good, an operator runs: redis-cli -c "
                                         "HDEL {} {}",
                                         host, printable_excerpt(result.error().what, 300),
                                         redis_keys::kHosts, host)}
                     : std::move(result).error());
        });
  });
}

void RedisStore::hosts(Callback<std::vector<HostInfo>> done) {
  client_->command({"SMEMBERS", redis_keys::kHosts}, [this, done = std::move(done)](
                                                         Result<RedisReply> reply) mutable {
    if (!reply.ok()) return done(reply.error().wrap("the list of hosts"));
    if (reply->elements.size() > options_.hosts_max) {
      return done(
          Error{Errc::limit, fmt::format("{} names {} hosts, the limit is {}: names were invented; "
                                         "run redis-cli -c DEL {}, each worker adds its own again",
                                         redis_keys::kHosts, reply->elements.size(),
                                         options_.hosts_max, redis_keys::kHosts)});
    }
    std::vector<std::string> names;
    for (RedisReply& element : reply->elements) {
      if (redis_keys::check_host(element.text).ok()) {
        names.push_back(std::move(element.text));
      } else {
        logger_.warning(log_name::kStore,
                        fmt::format("{} names '{}', which is not a host's name", redis_keys::kHosts,
                                    printable_excerpt(element.text)));
      }
    }
    std::sort(names.begin(), names.end());
    read_alive(std::move(names), {}, std::move(done));
  });
}

void RedisStore::count_hosts(Callback<std::size_t> done) {
  client_->command({"SCARD", redis_keys::kHosts},
                   [done = std::move(done)](Result<RedisReply> reply) mutable {
                     if (!reply.ok()) return done(reply.error().wrap("the number of hosts"));
                     done(static_cast<std::size_t>(std::max<std::int64_t>(reply->integer, 0)));
                   });
}

void RedisStore::read_alive(std::vector<std::string> names, std::vector<HostInfo> read,
                            Callback<std::vector<HostInfo>> done) {
  // Never inside the call: with nothing to ask for, this is an answer's turn already.
  if (read.size() == names.size()) return done(std::move(read));
  const auto from = names.begin() + static_cast<std::ptrdiff_t>(read.size());
  const auto count = std::min(kReadAtOnceMax, names.size() - read.size());
  std::vector<std::string> words{"MGET"};
  std::transform(from, from + static_cast<std::ptrdiff_t>(count), std::back_inserter(words),
                 [](const std::string& name) { return redis_keys::of_host(name, "alive"); });
  client_->command(std::move(words), [this, count, names = std::move(names), read = std::move(read),
                                      done = std::move(done)](Result<RedisReply> reply) mutable {
    if (!reply.ok()) return done(reply.error().wrap("the hosts' heartbeats"));
    if (reply->elements.size() != count) {
      return done(Error{Errc::failed, "the answer to MGET is not of its form"});
    }
    for (const RedisReply& element : reply->elements) {
      const std::string& host = names[read.size()];
      Result<HostInfo> info = element.is_nil() ? Result<HostInfo>(only_its_name(host))
                                               : redis_keys::decode_host(host, element.text);
      if (!info.ok()) {
        logger_.warning(log_name::kStore, fmt::format("{}: {}", redis_keys::of_host(host, "alive"),
                                                      info.error().what));
        info = only_its_name(host);
      }
      read.push_back(*std::move(info));
    }
    read_alive(std::move(names), std::move(read), std::move(done));
  });
}

void RedisStore::forget_host(const std::string& host, Callback<Ok> done) {
  client_->command(
      {"SMEMBERS", redis_keys::of_host(host, "devices")},
      [this, host, done = std::move(done)](Result<RedisReply> reply) mutable {
        if (!reply.ok()) return done(reply.error().wrap("the devices of the host"));
        std::vector<std::string> keys;
        for (const char* of_host :
             {"alive", "machine", "devices", "fence", "journal", "kicks", "orders", "orders_taken",
              "outbox", "outbox_dropped", "arqs", "metrics"}) {
          keys.push_back(redis_keys::of_host(host, of_host));
        }
        for (const RedisReply& address : reply->elements) {
          for (const char* of_device : {"device", "lock", "certificate"}) {
            keys.push_back(redis_keys::of_device(host, of_device, address.text));
          }
        }
        run(RedisScript::forget_host, std::move(keys), {}, "host " + host,
            [this, host, done = std::move(done)](Result<std::string> forgotten) mutable {
              if (!forgotten.ok()) return done(std::move(forgotten).error());
              client_->command({"SREM", redis_keys::kHosts, host},
                               without_value<RedisReply>(std::move(done), redis_keys::kHosts));
            });
      });
}

void RedisStore::save_metrics(const std::string& host, const std::string& text, Callback<Ok> done) {
  client_->command(
      {"SET", redis_keys::of_host(host, "metrics"), text, "PX", std::to_string(options_.alive_ms)},
      without_value<RedisReply>(std::move(done), "the worker's metrics"));
}

// What is longer, or no text, is none of a worker's: it must not cost the others theirs.
void RedisStore::load_metrics(const std::string& host, Callback<std::string> done) {
  const std::string key = redis_keys::of_host(host, "metrics");
  client_->command(
      {"GETRANGE", key, "0", std::to_string(kMetricsBytesMax)},
      [this, key, done = std::move(done)](Result<RedisReply> reply) {
        if (reply.ok() && reply->text.size() <= kMetricsBytesMax) {
          return done(std::move(reply->text));
        }
        const bool unreadable =
            reply.ok() || reply.error().code == Errc::failed || reply.error().code == Errc::refused;
        if (!unreadable) return done(reply.error().wrap(key));
        logger_.warning(log_name::kStore,
                        fmt::format("{}: left out: {}", key,
                                    reply.ok() ? "longer than a worker writes"
                                               : printable_excerpt(reply.error().what)));
        done(std::string());
      });
}

}  // namespace reclaim
