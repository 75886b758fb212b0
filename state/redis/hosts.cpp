// RedisStore's hosts: which there are, which machine owns each name, which of them live, and what
// each measures of itself. A host writes only its own keys, so that none can speak for another.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "state/base/host_names.h"
#include "state/base/text.h"
#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr std::size_t kReadAtOnceMax = 500;
constexpr std::size_t kNamesMax = 100'000;  // that are looked at, whoever wrote them
constexpr std::size_t kMetricsBytesMax = std::size_t{512} * 1024;  // some 200 lines

Error anothers_name(const std::string& host, const Error& stored) {
  return Error{
      Errc::conflict,
      fmt::format("another machine works under the host name '{}' ({}); if it is gone for "
                  "good, or this machine was installed again, an operator runs: redis-cli -c "
                  "DEL '{}'",
                  host, printable_excerpt(stored.what, 300), redis_keys::of_host(host, "machine"))};
}

Error too_many_names(const std::string& why) {
  return Error{Errc::limit,
               fmt::format("{} cannot be read ({}): names were invented; run redis-cli "
                           "-c DEL {}, each worker adds its own again",
                           redis_keys::kHosts, why, redis_keys::kHosts)};
}

HostInfo only_its_name(const std::string& host) {
  HostInfo info;
  info.host = host;
  info.burned = 1;  // a kick too many does no harm
  return info;
}

}  // namespace

std::string crowded(std::string_view what, std::size_t have, std::size_t most) {
  if (most == 0 || have < most - most / 4) return {};
  return fmt::format("{} {} of {}", have, what, most);
}

void RedisStore::heartbeat(const HostInfo& info, Callback<Ok> done) {
  announce(info, [this, info, done = std::move(done)](Result<Ok> announced) mutable {
    if (!announced.ok()) return done(std::move(announced));
    announce_aliases(info);
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

// The name is in the list before the host's own keys are written.
void RedisStore::announce(const HostInfo& info, Callback<Ok> done) {
  client_->command({"SADD", redis_keys::kHosts, info.host},
                   without_value<RedisReply>(std::move(done), "heartbeat"));
}

// A login that an earlier docs/redis.md gave may not. A notification by such a name then kicks no
// host, and what it tells waits for the periodic survey.
void RedisStore::announce_aliases(const HostInfo& info) {
  const std::vector<std::string> aliases = HostNames{info.host, info.nodes}.aliases();
  if (aliases.empty()) return;
  std::vector<std::string> words{"HSET", redis_keys::kAliases};
  for (const std::string& alias : aliases) words.insert(words.end(), {alias, info.host});
  client_->command(std::move(words), [this](const Result<RedisReply>& reply) {
    const bool refused = !reply.ok() && reply.error().code == Errc::refused;
    if (!refused || std::exchange(said_unnamed_, true)) return;
    logger_.warning(log_name::kStore,
                    fmt::format("{}: notifications that name this host otherwise than [DEFAULT] "
                                "host are not heard: {}; make the host's Redis user again as "
                                "docs/redis.md says",
                                redis_keys::kAliases, reply.error().what));
  });
}

struct RedisStore::Listening {
  std::vector<std::string> names;
  std::size_t next = 0;
  std::size_t under_way = 0;
  std::vector<HostInfo> infos;
  std::size_t invented = 0;
  std::optional<Error> error;
  Callback<std::vector<HostInfo>> done;
};

// Any host's login may add names: what is none, and what no machine ever worked under, is left out.
void RedisStore::hosts(Callback<std::vector<HostInfo>> done) {
  read("", {"SMEMBERS", redis_keys::kHosts},
       [this, done = std::move(done)](Result<RedisReply> reply) mutable {
         const bool too_long =
             reply.ok() ? reply->elements.size() > kNamesMax
                        : reply.error().what.find("it is longer than") != std::string::npos;
         if (too_long)
           return done(too_many_names(reply.ok()
                                          ? fmt::format("it has {} names", reply->elements.size())
                                          : reply.error().what));
         if (!reply.ok()) return done(reply.error().wrap("the list of hosts"));
         auto listening = std::make_shared<Listening>();
         listening->done = std::move(done);
         for (RedisReply& element : reply->elements) {
           if (redis_keys::check_host(element.text).ok()) {
             listening->names.push_back(std::move(element.text));
           } else {
             listening->invented += 1;
           }
         }
         std::sort(listening->names.begin(), listening->names.end());
         read_hosts(listening);
       });
}

void RedisStore::count_hosts(Callback<std::size_t> done) {
  client_->command({"SCARD", redis_keys::kHosts},
                   [done = std::move(done)](Result<RedisReply> reply) mutable {
                     if (!reply.ok()) return done(reply.error().wrap("the number of hosts"));
                     done(static_cast<std::size_t>(std::max<std::int64_t>(reply->integer, 0)));
                   });
}

void RedisStore::read_hosts(const std::shared_ptr<Listening>& listening) {
  Listening& all = *listening;
  while (!all.error && all.next < all.names.size() && all.under_way < kReadAtOnceMax) {
    all.under_way += 1;
    read_host(all.names[all.next++], [this, listening](Result<std::optional<HostInfo>> info) {
      listening->under_way -= 1;
      if (!info.ok()) {
        if (!listening->error) listening->error = info.error();
      } else if (*info) {
        listening->infos.push_back(**std::move(info));
      } else {
        listening->invented += 1;
      }
      read_hosts(listening);
    });
  }
  if (all.under_way > 0) return;
  if (all.error) return all.done(*all.error);
  if (all.invented > 0) {
    logger_.warning(log_name::kStore,
                    fmt::format("{} has {} names that are no host's, or that no worker ever had: "
                                "they are left out; if they do not go, a host's login writes them: "
                                "redis-cli -c DEL {}, each worker adds its own again",
                                redis_keys::kHosts, all.invented, redis_keys::kHosts));
  }
  if (all.infos.size() > options_.hosts_max) {
    return all.done(Error{
        Errc::limit,
        fmt::format("{} has {} hosts, the limit is {}: raise [redis] hosts_max; where names were "
                    "invented, run redis-cli -c DEL {}, each worker adds its own again",
                    redis_keys::kHosts, all.infos.size(), options_.hosts_max, redis_keys::kHosts)});
  }
  std::sort(all.infos.begin(), all.infos.end(),
            [](const HostInfo& a, const HostInfo& b) { return a.host < b.host; });
  all.done(std::move(all.infos));
}

// Nothing: no worker ever had this name. One that has no heartbeat has a machine.
void RedisStore::read_host(const std::string& host, Callback<std::optional<HostInfo>> done) {
  const std::string key = redis_keys::of_host(host, "alive");
  client_->command(
      {"GETRANGE", key, "0", std::to_string(redis_keys::kHostInfoBytesMax)},
      [this, host, key, done = std::move(done)](const Result<RedisReply>& reply) mutable {
        if (!reply.ok() && !is_of_what_is_stored(reply.error())) {
          return done(reply.error().wrap("the hosts' heartbeats"));
        }
        if (reply.ok() && reply->text.empty()) {
          return worked_under(host, [host, done = std::move(done)](Result<bool> worked) mutable {
            if (!worked.ok()) return done(std::move(worked).error());
            done(*worked ? std::optional(only_its_name(host)) : std::nullopt);
          });
        }
        Result<HostInfo> info = reply.ok() ? redis_keys::decode_host(host, reply->text)
                                           : Result<HostInfo>(reply.error());
        if (!info.ok()) {
          logger_.warning(log_name::kStore, fmt::format("{}: {}", key, info.error().what));
          info = only_its_name(host);
        }
        done(std::optional(*std::move(info)));
      });
}

void RedisStore::worked_under(const std::string& host, Callback<bool> done) {
  client_->command({"GETRANGE", redis_keys::of_host(host, "machine"), "0", "0"},
                   [done = std::move(done)](const Result<RedisReply>& machine) mutable {
                     if (!machine.ok() && !is_of_what_is_stored(machine.error())) {
                       return done(machine.error().wrap("the hosts' machines"));
                     }
                     done(!machine.ok() || !machine->text.empty());
                   });
}

struct RedisStore::Calling {
  std::size_t under_way = 0;
  std::set<std::string> found;
  std::optional<Error> error;
  Callback<std::vector<std::string>> done;

  void answered() {
    if (--under_way > 0) return;
    if (error) return done(*error);
    done(std::vector<std::string>(found.begin(), found.end()));
  }
};

// Considers the hosts of the name itself, and the one who told that it is his: a host's login
// writes aliases as it likes, so that a name under which no machine ever worked is none.
void RedisStore::hosts_called(const std::string& name, Callback<std::vector<std::string>> done) {
  auto calling = std::make_shared<Calling>();
  calling->done = std::move(done);
  calling->under_way = 1;
  const auto consider = [this, calling](const std::string& host) {
    if (!redis_keys::check_host(host).ok()) return;
    calling->under_way += 1;
    worked_under(host, [calling, host](Result<bool> worked) {
      if (!worked.ok()) {
        calling->error = worked.error();
      } else if (*worked) {
        calling->found.insert(host);
      }
      calling->answered();
    });
  };
  for (const std::string& host : hosts_by_name(name)) consider(host);
  read("", {"HGET", redis_keys::kAliases, lower(name)},
       [calling, consider](const Result<RedisReply>& alias) {
         if (alias.ok()) {
           if (!alias->text.empty()) consider(alias->text);
         } else if (!is_of_what_is_stored(alias.error())) {
           calling->error = alias.error().wrap(redis_keys::kAliases);
         }
         calling->answered();
       });
}

void RedisStore::forget_host(const std::string& host, Callback<Ok> done) {
  read(host, {"SMEMBERS", redis_keys::of_host(host, "devices")},
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

// A text that is longer, or no text at all, is none of a worker's: it must not cost the others
// theirs.
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
