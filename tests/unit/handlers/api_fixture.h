// The device API over a store of several hosts and a Keystone, both in memory and both answering
// only when told to: run() lets everything come that was asked for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "handlers/api/api.h"
#include "state/base/json.h"
#include "state/base/uuid.h"
#include "tests/source_path.h"

namespace reclaim::api {

class TestClock final : public Clock {
 public:
  [[nodiscard]] Now now() const override { return now_; }
  void advance(std::int64_t ms) {
    now_.wall.ms += ms;
    now_.mono.ms += ms;
  }

 private:
  Now now_{WallMs{1'780'000'000'000}, MonoMs{5'000}};  // 2026-05-28T20:26:40Z
};

class TestLogger final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override {
    std::string line = std::string(name) + ": " + std::string(text);
    for (const LogField& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    lines.push_back(line);
  }
  std::vector<std::string> lines;
};

using Queue = std::deque<Once<>>;

// What the API asks of a store; the rest must never be asked.
class MemoryStore final : public Store, public Certificates, public MetricsTexts {
 public:
  explicit MemoryStore(Queue& queue) : queue_(queue) {}

  std::vector<HostInfo> workers;
  std::map<std::string, std::vector<Record>> records;
  std::map<std::string, std::vector<Arq>> books;
  std::vector<std::pair<std::string, Order>> orders;
  // Sealed texts by host and address.
  std::map<std::pair<std::string, std::string>, std::string> certificates;
  std::map<std::string, std::string> worker_texts;
  std::size_t certificates_read = 0;
  bool away = false;
  bool too_many_hosts = false;  // more than may be
  std::string broken_host;      // only this one cannot be asked for
  std::string forged_host;      // of this one nothing that is stored can be read
  int hosts_asked = 0;
  std::vector<std::string> loaded;
  std::size_t loads_under_way = 0;
  std::size_t loads_under_way_most = 0;

  void hosts(Callback<std::vector<HostInfo>> done) override {
    hosts_asked += 1;
    if (too_many_hosts) {
      return queue_.push_back([done = std::move(done)] {
        done(Error{Errc::limit, "raise [redis] hosts_max"});
      });
    }
    later(std::move(done), workers);
  }
  void hosts_called(const std::string&, Callback<std::vector<std::string>>) override { never(); }
  void count_hosts(Callback<std::size_t> /*done*/) override { never(); }
  void load(const std::string& host, Callback<std::vector<Record>> done) override {
    loaded.push_back(host);
    loads_under_way += 1;
    loads_under_way_most = std::max(loads_under_way_most, loads_under_way);
    later<std::vector<Record>>(
        [this, done = std::move(done)](Result<std::vector<Record>> result) {
          loads_under_way -= 1;
          done(std::move(result));
        },
        records[host], host);
  }
  void load_arqs(const std::string& host, Callback<std::vector<Arq>> done) override {
    later(std::move(done), books[host], host);
  }
  void load_certificate(const std::string& host, const std::string& address,
                        Callback<std::string> done) override {
    certificates_read += 1;
    later(std::move(done), certificates[{host, address}], host);
  }
  void save_metrics(const std::string& /*host*/, const std::string& /*text*/,
                    Callback<Ok> /*done*/) override {
    never();
  }
  void load_metrics(const std::string& host, Callback<std::string> done) override {
    later(std::move(done), worker_texts[host]);
  }
  void push_kick(const std::string& /*host*/, const Kick& /*kick*/,
                 Callback<Ok> /*done*/) override {
    never();
  }
  void take_orders(const std::string& /*host*/, std::size_t /*count_max*/,
                   Callback<std::vector<Order>> /*done*/) override {
    never();
  }
  void orders_left(const std::string& /*host*/, Callback<std::vector<Order>> /*done*/) override {
    FAIL() << "the device API takes no orders";
  }
  void answer_order(const std::string& /*host*/, const Order& /*order*/,
                    const std::string& /*refusal*/, Callback<Ok> /*done*/) override {
    never();
  }
  void push_order(const std::string& host, const Order& order, Callback<Ok> done) override {
    if (!away) orders.emplace_back(host, order);
    later(std::move(done), Ok{});
  }

  void save(const Record& /*record*/, LockToken /*lock*/, const JournalEntry& /*entry*/,
            Callback<Ok> /*done*/) override {
    never();
  }
  void discard(const std::string& /*host*/, const PciAddress& /*address*/,
               Callback<Ok> /*done*/) override {
    never();
  }
  void save_progress(const Record& /*record*/, Callback<Ok> /*done*/) override { never(); }
  void acquire_lock(const std::string& /*host*/, const PciAddress& /*address*/,
                    const std::string& /*holder*/, std::int64_t /*ttl_ms*/,
                    Callback<LockToken> /*done*/) override {
    never();
  }
  void renew_lock(const std::string& /*host*/, const PciAddress& /*address*/, LockToken /*lock*/,
                  std::int64_t /*ttl_ms*/, Callback<Ok> /*done*/) override {
    never();
  }
  void release_lock(const std::string& /*host*/, const PciAddress& /*address*/, LockToken /*lock*/,
                    Callback<Ok> /*done*/) override {
    never();
  }
  void read_kicks(const std::string& /*host*/, std::size_t /*count_max*/,
                  Callback<std::vector<Kick>> /*done*/) override {
    never();
  }
  void ack_kicks(const std::string& /*host*/, const std::vector<std::string>& /*ids*/,
                 Callback<Ok> /*done*/) override {
    never();
  }
  void heartbeat(const HostInfo& /*info*/, Callback<Ok> /*done*/) override { never(); }
  void save_arq(const std::string& /*host*/, const Arq& /*arq*/, Callback<Ok> /*done*/) override {
    never();
  }
  void remove_arq(const std::string& /*host*/, const std::string& /*uuid*/,
                  Callback<Ok> /*done*/) override {
    never();
  }
  void save_certificate(const Certificate& /*certificate*/, const std::string& /*sealed_text*/,
                        Callback<Ok> /*done*/) override {
    never();
  }

 private:
  template <typename T>
  void later(Callback<T> done, T value, const std::string& host = "") {
    if (away || (!host.empty() && host == broken_host)) {
      queue_.push_back([done = std::move(done)] {
        done(Error{Errc::unavailable, "127.0.0.1:6379 refuses"});
      });
    } else if (!host.empty() && host == forged_host) {
      queue_.push_back([host, done = std::move(done)] {
        done(Error{Errc::failed, "reclaim:{" + host + "}:devices: WRONGTYPE"});
      });
    } else {
      queue_.push_back([done = std::move(done), value] { done(value); });
    }
  }
  static void never() { ADD_FAILURE() << "the API only reads, and pushes orders"; }

  Queue& queue_;
};

// Lets that many pieces of an answer be made in one turn.
class CountedTurns final : public LoopBudget {
 public:
  explicit CountedTurns(Queue& queue) : queue_(queue) {}

  int pieces_a_turn = 1;
  int turns = 0;

  [[nodiscard]] bool may_begin() const override { return left_-- > 0; }
  void wait(Once<> go) override {
    queue_.push_back([this, go = std::move(go)] {
      turns += 1;
      left_ = pieces_a_turn;
      go();
    });
  }

 private:
  Queue& queue_;
  mutable int left_ = 0;
};

class MemoryTokens final : public placement::Tokens {
 public:
  explicit MemoryTokens(Queue& queue) : queue_(queue) {}

  std::map<std::string, placement::Identity> known;
  std::optional<Error> trouble;
  std::string last_token;
  std::string last_service_token;

  void validate(const std::string& token, const std::string& service_token,
                Callback<placement::Identity> done) override {
    last_token = token;
    last_service_token = service_token;
    queue_.push_back([this, token, done = std::move(done)] {
      if (trouble) return done(*trouble);
      const auto found = known.find(token);
      if (found == known.end()) return done(Error{Errc::refused, "404"});
      done(found->second);
    });
  }

 private:
  Queue& queue_;
};

inline placement::Identity person(const std::string& name, std::vector<std::string> roles,
                                  const std::string& project) {
  placement::Identity who;
  who.user_id = "user-" + name;
  who.user_name = name;
  who.project_id = project;
  who.roles = std::move(roles);
  return who;
}

inline constexpr const char* kOurProject = "4e01a8e0-52b4-42e4-be67-20dd82f0ef77";
inline constexpr const char* kOtherProject = "8ffbe1f6-8d30-4c48-8a3e-5d1f5c44a0aa";

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    tokens.known["admin"] = person("admin", {"admin", "member", "reader"}, kOurProject);
    tokens.known["manager"] = person("manager", {"manager", "member", "reader"}, kOurProject);
    tokens.known["reader"] = person("reader", {"reader"}, kOurProject);
    tokens.known["stranger"] = person("stranger", {"member", "reader"}, kOtherProject);
    store.workers = {HostInfo{"compute-1", clock.now().wall, "1.0", "m1", 0},
                     HostInfo{"compute-2", clock.now().wall, "1.0", "m2", 1}};
    start({}, {});
  }

  // Of this node's key; none: it has none.
  std::function<void(const std::string& host, Order& order)> seal;

  void start(const std::map<std::string, std::string>& rules, Options options) {
    auto policy = Policy::create(rules);
    ASSERT_TRUE(policy.ok()) << policy.error().what;
    options.www_authenticate_uri = "http://controller:5000";
    api = std::make_unique<Api>(
        Ports{store, store, store, options.authenticate ? &tokens : nullptr, clock, logger, turns,
              [this](const std::string& host, Order& order) {
                if (seal) seal(host, order);
              }},
        *std::move(policy), options);
  }

  // A drive of `host` at `address` ("0000:01:00.0"), in the words of the specification's examples.
  Record& drive(const std::string& host, const std::string& address, Stage stage,
                const std::string& vendor = "8086", const std::string& product = "0001") {
    Record record;
    record.host = host;
    record.address = *parse_pci_address(address);
    record.uuid = device_uuid(host, record.address);
    record.flow = Flow::cyborg;
    record.vendor_id = vendor;
    record.product_id = product;
    record.stage = stage;
    record.created_at = *from_iso8601("2026-05-15T10:23:45Z");
    record.updated_at = *from_iso8601("2026-05-15T10:25:30.123Z");
    store.records[host].push_back(record);
    return store.records[host].back();
  }

  void run_one() {
    const auto next = std::move(queue.front());
    queue.pop_front();
    next();
  }
  void run() {
    while (!queue.empty()) run_one();
  }

  Request request(const std::string& method, const std::string& target,
                  const std::string& version = "2.5", const std::string& token = "admin") {
    Request made;
    made.method = method;
    made.target = target;
    made.request_id = "req-3b5b4a5e-6d6f-4a0c-8c59-0d8d1f0f2f5a";
    made.base_url = "http://reclaim:6667";
    if (!token.empty()) made.headers.push_back({"X-Auth-Token", token});
    if (!version.empty()) {
      made.headers.push_back({"OpenStack-API-Version", "accelerator " + version});
    }
    return made;
  }

  Response ask(Request asked) {
    std::vector<Response> answers;
    api->handle(std::move(asked), [&](Response response) { answers.push_back(response); });
    run();
    EXPECT_EQ(answers.size(), 1U) << "answered exactly once";
    return answers.empty() ? Response{} : answers.front();
  }
  Response get(const std::string& target, const std::string& version = "2.5",
               const std::string& token = "admin") {
    return ask(request("GET", target, version, token));
  }
  Response post(const std::string& target, const std::string& version = "2.5",
                const std::string& token = "admin") {
    return ask(request("POST", target, version, token));
  }

  static std::string header(const Response& response, const std::string& name) {
    std::string all;
    for (const Header& one : response.headers) {
      if (one.name == name) all += (all.empty() ? "" : ",") + one.value;
    }
    return all;
  }

  // What a client prints of an error: Cyborg's fault inside its fault.
  static std::string fault_of(const Response& response) {
    const auto outer = json::parse(response.body, 65'536);
    if (!outer) return "no JSON: " + response.body;
    const auto inner =
        json::parse(json::maybe_string(*outer, "error_message").value_or(""), 65'536);
    if (!inner) return "no fault: " + response.body;
    return json::maybe_string(*inner, "faultstring").value_or("no faultstring");
  }

  // Holds `body` against tests/data/api/NAME byte for byte. With RECLAIM_WRITE_GOLDEN in the
  // environment it is written instead, to be looked at and committed.
  static void expect_golden(const std::string& name, const std::string& body) {
    const std::string path = source_path("tests/data/api/") + name;
    if (std::getenv("RECLAIM_WRITE_GOLDEN") != nullptr) std::ofstream(path) << body << "\n";
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), body + "\n") << path;
  }

  Queue queue;
  TestClock clock;
  TestLogger logger;
  MemoryStore store{queue};
  MemoryTokens tokens{queue};
  CountedTurns turns{queue};
  std::unique_ptr<Api> api;
};

}  // namespace reclaim::api
