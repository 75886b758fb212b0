// One client's connection, from accept to close: bytes in, requests one after the other to the
// handler, answers out in the same order. The next request is only read on when the one before it
// was answered, so a client that pipelines waits in its own socket.
//
// Thread: the loop's. Owns the socket. Held by the server; whoever answers a request late holds
// only a weak pointer to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "listener/http/loop_budget.h"
#include "listener/http/request_parser.h"
#include "listener/http/server.h"
#include "listener/http/tls.h"
#include "state/base/unique_fd.h"
#include "state/base/uv.h"

namespace reclaim::listener {

class HttpConnection;

// The part that all connections of a server share. It outlives them.
struct HttpShared {
  uv_loop_t* loop;
  HttpServerOptions options;
  std::unique_ptr<HttpTls> tls;
  HttpServer::Handler handler;
  const Clock& clock;
  Logger& log;
  HttpLoopBudget turns;
  HttpServerCounters counters;
  std::size_t answer_bytes = 0;  // made and not yet sent, of all connections
  bool stopping = false;
  std::function<void(HttpConnection&)> on_closed;
};

// The states of one socket (handshake, reading, waiting for an answer, writing, closing), each with
// its libuv callback, its timeout and its end. They share every field, and so are one class.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `client` is for the log; `tls` whether this socket speaks it.
  HttpConnection(HttpShared& shared, UniqueFd fd, std::string client, bool tls);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void start();
  void on_tick();  // closes what took too long
  // The server stops: what is being answered is finished, all else closed.
  void finish();
  void close();

  // Nothing is under way, so that closing it loses nothing.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] std::int64_t active_at_ms() const { return active_at_ms_; }

 private:
  enum class Phase {
    reading,   // the next request
    waiting,   // a whole request is read and waits for its turn
    handling,  // the handler has it
    ending,    // the last answer is being sent
    draining,  // it is sent; what the client still says is thrown away, for a reset could take
               // the answer from it
    closed
  };

  // The request that is being answered.
  struct Current {
    std::uint64_t number = 0;
    std::string method, target;
    int version_minor = 1;
    bool keep_alive = false;
    std::string request_id, global_request_id;
    std::int64_t began_ms = 0;
  };

  void on_event(int status, int events);
  void read();
  void take_in(std::string_view bytes);
  void process();
  void wait_for_turn(void (HttpConnection::*go)());
  void dispatch();
  void on_answer(std::uint64_t number, api::Response response);
  void refuse(int status, std::string_view why);
  void answer(api::Response response);
  void begin_output();
  void put(std::string text);
  void log_access(int status, std::size_t body_bytes, const api::Response& response);
  void go_on();
  void flush();
  [[nodiscard]] bool send_some(std::string_view bytes, std::size_t& sent);
  void next_piece();
  void encrypt_some();
  void drain();
  void update_watch();
  [[nodiscard]] std::string base_url(const std::string& host) const;
  [[nodiscard]] std::int64_t now_ms() const;
  [[nodiscard]] bool has_output() const { return !out_.empty() || !cipher_.empty(); }
  [[nodiscard]] bool handshaking() const;
  void drop_output();

  HttpShared& shared_;
  UniqueFd fd_;
  std::string client_;
  std::unique_ptr<HttpTlsSession> tls_;
  std::optional<uv::Poll> poll_;
  int watched_ = 0;
  Phase phase_ = Phase::reading;
  bool turn_awaited_ = false;
  bool eof_ = false;
  bool in_process_ = false;

  HttpRequestParser parser_;
  std::string in_;  // read and not yet parsed
  Current current_;

  std::deque<std::string> out_;  // answers in plain
  std::size_t out_at_ = 0;       // of the first: what is sent of it
  std::size_t out_bytes_ = 0;
  std::string cipher_;  // TLS: encrypted and not yet sent

  std::int64_t active_at_ms_ = 0;   // the last byte in, or answer out
  std::int64_t head_since_ms_ = 0;  // the request's first byte, or the connection's
  std::int64_t body_since_ms_ = 0;
  std::int64_t written_at_ms_ = 0;   // the last progress of writing
  std::int64_t piece_since_ms_ = 0;  // since when the first of out_ is being sent
  std::int64_t drain_since_ms_ = 0;
};

}  // namespace reclaim::listener
