#include "handlers/api/fleet.h"

#include <fmt/core.h>

#include <algorithm>

#include "handlers/api/devices.h"
#include "state/base/reading.h"
#include "state/base/uuid.h"

namespace reclaim::api {
namespace {

template <typename T>
using Shared = std::shared_ptr<const T>;

// A value that takes long to make: made once for all who ask meanwhile, and kept for `view_ms`, or
// as long as it took to make, so that whoever asks on and on costs half of the time at most.
template <typename T>
class Kept final {
 public:
  using Done = Fleet::OnView<T>;

  // True: the caller begins to make it, and hands it to settle().
  [[nodiscard]] bool ask(MonoMs now, std::int64_t view_ms, Done done) {
    if (value_ && now.ms - made_at_.ms < std::max(view_ms, took_ms_)) {
      done(Shared<T>(value_));
      return false;
    }
    if (waiting_.empty()) {
      began_at_ = now;
      value_ = nullptr;
    }
    waiting_.push_back(std::move(done));
    return waiting_.size() == 1;
  }

  void settle(MonoMs now, Result<Shared<T>> result) {
    value_ = result ? *result : nullptr;
    made_at_ = now;
    took_ms_ = now.ms - began_at_.ms;
    const std::vector<Done> waiting = std::exchange(waiting_, {});
    for (const Done& done : waiting) done(result);
  }

 private:
  Shared<T> value_;
  MonoMs began_at_;
  MonoMs made_at_;
  std::int64_t took_ms_ = 0;
  std::vector<Done> waiting_;
};

// The rows of the hosts that can be read, in their order; and those that cannot.
template <typename Rows>
struct Read {
  std::vector<Rows> rows;
  std::vector<Damaged> damaged;
};

// Reads something of each host, a bounded number of them at a time.
template <typename Rows>
class FleetRead final : public std::enable_shared_from_this<FleetRead<Rows>> {
 public:
  using Load = std::function<void(const std::string& host, Callback<Rows>)>;
  using Done = Callback<Read<Rows>>;

  FleetRead(std::vector<std::string> hosts, std::size_t loads_max, Load load, Done done)
      : hosts_(std::move(hosts)),
        loads_max_(loads_max),
        load_(std::move(load)),
        done_(std::move(done)),
        rows_(hosts_.size(), Rows{}) {}

  void run() {
    while (!error_ && next_ < hosts_.size() && under_way_ < loads_max_) {
      under_way_ += 1;
      const std::size_t host = next_++;
      load_(hosts_[host], [self = this->shared_from_this(), host](Result<Rows> rows) {
        self->loaded(host, std::move(rows));
      });
    }
    if (under_way_ > 0) return;
    if (error_) return done_(*error_);
    Read<Rows> all;
    all.rows.reserve(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].ok()) {
        all.rows.push_back(*std::move(rows_[i]));
      } else {
        all.damaged.push_back({hosts_[i], "", rows_[i].error().what});
      }
    }
    done_(std::move(all));
  }

 private:
  void loaded(std::size_t host, Result<Rows> rows) {
    under_way_ -= 1;
    // One host's keys, whatever its login wrote into them, keep no others from being shown.
    if (rows || is_of_what_is_stored(rows.error())) {
      rows_[host] = std::move(rows);
    } else if (!error_) {
      error_ = rows.error();
    }
    run();
  }

  std::vector<std::string> hosts_;
  std::size_t loads_max_;
  Load load_;
  Done done_;
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  std::vector<Result<Rows>> rows_;
  std::optional<Error> error_;
};

// One for each host: SCAN may tell of an entry twice.
void put(Arqs& arqs, const std::shared_ptr<const ArqRow>& row) {
  const auto [begin, end] = arqs.equal_range(row->arq.uuid);
  const bool told =
      std::any_of(begin, end, [&](const auto& known) { return known.second->host == row->host; });
  if (!told) arqs.emplace(row->arq.uuid, row);
}

// Whatever the record says: a host's login may have written another's there.
std::string uuid_of(const Record& record) {
  return device_uuid(record.host, record.address);
}

}  // namespace

Device device_of(const Record& record) {
  Device device;
  device.uuid = uuid_of(record);
  device.host = record.host;
  device.address = to_string(record.address);
  device.provider = record.provider;
  device.type = record.type;
  device.vendor_id = record.vendor_id;
  device.product_id = record.product_id;
  device.status =
      record.maintenance || record.cyborg_status == "maintaining" ? "maintaining" : "enabled";
  // A record that cannot be read says nothing that could be relied on.
  device.state = record.damage.empty() ? device_state(record.stage) : DeviceState::error;
  device.created_at = record.created_at;
  device.updated_at = record.updated_at;
  device.managed = record.managed;
  device.flow = record.flow;
  device.state_since = record.stage_since;
  device.held = record.held;
  device.waits = !record.waiting_for.empty();
  device.maintenance = record.maintenance;
  device.certificate_pending = !record.certificate_pending.empty();
  device.cyborg_uuid = looks_like_uuid(record.cyborg_uuid) ? record.cyborg_uuid : std::string();
  device.certificate_id = record.certificate_id;
  render(device, record);
  return device;
}

class Fleet::Impl final : public std::enable_shared_from_this<Fleet::Impl> {
 public:
  Impl(Store& store, MetricsTexts& worker_metrics, const Clock& clock, FleetOptions options)
      : store_(store), worker_metrics_(worker_metrics), clock_(clock), options_(options) {}

  void hosts(OnView<std::vector<HostInfo>> done) {
    if (!hosts_.ask(now(), options_.view_ms, std::move(done))) return;
    store_.hosts([weak = weak_from_this()](Result<std::vector<HostInfo>> hosts) {
      const auto self = weak.lock();
      if (!self) return;
      if (!hosts) return self->hosts_.settle(self->now(), hosts.error());
      self->hosts_.settle(self->now(),
                          std::make_shared<const std::vector<HostInfo>>(*std::move(hosts)));
    });
  }

  void devices(OnView<Devices> done) {
    if (!devices_.ask(now(), options_.view_ms, std::move(done))) return;
    read_fleet<HostDevices>(
        [this](const std::string& host, Callback<HostDevices> loaded) {
          load(host, std::move(loaded));
        },
        [this](Result<Read<HostDevices>> read) {
          if (!read) return devices_.settle(now(), read.error());
          devices_.settle(now(), std::make_shared<const Devices>(
                                     Devices{std::move(read->rows), std::move(read->damaged)}));
        });
  }

  void devices_of(const std::string& host, OnView<Devices> done) {
    hosts(
        [this, host, done = std::move(done)](Result<Shared<std::vector<HostInfo>>> hosts) mutable {
          if (!hosts) return done(hosts.error());
          // A name that no worker has goes into no key.
          if (find_host(**hosts, host) == nullptr) return done(std::make_shared<const Devices>());
          load(host, reading<HostDevices>(std::move(done), "", [](HostDevices devices) {
                 return std::make_shared<const Devices>(Devices{{std::move(devices)}, {}});
               }));
        });
  }

  void arqs(OnView<Arqs> done) {
    if (!arqs_.ask(now(), options_.view_ms, std::move(done))) return;
    devices([this](Result<Shared<Devices>> devices) {
      if (!devices) return arqs_.settle(now(), devices.error());
      const auto made = std::make_shared<Arqs>();
      read_fleet<Ok>(
          [this, made](const std::string& host, Callback<Ok> loaded) {
            load_arqs(host, made, std::move(loaded));
          },
          [this, made](const Result<Read<Ok>>& all) {
            if (!all) return arqs_.settle(now(), all.error());
            arqs_.settle(now(), Shared<Arqs>(made));
          });
    });
  }

  void worker_texts(OnView<WorkerTexts> done) {
    if (!worker_texts_.ask(now(), options_.view_ms, std::move(done))) return;
    const auto made = std::make_shared<WorkerTexts>();
    read_fleet<Ok>(
        [this, made](const std::string& host, Callback<Ok> loaded) {
          load_worker_text(host, made, std::move(loaded));
        },
        [this, made](const Result<Read<Ok>>& all) {
          if (!all) return worker_texts_.settle(now(), all.error());
          worker_texts_.settle(now(), Shared<WorkerTexts>(made));
        });
  }

  void find(const std::string& uuid, OnView<Found> done) {
    const auto hint = host_of_.find(uuid);
    if (hint == host_of_.end()) return search(uuid, std::move(done));
    // A device's UUID is made of its host's name: it never moves.
    look_at(hint->second, uuid, std::move(done));
  }

 private:
  [[nodiscard]] MonoMs now() const { return clock_.now().mono; }

  static const HostInfo* find_host(const std::vector<HostInfo>& hosts, const std::string& name) {
    const auto found = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const HostInfo& host) { return host.host == name; });
    return found == hosts.end() ? nullptr : &*found;
  }

  // Every callback of the store passes through one that looks whether we are still there.
  void load(const std::string& host, Callback<HostDevices> done) {
    store_.load(host, [weak = weak_from_this(), host,
                       done = std::move(done)](Result<std::vector<Record>> records) {
      const auto self = weak.lock();
      if (!self) return done.drop();
      if (!records) return done(records.error());
      std::vector<Device> devices;
      devices.reserve(records->size());
      for (const Record& record : *records) devices.push_back(device_of(record));
      std::sort(devices.begin(), devices.end(),
                [](const Device& a, const Device& b) { return a.address < b.address; });
      auto shared = std::make_shared<const std::vector<Device>>(std::move(devices));
      self->remember(host, shared);
      done(std::move(shared));
    });
  }

  // Keeps a host's devices until they are read again, so that a fleet is forgotten host by host,
  // each in the turn in which it was read again.
  void remember(const std::string& host, HostDevices devices) {
    HostDevices& known = devices_of_[host];
    if (known != nullptr) {
      for (const Device& device : *known) host_of_.erase(device.uuid);
    }
    for (const Device& device : *devices) host_of_[device.uuid] = host;
    known = std::move(devices);
  }

  template <typename Rows>
  void read_fleet(typename FleetRead<Rows>::Load load, typename FleetRead<Rows>::Done done) {
    hosts([this, load = std::move(load),
           done = std::move(done)](Result<Shared<std::vector<HostInfo>>> hosts) mutable {
      if (!hosts) return done(hosts.error());
      std::vector<std::string> names;
      for (const HostInfo& host : **hosts) names.push_back(host.host);
      std::sort(names.begin(), names.end());
      std::make_shared<FleetRead<Rows>>(std::move(names), options_.loads_max, std::move(load),
                                        std::move(done))
          ->run();
    });
  }

  void load_arqs(const std::string& host, const std::shared_ptr<Arqs>& made, Callback<Ok> done) {
    store_.load_arqs(host, [weak = weak_from_this(), host, made,
                            done = std::move(done)](Result<std::vector<Arq>> arqs) {
      const auto self = weak.lock();
      if (!self) return done.drop();
      if (!arqs) return done(arqs.error());
      // The host's ARQs, like its devices, are kept until they are read again.
      auto& rows = self->arqs_of_[host];
      rows.clear();
      for (Arq& arq : *arqs) {
        const bool managed = self->is_managed(host, arq);
        const bool is_of_host = self->names_a_device_of(host, arq);
        rows.push_back(
            std::make_shared<const ArqRow>(ArqRow{host, std::move(arq), managed, is_of_host}));
        put(*made, rows.back());
      }
      done(Ok{});
    });
  }

  void load_worker_text(const std::string& host, const std::shared_ptr<WorkerTexts>& made,
                        Callback<Ok> done) {
    worker_metrics_.load_metrics(host, [weak = weak_from_this(), host, made,
                                        done = std::move(done)](Result<std::string> text) {
      if (weak.expired()) return done.drop();
      if (!text) return done(text.error());
      made->emplace(host, *std::move(text));
      done(Ok{});
    });
  }

  // The devices were read just before. An ARQ's own name of the host may be that of the node.
  [[nodiscard]] bool is_managed(const std::string& host, const Arq& arq) const {
    if (arq.managed) return *arq.managed;
    const auto known = devices_of_.find(host);
    if (!arq.address || arq.hostname.empty() || known == devices_of_.end()) return true;
    const std::vector<Device>& devices = *known->second;
    const std::string address = to_string(*arq.address);
    const auto device = std::lower_bound(
        devices.begin(), devices.end(), address,
        [](const Device& one, const std::string& wanted) { return one.address < wanted; });
    return device == devices.end() || device->address != address || device->managed;
  }

  // Its provider does before its attach handle is known. An address says less: each host has it.
  [[nodiscard]] bool names_a_device_of(const std::string& host, const Arq& arq) const {
    const auto known = devices_of_.find(host);
    if (known == devices_of_.end()) return false;
    const std::string address = arq.address ? to_string(*arq.address) : std::string();
    return std::any_of(known->second->begin(), known->second->end(), [&](const Device& device) {
      const bool by_provider = !arq.device_rp_uuid.empty() && !device.provider.empty();
      return by_provider ? device.provider == arq.device_rp_uuid : device.address == address;
    });
  }

  void search(const std::string& uuid, OnView<Found> done) {
    devices([this, uuid, done = std::move(done)](Result<Shared<Devices>> devices) mutable {
      if (!devices) return done(devices.error());
      const auto found = host_of_.find(uuid);
      if (found != host_of_.end()) return look_at(found->second, uuid, std::move(done));
      const Result<const Device*> by_cyborgs = the_one_of_cyborgs(**devices, uuid);
      if (!by_cyborgs) return done(by_cyborgs.error());
      if (*by_cyborgs == nullptr) return done(Shared<Found>());
      look_at((*by_cyborgs)->host, (*by_cyborgs)->uuid, std::move(done));
    });
  }

  // Its host says which it is, and a host's login may say so of another's.
  static Result<const Device*> the_one_of_cyborgs(const Devices& devices, const std::string& uuid) {
    const Device* found = nullptr;
    for (const HostDevices& host : devices.hosts) {
      for (const Device& device : *host) {
        if (device.cyborg_uuid != uuid) continue;
        if (found != nullptr) {
          return Error{
              Errc::conflict,
              fmt::format("{} of host {} and {} of host {} both say that they are Cyborg's "
                          "device {}, and Placement knows which is: name the one that is "
                          "meant by its own uuid, as GET /v2/devices lists it",
                          found->address, found->host, device.address, device.host, uuid)};
        }
        found = &device;
      }
    }
    return found;
  }

  void look_at(const std::string& host, const std::string& uuid, OnView<Found> done) {
    hosts([this, host, uuid,
           done = std::move(done)](Result<Shared<std::vector<HostInfo>>> hosts) mutable {
      if (!hosts) return done(hosts.error());
      Found found;
      if (const HostInfo* info = find_host(**hosts, host)) found.host = *info;
      found.host.host = host;
      store_.load(host, [weak = weak_from_this(), uuid, found = std::move(found),
                         done = std::move(done)](Result<std::vector<Record>> records) mutable {
        const auto self = weak.lock();
        if (!self) return done.drop();
        if (!records) return done(records.error());
        for (Record& record : *records) {
          if (uuid_of(record) != uuid) continue;
          found.record = std::move(record);
          return done(std::make_shared<const Found>(std::move(found)));
        }
        done(Shared<Found>());
      });
    });
  }

  Store& store_;
  MetricsTexts& worker_metrics_;
  const Clock& clock_;
  const FleetOptions options_;
  Kept<std::vector<HostInfo>> hosts_;
  Kept<Devices> devices_;
  Kept<Arqs> arqs_;
  Kept<WorkerTexts> worker_texts_;
  std::unordered_map<std::string, std::string> host_of_;     // by the device's UUID
  std::unordered_map<std::string, HostDevices> devices_of_;  // as last read
  std::unordered_map<std::string, std::vector<std::shared_ptr<const ArqRow>>> arqs_of_;
};

Fleet::Fleet(Store& store, MetricsTexts& worker_metrics, const Clock& clock, FleetOptions options)
    : impl_(std::make_shared<Impl>(store, worker_metrics, clock, options)) {}
Fleet::~Fleet() = default;

void Fleet::hosts(OnView<std::vector<HostInfo>> done) {
  impl_->hosts(std::move(done));
}
void Fleet::devices(OnView<Devices> done) {
  impl_->devices(std::move(done));
}
void Fleet::devices_of(const std::optional<std::string>& host, OnView<Devices> done) {
  if (!host) return impl_->devices(std::move(done));
  impl_->devices_of(*host, std::move(done));
}
void Fleet::arqs(OnView<Arqs> done) {
  impl_->arqs(std::move(done));
}
void Fleet::worker_texts(OnView<WorkerTexts> done) {
  impl_->worker_texts(std::move(done));
}
void Fleet::find(const std::string& uuid, OnView<Found> done) {
  impl_->find(uuid, std::move(done));
}

}  // namespace reclaim::api
