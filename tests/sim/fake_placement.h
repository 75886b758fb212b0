// Placement as the simulation has it: providers with generations, allocations that move them, and a
// wire that loses answers of writes that were made, were not made, or will be made later.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "placement/providers.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"

namespace reclaim::sim {

enum class Offered : std::uint8_t {
  no,
  by_nova,  // which made its provider
  by_us,
  by_operator,
  by_cyborg,
  left,         // by a tenant whom Cyborg had not reserved it for
  exchanged,    // its drive is another one since
  counts_anew,  // by Cyborg's agent, and its provider's generation hid a tenancy
  former,       // by our late request, for the provider of its UUID before
  untold,       // by us, and nothing that an unmanaged drive counts told of its tenant
};

struct Provider {
  placement::ProviderRow row;
  placement::Inventory inventory;
  std::vector<std::string> consumers;
  Offered offered = Offered::by_nova;  // who dropped `reserved` last, while it is 0
  std::int64_t modified_s = 0;         // by the clock of the server that did it
  std::uint64_t made = 0;              // which one of all that were made
  bool former_was_meant = false;  // written last by a late request, for the one of its UUID before
};

class FakePlacement final : public placement::Providers {
 public:
  FakePlacement(Scheduler& scheduler, Rng& rng, const Faults& faults)
      : scheduler_(scheduler), rng_(rng), faults_(faults) {}

  void list_tree_again(placement::Tree known, Callback<placement::Tree> done) override;
  void read(const std::string& provider_uuid, Callback<placement::ProviderView> done) override;
  void read_again(const placement::ProviderView& known,
                  Callback<placement::ProviderView> done) override;
  void list_rows(Callback<std::vector<placement::ProviderRow>> done) override;
  void read_inventories(const std::string& provider_uuid,
                        Callback<std::vector<placement::Inventory>> done) override;
  void read_consumers(const std::string& provider_uuid,
                      Callback<std::vector<std::string>> done) override;
  void describe_consumer(const std::string& consumer, Callback<placement::Consumer> done) override;
  void find(const std::string& name, Callback<std::string> done) override;
  void set_reserved(const placement::ProviderView& view, std::int64_t reserved,
                    Callback<placement::ProviderView> done) override;

  void register_device(const placement::NewDevice& device,
                       Callback<placement::ProviderView> done) override;

  // What Nova and operators do.
  // Nova draws a UUID each time; Cyborg makes it from the name, so that it is always the same.
  Provider& create(const std::string& name, bool one_time_use, bool owner_cyborg = false);
  bool remove(const std::string& uuid);  // refused while allocated
  bool allocate(const std::string& uuid, const std::string& consumer);
  void deallocate(const std::string& uuid, const std::string& consumer);
  // A migration: what the one has here the other has from now on. The one has a place elsewhere,
  // unless leaves_elsewhere() says that the scheduler found none, or has not yet.
  void hand_over(const std::string& uuid, const std::string& from, const std::string& to);
  void leaves_elsewhere(const std::string& consumer) { elsewhere_.erase(consumer); }
  void comes_elsewhere(const std::string& consumer) { elsewhere_.insert(consumer); }
  void delete_consumer(const std::string& consumer) {
    root_consumers_.erase(consumer);
    elsewhere_.erase(consumer);
  }
  void is_of_project(const std::string& consumer, const std::string& project) {
    projects_[consumer] = project;
  }
  void set_reserved_by(Offered who, const std::string& uuid, std::int64_t reserved);
  void touch(const std::string& uuid);  // something moved the generation
  [[nodiscard]] Provider* find(const std::string& uuid);
  [[nodiscard]] Provider* find_by_name(const std::string& name);
  [[nodiscard]] std::map<std::string, Provider>& all() { return providers_; }
  // When the device of this name last came on offer, by any hand; -1: never.
  [[nodiscard]] std::int64_t offered_ms(const std::string& name) const;

  void set_away(bool away) { away_ = away; }
  void set_read_only(bool read_only) { read_only_ = read_only; }  // our role may only read
  [[nodiscard]] bool away() const { return away_ || read_only_; }
  std::int64_t listing_takes_ms = 0;     // beside what the faults bring
  std::int64_t reads_take_ms = 0;        // as well: until a provider is looked at,
  std::int64_t answers_take_ms = 0;      // and from then on
  bool tells_consumers_at_once = false;  // who one is: without a draw
  double beside_root = 0.1;              // how many instances have nothing of the root
  std::string root_uuid = "00000000-0000-4000-8000-000000000001";

  std::function<void(const placement::ProviderView&)> on_asked;  // each write, as it is sent
  std::function<void(const placement::ProviderView&)> on_lost;   // each whose answer tells nothing
  // The worker asks for reserved = 0, and: it has just become so by the worker's hand.
  std::function<void(const placement::ProviderView&)> on_release_asked;
  std::function<void(Provider&)> on_released;

  // The worker has written `reserved`, and: it has registered a device.
  std::function<void(const Provider&)> on_written;
  std::function<void(const Provider&)> on_registered;

  // Given the write that is to be made late, instead of some time within two minutes.
  std::function<void(const placement::ProviderView&, std::int64_t reserved,
                     std::function<void()> make)>
      keep_late;

  // Requests the real client would have sent, counted as placement/providers.h documents them.
  struct Requests {
    int list_tree = 0;
    int consumers = 0;
    int consumer = 0;  // what one has
    int read = 0;
    int set_reserved = 0;
    int watch = 0;             // by list_rows, read_inventories and find
    int watching = 0;          // of these, still to be answered,
    int watching_at_most = 0;  // and how many there ever were at a time
    [[nodiscard]] int total() const {
      return list_tree + consumers + consumer + read + set_reserved + watch;
    }
  };
  [[nodiscard]] const Requests& requests() const { return requests_; }

 private:
  [[nodiscard]] placement::ProviderView view_of(const Provider& provider) const;
  // `view`: what is read of the provider, at the moment of the look.
  void read_as(const std::string& provider_uuid,
               std::function<placement::ProviderView(const Provider&)> view,
               Callback<placement::ProviderView> done);
  // A request of the close watch: begun, and answered.
  template <typename T>
  void watched(std::function<Result<T>()> look, Callback<T> done);
  [[nodiscard]] std::string project_of(const std::string& consumer) const;
  [[nodiscard]] placement::Consumer consumer_of(const std::string& consumer) const;
  Result<placement::ProviderView> make(const placement::NewDevice& device);
  Status write(const placement::ProviderView& view, std::int64_t reserved,
               bool former_was_meant = false);
  void moved(Provider& provider);
  void root_moved();
  [[nodiscard]] std::int64_t servers_clock_s();
  [[nodiscard]] std::string last_modified() const;
  void confirm(const std::string& uuid, std::int64_t reserved, std::int64_t generation,
               Callback<placement::ProviderView> done);

  Scheduler& scheduler_;
  Rng& rng_;
  const Faults& faults_;
  bool away_ = false;
  bool read_only_ = false;
  std::uint64_t next_uuid_ = 0x100;
  std::uint64_t made_ = 0;
  std::map<std::string, Provider> providers_;
  std::int64_t root_generation_ = 1;
  std::int64_t root_modified_s_ = 0;
  std::set<std::string> root_consumers_;         // instances have their processors of the root
  std::set<std::string> elsewhere_;              // consumers that have a place on another host
  std::map<std::string, std::string> projects_;  // of consumers that have another than the first
  std::map<std::string, std::string> cyborgs_uuids_;  // by name
  std::map<std::string, std::int64_t> offered_ms_;    // by name
  Requests requests_;
};

}  // namespace reclaim::sim
