#include "handlers/conductor/recheck.h"

#include <fmt/core.h>

#include <utility>

#include "handlers/conductor/error_facts.h"
#include "handlers/survey/plan.h"
#include "handlers/survey/taken.h"
#include "state/ledger/trust.h"

namespace reclaim {
namespace {

// Nova draws a UUID for each provider that it makes; Cyborg makes it from the name, so that one
// that was deleted and made again may show the generation it had before.
bool keeps_its_generations(const Record& record) {
  return record.flow == Flow::nova;
}

}  // namespace

void Recheck::begin(const PciAddress& address, std::uint64_t epoch) {
  const auto maintaining = [this, address, epoch](const std::string& why) {
    context_.answer(address, epoch, Trigger::placement_changed, said(why));
  };
  arqs_.ask_once_more(address, epoch, maintaining,
                      [this, address, epoch] { read(address, epoch); });
}

void Recheck::read(const PciAddress& address, std::uint64_t epoch) {
  const Record& record = context_.record_of(address);
  const std::string& provider = record.provider;
  views_.erase(address);
  const auto admitted = admissions_.take_admitted_view(address);
  const auto decide = [this, address, epoch](Result<placement::ProviderView> view) {
    if (!context_.is_stale(address, epoch)) rechecked(address, epoch, std::move(view));
  };
  if (!admitted || admitted->uuid != provider) {
    return context_.ports.providers.read(provider, decide);
  }
  if (fence_.is_needed(address)) return fence_.raise(address, *admitted, decide);
  if (!keeps_its_generations(record)) return context_.ports.providers.read(provider, decide);
  context_.ports.providers.read_again(*admitted, decide);
}

void Recheck::rechecked(const PciAddress& address, std::uint64_t epoch,
                        Result<placement::ProviderView> view) {
  if (!view) {
    if (away(view.error()) || view.error().code == Errc::conflict) {
      return context_.answer_later(address, epoch, Trigger::placement_away, said(view.error()));
    }
    return context_.answer(address, epoch, Trigger::placement_changed, said(view.error()));
  }
  if (!view->free()) {
    Assessment taken = given_in_cleaning(context_.record_of(address), *view);
    context_.ports.log.error(log_name::kConductor,
                             fmt::format("{}: {}", to_string(address), taken.alarm));
    context_.want_survey(0);
    return context_.answer(address, epoch, Trigger::allocation_seen, std::move(taken.facts));
  }
  if (!view->burned()) {
    return context_.answer(address, epoch, Trigger::placement_changed, said("not burned any more"));
  }
  if (fence_.is_needed(address)) {
    return fence_.raise(address, *view,
                        [this, address, epoch](Result<placement::ProviderView> fenced) {
                          if (context_.is_stale(address, epoch)) return;
                          rechecked(address, epoch, std::move(fenced));
                        });
  }
  const Record& record = context_.record_of(address);
  if (keeps_its_generations(record)) views_[address] = *std::move(view);
  // Only a sanitize goes on without us. A zeroing goes on with us, from where the ledger says that
  // it was; of any other method there is nothing to adopt.
  const auto method = erase_of(record.plan);
  const bool marked =
      !mark_of_zeroing(context_.on_ledger(address), record, context_.policies.digest).empty();
  const bool adopting = record.erase_begun && method && (nvme::is_sanitize(*method) || marked);
  steps_.adopt_next_erase(address, adopting);
  Facts facts;
  if (adopting) facts.step_index = static_cast<std::uint32_t>(erase_index(record.plan));
  context_.answer(address, epoch, adopting ? Trigger::still_burned_adopt : Trigger::still_burned,
                  std::move(facts));
}

std::optional<placement::ProviderView> Recheck::take_view(const PciAddress& address) {
  auto view = views_.extract(address);
  if (view.empty()) return std::nullopt;
  return std::move(view.mapped());
}

}  // namespace reclaim
