// The options of Cyborg: its REST API, its RPC, the door of its agent, and the devices that its
// other drivers have. Inner to config/: a part of the table in config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kCyborg{"cyborg"};
inline constexpr Group kAgentDoor{"agent_door"};
inline constexpr Group kPci{"pci"};

inline constexpr std::array kCyborgOptions = {
    // -------------------------------------------------------------------------------------- cyborg
    kCyborg.option(
        {.name = "enabled",
         .type = OptionType::boolean,
         .fallback = "false",
         .help = "Ask Cyborg's REST API which accelerator request binds which device. Counts in "
                 "Reclaim's own files only: the [cyborg] group of a nova.conf is Nova's login, and "
                 "says nothing of Reclaim. Needs auth_type or auth_section."}),
    kCyborg.option<&Settings::listen_rpc>(
        {.name = "listen_rpc",
         .fallback = "false",
         .help =
             "Hear the casts of Cyborg's conductor to this host's cyborg-agent (cleanup_device) "
             "through a queue of our own, so that an agent that runs here loses nothing."}),
    kCyborg.option<&Settings::rpc, &listener::RpcServerOptions::serve>(
        {.name = "serve_rpc",
         .fallback = "false",
         .help = "Answer calls to this host's cyborg-agent as well. Only for a host on which no "
                 "agent runs: the two would take each other's calls. Implies listen_rpc."}),
    kCyborg.option<&Settings::rpc, &listener::RpcServerOptions::exchange>(
        {.name = "rpc_exchange",
         .fallback = "cyborg",
         .help = "The exchange of Cyborg's RPC (control_exchange of its services)."}),
    kCyborg.option<&Settings::rpc, &listener::RpcServerOptions::topic>(
        {.name = "rpc_topic", .fallback = "cyborg-agent", .help = "The topic of its agents."}),
    kCyborg.option<&Settings::conductor, &ConductorOptions::cyborg_owner>(
        {.name = "owner",
         .fallback = "worker",
         .help =
             "Who un-reserves a device of Cyborg's that is clean again. worker: Reclaim, which "
             "is right beside every Cyborg that is released so far. agent: the agent of a "
             "Cyborg that has the specification, and reserves at bind and un-reserves after a "
             "cleanup by itself; Reclaim cleans, verifies and certifies, and leaves `reserved`.",
         .choices = "worker,agent"}),
    kCyborg.option<&Settings::conductor, &ConductorOptions::reserve_all_types>(
        {.name = "reserve_all_types",
         .fallback = "false",
         .help = "Reserve the other devices of Cyborg as well while an accelerator request binds "
                 "them, as the specification has it for all device types: those that a [pci] "
                 "passthrough_whitelist entry matches, that no device_spec entry does, and whose "
                 "inventory has a total of 1. They are un-reserved when they are free, without a "
                 "cleaning."}),
    // ---------------------------------------------------------------------------------- agent_door
    kAgentDoor.option<&Settings::agent_door, &AgentDoorSettings::socket>(
        {.name = "socket",
         .fallback = "",
         .help = "Tell the cyborg-agent of this host of its drives through a unix socket at this "
                 "path, as /run/reclaim/agent.sock, for the driver reclaim_nvme. Drives that "
                 "Placement does not know are then registered there, reserved, and cleaned; Cyborg "
                 "un-reserves each when it first hears of it. Not together with manage_providers. "
                 "Empty: off.",
         .form = Form::path}),
    kAgentDoor.option<&Settings::agent_door, &AgentDoorSettings::group>(
        {.name = "group",
         .fallback = "cyborg",
         .help = "The group whose members may connect, which is that of the cyborg-agent. Empty: "
                 "root alone."}),
    // ----------------------------------------------------------------------------------------- pci
    kPci.option(
        {.name = "passthrough_whitelist",
         .type = OptionType::multi,
         .help =
             "The devices of Cyborg's PCI driver, as JSON, as written in cyborg.conf; may "
             "be given several times. A device that is not an NVMe drive, that one of them matches "
             "and that Cyborg has in Placement is shown, and never touched. For a drive that a "
             "device_spec entry matches too, `managed` is taken from here where that entry "
             "says none. Keys: vendor_id, product_id, address (as in [nvme] device_spec), "
             "managed (true or false; also yes, no, on, off, 1, 0). The other keys of Cyborg's "
             "and Nova's are accepted and have no effect. Example: {\"vendor_id\": \"10de\", "
             "\"product_id\": \"25b6\", \"managed\": false}.",
         .shared = true}),
};

}  // namespace reclaim::config
