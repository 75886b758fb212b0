#include "tests/sim/world.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "nvme/erase/policy.h"
#include "state/device/hold.h"

namespace reclaim::sim {
namespace {

constexpr std::int64_t kQuietMs = 3 * 3'600'000;  // everything has come to rest by then
constexpr std::int64_t kCheckEveryMs = 30'000;
constexpr std::int64_t kNeverMs = 365LL * 24 * 3'600'000;
constexpr std::uint64_t kStepsMax = 400'000;  // a world that never ends is a failure too

}  // namespace

void TraceLogger::write(LogLevel level, std::string_view name, std::string_view line,
                        std::initializer_list<LogField> fields) {
  if (!enabled) return;
  if (transitions_only && line.find(" -> ") == std::string_view::npos) return;
  text += fmt::format("[{:9.3f}]   {} {} {}", static_cast<double>(scheduler_.now_ms()) / 1000.0,
                      to_string(level), name, line);
  for (const LogField& field : fields) {
    if (!field.value.empty()) text += fmt::format(" {}={}", field.key, field.value);
  }
  text += '\n';
}

void TraceLogger::say(std::string_view line) {
  if (!enabled || transitions_only) return;
  text += fmt::format("[{:9.3f}] {}\n", static_cast<double>(scheduler_.now_ms()) / 1000.0, line);
}

World::World(const WorldOptions& options)
    : rng(options.seed),
      scheduler(rng),
      faults(options.scripted ? Faults{} : Faults::draw(rng)),
      store(scheduler, rng, faults),
      placement(scheduler, rng, faults),
      cyborg(scheduler, rng, faults),
      log(scheduler),
      options_(options) {
  log.enabled = options.trace;
  conductor_options.host = "compute-1";
  conductor_options.machine_id = "m1";
  conductor_options.boot_id = "boot-1";
  conductor_options.version = "sim";
  prompt_ = faults.prompt();
  placement.tells_consumers_at_once = !options.scripted && !has_tenants();
  if (!options.scripted) {
    conductor_options.cleanings_max = static_cast<std::size_t>(rng.between(1, 3));
    moment_ = rng.chance(0.4) ? 0.0 : 0.2 * static_cast<double>(rng.below(100)) / 100.0;
    constexpr std::array kPolicies{InterruptedCleaning::automatic, InterruptedCleaning::automatic,
                                   InterruptedCleaning::error, InterruptedCleaning::resume};
    conductor_options.interrupted_cleaning = kPolicies.at(rng.below(kPolicies.size()));
    notifier_ = rng.chance(0.6);
    cyborg_api_ = rng.chance(0.5);
    conductor_options.manage_providers = rng.chance(0.15) && !cyborg_writes();
    touches_ = rng.chance(0.4);
    kicks_of_others_ = rng.chance(0.6);
    // Mostly by the generations alone: no full reading makes up for what they do not tell.
    conductor_options.full_survey_interval_ms =
        rng.chance(0.7) ? kNeverMs : rng.between(0, 600'000);
  }
  if (is_unwatched()) draw_unwatched();
  make_slots(options.scripted ? options.scripted_slots : static_cast<int>(rng.between(1, 3)));
  if (options.seed >= kOwnStepsFrom && !cyborg_writes()) draw_own_steps();
  if (options.seed >= kFunctionsFrom && !cyborg_writes()) {
    for (Slot& slot : slots) draw_function(slot);
  }
  if (has_disowns(options.seed)) draw_named_steps();
  hardware.marks_zeroing = names_ends();
  wire_checks();
}

void World::make_slots(int count) {
  const bool bays = !options_.scripted && rng.chance(0.5);
  for (int i = 0; i < count; ++i) {
    Slot slot;
    slot.address = PciAddress{0, static_cast<std::uint8_t>(0xc1 + i), 0, 0};
    slot.provider_name = fmt::format("compute-1_0000:{:02X}:00.0", 0xc1 + i);
    Drive drive;
    drive.address = slot.address;
    drive.serial = fmt::format("S{}", next_serial_++);
    if (!options_.scripted) {
      slot.ours = !rng.chance(0.03);
      constexpr std::array kKinds{Kind::gde_stuck, Kind::gde_stuck, Kind::keeps_data, Kind::fails,
                                  Kind::stalls};
      if (rng.chance(0.7)) drive.hardware.serial_number = "dsn-" + drive.serial;
      if (bays) drive.hardware.slot = fmt::format("bay-{}", i);
      if (rng.chance(0.3)) drive.kind = kKinds.at(rng.below(kKinds.size()));
      drive.sanitize_ms = rng.chance(0.2) ? rng.between(60'000, 400'000) : rng.between(1, 30'000);
    }
    if (!options_.scripted) {
      slot.managed = rng.chance(0.75);
      if (!slot.managed) drive.home = drive.driver = "vfio-pci";
      draw_capabilities(drive);
      if (rng.chance(0.25)) slot.action = nvme::ClearAction::sanitize;
      if (has_unfit()) draw_unfit(drive);
    }
    // Where Reclaim makes providers, Nova is told of no drive that device_spec matches.
    if (options_.scripted ? options_.cyborg
                          : conductor_options.registers() || cyborg_writes() || rng.chance(0.5)) {
      draw_cyborg(slot, drive);
      slot.expected_serial = drive.serial;
      hardware.drives[slot.address] = drive;
      slots.push_back(slot);
      continue;
    }
    Provider& provider = placement.create(slot.provider_name, true);
    if (!options_.scripted && rng.chance(0.4)) {
      // A tenant was there before we came, and left it burned.
      provider.inventory.reserved = 1;
      provider.offered = Offered::no;
      write_media(drive, next_tenancy_++, rng.next() | 1U);
      slot.had_data = true;
    }
    slot.expected_serial = drive.serial;
    hardware.drives[slot.address] = drive;
    slots.push_back(slot);
  }
}

void World::draw_capabilities(Drive& drive) {
  if (rng.chance(0.6)) return;
  drive.capabilities.sanicap = 0;
  drive.capabilities.oncs = rng.chance(0.5) ? 8 : 0;
}

void World::fail(std::string what) {
  if (failure || conductor_options.observes()) return;  // run_observed() has a judge of its own
  say("FAILED: " + what);
  failure = std::move(what);
}

Slot* World::slot_of_provider(const std::string& uuid) {
  const Provider* provider = placement.find(uuid);
  if (provider == nullptr) return nullptr;
  for (Slot& slot : slots) {
    if (slot.provider_name == provider->row.name) return &slot;
  }
  return nullptr;
}

Slot& World::slot_at(const PciAddress& address) {
  for (Slot& slot : slots) {
    if (slot.address == address) return slot;
  }
  std::abort();
}

// -------------------------------------------------------------------------------------------------
// The worker.

void World::start_worker() {
  if (conductor || scheduler.now_ms() < away_until_ms_) return;
  incarnation_ += 1;
  for (Slot& slot : slots) {
    slot.enrol_before_hold = slot.steps_before_hold = false;
    slot.told.clear();
    slot.told_epoch = 0;
    slot.misnamed_since_ms = 0;
  }
  say(fmt::format("worker {} starts", incarnation_));
  ledger = std::make_unique<FakeLedger>(scheduler, rng, faults, disk);
  ledger->on_durable = [this](const PciAddress& at, const LedgerEntry& entry) {
    check_ledger(at, entry);
  };
  ledger->on_certificate = [this](const std::string& /*id*/, const std::string& json_text) {
    check_certificate(json_text);
  };
  drives = std::make_unique<FakeDrives>(scheduler, rng, faults, hardware);
  drives->on_touch = [this](const PciAddress& at, const char* what) { check_touch(at, what); };
  drives->is_accepted = [this](const PciAddress& at) {
    const Slot& slot = slot_at(at);
    return !slot.displaced && !slot.swapped;
  };
  drives->on_broken = [this](const PciAddress& at, const char* what) {
    fail(fmt::format("{}: {}", to_string(at), what));
  };
  drives->on_verified = [this](const Drive& drive) {
    verified_serials_[drive.serial] += 1;
    Slot& slot = slot_at(drive.address);
    slot.verified_ms = scheduler.now_ms();
    if (slot.expected_serial.empty()) slot.expected_serial = drive.serial;
  };
  if (options_.scripted) cyborg_api_ = options_.cyborg && options_.cyborg_api;
  ConductorOptions options = conductor_options;
  // As config/module_options makes it: the same for each worker of this machine.
  options.holder = options.host + "/" + options.machine_id;
  conductor =
      std::make_unique<Conductor>(ConductorPorts{store, *ledger, placement, *drives, scheduler,
                                                 scheduler, log, cyborg_api_ ? &cyborg : nullptr},
                                  policies(), options);
  started = false;
  note_disowned();
  conductor->start([this](Status status) {
    if (status) {
      started = true;
      scheduler.outside(0, [this, which = incarnation_] {
        if (which != incarnation_ || !conductor) return;
        note_interrupted();
        note_disowned();
        bring_waiting();
      });
      return;
    }
    say("worker could not load its records");
    scheduler.outside(0, [this, which = incarnation_] {
      if (which != incarnation_ || started || !conductor) return;
      kill_worker();
      restart_worker_later(5'000);
    });
  });
}

ConductorPolicies World::policies() {
  ConductorPolicies policies;
  policies.one_claimant = one_claimant;
  policies.whitelist = [this](std::uint16_t, std::uint16_t, const PciAddress& at) {
    return slot_at(at).ours && !slot_at(at).is_drive;
  };
  policies.device_policy = [this](std::uint16_t, std::uint16_t,
                                  const PciAddress& at) -> std::optional<DevicePolicy> {
    if (!slot_at(at).ours || !slot_at(at).is_drive || slot_at(at).by_steps) return std::nullopt;
    DevicePolicy policy;
    policy.managed = slot_at(at).managed;
    policy.rules.action = slot_at(at).action;
    policy.steps = own_steps;
    policy.manual = manual;
    policy.roles = roles;
    policy.tags = tags;
    return policy;
  };
  policies.function_policy = [this](std::uint16_t, std::uint16_t,
                                    const PciAddress& at) -> std::optional<DevicePolicy> {
    if (!slot_at(at).ours || !slot_at(at).by_steps) return std::nullopt;
    DevicePolicy policy;
    policy.steps = own_steps;
    policy.manual = manual;
    return policy;
  };
  policies.choose_method = [](const DevicePolicy& policy, const nvme::Capabilities& capabilities) {
    return nvme::choose_method(nvme::Policy{policy.rules.action, policy.rules.strategy},
                               capabilities);
  };
  policies.order_fits = [this](const Order& order) { return order.mac == order_code; };
  // So it is in every second world.
  policies.orders_are_sealed = orders_are_sealed || (!options_.scripted && options_.seed % 2 == 0);
  policies.digest = [](const std::string& text) { return text; };
  policies.make_id = [this] { return fmt::format("certificate-{}", next_certificate_++); };
  return policies;
}

void World::reload() {
  conductor->replace_policies(policies(), conductor_options);
}

void World::kill_worker() {
  if (!conductor) return;
  say(fmt::format("worker {} dies", incarnation_));
  const CallsOwed none(false);  // its callbacks die with it
  scheduler.worker_died();
  store.worker_died();
  conductor.reset();
  drives.reset();
  ledger.reset();
  started = false;
  for (Slot& slot : slots) slot.unreserved_ms = 0;
}

void World::stop_worker() {
  if (!conductor || !started) return kill_worker();
  say(fmt::format("worker {} is told to stop", incarnation_));
  started = false;
  conductor->stop([this, which = incarnation_] {
    scheduler.outside(0, [this, which] {
      if (which != incarnation_) return;
      kill_worker();
      if (!options_.scripted) restart_worker_later(rng.between(0, 20'000));
    });
  });
}

void World::restart_worker_later(std::int64_t delay_ms) {
  scheduler.outside(delay_ms, [this] { start_worker(); });
}

void World::kick(std::vector<int> delays_s) {
  if (!conductor || !started) return;
  Kick kick;
  kick.reason = "instance.delete.end";
  kick.request_id = "req-1";
  // Of an instance that has nothing here, which tells of none of the devices.
  if (kicks_of_others_) kick.instance = kElsewhere;
  kick.host = conductor_options.host;
  kick.delays_s = std::move(delays_s);
  conductor->take(kick);
}

// A tenancy begins, or still stands.
void World::mark(const std::string& reason, const std::string& instance) {
  if (!conductor || !started) return;
  Kick kick;
  kick.reason = reason;
  kick.instance = instance;
  kick.request_id = "req-1";
  kick.host = conductor_options.host;
  kick.mark_allocated = true;
  kick.delays_s = {0};
  conductor->take(kick);
}

// The drive that the operator looks at. One that does not say its serial where it stands is named
// by its Device Serial Number, and without that by the serial on its label.
void World::name_drive(const Slot& slot, Order& order) const {
  const Drive& drive = hardware.drives.at(slot.address);
  order.hardware = nvme::encode_hardware(drive.hardware);
  if (slot.by_steps) return;
  if (slot.managed || drive.hardware.serial_number.empty()) order.serial = drive.serial;
}

void World::command(const std::string& what, const PciAddress& address, const std::string& who,
                    const std::string& steps) {
  if (!conductor || !started) return;
  say(fmt::format("operator: {} {}", what, to_string(address)));
  Slot& slot = slot_at(address);
  if (what == "enrol") {
    slot.ordered_serial = hardware.drives.at(address).serial;
    slot.enrolled = true;
    slot.enrol_before_hold = slot.enrol_before_hold || !slot.held;
  }
  const bool cleans = what == "clean" || what == "cleanup_device" || what == "retire";
  if (what == "enrol" || cleans) slot.interrupted = false;
  if (cleans) slot.clean_ordered = true;
  slot.maintained = slot.maintained || what == "maintenance_on";
  if (what == "unhold") note_approval(slot, who);
  if (what == "disown") slot.disown_ordered = true;
  if (!steps.empty()) slot.steps_before_hold = slot.steps_before_hold || !slot.held;
  // Nobody could tell it from a missed tenancy, and the operator says that it is one.
  if (what == "clean" && slot.cyborg) slot.held = slot.reserved_by_hand = slot.by_hand = false;
  if (what == "cleanup_device") {  // not an operator's, but Cyborg's conductor's
    Kick kick;
    kick.reason = "cyborg-agent.cleanup_device";
    kick.command = what;
    kick.address = to_string(address);
    kick.sent_at = scheduler.now().wall;
    return conductor->take(kick);
  }
  Order order;
  order.order = what;
  order.address = to_string(address);
  order.who = who;
  order.mac = order_code;
  if (what == "enrol") name_drive(slot, order);
  if (what == "disown" || what == "retire") order.reason = "it is to be used otherwise";
  if (what == "retire") order.purpose = "reused";
  order.steps = steps;
  const Record* stored = what == "unhold" ? store.stored(address) : nullptr;
  if (stored != nullptr) order.hold = hold_id(*stored);
  // Never two at once: the later one counts.
  order.issued_at = last_order_at_ =
      WallMs{std::max(scheduler.now().wall.ms, last_order_at_.ms + 1)};
  if (what == "enrol") slot.enrols.insert(order.issued_at.ms);
  conductor->take(order);
}

// -------------------------------------------------------------------------------------------------
// Running.

void World::pass(std::int64_t ms) {
  const std::int64_t until = scheduler.now_ms() + ms;
  while (!failure && scheduler.step(until)) {
    if (scheduler.steps() > kStepsMax) fail("the world does not come to an end");
    if (scheduler.now_ms() - last_offer_check_ms_ >= kCheckEveryMs) check_offered();
  }
}

void World::run_active() {
  start_worker();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    scheduler.outside(rng.between(0, 30'000), [this, i] { nova_tick(i); });
  }
  scheduler.outside(rng.between(0, 60'000), [this] { nova_periodic(); });
  scheduler.outside(rng.between(0, 60'000), [this] { cyborg_periodic(); });
  if (cyborg_writes()) scheduler.outside(rng.between(0, 60'000), [this] { cyborg_reports(); });
  scheduler.outside(rng.between(0, 20'000), [this] { chaos_tick(); });
  if (has_floods()) scheduler.outside(rng.between(0, 20'000), [this] { flood_begins(); });
  if (conductor_options.agent_door || conductor_options.cyborg_owner == CyborgOwner::agent) {
    scheduler.outside(rng.between(0, 60'000), [this] { agent_looks(); });
  }
  pass(rng.between(120'000, 1'200'000));
  if (is_unwatched() && rng.chance(is_brief() ? 0.7 : 0.3)) worker_is_away();
}

void World::run_quiet() {
  say("--- quiet: faults end, tenants leave ---");
  quiet_ = true;
  quiet_since_ms_ = scheduler.now_ms();
  faults = Faults{};
  unguard_everything();
  operator_tidies();
  std::string why;
  const std::int64_t end = scheduler.now_ms() + kQuietMs;
  while (!failure && scheduler.now_ms() < end) {
    pass(120'000);
    why = unsettled();
    if (why.empty()) return;
  }
  if (!failure) fail("not at rest: " + why);
}

std::optional<std::string> World::run() {
  run_active();
  if (!failure) run_quiet();
  conductor.reset();
  return failure;
}

std::optional<std::string> World::run_observed() {
  conductor_options.mode = Mode::observe;
  placement.on_asked = [this](const placement::ProviderView& view) {
    failure = "Placement is written by a worker that observes: " + view.uuid;
  };
  placement.on_registered = [this](const Provider& provider) {
    failure = "registered by a worker that observes: " + provider.row.name;
  };
  run_active();
  conductor.reset();
  return failure;
}

// -------------------------------------------------------------------------------------------------
// Scripted worlds.

const Record& World::record(std::size_t slot) const {
  const Record* stored = store.stored(slots.at(slot).address);
  CHECK(stored != nullptr);
  return *stored;
}

Drive& World::drive(std::size_t slot) {
  return drive_of(slots.at(slot));
}

Provider& World::provider(std::size_t slot) {
  Provider* found = provider_of(slots.at(slot));
  CHECK(found != nullptr);
  return *found;
}

void World::tenancy_begins(std::size_t slot) {
  nova_allocates(slots.at(slot));
  nova_burns(slots.at(slot));
  nova_boots(slots.at(slot));
}

void World::tenancy_ends(std::size_t slot) {
  Slot& at = slots.at(slot);
  guest_leaves(at);
  drive_of(at).driver = drive_of(at).home;
  cyborg_unbinds(at);
  nova_deallocates(at);
}

}  // namespace reclaim::sim
