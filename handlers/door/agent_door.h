// The door of Cyborg's agent as a function from a request to a response: which drives of this host
// are to be reported, how each stands, and the one order, `cleanup`. Who may connect to its socket
// may ask all of it; it shows no other host's devices and writes neither to Placement nor to a
// drive.
//
//   GET  /v1/drives                     all of them
//   GET  /v1/drives/ADDRESS[?since_ms=N]  one; not looked at since then: a survey is asked for
//   POST /v1/drives/ADDRESS/cleanup     202, as Cyborg's cast cleanup_device; docs/cyborg-agent.md
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "handlers/api/api.h"
#include "handlers/reported_drive.h"
#include "state/base/callback.h"
#include "state/base/clock.h"

namespace reclaim::door {

struct Ports {
  std::function<std::string()> why_not_ready;  // empty: a survey of this run went through
  std::function<std::vector<ReportedDrive>()> drives;
  std::function<void()> look_soon;
  // Gives the order to the host's stream; answered when it is durable.
  std::function<void(const PciAddress& address, const std::string& request_id, Callback<Ok> done)>
      order_cleanup;
  // Tells which of these traits Placement knows: one that it does not makes Cyborg drop a whole
  // report.
  std::function<void(const std::vector<std::string>& traits,
                     Callback<std::vector<std::string>> done)>
      known_traits;
  const Clock& clock;
};

class AgentDoor final {
 public:
  AgentDoor(std::string host, Ports ports);
  ~AgentDoor();
  AgentDoor(const AgentDoor&) = delete;
  AgentDoor& operator=(const AgentDoor&) = delete;

  // `done` is called exactly once, perhaps before handle() returns; dropped once the door is gone.
  void handle(api::Request request, Once<api::Response> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace reclaim::door
