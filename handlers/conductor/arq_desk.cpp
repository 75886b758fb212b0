#include "handlers/conductor/arq_desk.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/conductor/error_facts.h"
#include "handlers/conductor/policy_of.h"

namespace reclaim {
namespace {

bool deletes_an_instance(std::string_view event_type) {
  return event_type == "instance.delete.end" || event_type == "compute.instance.delete.end";
}

}  // namespace

void ArqDesk::know_devices(const Survey& survey) {
  std::vector<ArqDevice> devices;
  for (const auto& [address, device] : context_.devices) {
    if (device.record.flow == Flow::cyborg) devices.push_back({address, device.record.provider});
  }
  for (const auto& [address, sighting] : survey.sightings) {
    for (const placement::ProviderRow& row : sighting.rows) {
      if (row.owner_cyborg) devices.push_back({address, row.uuid});
    }
  }
  has_devices_ = cyborg_.is_configured() || !devices.empty();
  if (!book_.know_devices(std::move(devices), context_.survey.began)) return;
  save();
  stop_what_is_bound();
}

void ArqDesk::hear(const Kick& kick) {
  const Now now = context_.ports.clock.now();
  bool changed = deletes_an_instance(kick.reason) && book_.instance_deleted(kick.instance, now);
  if (!kick.arq.empty()) {
    auto arq = decode_arq(kick.arq);
    if (!arq) {
      context_.ports.log.warning(log_name::kCyborg,
                                 fmt::format("{}: its ARQ cannot be read", kick.reason),
                                 {{"why", arq.error().what}});
    } else {
      changed = book_.hear(kick.reason, *std::move(arq), now) || changed;
    }
  }
  if (!changed) return;
  save();
  stop_what_is_bound();
}

void ArqDesk::stop_what_is_bound() {
  for (const auto& [address, device] : context_.devices) {
    const Stage stage = device.record.stage;
    if (!is_busy(stage) || stage == Stage::releasing || stage == Stage::confirming) continue;
    const auto arq = binding_of(device.record);
    if (!arq) continue;
    Facts facts = said(fmt::format("ARQ {} binds it", arq->uuid));
    facts.arq = arq->uuid;
    facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
    context_.ports.log.error(
        log_name::kCyborg,
        fmt::format("{} is being cleaned, and ARQ {} binds it", to_string(address), arq->uuid));
    context_.post(address, Event{Trigger::allocation_seen, 0, std::move(facts)});
  }
}

std::optional<Arq> ArqDesk::binding_of(const Record& record) const {
  if (record.flow != Flow::cyborg) return std::nullopt;
  return book_
      .about({record.address, record.provider, true, record.consumer(),
              context_.ports.clock.now().mono})
      .holder;
}

// A device whose status is `maintaining` is neither touched nor un-reserved, and an administrator
// may have said so since it was admitted. Where Cyborg does not answer, it is asked for as long as
// the claim holds, as Placement is. What was heard of an ARQ while the admission was being recorded
// counts where Cyborg cannot be asked as well.
void ArqDesk::ask_once_more(const PciAddress& address, std::uint64_t epoch,
                            std::function<void(const std::string& why)> maintaining,
                            std::function<void()> next) {
  if (!cyborg_.is_configured() || context_.record_of(address).flow != Flow::cyborg) {
    if (is_bound_meanwhile(address, epoch)) return;
    return next();
  }
  const auto answered = [this, address, epoch, maintaining = std::move(maintaining),
                         next = std::move(next)](Result<bool> news) {
    if (!news) {
      return context_.answer_later(address, epoch, Trigger::placement_away,
                                   said(fmt::format("Cyborg's API: {}", news.error().what)));
    }
    const Record& record = context_.record_of(address);
    if (*news) {  // it may be of another device that is being cleaned
      save();
      stop_what_is_bound();
      if (binding_of(record)) return;
    }
    if (const std::string why = cyborg_.why_withheld(record); !why.empty()) {
      return maintaining(why);
    }
    if (is_bound_meanwhile(address, epoch)) return;
    next();
  };
  cyborg_.ask_for(address, epoch, answered);
}

bool ArqDesk::is_bound_meanwhile(const PciAddress& address, std::uint64_t epoch) {
  const auto arq = binding_of(context_.record_of(address));
  if (!arq) return false;
  Facts facts = said("ARQ " + arq->uuid);
  facts.name_tenant(arq->instance_uuid, InstanceSource::arq);
  context_.answer(address, epoch, Trigger::allocation_seen, std::move(facts));
  return true;
}

void ArqDesk::fill_in(Sighting& sighting, const Record* record) {
  const bool one_row = sighting.rows.size() == 1;
  const bool cyborg = (one_row && sighting.rows.front().owner_cyborg) ||
                      (record != nullptr && record->flow == Flow::cyborg);
  know_whose(context_.policies, sighting);
  if (!cyborg) return;
  ArqQuestion question{sighting.address, one_row ? sighting.rows.front().uuid : "", false,
                       record == nullptr ? "" : record->consumer(), context_.survey.began};
  question.free = sighting.view && sighting.view->free();
  if (sighting.view && !sighting.view->free()) {
    question.consumers = sighting.view->consumers;
    book_.allocation_seen(question);
    save();
  }
  DeviceArqs arqs = book_.about(question);
  sighting.leaked = cyborg_.leaked(question, arqs.holder);
  sighting.holder = std::move(arqs.holder);
  sighting.ended = std::move(arqs.ended);
  sighting.own_status = cyborg_.own_status_of(sighting.address, question.provider);
  sighting.cyborg_status = cyborg_.status_of(sighting.address, question.provider);
  sighting.cyborg_uuid = cyborg_.uuid_of(sighting.address, question.provider);
  sighting.cyborg_silent = !sighting.cyborg_status;
}

void ArqDesk::save() {
  for (const ArqBook::Write& write : book_.take_unsaved()) {
    const auto done = [this, uuid = write.uuid](Result<Ok> saved) {
      if (saved || context_.stopping) return;
      book_.not_saved(uuid);  // with the next survey
      context_.ports.log.warning(log_name::kCyborg,
                                 fmt::format("ARQ {} is not written to Redis", uuid),
                                 {{"why", saved.error().what}});
    };
    if (write.arq) {
      context_.ports.store.save_arq(context_.options.host, *write.arq, done);
    } else {
      context_.ports.store.remove_arq(context_.options.host, write.uuid, done);
    }
  }
}

void ArqDesk::compare() {
  context_.ports.store.load_arqs(context_.options.host, [this](Result<std::vector<Arq>> stored) {
    if (!stored || context_.stopping) return;
    book_.compare(*stored);
    save();
  });
}

}  // namespace reclaim
