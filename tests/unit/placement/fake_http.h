// What the tests of placement/ speak to instead of a network: recorded answers, a transport that
// plays a script, and timers that fire at once.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "placement/http/http.h"
#include "state/base/clock.h"
#include "state/base/timers.h"
#include "tests/source_path.h"

namespace reclaim::placement {

// Reads an answer as it stood on the wire: status line, headers, blank line, body.
inline HttpResponse recorded(const std::string& name) {
  std::ifstream file(source_path("tests/data/" + name));
  EXPECT_TRUE(file.good()) << name;
  HttpResponse response;
  std::string line;
  std::getline(file, line);
  response.status = std::stoi(line.substr(line.find(' ') + 1));
  while (std::getline(file, line) && !line.empty() && line != "\r") {
    if (line.back() == '\r') line.pop_back();
    const auto colon = line.find(": ");
    response.headers.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  response.body.assign(std::istreambuf_iterator<char>(file), {});
  while (!response.body.empty() && response.body.back() == '\n') response.body.pop_back();
  return response;
}

inline HttpResponse answer(int status, std::string body) {
  return HttpResponse{status, {{"Content-Type", "application/json"}}, std::move(body)};
}

inline HttpResponse replaced(HttpResponse response, const std::string& from,
                             const std::string& to) {
  auto at = response.body.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = response.body.find(from, at + to.size())) {
    response.body.replace(at, from.size(), to);
  }
  return response;
}

// A provider's view, as Placement writes its halves.
inline HttpResponse inventories(int generation, int reserved) {
  return answer(200, "{\"resource_provider_generation\": " + std::to_string(generation) +
                         ", \"inventories\": {\"CUSTOM_PCI_1B36_0010\": {\"total\": 1, "
                         "\"reserved\": " +
                         std::to_string(reserved) +
                         ", \"min_unit\": 1, \"max_unit\": 1, \"step_size\": 1, "
                         "\"allocation_ratio\": 1.0}}}");
}
inline HttpResponse allocations(int generation, const std::string& consumer = "") {
  const std::string inside = consumer.empty()
                                 ? ""
                                 : "\"" + consumer +
                                       "\": {\"resources\": {\"CUSTOM_PCI_1B36_0010\": 1}, "
                                       "\"consumer_generation\": 1}";
  return answer(200, "{\"allocations\": {" + inside + "}, \"resource_provider_generation\": " +
                         std::to_string(generation) + "}");
}

// Plays answers in the order they were put in; hands each out only when the test says run().
class ScriptedTransport final : public HttpTransport {
 public:
  std::vector<HttpRequest> sent;

  void then(Result<HttpResponse> next) { script_.push_back(std::move(next)); }

  void send(HttpRequest request, Callback<HttpResponse> done) override {
    sent.push_back(std::move(request));
    outstanding_.push_back(std::move(done));
  }

  // Delivers one answer; false if nobody waits for one.
  bool deliver() {
    if (outstanding_.empty()) return false;
    auto done = std::move(outstanding_.front());
    outstanding_.pop_front();
    if (script_.empty()) {
      ADD_FAILURE() << "an unexpected " << sent.back().method << " " << sent.back().url;
      done(Error{Errc::unavailable, "nothing left in the script"});
      return true;
    }
    Result<HttpResponse> next = std::move(script_.front());
    script_.pop_front();
    done(std::move(next));
    return true;
  }
  [[nodiscard]] bool all_played() const { return script_.empty(); }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_.size(); }

 private:
  std::deque<Result<HttpResponse>> script_;
  std::deque<Callback<HttpResponse>> outstanding_;
};

class InstantTimers final : public Timers {
 public:
  std::vector<std::int64_t> delays_ms;  // the real ones, without the zeros

  std::uint64_t after(std::int64_t delay_ms, Once<> wake) override {
    if (delay_ms > 0) delays_ms.push_back(delay_ms);
    waiting_.push_back(std::move(wake));
    return ++last_id_;
  }
  void cancel(std::uint64_t /*id*/) override { ADD_FAILURE() << "a pause is not cancelled"; }
  bool wake_one() {
    if (waiting_.empty()) return false;
    auto wake = std::move(waiting_.front());
    waiting_.pop_front();
    wake();
    return true;
  }

 private:
  std::deque<Once<>> waiting_;
  std::uint64_t last_id_ = 0;
};

class SetClock final : public Clock {
 public:
  Now at{WallMs{1'700'000'000'000}, MonoMs{1'000}};
  [[nodiscard]] Now now() const override { return at; }
};

}  // namespace reclaim::placement
