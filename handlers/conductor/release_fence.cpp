#include "handlers/conductor/release_fence.h"

namespace reclaim {

void ReleaseFence::raise(const PciAddress& address, const placement::ProviderView& view,
                         std::function<void(Result<placement::ProviderView>)> done) {
  CHECK(view.burned());
  context_.ports.providers.set_reserved(
      view, view.inventories.front().total,
      [this, address, done = std::move(done)](Result<placement::ProviderView> after) {
        if (context_.stopping) return;
        if (after) devices_[address].needed = devices_[address].first = false;
        done(std::move(after));
      });
}

void ReleaseFence::raise_first(const PciAddress& address, const placement::ProviderView& view) {
  Fence& fence = devices_[address];
  const Record& record = context_.record_of(address);
  const bool at_rest = record.cleanable() && !is_busy(record.stage);
  if (context_.options.observes()) fence.first = false;  // nothing is done that it could overtake
  if (!fence.first || fence.under_way || !at_rest || !view.burned() || !view.free()) return;
  fence.under_way = true;
  raise(address, view, [this, address](Result<placement::ProviderView> after) {
    devices_[address].under_way = false;
    if (!after) return context_.want_survey(context_.backoff(address));
    raised_(address, *after);
  });
}

}  // namespace reclaim
