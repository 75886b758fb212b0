// RedisStore's kicks: a stream per host, read by the group `workers`. The consumer's name is the
// host's, the same in every life of the worker, so that after a restart Redis hands out again what
// the last one read and did not acknowledge.
#include <fmt/core.h>

#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr std::size_t kAcksMax = 1000;

// One entry of a stream as [id, [field, value, ...]]; [id, nil] once it was trimmed away.
Kick kick_from(const RedisReply& entry) {
  return redis_keys::kick_from_fields(entry.elements[0].text,
                                      redis_keys::pairs_of(entry.elements[1]));
}

// The entries in [[key, [entry, ...]]], the answer to XREADGROUP and XREAD for one stream.
const std::vector<RedisReply>* entries_of(const RedisReply& reply) {
  if (!reply.is_array() || reply.elements.size() != 1) return nullptr;
  const RedisReply& stream = reply.elements.front();
  if (!stream.is_array() || stream.elements.size() != 2) return nullptr;
  for (const RedisReply& entry : stream.elements[1].elements) {
    if (!entry.is_array() || entry.elements.size() != 2) return nullptr;
  }
  return &stream.elements[1].elements;
}

}  // namespace

void RedisStore::push_kick(const std::string& host, const Kick& kick, Callback<Ok> done) {
  if (Status checked = redis_keys::check_host(host); !checked.ok()) {
    return client_->answer(checked.error(), without_value<RedisReply>(std::move(done)));
  }
  Kick sealed = kick;
  if (!kick.command.empty()) {
    if (!options_.kick_seal || options_.kick_seal->host() != host) {
      return client_->answer(Error{Errc::refused, "a command is for one's own host alone"},
                             without_value<RedisReply>(std::move(done)));
    }
    sealed.sent_at = clock_.now().wall;
    sealed.mac = options_.kick_seal->mac_of(sealed);
  }
  std::vector<std::string> words{"XADD", redis_keys::of_host(host, "kicks"),        "MAXLEN",
                                 "~",    std::to_string(options_.kicks_length_max), "*"};
  const std::vector<std::string> fields = redis_keys::kick_fields(sealed);
  words.insert(words.end(), fields.begin(), fields.end());
  add_to_stream(redis_keys::of_host(host, "kicks"), std::move(words),
                without_value<Ok>(std::move(done), "the kick for host " + host));
  // A notification may name a host that has no worker and never will. If this one is lost the next
  // push makes up for it, and the kick itself is written: nobody has to hear of it.
  client_->command(
      {"PEXPIRE", redis_keys::of_host(host, "kicks"), std::to_string(options_.kicks_life_ms)},
      [](const Result<RedisReply>&) {});
}

// It stays a reason to survey, as any kick.
void RedisStore::check_command(const std::string& host, Kick& kick) {
  if (kick.command.empty()) return;
  const auto& seal = options_.kick_seal;
  if (seal && seal->host() == host && seal->fits(kick)) return;
  logger_.warning(
      log_name::kStore,
      fmt::format("host {}: a kick's command is not this worker's own, and is ignored: "
                  "whoever may write to the stream put it there",
                  host),
      {{"command", printable_excerpt(kick.command)}, {"address", printable_excerpt(kick.address)}});
  kick.command.clear();
}

// Other hosts may write to a stream too: one whose last possible ID was used takes nothing more,
// and neither does a key of another type. It goes, and what was in it: no kick and no order is
// worth as much as all that come after it. PEXPIRE, since a host may not use DEL for another's.
void RedisStore::add_to_stream(const std::string& key, std::vector<std::string> words,
                               Callback<Ok> done) {
  std::vector<std::string> first = words;
  client_->command(std::move(first), [this, key, words = std::move(words),
                                      done = std::move(done)](Result<RedisReply> reply) mutable {
    if (reply.ok()) return done(Ok{});
    if (reply.error().code != Errc::failed) return done(std::move(reply).error());
    logger_.error(log_name::kStore,
                  fmt::format("{} takes no entries and is removed; another client wrote it: "
                              "find out who has this Redis's password",
                              key),
                  {{"why", reply.error().what}});
    client_->command({"PEXPIRE", key, "-1"}, [](const Result<RedisReply>&) {});
    client_->command(std::move(words), [done = std::move(done)](Result<RedisReply> again) {
      if (again.ok()) return done(Ok{});
      // This one is told as an error not to wait for: what waits for it would wait for ever.
      const bool hopeless = again.error().code == Errc::failed;
      done(hopeless ? Error{Errc::invalid, again.error().what} : std::move(again).error());
    });
  });
}

void RedisStore::read_kicks(const std::string& host, std::size_t count_max,
                            Callback<std::vector<Kick>> done) {
  CHECK(count_max > 0);
  remove_unreadable_keys();
  read_kicks_from(host, count_max, true, std::move(done));
}

void RedisStore::read_kicks_from(const std::string& host, std::size_t count_max,
                                 bool may_create_group, Callback<std::vector<Kick>> done) {
  const std::string key = redis_keys::of_host(host, "kicks");
  const std::string from = cursors_.emplace(host, "0").first->second;
  client_->command(
      {"XREADGROUP", "GROUP", redis_keys::kKickGroup, host, "COUNT", std::to_string(count_max),
       "STREAMS", key, from},
      [this, host, key, from, count_max, may_create_group,
       done = std::move(done)](Result<RedisReply> reply) mutable {
        const bool no_group = !reply.ok() && reply.error().code == Errc::not_found;
        if (!no_group || !may_create_group) {
          return on_kicks(host, count_max, from, std::move(reply), std::move(done));
        }
        client_->command(
            {"XGROUP", "CREATE", key, redis_keys::kKickGroup, "0", "MKSTREAM"},
            [this, host, count_max, done = std::move(done)](Result<RedisReply> created) mutable {
              if (created.ok() || created.error().code == Errc::conflict) {
                read_kicks_from(host, count_max, false, std::move(done));
              } else {
                done(created.error().wrap(fmt::format("the kicks of host {}", host)));
              }
            });
      });
}

void RedisStore::on_kicks(const std::string& host, std::size_t count_max, const std::string& from,
                          Result<RedisReply> reply, Callback<std::vector<Kick>> done) {
  if (!reply.ok()) {
    // Kicks that Redis handed out without our hearing of it are pending now: read those again.
    cursors_[host] = std::string("0");
    // The surveys make up for what was in it.
    remove_unreadable(host, redis_keys::of_host(host, "kicks"), reply.error());
    done(reply.error().wrap(fmt::format("the kicks of host {}", host)));
    return;
  }
  const bool pending = from != ">";
  const std::vector<RedisReply>* entries = reply->is_nil() ? nullptr : entries_of(*reply);
  if (entries == nullptr && !reply->is_nil()) {
    done(Error{Errc::failed,
               fmt::format("the kicks of host {}: the answer is not of its form", host)});
    return;
  }
  std::vector<Kick> kicks;
  std::vector<std::string> trimmed;
  if (entries != nullptr) {
    for (const RedisReply& entry : *entries) {
      if (entry.elements[1].is_nil()) {
        trimmed.push_back(entry.elements[0].text);
      } else {
        kicks.push_back(kick_from(entry));
        check_command(host, kicks.back());
      }
    }
  }
  if (pending) {
    const bool more = entries != nullptr && !entries->empty();
    cursors_[host] = more ? entries->back().elements[0].text : ">";
  }
  if (!trimmed.empty()) {
    logger_.warning(log_name::kStore,
                    fmt::format("host {}: {} kicks were dropped unread, the stream was full; "
                                "the survey makes up for them",
                                host, trimmed.size()));
    ack_kicks(host, trimmed, [](const Status&) {});
  }
  if (kicks.empty() && pending) {
    // Nothing left over in this batch: on with the next, and then with the new ones.
    return read_kicks_from(host, count_max, false, std::move(done));
  }
  done(std::move(kicks));
}

void RedisStore::ack_kicks(const std::string& host, const std::vector<std::string>& ids,
                           Callback<Ok> done) {
  if (ids.size() > kAcksMax) {
    // A script's arguments are bounded: in slices.
    const std::vector<std::string> head(ids.begin(), ids.begin() + kAcksMax);
    const std::vector<std::string> tail(ids.begin() + kAcksMax, ids.end());
    return ack_kicks(host, head, [this, host, tail, done = std::move(done)](Status acked) mutable {
      if (!acked.ok()) return done(std::move(acked));
      ack_kicks(host, tail, std::move(done));
    });
  }
  std::vector<std::string> args{redis_keys::kKickGroup};
  args.insert(args.end(), ids.begin(), ids.end());
  run(RedisScript::ack_kicks, {redis_keys::of_host(host, "kicks")}, std::move(args),
      fmt::format("the kicks of host {} are not acknowledged", host),
      without_value<std::string>(std::move(done)));
}

}  // namespace reclaim
