// RedisLink: one connection to Redis, from connect to its end; hiredis' async context on the libuv
// loop through an adapter of our own. The packaged hiredis/adapters/libuv.h drops poll errors, so
// that a refused connection is never reported; ours hands them on as "readable and writable", and
// hiredis finds out by itself what is wrong.
//
// Thread: the loop's. Owns: the context, its descriptor's poll. hiredis' callbacks only note what
// happened; the owner is told once they have all returned, and may then destroy the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/base/result.h"
#include "state/base/uv.h"
#include "state/redis/reply.h"
#include "state/redis/tls.h"

struct redisAsyncContext;

namespace reclaim {

// The place to connect to: an IP address (never a name: resolving would block) and a port, or a
// unix socket.
struct RedisTarget {
  std::string ip;
  std::uint16_t port = 0;
  std::string unix_socket;
};

struct RedisArrival {
  std::uint64_t ticket = 0;
  Result<RedisReply> reply;
};

class RedisLink final {
 public:
  // `tls`: nullptr for none. `on_activity`: something arrived, or connected() or closed() changed.
  // The link may be destroyed in it.
  static Result<std::unique_ptr<RedisLink>> open(uv_loop_t* loop, const RedisTarget& target,
                                                 std::unique_ptr<RedisTlsSession> tls,
                                                 std::size_t reply_bytes_max,
                                                 std::size_t reply_elements_max,
                                                 std::function<void()> on_activity);
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // With TLS the handshake may not be over: what is sent waits for it.
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] bool in_handshake() const;
  // The TLS of a connection whose server has answered.
  [[nodiscard]] RedisTlsFacts tls_facts() const;
  [[nodiscard]] bool closed() const { return context_ == nullptr; }
  [[nodiscard]] const std::string& closed_why() const { return closed_why_; }
  // True if it was closed because the reply that came was over the limits.
  [[nodiscard]] bool reply_over_limit() const;

  // More of a reply that is not whole yet has arrived since this was last asked.
  [[nodiscard]] bool arriving();

  // Writes a command; its reply arrives under `ticket`, in the order of sending. False when the
  // link is closed.
  [[nodiscard]] bool send(const std::vector<std::string>& args, std::uint64_t ticket);
  // Takes the replies that arrived since this was last asked.
  [[nodiscard]] std::deque<RedisArrival> take_arrivals();

 private:
  struct Hooks;  // hiredis' C callbacks
  struct Budget;

  RedisLink(std::unique_ptr<RedisTlsSession> tls, std::function<void()> on_activity);
  void attach(uv_loop_t* loop, std::size_t reply_bytes_max, std::size_t reply_elements_max);
  void on_poll(int status, int events);
  void watch(int events);
  [[nodiscard]] std::string end_of_connection() const;

  std::unique_ptr<RedisTlsSession> tls_;
  std::function<void()> on_activity_;
  redisAsyncContext* context_ = nullptr;
  std::unique_ptr<uv::Poll> poll_;
  std::unique_ptr<Budget> budget_;
  int watched_ = 0;
  std::size_t unread_bytes_ = 0;  // of the reply that is not whole yet, when last asked
  bool connected_ = false;
  bool tls_begun_ = false;
  bool answered_ = false;  // anything
  bool freeing_ = false;
  std::string closed_why_;
  std::deque<std::uint64_t> tickets_;
  std::deque<RedisArrival> arrivals_;
};

}  // namespace reclaim
