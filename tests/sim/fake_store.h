// Redis as the simulation has it: compare-and-set on the epoch, fencing tokens, locks that expire.
// It can be away, lose an answer (the command carried out or not), and lose its last writes, as a
// failover or a restart without fsync does. tests/integration/store_contract.h holds it against the
// real one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "state/device/store.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

class FakeStore final : public Store {
 public:
  FakeStore(Scheduler& scheduler, Rng& rng, const Faults& faults)
      : scheduler_(scheduler), rng_(rng), faults_(faults) {}

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

  // The world's side.
  void set_away(bool away) { away_ = away; }
  [[nodiscard]] bool away() const { return away_; }
  // Everything written in the last `ms` is gone; returns how many writes.
  std::size_t lose_last(std::int64_t ms);
  void lose_everything();
  void worker_died();
  // Somebody's hand: the record cannot be believed until it is mended or removed.
  void damage(const PciAddress& address);
  void mend(const PciAddress& address, bool remove);
  // Somebody who has Redis but not the host's key writes a record of his own: it is read as one
  // that cannot be believed.
  void forge(const Record& record);
  // The same, but what he writes is a record that this host's worker wrote once.
  void put_back(const Record& record);
  // Another worker, of the same name by mistake: takes the lock if it is free.
  bool rival_takes(const PciAddress& address, std::int64_t ttl_ms);
  void rival_gives_back(const PciAddress& address);

  [[nodiscard]] const std::map<std::pair<std::string, std::string>, Arq>& arqs() const {
    return arqs_;
  }
  [[nodiscard]] const Record* stored(const PciAddress& address) const;
  // The last record this worker's store took, whatever was lost of it later.
  [[nodiscard]] const Record* last_saved(const PciAddress& address) const;
  // The lock was granted to the worker now running, and it has not given it back.
  [[nodiscard]] bool granted(const PciAddress& address) const;
  [[nodiscard]] bool locked(const PciAddress& address) const;
  // What became of each order, by its request id: empty, or why it was refused.
  std::map<std::string, std::string> order_answers;
  // Called whenever a record was written, with its journal line.
  std::function<void(const Record&, const JournalEntry&)> on_saved;
  std::function<void(const Order&)> on_refused;

 private:
  std::set<PciAddress> damaged_;
  std::set<PciAddress> forged_;  // of these: there is nothing to mend, only to remove

  struct Lock {
    std::string holder;
    std::uint64_t token = 0;
    std::int64_t expires_ms = 0;
  };
  struct Undo {
    std::int64_t at_ms = 0;
    std::function<void()> undo;
  };
  struct Stream {
    std::deque<Kick> kicks;
    std::set<std::string> read;  // by the worker now running, not acknowledged
  };

  template <typename T>
  void command(std::function<Result<T>()> run, Callback<T> done);
  template <typename Key, typename Value>
  void remember(std::map<Key, Value>& map, const Key& key);
  const Lock* live_lock(const PciAddress& address) const;

  Scheduler& scheduler_;
  Rng& rng_;
  const Faults& faults_;
  bool away_ = false;
  std::shared_ptr<std::int64_t> line_ = std::make_shared<std::int64_t>(0);
  std::int64_t answers_ = 0;

  std::map<PciAddress, std::shared_ptr<const Record>> records_;
  // Each as it was last read, and of what: the text of one is made and parsed once.
  std::map<PciAddress, std::pair<std::shared_ptr<const Record>, Record>> read_;
  std::map<PciAddress, std::shared_ptr<const Record>> last_saved_;
  std::map<PciAddress, Lock> locks_;
  std::map<PciAddress, std::uint64_t> granted_;  // worker
  std::uint64_t last_token_ = 0;
  std::map<std::string, Stream> streams_;
  std::map<std::string, std::deque<Order>> orders_;
  std::map<std::string, std::vector<Order>> orders_taken_;
  std::map<std::string, HostInfo> hosts_;
  std::map<std::pair<std::string, std::string>, Arq> arqs_;  // by host and UUID
  std::map<std::string, Certificate> certificates_;
  std::uint64_t next_kick_ = 1;
  std::deque<Undo> undo_;
};

}  // namespace reclaim::sim
