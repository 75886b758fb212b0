#include "state/redis/link.h"

#include <fmt/core.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <utility>

namespace reclaim {

// hiredis 0.14 bounds no reply, and ends the process (assert) at one that nothing was asked for.
// These stand before its own object functions and fail an object that goes over, or that begins
// such a reply; the reader then gives up the connection.
struct RedisLink::Budget {
  const RedisLink* link = nullptr;
  redisReplyObjectFunctions real{};
  redisReplyObjectFunctions bounded{};
  std::size_t bytes_max = 0;
  std::size_t elements_max = 0;
  std::size_t bytes = 0;
  std::size_t elements = 0;
  bool exceeded = false;
  bool unasked = false;

  static Budget& of(const redisReadTask* task) { return *static_cast<Budget*>(task->privdata); }

  bool spend(const redisReadTask* task, std::size_t more_bytes, std::size_t more_elements) {
    if (task->parent == nullptr) {
      bytes = elements = 0;
      // An error is hiredis' own to tell: of a server that has too many connections.
      unasked = unasked || (link->tickets_.empty() && task->type != REDIS_REPLY_ERROR);
    }
    bytes += more_bytes;
    elements += more_elements;
    exceeded = exceeded || bytes > bytes_max || elements > elements_max;
    return !exceeded && !unasked;
  }
};

struct RedisLink::Hooks {
  static RedisLink& of(void* link) { return *static_cast<RedisLink*>(link); }

  static void add_read(void* link) { of(link).watch(of(link).watched_ | UV_READABLE); }
  static void del_read(void* link) { of(link).watch(of(link).watched_ & ~UV_READABLE); }
  static void add_write(void* link) { of(link).watch(of(link).watched_ | UV_WRITABLE); }
  static void del_write(void* link) { of(link).watch(of(link).watched_ & ~UV_WRITABLE); }

  // The context is being freed, by us or by hiredis after an error: the descriptor is closed next.
  static void cleanup(void* data) {
    RedisLink& link = of(data);
    link.closed_why_ = link.end_of_connection();
    link.poll_.reset();
    link.context_ = nullptr;
  }

  static void on_connect(const redisAsyncContext* context, int status) {
    if (status != REDIS_OK) return;
    RedisLink& link = of(context->data);
    link.tls_begun_ = link.tls_ != nullptr;
    if (link.tls_begun_ && !link.tls_->begin(link.context_->c)) {
      redisAsyncFree(link.context_);  // once this callback has returned
      return;
    }
    link.connected_ = true;
  }

  static void on_reply(redisAsyncContext* context, void* reply, void* /*privdata*/) {
    RedisLink& link = of(context->data);
    // Without a reply the connection ended first; the owner knows what it has not had answers to.
    if (link.freeing_ || reply == nullptr || link.tickets_.empty()) return;
    link.answered_ = true;
    const std::uint64_t ticket = link.tickets_.front();
    link.tickets_.pop_front();
    link.arrivals_.push_back(
        RedisArrival{ticket, reply_from_hiredis(*static_cast<const redisReply*>(reply))});
  }

  static void* create_string(const redisReadTask* task, char* text, std::size_t length) {
    Budget& budget = Budget::of(task);
    return budget.spend(task, length, 0) ? budget.real.createString(task, text, length) : nullptr;
  }
  // hiredis 0.14 counts in int, 1.0 and later in size_t.
  template <typename Count>
  static void* create_array(const redisReadTask* task, Count elements) {
    Budget& budget = Budget::of(task);
    const auto more = std::cmp_less(elements, 0) ? 0 : static_cast<std::size_t>(elements);
    return budget.spend(task, 0, more) ? budget.real.createArray(task, elements) : nullptr;
  }
  static void* create_integer(const redisReadTask* task, long long value) {
    Budget& budget = Budget::of(task);
    return budget.spend(task, 0, 0) ? budget.real.createInteger(task, value) : nullptr;
  }
  static void* create_nil(const redisReadTask* task) {
    Budget& budget = Budget::of(task);
    return budget.spend(task, 0, 0) ? budget.real.createNil(task) : nullptr;
  }
#if HIREDIS_MAJOR >= 1
  static void* create_double(const redisReadTask* task, double value, char* text,
                             std::size_t length) {
    Budget& budget = Budget::of(task);
    return budget.spend(task, length, 0) ? budget.real.createDouble(task, value, text, length)
                                         : nullptr;
  }
  static void* create_bool(const redisReadTask* task, int value) {
    Budget& budget = Budget::of(task);
    return budget.spend(task, 0, 0) ? budget.real.createBool(task, value) : nullptr;
  }
#endif
};

RedisLink::RedisLink(std::unique_ptr<RedisTlsSession> tls, std::function<void()> on_activity)
    : tls_(std::move(tls)), on_activity_(std::move(on_activity)) {}

Result<std::unique_ptr<RedisLink>> RedisLink::open(uv_loop_t* loop, const RedisTarget& target,
                                                   std::unique_ptr<RedisTlsSession> tls,
                                                   std::size_t reply_bytes_max,
                                                   std::size_t reply_elements_max,
                                                   std::function<void()> on_activity) {
  std::unique_ptr<RedisLink> link(new RedisLink(std::move(tls), std::move(on_activity)));
  redisAsyncContext* context = target.unix_socket.empty()
                                   ? redisAsyncConnect(target.ip.c_str(), target.port)
                                   : redisAsyncConnectUnix(target.unix_socket.c_str());
  if (context == nullptr) return Error{Errc::unavailable, "out of memory"};
  if (context->err != 0) {
    const Error error{Errc::unavailable, context->c.errstr};
    redisAsyncFree(context);
    return error;
  }
  link->context_ = context;
  link->attach(loop, reply_bytes_max, reply_elements_max);
  return link;
}

void RedisLink::attach(uv_loop_t* loop, std::size_t reply_bytes_max,
                       std::size_t reply_elements_max) {
  budget_ = std::make_unique<Budget>();
  budget_->real = *context_->c.reader->fn;
  budget_->link = this;
  budget_->bounded = budget_->real;
  budget_->bounded.createString = Hooks::create_string;
  budget_->bounded.createArray = Hooks::create_array;
  budget_->bounded.createInteger = Hooks::create_integer;
  budget_->bounded.createNil = Hooks::create_nil;
#if HIREDIS_MAJOR >= 1
  budget_->bounded.createDouble = Hooks::create_double;
  budget_->bounded.createBool = Hooks::create_bool;
#endif
  budget_->bytes_max = reply_bytes_max;
  budget_->elements_max = reply_elements_max;
  context_->c.reader->fn = &budget_->bounded;
  context_->c.reader->privdata = budget_.get();

  poll_ = std::make_unique<uv::Poll>(loop, context_->c.fd,
                                     [this](int status, int events) { on_poll(status, events); });
  context_->data = this;
  context_->ev.data = this;
  context_->ev.addRead = Hooks::add_read;
  context_->ev.delRead = Hooks::del_read;
  context_->ev.addWrite = Hooks::add_write;
  context_->ev.delWrite = Hooks::del_write;
  context_->ev.cleanup = Hooks::cleanup;
  // Registering asks for writability, which is how a connect in progress reports its end.
  redisAsyncSetConnectCallback(context_, Hooks::on_connect);
}

RedisLink::~RedisLink() {
  freeing_ = true;
  if (context_ != nullptr) redisAsyncFree(context_);
}

bool RedisLink::in_handshake() const {
  return !closed() && connected_ && tls_ != nullptr && tls_->in_handshake();
}

RedisTlsFacts RedisLink::tls_facts() const {
  return closed() || tls_ == nullptr ? RedisTlsFacts{} : tls_->facts();
}

std::string RedisLink::end_of_connection() const {
  if (budget_->exceeded) {
    return fmt::format("a reply is over the limit of {} bytes or {} elements", budget_->bytes_max,
                       budget_->elements_max);
  }
  if (budget_->unasked) {
    return "a reply came that nothing was asked for: what answers there is no Redis, or somebody "
           "is between (docs/redis-servers.md, TLS)";
  }
  const redisContext& c = context_->c;
  if (c.err == 0) return "the connection was closed";
  const std::string said = c.errstr;
  const bool of_transport = c.err == REDIS_ERR_IO || c.err == REDIS_ERR_EOF;
  if (tls_begun_) return of_transport ? tls_->why(said, answered_) : said;
  // A server that speaks TLS alone says nothing that could be read.
  const bool no_word = tls_ == nullptr && connected_ && !answered_;
  if (!no_word || c.connection_type != REDIS_CONN_TCP) return said;
  return said + "; if this port speaks TLS, write rediss:// in [redis] url";
}

bool RedisLink::reply_over_limit() const {
  return budget_ != nullptr && budget_->exceeded;
}

bool RedisLink::arriving() {
  if (closed()) return false;
  const std::size_t before = std::exchange(unread_bytes_, context_->c.reader->len);
  return unread_bytes_ > before;
}

bool RedisLink::send(const std::vector<std::string>& args, std::uint64_t ticket) {
  if (closed()) return false;
  std::vector<const char*> words;
  std::vector<std::size_t> lengths;
  words.reserve(args.size());
  lengths.reserve(args.size());
  for (const std::string& arg : args) {
    words.push_back(arg.data());
    lengths.push_back(arg.size());
  }
  if (redisAsyncCommandArgv(context_, Hooks::on_reply, nullptr, static_cast<int>(args.size()),
                            words.data(), lengths.data()) != REDIS_OK) {
    return false;
  }
  tickets_.push_back(ticket);
  return true;
}

std::deque<RedisArrival> RedisLink::take_arrivals() {
  std::deque<RedisArrival> taken;
  taken.swap(arrivals_);
  return taken;
}

void RedisLink::on_poll(int status, int events) {
  const int seen = status < 0 ? UV_READABLE | UV_WRITABLE : events;
  if (tls_ != nullptr) tls_->before_io();
  if ((seen & UV_READABLE) != 0 && !closed()) redisAsyncHandleRead(context_);
  if ((seen & UV_WRITABLE) != 0 && !closed()) redisAsyncHandleWrite(context_);
  if (!closed() && context_->c.reader->len > budget_->bytes_max) {
    // One string longer than all that may come: do not wait for its end.
    budget_->exceeded = true;
    redisAsyncFree(context_);
  }
  const auto on_activity = on_activity_;
  on_activity();
}

void RedisLink::watch(int events) {
  if (poll_ == nullptr || events == watched_) return;
  watched_ = events;
  poll_->watch(events);
}

}  // namespace reclaim
