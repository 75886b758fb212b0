// Store: the seam between what decides and Redis: records, locks, the kicks of a host, who the
// hosts are. One real implementation (state/redis/store.h), one in memory that can lose its last
// writes (tests/sim).
//
// Thread: called on the loop's thread, returns at once; every callback is called exactly once,
// later, on the loop's thread. Errors: Errc::conflict (somebody else wrote or holds it),
// unavailable (Redis cannot be reached: nothing was done), unknown (the deadline passed after the
// command was sent).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "state/base/callback.h"
#include "state/device/arq.h"
#include "state/device/life.h"
#include "state/device/order.h"
#include "state/device/record.h"

namespace reclaim {

// One line of the host's journal: every transition with its `why`.
struct JournalEntry {
  std::string address;
  std::string from;  // stage
  std::string trigger;
  std::string to;  // stage
  std::string why;
  std::string detail;  // what happened this time: an error, numbers
  WallMs at;
};

// A piece of a journal, oldest first.
struct JournalPage {
  std::vector<JournalEntry> entries;
  std::string last_id;  // where the next piece begins; the one asked for when there is nothing new
};

// Work dispatched to a host: a notification's kick. A kick carries no authority: Placement and the
// host do. A command does, so that only the host's own worker can give it one (push_kick).
struct Kick {
  std::string id;       // stream id, set by the store
  std::string reason;   // event type
  std::string command;  // "", or cleanup_device: Cyborg's conductor asks for it by RPC
  std::string address;  // of the device, for a command
  std::string instance;
  std::string request_id;
  bool mark_allocated = false;  // an instance is being built or deleted: look who holds what
  std::vector<int> delays_s;    // survey after each of these
  std::string arq;  // of an ARQ's notification (`reason`): the ARQ as JSON (state/device/arq.h)
  Life life = Life::untold;  // of the instance,
  std::string host = {};     // on this one; empty: the message does not say on which
  WallMs sent_at = {};       // as the sender's clock had it; 0: not told
  std::string mac = {};      // of a command (state/certificate/kick_seal.h)
};

// A worker's word of itself under reclaim:{HOST}:alive, for as long as it goes on saying it.
struct HostInfo {
  std::string host;
  WallMs heartbeat_at;  // 0: its word has expired, or cannot be read; only the name is known
  std::string version;
  std::string machine_id;    // docs/redis.md#a-host-name-belongs-to-one-machine
  std::uint32_t burned = 0;  // devices not available, or held: who wants an "any host" kick
  std::vector<std::string> nodes = {};  // what else it is called (state/base/host_names.h)
  bool stopped = false;                 // it was told to stop, and did
  bool observes = false;                // [reclaim] mode = observe
  // Tenancies that surveys found to have ended while the bus told of nothing (handlers/survey/
  // hearing.h), and since when; 0: none.
  std::uint32_t unheard_ends = 0;
  WallMs unheard_since = {};
  // Queues of Nova's notifier that hold messages and have no reader, and since when every look
  // found the first of them so; 0: none.
  std::vector<std::string> unread_queues = {};
  WallMs unread_since = {};
  std::vector<std::string> labels = {};  // [reclaim] labels: "rack=7"
  // No cleaning begins on it until then, by whose word and why; 0: it is not paused.
  WallMs paused_until = {};
  std::string paused_by = {};
};

// A lock that was granted. Tokens only grow; a write that has an older one is refused (fencing).
struct LockToken {
  std::uint64_t token = 0;
};

// True if an error of reading what a host has stored tells of what is there, which that host's
// login wrote, and nothing of Redis or of other hosts.
[[nodiscard]] constexpr bool is_of_what_is_stored(const Error& error) {
  return error.code == Errc::failed || error.code == Errc::invalid;
}

class Store {
 public:
  virtual ~Store() = default;

  // All records of the host. One that cannot be decoded, or that this host's worker did not write,
  // comes as a record in error whose `damage` names key and field: guessing at a dirty drive's
  // record is not for us, and no reason to leave the others alone. An error that
  // is_of_what_is_stored: none of this host's can be read, others' can.
  virtual void load(const std::string& host, Callback<std::vector<Record>> done) = 0;

  // Writes the record and its journal line in one step, if the stored epoch is not above
  // `record.epoch - 1` (below is accepted: Redis lost its last writes, ours are newer) and, when
  // `lock.token` is not 0, if that token is still the device's lock. Errc::conflict otherwise.
  virtual void save(const Record& record, LockToken lock, const JournalEntry& entry,
                    Callback<Ok> done) = 0;

  // Removes what is stored of the device, no matter who wrote it. For a worker that knows its own
  // record to be the right one, and writes it next.
  virtual void discard(const std::string& host, const PciAddress& address, Callback<Ok> done) = 0;

  // Progress of the running step: fields of the record outside the epoch, and not authenticated
  // (state/certificate/record_seal.h). Lost ones do no harm.
  virtual void save_progress(const Record& record, Callback<Ok> done) = 0;

  // Takes the device's lock for `ttl_ms`; Errc::busy names the holder when somebody else has it.
  virtual void acquire_lock(const std::string& host, const PciAddress& address,
                            const std::string& holder, std::int64_t ttl_ms,
                            Callback<LockToken> done) = 0;
  // Renews it. Errc::conflict: it is not ours any more.
  virtual void renew_lock(const std::string& host, const PciAddress& address, LockToken lock,
                          std::int64_t ttl_ms, Callback<Ok> done) = 0;
  virtual void release_lock(const std::string& host, const PciAddress& address, LockToken lock,
                            Callback<Ok> done) = 0;

  // Appends to the host's stream of kicks; the notification is acked only after this succeeded. A
  // command, which is for one's own host alone, is sealed, with now as `sent_at`.
  virtual void push_kick(const std::string& host, const Kick& kick, Callback<Ok> done) = 0;
  // Kicks not yet acknowledged, oldest first, at most `count_max`; after a restart the ones read
  // but not acknowledged come again. Every host may write there: one with a command that this
  // host's worker has not sealed comes without it.
  virtual void read_kicks(const std::string& host, std::size_t count_max,
                          Callback<std::vector<Kick>> done) = 0;
  virtual void ack_kicks(const std::string& host, const std::vector<std::string>& ids,
                         Callback<Ok> done) = 0;

  // Appends to the host's stream of orders.
  virtual void push_order(const std::string& host, const Order& order, Callback<Ok> done) = 0;
  // Takes what lies there, oldest first, at most `count_max`: it is gone from the stream then, so
  // that each is carried out once at the most, and one that was withdrawn is not. Until it is
  // answered it counts as taken.
  virtual void take_orders(const std::string& host, std::size_t count_max,
                           Callback<std::vector<Order>> done) = 0;
  // Orders that were taken and not answered, by id and request id: a worker ended meanwhile.
  virtual void orders_left(const std::string& host, Callback<std::vector<Order>> done) = 0;
  // Answers an order, for its issuer to read within the hour: `refusal` is empty where it was
  // taken, else the reason. One whose request id cannot name a key (has_request_id) is only
  // settled.
  virtual void answer_order(const std::string& host, const Order& order, const std::string& refusal,
                            Callback<Ok> done) = 0;

  // Says this host is alive. Errc::conflict: another machine-id claims the same host name.
  virtual void heartbeat(const HostInfo& info, Callback<Ok> done) = 0;
  // Every host that ever said so. One that does not live counts as burned: it may have missed what
  // a kick tells.
  virtual void hosts(Callback<std::vector<HostInfo>> done) = 0;
  // The hosts that go by this name (state/base/host_names.h); none: no host ever announced itself
  // under it. Costs as much in a fleet of any size.
  virtual void hosts_called(const std::string& name, Callback<std::vector<std::string>> done) = 0;
  // Counts the hosts that ever announced themselves.
  virtual void count_hosts(Callback<std::size_t> done) = 0;

  // The ARQs of a host, as far as they were heard of. One that cannot be decoded is left out, with
  // a line in the log: it carries no authority. How many are kept is the caller's business.
  virtual void load_arqs(const std::string& host, Callback<std::vector<Arq>> done) = 0;
  virtual void save_arq(const std::string& host, const Arq& arq, Callback<Ok> done) = 0;
  virtual void remove_arq(const std::string& host, const std::string& uuid, Callback<Ok> done) = 0;

  // The certificate of the last release, beside its file: reclaim:{HOST}:certificate:ADDRESS.
  // `sealed_text` is what the file holds, and what is stored.
  virtual void save_certificate(const Certificate& certificate, const std::string& sealed_text,
                                Callback<Ok> done) = 0;
};

}  // namespace reclaim
