#include "listener/daemon.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "config/claims.h"
#include "config/reload.h"
#include "listener/amqp_settings.h"
#include "listener/certificate_report.h"
#include "listener/device_api.h"
#include "listener/mirror_command.h"
#include "listener/notifications.h"
#include "nvme/command/cgroup.h"
#include "state/base/uuid.h"
#include "state/certificate/order_seal.h"
#include "state/certificate/signing_key.h"
#include "version.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kKicksAtOnceMax = 100;
constexpr std::size_t kOrdersAtOnceMax = 100;
constexpr std::int64_t kRetryMs = 2'000;
constexpr std::uint64_t kReportMs = 600'000;
constexpr std::int64_t kStopMaxMs = 8'000;
constexpr std::int64_t kLagProbeMs = 500;
// 5 ms is the aim; what is worth a line on a busy host is more.
constexpr std::int64_t kLagWarnMs = 100;

bool is_away(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::unknown;
}

}  // namespace

Daemon::Daemon(uv_loop_t* loop, const config::Settings& settings, Logger& log)
    : loop_(loop),
      settings_(settings),
      in_force_(settings),
      log_(log),
      host_(settings.host),
      metrics_(clock_.now().wall),
      timers_(loop),
      pauses_(loop),
      alive_timer_(loop),
      lag_timer_(loop),
      report_timer_(loop) {}

// Parts go in the reverse order of what they refer to: members are declared in that order.
Daemon::~Daemon() = default;

Result<std::unique_ptr<Daemon>> Daemon::create(uv_loop_t* loop, const config::Settings& settings,
                                               const config::MachineFacts& machine, Logger& log,
                                               nvme::Drives* drives) {
  std::unique_ptr<Daemon> daemon(new Daemon(loop, settings, log));  // NOLINT: private constructor
  if (Status built = daemon->build(machine, drives); !built) return std::move(built).error();
  return daemon;
}

void Daemon::build_mirror(const nvme::CommandOptions& commands) {
  const bool has_command = !settings_.mirror_command.empty();
  if (settings_.mirror_dir.empty() && !has_command) return;
  MirrorOptions mirror;
  mirror.places = {settings_.state_path, settings_.host, settings_.mirror_dir, has_command};
  if (has_command) {
    mirror.command =
        std::make_shared<ConfinedMirrorCommand>(settings_.mirror_command, commands, log_);
  }
  mirror_ = std::make_unique<CertificateMirror>(std::move(mirror), log_);
}

Status Daemon::build(const config::MachineFacts& machine, nvme::Drives* drives_given) {
  nvme::Options drives = settings_.nvme;
  drives.command.cgroup = nvme::own_cgroup(drives.proc_root);
  FileLedgerOptions ledger_options;
  ledger_options.state_path = settings_.state_path;
  ledger_options.owner = {machine.machine_id, settings_.host};
  ledger_options.signing_key = settings_.signing_key;
  ledger_options.on_sealed = [this] {
    if (mirror_) mirror_->wake();
  };
  auto ledger = FileLedger::open(loop_, std::move(ledger_options), log_);
  if (!ledger) return std::move(ledger).error();
  ledger_ = std::move(ledger).value();
  build_mirror(drives.command);
  report_certificates(settings_, log_);

  RedisStoreOptions redis;
  redis.redis = settings_.redis;
  redis.hosts_max = settings_.hosts_max;
  auto key = MacKey::load_or_create(default_host_key(settings_.state_path));
  if (!key) return key.error().wrap("the key that records in Redis are authenticated with");
  std::optional<OrderKey> of_orders;
  if (!settings_.order_key_file.empty()) {
    auto loaded = OrderKey::load(settings_.order_key_file);
    if (!loaded) return loaded.error().wrap("[security] order_key_file");
    of_orders = *std::move(loaded);
  }
  order_seal_ = std::make_shared<const OrderSeal>(host_, *key, std::move(of_orders));
  const OutboxSeal outbox_seal(host_, *key);
  redis.outbox = outbox_options(settings_, outbox_seal, [this] { notifier_->wake(); });
  redis.kick_seal.emplace(host_, *key);
  redis.seal.emplace(host_, *std::move(key));
  redis.observers.answered = [this](std::string_view outcome, std::int64_t ms) {
    metrics_.request("redis", outcome, ms);
  };
  redis.observers.saved = [this](const Record& record, const JournalEntry& entry) {
    metrics_.transition(record, entry);
  };
  redis.writes_schema = true;
  redis.alive_ms = api_options(settings_).heartbeat_max_ms;
  auto store = RedisStore::create(loop_, std::move(redis), clock_, log_);
  if (!store) return std::move(store).error();
  store_ = std::move(store).value();
  if (settings_.notify.driver != NotificationDriver::noop) {
    notifier_ =
        std::make_unique<Notifier>(loop_, notifier_options(settings_), *store_,
                                   outbox_reader(outbox_seal, settings_.notifier.topics), log_);
  }

  if (Status built = build_clients(machine); !built) return built;

  drives_ = drives_given;
  if (drives_ == nullptr) build_drives(std::move(drives));
  if (settings_.conductor.observes()) {
    observed_providers_ = std::make_unique<placement::ObservedProviders>(*providers_);
    observed_drives_ = std::make_unique<nvme::ObservedDrives>(*drives_);
    log_.warning(log_name::kService,
                 "[reclaim] mode = observe: no drive and nothing in Placement is written; "
                 "`reclaim device list` says what would be done");
  } else if (drive_threads_) {
    drive_threads_->give_back_drives_left();
  }

  conductor_ = std::make_unique<Conductor>(
      ConductorPorts{*store_, *ledger_, providers(), drives_of_mode(), timers_, clock_, log_,
                     accelerators_.get()},
      policies(), config::conductor_options(settings_, machine, kVersion));
  return build_listeners();
}

void Daemon::build_drives(nvme::Options options) {
  if (options.command.cgroup.empty() && !settings_.steps.empty()) {
    log_.warning(log_name::kSteps,
                 "no cgroup of our own: what a step's command leaves behind is ended only if it "
                 "stays in its process group; set Delegate=yes in the unit");
  }
  drive_threads_ = std::make_unique<nvme::DriveThreads>(loop_, std::move(options), clock_, log_,
                                                        config::may_be_asked(settings_));
  drives_ = drive_threads_.get();
}

placement::Providers& Daemon::providers() {
  if (observed_providers_) return *observed_providers_;
  return *providers_;
}

nvme::Drives& Daemon::drives_of_mode() {
  if (observed_drives_) return *observed_drives_;
  return *drives_;
}

ConductorPolicies Daemon::policies() const {
  ConductorPolicies policies;
  policies.device_policy = config::device_policy_lookup(in_force_);
  policies.choose_method = config::method_choice();
  policies.make_id = [] { return random_uuid(); };
  policies.whitelist = config::passthrough_whitelist(in_force_);
  policies.order_fits = [seal = order_seal_, host = host_](const Order& order) {
    return seal->fits(host, order);
  };
  policies.orders_are_sealed = !settings_.order_key_file.empty();
  policies.digest = [](const std::string& text) { return sha256_of(text); };
  policies.function_policy = config::function_policy_lookup(in_force_);
  policies.one_claimant = [this](std::uint16_t vendor, std::uint16_t product,
                                 const PciAddress& address) {
    return config::check_claims(in_force_, {{address, vendor, product}});
  };
  return policies;
}

// Builds the clients of what is asked: Placement, and Cyborg where it is configured.
Status Daemon::build_clients(const config::MachineFacts& machine) {
  auto placement = config::placement_options(settings_, machine);
  if (!placement) return std::move(placement).error();
  auto transport = placement::CurlTransport::create(loop_, *placement);
  if (!transport) return std::move(transport).error();
  transport_ = std::move(transport).value();
  const auto measured_as = [this](std::string_view peer) {
    return [this, peer](std::string_view outcome, std::int64_t ms) {
      metrics_.request(peer, outcome, ms);
    };
  };
  measured_transport_ =
      std::make_unique<placement::MeasuredTransport>(*transport_, clock_, measured_as("placement"));
  auto providers =
      placement::Client::create(*placement, *measured_transport_, pauses_, clock_, log_);
  if (!providers) return std::move(providers).error();
  providers_ = std::move(providers).value();

  if (settings_.logins.cyborg.empty()) return Ok{};
  auto cyborg = config::cyborg_options(settings_);
  if (!cyborg) return std::move(cyborg).error();
  auto cyborg_transport = placement::CurlTransport::create(loop_, cyborg->session);
  if (!cyborg_transport) return cyborg_transport.error().wrap("[cyborg]");
  cyborg_transport_ = std::move(cyborg_transport).value();
  measured_cyborg_ = std::make_unique<placement::MeasuredTransport>(*cyborg_transport_, clock_,
                                                                    measured_as("cyborg"));
  auto accelerators = placement::CyborgClient::create(
      *std::move(cyborg), placement::Ports{*measured_cyborg_, pauses_, clock_, log_});
  if (!accelerators) return accelerators.error().wrap("[cyborg]");
  accelerators_ = std::move(accelerators).value();
  return Ok{};
}

// Builds the listeners to what is heard: notifications, Cyborg's RPC, the callers of the device API
// and of the agent's door.
Status Daemon::build_listeners() {
  feed_ = std::make_unique<KickFeed>(
      *store_, timers_, log_, settings_.amqp.body_bytes_max, settings_.survey_delays_s,
      [this](std::uint64_t tag, std::uint64_t incarnation) { link_->ack(tag, incarnation); });
  feed_->on_sent([this](WallMs sent_at) {
    metrics_.message_age(std::max<std::int64_t>(clock_.now().wall.ms - sent_at.ms, 0));
  });
  RedeliverySettle settle;
  settle.read = [this](const AmqpDelivery& delivery) {
    if (delivery.oversized) return link_->dead_letter(delivery, "longer than body_bytes_max");
    feed_->take(delivery.body, delivery.tag, delivery.incarnation,
                [this, &delivery](std::string_view why) { link_->dead_letter(delivery, why); });
  };
  settle.set_aside = [this](const AmqpDelivery& delivery, std::string_view why) {
    link_->dead_letter_unread(delivery, why);
  };
  redeliveries_ = std::make_unique<Redeliveries>(*store_, timers_, log_, std::move(settle));
  AmqpCallbacks callbacks;
  callbacks.on_delivery = [this](const AmqpDelivery& delivery) { redeliveries_->take(delivery); };
  callbacks.on_queues = [this](const std::vector<BusQueue>& queues) {
    bus_queues_ = queues;
    unread_queues_.seen(queues, clock_.now().wall);
    conductor_->tell_of_queues(unread_queues_.names(), unread_queues_.since());
  };
  auto link = AmqpLink::create(loop_, amqp_options(settings_), log_, std::move(callbacks));
  if (!link) return std::move(link).error();
  link_ = std::move(link).value();

  if (settings_.listen_rpc) {
    auto rpc =
        RpcServer::create(loop_, rpc_server_options(settings_), *store_, *store_, timers_, log_);
    if (!rpc) return std::move(rpc).error();
    rpc_ = std::move(rpc).value();
  }
  metrics_keeper_ = std::make_unique<MetricsKeeper>(
      loop_, MetricsKeeperOptions{host_, settings_.metrics_textfile}, metrics_, *store_, log_);
  if (!settings_.agent_door.socket.empty()) {
    auto door = AgentDoorServer::create(loop_, settings_,
                                        {*conductor_, *store_, *providers_, clock_, log_});
    if (!door) return std::move(door).error();
    agent_door_ = std::move(door).value();
  }
  return Ok{};
}

void Daemon::start(std::function<void(Error)> on_fatal) {
  on_fatal_ = std::move(on_fatal);
  log_.info(log_name::kService, fmt::format("reclaim {} starting for host {}", kVersion, host_));
  store_->on_state([this](const RedisState& state) { on_redis(state); });
  store_->start();
  store_->watch_kicks(host_, [this] {
    pull_kicks();
    pull_orders();
  });
  link_->start();
  if (rpc_) rpc_->start();
  if (notifier_) notifier_->start();
  if (settings_.api.on()) {
    log_.info(log_name::kService,
              "[api]: the device API is answered by `reclaim api` (reclaim-api.service), not by "
              "the worker");
  }
  if (agent_door_) {
    log_.info(log_name::kService,
              "Cyborg's agent is answered at " + agent_door_->addresses().front());
  }
  measure_lag();
  metrics_keeper_->start([this] { return metrics_now(); });
  report_timer_.start(kReportMs, kReportMs, [this] { report_counters(); });
  if (manager_.alive_interval_ms() > 0) {
    alive_timer_.start(0, manager_.alive_interval_ms(), [this] { manager_.alive(); });
  }
}

void Daemon::on_redis(const RedisState& state) {
  if (stopping_) return;
  if (state.connected == redis_was_connected_) return;
  redis_was_connected_ = state.connected;
  if (!state.connected) {
    log_.warning(log_name::kService,
                 "Redis is away: no new cleaning starts, messages wait in RabbitMQ",
                 {{"why", state.last_error}});
    return;
  }
  log_.info(log_name::kService, "connected to Redis");
  check_persistence();
}

void Daemon::check_persistence() {
  store_->check_persistence([this](Result<PersistenceReport> report) {
    if (stopping_) return;
    if (report && !report->text.empty()) {
      if (settings_.require_persistence) {
        return on_fatal_(Error{Errc::refused, "[redis] require_persistence: " + report->text});
      }
      log_.warning(log_name::kService, report->text);
    }
    check_claims();
  });
}

// Two who claim one drive are told before anything is done to any.
void Daemon::check_claims() {
  if (claims_checked_ || !config::claims_need_drives(settings_)) return start_conductor();
  drives_->discover({}, [this](Result<std::vector<nvme::DriveFacts>> found) {
    if (stopping_) return;
    if (!found) {
      log_.warning(log_name::kService, "the drives cannot be looked at yet",
                   {{"why", found.error().what}});
      timers_.after(kRetryMs, [this] { check_claims(); });
      return;
    }
    std::vector<config::PresentDrive> drives;
    for (const nvme::DriveFacts& drive : *found) {
      drives.push_back({drive.address, drive.vendor_id, drive.device_id});
    }
    if (const Status checked = config::check_claims(settings_, drives); !checked) {
      return on_fatal_(checked.error());
    }
    claims_checked_ = true;
    start_conductor();
  });
}

void Daemon::start_conductor() {
  if (conducting_ || stopping_) return;
  conducting_ = true;
  conductor_->start([this](Status started) {
    if (stopping_) return;
    if (started) {
      conductor_up_ = true;
      manager_.ready(fmt::format("serving host {}", host_));
      log_.info(log_name::kService, "ready");
      pull_orders();
      return pull_kicks();
    }
    // Does not end the worker: once the records can be read, it goes on.
    conducting_ = false;
    log_.write(is_away(started.error()) ? LogLevel::warning : LogLevel::error, log_name::kService,
               "the records cannot be loaded yet", {{"why", started.error().what}});
    timers_.after(kRetryMs, [this] { start_conductor(); });
  });
}

// Reads the kicks. One that comes while they are asked for may have come too late for the answer.
void Daemon::pull_kicks() {
  kicks_came_ = pulling_;
  if (pulling_ || stopping_ || !conductor_up_) return;
  pulling_ = true;
  store_->read_kicks(host_, kKicksAtOnceMax, [this](Result<std::vector<Kick>> kicks) {
    pulling_ = false;
    if (stopping_) return;
    if (!kicks) {
      log_.warning(log_name::kService, "kicks cannot be read", {{"why", kicks.error().what}});
      timers_.after(kRetryMs, [this] { pull_kicks(); });
      return;
    }
    if (kicks->empty()) {
      if (kicks_came_) pull_kicks();
      return;
    }
    std::vector<std::string> ids;
    for (const Kick& kick : *kicks) {
      metrics_.kick(kick.reason);
      conductor_->take(kick);
      ids.push_back(kick.id);
    }
    store_->ack_kicks(host_, ids, [this](Result<Ok> acked) {
      // Kicks that are not acknowledged come again; what they ask for may be asked for twice.
      if (!acked)
        log_.warning(log_name::kService, "kicks not acknowledged", {{"why", acked.error().what}});
    });
    pull_kicks();
  });
}

void Daemon::pull_orders() {
  orders_came_ = ordering_;
  if (ordering_ || stopping_ || !conductor_up_) return;
  ordering_ = true;
  store_->take_orders(host_, kOrdersAtOnceMax, [this](Result<std::vector<Order>> orders) {
    ordering_ = false;
    if (stopping_) return;
    if (!orders) {
      log_.warning(log_name::kService, "orders cannot be read", {{"why", orders.error().what}});
      timers_.after(kRetryMs, [this] { pull_orders(); });
      return;
    }
    for (const Order& order : *orders) conductor_->take(order);
    if (orders_came_ || orders->size() == kOrdersAtOnceMax) pull_orders();
  });
}

// Shows what was heard and done so far where `systemctl status` has it, and in the log now and
// then.
void Daemon::report_counters() {
  const KickFeedCounters& heard = feed_->counters();
  const AmqpCounters& bus = link_->counters();
  const ConductorCounters& done = conductor_->counters();
  std::string line = fmt::format(
      "messages: {} heard, {} kicks, {} ignored, {} rejected, {} too long, {} unread, {} for "
      "unknown hosts; "
      "surveys: {}, "
      "{} failed; "
      "devices: {} released, {} errors; bus: {} reconnects, {} drained",
      bus.received, heard.kicks, heard.ignored, heard.rejected, bus.oversized,
      redeliveries_->set_aside(), feed_->unknown_hosts(), done.surveys, done.surveys_failed,
      done.released, done.errors, bus.disconnects, bus.drained);
  if (rpc_) {
    const RpcFeedCounters& rpc = rpc_->counters();
    line += fmt::format("; rpc: {} kicks, {} ignored, {} rejected, {} answers", rpc.kicks,
                        rpc.ignored, rpc.rejected, rpc.answers);
  }
  if (notifier_) line += "; " + to_text(notifier_->counters());
  manager_.status(line);
  log_.info(log_name::kService, line);
}

MetricsKeeper::Snapshot Daemon::metrics_now() const {
  const ConductorCounters& done = conductor_->counters();
  const AmqpCounters& bus = link_->counters();
  const RedisTlsFacts& redis = store_->state().tls;
  return {{.survey_interval_ms = settings_.conductor.survey_interval_ms,
           .surveys = done.surveys - done.surveys_failed,
           .surveys_failed = done.surveys_failed,
           .survey_at = done.survey_at,
           .messages = bus.received,
           .dead_letters = bus.dead_lettered,
           .bus_connected = link_->state().connected,
           .bus_queues = bus_queues_,
           .reserved_in_cleaning = done.reserved_in_cleaning,
           .redis_server_ends_at = redis.ends_at,
           .redis_client_ends_at = redis.own_ends_at},
          conductor_->records(),
          conductor_->host_info()};
}

// The loop must never wait: how late a timer fires says whether it did.
void Daemon::measure_lag() {
  const std::int64_t due = clock_.now().mono.ms + kLagProbeMs;
  lag_timer_.after(kLagProbeMs, [this, due] {
    const std::int64_t lag = clock_.now().mono.ms - due;
    metrics_.loop_lag(std::max<std::int64_t>(lag, 0));
    if (lag > kLagWarnMs) {
      log_.warning(log_name::kService, fmt::format("the loop was held up for {} ms", lag));
    }
    measure_lag();
  });
}

void Daemon::reload(const config::LoadRequest& files) {
  log_.reopen();
  if (stopping_) return;
  const auto read = config::load_settings(files);
  if (!read) {
    return log_.error(log_name::kConfig, "not reloaded, what is in force stays: correct the files",
                      {{"why", read.error().what}});
  }
  log_.info(log_name::kConfig, fmt::format("read again: {}", fmt::join(read->files, ", ")));
  for (const config::Problem& warning : read->warnings) {
    log_.warning(log_name::kConfig, config::to_text({warning}));
  }
  const config::Changes changes = config::changes(in_force_, read->settings);
  in_force_ = config::with_changes(std::move(in_force_), read->settings);
  for (const std::string& line : changes.taken) log_.info(log_name::kConfig, "changed: " + line);
  for (const std::string& name : changes.later) {
    log_.warning(log_name::kConfig, name + " takes effect with the next start");
  }
  log_.info(log_name::kConfig, fmt::format("reloaded: {} options changed", changes.taken.size()));
  if (changes.taken.empty()) return;
  if (drive_threads_) drive_threads_->replace_may_be_asked(config::may_be_asked(in_force_));
  conductor_->replace_policies(policies(), in_force_.conductor);
}

void Daemon::stop(Once<> stopped) {
  if (stopping_) return stopped.drop();
  stopping_ = true;
  stopped_ = std::move(stopped);
  log_.info(log_name::kService, "stopping");
  manager_.stopping();
  lag_timer_.stop();
  report_timer_.stop();
  metrics_keeper_->stop();
  report_counters();
  // Somebody who does not answer must not hold the stop up; the kernel closes what is left.
  lag_timer_.after(kStopMaxMs, [this] {
    log_.warning(log_name::kService,
                 fmt::format("not stopped within {} s, going without: {}; locks left in "
                             "Redis expire, and the next start goes on from the records",
                             kStopMaxMs / 1'000, fmt::join(stops_pending_, ", ")));
    finish();
  });
  const auto stopping_of = [this](std::string_view part) {
    stops_pending_.insert(part);
    return [this, part] {
      stops_pending_.erase(part);
      if (stops_pending_.empty()) finish();
    };
  };
  // Side by side: none waits for another. Only the conductor may be done before its stop() returns;
  // what is heard meanwhile goes to the streams in Redis and not to it.
  link_->stop(stopping_of("the link to RabbitMQ"));
  if (rpc_) rpc_->stop(stopping_of("the link to Cyborg's RabbitMQ"));
  if (notifier_) notifier_->stop(stopping_of("notifications on their way to RabbitMQ"));
  if (agent_door_) agent_door_->stop(stopping_of("callers of the agent's door"));
  conductor_->stop(stopping_of("drives or their records in Redis"));
}

void Daemon::finish() {
  if (!stopped_) return;
  const Once<> done = std::move(stopped_);
  alive_timer_.stop();
  lag_timer_.stop();
  timers_.cancel_all();
  store_->close();
  log_.info(log_name::kService, "stopped");
  done();
}

}  // namespace reclaim::listener
