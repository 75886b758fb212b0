#include "handlers/conductor/cyborg_watch.h"

#include <algorithm>

namespace reclaim {
namespace {

// Cyborg's devices wait this long for its API; a later answer counts for the next survey.
constexpr std::int64_t kCyborgWaitMs = 3'000;
// Nova allocates before it binds and unbinds before it deallocates, each within seconds; and what
// Cyborg says may come from a replica that lags.
constexpr std::int64_t kLeakedAfterMs = 30'000;

bool is_of(const placement::CyborgDevice& device, const PciAddress& address,
           const std::string& provider) {
  return device.address == address || (!provider.empty() && device.provider == provider);
}

const placement::CyborgDevice* device_of(const placement::CyborgView& view,
                                         const PciAddress& address, const std::string& provider) {
  const placement::CyborgDevice* found = nullptr;
  for (const placement::CyborgDevice& device : view.devices) {
    if (!is_of(device, address, provider)) continue;
    if (device.status == kMaintaining) return &device;  // of two drivers, whichever was disabled
    if (found == nullptr) found = &device;
  }
  return found;
}

}  // namespace

void CyborgWatch::read(std::function<void(Result<placement::CyborgView>)> answered) const {
  context_.ports.accelerators->read({context_.options.host, context_.options.node_names},
                                    context_.stopping.unless_begun(std::move(answered)));
}

void CyborgWatch::ask() {
  if (!is_configured() || asked_) return;
  asked_ = awaited_ = true;
  const std::uint64_t ask = ++asks_;
  const MonoMs asked_at = context_.ports.clock.now().mono;
  context_.ports.timers.after(kCyborgWaitMs, context_.stopping.unless_begun([this, ask] {
    if (ask != asks_ || !asked_) return;
    view_.reset();
    settle();
  }));
  read([this, asked_at](Result<placement::CyborgView> view) {
    asked_ = false;
    answered(std::move(view), asked_at);
    settle();
  });
}

void CyborgWatch::answered(Result<placement::CyborgView> view, MonoMs asked_at) {
  if (!view) {
    view_.reset();
    context_.ports.log.warning(log_name::kCyborg,
                               "Cyborg's API does not answer: what Cyborg owns is not cleaned",
                               {{"why", view.error().what}});
    return;
  }
  view_ = std::move(view).value();
  std::erase_if(idle_since_, [this](const auto& idle) {
    return std::none_of(view_->arqs.begin(), view_->arqs.end(),
                        [&idle](const Arq& arq) { return arq.uuid == idle.first; });
  });
  if (arqs_.reconcile(view_->arqs, asked_at, context_.ports.clock.now())) news_();
}

void CyborgWatch::settle() {
  awaited_ = false;
  settled_();
}

void CyborgWatch::ask_for(const PciAddress& address, std::uint64_t epoch,
                          std::function<void(Result<bool> news)> done) {
  const MonoMs asked_at = context_.ports.clock.now().mono;
  read(
      [this, address, epoch, asked_at, done = std::move(done)](Result<placement::CyborgView> view) {
        if (context_.is_stale(address, epoch)) return;
        if (!view) return done(view.error());
        const bool news = arqs_.reconcile(view->arqs, asked_at, context_.ports.clock.now());
        view_ = std::move(view).value();
        done(news);
      });
}

std::optional<std::string> CyborgWatch::status_of(const PciAddress& address,
                                                  const std::string& provider) const {
  if (!is_configured()) return "";
  if (!view_) return std::nullopt;
  const placement::CyborgDevice* known = device_of(*view_, address, provider);
  return known == nullptr ? "" : known->status;
}

std::string CyborgWatch::own_status_of(const PciAddress& address,
                                       const std::string& provider) const {
  if (!view_) return {};
  const placement::CyborgDevice* known = device_of(*view_, address, provider);
  return known == nullptr || known->uuid.empty() ? "" : known->status;
}

std::optional<Arq> CyborgWatch::leaked(const ArqQuestion& question,
                                       const std::optional<Arq>& holder) {
  if (!view_) return std::nullopt;
  const MonoMs now = context_.ports.clock.now().mono;
  std::optional<Arq> found;
  for (const Arq& arq : view_->arqs) {
    if (arq.state != ArqState::bound ||
        !ArqBook::concerns(arq, question.address, question.provider)) {
      continue;
    }
    if (!question.free || (holder && holder->uuid == arq.uuid)) {
      idle_since_.erase(arq.uuid);
    } else if (now.ms - idle_since_.try_emplace(arq.uuid, now).first->second.ms >= kLeakedAfterMs) {
      found = arq;
    }
  }
  return found;
}

std::optional<std::string> CyborgWatch::uuid_of(const PciAddress& address,
                                                const std::string& provider) const {
  if (!is_configured()) return "";
  if (!view_) return std::nullopt;
  std::string uuid;
  for (const placement::CyborgDevice& device : view_->devices) {
    if (!is_of(device, address, provider) || device.uuid.empty()) continue;
    if (!uuid.empty() && uuid != device.uuid) return "";
    uuid = device.uuid;
  }
  return uuid;
}

// One that did not answer may have been told meanwhile that the device is maintaining.
std::string CyborgWatch::why_withheld(const Record& record) const {
  if (record.flow != Flow::cyborg) return {};
  const auto status = status_of(record.address, record.provider);
  if (!status) return "Cyborg's API does not answer";
  return *status == kMaintaining ? "Cyborg's status of it is maintaining" : "";
}

}  // namespace reclaim
