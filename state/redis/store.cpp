// Records and locks; the kicks are in kicks.cpp, the hosts in hosts.cpp.
#include "state/redis/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/redis/keys.h"
#include "state/redis/library.h"

namespace reclaim {
namespace {

// Lua's numbers are doubles: beyond this they skip values.
constexpr std::uint64_t kEpochMax = (1ULL << 53U) - 1;

// The limit of an answer. A record has some ten kilobytes; a pending certificate and a baseline are
// the longest of it.
constexpr std::size_t kAnswerBytesMax = std::size_t{8} * 1024 * 1024;
// The limit of each text in what all hosts write: one byte more than a host's name may have.
constexpr std::size_t kSharedTextBytesMax = 256;
constexpr std::size_t kCertificateBytesMax = std::size_t{1280} * 1024;

// The fields of a notification, as the script takes them: event, mac, message and priority.
constexpr std::size_t kOutboxFieldCount = 4;

void append(std::vector<std::string>& args, const Fields& fields) {
  for (const auto& [name, value] : fields) {
    args.push_back(name);
    args.push_back(value);
  }
}

Errc code_of(std::string_view status) {
  if (status == "conflict") return Errc::conflict;
  if (status == "busy") return Errc::busy;
  if (status == "refused") return Errc::refused;
  return Errc::failed;
}

// Redis has not answered; what it would say may be heard yet.
bool is_unheard(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::unknown ||
         error.code == Errc::cancelled;
}

// {"ok", detail?} or {status, detail}.
Result<std::string> judge_script(const RedisReply& reply) {
  if (!reply.is_array() || reply.elements.empty() || !reply.elements.front().is_text()) {
    return Error{Errc::failed, "the script's answer is not of its form"};
  }
  std::string detail = reply.elements.size() > 1 ? reply.elements[1].text : std::string();
  if (reply.elements.front().text == "ok") return detail;
  return Error{code_of(reply.elements.front().text), std::move(detail)};
}

// Read, and never written, before any other command: a host's login may not write it. Who was
// greeted once goes on whatever is written there later, for a word in Redis has no authority.
RedisGreeting schema_greeting(const std::shared_ptr<RedisSchema>& schema) {
  RedisGreeting greeting;
  greeting.command = {"MGET", redis_keys::kSchema};  // nil where the key has another type
  greeting.judge = [schema](const RedisReply& reply) -> Status {
    if (!reply.is_array() || reply.elements.size() != 1) {
      return Error{Errc::failed, "the answer to MGET is not of its form"};
    }
    const RedisReply& stored = reply.elements.front();
    const std::string major = stored.text.substr(0, stored.text.find_first_not_of("0123456789"));
    schema->to_write = stored.is_nil();
    schema->foreign.clear();
    if (!schema->to_write && major != std::to_string(kSchemaVersion)) {
      schema->foreign = stored.text.empty() ? "(empty)" : printable_excerpt(stored.text, 40);
    }
    if (schema->foreign.empty() || schema->greeted) {
      schema->greeted = true;
      return Ok{};
    }
    return Error{
        Errc::refused,
        fmt::format("{} is '{}', this version of Reclaim speaks {}: use the version that "
                    "wrote it, or a database of its own. Where no host was upgraded, set it "
                    "back: redis-cli SET {} {}",
                    redis_keys::kSchema, schema->foreign, kSchemaVersion, redis_keys::kSchema,
                    kSchemaVersion)};
  };
  return greeting;
}

// The value of "name:value" in INFO's text, or nothing.
std::string info_value(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

PersistenceReport judge_persistence(std::string_view info) {
  PersistenceReport report;
  const auto clients = parse_number<std::size_t>(info_value(info, "connected_clients"));
  const auto clients_max = parse_number<std::size_t>(info_value(info, "maxclients"));
  report.crowded = crowded("connections", clients.value_or(0), clients_max.value_or(0));
  const std::string aof = info_value(info, "aof_enabled");
  const std::string last_write = info_value(info, "aof_last_write_status");
  const std::string policy = info_value(info, "maxmemory_policy");
  const std::string maxmemory = info_value(info, "maxmemory");
  report.known = !aof.empty() && !policy.empty();
  report.aof_enabled = aof == "1" && (last_write.empty() || last_write == "ok");
  report.evicts = !policy.empty() && policy != "noeviction" && maxmemory != "0";
  if (!report.known) {
    report.text =
        "Redis does not say whether it persists (INFO lacks aof_enabled or "
        "maxmemory_policy)";
    return report;
  }
  if (aof != "1") {
    report.text =
        "Redis keeps no append-only file: a restart forgets the last device records; set "
        "'appendonly yes'";
  } else if (!report.aof_enabled) {
    report.text = fmt::format("Redis cannot write its append-only file (aof_last_write_status:{})",
                              last_write);
  }
  if (report.evicts) {
    report.text += fmt::format(
        "{}Redis may evict keys when its memory is full (maxmemory-policy "
        "{}): locks and records would vanish; set 'maxmemory-policy "
        "noeviction'",
        report.text.empty() ? "" : "; ", policy);
  }
  return report;
}

// Shown in the place of a record that cannot be read: its address, and why. Nothing where the
// address is none.
std::optional<Record> damaged_record(const std::string& host, const std::string& address,
                                     const Error& why) {
  const auto parsed = parse_pci_address(address);
  if (!parsed.ok()) return std::nullopt;
  Record record;
  record.host = host;
  record.address = *parsed;
  record.uuid = device_uuid(host, *parsed);
  record.stage = Stage::error;
  record.damage = fmt::format(
      "its record cannot be believed ({}): nothing is done with it; compare with Placement and the "
      "ledger, then remove the record (redis-cli -c DEL '{}'), and the device is met again from "
      "ledger, Placement and drive",
      why.what, redis_keys::of_device(host, "device", address));
  record.last_error = record.damage;
  return record;
}

Result<Record> record_from(const std::string& host, const std::string& address,
                           const RedisReply& reply, const RecordSeal* seal) {
  const auto pairs = redis_keys::pairs_of(reply);
  const Fields fields(pairs.begin(), pairs.end());
  // First: what somebody else wrote is not looked into.
  if (seal != nullptr && !seal->fits(fields)) {
    return Error{Errc::refused,
                 fields.contains("mac")
                     ? "field 'mac' does not fit the others: not written by this host's worker, or "
                       "changed since"
                     : "field 'mac' is missing: not written by this host's worker"};
  }
  Result<Record> record = decode_record(fields);
  if (!record.ok()) return record;
  if (record->host != host || to_string(record->address) != address) {
    return Error{Errc::invalid,
                 fmt::format("it is the record of {} on host {}", to_string(record->address),
                             printable_excerpt(record->host))};
  }
  // The API's callers name a device by its uuid: another's would get what is meant for that one.
  if (record->uuid != device_uuid(host, record->address)) {
    return Error{Errc::invalid, fmt::format("field 'uuid' is '{}', which is not this device's",
                                            printable_excerpt(record->uuid, 40))};
  }
  return record;
}

}  // namespace

struct RedisStore::Loading {
  std::string host;
  std::size_t outstanding = 0;
  std::vector<Record> records;
  std::optional<Error> problem;
  Callback<std::vector<Record>> done;
};

RedisStore::RedisStore(RedisStoreOptions options, const Clock& clock, Logger& logger)
    : options_(std::move(options)), clock_(clock), logger_(logger) {}

Result<std::unique_ptr<RedisStore>> RedisStore::create(uv_loop_t* loop, RedisStoreOptions options,
                                                       const Clock& clock, Logger& logger) {
  std::unique_ptr<RedisStore> store(new RedisStore(std::move(options), clock, logger));
  RedisGreeting greeting = schema_greeting(store->schema_);
  greeting.calls = true;
  auto client = Redis::create(loop, store->options_.redis, logger, std::move(greeting));
  if (!client.ok()) return std::move(client).error();
  // The greeting of a cluster may have to wait behind a wait for kicks that is not over yet.
  RedisOptions patient = store->options_.redis;
  if (!patient.cluster.empty()) patient.command_timeout_ms += store->options_.watch_block_ms;
  auto watcher = Redis::create(loop, std::move(patient), logger, schema_greeting(store->schema_));
  if (!watcher.ok()) return std::move(watcher).error();
  store->client_ = *std::move(client);
  store->watcher_ = *std::move(watcher);
  if (store->options_.observers.answered) {
    store->client_->on_answer(store->options_.observers.answered);
  }
  store->watch_retry_ = std::make_unique<uv::Timer>(loop);
  store->on_state(nullptr);
  return store;
}

RedisStore::~RedisStore() {
  close();
}

void RedisStore::start() {
  client_->start();
}

void RedisStore::close() {
  on_kick_ = nullptr;
  if (watch_retry_ != nullptr) watch_retry_->stop();
  if (watcher_ != nullptr) watcher_->close();
  if (client_ != nullptr) client_->close();
}

const RedisState& RedisStore::state() const {
  return client_->state();
}

void RedisStore::on_state(std::function<void(const RedisState&)> on_change) {
  client_->on_state([this, on_change = std::move(on_change)](const RedisState& state) {
    if (state.connected) settle_schema();
    if (on_change) on_change(state);
  });
}

// Settles the schema by the connection that was just made.
void RedisStore::settle_schema() {
  if (!schema_->foreign.empty()) {
    logger_.error(
        log_name::kStore,
        fmt::format("{0} is '{1}', and this process began with {2}: it goes on. If no host was "
                    "upgraded, set it back: redis-cli SET {0} {2}, and let hosts only read it "
                    "(docs/redis.md); else restart this process with the new version",
                    redis_keys::kSchema, schema_->foreign, kSchemaVersion));
  }
  if (!schema_->to_write || !options_.writes_schema) return;
  call(RedisScript::schema, {redis_keys::kSchema}, {std::to_string(kSchemaVersion)},
       [this](const Result<RedisReply>& reply) {
         if (reply || reply.error().code == Errc::cancelled) return;
         logger_.info(
             log_name::kStore,
             fmt::format("{} is left as it is: `reclaim redis install` with an operator's user "
                         "writes it (docs/redis.md)",
                         redis_keys::kSchema),
             {{"why", reply.error().what}});
       });
}

void RedisStore::call(RedisScript script, std::vector<std::string> keys,
                      std::vector<std::string> args, Callback<RedisReply> done,
                      std::string_view word) {
  std::vector<std::string> words{std::string(word), RedisLibrary::ours().function(script),
                                 std::to_string(keys.size())};
  words.insert(words.end(), std::make_move_iterator(keys.begin()),
               std::make_move_iterator(keys.end()));
  words.insert(words.end(), std::make_move_iterator(args.begin()),
               std::make_move_iterator(args.end()));
  std::vector<std::string> first = words;
  client_->command(std::move(first), [this, script, words = std::move(words),
                                      done = std::move(done)](Result<RedisReply> reply) mutable {
    const bool unknown_script = !reply.ok() && reply.error().code == Errc::not_found;
    if (!unknown_script) return done(std::move(reply));
    // A server that does not know the script, where it was sent as one, has not run it: once more,
    // with its text.
    words[0] = "EVAL";
    words[1] = std::string(text_of(script).lua);
    client_->command(std::move(words), std::move(done));
  });
}

void RedisStore::run(RedisScript script, std::vector<std::string> keys,
                     std::vector<std::string> args, std::string what, Callback<std::string> done) {
  call(script, std::move(keys), std::move(args),
       [what = std::move(what), done = std::move(done)](Result<RedisReply> reply) {
         Result<std::string> judged =
             reply.ok() ? judge_script(*reply) : Result<std::string>(std::move(reply).error());
         if (!judged.ok()) judged = judged.error().wrap(what);
         done(std::move(judged));
       });
}

void RedisStore::load(const std::string& host, Callback<std::vector<Record>> done) {
  remove_unreadable_keys();
  auto loading = std::make_shared<Loading>();
  loading->host = host;
  loading->done = std::move(done);
  read(host, {"SMEMBERS", redis_keys::of_host(host, "devices")},
       [this, loading](Result<RedisReply> reply) {
         const std::string key = redis_keys::of_host(loading->host, "devices");
         if (reply.ok() && reply->elements.size() > options_.devices_max) {
           reply = Error{Errc::failed, fmt::format("it lists {} devices, {} are allowed",
                                                   reply->elements.size(), options_.devices_max)};
         }
         if (!reply.ok()) {
           if (remove_unreadable(loading->host, key, reply.error())) {
             return loading->done(std::vector<Record>{});
           }
           if (is_of_what_is_stored(reply.error())) {
             logger_.warning(log_name::kStore, fmt::format("{} cannot be read", key),
                             {{"why", reply.error().what}});
           }
           return loading->done(redis_keys::not_read(key, reply.error()));
         }
         if (reply->elements.empty()) return loading->done(std::vector<Record>{});
         loading->outstanding = reply->elements.size();
         for (const RedisReply& element : reply->elements) {
           read(loading->host,
                {"HGETALL", redis_keys::of_device(loading->host, "device", element.text)},
                [this, loading, address = element.text](Result<RedisReply> hash) {
                  on_device(loading, address, std::move(hash));
                });
         }
       });
}

// Reads by a function: an answer that is too long would end the connection as a reply, each time.
// The keys of others are read with FCALL_RO.
void RedisStore::read(const std::string& host, const std::vector<std::string>& command,
                      Callback<RedisReply> done) {
  std::vector<std::string> args{
      std::to_string(host.empty() ? kSharedTextBytesMax : kAnswerBytesMax),
      std::to_string(kAnswerBytesMax), command[0]};
  args.insert(args.end(), command.begin() + 2, command.end());
  call(RedisScript::read, {command[1]}, std::move(args), std::move(done),
       seal_of(host) != nullptr ? "FCALL" : "FCALL_RO");
}

bool RedisStore::remove_unreadable(const std::string& host, const std::string& key,
                                   const Error& error) {
  if (seal_of(host) == nullptr || (error.code != Errc::failed && error.code != Errc::limit)) {
    return false;
  }
  logger_.error(log_name::kStore,
                fmt::format("{} cannot be read and is removed; another client wrote it: find out "
                            "who has this Redis's password",
                            key),
                {{"why", error.what}});
  unreadable_.insert(key);
  remove_unreadable_keys();
  return true;
}

// The connection may have ended with the answer that was too long: then before the next reading.
void RedisStore::remove_unreadable_keys() {
  for (const std::string& key : unreadable_) {
    client_->command({"DEL", key}, [this, key](const Result<RedisReply>& removed) {
      if (removed.ok()) unreadable_.erase(key);
    });
  }
}

void RedisStore::on_device(const std::shared_ptr<Loading>& loading, const std::string& address,
                           Result<RedisReply> reply) {
  const std::string key = redis_keys::of_device(loading->host, "device", address);
  if (!reply.ok() && is_unheard(reply.error())) {
    if (!loading->problem) loading->problem = reply.error().wrap(key);
  } else if (reply.ok() && reply->elements.empty()) {
    // The device is as if Redis had lost it: Placement, the drive and the ledger decide what it is.
    logger_.warning(log_name::kStore,
                    fmt::format("{} is listed but gone; rediscovering the device", key));
  } else {
    Result<Record> record =
        reply.ok() ? record_from(loading->host, address, *reply, seal_of(loading->host))
                   : Result<Record>(reply.error());
    if (record.ok()) {
      loading->records.push_back(*std::move(record));
    } else if (auto damaged = damaged_record(loading->host, address, record.error().wrap(key))) {
      loading->records.push_back(*std::move(damaged));
    } else {
      logger_.error(log_name::kStore, fmt::format("{} is passed over: {} is not a PCI address", key,
                                                  printable_excerpt(address)));
    }
  }
  if (--loading->outstanding > 0) return;
  if (loading->problem) return loading->done(*loading->problem);
  std::sort(loading->records.begin(), loading->records.end(),
            [](const Record& a, const Record& b) { return a.address < b.address; });
  loading->done(std::move(loading->records));
}

const RecordSeal* RedisStore::seal_of(const std::string& host) const {
  return options_.seal && options_.seal->host() == host ? &*options_.seal : nullptr;
}

void RedisStore::save(const Record& record, LockToken lock, const JournalEntry& entry,
                      Callback<Ok> done) {
  CHECK(record.epoch <= kEpochMax);
  const std::string address = to_string(record.address);
  const std::vector<std::string> journal = redis_keys::journal_fields(entry, record.epoch);
  std::vector<std::string> args{std::to_string(record.epoch), std::to_string(lock.token),
                                std::to_string(options_.journal_length_max),
                                std::to_string(journal.size())};
  std::vector<Fields> posts;
  if (options_.outbox.posts) posts = options_.outbox.posts(record, entry);
  args.push_back(std::to_string(posts.size()));
  args.push_back(std::to_string(options_.outbox.length_max));
  args.insert(args.end(), journal.begin(), journal.end());
  for (const Fields& post : posts) {
    CHECK(post.size() == kOutboxFieldCount);
    append(args, post);
  }
  args.push_back(address);
  const RecordSeal* seal = seal_of(record.host);
  append(args, seal != nullptr ? seal->seal(record) : encode_record(record));
  if (options_.observers.saved) {
    done = [saved = options_.observers.saved, record, entry,
            done = std::move(done)](Result<Ok> result) {
      if (result.ok()) saved(record, entry);
      done(std::move(result));
    };
  }
  run(RedisScript::save,
      {redis_keys::of_device(record.host, "device", address),
       redis_keys::of_host(record.host, "devices"), redis_keys::of_host(record.host, "journal"),
       redis_keys::of_device(record.host, "lock", address),
       redis_keys::of_host(record.host, "outbox"),
       redis_keys::of_host(record.host, "outbox_dropped")},
      std::move(args), fmt::format("the record of {} is not saved", address),
      reading<std::string>(std::move(done), "", [this, address](const std::string& not_posted) {
        if (!not_posted.empty()) {
          logger_.error(log_name::kStore,
                        fmt::format("{}: the record is saved, its notifications are not: give the "
                                    "user the access rights of docs/redis.md",
                                    address),
                        {{"why", not_posted}});
        }
        return Ok{};
      }));
}

void RedisStore::discard(const std::string& host, const PciAddress& address, Callback<Ok> done) {
  const std::string key = redis_keys::of_device(host, "device", to_string(address));
  client_->command({"DEL", key},
                   without_value<RedisReply>(std::move(done), key + " is not removed"));
}

void RedisStore::save_progress(const Record& record, Callback<Ok> done) {
  const RecordSeal* seal = seal_of(record.host);
  const Fields all = seal != nullptr ? seal->seal(record) : encode_record(record);
  std::vector<std::string> args{std::to_string(record.epoch)};
  // A step's words are sealed, unlike figures; of the same epoch all else is as it was saved.
  for (const char* name :
       {"clean_step", "progress", "progress_eta_s", "progress_message", "updated_at", "mac"}) {
    const auto field = all.find(name);
    if (field == all.end()) continue;
    args.emplace_back(name);
    args.push_back(field->second);
  }
  const std::string address = to_string(record.address);
  run(RedisScript::save_progress, {redis_keys::of_device(record.host, "device", address)},
      std::move(args), fmt::format("the progress of {} is not saved", address),
      without_value<std::string>(std::move(done)));
}

void RedisStore::acquire_lock(const std::string& host, const PciAddress& address,
                              const std::string& holder, std::int64_t ttl_ms,
                              Callback<LockToken> done) {
  CHECK(ttl_ms > 0);
  const std::string text = to_string(address);
  run(RedisScript::acquire_lock,
      {redis_keys::of_device(host, "lock", text), redis_keys::of_host(host, "fence")},
      {holder, std::to_string(ttl_ms), std::to_string(clock_.now().wall.ms)},
      fmt::format("the lock of {} is not taken", text),
      reading<std::string>(
          std::move(done), "", [text](const std::string& token) -> Result<LockToken> {
            const LockToken lock{parse_number<std::uint64_t>(token).value_or(0)};
            if (lock.token != 0) return lock;
            return Error{Errc::failed,
                         fmt::format("the lock of {} has no token that is a number: '{}'", text,
                                     printable_excerpt(token, 40))};
          }));
}

void RedisStore::renew_lock(const std::string& host, const PciAddress& address, LockToken lock,
                            std::int64_t ttl_ms, Callback<Ok> done) {
  CHECK(ttl_ms > 0);
  const std::string text = to_string(address);
  run(RedisScript::renew_lock, {redis_keys::of_device(host, "lock", text)},
      {std::to_string(lock.token), std::to_string(ttl_ms)},
      fmt::format("the lock of {} is not renewed", text),
      without_value<std::string>(std::move(done)));
}

void RedisStore::release_lock(const std::string& host, const PciAddress& address, LockToken lock,
                              Callback<Ok> done) {
  const std::string text = to_string(address);
  run(RedisScript::release_lock, {redis_keys::of_device(host, "lock", text)},
      {std::to_string(lock.token)}, fmt::format("the lock of {} is not released", text),
      without_value<std::string>(std::move(done)));
}

void RedisStore::save_certificate(const Certificate& certificate, const std::string& sealed_text,
                                  Callback<Ok> done) {
  client_->command(
      {"SET", redis_keys::of_device(certificate.host, "certificate", certificate.address),
       sealed_text},
      without_value<RedisReply>(std::move(done), "the certificate is not saved"));
}

// A text that is longer is no certificate, and is seen to be none.
void RedisStore::load_certificate(const std::string& host, const std::string& address,
                                  Callback<std::string> done) {
  const std::string key = redis_keys::of_device(host, "certificate", address);
  client_->command({"GETRANGE", key, "0", std::to_string(kCertificateBytesMax)},
                   [key, done = std::move(done)](Result<RedisReply> reply) {
                     if (!reply.ok()) return done(redis_keys::not_read(key, reply.error()));
                     done(std::move(reply->text));
                   });
}

void RedisStore::check_persistence(Callback<PersistenceReport> done) {
  // INFO says the same as CONFIG GET, which an ACL for a service, and most hosted servers, forbid.
  client_->ask_each({"INFO"}, [done = std::move(done)](Result<std::vector<RedisSaid>> said) {
    if (!said.ok()) return done(said.error().wrap("whether Redis persists"));
    PersistenceReport all{true, true, false, "", ""};
    for (const RedisSaid& each : *said) {
      if (!each.reply.ok() && is_unheard(each.reply.error())) {
        return done(each.reply.error().wrap("whether Redis persists"));
      }
      PersistenceReport one;
      if (each.reply.ok()) {
        one = judge_persistence(each.reply->text);
      } else {
        one.text = fmt::format("cannot see whether Redis persists: {}", each.reply.error().what);
      }
      all.known = all.known && one.known;
      all.aof_enabled = all.aof_enabled && one.aof_enabled;
      all.evicts = all.evicts || one.evicts;
      const auto add = [&each](const std::string& text, std::string& to) {
        if (text.empty()) return;
        to += fmt::format("{}{}{}{}", to.empty() ? "" : "; ", each.server,
                          each.server.empty() ? "" : ": ", text);
      };
      add(one.text, all.text);
      add(one.crowded, all.crowded);
    }
    done(std::move(all));
  });
}

void RedisStore::install(Callback<std::size_t> done) {
  run(RedisScript::schema, {redis_keys::kSchema}, {std::to_string(kSchemaVersion)},
      fmt::format("{} is not written", redis_keys::kSchema),
      [this, done = std::move(done)](const Result<std::string>& written) mutable {
        if (!written.ok()) return done(written.error());
        client_->ask_each({"PING"}, [done = std::move(done)](Result<std::vector<RedisSaid>> said) {
          if (!said.ok()) return done(std::move(said).error());
          for (const RedisSaid& each : *said) {
            if (!each.reply.ok()) return done(each.reply.error().wrap(each.server));
          }
          done(said->size());
        });
      });
}

}  // namespace reclaim
