#include "handlers/arq/book.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reclaim {
namespace {

// Cyborg's API may read from a replica of its database that lags. A reading that contradicts what
// is known counts when one that began so much later still says the same.
constexpr std::int64_t kReadingsApartMs = 30'000;
// Cyborg's clock may be behind ours by this much: what began so shortly before a release counts as
// after it, which costs a cleaning at most.
constexpr std::int64_t kClocksApartMs = 60'000;

// Cyborg says its times with an offset, always that of UTC; nothing: not told, or not understood.
std::optional<WallMs> time_of(std::string text) {
  constexpr std::string_view kUtc = "+00:00";
  if (text.ends_with(kUtc)) text.resize(text.size() - kUtc.size());
  const auto at = from_iso8601(text);
  if (!at) return std::nullopt;
  return *at;
}

bool older(const std::string& a, const std::string& b) {
  const auto at = time_of(a);
  const auto than = time_of(b);
  return at && than && *at < *than;
}

// The time at which a binding began, as it is told. A word may come late, or again after a restart,
// and is not to be taken for a tenancy of today; where it does not tell, it is.
WallMs began(const Arq& told, const Now& now) {
  const auto at = time_of(told.updated_at);
  return at ? std::min(WallMs{at->ms + kClocksApartMs}, now.wall) : now.wall;
}

// A fake driver's handles name addresses that may well be somebody's drive.
bool names_a_function(const Arq& arq) {
  return arq.address && arq.attach_handle_type != "TEST_PCI";
}

// True if both speak of one and the same binding, so that hearing of it again is not news.
bool same_binding(const Arq& a, const Arq& b) {
  return a.held_at == b.held_at && a.address == b.address && a.device_rp_uuid == b.device_rp_uuid;
}

// The state that an event leaves behind: its phase counts, for its payload may have been made
// before the state was changed.
ArqState state_after(std::string_view event_type, ArqState told) {
  if (event_type.ends_with(".unbind.end") || event_type.ends_with(".delete.end")) {
    return ArqState::unbound;
  }
  if (event_type.ends_with(".bind.end")) return ArqState::bound;
  if (event_type.ends_with(".bind.start")) {
    return told == ArqState::bound ? told : ArqState::bind_started;
  }
  if (event_type.ends_with(".unbind.error")) return ArqState::unbind_failed;
  if (event_type.ends_with(".unbind.start") || event_type.ends_with(".delete.start")) {
    return ArqState::deleting;
  }
  return told;
}

// True if the event only ever leads out of a binding.
bool leads_out(std::string_view event_type) {
  return event_type.find(".unbind.") != std::string_view::npos ||
         event_type.find(".delete.") != std::string_view::npos;
}

}  // namespace

bool ArqBook::concerns(const Arq& arq, const PciAddress& address, const std::string& provider) {
  if (names_a_function(arq) && *arq.address == address) return true;
  return !provider.empty() && arq.device_rp_uuid == provider;
}

// The allocation outlives the binding on both ends: Nova allocates before it binds and unbinds
// before it deallocates. So once it was seen, and Placement, read after the binding was heard of,
// shows it no more, the binding is over, whatever Cyborg's database has kept of it.
bool ArqBook::binds(const Entry& entry, const ArqQuestion& question) {
  const Arq& arq = entry.arq;
  if (!arq.holds_device() || arq.released) return false;
  if (!question.free || entry.heard > question.surveyed_from) return true;
  const bool seen_before = !question.instance.empty() && arq.instance_uuid == question.instance;
  return !arq.allocation_seen && !seen_before;
}

void ArqBook::load(const std::vector<Arq>& stored) {
  for (const Arq& arq : stored) {
    if (entries_.contains(arq.uuid) || ended_.contains(arq.uuid)) continue;
    entries_[arq.uuid] = Entry{arq, MonoMs{}, std::nullopt};
  }
  make_room();
}

// A word that comes late, after what it says has ended.
bool ArqBook::is_past(const Arq& told) const {
  const auto it = ended_.find(told.uuid);
  if (it == ended_.end()) return false;
  if (it->second.deleted) return true;
  const auto at = time_of(told.updated_at);
  const auto end = time_of(it->second.updated_at);
  return at && end && *at <= *end;
}

// An end whose time was not told cannot be told from one before the binding that Cyborg's API goes
// on listing: of these, later readings count more.
bool ArqBook::is_past_for_good(const Arq& told) const {
  const auto it = ended_.find(told.uuid);
  return it != ended_.end() && (it->second.deleted || (it->second.timed && is_past(told)));
}

void ArqBook::remember_end(const Arq& told, bool deleted, bool timed) {
  Ended& ended = ended_[told.uuid];
  ended.order = ++ends_;
  ended.contradicted.reset();
  ended.deleted = ended.deleted || deleted;
  ended.timed = timed;
  if (!told.updated_at.empty() && !older(told.updated_at, ended.updated_at)) {
    ended.updated_at = told.updated_at;
  }
  if (ended_.size() <= kArqsMax) return;
  ended_.erase(std::min_element(ended_.begin(), ended_.end(), [](const auto& a, const auto& b) {
    return a.second.order < b.second.order;
  }));
}

const ArqDevice* ArqBook::device_for(const Arq& told) const {
  if (!devices_) return nullptr;
  const auto device = std::find_if(
      devices_->begin(), devices_->end(),
      [&told](const ArqDevice& known) { return concerns(told, known.address, known.provider); });
  return device == devices_->end() ? nullptr : &*device;
}

// Forged words cost nothing: what is not known to bind yet is taken for a device that is here and
// that few are said to bind.
bool ArqBook::has_room_for(const Arq& told) const {
  if (!devices_) return true;
  const ArqDevice* device = device_for(told);
  if (device == nullptr) return false;
  const auto others = std::count_if(entries_.begin(), entries_.end(), [&](const auto& each) {
    const Arq& arq = each.second.arq;
    return arq.uuid != told.uuid && arq.holds_device() && !arq.released &&
           concerns(arq, device->address, device->provider);
  });
  return static_cast<std::size_t>(others) < kArqsPerDeviceMax;
}

void ArqBook::let_wait(std::string_view event_type, Arq told, const Now& now) {
  if (!names_a_function(told) && told.device_rp_uuid.empty()) return;
  if (waiting_.size() == kArqsWaitingMax) waiting_.erase(waiting_.begin());
  waiting_.push_back({std::string(event_type), std::move(told), now});
}

// A survey that began after a word was heard would have shown its device.
bool ArqBook::know_devices(std::vector<ArqDevice> devices, MonoMs surveyed_from) {
  devices_ = std::move(devices);
  bool changed = false;
  for (Waiting& each : std::exchange(waiting_, {})) {
    if (device_for(each.told) != nullptr) {
      changed = hear(each.event_type, std::move(each.told), each.heard) || changed;
    } else if (each.heard.mono >= surveyed_from) {
      waiting_.push_back(std::move(each));
    }
  }
  return changed;
}

bool ArqBook::end(Entry& entry) {
  if (!entry.arq.holds_device()) return false;
  entry.arq.state = ArqState::unbound;
  unsaved_.insert(entry.arq.uuid);
  return true;
}

bool ArqBook::hear(std::string_view event_type, Arq told, const Now& now) {
  if (told.uuid.empty()) return false;
  const bool changed_first = told.holds_device();
  told.state = state_after(event_type, told.state);
  const auto known = entries_.find(told.uuid);
  const bool ends = event_type.ends_with(".unbind.end") || event_type.ends_with(".delete.end");
  if (!told.holds_device() || ends) {
    std::erase_if(waiting_, [&told](const Waiting& each) { return each.told.uuid == told.uuid; });
  }
  if (known != entries_.end() && older(told.updated_at, known->second.arq.updated_at)) return false;
  if (ends) {
    remember_end(told, event_type.ends_with(".delete.end"), !told.updated_at.empty());
    if (known == entries_.end()) return false;
    if (!told.updated_at.empty()) known->second.arq.updated_at = told.updated_at;
    return end(known->second);
  }
  if (!told.holds_device()) {
    if (known == entries_.end()) return false;
    return end(known->second);
  }
  if (is_past(told)) return false;
  // A payload made before the state was changed says an earlier time.
  told.held_at = changed_first ? began(told, now) : now.wall;
  if (known == entries_.end()) {
    if (!names_.has(told.hostname)) return false;
    if (devices_ && device_for(told) == nullptr) {
      let_wait(event_type, std::move(told), now);
      return false;
    }
    if (!has_room_for(told)) return false;
    Entry entry;
    take_in(entry, std::move(told), now);
    put(std::move(entry));
    return true;
  }
  if (!told.hostname.empty() && !names_.has(told.hostname)) return end(known->second);
  if (!known->second.arq.holds_device() && leads_out(event_type)) return false;
  return renew(known->second, std::move(told), now);
}

void ArqBook::put(Entry entry) {
  unsaved_.insert(entry.arq.uuid);
  const std::string uuid = entry.arq.uuid;
  entries_[uuid] = std::move(entry);
  make_room();
}

// Takes in what is told of an ARQ that is known. False: nothing that is new, and then it is not as
// if it had been heard of just now.
bool ArqBook::renew(Entry& entry, Arq told, const Now& now) {
  Entry next = entry;
  take_in(next, std::move(told), now);
  Arq compared = next.arq;
  compared.heard_at = entry.arq.heard_at;
  if (compared == entry.arq) return false;
  if (!same_binding(entry.arq, next.arq)) next.heard = now.mono;
  entry = std::move(next);
  unsaved_.insert(entry.arq.uuid);
  return true;
}

void ArqBook::take_in(Entry& entry, Arq told, const Now& now) {
  const Arq known = std::move(entry.arq);
  const bool first = known.uuid.empty();
  const bool moved = known.address && told.address && *known.address != *told.address;
  // An unbinding that failed wipes the device, and is not a new binding.
  const bool renewed =
      known.released && !told.hostname.empty() && older(known.updated_at, told.updated_at);
  const bool anew = first || !known.holds_device() || moved || renewed;
  if (!first && !moved) {
    // A field that an event or a listing leaves out was not taken back by that.
    const auto keep = [](std::string& now_told, const std::string& before) {
      if (now_told.empty()) now_told = before;
    };
    keep(told.hostname, known.hostname);
    keep(told.device_rp_uuid, known.device_rp_uuid);
    keep(told.instance_uuid, known.instance_uuid);
    keep(told.project_id, known.project_id);
    keep(told.device_profile_name, known.device_profile_name);
    keep(told.attach_handle_type, known.attach_handle_type);
    keep(told.attach_handle_uuid, known.attach_handle_uuid);
    keep(told.other_info, known.other_info);
    keep(told.created_at, known.created_at);
    keep(told.updated_at, known.updated_at);
    if (!told.address) told.address = known.address;
    if (!told.managed) told.managed = known.managed;
    if (known.state == ArqState::bound && told.state == ArqState::bind_started) {
      told.state = known.state;
    }
  }
  told.heard_at = now.wall;
  if (!anew) {
    const bool completed = known.state == ArqState::bind_started && told.state == ArqState::bound &&
                           known.held_at.ms != 0;
    told.held_at = completed ? std::max(known.held_at, told.held_at) : known.held_at;
  }
  told.listed = !anew && known.listed;
  told.allocation_seen = !anew && known.allocation_seen;
  told.released = !anew && known.released;
  entry.arq = std::move(told);
  entry.contradicted.reset();
  if (anew) entry.heard = now.mono;
}

bool ArqBook::instance_deleted(const std::string& instance, const Now& /*now*/) {
  if (instance.empty()) return false;
  std::erase_if(waiting_, [&](const Waiting& each) { return each.told.instance_uuid == instance; });
  bool changed = false;
  for (auto& [uuid, entry] : entries_) {
    if (entry.arq.instance_uuid != instance) continue;
    remember_end(entry.arq, true, false);  // an instance does not come back
    changed = end(entry) || changed;
  }
  return changed;
}

bool ArqBook::reconcile(const std::vector<Arq>& listed, MonoMs asked_at, const Now& now) {
  bool changed = false;
  std::set<std::string> seen;
  for (const Arq& told : listed) {
    if (told.uuid.empty() || (!told.hostname.empty() && !names_.has(told.hostname))) continue;
    seen.insert(told.uuid);
    changed = listed_now(told, asked_at, now) || changed;
  }
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    const std::string uuid = it->first;
    ++it;
    if (seen.contains(uuid) || entry.heard > asked_at || !entry.arq.holds_device()) continue;
    if (!entry.arq.listed) {
      changed = forget_unlisted(entry, asked_at) || changed;
    } else if (believes(entry.contradicted, asked_at)) {
      changed = end(entry) || changed;
    }
  }
  return changed;
}

// Cyborg lists by project, so that one may be hidden from us; but then Placement has shown its
// allocation, which Nova makes before it binds. What neither has shown was never there.
bool ArqBook::forget_unlisted(Entry& entry, MonoMs asked_at) {
  if (entry.arq.allocation_seen || entry.arq.released) return false;
  if (!believes(entry.contradicted, asked_at)) return false;
  const std::string uuid = entry.arq.uuid;
  unsaved_.insert(uuid);
  entries_.erase(uuid);
  return true;
}

bool ArqBook::believes(std::optional<MonoMs>& contradicted, MonoMs asked_at) {
  if (!contradicted) contradicted = asked_at;
  if (asked_at.ms - contradicted->ms < kReadingsApartMs) return false;
  contradicted.reset();
  return true;
}

bool ArqBook::listed_now(Arq told, MonoMs asked_at, const Now& now) {
  const auto known = entries_.find(told.uuid);
  told.held_at = began(told, now);
  if (known == entries_.end()) {
    // One that names no host any more is somebody's, and names no device either.
    if (!told.holds_device() || told.hostname.empty()) return false;
    if (is_past(told) &&
        (is_past_for_good(told) || !believes(ended_.at(told.uuid).contradicted, asked_at))) {
      return false;
    }
    ended_.erase(told.uuid);
    Entry entry;
    take_in(entry, std::move(told), now);
    entry.arq.listed = true;
    put(std::move(entry));
    return true;
  }
  Entry& entry = known->second;
  if (entry.heard > asked_at) return false;  // what was heard since is newer
  if (!entry.arq.listed) {
    entry.arq.listed = true;
    unsaved_.insert(told.uuid);
  }
  if (told.holds_device() == entry.arq.holds_device()) {
    entry.contradicted.reset();
    return told.holds_device() && renew_listed(entry, told, now);
  }
  if (!believes(entry.contradicted, asked_at)) return false;
  if (!told.holds_device()) return end(entry);
  if (is_past_for_good(told)) return false;
  ended_.erase(told.uuid);
  return renew_listed(entry, told, now);
}

bool ArqBook::renew_listed(Entry& entry, Arq told, const Now& now) {
  const bool changed = renew(entry, std::move(told), now);
  entry.arq.listed = true;
  return changed;
}

void ArqBook::allocation_seen(const ArqQuestion& question) {
  for (auto& [uuid, entry] : entries_) {
    // Somebody else's allocation is not this ARQ's, and its end not the end of this binding.
    const std::string& instance = entry.arq.instance_uuid;
    const bool of_another = !instance.empty() && !question.consumers.empty() &&
                            std::find(question.consumers.begin(), question.consumers.end(),
                                      instance) == question.consumers.end();
    if (of_another || entry.arq.allocation_seen || !entry.arq.holds_device() ||
        !concerns(entry.arq, question.address, question.provider) ||
        entry.heard > question.surveyed_from) {
      continue;
    }
    entry.arq.allocation_seen = true;
    unsaved_.insert(uuid);
  }
}

bool ArqBook::let_go(const PciAddress& address, const std::string& provider) {
  bool changed = false;
  for (auto& [uuid, entry] : entries_) {
    if (!entry.arq.holds_device() || entry.arq.released ||
        !concerns(entry.arq, address, provider)) {
      continue;
    }
    entry.arq.released = changed = true;
    unsaved_.insert(uuid);
  }
  return changed;
}

void ArqBook::bury(const PciAddress& address, const std::string& provider,
                   const std::vector<PastTenancy>& over) {
  for (const PastTenancy& past : over) {
    const auto it = entries_.find(past.uuid);
    if (it == entries_.end()) continue;
    Arq& arq = it->second.arq;
    // It binds another device by now, or this one once more.
    if (!concerns(arq, address, provider) || arq.held_at != past.held_at) continue;
    unsaved_.insert(past.uuid);
    if (arq.holds_device()) {
      // Cyborg may list it for ever: a leaked one.
      arq.released = true;
      arq.held_at = WallMs{};
      continue;
    }
    const auto ended = ended_.find(past.uuid);
    remember_end(arq, false, ended != ended_.end() && ended->second.timed);
    entries_.erase(it);
  }
}

DeviceArqs ArqBook::about(const ArqQuestion& question) const {
  DeviceArqs out;
  for (const auto& [uuid, entry] : entries_) {
    if (!concerns(entry.arq, question.address, question.provider)) continue;
    if (binds(entry, question)) {
      if (!out.holder || out.holder->held_at < entry.arq.held_at) out.holder = entry.arq;
      continue;
    }
    if (entry.arq.held_at.ms == 0) continue;
    out.over.push_back({uuid, entry.arq.held_at});
    if (!out.ended || out.ended->held_at < entry.arq.held_at) out.ended = entry.arq;
  }
  return out;
}

void ArqBook::make_room() {
  if (entries_.size() <= kArqsMax) return;
  // An ARQ that holds a device of Cyborg's here stays longest, then one that holds another; of
  // alike the newest.
  const auto worth = [this](const Entry& entry) {
    const Arq& arq = entry.arq;
    const bool names_one = names_a_function(arq) || !arq.device_rp_uuid.empty();
    if (!arq.holds_device() || arq.released || !names_one) return 0;
    const bool known =
        devices_ && std::any_of(devices_->begin(), devices_->end(), [&arq](const ArqDevice& each) {
          return concerns(arq, each.address, each.provider);
        });
    return known ? 2 : 1;
  };
  std::vector<std::tuple<int, WallMs, std::string>> order;
  for (const auto& [uuid, entry] : entries_) {
    order.emplace_back(worth(entry), entry.arq.heard_at, uuid);
  }
  std::sort(order.begin(), order.end());
  order.resize(entries_.size() - kArqsMax);
  for (const auto& [value, heard_at, uuid] : order) {
    unsaved_.insert(uuid);
    entries_.erase(uuid);
  }
}

std::vector<ArqBook::Write> ArqBook::take_unsaved() {
  std::vector<Write> out;
  for (const std::string& uuid : std::exchange(unsaved_, {})) {
    const auto it = entries_.find(uuid);
    out.push_back({uuid, it == entries_.end() ? std::nullopt : std::optional<Arq>(it->second.arq)});
  }
  return out;
}

void ArqBook::compare(const std::vector<Arq>& stored) {
  std::set<std::string> same;
  for (const Arq& arq : stored) {
    const auto it = entries_.find(arq.uuid);
    if (it != entries_.end() && it->second.arq == arq) {
      same.insert(arq.uuid);
    } else {
      unsaved_.insert(arq.uuid);
    }
  }
  for (const auto& [uuid, entry] : entries_) {
    if (!same.contains(uuid)) unsaved_.insert(uuid);
  }
}

}  // namespace reclaim
