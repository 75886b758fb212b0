// The door of Cyborg's agent, put together: the HTTP server on its unix socket, and what it is
// answered with: the conductor, the host's stream in Redis, Placement.
//
// Thread: the loop's. Owns server and door; all else is the worker's and outlives them.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "handlers/conductor/conductor.h"
#include "handlers/door/agent_door.h"
#include "listener/http/server.h"
#include "placement/client.h"
#include "state/base/clock.h"
#include "state/base/log.h"
#include "state/device/store.h"

namespace reclaim::listener {

class AgentDoorServer final {
 public:
  struct Behind {
    Conductor& conductor;
    Store& store;
    placement::Client& providers;
    const Clock& clock;
    Logger& log;
  };

  // Listens at once; [agent_door] socket must be set. Errc::invalid, or what the system said of the
  // socket, its folder or its group.
  [[nodiscard]] static Result<std::unique_ptr<AgentDoorServer>> create(
      uv_loop_t* loop, const config::Settings& settings, Behind behind);
  AgentDoorServer(const AgentDoorServer&) = delete;
  AgentDoorServer& operator=(const AgentDoorServer&) = delete;

  [[nodiscard]] std::vector<std::string> addresses() const { return server_->addresses(); }
  // Stops as HttpServer::stop() does.
  void stop(Once<> stopped) { server_->stop(std::move(stopped)); }

 private:
  AgentDoorServer() = default;

  std::unique_ptr<door::AgentDoor> door_;
  std::unique_ptr<HttpServer> server_;  // goes first: no request comes to a door that is gone
};

}  // namespace reclaim::listener
