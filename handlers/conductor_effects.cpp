// The conductor's hands: each effect is carried out only after the record that asks for it is
// durable, and its answer comes back as an event stamped with that record's epoch.
#include <fmt/core.h>

#include <utility>

#include "handlers/conductor.h"
#include "handlers/conductor_words.h"
#include "handlers/evidence.h"

namespace reclaim {
void Conductor::answer(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
                       Facts facts) {
  post(address, Event{trigger, epoch, std::move(facts)});
}

void Conductor::answer_later(const PciAddress& address, std::uint64_t epoch, Trigger trigger,
                             Facts facts) {
  ports_.timers.after(backoff(devices_.at(address)), [this, address, epoch, trigger, facts] {
    answer(address, epoch, trigger, facts);
  });
}

// The device went on without the answer that just came.
bool Conductor::stale(const PciAddress& address, std::uint64_t epoch) const {
  return devices_.at(address).record.epoch != epoch;
}

void Conductor::carry_out(const PciAddress& address, EffectKind effect) {
  const std::uint64_t epoch = devices_.at(address).record.epoch;
  switch (effect) {
    case EffectKind::none:
      return;
    case EffectKind::claim:
      return take_lock_and_claim(address, epoch);
    case EffectKind::recheck:
      return recheck(address, epoch);
    case EffectKind::take_baseline:
      return take_baseline(address, epoch);
    case EffectKind::erase:
      return erase(address, epoch);
    case EffectKind::verify:
      return verify(address, epoch);
    case EffectKind::look:
      return look(address, epoch);
    case EffectKind::release:
      return release(address, epoch);
    case EffectKind::confirm:
      return confirm(address, epoch);
    case EffectKind::finish:
      return finish(address);
    case EffectKind::drop:
      return drop(address);
    case EffectKind::reserve:
      return reserve(address, devices_.at(address).record.provider);
  }
}

// -------------------------------------------------------------------------------------------------
// Lock and claim.

void Conductor::take_lock_and_claim(const PciAddress& address, std::uint64_t epoch) {
  ports_.store.acquire_lock(options_.host, address, options_.holder, options_.lock_ttl_ms,
                            [this, address, epoch](Result<LockToken> lock) {
                              if (stopping_) return;
                              if (!lock)
                                return answer(address, epoch, Trigger::lock_refused,
                                              said(lock.error()));
                              if (stale(address, epoch)) return give_back(address, *lock);
                              devices_.at(address).lock = *lock;
                              keep_lock(address);
                              claim(address, epoch);
                            });
}

void Conductor::keep_lock(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (device.renew_timer != 0) ports_.timers.cancel(device.renew_timer);
  device.renew_timer = ports_.timers.after(options_.lock_ttl_ms / 3, [this, address] {
    Device& now = devices_.at(address);
    now.renew_timer = 0;
    if (now.lock.token == 0 || stopping_) return;
    ports_.store.renew_lock(options_.host, address, now.lock, options_.lock_ttl_ms,
                            [this, address](Result<Ok> renewed) {
                              if (devices_.at(address).lock.token == 0 || stopping_) return;
                              if (renewed || renewed.error().code != Errc::conflict)
                                return keep_lock(address);
                              // Expired while Redis was away, or taken. The kernel's lock and the
                              // claim are still ours; only another holder makes us stop.
                              reacquire_lock(address, [this, address](bool ours) {
                                if (ours) return;
                                ports_.drives.stop(address);
                                devices_.at(address).lock = LockToken{};
                                post(address, Event{Trigger::lock_lost, 0, {}});
                              });
                            });
  });
}

// A lock that came when nobody wanted it any more.
void Conductor::give_back(const PciAddress& address, LockToken lock) {
  ports_.store.release_lock(options_.host, address, lock, [](Result<Ok> /*released*/) {
    // A lock that could not be released expires.
  });
}

void Conductor::reacquire_lock(const PciAddress& address, std::function<void(bool ours)> done) {
  ports_.store.acquire_lock(options_.host, address, options_.holder, options_.lock_ttl_ms,
                            [this, address, done](Result<LockToken> lock) {
                              if (stopping_) return;
                              Device& device = devices_.at(address);
                              if (!is_busy(device.record.stage)) {
                                if (lock) give_back(address, *lock);
                                return;  // the cleaning it was for is over
                              }
                              if (lock) {
                                device.lock = *lock;
                                keep_lock(address);
                                return done(true);
                              }
                              if (!away(lock.error()) || lock.error().code == Errc::busy) {
                                return done(false);
                              }
                              ports_.timers.after(backoff(device), [this, address, done] {
                                if (!stopping_) reacquire_lock(address, done);
                              });
                            });
}

void Conductor::claim(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  nvme::ClaimRequest request;
  request.address = address;
  request.resource_class = device.record.resource_class;
  request.expected_serial = device.record.serial;
  const auto vendor = std::strtoul(device.record.vendor_id.c_str(), nullptr, 16);
  const auto product = std::strtoul(device.record.product_id.c_str(), nullptr, 16);
  const auto policy = policies_.device_policy(static_cast<std::uint16_t>(vendor),
                                              static_cast<std::uint16_t>(product), address);
  if (!policy) {
    return answer(address, epoch, Trigger::guards_wait, said("no device_spec entry matches it"));
  }
  request.resource_class_override = policy->resource_class;
  request.shared_subsystem_allowed = policy->shared_subsystem_allowed;
  device.claimed = true;
  device.lane_open = true;
  ports_.drives.claim(request, [this, address, epoch](Result<nvme::ClaimReport> report) {
    if (stopping_) return;
    if (!report) {
      const bool settled_by_operator = report.error().code == Errc::failed;
      return answer(address, epoch,
                    settled_by_operator ? Trigger::guards_failed : Trigger::guards_wait,
                    said(report.error()));
    }
    for (const nvme::GuardFinding& finding : report->findings) {
      ports_.log.info("reclaim.guards",
                      fmt::format("{} {}: {}", to_string(address), finding.guard,
                                  finding.passed ? "passed" : "refused"),
                      {{"detail", finding.detail}});
    }
    Facts facts;
    facts.detail = fmt::format("{} guards passed", report->findings.size());
    if (report->facts.identity) {
      facts.model = report->facts.identity->model;
      facts.serial = report->facts.identity->serial;
      facts.firmware = report->facts.identity->firmware;
    }
    std::uint64_t capacity = 0;
    for (const nvme::NamespaceFacts& ns : report->facts.namespaces) capacity += ns.capacity_bytes;
    facts.capacity_bytes = capacity;
    answer(address, epoch, Trigger::guards_passed, std::move(facts));
  });
}

// Stops what runs, closes the drive, then gives the lock back: in this order, so that nobody else
// can begin while a descriptor of ours is open.
void Conductor::drop(const PciAddress& address) {
  Device& device = devices_.at(address);
  if (device.renew_timer != 0) ports_.timers.cancel(std::exchange(device.renew_timer, 0));
  const LockToken lock = std::exchange(device.lock, LockToken{});
  device.claimed = false;
  device.release_view.reset();
  ports_.drives.stop(address);
  ports_.drives.drop(address, [this, address, lock] {
    Device& now = devices_.at(address);
    if (!now.claimed) now.lane_open = false;
    if (lock.token != 0) give_back(address, lock);
  });
}

// -------------------------------------------------------------------------------------------------
// The steps of a cleaning.

// The first cleaning after a start writes what it read, reserved = total: the write succeeds only
// if nothing has moved since admission, and moves the generation itself, so that a release which
// an earlier worker sent and nobody saw answered can never be made any more.
void Conductor::recheck(const PciAddress& address, std::uint64_t epoch) {
  Device& device = devices_.at(address);
  const auto admitted = std::exchange(device.admitted_view, std::nullopt);
  const auto decide = [this, address, epoch](Result<placement::ProviderView> view) {
    if (!stopping_ && !stale(address, epoch)) rechecked(address, epoch, std::move(view));
  };
  if (device.fence && admitted && admitted->uuid == device.record.provider) {
    return raise_fence(address, *admitted, decide);
  }
  ports_.providers.read(device.record.provider, decide);
}

void Conductor::rechecked(const PciAddress& address, std::uint64_t epoch,
                          Result<placement::ProviderView> view) {
  if (!view) {
    if (away(view.error()) || view.error().code == Errc::conflict) {
      return answer_later(address, epoch, Trigger::placement_away, said(view.error()));
    }
    return answer(address, epoch, Trigger::placement_changed, said(view.error()));
  }
  if (!view->free()) {
    Facts facts = said(fmt::format("consumer {}", view->consumers.front()));
    facts.instance = view->consumers.front();
    return answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  }
  if (!view->burned()) {
    return answer(address, epoch, Trigger::placement_changed, said("not burned any more"));
  }
  Device& device = devices_.at(address);
  if (device.fence) {
    return raise_fence(address, *view,
                       [this, address, epoch](Result<placement::ProviderView> fenced) {
                         if (stopping_ || stale(address, epoch)) return;
                         rechecked(address, epoch, std::move(fenced));
                       });
  }
  device.adopting = device.record.erase_begun;
  answer(address, epoch, device.adopting ? Trigger::still_burned_adopt : Trigger::still_burned);
}

void Conductor::raise_fence(const PciAddress& address, const placement::ProviderView& view,
                            std::function<void(Result<placement::ProviderView>)> done) {
  CHECK(view.burned());
  ports_.providers.set_reserved(
      view, view.inventories.front().total,
      [this, address, done = std::move(done)](Result<placement::ProviderView> after) {
        if (stopping_) return;
        if (after) devices_.at(address).fence = false;
        done(std::move(after));
      });
}

void Conductor::take_baseline(const PciAddress& address, std::uint64_t epoch) {
  ports_.drives.take_baseline(address, [this, address, epoch](Result<nvme::Baseline> baseline) {
    if (stopping_) return;
    if (!baseline) {
      return answer(address, epoch,
                    may_pass(baseline.error()) ? Trigger::guards_wait : Trigger::baseline_failed,
                    said(baseline.error()));
    }
    Facts facts =
        said(fmt::format("{} samples read and {} canaries written, {} of them count",
                         baseline->samples.size(), baseline->canaries.size(), baseline->counted()));
    facts.baseline = nvme::encode_baseline(*baseline);
    answer(address, epoch, Trigger::baseline_taken, std::move(facts));
  });
}

void Conductor::erase(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = devices_.at(address).record;
  const auto method =
      record.plan.empty()
          ? Result<nvme::EraseMethod>(Error{Errc::invalid, "the record bears no plan"})
          : nvme::parse_erase_method(record.plan.front().step);
  if (!method) return answer(address, epoch, Trigger::erase_failed, said(method.error()));
  nvme::EraseRequest request;
  request.method = *method;
  request.adopt_ours = std::exchange(devices_.at(address).adopting, false);
  request.timeout_ms = options_.cleanup_timeout_ms;
  request.stall_timeout_ms = options_.stall_timeout_ms;
  const bool adopting = request.adopt_ours;
  ports_.drives.erase(
      address, request,
      [this, address, epoch](nvme::EraseProgress progress) {
        Device* device = find(address);
        if (device != nullptr && device->record.epoch == epoch) show_progress(address, progress);
      },
      [this, address, epoch, adopting](Result<nvme::EraseEvidence> evidence) {
        if (stopping_) return;
        if (evidence) {
          Facts facts = said(summary(*evidence));
          facts.evidence = to_json(*evidence);
          return answer(address, epoch, Trigger::erased, std::move(facts));
        }
        const Error& error = evidence.error();
        Trigger trigger = Trigger::erase_failed;
        if (error.code == Errc::unknown) trigger = Trigger::erase_unknown;
        if (error.code == Errc::cancelled || may_pass(error)) trigger = Trigger::erase_not_started;
        if (adopting && error.code == Errc::not_found) trigger = Trigger::nothing_to_adopt;
        answer(address, epoch, trigger, said(error));
      });
}

void Conductor::show_progress(const PciAddress& address, nvme::EraseProgress progress) {
  Device& device = devices_.at(address);
  device.record.progress_percent = progress.percent;
  device.record.progress_eta_s = progress.eta_s;
  if (device.progress_in_flight) return;
  device.progress_in_flight = true;
  ports_.store.save_progress(device.record, [this, address](Result<Ok> /*saved*/) {
    devices_.at(address).progress_in_flight = false;
  });
}

void Conductor::verify(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = devices_.at(address).record;
  const auto baseline = nvme::decode_baseline(record.baseline);
  const auto evidence = evidence_of_json(record.evidence);
  if (!baseline) return answer(address, epoch, Trigger::verify_failed, said(baseline.error()));
  if (!evidence) return answer(address, epoch, Trigger::verify_failed, said(evidence.error()));
  ports_.drives.verify(
      address, *baseline, *evidence,
      [this, address, epoch](nvme::EraseProgress progress) {
        Device* device = find(address);
        if (device != nullptr && device->record.epoch == epoch) show_progress(address, progress);
      },
      [this, address, epoch](Result<nvme::VerifyReport> report) {
        if (stopping_) return;
        if (!report) {
          return answer(address, epoch, Trigger::verify_failed, said(report.error()));
        }
        Facts facts = said(summary(*report));
        facts.verification = to_json(*report);
        answer(address, epoch, Trigger::verified, std::move(facts));
      });
}

}  // namespace reclaim
