#include "tests/bench/fleet/fleet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "state/base/json.h"
#include "state/redis/keys.h"
#include "tests/bench/fleet/hosts.h"
#include "tests/bench/fleet/shelf_drives.h"
#include "tests/source_path.h"

namespace reclaim::fleet {
namespace {

constexpr const char* kExchange = "nova";
constexpr const char* kKey = "versioned_notifications.info";
constexpr const char* kRecordedHost = "compute-2";
constexpr std::size_t kSentinels = 3;

// In memory where there is such a folder: the ledgers of a thousand hosts are on a thousand disks,
// and here they would share one.
std::filesystem::path parent_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

// The deletion of an instance as Nova sent it once.
std::string recorded_deletion() {
  std::ifstream in(source_path("tests/data/nova-2026.2/notifications.jsonl"));
  for (std::string line; std::getline(in, line);) {
    if (line.find("instance.delete.end") == std::string::npos) continue;
    if (line.find(kRecordedHost) == std::string::npos) continue;
    if (line.find(kKey) == std::string::npos) continue;
    return *json::get_string(*json::parse(line, 1U << 20U), "body");
  }
  CHECK(false);
}

std::string replaced(std::string body, const std::string& recorded, const std::string& by) {
  for (std::size_t at = body.find(recorded); at != std::string::npos;
       at = body.find(recorded, at)) {
    body.replace(at, recorded.size(), by);
    at += by.size();
  }
  return body;
}

// Nova sends one of these from wherever the instance goes; it names no host of ours.
std::string evacuation_of(const std::string& deletion, const std::string& instance) {
  constexpr std::string_view kUuid = R"(\"uuid\": \")";
  const std::size_t at = deletion.find(kUuid);
  CHECK(at != std::string::npos);
  const std::string recorded = deletion.substr(at + kUuid.size(), instance.size());
  return replaced(replaced(deletion, recorded, instance), "instance.delete.end",
                  "instance.evacuate");
}

std::string known_name(std::size_t number) {
  return fmt::format("known-{:05}", number);
}

}  // namespace

void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

Fleet::Fleet(const FleetOptions& options)
    : options_(options),
      temp_(parent_folder()),
      redis_({"--appendfsync", "everysec", "--repl-diskless-sync-delay", "0"}),
      shelf_(Shelf::make(folder_ + "/shelf", options.hosts * options.drives)),
      deleted_ms_(options.hosts * options.drives),
      released_ms_(options.hosts * options.drives) {
  start_bus();
  if (options_.sentinels) redis_.start(kSentinels, kSentinels / 2 + 1);
  placement_ = std::make_unique<CountingPlacement>(
      options.hosts, options.drives, [this](const Place& place) {
        const std::size_t number = number_of(place);
        Disk& disk = shelf_.disks()[number];
        settle(disk, now_ms());
        if (disk.dirty != 0 || disk.guest != 0) released_dirty_ += 1;
        if (deleted_ms_[number] != 0 && released_ms_[number] == 0) {
          released_ms_[number] = now_ms();
          cleaned_ += 1;
        }
      });
  pids_.resize((options.hosts + options.hosts_a_process - 1) / options.hosts_a_process);
  write_config();
  write_known_hosts();
}

Fleet::~Fleet() {
  for (std::size_t i = 0; i < pids_.size(); ++i) end(i, SIGKILL);
  placement_.reset();
}

std::size_t Fleet::number_of(const Place& place) const {
  return place.host * options_.drives + place.drive;
}

// The exchange as oslo.messaging makes it: durable where queues are quorum queues.
void Fleet::start_bus() {
  if (options_.cluster) {
    cluster_ = std::make_unique<testing::RabbitMqCluster>();
    CHECK(cluster_->start());
  } else {
    broker_ = std::make_unique<testing::RabbitMqBroker>();
    CHECK(broker_->start());
  }
  testing::RabbitMqClient(*nodes().back()).declare_exchange(kExchange, options_.cluster);
}

std::vector<const testing::RabbitMqBroker*> Fleet::nodes() const {
  if (!cluster_) return {broker_.get()};
  return {&cluster_->node(0), &cluster_->node(1), &cluster_->node(2)};
}

void Fleet::write_config() const {
  std::ofstream file(folder_ + "/reclaim.conf");
  file << fmt::format(
      "[DEFAULT]\ntransport_url = {}\n"
      "[oslo_messaging_rabbit]\nrabbit_quorum_queue = {}\n"
      "[reclaim]\nsurvey_interval_s = {}\n"
      // Generous: this machine has the processors of a host or two, and not of a fleet.
      "[redis]\nurl = {}\n"
      "connect_timeout_ms = 20000\ncommand_timeout_ms = 20000\n"
      "[placement]\nauth_type = password\nauth_url = {}/v3\nusername = reclaim\n"
      "password = secret\nuser_domain_name = Default\nproject_name = service\n"
      "project_domain_name = Default\n"
      "[nvme]\ndevice_spec = {{\"vendor_id\": \"{:04x}\", \"product_id\": \"{:04x}\"}}\n",
      cluster_ ? cluster_->transport_url() : broker_->transport_url(), options_.cluster,
      options_.survey_interval_s,
      options_.sentinels ? redis_.url()
                         : fmt::format("redis://127.0.0.1:{}/0", test::port_of(redis_.master())),
      placement_->url(), kVendor, kProduct);
  CHECK(file.good());
}

// As a worker writes them (state/redis/hosts.cpp), but that they do not expire.
void Fleet::write_known_hosts() const {
  constexpr std::size_t kAtOnce = 500;
  HostInfo info;
  info.version = "bench";
  info.machine_id = std::string(32, 'a');
  info.heartbeat_at = WallMs{now_ms()};
  for (std::size_t from = 0; from < options_.known_hosts; from += kAtOnce) {
    std::vector<std::string> names{"SADD", redis_keys::kHosts};
    std::vector<std::string> words{"MSET"};
    for (std::size_t i = from; i < std::min(from + kAtOnce, options_.known_hosts); ++i) {
      info.host = known_name(i);
      info.nodes = {info.host, info.host + ".example.org"};
      names.push_back(info.host);
      words.insert(words.end(),
                   {redis_keys::of_host(info.host, "machine"), info.machine_id,
                    redis_keys::of_host(info.host, "alive"), redis_keys::encode_host(info)});
    }
    redis().cli(names);
    redis().cli(words);
  }
}

void Fleet::start(std::size_t process) {
  CHECK(pids_[process] == 0);
  HostsOptions hosts;
  hosts.config_file = folder_ + "/reclaim.conf";
  hosts.folder = folder_;
  hosts.first = process * options_.hosts_a_process;
  hosts.hosts = std::min(options_.hosts_a_process, options_.hosts - hosts.first);
  hosts.drives = options_.drives;
  hosts.erase_ms = options_.erase_ms;
  std::vector<std::string> words = to_words(hosts);
  words.insert(words.begin(), "fleet_bench");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string log = fmt::format("{}/process-{}.log", folder_, process);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(127);
  }
  pids_[process] = child;
}

void Fleet::end(std::size_t process, int signal) {
  pid_t& pid = pids_[process];
  if (pid == 0) return;
  CHECK(::kill(pid, signal) == 0);
  rusage usage{};
  CHECK(::wait4(pid, nullptr, 0, &usage) == pid);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  ended_cpu_s_ += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  pid = 0;
}

void Fleet::start_in_turn() {
  placement_->forget_listed();
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    start(i);
    const std::size_t hosts = std::min((i + 1) * options_.hosts_a_process, options_.hosts);
    wait_until([this, hosts] {
      const std::string known = redis().cli({"SCARD", redis_keys::kHosts});
      return std::strtoul(known.c_str(), nullptr, 10) >= hosts + options_.known_hosts;
    });
  }
}

void Fleet::start_all() {
  placement_->forget_listed();
  for (std::size_t i = 0; i < pids_.size(); ++i) start(i);
}

void Fleet::stop_all() {
  for (const pid_t pid : pids_) CHECK(::kill(pid, SIGTERM) == 0);
  for (std::size_t i = 0; i < pids_.size(); ++i) end(i, SIGTERM);
}

void Fleet::wait_listed() {
  wait_until([this] { return placement_->listed() == options_.hosts; });
}

void Fleet::let(const std::vector<Place>& places) {
  placement_->allocate(places);
  for (const Place& place : places) tenant_comes(shelf_.disks()[number_of(place)]);
}

void Fleet::delete_instances(const std::vector<Place>& places, std::size_t a_second) {
  const std::string recorded = recorded_deletion();
  testing::ConfirmedPublisher publisher(*nodes().back());
  const auto began = std::chrono::steady_clock::now();
  std::size_t deleted = 0;
  for (const Place& place : places) {
    if (a_second > 0) {
      std::this_thread::sleep_until(began + std::chrono::milliseconds(1'000 * deleted / a_second));
    }
    deleted += 1;
    placement_->deallocate({place});
    tenant_leaves(shelf_.disks()[number_of(place)]);
    deleted_ms_[number_of(place)] = now_ms();
    publisher.publish(kExchange, kKey, replaced(recorded, kRecordedHost, host_name(place.host)));
  }
}

void Fleet::break_drives(const std::vector<Place>& places) {
  for (const Place& place : places) shelf_.disks()[number_of(place)].broken = 1;
}

void Fleet::evacuate(const std::vector<Place>& places) {
  const std::string recorded = recorded_deletion();
  testing::ConfirmedPublisher publisher(*nodes().back());
  for (const Place& place : places) {
    publisher.publish(kExchange, kKey,
                      evacuation_of(recorded, consumer_of(place.host, place.drive)));
  }
}

void Fleet::notify_known(std::size_t count) {
  const std::uint64_t acknowledged = rabbit_load(nodes()).acknowledged;
  const std::string recorded = recorded_deletion();
  testing::ConfirmedPublisher publisher(*nodes().back());
  for (std::size_t i = 0; i < count; ++i) {
    publisher.publish(kExchange, kKey,
                      replaced(recorded, kRecordedHost, known_name(i % options_.known_hosts)));
  }
  wait_until([&] { return rabbit_load(nodes()).acknowledged - acknowledged >= count; });
}

std::vector<double> Fleet::clean_ms() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < deleted_ms_.size(); ++i) {
    if (released_ms_[i] != 0) out.push_back(static_cast<double>(released_ms_[i] - deleted_ms_[i]));
  }
  return out;
}

Fleet::Wrong Fleet::wrong() const {
  Wrong wrong;
  wrong.released_dirty = released_dirty_;
  for (const Disk& disk : shelf_.disks()) {
    wrong.erased_in_use += disk.erased_with_guest;
    wrong.erased_again += disk.erases > disk.tenants ? 1 : 0;
  }
  return wrong;
}

const test::RedisServer& Fleet::redis() const {
  return failover_ ? redis_.replica() : redis_.master();
}

void Fleet::kill_redis() {
  const Failover failover{redis_load(redis_.master()), redis_load(redis_.replica())};
  redis_.master().kill_hard();
  wait_until([this] { return redis_.replica().cli({"ROLE"}).starts_with("master"); });
  failover_ = failover;
}

// What a replica repeats of its master is counted once.
RedisLoad Fleet::redis_load_so_far() const {
  RedisLoad load = redis_load(redis());
  if (!failover_) return load;
  load.total += failover_->master.total - failover_->replica.total;
  load.sent_bytes += failover_->master.sent_bytes - failover_->replica.sent_bytes;
  load.cpu_s += failover_->master.cpu_s - failover_->replica.cpu_s;
  for (const auto& [name, calls] : failover_->master.commands) load.commands[name] += calls;
  for (const auto& [name, calls] : failover_->replica.commands) load.commands[name] -= calls;
  return load;
}

Moment Fleet::now() const {
  Moment moment;
  moment.rabbit = rabbit_load(nodes());
  moment.redis = redis_load_so_far();
  moment.asked = placement_->asked();
  moment.workers_cpu_s = ended_cpu_s_;
  for (const pid_t pid : pids_) moment.workers_cpu_s += pid == 0 ? 0 : cpu_s(pid);
  moment.at_ms = now_ms();
  return moment;
}

std::uint64_t Fleet::resident() const {
  std::uint64_t sum = 0;
  for (const pid_t pid : pids_) sum += pid == 0 ? 0 : resident_bytes(pid);
  return sum;
}

}  // namespace reclaim::fleet
