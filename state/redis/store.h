// RedisStore: the Store on Redis. The layout of its keys is a documented interface:
// docs/redis-keys.md.
//
// Thread: the loop's. Owns: two connections (to a cluster: two to each master), one for commands
// and one that waits for kicks. On each connect reclaim:schema is read before anything else; a
// Redis of another major version is not spoken to, and everything answers `unavailable` with the
// reason, unless it was of ours when this process connected first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/reading.h"
#include "state/base/uuid.h"
#include "state/certificate/kick_seal.h"
#include "state/certificate/record_seal.h"
#include "state/device/certificates.h"
#include "state/device/in_hand.h"
#include "state/device/metrics_texts.h"
#include "state/device/outbox.h"
#include "state/device/store.h"
#include "state/redis/options.h"
#include "state/redis/redis.h"
#include "state/redis/scripts.h"

namespace reclaim {

// The outbox: what the bus is told of the host's journal.
struct RedisOutboxOptions {
  std::string host;
  // The notifications of a journal entry, as they are stored (state/device/outbox.h), each with the
  // same four fields. None: none are posted.
  std::function<std::vector<Fields>(const Record&, const JournalEntry&)> posts;
  std::uint32_t length_max = 10'000;  // the oldest go, counted; exact
};

// The observers for the worker's metrics. None: not told.
struct RedisObservers {
  // Each command's end: "ok" or the kind of its error, and how long it took.
  std::function<void(std::string_view outcome, std::int64_t ms)> answered;
  // Each transition that is durable.
  std::function<void(const Record&, const JournalEntry&)> saved;
};

struct RedisStoreOptions {
  RedisOptions redis;
  RedisObservers observers;
  // The seal of the host whose records are written here. None: records are only shown, as they are
  // found.
  std::optional<RecordSeal> seal;
  // The seal of the host whose worker this is. None: commands are neither given nor heard.
  std::optional<KickSeal> kick_seal;
  RedisOutboxOptions outbox;
  std::uint32_t journal_length_max = 10'000;  // per host; Redis trims it in steps of about 100
  std::uint32_t kicks_length_max = 10'000;    // per host; the oldest go, the survey makes up for it
  // The life of a host's stream since its last kick; a worker that comes back later surveys anyway.
  std::int64_t kicks_life_ms = 7LL * 24 * 3600 * 1000;
  std::size_t devices_max = 1024;  // per host
  std::size_t hosts_max = 10'000;
  std::int64_t alive_ms = 300'000;  // how long a heartbeat counts
  // Writes reclaim:schema where there is none: a worker does, a tool does not.
  bool writes_schema = false;
  // The length of one wait for a kick: so late is heard what is in streams that somebody has
  // removed and made again, or of a connection that is lost without a word.
  int watch_block_ms = 20'000;
};

// The persistence of what is written. An erased drive does not hang on it (docs/redis.md), but what
// an operator sees and sets does. Of a cluster: what holds of all masters.
struct PersistenceReport {
  bool known = false;        // false: the server does not let us look
  bool aof_enabled = false;  // the append-only file is on and its last write went well
  bool evicts = false;       // keys may be thrown out when memory is short
  std::string text;          // for people: what is wrong and the remedy; empty: nothing is
  std::string crowded;       // how many of its connections are taken, where that is much; or empty
};

// "HAVE WHAT of MOST", where that is three quarters or more; else nothing.
[[nodiscard]] std::string crowded(std::string_view what, std::size_t have, std::size_t most);

// The word of reclaim:schema at the last connect.
struct RedisSchema {
  bool greeted = false;   // it was ours once: then this process goes on
  bool to_write = false;  // there is none, or the one before
  std::string foreign;    // another version's; empty: it is ours
};

class RedisStore final : public Store,
                         public InHand,
                         public Outbox,
                         public Certificates,
                         public MetricsTexts {
 public:
  // `loop`, `clock` and `logger` outlive the store.
  static Result<std::unique_ptr<RedisStore>> create(uv_loop_t* loop, RedisStoreOptions options,
                                                    const Clock& clock, Logger& logger);
  ~RedisStore() override;

  void start();
  // Completes what is in flight with `cancelled`.
  void close();
  [[nodiscard]] const RedisState& state() const;
  void on_state(std::function<void(const RedisState&)> on_change);

  // Calls `on_kick` as soon as a kick or an order is added for the host, once at the start if there
  // is one already, and after each reconnect: then call read_kicks and take_orders. Several may be
  // one call.
  void watch_kicks(const std::string& host, std::function<void()> on_kick);

  // The host's journal after `after_id` ("0-0": from the beginning, "$": from now on), at most
  // `count_max` entries. For `reclaim watch`.
  void read_journal(const std::string& host, const std::string& after_id, std::size_t count_max,
                    Callback<JournalPage> done);

  // Removes all that is stored of a host that is gone for good, its name last. Errc::busy: its
  // worker lives, or has not been silent for long enough. What its ledger and certificates hold
  // stays on the host, and Placement keeps what is reserved.
  void forget_host(const std::string& host, Callback<Ok> done);

  void check_persistence(Callback<PersistenceReport> done);

  // Writes reclaim:schema where there is none, with an operator's login, and says on how many
  // servers our functions are; connecting loads them (state().lua).
  void install(Callback<std::size_t> done);

  void load(const std::string& host, Callback<std::vector<Record>> done) override;
  void save(const Record& record, LockToken lock, const JournalEntry& entry,
            Callback<Ok> done) override;
  void discard(const std::string& host, const PciAddress& address, Callback<Ok> done) override;
  void save_progress(const Record& record, Callback<Ok> done) override;
  void acquire_lock(const std::string& host, const PciAddress& address, const std::string& holder,
                    std::int64_t ttl_ms, Callback<LockToken> done) override;
  void renew_lock(const std::string& host, const PciAddress& address, LockToken lock,
                  std::int64_t ttl_ms, Callback<Ok> done) override;
  void release_lock(const std::string& host, const PciAddress& address, LockToken lock,
                    Callback<Ok> done) override;
  void push_kick(const std::string& host, const Kick& kick, Callback<Ok> done) override;
  void read_kicks(const std::string& host, std::size_t count_max,
                  Callback<std::vector<Kick>> done) override;
  void push_order(const std::string& host, const Order& order, Callback<Ok> done) override;
  void take_orders(const std::string& host, std::size_t count_max,
                   Callback<std::vector<Order>> done) override;
  void orders_left(const std::string& host, Callback<std::vector<Order>> done) override;
  void answer_order(const std::string& host, const Order& order, const std::string& refusal,
                    Callback<Ok> done) override;
  // Lists the orders that no worker has taken yet, for who issued them.
  void list_orders(const std::string& host, Callback<std::vector<Order>> done);
  // False: it is not there any more.
  void withdraw_order(const std::string& host, const std::string& id, Callback<bool> done);
  // Nothing: not taken yet. Empty: taken; else why it was refused.
  void read_order_answer(const std::string& host, const std::string& request_id,
                         Callback<std::optional<std::string>> done);
  void ack_kicks(const std::string& host, const std::vector<std::string>& ids,
                 Callback<Ok> done) override;
  void heartbeat(const HostInfo& info, Callback<Ok> done) override;
  void hosts(Callback<std::vector<HostInfo>> done) override;
  void hosts_called(const std::string& name, Callback<std::vector<std::string>> done) override;
  void count_hosts(Callback<std::size_t> done) override;
  void load_arqs(const std::string& host, Callback<std::vector<Arq>> done) override;
  void save_arq(const std::string& host, const Arq& arq, Callback<Ok> done) override;
  void remove_arq(const std::string& host, const std::string& uuid, Callback<Ok> done) override;
  void save_certificate(const Certificate& certificate, const std::string& sealed_text,
                        Callback<Ok> done) override;
  void load_certificate(const std::string& host, const std::string& address,
                        Callback<std::string> done) override;
  void save_metrics(const std::string& host, const std::string& text, Callback<Ok> done) override;
  void load_metrics(const std::string& host, Callback<std::string> done) override;
  void mark_in_hand(const std::string& name, Callback<bool> done) override;
  void clear_in_hand(const std::string& name, Callback<Ok> done) override;
  // The outbox of the host that RedisOutboxOptions name.
  void read_outbox(std::size_t count_max, Callback<OutboxPage> done) override;
  void remove_from_outbox(const std::vector<std::string>& ids, Callback<Ok> done) override;

 private:
  struct Loading;
  struct Listening;
  struct Calling;

  [[nodiscard]] const RecordSeal* seal_of(const std::string& host) const;
  void check_command(const std::string& host, Kick& kick);

  RedisStore(RedisStoreOptions options, const Clock& clock, Logger& logger);

  void settle_schema();
  void call(RedisScript script, std::vector<std::string> keys, std::vector<std::string> args,
            Callback<RedisReply> done, std::string_view word = "FCALL");
  // Answers the script's {"ok", detail} with the detail, and its refusals with an error that begins
  // with `what`.
  void run(RedisScript script, std::vector<std::string> keys, std::vector<std::string> args,
           std::string what, Callback<std::string> done);
  // Removes a key of this store's host that cannot be read, ever: whoever wrote it, all goes on as
  // if Redis had lost it. False: it may be read yet, or is not ours to remove.
  bool remove_unreadable(const std::string& host, const std::string& key, const Error& error);
  void remove_unreadable_keys();
  // A command that reads one key, {"HGETALL", KEY, ...}, of `host` or of the fleet (empty).
  // Errc::failed: what is there has another type, or is longer than anything of ours.
  void read(const std::string& host, const std::vector<std::string>& command,
            Callback<RedisReply> done);
  void add_to_stream(const std::string& key, std::vector<std::string> words, Callback<Ok> done);
  void read_kicks_from(const std::string& host, std::size_t count_max, bool may_create_group,
                       Callback<std::vector<Kick>> done);
  void on_kicks(const std::string& host, std::size_t count_max, const std::string& from,
                Result<RedisReply> reply, Callback<std::vector<Kick>> done);
  void on_device(const std::shared_ptr<Loading>& loading, const std::string& address,
                 Result<RedisReply> reply);
  void announce(const HostInfo& info, Callback<Ok> done);
  void announce_aliases(const HostInfo& info);
  void read_hosts(const std::shared_ptr<Listening>& listening);
  void read_host(const std::string& host, Callback<std::optional<HostInfo>> done);
  // Tells whether a machine ever worked under the name.
  void worked_under(const std::string& host, Callback<bool> done);
  void load_arqs_from(const std::string& host, const std::string& cursor, std::vector<Arq> arqs,
                      Callback<std::vector<Arq>> done);
  void wait_for_kick();
  void on_waited(Result<RedisReply> reply);

  RedisStoreOptions options_;
  const Clock& clock_;
  Logger& logger_;
  std::shared_ptr<RedisSchema> schema_ = std::make_shared<RedisSchema>();
  std::unique_ptr<Redis> client_;

  // The place at which reading a host's kicks stands: an id while those read before but not
  // acknowledged are read again, ">" when only new ones are left. Absent: from the beginning.
  std::map<std::string, std::string> cursors_;
  std::string marks_owner_ = random_uuid();  // what our marks of messages hold: another's are not
  std::set<std::string> unreadable_;         // to be removed as soon as Redis can be asked to
  bool said_unnamed_ = false;                // that the login may write no aliases

  std::unique_ptr<Redis> watcher_;
  bool waiting_ = false;  // for a kick: one command at a time
  std::unique_ptr<uv::Timer> watch_retry_;
  std::string watched_host_;
  std::string watched_id_ = "0-0";
  std::string watched_order_ = "0-0";
  std::function<void()> on_kick_;
};

}  // namespace reclaim
