// How fast recorded traffic is drained from a real RabbitMQ: our link (decode, decide, batched
// acks) beside a plain librabbitmq consumer that decodes nothing (same prefetch, acks by the
// hundred), by turns in one run, each in a process of its own so that its peak memory can be told
// apart.
//
//   drain_bench [MESSAGES [ROUNDS]]      default 60000 4
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "handlers/bus/kick.h"
#include "listener/amqp/link.h"
#include "state/base/json.h"
#include "tests/integration/rabbitmq_broker.h"
#include "tests/source_path.h"

namespace reclaim::testing {
namespace {

constexpr int kPrefetch = 500;
constexpr const char* kKey = "versioned_notifications.info";

struct Figures {
  double seconds = 0;
  std::uint64_t kicks = 0;
};

struct Run {
  Figures figures;
  long peak_kb = 0;
};

void fill(const RabbitMqBroker& broker, std::uint64_t count) {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  std::vector<std::string> bodies;
  for (std::string line; std::getline(in, line);) {
    bodies.push_back(*json::get_string(*json::parse(line, 1U << 20U), "body"));
  }
  RabbitMqClient client(broker);
  for (std::uint64_t i = 0; i < count; ++i) {
    client.publish("bench.exchange", kKey, bodies[i % bodies.size()]);
  }
  while (client.messages("bench").value_or(0) < count) ::usleep(100'000);
}

double now_s() {
  return static_cast<double>(uv_hrtime()) / 1e9;
}

Figures drain_plainly(const RabbitMqBroker& broker, std::uint64_t count) {
  RabbitMqClient client(broker);
  const double begin = now_s();
  (void)client.drain("bench", count, kPrefetch);
  return {now_s() - begin, 0};
}

Figures drain_with_link(const RabbitMqBroker& broker, std::uint64_t count) {
  Figures figures;
  uv::Loop loop;
  NullLogger logger;
  KickDecider decider;
  listener::AmqpLink* link = nullptr;
  double begin = 0;
  auto options = broker.options("bench");
  options.prefetch = kPrefetch;
  auto made =
      listener::AmqpLink::create(loop.raw(), options, logger,
                                 {[&](const listener::AmqpDelivery& delivery) {
                                    const Decision decision = decider.decide_fast(delivery.body);
                                    figures.kicks += decision.verdict == Verdict::kick ? 1 : 0;
                                    link->ack(delivery.tag, delivery.incarnation);
                                  },
                                  nullptr});
  CHECK(made.ok());
  link = made->get();
  // The plain consumer's clock starts when it is connected, and so does this one's.
  begin = now_s();
  link->start();
  while (link->counters().acked < count) {
    if (!link->state().connected) begin = now_s();
    loop.run_once();
  }
  figures.seconds = now_s() - begin;
  bool stopped = false;
  link->stop([&] { stopped = true; });
  while (!stopped) loop.run_once();
  return figures;
}

// In a process of its own; its figures come back through a pipe, its peak memory from the kernel.
// The program is started again, so that nothing of this process counts as the child's.
Run in_child(const char* self, const char* how, int port, std::uint64_t count) {
  std::array<int, 2> pipe{};
  CHECK(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execl(self, self, how, fmt::format("{}", port).c_str(), fmt::format("{}", count).c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(pipe[1]);
  Run run;
  CHECK(::read(pipe[0], &run.figures, sizeof run.figures) == sizeof run.figures);
  ::close(pipe[0]);
  int status = 0;
  rusage usage{};
  CHECK(::wait4(child, &status, 0, &usage) == child && status == 0);
  run.peak_kb = usage.ru_maxrss;
  return run;
}

int child_main(const std::string& how, int port, std::uint64_t count) {
  const RabbitMqBroker broker = RabbitMqBroker::at(port);
  const Figures figures =
      how == "--plain" ? drain_plainly(broker, count) : drain_with_link(broker, count);
  CHECK(::write(STDOUT_FILENO, &figures, sizeof figures) == sizeof figures);
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

int bench_main(const char* self, std::uint64_t count, int rounds) {
  RabbitMqBroker broker;
  CHECK(broker.start());
  RabbitMqClient client(broker);
  client.declare_exchange("bench.exchange", false);
  client.declare_queue("bench", false, "classic");
  client.bind_queue("bench", "bench.exchange", kKey);
  std::vector<double> ratios;
  std::vector<double> ours;
  std::vector<double> plains;
  long peak_kb = 0;
  long plain_peak_kb = 0;
  for (int round = 0; round < rounds; ++round) {
    // Who goes first changes, since the broker warms up.
    std::array<Run, 2> runs{};
    for (int turn = 0; turn < 2; ++turn) {
      const bool link = (turn + round) % 2 == 0;
      fill(broker, count);
      runs[link ? 0 : 1] = in_child(self, link ? "--link" : "--plain", broker.port(), count);
    }
    ours.push_back(static_cast<double>(count) / runs[0].figures.seconds);
    plains.push_back(static_cast<double>(count) / runs[1].figures.seconds);
    ratios.push_back(ours.back() / plains.back());
    peak_kb = std::max(peak_kb, runs[0].peak_kb);
    plain_peak_kb = std::max(plain_peak_kb, runs[1].peak_kb);
    fmt::print(
        "round {}: link {:.0f} messages/s ({} kicks), plain {:.0f} messages/s, ratio {:.2f}\n",
        round + 1, ours.back(), runs[0].figures.kicks, plains.back(), ratios.back());
  }
  fmt::print("median: link {:.0f} messages/s, plain {:.0f} messages/s, ratio {:.2f}\n",
             median(ours), median(plains), median(ratios));
  fmt::print("peak resident memory: link {:.1f} MB, plain {:.1f} MB\n",
             static_cast<double>(peak_kb) / 1024, static_cast<double>(plain_peak_kb) / 1024);
  return 0;
}

}  // namespace
}  // namespace reclaim::testing

int main(int argc, char** argv) {
  using namespace reclaim::testing;
  const auto number = [&](int index, long fallback) {
    return argc > index ? std::strtol(argv[index], nullptr, 10) : fallback;
  };
  if (argc == 4) {
    return child_main(argv[1], static_cast<int>(number(2, 0)),
                      static_cast<std::uint64_t>(number(3, 0)));
  }
  return bench_main("/proc/self/exe", static_cast<std::uint64_t>(number(1, 60'000)),
                    static_cast<int>(number(2, 4)));
}
