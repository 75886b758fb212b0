#include "listener/http/server.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "listener/http/answer.h"
#include "listener/http/connection.h"
#include "listener/http/listener.h"
#include "state/base/check.h"

namespace reclaim::listener {
namespace {

constexpr int kAcceptsPerRound = 16;
constexpr std::int64_t kTickMsMin = 10;
constexpr std::int64_t kTickMsMax = 250;

// Often enough that no limit is missed by more than a quarter.
std::uint64_t tick_ms(const HttpServerOptions& options) {
  const std::int64_t least =
      std::min({options.head_timeout_ms, options.idle_timeout_ms, options.write_timeout_ms,
                options.send_timeout_ms, options.answer_timeout_ms});
  return static_cast<std::uint64_t>(std::clamp(least / 4, kTickMsMin, kTickMsMax));
}

}  // namespace

class HttpServer::Impl final : public HttpServer {
 public:
  Impl(uv_loop_t* loop, const HttpServerOptions& options, Handler handler, const Clock& clock,
       Logger& log)
      : shared_{loop,
                options,
                nullptr,
                std::move(handler),
                clock,
                log,
                HttpLoopBudget(loop),
                {},
                0,
                false,
                [this](HttpConnection& gone) { on_connection_closed(gone); }},
        ticker_(loop),
        stop_timer_(loop) {}

  ~Impl() override {
    on_stopped_.drop();
    close_all();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Status open() {
    const HttpServerOptions& options = shared_.options;
    if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
      return Error{Errc::invalid, "TLS needs both a certificate's file and a key's"};
    }
    if (!options.tls_cert_file.empty()) {
      if (Status read = read_tls(); !read.ok()) return read;
    }
    for (const std::string& address : options.bind) {
      auto listener = HttpListener::tcp(address);
      if (!listener.ok()) return listener.error();
      doors_.emplace_back(std::move(listener).value());
    }
    if (!options.unix_socket.empty()) {
      auto listener = HttpListener::unix_socket(options.unix_socket, options.unix_socket_mode,
                                                options.unix_socket_group);
      if (!listener.ok()) return listener.error();
      doors_.emplace_back(std::move(listener).value());
    }
    for (Door& door : doors_) {
      door.poll.emplace(shared_.loop, door.listener.fd(),
                        [this, &door](int /*status*/, int /*events*/) { on_acceptable(door); });
      door.poll->watch(UV_READABLE);
    }
    return Ok{};
  }

  [[nodiscard]] Status read_tls() {
    const HttpServerOptions& options = shared_.options;
    auto tls = HttpTls::create(options.tls_cert_file, options.tls_key_file);
    if (!tls.ok()) return tls.error();
    // Sessions hold on to the context they were made with.
    shared_.tls = std::move(tls).value();
    if (shared_.tls->expired()) {
      shared_.log.warning(log_name::kHttp,
                          fmt::format("TLS certificate {} has expired: clients that "
                                      "check it will refuse it",
                                      options.tls_cert_file));
    }
    return Ok{};
  }

  [[nodiscard]] Status reload_tls() override {
    if (shared_.tls == nullptr) return Error{Errc::invalid, "this server speaks no TLS"};
    return read_tls();
  }

  [[nodiscard]] std::vector<std::string> addresses() const override {
    std::vector<std::string> out;
    for (const Door& door : doors_) {
      const char* scheme = door.listener.is_unix() ? "unix:"
                           : tls_at(door)          ? "https://"
                                                   : "http://";
      out.push_back(scheme + door.listener.name());
    }
    return out;
  }
  [[nodiscard]] HttpServerCounters counters() const override { return shared_.counters; }
  [[nodiscard]] std::size_t connections() const override { return connections_.size(); }

  void stop(Once<> closed) override {
    CHECK(!shared_.stopping);
    shared_.stopping = true;
    on_stopped_ = std::move(closed);
    doors_.clear();
    for (const auto& connection : all()) connection->finish();
    stop_timer_.after(connections_.empty() ? 0 : kStopMs, [this] { on_stop_time(); });
  }

 private:
  struct Door {
    explicit Door(HttpListener opened) : listener(std::move(opened)) {}
    HttpListener listener;
    std::optional<uv::Poll> poll;  // goes before the socket
  };
  using Connections = std::vector<std::shared_ptr<HttpConnection>>;

  // A unix socket is as private as its file: there TLS would guard nothing.
  [[nodiscard]] bool tls_at(const Door& door) const {
    return shared_.tls != nullptr && !door.listener.is_unix();
  }

  // A copy, for each of them may go while all are told something.
  [[nodiscard]] Connections all() const {
    Connections out;
    out.reserve(connections_.size());
    for (const auto& [key, connection] : connections_) out.push_back(connection);
    return out;
  }

  void close_all() {
    for (const auto& connection : all()) connection->close();
  }

  void on_acceptable(Door& door) {
    const HttpLoopBudget::Work work(shared_.turns);
    for (int i = 0; i < kAcceptsPerRound; ++i) {
      sockaddr_storage peer{};
      socklen_t length = sizeof(peer);
      UniqueFd fd(accept4(door.listener.fd(), reinterpret_cast<sockaddr*>(&peer), &length,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd.valid()) {
        if (errno == EAGAIN || errno == EINTR) return;
        if (errno == ECONNABORTED) continue;
        return rest(errno);
      }
      admit(door, std::move(fd), door.listener.is_unix() ? "unix" : to_host(peer));
    }
  }

  // Out of descriptors or memory: trying again at once would take all of the loop's time.
  void rest(int code) {
    shared_.log.warning(log_name::kHttp, fmt::format("cannot accept a connection: {}",
                                                     std::generic_category().message(code)));
    static_cast<void>(close_longest_idle());
    resting_ = true;
    for (Door& door : doors_) door.poll->watch(0);
    start_ticking();
  }

  void admit(const Door& door, UniqueFd fd, std::string client) {
    if (connections_.size() >= shared_.options.connections_max) {
      ++shared_.counters.turned_away;
      if (!close_longest_idle()) return turn_away(std::move(fd), tls_at(door));
    }
    ++shared_.counters.connections;
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    auto connection =
        std::make_shared<HttpConnection>(shared_, std::move(fd), std::move(client), tls_at(door));
    connections_.emplace(connection.get(), connection);
    connection->start();
    start_ticking();
  }

  bool close_longest_idle() {
    HttpConnection* found = nullptr;
    for (const auto& [key, connection] : connections_) {
      if (!connection->is_idle()) continue;
      if (found == nullptr || connection->active_at_ms() < found->active_at_ms()) {
        found = connection.get();
      }
    }
    if (found == nullptr) return false;
    found->close();
    return true;
  }

  // Sends as much of an answer as fits into the socket without waiting; under TLS there is none.
  void turn_away(UniqueFd fd, bool tls) {
    if (tls) return;
    api::Response response = http_error(503, "too many connections");
    response.headers.push_back({"Retry-After", "1"});
    HttpFrame frame;
    frame.date = shared_.clock.now().wall;
    const std::string text = http_head(response, frame) + response.body;
    static_cast<void>(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL));
    // The client's bytes that nobody read would turn the answer into a reset.
    shutdown(fd.get(), SHUT_WR);
    std::array<char, 4'096> unread{};
    static_cast<void>(recv(fd.get(), unread.data(), unread.size(), 0));
  }

  void start_ticking() {
    if (ticker_.active()) return;
    const std::uint64_t tick = tick_ms(shared_.options);
    ticker_.start(tick, tick, [this] { on_tick(); });
  }

  void on_tick() {
    if (std::exchange(resting_, false)) {
      for (Door& door : doors_) door.poll->watch(UV_READABLE);
    }
    for (const auto& connection : all()) connection->on_tick();
    if (connections_.empty()) ticker_.stop();
  }

  void on_connection_closed(HttpConnection& gone) {
    connections_.erase(&gone);
    if (shared_.stopping && connections_.empty() && on_stopped_) {
      stop_timer_.after(0, [this] { on_stop_time(); });
    }
  }

  void on_stop_time() {
    close_all();
    stop_timer_.stop();
    ticker_.stop();
    if (on_stopped_) on_stopped_();
  }

  HttpShared shared_;
  std::deque<Door> doors_;  // a deque, for their events hold on to them
  std::unordered_map<const HttpConnection*, std::shared_ptr<HttpConnection>> connections_;
  uv::Timer ticker_;
  uv::Timer stop_timer_;
  bool resting_ = false;  // from accepting, until the next tick
  Once<> on_stopped_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::create(uv_loop_t* loop,
                                                       const HttpServerOptions& options,
                                                       Handler handler, const Clock& clock,
                                                       Logger& log) {
  auto impl = std::make_unique<Impl>(loop, options, std::move(handler), clock, log);
  const Status opened = impl->open();
  if (!opened.ok()) return opened.error();
  return std::unique_ptr<HttpServer>(std::move(impl));
}

}  // namespace reclaim::listener
