// RedisStore's orders: a stream per host that its worker empties, and for each order a key that
// says what became of it.
#include <fmt/core.h>

#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

constexpr const char* kOrdersMax = "1000";
// An order that a worker would not carry out any more need not be kept much longer.
constexpr std::int64_t kStreamLifeMs = 2 * kOrderLifeMs;
constexpr std::string_view kTaken = "taken";
constexpr std::string_view kRefused = "refused: ";

std::string orders_of(const std::string& host) {
  return redis_keys::of_host(host, "orders");
}

std::string taken_of(const std::string& host) {
  return redis_keys::of_host(host, "orders_taken");
}

std::string answer_key(const std::string& host, const std::string& request_id) {
  return redis_keys::of_device(host, "order", request_id);
}

// [[id, [field, value, ...]], ...]
Result<std::vector<Order>> orders_from(const RedisReply& reply) {
  std::vector<Order> orders;
  for (const RedisReply& entry : reply.elements) {
    if (entry.elements.size() != 2) return Error{Errc::failed, "the orders are not of their form"};
    const auto pairs = redis_keys::pairs_of(entry.elements[1]);
    orders.push_back(order_from_fields(entry.elements[0].text, {pairs.begin(), pairs.end()}));
  }
  return orders;
}

Callback<RedisReply> reading_orders(const std::string& host, Callback<std::vector<Order>> done) {
  return reading<RedisReply>(std::move(done), "the orders for host " + host, orders_from);
}

}  // namespace

void RedisStore::push_order(const std::string& host, const Order& order, Callback<Ok> done) {
  if (Status checked = redis_keys::check_host(host); !checked.ok()) {
    return client_->answer(checked.error(), without_value<RedisReply>(std::move(done)));
  }
  std::vector<std::string> words{"XADD", orders_of(host), "MAXLEN", "~", kOrdersMax, "*"};
  for (const auto& [name, value] : order_fields(order)) {
    words.push_back(name);
    words.push_back(value);
  }
  add_to_stream(orders_of(host), std::move(words),
                without_value<Ok>(std::move(done), "the order for host " + host));
  client_->command({"PEXPIRE", orders_of(host), std::to_string(kStreamLifeMs)},
                   [](const Result<RedisReply>&) {});
}

void RedisStore::take_orders(const std::string& host, std::size_t count_max,
                             Callback<std::vector<Order>> done) {
  call(RedisScript::take_orders, {orders_of(host), taken_of(host)},
       {std::to_string(count_max), std::to_string(kStreamLifeMs)},
       reading_orders(host, std::move(done)));
}

void RedisStore::orders_left(const std::string& host, Callback<std::vector<Order>> done) {
  remove_unreadable_keys();
  read(host, {"HGETALL", taken_of(host)},
       [this, host, done = std::move(done)](Result<RedisReply> reply) {
         if (!reply.ok()) {
           if (remove_unreadable(host, taken_of(host), reply.error())) {
             return done(std::vector<Order>{});
           }
           return done(reply.error().wrap("the orders taken by " + host));
         }
         std::vector<Order> orders;
         for (const auto& [id, request_id] : redis_keys::pairs_of(*reply)) {
           Order order;
           order.id = id;
           order.request_id = request_id;
           orders.push_back(std::move(order));
         }
         done(std::move(orders));
       });
}

void RedisStore::list_orders(const std::string& host, Callback<std::vector<Order>> done) {
  read(host, {"XRANGE", orders_of(host), "-", "+", "COUNT", kOrdersMax},
       reading_orders(host, std::move(done)));
}

void RedisStore::withdraw_order(const std::string& host, const std::string& id,
                                Callback<bool> done) {
  client_->command({"XDEL", orders_of(host), id},
                   reading<RedisReply>(std::move(done), "order " + id,
                                       [](const RedisReply& reply) { return reply.integer > 0; }));
}

void RedisStore::answer_order(const std::string& host, const Order& order,
                              const std::string& refusal, Callback<Ok> done) {
  auto settled = without_value<RedisReply>(std::move(done));
  if (!has_request_id(order)) {
    return client_->command({"HDEL", taken_of(host), order.id}, std::move(settled));
  }
  client_->command({"SET", answer_key(host, order.request_id),
                    refusal.empty() ? std::string(kTaken) : std::string(kRefused) + refusal, "PX",
                    std::to_string(kOrderLifeMs)},
                   std::move(settled));
  client_->command({"HDEL", taken_of(host), order.id}, [](const Result<RedisReply>&) {
    // Left there, it is told once more with the next start.
  });
}

void RedisStore::read_order_answer(const std::string& host, const std::string& request_id,
                                   Callback<std::optional<std::string>> done) {
  read(host, {"GET", answer_key(host, request_id)},
       reading<RedisReply>(std::move(done), "", [](const RedisReply& reply) {
         std::optional<std::string> answer;
         if (!reply.is_nil()) answer.emplace();
         if (reply.text.starts_with(kRefused)) answer = reply.text.substr(kRefused.size());
         return answer;
       }));
}

}  // namespace reclaim
