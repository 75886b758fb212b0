// The worker: builds every object, hands each what it needs, and starts and stops them in order.
// The only place that knows everything.
//
// Thread: the loop's. Owns all parts of a running `reclaim serve`.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/module_options.h"
#include "config/settings.h"
#include "handlers/bus/unread_queues.h"
#include "handlers/conductor/conductor.h"
#include "handlers/metrics/worker_metrics.h"
#include "listener/agent_door.h"
#include "listener/amqp/kick_feed.h"
#include "listener/amqp/link.h"
#include "listener/amqp/notifier.h"
#include "listener/amqp/redeliveries.h"
#include "listener/amqp/rpc_server.h"
#include "listener/metrics_keeper.h"
#include "listener/service_manager.h"
#include "nvme/drive_threads.h"
#include "nvme/observed_drives.h"
#include "placement/client.h"
#include "placement/cyborg/client.h"
#include "placement/http/curl_transport.h"
#include "placement/http/measured_transport.h"
#include "placement/observed_providers.h"
#include "state/base/bus_queue.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/base/uv.h"
#include "state/base/uv_timers.h"
#include "state/certificate/file_ledger.h"
#include "state/certificate/mirror.h"
#include "state/certificate/order_seal.h"
#include "state/redis/store.h"

namespace reclaim::listener {

class Daemon final {
 public:
  // Opens what must be there at once: the ledger (one worker a machine), options that work. `loop`,
  // `settings` and `log` outlive the daemon, and so do `drives`, which stand in for the host's own:
  // a benchmark's, of a fleet that no machine has the drives for.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> create(uv_loop_t* loop,
                                                              const config::Settings& settings,
                                                              const config::MachineFacts& machine,
                                                              Logger& log,
                                                              nvme::Drives* drives = nullptr);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Connects to everything and goes on until stop(). `on_fatal` is called when going on would be
  // wrong: a record that cannot be read, a Redis that the operator's options refuse.
  void start(std::function<void(Error)> on_fatal);

  // SIGHUP: which devices are ours and how they are cleaned is read again, all or nothing, and so
  // is what the device API reads of files, its policy and certificate. The rest of the
  // configuration is read at the start.
  void reload(const config::LoadRequest& files);

  // Drains: no new message, no new cleaning; drives are left as they are. `stopped` is called once,
  // after a few seconds at the latest.
  void stop(Once<> stopped);

 private:
  Daemon(uv_loop_t* loop, const config::Settings& settings, Logger& log);

  [[nodiscard]] Status build(const config::MachineFacts& machine, nvme::Drives* drives);
  void build_drives(nvme::Options options);
  void build_mirror(const nvme::CommandOptions& commands);
  [[nodiscard]] Status build_clients(const config::MachineFacts& machine);
  [[nodiscard]] Status build_listeners();
  [[nodiscard]] ConductorPolicies policies() const;
  // The providers and the drives as the mode has them: a worker that only observes writes to none.
  [[nodiscard]] placement::Providers& providers();
  [[nodiscard]] nvme::Drives& drives_of_mode();
  void on_redis(const RedisState& state);
  void check_persistence();
  void check_claims();
  void start_conductor();
  void pull_kicks();
  void pull_orders();
  void measure_lag();
  void report_counters();
  [[nodiscard]] MetricsKeeper::Snapshot metrics_now() const;
  void finish();

  uv_loop_t* loop_;
  const config::Settings& settings_;
  config::Settings in_force_;  // the same, as a reload has changed it
  Logger& log_;
  SystemClock clock_;
  ServiceManager manager_;
  std::string host_;

  // Goes last: what it asked of the others is still answered, with "cancelled", while they go.
  std::unique_ptr<Conductor> conductor_;

  WorkerMetrics metrics_;
  UvTimers timers_;
  std::unique_ptr<CertificateMirror> mirror_;  // none: nothing is copied
  std::unique_ptr<FileLedger> ledger_;
  std::shared_ptr<const OrderSeal> order_seal_;
  std::unique_ptr<RedisStore> store_;
  std::unique_ptr<placement::CurlTransport> transport_;
  std::unique_ptr<placement::MeasuredTransport> measured_transport_;
  UvTimers pauses_;
  std::unique_ptr<placement::Client> providers_;
  std::unique_ptr<placement::ObservedProviders> observed_providers_;  // none: mode = serve
  std::unique_ptr<placement::CurlTransport> cyborg_transport_;
  std::unique_ptr<placement::MeasuredTransport> measured_cyborg_;
  std::unique_ptr<placement::CyborgClient> accelerators_;  // none: Cyborg's API is not asked
  std::unique_ptr<nvme::DriveThreads> drive_threads_;      // none: others stand in for them
  nvme::Drives* drives_ = nullptr;                         // those, or these
  std::unique_ptr<nvme::ObservedDrives> observed_drives_;  // none: mode = serve
  std::unique_ptr<KickFeed> feed_;
  std::unique_ptr<Redeliveries> redeliveries_;
  std::unique_ptr<AmqpLink> link_;
  std::vector<BusQueue> bus_queues_;  // of Nova's notifier, at the last look
  UnreadQueues unread_queues_;
  std::unique_ptr<RpcServer> rpc_;               // none: not listened to
  std::unique_ptr<Notifier> notifier_;           // none: nothing is told
  std::unique_ptr<AgentDoorServer> agent_door_;  // none: off
  std::unique_ptr<MetricsKeeper> metrics_keeper_;
  uv::Timer alive_timer_;
  uv::Timer lag_timer_;
  uv::Timer report_timer_;

  std::function<void(Error)> on_fatal_;
  Once<> stopped_;
  bool redis_was_connected_ = false;
  bool claims_checked_ = false;
  bool conducting_ = false;  // start() of the conductor was called and not refused
  bool conductor_up_ = false;
  bool ordering_ = false;
  bool orders_came_ = false;  // meanwhile
  bool pulling_ = false;
  bool kicks_came_ = false;
  bool stopping_ = false;
  std::set<std::string_view> stops_pending_;  // what was told to stop and is still at it
};

}  // namespace reclaim::listener
