#include "tests/sim/fake_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "state/base/host_names.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kUndoKeptMs = 120'000;
constexpr std::string_view kRival = "rival:1:1";

Error conflict(std::string why) {
  return Error{Errc::conflict, std::move(why)};
}

}  // namespace

// A command that was sent is carried out even if its worker dies meanwhile; its answer then has
// nobody to go to. Commands of one connection keep their order.
template <typename T>
void FakeStore::command(std::function<Result<T>()> run, Callback<T> done) {
  const std::int64_t at = std::max(*line_ + 1, scheduler_.now_ms() + faults_.delay_ms(rng_));
  *line_ = at;
  const std::uint64_t worker = scheduler_.worker();
  scheduler_.outside(at - scheduler_.now_ms(), [this, worker, run = std::move(run),
                                                done = std::move(done)]() mutable {
    Result<T> result = Error{Errc::unavailable, "Redis is away"};
    if (!away_ && !rng_.chance(faults_.store_away)) {
      if (rng_.chance(faults_.store_lost_not)) {
        result = Error{Errc::unknown, "no answer from Redis (not done)"};
      } else if (rng_.chance(faults_.store_lost_done)) {
        (void)run();
        result = Error{Errc::unknown, "no answer from Redis (done)"};
      } else {
        result = run();
      }
    }
    if (worker != scheduler_.worker()) return done.drop();
    auto answer = [done = std::move(done), result = std::move(result)] { done(result); };
    if (faults_.store_reorders) {
      scheduler_.answer(faults_.delay_ms(rng_), std::move(answer));
    } else {
      scheduler_.answer_in_order(answers_, faults_.delay_ms(rng_), std::move(answer));
    }
  });
}

template <typename Key, typename Value>
void FakeStore::remember(std::map<Key, Value>& map, const Key& key) {
  const auto it = map.find(key);
  if (it == map.end()) {
    undo_.push_back({scheduler_.now_ms(), [&map, key] { map.erase(key); }});
  } else {
    undo_.push_back({scheduler_.now_ms(), [&map, key, old = it->second] { map[key] = old; }});
  }
  while (!undo_.empty() && undo_.front().at_ms < scheduler_.now_ms() - kUndoKeptMs) {
    undo_.pop_front();
  }
}

void FakeStore::load(const std::string& host, Callback<std::vector<Record>> done) {
  command<std::vector<Record>>(
      [this, host]() -> Result<std::vector<Record>> {
        std::vector<Record> out;
        for (const auto& [address, record] : records_) {
          if (record->host != host) continue;
          if (damaged_.contains(address)) {
            Record damaged;
            damaged.host = host;
            damaged.address = address;
            damaged.stage = Stage::error;
            damaged.damage = damaged.last_error = "field 'serial' is missing";
            out.push_back(std::move(damaged));
            continue;
          }
          auto& [source, read] = read_[address];
          if (source != record) {
            auto decoded = decode_record(encode_record(*record));
            if (!decoded) return decoded.error();
            source = record;
            read = *std::move(decoded);
          }
          out.push_back(read);
        }
        return out;
      },
      std::move(done));
}

void FakeStore::discard(const std::string& host, const PciAddress& address, Callback<Ok> done) {
  command<Ok>(
      [this, host, address]() -> Result<Ok> {
        const auto it = records_.find(address);
        if (it == records_.end() || it->second->host != host) return Ok{};
        if (!forged_.contains(address)) remember(records_, address);
        records_.erase(it);
        damaged_.erase(address);
        forged_.erase(address);
        return Ok{};
      },
      std::move(done));
}

void FakeStore::save(const Record& record, LockToken lock, const JournalEntry& entry,
                     Callback<Ok> done) {
  command<Ok>(
      [this, copy = std::make_shared<const Record>(record), lock, entry,
       worker = scheduler_.worker()]() -> Result<Ok> {
        const auto it = records_.find(copy->address);
        if (damaged_.contains(copy->address)) return conflict("the stored epoch is none");
        if (it != records_.end() && it->second->epoch >= copy->epoch) {
          return conflict(fmt::format("the stored epoch is {}", it->second->epoch));
        }
        const Lock* held = live_lock(copy->address);
        if (lock.token != 0 && (held == nullptr || held->token != lock.token)) {
          return conflict("the lock is not ours any more");
        }
        remember(records_, copy->address);
        records_[copy->address] = copy;
        // What a dead worker sent may come late and, where Redis has forgotten the newer ones, be
        // taken. It says nothing about the worker now running.
        if (worker != scheduler_.worker()) return Ok{};
        last_saved_[copy->address] = copy;
        if (on_saved) on_saved(*copy, entry);
        return Ok{};
      },
      std::move(done));
}

void FakeStore::save_progress(const Record& record, Callback<Ok> done) {
  command<Ok>(
      [this, address = record.address, epoch = record.epoch, step = record.clean_step,
       percent = record.progress_percent, eta = record.progress_eta_s,
       message = record.progress_message]() -> Result<Ok> {
        const auto it = records_.find(address);
        if (it == records_.end() || it->second->epoch != epoch) return conflict("another epoch");
        auto next = std::make_shared<Record>(*it->second);
        next->clean_step = step;
        next->progress_percent = percent;
        next->progress_eta_s = eta;
        next->progress_message = message;
        it->second = std::move(next);
        return Ok{};
      },
      std::move(done));
}

const FakeStore::Lock* FakeStore::live_lock(const PciAddress& address) const {
  const auto it = locks_.find(address);
  return it == locks_.end() || it->second.expires_ms <= scheduler_.now_ms() ? nullptr : &it->second;
}

void FakeStore::acquire_lock(const std::string& /*host*/, const PciAddress& address,
                             const std::string& holder, std::int64_t ttl_ms,
                             Callback<LockToken> done) {
  const std::uint64_t worker = scheduler_.worker();
  command<LockToken>(
      [this, address, holder, ttl_ms, worker]() -> Result<LockToken> {
        const Lock* held = live_lock(address);
        if (held != nullptr && held->holder != holder) {
          return Error{Errc::busy, fmt::format("{} holds the lock", held->holder)};
        }
        // As in Redis: never behind the wall clock, so that tokens grow though writes were lost.
        last_token_ =
            std::max(last_token_ + 1, static_cast<std::uint64_t>(scheduler_.now().wall.ms));
        remember(locks_, address);
        locks_[address] = Lock{holder, last_token_, scheduler_.now_ms() + ttl_ms};
        if (worker == scheduler_.worker()) granted_[address] = worker;
        return LockToken{last_token_};
      },
      std::move(done));
}

void FakeStore::renew_lock(const std::string& /*host*/, const PciAddress& address, LockToken lock,
                           std::int64_t ttl_ms, Callback<Ok> done) {
  command<Ok>(
      [this, address, lock, ttl_ms]() -> Result<Ok> {
        const Lock* held = live_lock(address);
        if (held == nullptr || held->token != lock.token) return conflict("not ours any more");
        locks_[address].expires_ms = scheduler_.now_ms() + ttl_ms;
        return Ok{};
      },
      std::move(done));
}

void FakeStore::release_lock(const std::string& /*host*/, const PciAddress& address, LockToken lock,
                             Callback<Ok> done) {
  command<Ok>(
      [this, address, lock]() -> Result<Ok> {
        const Lock* held = live_lock(address);
        if (held != nullptr && held->token != lock.token) return conflict("not ours any more");
        remember(locks_, address);
        locks_.erase(address);
        granted_.erase(address);
        return Ok{};
      },
      std::move(done));
}

void FakeStore::push_kick(const std::string& host, const Kick& kick, Callback<Ok> done) {
  command<Ok>(
      [this, host, kick]() -> Result<Ok> {
        Kick stored = kick;
        stored.id = fmt::format("{}-0", next_kick_++);
        if (!stored.command.empty()) stored.sent_at = scheduler_.now().wall;
        streams_[host].kicks.push_back(std::move(stored));
        return Ok{};
      },
      std::move(done));
}

void FakeStore::read_kicks(const std::string& host, std::size_t count_max,
                           Callback<std::vector<Kick>> done) {
  command<std::vector<Kick>>(
      [this, host, count_max]() -> Result<std::vector<Kick>> {
        Stream& stream = streams_[host];
        std::vector<Kick> out;
        for (const Kick& kick : stream.kicks) {
          if (out.size() < count_max && stream.read.insert(kick.id).second) out.push_back(kick);
        }
        return out;
      },
      std::move(done));
}

void FakeStore::ack_kicks(const std::string& host, const std::vector<std::string>& ids,
                          Callback<Ok> done) {
  command<Ok>(
      [this, host, ids]() -> Result<Ok> {
        std::deque<Kick>& kicks = streams_[host].kicks;
        for (const std::string& id : ids) {
          std::erase_if(kicks, [&id](const Kick& kick) { return kick.id == id; });
        }
        return Ok{};
      },
      std::move(done));
}

void FakeStore::push_order(const std::string& host, const Order& order, Callback<Ok> done) {
  command<Ok>(
      [this, host, order]() -> Result<Ok> {
        orders_[host].push_back(order);
        orders_[host].back().id = fmt::format("{}-{}", scheduler_.now().wall.ms, next_kick_++);
        return Ok{};
      },
      std::move(done));
}

void FakeStore::take_orders(const std::string& host, std::size_t count_max,
                            Callback<std::vector<Order>> done) {
  command<std::vector<Order>>(
      [this, host, count_max]() -> Result<std::vector<Order>> {
        std::deque<Order>& orders = orders_[host];
        const auto count = static_cast<std::ptrdiff_t>(std::min(count_max, orders.size()));
        std::vector<Order> out(orders.begin(), orders.begin() + count);
        orders.erase(orders.begin(), orders.begin() + count);
        std::vector<Order>& taken = orders_taken_[host];
        taken.insert(taken.end(), out.begin(), out.end());
        return out;
      },
      std::move(done));
}

void FakeStore::orders_left(const std::string& host, Callback<std::vector<Order>> done) {
  command<std::vector<Order>>(
      [this, host]() -> Result<std::vector<Order>> { return orders_taken_[host]; },
      std::move(done));
}

void FakeStore::answer_order(const std::string& host, const Order& order,
                             const std::string& refusal, Callback<Ok> done) {
  if (!refusal.empty() && on_refused) on_refused(order);
  command<Ok>(
      [this, host, order, refusal]() -> Result<Ok> {
        std::erase_if(orders_taken_[host], [&](const Order& one) { return one.id == order.id; });
        if (has_request_id(order)) order_answers[order.request_id] = refusal;
        return Ok{};
      },
      std::move(done));
}

void FakeStore::heartbeat(const HostInfo& info, Callback<Ok> done) {
  command<Ok>(
      [this, info]() -> Result<Ok> {
        const auto it = hosts_.find(info.host);
        if (it != hosts_.end() && it->second.machine_id != info.machine_id) {
          return conflict("another machine claims this host name");
        }
        hosts_[info.host] = info;
        return Ok{};
      },
      std::move(done));
}

void FakeStore::hosts(Callback<std::vector<HostInfo>> done) {
  command<std::vector<HostInfo>>(
      [this]() -> Result<std::vector<HostInfo>> {
        std::vector<HostInfo> out;
        for (const auto& [name, info] : hosts_) out.push_back(info);
        return out;
      },
      std::move(done));
}

void FakeStore::hosts_called(const std::string& name, Callback<std::vector<std::string>> done) {
  command<std::vector<std::string>>(
      [this, name]() -> Result<std::vector<std::string>> {
        std::vector<std::string> out;
        for (const auto& [host, info] : hosts_) {
          if (HostNames{host, info.nodes}.has(name)) out.push_back(host);
        }
        return out;
      },
      std::move(done));
}

void FakeStore::count_hosts(Callback<std::size_t> done) {
  command<std::size_t>([this]() -> Result<std::size_t> { return hosts_.size(); }, std::move(done));
}

void FakeStore::load_arqs(const std::string& host, Callback<std::vector<Arq>> done) {
  command<std::vector<Arq>>(
      [this, host]() -> Result<std::vector<Arq>> {
        std::vector<Arq> out;
        for (const auto& [key, arq] : arqs_) {
          if (key.first == host) out.push_back(arq);
        }
        return out;
      },
      std::move(done));
}

void FakeStore::save_arq(const std::string& host, const Arq& arq, Callback<Ok> done) {
  command<Ok>(
      [this, host, arq]() -> Result<Ok> {
        const auto key = std::make_pair(host, arq.uuid);
        remember(arqs_, key);
        arqs_[key] = arq;
        return Ok{};
      },
      std::move(done));
}

void FakeStore::remove_arq(const std::string& host, const std::string& uuid, Callback<Ok> done) {
  command<Ok>(
      [this, host, uuid]() -> Result<Ok> {
        const auto key = std::make_pair(host, uuid);
        if (!arqs_.contains(key)) return Ok{};
        remember(arqs_, key);
        arqs_.erase(key);
        return Ok{};
      },
      std::move(done));
}

void FakeStore::save_certificate(const Certificate& certificate, const std::string& /*sealed_text*/,
                                 Callback<Ok> done) {
  command<Ok>(
      [this, certificate]() -> Result<Ok> {
        certificates_[certificate.address] = certificate;
        return Ok{};
      },
      std::move(done));
}

std::size_t FakeStore::lose_last(std::int64_t ms) {
  std::size_t lost = 0;
  while (!undo_.empty() && undo_.back().at_ms > scheduler_.now_ms() - ms) {
    undo_.back().undo();
    undo_.pop_back();
    lost += 1;
  }
  // Nothing is wrong with a record that is not there.
  for (std::set<PciAddress>* marks : {&damaged_, &forged_}) {
    std::erase_if(*marks, [this](const PciAddress& at) { return !records_.contains(at); });
  }
  return lost;
}

void FakeStore::damage(const PciAddress& address) {
  if (records_.contains(address)) damaged_.insert(address);
}

void FakeStore::mend(const PciAddress& address, bool remove) {
  if (forged_.contains(address) && !remove) return;
  forged_.erase(address);
  if (damaged_.erase(address) != 0 && remove) records_.erase(address);
}

void FakeStore::forge(const Record& record) {
  records_[record.address] = std::make_shared<const Record>(record);
  damaged_.insert(record.address);
  forged_.insert(record.address);
}

void FakeStore::put_back(const Record& record) {
  records_[record.address] = std::make_shared<const Record>(record);
  damaged_.erase(record.address);
  forged_.erase(record.address);
}

void FakeStore::lose_everything() {
  damaged_.clear();
  forged_.clear();
  records_.clear();
  arqs_.clear();
  locks_.clear();
  undo_.clear();
  hosts_.clear();
}

void FakeStore::worker_died() {
  line_ = std::make_shared<std::int64_t>(0);  // the next worker's connection is another one
  answers_ = 0;
  granted_.clear();
  last_saved_.clear();
  for (auto& [host, stream] : streams_) stream.read.clear();
}

bool FakeStore::rival_takes(const PciAddress& address, std::int64_t ttl_ms) {
  if (away_ || live_lock(address) != nullptr) return false;
  last_token_ = std::max(last_token_ + 1, static_cast<std::uint64_t>(scheduler_.now().wall.ms));
  locks_[address] = Lock{std::string(kRival), last_token_, scheduler_.now_ms() + ttl_ms};
  return true;
}

void FakeStore::rival_gives_back(const PciAddress& address) {
  const auto it = locks_.find(address);
  if (it != locks_.end() && it->second.holder == kRival) locks_.erase(it);
}

const Record* FakeStore::stored(const PciAddress& address) const {
  const auto it = records_.find(address);
  return it == records_.end() ? nullptr : it->second.get();
}

const Record* FakeStore::last_saved(const PciAddress& address) const {
  const auto it = last_saved_.find(address);
  return it == last_saved_.end() ? nullptr : it->second.get();
}

bool FakeStore::granted(const PciAddress& address) const {
  const auto it = granted_.find(address);
  return it != granted_.end() && it->second == scheduler_.worker();
}

bool FakeStore::locked(const PciAddress& address) const {
  return live_lock(address) != nullptr;
}

}  // namespace reclaim::sim
