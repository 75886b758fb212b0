// Survey: everything that Placement and the host say of this host's devices at one time, gathered
// and put together by address. Reading only; what follows from it is decided in
// handlers/survey/admission.h.
//
// Thread: the loop's. Owns what is under way, and what it remembers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "handlers/survey/reading_memory.h"
#include "nvme/drives.h"
#include "placement/providers.h"
#include "state/base/pci_address.h"
#include "state/device/arq.h"

namespace reclaim {

// Tells whether the drive at an address is the one on record there (handlers/survey/identity.h),
// and if that is not so or cannot be told, why.
struct DriveStanding {
  nvme::Match match = nvme::Match::same;
  std::string why;
  bool brought_dirt = false;  // what the ledger remembers of it stands under another address
  // Then these are of the drive that the ledger remembers at this address.
  std::string home_serial = {};
  std::string home_enrolment = {};
};

// A drive as it tells of itself, whatever it is to us.
struct SeenDrive {
  PciAddress address;
  std::string serial;  // empty: it does not answer
  nvme::HardwareIdentity hardware;
};

// All that one survey knows about one address.
struct Sighting {
  PciAddress address;
  std::vector<placement::ProviderRow> rows;     // providers whose name ends in the address
  std::optional<placement::ProviderView> view;  // of the one provider, when it was read
  // The views of all providers that could be read, where several stand for a known address.
  std::vector<placement::ProviderView> views;
  std::optional<nvme::DriveFacts> drive;  // when the host shows such a function
  bool remembered = false;  // an earlier survey read it, and it stands (reading_memory.h)
  // The consumers that SurveyRequest::asks named; no value: Placement did not answer.
  std::map<std::string, std::optional<placement::Consumer>> consumers;
  std::string problem;  // why the provider could not be read this time

  // The drive's counters were read by a claim, whose taking over reads the drive by itself.
  bool peeked = false;

  // Filled in by the conductor. Whether it is configured to be ours: by device_spec, or what is no
  // drive by the whitelist; nothing: the host shows no such function.
  std::optional<bool> ours;
  // No drive, and a [devices] device_spec entry lists it; what that calls it, empty: nothing.
  bool by_steps = false;
  std::string type_by_entry;
  // The rest of what may be Cyborg's.
  std::optional<Arq> holder;  // an ARQ that binds it
  std::optional<Arq> ended;   // one that did, and it was not released since
  // The status by Cyborg's API: "enabled", "maintaining", or nothing; no value: not known now.
  std::optional<std::string> cyborg_status;
  // The UUID that Cyborg has for it, or nothing; no value: not known now.
  std::optional<std::string> cyborg_uuid;
  bool cyborg_silent = false;  // the API is configured and does not answer
  // Cyborg's status where Cyborg tells that it is of this device and no other; empty: it does not.
  std::string own_status;
  // Cyborg has been listing it as bound for a while, and nothing else speaks for it.
  std::optional<Arq> leaked;
  bool disable_astray = false;  // of another device of this host (handlers/survey/cyborg_remarks.h)

  DriveStanding standing;  // filled in by the conductor
  // The consumer that followed the one on record, when it is not known yet whose it is: since when,
  // while it holds the device, and who it was, when it is gone.
  std::int64_t followed_for_ms = 0;
  std::string followed_by;

  // The traits of its providers that choose a cleaning policy.
  [[nodiscard]] std::vector<std::string> policy_traits() const;
  [[nodiscard]] bool is_drive() const { return drive && drive->is_drive(); }
};

struct Survey {
  std::string root_uuid;
  std::string root_name;
  std::map<PciAddress, Sighting> sightings;
  std::vector<SeenDrive> drives;  // all of the host's
  // Device Serial Numbers that several of them tell: they are shown without.
  std::set<std::string> shared_serial_numbers;
};

// The address a provider's name ends in: what follows the last '_', in either case. Nothing when
// the name has none.
[[nodiscard]] std::optional<PciAddress> address_of_provider(std::string_view name);

struct SurveyRequest {
  std::set<PciAddress> known;      // addresses to read although no provider is marked one-time-use
  std::set<PciAddress> busy;       // being cleaned: not read, the conductor reads them itself
  std::set<PciAddress> unsettled;  // read again, though what is remembered may stand
  // True if a provider of Cyborg's is ours: only then it is read.
  std::function<bool(const Sighting&)> ours;
  // Drives that no provider stands for are told too.
  bool unregistered = false;
  // The consumer that Placement is to be asked of next, given what it has answered; none: no more.
  std::function<std::optional<std::string>(const Sighting&)> asks;
};

// Remembers what it read, and asks again only for what may have changed. A remembered view decides
// nothing but that there is nothing to do: whoever would act on one has the host surveyed again,
// with that address among the unsettled.
class Surveyor final {
 public:
  Surveyor(placement::Providers& providers, nvme::Drives& drives, const Clock& clock,
           std::int64_t full_interval_ms);

  // Requests to Placement: those of list_tree_again, one for the consumers of the root where a
  // remembered device has any, those of read for every device that is looked at, and one for each
  // consumer that is asked of.
  void survey(const SurveyRequest& request, Callback<Survey> done);

  // These are read again with the next survey: what an instance or a migration has, and all.
  void doubt_consumer(const std::string& consumer) { memory_.doubt_consumer(consumer); }
  void forget() { memory_.forget(); }

 private:
  struct Run;
  void look(const std::shared_ptr<Run>& run);
  void on_tree(const std::shared_ptr<Run>& run, placement::Tree tree);
  void join(const std::shared_ptr<Run>& run, bool again);
  void on_drives(const std::shared_ptr<Run>& run, std::vector<nvme::DriveFacts> drives);
  void recall(const std::shared_ptr<Run>& run, const std::vector<std::string>& on_root);
  void read_on(const std::shared_ptr<Run>& run);
  void ask_on(const std::shared_ptr<Run>& run, const PciAddress& address);
  void look_again(const std::shared_ptr<Run>& run);
  void fail(const std::shared_ptr<Run>& run, Error error);
  void fail_look(const std::shared_ptr<Run>& run, Error error);
  [[nodiscard]] bool is_old(const Run& run) const;

  placement::Providers& providers_;
  nvme::Drives& drives_;
  const Clock& clock_;
  ReadingMemory memory_;
};

}  // namespace reclaim
