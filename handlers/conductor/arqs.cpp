// The conductor's ear for Cyborg: ARQs by notification and from Cyborg's API, what binds a device,
// and the specification's invariant between device state and reservation. None of it carries
// authority to touch a drive; all of it can keep one from being touched or given back.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "handlers/conductor/conductor.h"
#include "handlers/conductor/error_facts.h"

namespace reclaim {
namespace {

constexpr std::string_view kLog = "reclaim.cyborg";

bool deletes_an_instance(std::string_view event_type) {
  return event_type == "instance.delete.end" || event_type == "compute.instance.delete.end";
}

}  // namespace

// Which devices an ARQ may bind: those on record, and those that this survey is about to assess for
// the first time. Before one has gone through, anything may be here.
void Conductor::know_cyborg_devices(const Survey& survey) {
  std::vector<ArqDevice> devices;
  for (const auto& [address, device] : devices_) {
    if (device.record.flow == Flow::cyborg) devices.push_back({address, device.record.provider});
  }
  for (const auto& [address, sighting] : survey.sightings) {
    for (const placement::ProviderRow& row : sighting.rows) {
      if (row.owner_cyborg) devices.push_back({address, row.uuid});
    }
  }
  has_cyborg_ = cyborg_.is_configured() || !devices.empty();
  if (!arqs_.know_devices(std::move(devices), survey_began_)) return;
  save_arqs();
  stop_what_is_bound();
}

void Conductor::hear_arq(const Kick& kick) {
  const Now now = ports_.clock.now();
  bool changed = deletes_an_instance(kick.reason) && arqs_.instance_deleted(kick.instance, now);
  if (!kick.arq.empty()) {
    auto arq = decode_arq(kick.arq);
    if (!arq) {
      ports_.log.warning(kLog, fmt::format("{}: its ARQ cannot be read", kick.reason),
                         {{"why", arq.error().what}});
    } else {
      changed = arqs_.hear(kick.reason, *std::move(arq), now) || changed;
    }
  }
  if (!changed) return;
  save_arqs();
  stop_what_is_bound();
}

// Whoever got a device that is being cleaned must not lose what he writes to it. At the release
// itself the last look, or the next survey, finds it.
void Conductor::stop_what_is_bound() {
  for (auto& [address, device] : devices_) {
    const Stage stage = device.record.stage;
    if (!is_busy(stage) || stage == Stage::releasing || stage == Stage::confirming) continue;
    const auto arq = binding_of(device);
    if (!arq) continue;
    Facts facts = said(fmt::format("ARQ {} binds it", arq->uuid));
    facts.arq = arq->uuid;
    facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
    ports_.log.error(kLog, fmt::format("{} is being cleaned, and ARQ {} binds it",
                                       to_string(address), arq->uuid));
    post(address, Event{Trigger::allocation_seen, 0, std::move(facts)});
  }
}

// Of a device that Placement showed free when its cleaning began, and since.
std::optional<Arq> Conductor::binding_of(const Device& device) const {
  if (device.record.flow != Flow::cyborg) return std::nullopt;
  return arqs_
      .about({device.record.address, device.record.provider, true, device.record.consumer(),
              ports_.clock.now().mono})
      .holder;
}

// Where either the ARQ that bound it or the configuration says that libvirt does not rebind it, the
// drive is to be taken from where it stands.
DevicePolicy Conductor::as_bound(DevicePolicy policy, const Record& record) {
  if (record.flow == Flow::cyborg && !record.arq.empty() && !record.managed) policy.managed = false;
  return policy;
}

// -------------------------------------------------------------------------------------------------
// Cyborg's API.

void Conductor::assess_cyborgs() {
  for (const auto& [address, waiting] : cyborg_.take_waiting()) {
    assess_one(waiting.sighting, waiting.epoch);
  }
  orders_.carry_out_waiting();
  watch_.attend();
}

bool Conductor::waits_for_cyborg(const Sighting& sighting) {
  if (!cyborg_.is_awaited()) return false;
  const Device* device = find(sighting.address);
  return (device != nullptr && device->record.flow == Flow::cyborg) ||
         std::any_of(sighting.rows.begin(), sighting.rows.end(),
                     [](const placement::ProviderRow& row) { return row.owner_cyborg; });
}

// A device whose status is `maintaining` is neither touched nor un-reserved, and an administrator
// may have said so since it was admitted. Where Cyborg does not answer, it is asked for as long as
// the claim holds, as Placement is. What was heard of an ARQ while the admission was being recorded
// counts where Cyborg cannot be asked as well.
void Conductor::ask_cyborg_once_more(const PciAddress& address, std::uint64_t epoch,
                                     std::function<void()> next) {
  if (!cyborg_.is_configured() || devices_.at(address).record.flow != Flow::cyborg) {
    if (bound_meanwhile(address, epoch)) return;
    return next();
  }
  const auto answered = [this, address, epoch, next = std::move(next)](Result<bool> news) {
    if (!news) {
      return answer_later(address, epoch, Trigger::placement_away,
                          said(fmt::format("Cyborg's API: {}", news.error().what)));
    }
    const Device& device = devices_.at(address);
    if (*news) {  // it may be of another device that is being cleaned
      save_arqs();
      stop_what_is_bound();
      if (binding_of(device)) return;
    }
    if (const std::string why = cyborg_.why_withheld(device.record); !why.empty()) {
      return answer(address, epoch, Trigger::placement_changed, said(why));
    }
    if (bound_meanwhile(address, epoch)) return;
    next();
  };
  cyborg_.ask_for(address, epoch, answered);
}

bool Conductor::bound_meanwhile(const PciAddress& address, std::uint64_t epoch) {
  const auto arq = binding_of(devices_.at(address));
  if (!arq) return false;
  Facts facts = said("ARQ " + arq->uuid);
  facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
  answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  return true;
}

// -------------------------------------------------------------------------------------------------
// What a survey adds.

bool Conductor::is_ours(const Sighting& sighting) const {
  if (!sighting.drive) return false;
  if (sighting.is_drive()) {
    return policies_
        .device_policy(sighting.drive->vendor_id, sighting.drive->device_id, sighting.address)
        .has_value();
  }
  return policies_.whitelist && policies_.whitelist(sighting.drive->vendor_id,
                                                    sighting.drive->device_id, sighting.address);
}

bool Conductor::is_managed(const Sighting& sighting) const {
  if (!sighting.drive) return true;
  const auto policy = policies_.device_policy(sighting.drive->vendor_id, sighting.drive->device_id,
                                              sighting.address);
  return !policy || policy->managed;
}

void Conductor::know_of_cyborg(Sighting& sighting, const Record* record) {
  const bool one_row = sighting.rows.size() == 1;
  const bool cyborg = (one_row && sighting.rows.front().owner_cyborg) ||
                      (record != nullptr && record->flow == Flow::cyborg);
  if (sighting.drive) sighting.ours = is_ours(sighting);
  if (!cyborg) return;
  ArqQuestion question{sighting.address, one_row ? sighting.rows.front().uuid : "", false,
                       record == nullptr ? "" : record->consumer(), survey_began_};
  question.free = sighting.view && sighting.view->free();
  if (sighting.view && !sighting.view->free()) {
    question.consumers = sighting.view->consumers;
    arqs_.allocation_seen(question);
    save_arqs();
  }
  DeviceArqs arqs = arqs_.about(question);
  sighting.holder = std::move(arqs.holder);
  sighting.ended = std::move(arqs.ended);
  sighting.cyborg_status = cyborg_.status_of(sighting.address, question.provider);
  sighting.cyborg_silent = !sighting.cyborg_status;
}

// Told once, until it is another one, or over.
void Conductor::say_mismatch(Device& device, const Assessment& assessment) {
  if (!assessment.alarm.empty()) {
    ports_.log.error(kLog,
                     fmt::format("{}: {}", to_string(device.record.address), assessment.alarm));
  }
  if (device.mismatch_told == assessment.mismatch) return;
  device.mismatch_told = assessment.mismatch;
  if (assessment.mismatch.empty()) return;
  ports_.log.warning(kLog,
                     fmt::format("{}: {}", to_string(device.record.address), assessment.mismatch));
}

// -------------------------------------------------------------------------------------------------
// The book in Redis.

void Conductor::save_arqs() {
  for (const ArqBook::Write& write : arqs_.take_unsaved()) {
    const auto done = [this, uuid = write.uuid](Result<Ok> saved) {
      if (saved || stopping_) return;
      arqs_.not_saved(uuid);  // with the next survey
      ports_.log.warning(kLog, fmt::format("ARQ {} is not written to Redis", uuid),
                         {{"why", saved.error().what}});
    };
    if (write.arq) {
      ports_.store.save_arq(options_.host, *write.arq, done);
    } else {
      ports_.store.remove_arq(options_.host, write.uuid, done);
    }
  }
}

// As mend_store does for the records: Redis may have lost what was written.
void Conductor::mend_arqs() {
  ports_.store.load_arqs(options_.host, [this](Result<std::vector<Arq>> stored) {
    if (!stored || stopping_) return;
    arqs_.compare(*stored);
    save_arqs();
  });
}

}  // namespace reclaim
