#include "listener/http/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "listener/http/answer.h"
#include "listener/http/listener.h"
#include "state/base/check.h"
#include "state/base/uuid.h"

namespace reclaim::listener {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t kReadBytes = 16'384;
// While more than this waits to be sent, no further request is begun.
constexpr std::size_t kOutBytesMax = 65'536;
constexpr std::size_t kWriteBytesPerRound = 65'536;
constexpr std::size_t kEncryptBytes = 65'536;
// Answers larger than this are not copied behind their head.
constexpr std::size_t kSmallBodyBytes = 16'384;
constexpr std::int64_t kDrainMs = 2'000;
// nginx's word for a client that did not wait for its answer; it stands in the log only.
constexpr int kClientWent = 499;

}  // namespace

HttpConnection::HttpConnection(HttpShared& shared, UniqueFd fd, std::string client, bool tls)
    : shared_(shared),
      fd_(std::move(fd)),
      client_(std::move(client)),
      tls_(tls ? std::make_unique<HttpTlsSession>(*shared.tls) : nullptr),
      parser_(HttpLimits{shared.options.request_head_bytes_max,
                         shared.options.request_body_bytes_max, shared.options.headers_max}) {
  active_at_ms_ = head_since_ms_ = now_ms();
}

HttpConnection::~HttpConnection() {
  drop_output();
}

void HttpConnection::start() {
  poll_.emplace(shared_.loop, fd_.get(),
                [this](int status, int events) { on_event(status, events); });
  update_watch();
}

std::int64_t HttpConnection::now_ms() const {
  return shared_.clock.now().mono.ms;
}

bool HttpConnection::handshaking() const {
  return tls_ != nullptr && tls_->state() == HttpTlsSession::State::handshake;
}

bool HttpConnection::is_idle() const {
  if (phase_ == Phase::draining) return true;
  return phase_ == Phase::reading && parser_.progress() == HttpRequestParser::Progress::between &&
         in_.empty() && !has_output();
}

void HttpConnection::on_event(int status, int events) {
  const auto self = shared_from_this();
  const HttpLoopBudget::Work work(shared_.turns);
  if (status < 0) return close();
  if ((events & UV_WRITABLE) != 0) flush();
  if ((events & UV_READABLE) != 0 && phase_ != Phase::closed) read();
  go_on();
}

// Runs after anything happened: sends what can be sent, and watches for what is to come.
void HttpConnection::go_on() {
  if (phase_ != Phase::closed && has_output()) flush();
  if (phase_ != Phase::closed) update_watch();
}

void HttpConnection::wait_for_turn(void (HttpConnection::*go)()) {
  if (turn_awaited_) return;
  turn_awaited_ = true;
  shared_.turns.wait([weak = weak_from_this(), go] {
    const auto self = weak.lock();
    if (self == nullptr || self->phase_ == Phase::closed) return;
    self->turn_awaited_ = false;
    (self.get()->*go)();
    self->go_on();
  });
}

void HttpConnection::read() {
  if (turn_awaited_ || (phase_ != Phase::reading && phase_ != Phase::draining)) return;
  if (!shared_.turns.may_begin()) return wait_for_turn(&HttpConnection::read);
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) close();
    return;
  }
  if (got == 0) eof_ = true;
  if (phase_ == Phase::draining) {
    if (eof_) close();
    return;
  }
  if (got > 0) {
    active_at_ms_ = now_ms();
    take_in({buffer.data(), static_cast<std::size_t>(got)});
  }
  if (phase_ == Phase::reading) process();
}

void HttpConnection::take_in(std::string_view bytes) {
  if (tls_ == nullptr) {
    in_.append(bytes);
    return;
  }
  begin_output();
  tls_->feed(bytes, in_);
  tls_->output(cipher_);
  if (tls_->state() == HttpTlsSession::State::ended) eof_ = true;
  if (tls_->state() != HttpTlsSession::State::failed) return;
  if (tls_->was_plain_http()) {
    // The one answer it can read is a plain one.
    tls_.reset();
    cipher_.clear();
    return refuse(400, "this port speaks TLS: use https");
  }
  ++shared_.counters.bad_requests;
  in_.clear();
  phase_ = Phase::ending;  // OpenSSL's alert is the last word
  if (cipher_.empty()) close();
}

void HttpConnection::process() {
  if (in_process_) return;
  in_process_ = true;
  while (phase_ == Phase::reading && !in_.empty() && out_bytes_ <= kOutBytesMax) {
    if (parser_.progress() == HttpRequestParser::Progress::between) head_since_ms_ = now_ms();
    const bool in_head = parser_.progress() != HttpRequestParser::Progress::body;
    const HttpRequestParser::Fed fed = parser_.feed(in_);
    in_.erase(0, fed.consumed);
    if (in_head) body_since_ms_ = now_ms();
    switch (fed.outcome) {
      case HttpRequestParser::Outcome::more:
        if (parser_.awaits_continue()) {
          parser_.continued();
          put(std::string(kContinue));
        }
        break;
      case HttpRequestParser::Outcome::refused:
        refuse(parser_.refusal().status, parser_.refusal().why);
        break;
      case HttpRequestParser::Outcome::request:
        phase_ = Phase::waiting;
        dispatch();
        break;
    }
  }
  in_process_ = false;
  if (phase_ != Phase::reading || !eof_ || !in_.empty()) return;
  // The client is done; it may still be reading what we have to say.
  phase_ = Phase::ending;
  if (!has_output()) close();
}

void HttpConnection::dispatch() {
  if (!shared_.turns.may_begin()) return wait_for_turn(&HttpConnection::dispatch);
  HttpRequest read = parser_.take_request();
  ++shared_.counters.requests;
  phase_ = Phase::handling;
  current_.number += 1;
  current_.method = read.request.method;
  current_.target = read.request.target;
  current_.version_minor = read.version_minor;
  current_.keep_alive = read.keep_alive;
  current_.request_id = "req-" + random_uuid();
  current_.global_request_id =
      valid_request_id(http_header(read.request.headers, "X-Openstack-Request-Id").value);
  current_.began_ms = now_ms();

  // A HEAD leaves out the body alone, and that is HTTP's business: the handler is asked to GET.
  if (read.request.method == "HEAD") read.request.method = "GET";
  read.request.request_id = current_.request_id;
  read.request.base_url = base_url(read.host);
  shared_.handler(std::move(read.request),
                  [weak = weak_from_this(), number = current_.number](api::Response response) {
                    if (const auto self = weak.lock()) self->on_answer(number, std::move(response));
                  });
}

void HttpConnection::on_answer(std::uint64_t number, api::Response response) {
  if (phase_ != Phase::handling || number != current_.number) return;
  const HttpLoopBudget::Work work(shared_.turns);
  answer(std::move(response));
  // Answered from within process(), its loop goes on; a later answer starts it again.
  if (in_process_) return;
  if (phase_ == Phase::reading) process();
  go_on();
}

void HttpConnection::refuse(int status, std::string_view why) {
  ++shared_.counters.bad_requests;
  const std::uint64_t number = current_.number;
  current_ = Current{};
  current_.number = number + 1;
  current_.request_id = "req-" + random_uuid();
  current_.began_ms = head_since_ms_;
  in_.clear();
  answer(http_error(status, why));
}

void HttpConnection::answer(api::Response response) {
  const std::size_t bytes_left = shared_.options.answer_bytes_max -
                                 std::min(shared_.options.answer_bytes_max, shared_.answer_bytes);
  if (response.body.size() > bytes_left) {
    api::Response full = http_error(503, "too many answers wait for their clients to read them");
    full.user_id = response.user_id;
    full.project_id = response.project_id;
    response = std::move(full);
  }
  HttpFrame frame;
  frame.version_minor = current_.version_minor;
  frame.keep_alive = current_.keep_alive && !shared_.stopping;
  frame.head_only = current_.method == "HEAD";
  const Now now = shared_.clock.now();
  frame.date = now.wall;
  frame.request_id = current_.request_id;
  const bool with_body = !frame.head_only && has_http_body(response.status);
  active_at_ms_ = now.mono.ms;
  log_access(response.status, with_body ? response.body.size() : 0, response);

  std::string head = http_head(response, frame);
  if (with_body && response.body.size() <= kSmallBodyBytes) head += response.body;
  put(std::move(head));
  if (with_body && response.body.size() > kSmallBodyBytes) put(std::move(response.body));
  phase_ = frame.keep_alive ? Phase::reading : Phase::ending;
}

void HttpConnection::begin_output() {
  if (!has_output()) written_at_ms_ = piece_since_ms_ = now_ms();
}

void HttpConnection::put(std::string text) {
  begin_output();
  out_bytes_ += text.size();
  shared_.answer_bytes += text.size();
  out_.push_back(std::move(text));
}

void HttpConnection::log_access(int status, std::size_t body_bytes, const api::Response& response) {
  const HttpLogEntry entry{client_,
                           current_.method,
                           current_.target,
                           current_.version_minor,
                           status,
                           body_bytes,
                           now_ms() - current_.began_ms};
  shared_.log.info(log_name::kHttp, http_log_line(entry),
                   {{"request_id", current_.request_id},
                    {"global_request_id", current_.global_request_id},
                    {"user", response.user_id},
                    {"project", response.project_id}});
}

std::string HttpConnection::base_url(const std::string& host) const {
  const std::string scheme = tls_ != nullptr ? "https://" : "http://";
  if (!host.empty()) return scheme + host;
  sockaddr_storage local{};
  socklen_t length = sizeof(local);
  std::string name;
  if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&local), &length) == 0) {
    name = to_host_and_port(local);
  }
  return scheme + (name.empty() ? "localhost" : name);
}

bool HttpConnection::send_some(std::string_view bytes, std::size_t& sent) {
  sent = 0;
  const ssize_t rc = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (rc < 0) {
    if (errno != EAGAIN && errno != EINTR) close();
    return false;
  }
  sent = static_cast<std::size_t>(rc);
  written_at_ms_ = now_ms();
  return true;
}

void HttpConnection::next_piece() {
  out_.pop_front();
  out_at_ = 0;
  piece_since_ms_ = now_ms();
}

// Moves plain text of the answers into the cipher, as far as that is soon to be sent.
void HttpConnection::encrypt_some() {
  while (!out_.empty() && cipher_.size() < kEncryptBytes) {
    const std::string_view rest = std::string_view(out_.front()).substr(out_at_);
    const std::string_view piece = rest.substr(0, kReadBytes);
    tls_->write(piece);
    tls_->output(cipher_);
    out_at_ += piece.size();
    out_bytes_ -= piece.size();
    shared_.answer_bytes -= piece.size();
    if (piece.size() == rest.size()) next_piece();
  }
}

void HttpConnection::flush() {
  std::size_t round = 0;
  while (has_output() && round < kWriteBytesPerRound) {
    std::size_t sent = 0;
    if (tls_ != nullptr) {
      encrypt_some();
      if (!send_some(cipher_, sent)) break;
      cipher_.erase(0, sent);
    } else {
      const std::string_view rest = std::string_view(out_.front()).substr(out_at_);
      if (!send_some(rest.substr(0, kWriteBytesPerRound), sent)) break;
      out_at_ += sent;
      out_bytes_ -= sent;
      shared_.answer_bytes -= sent;
      if (sent == rest.size()) next_piece();
    }
    round += sent;
  }
  if (phase_ == Phase::closed || has_output()) return;
  if (phase_ == Phase::ending) return drain();
  // Requests that waited for the client to read may go on.
  if (phase_ == Phase::reading && !in_.empty() && !turn_awaited_) process();
}

void HttpConnection::drain() {
  if (tls_ != nullptr) {
    tls_->end();
    tls_->output(cipher_);
    std::size_t sent = 0;
    // The client can do without this word if there is no room for it.
    static_cast<void>(send_some(cipher_, sent));
    cipher_.clear();
  }
  if (phase_ == Phase::closed) return;
  if (eof_ || shutdown(fd_.get(), SHUT_WR) != 0) return close();
  phase_ = Phase::draining;
  drain_since_ms_ = now_ms();
  in_.clear();
}

void HttpConnection::update_watch() {
  int events = has_output() ? UV_WRITABLE : 0;
  const bool reading = phase_ == Phase::reading && in_.empty() && out_bytes_ <= kOutBytesMax;
  if ((reading || phase_ == Phase::draining) && !eof_ && !turn_awaited_) events |= UV_READABLE;
  if (events == watched_) return;
  watched_ = events;
  poll_->watch(events);
}

void HttpConnection::on_tick() {
  const auto self = shared_from_this();
  const HttpServerOptions& options = shared_.options;
  const std::int64_t now = now_ms();
  // Whoever takes a byte now and then would else hold what answer_bytes_max lets all have.
  if (has_output() && (now - written_at_ms_ > options.write_timeout_ms ||
                       now - piece_since_ms_ > options.send_timeout_ms)) {
    return close();
  }
  switch (phase_) {
    case Phase::reading:
      if (handshaking()) {
        if (now - head_since_ms_ > options.head_timeout_ms) close();
      } else if (parser_.progress() == HttpRequestParser::Progress::between) {
        if (!has_output() && now - active_at_ms_ > options.idle_timeout_ms) close();
      } else if (const bool body = parser_.progress() == HttpRequestParser::Progress::body;
                 now - (body ? body_since_ms_ : head_since_ms_) > options.head_timeout_ms) {
        refuse(408,
               body ? "the request's body came too slowly" : "the request's head came too slowly");
        go_on();
      }
      return;
    case Phase::handling:
      if (now - current_.began_ms > options.answer_timeout_ms) {
        // A later answer of the handler belongs to no request any more. It may have been done, so
        // nobody is invited to send it again on this connection.
        current_.keep_alive = false;
        answer(http_error(504, "no answer was found in time"));
        go_on();
      }
      return;
    case Phase::draining:
      if (now - drain_since_ms_ > kDrainMs) close();
      return;
    case Phase::waiting:
    case Phase::ending:
    case Phase::closed:
      return;
  }
}

void HttpConnection::finish() {
  const auto self = shared_from_this();
  if (phase_ == Phase::handling || phase_ == Phase::waiting || phase_ == Phase::ending) return;
  if (phase_ == Phase::draining || !has_output()) return close();
  phase_ = Phase::ending;
  in_.clear();
}

void HttpConnection::drop_output() {
  shared_.answer_bytes -= out_bytes_;
  out_bytes_ = 0;
  out_.clear();
  out_at_ = 0;
  cipher_.clear();
}

void HttpConnection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  if (phase_ == Phase::handling) log_access(kClientWent, 0, api::Response{});
  phase_ = Phase::closed;
  drop_output();
  poll_.reset();
  fd_.reset();
  shared_.on_closed(*this);
}

}  // namespace reclaim::listener
