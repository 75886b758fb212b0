// An HttpServer whose handler does what the path says, for tests of either kind of client.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state/base/uv_timers.h"
#include "tests/integration/http_harness.h"
#include "tests/temp_folder.h"

namespace reclaim::testing {

// /later?ms=N answers by a timer, /held when release_held() is called, /large?bytes=N with so many,
// /status?N with that status and no body, /id with the request's id, /who as user u1 of p1; all
// else at once. The answer tells what was asked: "GET /x of http://host [body]".
class HttpTest : public ::testing::Test {
 protected:
  ~HttpTest() override { destroy(); }

  static listener::HttpServerOptions options() {
    listener::HttpServerOptions options;
    options.bind = {"127.0.0.1:0"};
    return options;
  }

  void serve(const listener::HttpServerOptions& options) {
    destroy();
    thread_.call([&] {
      auto made = create(options);
      CHECK(made.ok());
      server_ = std::move(made).value();
      addresses_ = server_->addresses();
    });
  }
  // Why such a server cannot be made.
  std::string refusal(const listener::HttpServerOptions& options) {
    std::string what;
    thread_.call([&] {
      auto made = create(options);
      what = made.ok() ? "it was made" : made.error().what;
    });
    return what;
  }
  // Why certificate and key could not be read again; "" if they could.
  std::string reload_tls() {
    std::string what;
    thread_.call([&] {
      const Status read = server_->reload_tls();
      if (!read.ok()) what = read.error().what;
    });
    return what;
  }
  void begin_stop() {
    thread_.call([&] { server_->stop([this] { stopped_ = true; }); });
  }
  void stop() {
    begin_stop();
    EXPECT_TRUE(eventually([&] { return stopped_.load(); }));
    destroy();
  }
  void destroy() {
    thread_.call([&] {
      server_.reset();
      timers_.cancel_all();
    });
    stopped_ = false;
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

  [[nodiscard]] const std::string& url() const { return addresses_.at(0); }
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] int port() const { return std::stoi(url().substr(url().rfind(':') + 1)); }
  [[nodiscard]] const LogLines& log() const { return log_; }
  [[nodiscard]] const TempFolder& folder() const { return folder_; }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  listener::HttpServerCounters server_counters() {
    listener::HttpServerCounters out;
    thread_.call([&] { out = server_->counters(); });
    return out;
  }
  std::size_t connections() {
    std::size_t out = 0;
    thread_.call([&] { out = server_->connections(); });
    return out;
  }
  std::size_t held() {
    std::size_t out = 0;
    thread_.call([&] { out = held_.size(); });
    return out;
  }
  void release_held() {
    thread_.call([&] {
      for (const auto& answer : std::exchange(held_, {})) answer();
    });
  }

  [[nodiscard]] std::string cert_file() const { return folder_ / "server.pem"; }
  [[nodiscard]] std::string key_file() const { return folder_ / "server.key"; }
  void make_certificate() {
    ASSERT_EQ(run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                  "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout " +
                  key_file() + " -out " + cert_file())
                  .code,
              0);
  }

 private:
  Result<std::unique_ptr<listener::HttpServer>> create(const listener::HttpServerOptions& options) {
    return listener::HttpServer::create(
        thread_.raw(), options,
        [this](api::Request request, Once<api::Response> done) {
          handle(request, std::move(done));
        },
        clock_, log_);
  }

  static std::size_t number_in(const std::string& target) {
    return std::stoul(target.substr(target.find_first_of("0123456789")));
  }

  void handle(const api::Request& request, Once<api::Response> done) {
    api::Response response;
    const std::string& target = request.target;
    response.body =
        request.method + " " + target + " of " + request.base_url + " [" + request.body + "]\n";
    const auto is = [&target](const char* path) { return target.rfind(path, 0) == 0; };
    if (is("/who")) {
      response.user_id = "u1";
      response.project_id = "p1";
    }
    if (is("/id")) response.body = request.request_id;
    if (is("/large")) response.body = std::string(number_in(target), 'x');
    if (is("/status")) {
      response.status = static_cast<int>(number_in(target));
      response.body.clear();
    }
    if (is("/held")) {
      held_.emplace_back([done = std::move(done), response] { done(response); });
    } else if (is("/later")) {
      timers_.after(static_cast<std::int64_t>(number_in(target)),
                    [done = std::move(done), response] { done(response); });
    } else {
      done(std::move(response));
    }
  }

  TempFolder folder_;
  LogLines log_;
  SystemClock clock_;
  LoopThread thread_;
  std::unique_ptr<listener::HttpServer> server_;
  std::vector<std::string> addresses_;
  std::vector<Once<>> held_;
  UvTimers timers_{thread_.raw()};
  std::atomic<bool> stopped_ = false;
};

}  // namespace reclaim::testing
