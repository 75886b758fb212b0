#include "state/redis/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "state/base/check.h"
#include "state/redis/answers.h"
#include "state/redis/cluster_nodes.h"
#include "state/redis/slot_queues.h"
#include "state/redis/slot_search.h"
#include "state/redis/slots.h"

namespace reclaim {
namespace {

constexpr std::uint32_t kDoublingsMax = 16;  // of the pause before the map is looked for again
constexpr std::int64_t kLookPauseMs = 1'000;

std::int64_t now_ms() {
  return static_cast<std::int64_t>(uv_hrtime() / 1'000'000);
}

// One answer that is put together of several.
struct Gathered {
  std::size_t outstanding = 0;
  std::vector<RedisReply> elements;
  std::optional<Error> problem;
  Callback<RedisReply> done;
};

struct Heard {
  std::size_t outstanding = 0;
  std::vector<RedisSaid> said;
  Callback<std::vector<RedisSaid>> done;
};

RedisReply array_of(std::vector<RedisReply> elements) {
  RedisReply reply;
  reply.type = RedisReply::Type::array;
  reply.elements = std::move(elements);
  return reply;
}

// The slots of the keys, each with the places of its keys in `args`.
std::map<std::uint16_t, std::vector<std::size_t>> by_slot(const std::vector<std::string>& args) {
  std::map<std::uint16_t, std::vector<std::size_t>> slots;
  for (std::size_t i = 1; i < args.size(); ++i) slots[slot_of_key(args[i])].push_back(i);
  return slots;
}

}  // namespace

// All of the cluster; on its own so that it survives a callback in which the cluster is destroyed.
class RedisCluster::Core final : public std::enable_shared_from_this<RedisCluster::Core> {
 public:
  Core(uv_loop_t* loop, RedisOptions options, Logger& logger, RedisGreeting greeting)
      : options_(std::move(options)),
        name_(describe(options_)),
        logger_(logger),
        greeting_(std::move(greeting)),
        answers_(loop, [this] { drain(); }),
        nodes_(loop, options_, greeting_.calls,
               [this](const RedisAddress& node) { on_node(node); }),
        queues_(loop, options_, nodes_, answers_,
                {[this](std::uint16_t slot) { return map_.owner_of(slot); },
                 [this](std::uint16_t slot, const RedisAddress& owner) { on_moved(slot, owner); },
                 [this] { look_soon(); }}),
        search_(std::make_unique<SlotSearch>(
            loop, options_, [this](const Result<SlotMap>& found) { on_found(found); })),
        look_timer_(loop),
        random_(uv_hrtime()) {}

  void start();
  void close();
  void command(std::vector<std::string> args, Callback<RedisReply> done, int timeout_ms);
  void ask_each(const std::vector<std::string>& args, Callback<std::vector<RedisSaid>> done);
  void answer(Result<RedisReply> result, Callback<RedisReply> done);

  const RedisState& state() const { return state_; }
  std::function<void(const RedisState&)> on_change;

 private:
  void look();
  void look_soon();
  void look_later();
  void on_found(const Result<SlotMap>& found);
  void on_moved(std::uint16_t slot, const RedisAddress& owner);
  void on_node(const RedisAddress& address);
  [[nodiscard]] std::string what_is_wrong();
  [[nodiscard]] bool all_connected();
  void settle();
  void greet();
  void on_greeted(const Result<RedisReply>& reply, std::uint64_t losses);
  void on_ready();
  void lost(const std::string& why);
  void report(bool connected, const std::string& error);
  [[nodiscard]] RedisTlsFacts tls_facts();
  [[nodiscard]] RedisLua lua();
  void send_anywhere(std::vector<std::string> args, Callback<RedisReply> done, int timeout_ms);
  void send_to(ClusterNodes::Node& node, std::vector<std::string> args, Callback<RedisReply> done,
               int timeout_ms);
  void get_of_many(const std::vector<std::string>& args, Callback<RedisReply> done, int timeout_ms);
  void drain();

  RedisOptions options_;
  std::string name_;
  Logger& logger_;
  RedisGreeting greeting_;
  RedisState state_;
  bool started_ = false;
  bool closed_ = false;
  bool accepted_ = false;  // the greeting, and not refused since: commands are sent
  bool greeted_ = false;   // since all were connected last
  bool greeting_under_way_ = false;
  std::uint64_t losses_ = 0;

  SlotMap map_;
  std::string search_error_;
  std::uint32_t failures_ = 0;
  std::int64_t looked_at_ms_ = 0;
  std::size_t turn_ = 0;  // which of the connected masters is asked first

  RedisAnswers answers_;
  ClusterNodes nodes_;
  SlotQueues queues_;
  std::unique_ptr<SlotSearch> search_;
  uv::Timer look_timer_;
  std::minstd_rand random_;
};

void RedisCluster::Core::start() {
  CHECK(!started_ && !closed_);
  started_ = true;
  look();
}

void RedisCluster::Core::look() {
  looked_at_ms_ = now_ms();
  std::vector<RedisAddress> asked;
  for (const SlotMaster& master : map_.masters()) {
    const ClusterNodes::Node* node = nodes_.find(master.address);
    if (node != nullptr && node->connected()) asked.push_back(master.address);
  }
  // Begins with another one each time: one that is cut off from the others tells what was.
  if (!asked.empty()) {
    std::rotate(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(turn_ % asked.size()),
                asked.end());
    ++turn_;
  }
  for (const RedisAddress& seed : options_.cluster) {
    if (std::find(asked.begin(), asked.end(), seed) == asked.end()) asked.push_back(seed);
  }
  for (const SlotMaster& master : map_.masters()) {
    if (std::find(asked.begin(), asked.end(), master.address) != asked.end()) continue;
    asked.push_back(master.address);
  }
  search_->begin(std::move(asked));
}

// Because a node knows better than the map. What the map lacks, its word (MOVED) makes up for.
void RedisCluster::Core::look_soon() {
  if (closed_ || search_->searching() || look_timer_.active()) return;
  look_timer_.after(looked_at_ms_ + kLookPauseMs - now_ms(), [this] { look(); });
}

// Because something is wrong, until it is not.
void RedisCluster::Core::look_later() {
  if (closed_ || search_->searching() || look_timer_.active()) return;
  const std::uint32_t doublings = std::min(failures_, kDoublingsMax);
  ++failures_;
  const std::int64_t full = std::min<std::int64_t>(
      options_.reconnect_max_ms, static_cast<std::int64_t>(options_.reconnect_min_ms) << doublings);
  const std::int64_t delay =
      full / 2 + std::uniform_int_distribution<std::int64_t>(0, full - full / 2)(random_);
  look_timer_.after(delay, [this] { look(); });
}

void RedisCluster::Core::on_found(const Result<SlotMap>& found) {
  const auto self = shared_from_this();
  search_error_ = found.ok() ? "" : found.error().what;
  if (found.ok()) {
    map_ = *found;
    for (const SlotMaster& master : map_.masters()) {
      if (nodes_.at(master.address) == nullptr) search_error_ = "the cluster has too many nodes";
    }
    nodes_.keep(map_);
  }
  queues_.look_again();
  settle();
}

void RedisCluster::Core::on_moved(std::uint16_t slot, const RedisAddress& owner) {
  if (map_.give(slot, slot, SlotMaster{owner, 0})) look_soon();
}

void RedisCluster::Core::on_node(const RedisAddress& address) {
  const auto self = shared_from_this();
  queues_.look_again();
  const ClusterNodes::Node* node = nodes_.find(address);
  if (node != nullptr && node->in_flight > 0 && !node->connected()) {
    // A node that has no slots any more is no exception: who has no answer is told of the loss.
    look_later();
    lost(node->failure());
  }
  settle();
}

// Empty: nothing is, or not known yet.
std::string RedisCluster::Core::what_is_wrong() {
  if (map_.masters().empty()) return search_error_;
  if (const std::size_t uncovered = map_.uncovered(); uncovered > 0) {
    return fmt::format(
        "{} of {} slots have no master: see `redis-cli --cluster check`, and `--cluster fix`",
        uncovered, kSlotCount);
  }
  for (const SlotMaster& master : map_.masters()) {
    const ClusterNodes::Node* node = nodes_.find(master.address);
    if (node == nullptr) return search_error_;
    if (std::string failure = node->failure(); !failure.empty()) return failure;
  }
  return "";
}

bool RedisCluster::Core::all_connected() {
  const auto& masters = map_.masters();
  return !masters.empty() &&
         std::all_of(masters.begin(), masters.end(), [this](const SlotMaster& master) {
           const ClusterNodes::Node* node = nodes_.find(master.address);
           return node != nullptr && node->connected();
         });
}

void RedisCluster::Core::settle() {
  if (closed_) return;
  if (const std::string wrong = what_is_wrong(); !wrong.empty()) {
    look_later();
    return lost(wrong);
  }
  if (state_.connected || !all_connected()) return;
  if (!greeted_) return greet();
  on_ready();
}

void RedisCluster::Core::greet() {
  if (std::exchange(greeting_under_way_, true)) return;
  Callback<RedisReply> done = [this, losses = losses_](const Result<RedisReply>& reply) {
    on_greeted(reply, losses);
  };
  const auto key = first_key_of(greeting_.command);
  if (!key) return send_anywhere(greeting_.command, std::move(done), 0);
  queues_.add(slot_of_key(greeting_.command[*key]), greeting_.command, std::move(done), 0);
}

void RedisCluster::Core::on_greeted(const Result<RedisReply>& reply, std::uint64_t losses) {
  greeting_under_way_ = false;
  if (closed_) return;
  if (losses != losses_) return settle();  // a connection ended since: it is greeted again
  Status judged = Ok{};
  if (!reply.ok()) {
    judged = reply.error();
  } else if (greeting_.judge) {
    judged = greeting_.judge(*reply);
  }
  if (judged.ok()) {
    accepted_ = greeted_ = true;
    return settle();
  }
  if (reply.ok()) accepted_ = false;
  look_later();
  lost(judged.error().what);
}

void RedisCluster::Core::on_ready() {
  failures_ = 0;
  ++state_.connects;
  state_.tls = tls_facts();
  logger_.info(log_name::kRedis,
               fmt::format("connected to Redis at {}: {} masters{}{}", name_, map_.masters().size(),
                           state_.tls.version.empty() ? "" : " by ", state_.tls.version));
  if (const std::string why = why_no_functions(lua()); !why.empty() && lua() != state_.lua) {
    logger_.warning(log_name::kRedis, fmt::format("{}: {}", name_, why));
  }
  report(true, state_.last_error);
}

void RedisCluster::Core::lost(const std::string& why) {
  greeted_ = false;
  ++losses_;
  const std::string text =
      fmt::format("{} Redis at {}: {}", state_.connected ? "lost" : "cannot use", name_, why);
  const bool new_text = state_.connected || text != state_.last_error;
  if (!new_text) return;
  logger_.warning(log_name::kRedis, text);
  report(false, text);
}

void RedisCluster::Core::report(bool connected, const std::string& error) {
  state_.connected = connected;
  state_.last_error = error;
  state_.lua = lua();
  const auto notify = on_change;
  if (notify) notify(state_);
}

RedisTlsFacts RedisCluster::Core::tls_facts() {
  RedisTlsFacts first;
  for (const SlotMaster& master : map_.masters()) {
    const ClusterNodes::Node* node = nodes_.find(master.address);
    if (node == nullptr) continue;
    const RedisTlsFacts& tls = node->client->state().tls;
    if (first.version.empty() || tls.ends_at.ms < first.ends_at.ms) first = tls;
  }
  return first;
}

RedisLua RedisCluster::Core::lua() {
  for (const SlotMaster& master : map_.masters()) {
    const ClusterNodes::Node* node = nodes_.find(master.address);
    const RedisLua one = node == nullptr ? RedisLua::functions : node->client->state().lua;
    if (one != RedisLua::functions) return one;
  }
  return RedisLua::functions;
}

void RedisCluster::Core::command(std::vector<std::string> args, Callback<RedisReply> done,
                                 int timeout_ms) {
  CHECK(!args.empty() && done);
  if (closed_) {
    return answer(Error{Errc::cancelled, "the connection to Redis was given up"}, std::move(done));
  }
  if (!accepted_) {
    const std::string why = state_.last_error.empty()
                                ? fmt::format("not yet connected to Redis at {}", name_)
                                : state_.last_error;
    return answer(Error{Errc::unavailable, why}, std::move(done));
  }
  if (queues_.size() >= options_.commands_in_flight_max) {
    return answer(Error{Errc::limit, fmt::format("{} commands wait for Redis at {} already",
                                                 queues_.size(), name_)},
                  std::move(done));
  }
  if (Status length = check_length(args, options_); !length.ok()) {
    return answer(std::move(length).error(), std::move(done));
  }
  const auto key = first_key_of(args);
  if (!key) return send_anywhere(std::move(args), std::move(done), timeout_ms);
  if (args.front() == "MGET") return get_of_many(args, std::move(done), timeout_ms);
  const std::uint16_t slot = slot_of_key(args[*key]);
  queues_.add(slot, std::move(args), std::move(done), timeout_ms);
}

// A MGET for each slot: each key is read by itself in any case.
void RedisCluster::Core::get_of_many(const std::vector<std::string>& args,
                                     Callback<RedisReply> done, int timeout_ms) {
  const auto slots = by_slot(args);
  const auto gathered = std::make_shared<Gathered>();
  gathered->outstanding = slots.size();
  gathered->elements.resize(args.size() - 1);
  gathered->done = std::move(done);
  for (const auto& [slot, places] : slots) {
    std::vector<std::string> words{args.front()};
    for (const std::size_t place : places) words.push_back(args[place]);
    queues_.add(
        slot, std::move(words),
        [gathered, places = places](Result<RedisReply> reply) {
          if (reply.ok() && reply->elements.size() != places.size()) {
            reply = Error{Errc::failed, "the answer to MGET is not of its form"};
          }
          if (!reply.ok()) {
            gathered->problem = std::move(reply).error();
          } else {
            for (std::size_t i = 0; i < places.size(); ++i) {
              gathered->elements[places[i] - 1] = std::move(reply->elements[i]);
            }
          }
          if (--gathered->outstanding > 0) return;
          if (gathered->problem) return gathered->done(*std::move(gathered->problem));
          gathered->done(array_of(std::move(gathered->elements)));
        },
        timeout_ms);
  }
}

void RedisCluster::Core::send_anywhere(std::vector<std::string> args, Callback<RedisReply> done,
                                       int timeout_ms) {
  for (const SlotMaster& master : map_.masters()) {
    ClusterNodes::Node* node = nodes_.find(master.address);
    if (node == nullptr || !node->connected()) continue;
    return send_to(*node, std::move(args), std::move(done), timeout_ms);
  }
  answer(Error{Errc::unavailable, state_.last_error}, std::move(done));
}

void RedisCluster::Core::send_to(ClusterNodes::Node& node, std::vector<std::string> args,
                                 Callback<RedisReply> done, int timeout_ms) {
  ++node.in_flight;
  node.client->command(
      std::move(args),
      [this, address = node.address, done = std::move(done)](Result<RedisReply> reply) mutable {
        if (ClusterNodes::Node* from = nodes_.find(address); from != nullptr) --from->in_flight;
        answer(std::move(reply), std::move(done));
      },
      timeout_ms);
}

void RedisCluster::Core::ask_each(const std::vector<std::string>& args,
                                  Callback<std::vector<RedisSaid>> done) {
  const auto heard = std::make_shared<Heard>();
  heard->done = std::move(done);
  if (map_.masters().empty() || closed_) {
    const std::string why = closed_ ? "the connection to Redis was given up" : state_.last_error;
    return answer(Error{closed_ ? Errc::cancelled : Errc::unavailable, why},
                  [heard](const Result<RedisReply>& none) { heard->done(none.error()); });
  }
  heard->outstanding = map_.masters().size();
  for (const SlotMaster& master : map_.masters()) {
    Callback<RedisReply> one = [heard,
                                server = describe(master.address)](Result<RedisReply> reply) {
      heard->said.push_back({server, std::move(reply)});
      if (--heard->outstanding == 0) heard->done(std::move(heard->said));
    };
    ClusterNodes::Node* node = nodes_.find(master.address);
    if (node != nullptr && node->connected()) {
      send_to(*node, args, std::move(one), 0);
    } else {
      answer(Error{Errc::unavailable, node == nullptr ? search_error_ : node->failure()},
             std::move(one));
    }
  }
}

void RedisCluster::Core::answer(Result<RedisReply> result, Callback<RedisReply> done) {
  answers_.add(std::move(done), std::move(result));
  answers_.soon();
}

void RedisCluster::Core::drain() {
  const auto self = shared_from_this();
  answers_.drain();
}

void RedisCluster::Core::close() {
  const auto self = shared_from_this();
  if (!closed_) {
    closed_ = true;
    on_change = nullptr;
    state_.connected = false;
    search_.reset();
    look_timer_.stop();
    queues_.close();
    nodes_.close();
  }
  answers_.drain_all();
}

RedisCluster::RedisCluster(std::shared_ptr<Core> core) : core_(std::move(core)) {}

RedisCluster::~RedisCluster() {
  core_->close();
}

Result<std::unique_ptr<RedisCluster>> RedisCluster::create(uv_loop_t* loop, RedisOptions options,
                                                           Logger& logger, RedisGreeting greeting) {
  if (Status checked = check_options(options); !checked.ok()) return std::move(checked).error();
  CHECK(!options.cluster.empty());
  return std::unique_ptr<RedisCluster>(new RedisCluster(
      std::make_shared<Core>(loop, std::move(options), logger, std::move(greeting))));
}

void RedisCluster::start() {
  core_->start();
}
void RedisCluster::close() {
  core_->close();
}
const RedisState& RedisCluster::state() const {
  return core_->state();
}

void RedisCluster::on_state(std::function<void(const RedisState&)> on_change) {
  core_->on_change = std::move(on_change);
}

void RedisCluster::command(std::vector<std::string> args, Callback<RedisReply> done,
                           int timeout_ms) {
  core_->command(std::move(args), measured(measure_, std::move(done)), timeout_ms);
}

void RedisCluster::ask_each(const std::vector<std::string>& args,
                            Callback<std::vector<RedisSaid>> done) {
  core_->ask_each(args, std::move(done));
}

void RedisCluster::answer(Result<RedisReply> result, Callback<RedisReply> done) {
  core_->answer(std::move(result), std::move(done));
}

}  // namespace reclaim
