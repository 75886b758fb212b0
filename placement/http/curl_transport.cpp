#include "placement/http/curl_transport.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state/base/check.h"
#include "state/base/text.h"
#include "state/base/uv.h"

namespace reclaim::placement {
namespace {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One request on its way.
struct Transfer {
  std::unique_ptr<CURL, EasyDeleter> easy;
  std::unique_ptr<curl_slist, ListDeleter> headers;
  std::array<char, CURL_ERROR_SIZE> error{};
  HttpRequest request;
  HttpResponse response;
  std::size_t body_bytes_max = 0;
  bool too_large = false;
  Callback<HttpResponse> done;
};

// "https://host:port", all of a URL that an error text needs.
std::string origin(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return "the endpoint";
  return url.substr(0, url.find('/', scheme + 3));
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto* transfer = static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (bytes > transfer->body_bytes_max - transfer->response.body.size()) {
    transfer->too_large = true;
    return 0;
  }
  transfer->response.body.append(data, bytes);
  return bytes;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto* transfer = static_cast<Transfer*>(user);
  std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    transfer->response.headers.clear();  // of a 100 Continue before the answer
    return size * count;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  const auto trim = [](std::string_view text) { return std::string(strip(text, " \t\r\n")); };
  transfer->response.headers.push_back({trim(line.substr(0, colon)), trim(line.substr(colon + 1))});
  return size * count;
}

Status check_readable(std::string_view option, const std::string& path) {
  if (path.empty() || access(path.c_str(), R_OK) == 0) return Ok{};
  const int error = errno;
  return Error{Errc::invalid,
               fmt::format("{} '{}' cannot be read: {}", option, path, std::strerror(error)),
               error};
}

template <typename T>
void set(CURL* easy, CURLoption option, T value) {
  CHECK(curl_easy_setopt(easy, option, value) == CURLE_OK);
}

// The error that a failed transfer means. Curl counts the bytes of the request it has written; none
// written means that nobody can have acted on it.
Error transport_error(const Transfer& transfer, CURLcode code, std::int64_t body_bytes_max) {
  const std::string where = origin(transfer.request.url);
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED) {
    return Error{Errc::limit, fmt::format("the answer of {} is over the limit of {} bytes", where,
                                          body_bytes_max)};
  }
  const std::string_view text =
      transfer.error.front() != '\0' ? transfer.error.data() : curl_easy_strerror(code);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
    return Error{Errc::invalid, fmt::format("{}: {}", where, text)};
  }
  long sent_bytes = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_REQUEST_SIZE, &sent_bytes);
  if (sent_bytes == 0) {
    std::string what = fmt::format("{} cannot be reached: {}", where, text);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      what +=
          "; cafile must name the authority that signed its certificate, and the certificate "
          "the host name of the URL";
    }
    return Error{Errc::unavailable, std::move(what)};
  }
  return Error{Errc::unknown,
               fmt::format("{} was sent the request, but no whole answer came: {}", where, text)};
}

}  // namespace

class CurlTransport::Impl final : public CurlTransport {
 public:
  Impl(uv_loop_t* loop, Options options);
  ~Impl() override;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void send(HttpRequest request, Callback<HttpResponse> done) override;

 private:
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* user, void* socket) noexcept;
  static int on_timer(CURLM* multi, long timeout_ms, void* user) noexcept;

  void pump();
  void start(std::unique_ptr<Transfer> transfer);
  void prepare(Transfer& transfer) const;
  void prepare_tls(CURL* easy) const;
  void act(curl_socket_t fd, int events);
  void collect();

  uv_loop_t* loop_;
  const Options options_;
  CURLM* multi_;
  uv::Timer curl_timer_;
  uv::Timer pump_timer_;
  std::unordered_map<curl_socket_t, std::unique_ptr<uv::Poll>> polls_;
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> in_flight_;
  std::deque<std::unique_ptr<Transfer>> waiting_;
  std::vector<Callback<HttpResponse>> turned_away_;
};

CurlTransport::Impl::Impl(uv_loop_t* loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      multi_(curl_multi_init()),
      curl_timer_(loop),
      pump_timer_(loop) {
  CHECK(multi_ != nullptr);
  CHECK(curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Impl::on_socket) == CURLM_OK);
  CHECK(curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this) == CURLM_OK);
  CHECK(curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Impl::on_timer) == CURLM_OK);
  CHECK(curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this) == CURLM_OK);
}

CurlTransport::Impl::~Impl() {
  for (const auto& [easy, transfer] : in_flight_) curl_multi_remove_handle(multi_, easy);
  {
    const CallsOwed none(false);
    in_flight_.clear();
    waiting_.clear();
    turned_away_.clear();
  }
  // Tells on_socket() of every connection it closes, so that no poll outlives its descriptor.
  curl_multi_cleanup(multi_);
  curl_global_cleanup();
}

int CurlTransport::Impl::on_socket(CURL* /*easy*/, curl_socket_t fd, int what, void* user,
                                   void* /*socket*/) noexcept {
  auto* self = static_cast<Impl*>(user);
  if (what == CURL_POLL_REMOVE) {
    self->polls_.erase(fd);
    return 0;
  }
  std::unique_ptr<uv::Poll>& poll = self->polls_[fd];
  if (poll == nullptr) {
    poll = std::make_unique<uv::Poll>(self->loop_, fd, [self, fd](int status, int events) {
      int bits = status < 0 ? CURL_CSELECT_ERR : 0;
      if ((events & UV_READABLE) != 0) bits |= CURL_CSELECT_IN;
      if ((events & UV_WRITABLE) != 0) bits |= CURL_CSELECT_OUT;
      self->act(fd, bits);
    });
  }
  poll->watch(((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
              ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0));
  return 0;
}

int CurlTransport::Impl::on_timer(CURLM* /*multi*/, long timeout_ms, void* user) noexcept {
  auto* self = static_cast<Impl*>(user);
  if (timeout_ms < 0) {
    self->curl_timer_.stop();
  } else {
    self->curl_timer_.after(timeout_ms, [self] { self->act(CURL_SOCKET_TIMEOUT, 0); });
  }
  return 0;
}

void CurlTransport::Impl::send(HttpRequest request, Callback<HttpResponse> done) {
  if (waiting_.size() >= static_cast<std::size_t>(options_.requests_waiting_max)) {
    turned_away_.push_back(std::move(done));
  } else {
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->done = std::move(done);
    transfer->body_bytes_max = static_cast<std::size_t>(options_.body_bytes_max);
    waiting_.push_back(std::move(transfer));
  }
  if (!pump_timer_.active()) pump_timer_.after(0, [this] { pump(); });
}

void CurlTransport::Impl::pump() {
  for (const Callback<HttpResponse>& done : std::exchange(turned_away_, {})) {
    done(Error{Errc::limit,
               fmt::format("{} requests are waiting already", options_.requests_waiting_max),
               HttpTransport::kNotSent});
  }
  while (!waiting_.empty() &&
         in_flight_.size() < static_cast<std::size_t>(options_.requests_in_flight_max)) {
    std::unique_ptr<Transfer> transfer = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(transfer));
  }
}

void CurlTransport::Impl::start(std::unique_ptr<Transfer> transfer) {
  transfer->easy.reset(curl_easy_init());
  CHECK(transfer->easy != nullptr);
  prepare(*transfer);
  CURL* const easy = transfer->easy.get();
  in_flight_.emplace(easy, std::move(transfer));
  CHECK(curl_multi_add_handle(multi_, easy) == CURLM_OK);
}

void CurlTransport::Impl::prepare(Transfer& transfer) const {
  CURL* const easy = transfer.easy.get();
  const HttpRequest& request = transfer.request;
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a hanging resolver must not hold up our own end
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms));
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout_ms));
  set(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options_.body_bytes_max));
  set(easy, CURLOPT_USERAGENT, "reclaim");
  set(easy, CURLOPT_ERRORBUFFER, transfer.error.data());
  set(easy, CURLOPT_WRITEFUNCTION, &on_body);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(easy, CURLOPT_HEADERFUNCTION, &on_header);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  curl_slist* list = nullptr;
  for (const HttpHeader& header : request.headers) {
    list = curl_slist_append(list, fmt::format("{}: {}", header.name, header.value).c_str());
  }
  list = curl_slist_append(list, "Expect:");
  // Servers and proxies may want to be told that a write has no body.
  if (request.method != "GET" && request.body.empty()) {
    list = curl_slist_append(list, "Content-Length: 0");
  }
  transfer.headers.reset(list);
  set(easy, CURLOPT_HTTPHEADER, list);
  if (!request.body.empty()) {
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (request.method != "GET") set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  // On a kept connection that its server has closed, curl would quietly send the request a second
  // time. A write gets a connection of its own, so that it is sent once and we know whether.
  if (request.method != "GET") set(easy, CURLOPT_FRESH_CONNECT, 1L);
  prepare_tls(easy);
}

void CurlTransport::Impl::prepare_tls(CURL* easy) const {
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_SSL_VERIFYPEER, options_.insecure ? 0L : 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, options_.insecure ? 0L : 2L);
  if (!options_.cafile.empty()) set(easy, CURLOPT_CAINFO, options_.cafile.c_str());
  if (options_.certfile.empty()) return;
  // A certfile may hold the key as well.
  const std::string& keyfile = options_.keyfile.empty() ? options_.certfile : options_.keyfile;
  set(easy, CURLOPT_SSLCERT, options_.certfile.c_str());
  set(easy, CURLOPT_SSLKEY, keyfile.c_str());
}

void CurlTransport::Impl::act(curl_socket_t fd, int events) {
  int running = 0;
  CHECK(curl_multi_socket_action(multi_, fd, events, &running) == CURLM_OK);
  collect();
}

void CurlTransport::Impl::collect() {
  std::vector<std::pair<Callback<HttpResponse>, Result<HttpResponse>>> over;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const auto it = in_flight_.find(message->easy_handle);
    CHECK(it != in_flight_.end());
    const std::unique_ptr<Transfer> transfer = std::move(it->second);
    in_flight_.erase(it);
    CHECK(curl_multi_remove_handle(multi_, transfer->easy.get()) == CURLM_OK);
    if (code == CURLE_OK) {
      long status = 0;
      curl_easy_getinfo(transfer->easy.get(), CURLINFO_RESPONSE_CODE, &status);
      transfer->response.status = static_cast<int>(status);
      curl_off_t retry_after_s = 0;  // as seconds, or as a date
      curl_easy_getinfo(transfer->easy.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
      transfer->response.retry_after_s = retry_after_s;
      over.emplace_back(std::move(transfer->done), std::move(transfer->response));
    } else {
      over.emplace_back(std::move(transfer->done),
                        transport_error(*transfer, code, options_.body_bytes_max));
    }
  }
  if (over.empty()) return;
  if (!waiting_.empty()) pump();
  for (auto& [done, result] : over) done(std::move(result));
}

Result<std::unique_ptr<CurlTransport>> CurlTransport::create(uv_loop_t* loop,
                                                             const Options& options) {
  for (const auto& [option, path] :
       {std::pair{"cafile", &options.cafile}, std::pair{"certfile", &options.certfile},
        std::pair{"keyfile", &options.keyfile}}) {
    if (auto readable = check_readable(option, *path); !readable.ok()) {
      return std::move(readable).error();
    }
  }
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Error{Errc::failed, "libcurl cannot be initialised"};
  }
  return std::unique_ptr<CurlTransport>(std::make_unique<Impl>(loop, options));
}

}  // namespace reclaim::placement
