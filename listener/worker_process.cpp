// `reclaim serve`: the worker of a host, which has its drives, on a loop of its own.
#include "config/machine_facts.h"
#include "listener/daemon.h"
#include "listener/process.h"
#include "listener/signals.h"

namespace reclaim::listener {

Result<int> run_worker(const config::Settings& settings, const config::LoadRequest& files,
                       Logger& log) {
  auto machine = config::read_machine_facts(settings);
  // The configuration is not at fault: Nova may write its file any moment, so the unit tries again.
  if (!machine) return Error{Errc::failed, machine.error().what};
  uv::Loop loop;
  int exit_code = 0;
  {
    auto daemon = Daemon::create(loop.raw(), settings, *machine, log);
    if (!daemon) return daemon.error();
    const auto stop = [&daemon, &loop] { (*daemon)->stop([&loop] { loop.stop(); }); };
    const Signals signals(loop.raw(), stop, [&daemon, &files] { (*daemon)->reload(files); });
    (*daemon)->start([&](const Error& error) {
      log.error(log_name::kService, error.what);
      exit_code = exit_code_of(error);
      stop();
    });
    loop.run();
  }
  return exit_code;
}

}  // namespace reclaim::listener
