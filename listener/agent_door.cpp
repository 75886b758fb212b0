#include "listener/agent_door.h"

#include <fmt/core.h>

#include <utility>

#include "config/door_files.h"

namespace reclaim::listener {
namespace {

constexpr std::uint32_t kGroupToo = 0660;
constexpr std::uint32_t kRootAlone = 0600;
// One agent, which asks once a minute, and its threads that wait for a cleaning.
constexpr std::size_t kConnectionsMax = 32;
constexpr std::size_t kBodyBytesMax = 4'096;

door::Ports ports(const config::Settings& settings, const AgentDoorServer::Behind& behind) {
  door::Ports out{nullptr, nullptr, nullptr, nullptr, nullptr, behind.clock};
  out.why_not_ready = [&conductor = behind.conductor]() -> std::string {
    if (conductor.has_looked()) return {};
    const std::string& why = conductor.survey_problem();
    return why.empty() ? "the worker has just started, and no survey went through yet" : why;
  };
  out.drives = [&conductor = behind.conductor] { return conductor.drives_for_agent(); };
  out.look_soon = [&conductor = behind.conductor] { conductor.look_soon(); };
  // A cleanup ordered here is the kick that Cyborg's cast cleanup_device makes
  // (listener/amqp/rpc_feed.h).
  out.order_cleanup =
      [&store = behind.store, host = settings.host, delays = settings.survey_delays_s](
          const PciAddress& address, const std::string& request_id, Callback<Ok> done) {
        Kick kick;
        kick.reason = "cyborg-agent's door: cleanup";
        kick.command = "cleanup_device";
        kick.address = to_string(address);
        kick.request_id = request_id;
        kick.delays_s = delays;
        store.push_kick(host, kick, std::move(done));
      };
  out.known_traits = [&providers = behind.providers](const std::vector<std::string>& traits,
                                                     Callback<std::vector<std::string>> done) {
    providers.known_traits(traits, std::move(done));
  };
  return out;
}

}  // namespace

Result<std::unique_ptr<AgentDoorServer>> AgentDoorServer::create(uv_loop_t* loop,
                                                                 const config::Settings& settings,
                                                                 Behind behind) {
  const auto group = config::door_group(settings);
  if (!group) return group.error();
  HttpServerOptions options;
  options.unix_socket = settings.agent_door.socket;
  options.unix_socket_mode = *group ? kGroupToo : kRootAlone;
  options.unix_socket_group = *group;
  options.connections_max = kConnectionsMax;
  options.request_body_bytes_max = kBodyBytesMax;
  std::unique_ptr<AgentDoorServer> out(new AgentDoorServer());  // NOLINT: private constructor
  out->door_ = std::make_unique<door::AgentDoor>(settings.host, ports(settings, behind));
  auto server = HttpServer::create(
      loop, options,
      [door = out->door_.get()](api::Request request, Once<api::Response> done) {
        door->handle(std::move(request), std::move(done));
      },
      behind.clock, behind.log);
  if (!server) return server.error().wrap("[agent_door] socket");
  out->server_ = std::move(server).value();
  return out;
}

}  // namespace reclaim::listener
