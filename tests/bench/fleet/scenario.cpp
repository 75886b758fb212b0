#include "tests/bench/fleet/scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace reclaim::fleet {
namespace {

// From the first survey to the second each worker does what it does only once.
constexpr std::int64_t kSettleS = 10;
// What systemd waits before it starts a worker again (RestartSec= of the unit).
constexpr std::int64_t kRestartS = 5;
// Longer than the others take to notice.
constexpr std::int64_t kNodeAwayS = 20;

void say(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
}

void pause_s(std::int64_t seconds) {
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
}

// Spread over the hosts: their first drives, then their second ones.
std::vector<Place> tenancies(const FleetOptions& fleet, std::size_t count) {
  std::vector<Place> places;
  for (std::size_t drive = 0; drive < fleet.drives; ++drive) {
    for (std::size_t host = 0; host < fleet.hosts; ++host) {
      if (places.size() < count) places.push_back({host, drive});
    }
  }
  return places;
}

std::size_t drives_of(const FleetOptions& fleet) {
  return fleet.hosts * fleet.drives;
}

// Adds `of_host` up, a Lua expression that knows the host as `h`.
std::size_t sum(const Fleet& fleet, const std::string& of_host) {
  const std::string text = fleet.redis().cli(
      {"EVAL",
       "local n = 0 for _, h in ipairs(redis.call('SMEMBERS', 'reclaim:hosts')) do n = n + " +
           of_host + " end return n",
       "0"});
  return std::strtoul(text.c_str(), nullptr, 10);
}

// So many records are in Redis.
std::size_t records(const Fleet& fleet) {
  return sum(fleet, "redis.call('SCARD', 'reclaim:{' .. h .. '}:devices')");
}

// So many of them are in error.
std::size_t in_error(const Fleet& fleet) {
  return sum(fleet,
             "(function() local failed = 0 "
             "for _, a in ipairs(redis.call('SMEMBERS', 'reclaim:{' .. h .. '}:devices')) do "
             "if redis.call('HGET', 'reclaim:{' .. h .. '}:device:' .. a, 'stage') == 'error' "
             "then failed = failed + 1 end end return failed end)()");
}

void add_rates(Figures& out, const std::string& phase, const Rates& rates) {
  out.add(phase + "_s", rates.seconds, 1);
  out.add(phase + "_placement_per_s", rates.placement / rates.seconds, 1);
  out.add(phase + "_placement_peak_per_s", rates.placement_peak, 0);
  out.add(phase + "_tokens", rates.keystone, 0);
  out.add(phase + "_redis_per_s", rates.redis / rates.seconds, 1);
  out.add(phase + "_workers_cpu_percent", 100 * rates.workers_cpu_s / rates.seconds, 1);
  out.add(phase + "_redis_cpu_percent", 100 * rates.redis_cpu_s / rates.seconds, 1);
  out.add(phase + "_rabbit_cpu_percent", 100 * rates.rabbit_cpu_s / rates.seconds, 1);
}

void start(Fleet& fleet, Figures& out) {
  const Moment before = fleet.now();
  fleet.start_in_turn();
  wait_until([&] { return records(fleet) == drives_of(fleet.options()); });
  const Moment after = fleet.now();
  add_rates(out, "start", between(before, after));
  pause_s(kSettleS);
  const auto drives = static_cast<double>(drives_of(fleet.options()));
  const auto hosts = static_cast<double>(fleet.options().hosts);
  const RedisLoad redis = redis_load(fleet.redis());
  const double used =
      static_cast<double>(redis.used_bytes) - static_cast<double>(before.redis.used_bytes);
  out.add("redis_bytes_per_device", used / drives, 0);
  out.add("redis_connections_per_host", static_cast<double>(redis.connections) / hosts, 1);
  out.add("resident_mb_per_host", static_cast<double>(fleet.resident()) / 1e6 / hosts, 2);
}

// What a fleet takes while nothing happens to it.
void watch(Fleet& fleet, Figures& out, const std::string& phase, std::int64_t seconds) {
  say(fmt::format("{} for {} s", phase, seconds));
  const Moment before = fleet.now();
  pause_s(seconds);
  const Moment after = fleet.now();
  const Rates rates = between(before, after);
  add_rates(out, phase, rates);
  const double host_minutes = static_cast<double>(fleet.options().hosts) * rates.seconds / 60;
  out.add(phase + "_placement_per_host_minute", rates.placement / host_minutes);
  out.add(phase + "_redis_per_host_minute", rates.redis / host_minutes);
  out.add(phase + "_cpu_percent_per_1000_hosts",
          100 * rates.workers_cpu_s / rates.seconds * 1'000 /
              static_cast<double>(fleet.options().hosts),
          1);
  out.add(phase + "_placement_by_kind", most_frequent(before.asked.kinds, after.asked.kinds));
  out.add(phase + "_redis_by_command", most_frequent(before.redis.commands, after.redis.commands));
}

// As long as a periodic survey takes to come round, before and after: each has one of every host.
void evacuate(Fleet& fleet, Figures& out, const std::vector<Place>& places) {
  constexpr std::int64_t kSurveysS = 60;
  say(fmt::format("{} events that name no host", places.size()));
  pause_s(kSurveysS);  // the first surveys read everything
  const Moment before = fleet.now();
  pause_s(kSurveysS);
  const Moment idle = fleet.now();
  fleet.evacuate(places);
  pause_s(kSurveysS);
  const Moment after = fleet.now();
  const Rates of_idle = between(before, idle);
  const Rates rates = between(idle, after);
  const auto count = static_cast<double>(places.size());
  add_rates(out, "evacuation", rates);
  out.add("placement_per_evacuation", (rates.placement - of_idle.placement) / count);
}

// What a fleet asks while drives of it wait for an operator.
void stand_in_error(Fleet& fleet, Figures& out, const std::vector<Place>& places) {
  constexpr std::int64_t kWatchS = 60;
  say(fmt::format("{} instances go whose drives refuse to sanitize", places.size()));
  fleet.break_drives(places);
  fleet.delete_instances(places, 0);
  wait_until([&] { return in_error(fleet) == places.size(); });
  pause_s(kWatchS);  // the looks after the deletions
  watch(fleet, out, "in_error", kWatchS);
}

// Who hears of them surveys nothing, so that all is the cost of finding out whom to tell.
void notify(Fleet& fleet, Figures& out, std::size_t notifications) {
  say(fmt::format("{} notifications for hosts without a worker", notifications));
  const Moment before = fleet.now();
  fleet.notify_known(notifications);
  const Rates rates = between(before, fleet.now());
  const auto count = static_cast<double>(notifications);
  add_rates(out, "notify", rates);
  out.add("redis_per_notification", rates.redis / count, 1);
  out.add("redis_bytes_per_notification", rates.redis_sent / count, 0);
  out.add("redis_cpu_ms_per_notification", 1'000 * rates.redis_cpu_s / count, 3);
  out.add("workers_cpu_ms_per_notification", 1'000 * rates.workers_cpu_s / count, 3);
}

// Every tenth process, at least one, dies when a fifth is clean, and comes back as systemd would
// bring it back.
void kill_a_tenth(Fleet& fleet, Figures& out, std::size_t deletions) {
  wait_until([&] { return fleet.cleaned() >= deletions / 5; });
  std::vector<std::size_t> killed;
  for (std::size_t i = 0; i < fleet.processes(); i += 10) killed.push_back(i);
  say(fmt::format("kill -9 of {} of {} processes", killed.size(), fleet.processes()));
  for (const std::size_t process : killed) fleet.end(process, SIGKILL);
  pause_s(kRestartS);
  for (const std::size_t process : killed) fleet.start(process);
  out.add("killed_processes", static_cast<std::int64_t>(killed.size()));
}

void kill_redis(Fleet& fleet, Figures& out, std::size_t deletions) {
  wait_until([&] { return fleet.cleaned() >= deletions / 5; });
  say("kill -9 of Redis' master");
  const std::int64_t began_ms = now_ms();
  fleet.kill_redis();
  out.add("redis_failover_s", static_cast<double>(now_ms() - began_ms) / 1'000, 1);
}

// The notifications are on their way, and the publisher is at the third node.
void trouble_nodes(Fleet& fleet, const Scenario& scenario) {
  if (scenario.kill_node) {
    say("kill -9 of the first RabbitMQ node");
    fleet.cluster().node(0).kill_node();
    pause_s(kNodeAwayS);
    CHECK(fleet.cluster().node(0).start());
    CHECK(fleet.cluster().wait_whole(2));
  }
  if (scenario.partition_node) {
    say("a partition: the second RabbitMQ node is alone");
    CHECK(fleet.cluster().partition(1));
    pause_s(kNodeAwayS);
    CHECK(fleet.cluster().heal(1));
    CHECK(fleet.cluster().wait_whole(2));
  }
}

void storm(Fleet& fleet, Figures& out, const Scenario& scenario, const std::vector<Place>& places) {
  say(fmt::format("{} deletions", places.size()));
  const Moment before = fleet.now();
  const std::int64_t began_ms = now_ms();
  std::thread nodes([&] { trouble_nodes(fleet, scenario); });
  fleet.delete_instances(places, scenario.a_second);
  if (scenario.kill_redis) kill_redis(fleet, out, places.size());
  if (scenario.kill) kill_a_tenth(fleet, out, places.size());
  wait_until([&] { return fleet.cleaned() == places.size(); });
  nodes.join();
  const double seconds = static_cast<double>(now_ms() - began_ms) / 1'000;
  const Moment after = fleet.now();
  const Rates rates = between(before, after);
  const auto count = static_cast<double>(places.size());
  add_rates(out, "storm", rates);
  out.add("deletions", static_cast<std::int64_t>(places.size()));
  out.add("deletions_a_second", static_cast<std::int64_t>(scenario.a_second));
  out.add("cleaned_per_s", count / seconds, 1);
  const std::vector<double> times = fleet.clean_ms();
  out.add("clean_p50_s", percentile(times, 50) / 1'000);
  out.add("clean_p95_s", percentile(times, 95) / 1'000);
  out.add("clean_p99_s", percentile(times, 99) / 1'000);
  out.add("clean_max_s", percentile(times, 100) / 1'000);
  out.add("placement_per_clean", rates.placement / count);
  out.add("redis_per_clean", rates.redis / count);
  out.add("workers_cpu_ms_per_clean", 1'000 * rates.workers_cpu_s / count);
  out.add("messages_received", rates.received, 0);
  out.add("messages_delivered", rates.delivered, 0);
  out.add("messages_redelivered", rates.redelivered, 0);
  out.add("storm_placement_by_kind", most_frequent(before.asked.kinds, after.asked.kinds));
  out.add("storm_redis_by_command", most_frequent(before.redis.commands, after.redis.commands));
}

void restart(Fleet& fleet, Figures& out) {
  say("restart of all");
  const Moment before = fleet.now();
  fleet.stop_all();
  fleet.start_all();
  fleet.wait_listed();
  add_rates(out, "restart", between(before, fleet.now()));
}

}  // namespace

Figures run(const Scenario& scenario) {
  Figures out;
  out.add("hosts", static_cast<std::int64_t>(scenario.fleet.hosts));
  out.add("drives_per_host", static_cast<std::int64_t>(scenario.fleet.drives));
  Fleet fleet(scenario.fleet);
  out.add("processes", static_cast<std::int64_t>(fleet.processes()));
  out.add("processors", static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  out.add("erase_s", static_cast<double>(scenario.fleet.erase_ms) / 1'000);
  const std::vector<Place> places = tenancies(scenario.fleet, scenario.deletions);
  fleet.let(tenancies(scenario.fleet,
                      std::max({scenario.deletions, scenario.evacuations, scenario.in_error})));
  say(fmt::format("{} hosts start", scenario.fleet.hosts));
  start(fleet, out);
  if (scenario.idle_s > 0) {
    pause_s(scenario.idle_s);  // the looks after the start
    watch(fleet, out, "idle", scenario.idle_s);
  }
  if (scenario.evacuations > 0) {
    evacuate(fleet, out, tenancies(scenario.fleet, scenario.evacuations));
  }
  if (scenario.in_error > 0) {
    stand_in_error(fleet, out, tenancies(scenario.fleet, scenario.in_error));
  }
  if (scenario.notifications > 0) notify(fleet, out, scenario.notifications);
  if (!places.empty()) storm(fleet, out, scenario, places);
  if (scenario.restart) restart(fleet, out);
  const Fleet::Wrong wrong = fleet.wrong();
  out.add("released_dirty", static_cast<std::int64_t>(wrong.released_dirty));
  out.add("erased_in_use", static_cast<std::int64_t>(wrong.erased_in_use));
  out.add("erased_again", static_cast<std::int64_t>(wrong.erased_again));
  return out;
}

}  // namespace reclaim::fleet
