// Providers: the seam between what decides (handlers/) and Placement. One real implementation
// (placement/client.h), one in memory with generations and faults (tests/sim).
//
// Thread: called on the loop's thread, returns at once; each callback is called exactly once,
// later, on the loop's thread. Errors: Errc::not_found (404), conflict (409 concurrent_update),
// refused (403, or 409 for another reason), unavailable (nothing was done: 503 before sending,
// connection refused), unknown (a write whose answer never came), invalid (an answer that is no
// Placement's).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "state/base/callback.h"

namespace reclaim::placement {

// One row of the tree under this host's root provider.
struct ProviderRow {
  std::string uuid;
  std::string name;  // as written: Nova folds the address to upper case
  std::string parent_uuid;
  std::int64_t generation = 0;
  bool one_time_use = false;  // has HW_PCI_ONE_TIME_USE
  bool owner_cyborg = false;  // has OWNER_CYBORG
  // The row's traits that choose a cleaning policy, if such are asked for, in their order.
  std::vector<std::string> policy_traits = {};
};

struct Tree {
  std::string root_uuid;
  std::string root_name;
  std::int64_t root_generation = 0;
  std::vector<ProviderRow> rows;  // all of the tree, without the root
  // The time of the last change or creation among the rows and the root, in Placement's words;
  // empty: it does not say.
  std::string last_modified = {};
};

// One inventory with every field Placement has: an un-reserving PUT must echo them all, or
// Placement fills in defaults and Nova then wipes `reserved`.
struct Inventory {
  std::string resource_class;
  std::int64_t total = 0;
  std::int64_t reserved = 0;
  std::int64_t min_unit = 1;
  std::int64_t max_unit = 1;
  std::int64_t step_size = 1;
  double allocation_ratio = 1.0;
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// Inventories and allocations of one provider, read at one and the same generation.
struct ProviderView {
  std::string uuid;
  std::int64_t generation = 0;
  std::vector<Inventory> inventories;
  std::vector<std::string> consumers;  // allocations: instance or migration UUIDs

  // Exactly one inventory with total = 1: the only shape a passthrough device may have (design
  // §5b).
  [[nodiscard]] bool is_device() const {
    return inventories.size() == 1 && inventories.front().total == 1;
  }
  [[nodiscard]] bool burned() const {
    return is_device() && inventories.front().reserved == inventories.front().total;
  }
  [[nodiscard]] bool free() const { return consumers.empty(); }
};

// A device that Placement is to know (Cyborg NVMe specification, "Placement Integration").
struct NewDevice {
  std::string uuid;  // the provider's, made from its name: what has it is ours, half made or whole
  std::string name;  // "<hostname>_<pci address>"
  std::string parent_uuid;
  std::string resource_class;       // CUSTOM_NVME_<VENDOR>_<PRODUCT>
  std::vector<std::string> traits;  // OWNER_CYBORG and HW_NVME_*
};

// One consumer as Placement tells of it. Nova gives its consumers no type (consumer_type,
// microversion 1.38), so that an instance and a migration look alike.
struct Consumer {
  bool holds = false;   // it has an allocation, of whichever provider; if not, nothing else is told
  std::string project;  // its project's and user's UUID; empty: not told
  std::string user;
  friend bool operator==(const Consumer&, const Consumer&) = default;
};

class Providers {
 public:
  virtual ~Providers() = default;

  // The tree of this host, listed without a trait filter, each row marked with its traits.
  // Three requests (four the first time, when the root is looked up by name); where policies may
  // be chosen by a trait, one more that lists such traits, and one for each that any provider has.
  void list_tree(Callback<Tree> done) { list_tree_again({}, std::move(done)); }

  // Lists the tree, given what an earlier list_tree answered. The traits of a provider move its
  // generation: where the listing shows the rows of `known`, all of them and no others, at the
  // generations they had, these keep their marks. Then it is one request.
  virtual void list_tree_again(Tree known, Callback<Tree> done) = 0;

  // The rows of the tree that was listed last, the root's too, without their marks: what moved
  // since shows by its generation. One request. Errc::not_found: none was listed.
  virtual void list_rows(Callback<std::vector<ProviderRow>> done) = 0;

  // Inventories and allocations; read again, a bounded number of times, until their generations
  // agree. Two requests when nothing moves.
  virtual void read(const std::string& provider_uuid, Callback<ProviderView> done) = 0;

  // Reads the provider, given what an earlier read answered. Creating an allocation moves the
  // generation: where it still is that of `known`, so are the consumers, but that some may be gone.
  // Then it is one request. Not for a provider whose UUID is made from its name: deleted and made
  // again it may come to the same generation.
  virtual void read_again(const ProviderView& known, Callback<ProviderView> done) = 0;

  // The inventories alone. One request.
  virtual void read_inventories(const std::string& provider_uuid,
                                Callback<std::vector<Inventory>> done) = 0;

  // The consumers that have allocations of the provider: instance or migration UUIDs. One request.
  virtual void read_consumers(const std::string& provider_uuid,
                              Callback<std::vector<std::string>> done) = 0;

  // An instance or a migration. One request.
  virtual void describe_consumer(const std::string& consumer, Callback<Consumer> done) = 0;

  // The UUID of the provider that has this name, in whichever tree; Errc::not_found. One request.
  virtual void find(const std::string& name, Callback<std::string> done) = 0;

  // PUTs the one inventory of `view` with `reserved` changed and every other field echoed, at the
  // view's generation, then reads it back; success means the read confirmed it. Two requests.
  virtual void set_reserved(const ProviderView& view, std::int64_t reserved,
                            Callback<ProviderView> done) = 0;

  // Makes what of the device is not there yet, in an order in which a crash leaves nothing that
  // could be scheduled: resource class, provider, traits, and last the inventory, total = 1 and
  // reserved = 1. Idempotent: an inventory that is there is left as it is, of the traits only those
  // of `device` that are missing are added. HW_* traits that this Placement's os-traits does not
  // know are left out, once with a line in the log; OWNER_CYBORG must be known. Errc::refused: a
  // provider of that name without OWNER_CYBORG is there and is not `device.uuid`: somebody else's.
  virtual void register_device(const NewDevice& device, Callback<ProviderView> done) = 0;
};

}  // namespace reclaim::placement
