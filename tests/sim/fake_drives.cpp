#include "tests/sim/fake_drives.h"

#include <utility>

#include "nvme/controller/sanitize.h"

namespace reclaim::sim {

Error cancelled() {
  return Error{Errc::cancelled, "told to stop"};
}

void write_media(Drive& drive, std::uint64_t owner, std::uint64_t content) {
  drive.owner = owner;
  drive.content = content;
  drive.canary = 0;
  drive.version += 1;
  drive.host_writes += 10;
  drive.host_reads += 10;
  drive.global_data_erased = drive.kind == Kind::gde_stuck;
}

void settle_sanitize(Drive& drive, std::int64_t now_ms, Rng& rng) {
  if (!drive.running || drive.kind == Kind::stalls || now_ms < drive.running->ends_ms) return;
  drive.last_method = drive.running->method;
  drive.running.reset();
  drive.version += 1;
  if (drive.kind == Kind::fails) {
    drive.sstat = 3;
    return;
  }
  drive.sstat = 1;
  drive.signatures.clear();
  drive.global_data_erased = true;
  if (drive.kind == Kind::keeps_data) return;
  drive.owner = 0;
  drive.hidden_owner = 0;
  drive.canary = 0;
  drive.content = *drive.last_method == nvme::EraseMethod::sanitize_crypto ? rng.next() | 1U : 0;
}

FakeDrives::FakeDrives(Scheduler& scheduler, Rng& rng, const Faults& faults, Hardware& hardware)
    : scheduler_(scheduler), rng_(rng), faults_(faults), hardware_(hardware) {
  for (auto& [address, drive] : hardware_.drives) put_back(address);
}

void FakeDrives::put_back(const PciAddress& address) {
  Drive& drive = hardware_.drives.at(address);
  if (!drive.taken_over) return;
  drive.taken_over = false;
  drive.driver = drive.home;
  drive.disk += 1;
}

bool FakeDrives::holds_group(const PciAddress& address) const {
  const auto it = drive_threads_.find(address);
  return it != drive_threads_.end() && it->second.claimed && it->second.restored;
}

Drive* FakeDrives::find(const PciAddress& address) {
  const auto it = hardware_.drives.find(address);
  if (it == hardware_.drives.end()) return nullptr;
  settle_sanitize(it->second, scheduler_.now_ms(), rng_);
  return &it->second;
}

// -------------------------------------------------------------------------------------------------
// DriveThreads: one thing after the other on each drive.

void FakeDrives::on_thread(const PciAddress& address, Once<std::uint64_t> what) {
  DriveThread& thread = drive_threads_[address];
  const std::uint64_t op = ++thread.asked;
  Once<> run = [what = std::move(what), op] { what(op); };
  if (thread.busy) {
    thread.queue.push_back(std::move(run));
    return;
  }
  thread.busy = true;
  scheduler_.answer(faults_.delay_ms(rng_), std::move(run));
}

void FakeDrives::finish(const PciAddress& address, Once<> answer) {
  DriveThread& thread = drive_threads_[address];
  thread.busy = false;
  if (!thread.queue.empty()) {
    thread.busy = true;
    scheduler_.answer(0, std::move(thread.queue.front()));
    thread.queue.pop_front();
  }
  scheduler_.answer(faults_.delay_ms(rng_), std::move(answer));
}

bool FakeDrives::stopped(const PciAddress& address, std::uint64_t op) const {
  return op <= drive_threads_.at(address).stopped_upto;
}

void FakeDrives::stop(const PciAddress& address) {
  DriveThread& thread = drive_threads_[address];
  thread.stopped_upto = thread.asked;
}

void FakeDrives::drop(const PciAddress& address, Once<> done) {
  if (drops_hang) return hung_drops_.push_back(std::move(done));
  on_thread(address, [this, address, done = std::move(done)](std::uint64_t /*op*/) mutable {
    DriveThread& thread = drive_threads_[address];
    thread.claimed = false;
    thread.counters.reset();
    thread.proof = Proof{};
    put_back(address);
    finish(address, std::move(done));
  });
}

void FakeDrives::breaks(const PciAddress& address) {
  drive_threads_[address].broken = true;
}

bool FakeDrives::claimed(const PciAddress& address) const {
  const auto it = drive_threads_.find(address);
  return it != drive_threads_.end() && it->second.claimed;
}

bool FakeDrives::intact(const PciAddress& address) const {
  const auto it = drive_threads_.find(address);
  return it != drive_threads_.end() && it->second.claimed && !it->second.broken;
}

Proof FakeDrives::proof(const PciAddress& address) const {
  const auto it = drive_threads_.find(address);
  return it == drive_threads_.end() ? Proof{} : it->second.proof;
}

// -------------------------------------------------------------------------------------------------
// Looking.

void FakeDrives::find_signatures(const PciAddress& address,
                                 Callback<std::vector<std::string>> done) {
  scheduler_.answer(faults_.delay_ms(rng_), [this, address, done = std::move(done)] {
    const Drive* drive = find(address);
    if (drive == nullptr || !drive->present || drive->driver != "nvme") {
      return done(Error{Errc::refused, "it cannot be read"});
    }
    if (rng_.chance(faults_.command_fails)) return done(Error{Errc::busy, "EBUSY"});
    done(drive->signatures);
  });
}

void FakeDrives::discover(const std::set<PciAddress>& others,
                          Callback<std::vector<nvme::DriveFacts>> done) {
  if (hardware_.discovery_hangs) return hung_.push_back(std::move(done));
  scheduler_.answer(faults_.delay_ms(rng_), [this, others, done = std::move(done)]() mutable {
    std::vector<nvme::DriveFacts> out;
    for (auto& [address, drive] : hardware_.drives) {
      settle_sanitize(drive, scheduler_.now_ms(), rng_);
      if (!drive.present) continue;
      nvme::DriveFacts facts;
      facts.address = address;
      facts.vendor_id = 0x144d;
      facts.device_id = 0xa80a;
      facts.class_code = drive.class_code;
      facts.driver = drive.driver;
      facts.hardware = drive.hardware;
      if (drive.guest != 0) facts.guest = "libvirt domain tenant names it";
      if (!drive.is_nvme()) {
        if (others.contains(address)) out.push_back(std::move(facts));
        continue;
      }
      // A drive in a drive thread is not opened again; what its claim learnt is told instead.
      const DriveThread& thread = drive_threads_[address];
      if (drive.hangs) {
        facts.problem = "it does not answer in time";
      } else if (drive.driver == "nvme" && (!thread.busy || thread.counters)) {
        facts.controller = "nvme0";
        facts.controller_state = "live";
        nvme::Identity identity;
        identity.serial = drive.serial;
        identity.model = "SIM";
        identity.firmware = "1";
        identity.capabilities = drive.capabilities;
        facts.identity = identity;
        facts.counters = nvme::Counters{drive.host_reads, drive.host_writes};
        if (thread.counters) {
          facts.identity->serial = thread.serial;
          facts.counters = thread.counters;
        }
      } else {
        facts.problem =
            drive.driver == "nvme" ? "busy in a drive thread" : "the nvme driver is not bound";
      }
      out.push_back(std::move(facts));
    }
    Result<std::vector<nvme::DriveFacts>> result = std::move(out);
    if (rng_.chance(faults_.discover_fails)) result = Error{Errc::failed, "sysfs cannot be read"};
    scheduler_.answer(hardware_.looks_take_ms + faults_.delay_ms(rng_),
                      [done = std::move(done), result = std::move(result)] { done(result); });
  });
}

void FakeDrives::inspect(const nvme::ClaimRequest& /*request*/,
                         Callback<std::vector<nvme::GuardFinding>> done) {
  scheduler_.answer(0, [done = std::move(done)] { done(std::vector<nvme::GuardFinding>{}); });
}

// The guards that can change between the claim and the command.
std::optional<Error> FakeDrives::guard(const Drive* drive, const DriveThread& thread) const {
  if (!thread.claimed) return Error{Errc::refused, "it is not claimed"};
  if (thread.broken || drive == nullptr || !drive->present || drive->serial != thread.serial) {
    return Error{Errc::refused, "the claimed descriptors do not answer any more"};
  }
  if (drive->guest != 0 || drive->driver != (thread.restored ? drive->home : "nvme")) {
    return Error{Errc::refused, "a guest has it"};
  }
  if (drive->guarded) return Error{Errc::refused, "it is mounted"};
  return std::nullopt;
}

void FakeDrives::claim(const nvme::ClaimRequest& request, Callback<nvme::ClaimReport> done) {
  const PciAddress address = request.address;
  on_thread(address, [this, address, request, done = std::move(done)](std::uint64_t op) mutable {
    if (on_claim) on_claim(address);
    DriveThread& thread = drive_threads_[address];
    Drive* drive = find(address);
    const auto refuse = [&](Errc code, const char* why) {
      finish(address, [done = std::move(done), code, why] { done(Error{code, why}); });
    };
    if (stopped(address, op)) return refuse(Errc::cancelled, "told to stop");
    if (drive == nullptr || !drive->present) return refuse(Errc::busy, "nothing at this address");
    if (drive->guest != 0) return refuse(Errc::busy, "a guest has it");
    if (drive->driver != "nvme" && (request.managed || drive->driver != drive->home)) {
      return refuse(Errc::busy, "the nvme driver is not bound");
    }
    if (drive->hangs) return refuse(Errc::busy, "it does not answer in time");
    if (drive->guarded) return refuse(Errc::refused, "it is mounted");
    if (thread.claimed) return refuse(Errc::busy, "it is claimed already");
    nvme::ClaimReport report;
    for (const std::string& path : request.commands) {
      const auto command = hardware_.commands.find(path);
      if (command == hardware_.commands.end()) return refuse(Errc::refused, "no such command");
      report.command_digests[path] = command->second;
    }
    if (rng_.chance(faults_.command_fails)) return refuse(Errc::refused, "EBUSY");
    if (!request.expected_serial.empty() && request.expected_serial != drive->serial) {
      return refuse(Errc::failed, "another serial than recorded: enrol the new drive");
    }
    if (drive->driver != "nvme") {
      drive->driver = "nvme";
      drive->disk += 1;
      drive->taken_over = true;
    }
    thread.claimed = true;
    thread.broken = false;
    thread.restored = false;
    thread.serial = drive->serial;
    thread.counters = nvme::Counters{drive->host_reads, drive->host_writes};
    thread.proof = Proof{};
    report.findings.push_back(nvme::GuardFinding{"claim", true, "every node is open"});
    nvme::Identity identity;
    identity.serial = drive->serial;
    identity.model = "SIM";
    identity.firmware = "1";
    identity.capabilities = drive->capabilities;
    report.facts.identity = identity;
    report.facts.hardware = drive->hardware;
    report.facts.counters = thread.counters;
    if (drive->running) {
      report.facts.sanitize.emplace().sstat = 2;
      report.facts.sanitize->scdw10 = nvme::sanitize_cdw10(drive->running->method);
    }
    // What a tenant left of it; the rest is hidden.
    report.facts.namespaces.push_back(nvme::NamespaceFacts{
        1, "nvme0n1", drive->hidden_owner != 0 ? kWholeBytes / 2 : kWholeBytes, 512, 0});
    finish(address, [done = std::move(done), report] { done(report); });
  });
}

// -------------------------------------------------------------------------------------------------
// After the work.

void FakeDrives::restore_driver(const PciAddress& address, Callback<Ok> done) {
  on_thread(address, [this, address, done = std::move(done)](std::uint64_t op) mutable {
    DriveThread& thread = drive_threads_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      finish(address, [done = std::move(done), error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (auto refused = guard(drive, thread)) return refuse(*refused);
    if (drive->taken_over) {
      if (rng_.chance(faults_.command_fails)) {
        return refuse(Error{Errc::failed, "its former driver does not come back"});
      }
      put_back(address);
      thread.restored = true;
    }
    finish(address, [done = std::move(done)] { done(Ok{}); });
  });
}

void FakeDrives::still_ours(const PciAddress& address, const nvme::Counters& since,
                            Callback<nvme::Counters> done) {
  on_thread(address, [this, address, since, done = std::move(done)](std::uint64_t op) mutable {
    DriveThread& thread = drive_threads_[address];
    const Drive* drive = find(address);
    const auto refuse = [&](const Error& error) {
      finish(address, [done = std::move(done), error] { done(error); });
    };
    if (stopped(address, op)) return refuse(cancelled());
    if (auto refused = guard(drive, thread)) return refuse(*refused);
    if (drive->is_nvme() && drive->host_writes != since.host_writes) {
      return refuse(Error{Errc::refused, "somebody wrote to it since it was verified"});
    }
    if (drive->is_nvme() && !thread.restored && scheduler_.now_ms() < drive->hot_until_ms) {
      return refuse(Error{Errc::busy, "too hot"});
    }
    const nvme::Counters counters{drive->host_reads, drive->host_writes};
    finish(address, [this, done = std::move(done), counters]() mutable {
      scheduler_.answer(std::exchange(next_last_answer_late_ms, 0),
                        [done = std::move(done), counters] { done(counters); });
    });
  });
}

}  // namespace reclaim::sim
