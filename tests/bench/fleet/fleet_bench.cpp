// A fleet on one machine: how much of Placement, Redis, RabbitMQ and the processor it takes, idle
// and when many instances are deleted at once. docs/scaling.md has what was seen.
#include <fmt/core.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "cli/format.h"
#include "state/base/text.h"
#include "tests/bench/fleet/hosts.h"
#include "tests/bench/fleet/scenario.h"

namespace reclaim::fleet {
namespace {

constexpr std::string_view kHelp =
    R"(fleet_bench [OPTION]...   a fleet on one machine: what it asks of its services

Each host is the worker that ships, with drives that answer from memory; several share a process.
Redis and RabbitMQ are real, Keystone and Placement are the bench's own and count.

  --hosts N            how many (default 100)
  --drives N           of each host (8, at most 200)
  --hosts-a-process N  (25)
  --erase-ms N         how long a drive takes to sanitize (2000)
  --idle-s N           watch the fleet so long while nothing happens, so long after its start;
                       0: do not (60)
  --evacuations N      then N events at once that name no host, of instances that have drives (0)
  --in-error N         then N instances go whose drives refuse to be erased, and are watched (0)
  --known-hosts N      Redis has the heartbeats of so many more, without workers (0)
  --notifications N    then so many events that name one of those (0)
  --deletions N        then delete so many instances (0)
  --rate N             so many a second; 0: as fast as RabbitMQ confirms (0)
  --kill               kill -9 a tenth of the processes meanwhile
  --kill-redis         Redis is a master and its replica behind three sentinels: kill -9 of the
                       master meanwhile
  --cluster            RabbitMQ is three nodes with quorum queues
  --kill-node          with --cluster: kill -9 one of them meanwhile; it comes back
  --partition-node     with --cluster: then another one has no link with the rest for a while
  --survey-interval-s N  [reclaim] survey_interval_s (60); with 3600 an event that is lost is seen:
                       its device is not cleaned, and the run does not end
  --restart            then restart all processes at once
  -f table|json        how the figures are printed (table)

With a drive that was given back dirty or erased in use the exit code is 1.
)";

struct Asked {
  Scenario scenario;
  cli::View view;
};

// Exits with the remedy where a word is none of ours.
Asked parse(int argc, char** argv) {
  Asked asked;
  const auto fail = [](const std::string& why) {
    fmt::print(stderr, "{}; --help lists the options\n", why);
    std::exit(2);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&](std::size_t at_least, std::size_t at_most) -> std::size_t {
      const auto value =
          i + 1 < argc ? parse_number<std::size_t>(argv[++i]) : std::optional<std::size_t>();
      if (!value || *value < at_least || *value > at_most) {
        fail(fmt::format("{} needs a number from {} to {}", word, at_least, at_most));
      }
      return *value;
    };
    FleetOptions& fleet = asked.scenario.fleet;
    if (word == "--help") {
      fmt::print("{}", kHelp);
      std::exit(0);
    }
    if (word == "--hosts") {
      fleet.hosts = number(1, 10'000);
    } else if (word == "--drives") {
      fleet.drives = number(1, 200);
    } else if (word == "--hosts-a-process") {
      fleet.hosts_a_process = number(1, 200);
    } else if (word == "--erase-ms") {
      fleet.erase_ms = static_cast<std::int64_t>(number(1, 3'600'000));
    } else if (word == "--idle-s") {
      asked.scenario.idle_s = static_cast<std::int64_t>(number(0, 86'400));
    } else if (word == "--deletions") {
      asked.scenario.deletions = number(0, 1'000'000);
    } else if (word == "--evacuations") {
      asked.scenario.evacuations = number(0, 1'000'000);
    } else if (word == "--in-error") {
      asked.scenario.in_error = number(0, 1'000'000);
    } else if (word == "--known-hosts") {
      fleet.known_hosts = number(0, 99'000);
    } else if (word == "--notifications") {
      asked.scenario.notifications = number(0, 1'000'000);
    } else if (word == "--rate") {
      asked.scenario.a_second = number(0, 100'000);
    } else if (word == "--kill") {
      asked.scenario.kill = true;
    } else if (word == "--kill-redis") {
      asked.scenario.kill_redis = true;
      fleet.sentinels = true;
    } else if (word == "--cluster") {
      fleet.cluster = true;
    } else if (word == "--kill-node") {
      asked.scenario.kill_node = true;
    } else if (word == "--partition-node") {
      asked.scenario.partition_node = true;
    } else if (word == "--survey-interval-s") {
      fleet.survey_interval_s = static_cast<std::int64_t>(number(5, 3'600));
    } else if (word == "--restart") {
      asked.scenario.restart = true;
    } else if (word == "-f") {
      const auto format = cli::parse_format(i + 1 < argc ? argv[++i] : "");
      if (!format) fail(format.error().what);
      asked.view.format = *format;
    } else {
      fail(fmt::format("'{}' is no option", word));
    }
  }
  const FleetOptions& fleet = asked.scenario.fleet;
  if (asked.scenario.deletions > fleet.hosts * fleet.drives) {
    fail("--deletions: there are fewer drives than that");
  }
  if (asked.scenario.evacuations > fleet.hosts * fleet.drives) {
    fail("--evacuations: there are fewer drives than that");
  }
  if (asked.scenario.in_error > fleet.hosts * fleet.drives) {
    fail("--in-error: there are fewer drives than that");
  }
  if (asked.scenario.in_error > 0 && asked.scenario.deletions > 0) {
    fail("--in-error and --deletions take the same drives: one at a time");
  }
  if (asked.scenario.notifications > 0 && fleet.known_hosts == 0) {
    fail("--notifications needs --known-hosts");
  }
  if ((asked.scenario.kill_node || asked.scenario.partition_node) && !fleet.cluster) {
    fail("--kill-node and --partition-node need --cluster");
  }
  return asked;
}

int bench_main(int argc, char** argv) {
  const Asked asked = parse(argc, argv);
  raise_descriptors();
  const Figures figures = run(asked.scenario);
  const auto text = cli::format_show(figures.fields(), asked.view);
  CHECK(text.ok());
  fmt::print("{}", *text);
  for (const auto& [name, value] : figures.fields()) {
    const bool must_be_zero = name == "released_dirty" || name == "erased_in_use";
    if (must_be_zero && value != cli::Cell(std::int64_t{0})) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace reclaim::fleet

int main(int argc, char** argv) {
  using namespace reclaim::fleet;
  if (argc == kHostsWords && std::string_view(argv[1]) == kHostsWord) {
    return serve_hosts(hosts_options(argv));
  }
  return bench_main(argc, argv);
}
