// What the tests of placement/ on a real loop share: the ports of a client, a transport that notes
// what goes by, and Placement's client on them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placement/client.h"
#include "placement/http/curl_transport.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/uv_timers.h"

namespace reclaim::testing {

class NotingTransport final : public placement::HttpTransport {
 public:
  explicit NotingTransport(placement::HttpTransport& inner) : inner_(inner) {}

  std::vector<placement::HttpRequest> sent;

  void send(placement::HttpRequest request, Callback<placement::HttpResponse> done) override {
    sent.push_back(request);
    if (left_ && (*left_)-- <= 0) request.url = "http://127.0.0.1:1/";  // where nobody answers
    inner_.send(std::move(request), std::move(done));
  }
  // Only so many more requests arrive: for the other side, this one has crashed then.
  void let_through(int requests) { left_ = requests; }
  // The token of the last request that bore one.
  [[nodiscard]] std::string last_token() const {
    for (auto request = sent.rbegin(); request != sent.rend(); ++request) {
      for (const auto& header : request->headers) {
        if (header.name == "X-Auth-Token") return header.value;
      }
    }
    return "";
  }

 private:
  placement::HttpTransport& inner_;
  std::optional<int> left_;
};

// A real loop with the ports of a client, and calls that wait for their answer.
class LoopBench {
 public:
  explicit LoopBench(const placement::Options& options) : timers_(loop_.raw()) {
    auto transport = placement::CurlTransport::create(loop_.raw(), options);
    CHECK(transport.ok());
    curl_ = *std::move(transport);
    noting_ = std::make_unique<NotingTransport>(*curl_);
  }

  [[nodiscard]] NotingTransport& transport() { return *noting_; }
  [[nodiscard]] uv::Loop& loop() { return loop_; }
  [[nodiscard]] placement::Ports ports() { return {*noting_, timers_, clock_, logger_}; }

  // `start` is given a callback and calls something with it.
  template <typename T, typename Start>
  Result<T> wait(Start start) {
    std::optional<Result<T>> result;
    start(Callback<T>([&](Result<T> came) {
      result = std::move(came);
      loop_.stop();
    }));
    uv::Timer deadline(loop_.raw());
    deadline.start(60'000, 0, [&] { loop_.stop(); });
    loop_.run();
    if (!result) return Error{Errc::failed, "no callback within 60 s"};
    return *std::move(result);
  }
  Result<placement::HttpResponse> send(placement::HttpRequest request) {
    return wait<placement::HttpResponse>(
        [&](auto done) { curl_->send(std::move(request), std::move(done)); });
  }

 private:
  uv::Loop loop_;
  SystemClock clock_;
  NullLogger logger_;
  UvTimers timers_;
  std::unique_ptr<placement::CurlTransport> curl_;
  std::unique_ptr<NotingTransport> noting_;
};

class PlacementBench final : public LoopBench {
 public:
  explicit PlacementBench(const placement::Options& options) : LoopBench(options) {
    auto client = placement::Client::create(options, ports().transport, ports().timers,
                                            ports().clock, ports().logger);
    CHECK(client.ok());
    client_ = *std::move(client);
  }

  [[nodiscard]] placement::Client& client() { return *client_; }

  Result<placement::Tree> list_tree() {
    return wait<placement::Tree>([&](auto done) { client_->list_tree(std::move(done)); });
  }
  Result<std::vector<placement::ProviderRow>> list_rows() {
    return wait<std::vector<placement::ProviderRow>>(
        [&](auto done) { client_->list_rows(std::move(done)); });
  }
  Result<placement::ProviderView> read(const std::string& uuid) {
    return wait<placement::ProviderView>([&](auto done) { client_->read(uuid, std::move(done)); });
  }
  Result<placement::Consumer> describe(const std::string& consumer) {
    return wait<placement::Consumer>(
        [&](auto done) { client_->describe_consumer(consumer, std::move(done)); });
  }
  Result<placement::ProviderView> set_reserved(const placement::ProviderView& view,
                                               std::int64_t reserved) {
    return wait<placement::ProviderView>(
        [&](auto done) { client_->set_reserved(view, reserved, std::move(done)); });
  }
  Result<placement::ProviderView> register_device(const placement::NewDevice& device) {
    return wait<placement::ProviderView>(
        [&](auto done) { client_->register_device(device, std::move(done)); });
  }
  Result<placement::LoginFacts> log_in() {
    return wait<placement::LoginFacts>([&](auto done) { client_->log_in(std::move(done)); });
  }

 private:
  std::unique_ptr<placement::Client> client_;
};

}  // namespace reclaim::testing
