#include "tests/bench/fleet/hosts.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "config/load.h"
#include "config/module_options.h"
#include "listener/daemon.h"
#include "listener/signals.h"
#include "tests/bench/fleet/counting_placement.h"
#include "tests/bench/fleet/shelf_drives.h"

namespace reclaim::fleet {
namespace {

// What is worth looking at when a run goes wrong.
class WarningsOnly final : public Logger {
 public:
  void write(LogLevel level, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override {
    if (level < LogLevel::warning) return;
    std::string line = fmt::format("{} {} {} {}", now_ms(), to_string(level), name, text);
    for (const LogField& field : fields) line += fmt::format(" {}={}", field.key, field.value);
    fmt::print(stderr, "{}\n", line);
  }
};

struct FleetHost {
  config::Settings settings;
  std::unique_ptr<ShelfDrives> drives;
  std::unique_ptr<listener::Daemon> daemon;
};

// A machine of its own, as far as Redis and Placement can tell.
config::MachineFacts machine_of(std::size_t host) {
  return {fmt::format("{:032x}", host + 1), {}, fmt::format("boot-{}", host), {}};
}

}  // namespace

void raise_descriptors() {
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

std::vector<std::string> to_words(const HostsOptions& options) {
  return {kHostsWord,
          options.config_file,
          options.folder,
          std::to_string(options.first),
          std::to_string(options.hosts),
          std::to_string(options.drives),
          std::to_string(options.erase_ms)};
}

HostsOptions hosts_options(char** words) {
  const auto number = [&](int index) { return std::strtoul(words[index], nullptr, 10); };
  return {words[2],  words[3],  number(4),
          number(5), number(6), static_cast<std::int64_t>(number(7))};
}

int serve_hosts(const HostsOptions& options) {
  raise_descriptors();
  const auto loaded = config::load_settings({{options.config_file}, {}, {}});
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().what);
    return 1;
  }
  WarningsOnly log;
  const Shelf shelf = Shelf::open(options.folder + "/shelf");
  uv::Loop loop;
  {
    std::vector<std::unique_ptr<FleetHost>> hosts;
    std::size_t left = options.hosts;
    for (std::size_t i = options.first; i < options.first + options.hosts; ++i) {
      auto host = std::make_unique<FleetHost>();
      host->settings = loaded->settings;
      host->settings.host = host_name(i);
      host->settings.state_path = fmt::format("{}/{}", options.folder, host_name(i));
      std::filesystem::create_directories(host->settings.state_path);
      host->drives = std::make_unique<ShelfDrives>(
          loop.raw(), shelf.disks().subspan(i * options.drives, options.drives),
          fmt::format("S{:05}D", i + 1), options.erase_ms);
      auto daemon = listener::Daemon::create(loop.raw(), host->settings, machine_of(i), log,
                                             host->drives.get());
      if (!daemon) {
        fmt::print(stderr, "{}: {}\n", host_name(i), daemon.error().what);
        return 1;
      }
      host->daemon = *std::move(daemon);
      hosts.push_back(std::move(host));
    }
    const listener::Signals signals(
        loop.raw(),
        [&] {
          for (const auto& host : hosts) {
            host->daemon->stop([&left, &loop] {
              if (--left == 0) loop.stop();
            });
          }
        },
        [] {});
    for (const auto& host : hosts) {
      host->daemon->start(
          [&log](const Error& error) { log.error(log_name::kService, error.what); });
    }
    loop.run();
  }
  return 0;
}

}  // namespace reclaim::fleet
