// How many requests a second are served on kept connections, with a body of the size that the
// devices of one well-filled host have: our server beside the threading server of Python's standard
// library (Nagle off, answers written at once), by turns in one run, each in a process of its own
// and asked by the same client. The rate is what a client sees, the processor time what it costs;
// on a machine with other work only the latter is steady.
//
//   http_bench [REQUESTS [ROUNDS [CONNECTIONS]]]      default 20000 5 8
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tests/integration/http_harness.h"

namespace reclaim::testing {
namespace {

constexpr std::size_t kBodyBytes = 24 * 450;  // drives, and what GET /v2/devices says of each

// A server in a child of ours, and the port it listens on.
class Child final {
 public:
  // `serve` writes the port and a line's end to the descriptor, and never returns.
  explicit Child(const std::function<void(int)>& serve) {
    std::array<int, 2> ends{};
    CHECK(pipe(ends.data()) == 0);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      close(ends[0]);
      serve(ends[1]);
      _exit(1);
    }
    close(ends[1]);
    std::string text;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) text += c;
    close(ends[0]);
    port_ = std::atoi(text.c_str());
    CHECK(port_ > 0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] double used_s() const {
    clockid_t clock{};
    timespec used{};
    CHECK(clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &used) == 0);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

void serve_ours(int out) {
  uv::Loop loop;
  NullLogger log;
  const SystemClock clock;
  listener::HttpServerOptions options;
  options.bind = {"127.0.0.1:0"};
  auto server = listener::HttpServer::create(
      loop.raw(), options,
      [](api::Request, const Once<api::Response>& done) {
        api::Response response;
        response.headers = {{"Content-Type", "application/json"}};
        response.body.assign(kBodyBytes, 'x');
        done(std::move(response));
      },
      clock, log);
  CHECK(server.ok());
  const std::string url = (*server)->addresses()[0];
  dprintf(out, "%s\n", url.substr(url.rfind(':') + 1).c_str());
  loop.run();
}

void serve_python(int out) {
  const std::string program = fmt::format(R"(
import http.server, os
BODY = b'x' * {}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
os.write({}, b'%d\n' % server.server_address[1])
server.serve_forever()
)",
                                          kBodyBytes, out);
  execl("/usr/bin/python3", "python3", "-c", program.c_str(), nullptr);
}

struct Figures {
  double per_s = 0;
  double used_us = 0;  // processor time of the server for one request
};

// Each connection has one request under way.
Figures ask(const Child& server, int requests, int connections) {
  constexpr std::string_view kGet =
      "GET /v2/devices HTTP/1.1\r\nHost: api\r\nAccept: application/json\r\n"
      "X-Auth-Token: 0123456789abcdef0123456789abcdef\r\n\r\n";
  std::vector<Wire> wires;
  for (int i = 0; i < connections; ++i) wires.push_back(Wire::tcp(server.port()));
  const std::uint64_t began = uv_hrtime();
  const double used_before = server.used_s();
  int asked = 0;
  for (; asked < requests; asked += connections) {
    for (Wire& wire : wires) CHECK(wire.say(kGet));
    for (Wire& wire : wires) CHECK(wire.hear_answer().size() > kBodyBytes);
  }
  return {asked * 1e9 / static_cast<double>(uv_hrtime() - began),
          (server.used_s() - used_before) * 1e6 / asked};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int bench(int requests, int rounds, int connections) {
  const Child ours(serve_ours);
  const Child python(serve_python);
  std::vector<double> faster;
  std::vector<double> cheaper;
  for (int round = 0; round < rounds; ++round) {
    const Figures we = ask(ours, requests, connections);
    const Figures they = ask(python, requests, connections);
    faster.push_back(we.per_s / they.per_s);
    cheaper.push_back(they.used_us / we.used_us);
    fmt::print(
        "round {}: ours {:.0f}/s at {:.1f} us of processor time each, Python's http.server "
        "{:.0f}/s at {:.1f} us\n",
        round + 1, we.per_s, we.used_us, they.per_s, they.used_us);
  }
  fmt::print(
      "GET of {} bytes over {} kept connections: {:.2f} times as many a second, at {:.2f} "
      "times less processor time (medians)\n",
      kBodyBytes, connections, median(faster), median(cheaper));
  return 0;
}

}  // namespace
}  // namespace reclaim::testing

int main(int argc, char** argv) {
  const auto number = [argc, argv](int at, int otherwise) {
    return argc > at ? std::max(1, std::atoi(argv[at])) : otherwise;
  };
  return reclaim::testing::bench(number(1, 20'000), number(2, 5), number(3, 8));
}
