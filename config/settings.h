// Everything an operator can set, typed and checked: each module's own options, and what no module
// has. Plain data, made once at the start; config/schema.cpp says which option fills which member.
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/device_spec/device_spec.h"
#include "config/oslo/ini.h"
#include "config/oslo/options.h"
#include "config/transport_url.h"
#include "handlers/notify/options.h"
#include "handlers/options.h"
#include "listener/amqp/options.h"
#include "listener/http/options.h"
#include "nvme/options.h"
#include "placement/cyborg/options.h"
#include "placement/keystone/token_options.h"
#include "placement/options.h"
#include "state/redis/options.h"

namespace reclaim::config {

// The buses, and what of [oslo_messaging_rabbit] is not the link's.
struct RabbitSettings {
  TransportUrl url;      // of the notifications
  TransportUrl rpc_url;  // of Cyborg's RPC: the same, unless notifications have a bus of their own
  TransportUrl notifier_url;  // of what is told: that of the RPC, unless it has one of its own
  bool quorum_queue = false;
  // Accepted as in nova.conf, and without effect: the link has its own rhythm.
  int heartbeat_rate = 3;
  double reconnect_delay_s = 1;
};

enum class ApiAuth { keystone, none };

// [api]: the device API. Off while neither bind nor unix_socket is set.
struct ApiSettings {
  bool metrics = false;              // /metrics is answered, without a token
  ApiAuth auth = ApiAuth::keystone;  // none: loopback addresses and the unix socket only
  listener::HttpServerOptions http;

  [[nodiscard]] bool on() const { return !http.bind.empty() || !http.unix_socket.empty(); }
};

// The group that a login was read from, which is the service's own or the one that its auth_section
// names. Empty: there is none.
struct LoginGroups {
  std::string placement;  // empty: not configured; only a Purpose::tool accepts that
  std::string cyborg;     // empty: its REST API is not asked
  std::string tokens;     // empty: no tokens are validated
};

// A [step:NAME] section.
struct StepSection {
  OperatorStep step;
  std::optional<DeviceSpec> devices;  // nothing: only where a device_spec entry names the step
  Location at;
};

// A [policy:NAME] section.
struct PolicySection {
  RolePolicy policy;               // without its steps, which are known when all sections are
  std::vector<std::string> steps;  // names of [step:NAME] sections
  Location at;
};

// [agent_door]: the socket through which Cyborg's agent of this host is told of its drives.
struct AgentDoorSettings {
  std::string socket;  // empty: there is none
  std::string group;   // whose members may connect; empty: root alone
};

struct Settings {
  std::string host;
  bool debug = false;
  std::string log_file;  // empty: standard error
  bool use_json = false;
  std::string state_path;
  RabbitSettings rabbit;
  listener::AmqpOptions amqp;          // all but hosts, vhost and name
  std::vector<std::string> topics;     // of notifications
  std::vector<std::string> drain;      // topics whose queues of Nova's are emptied
  NotifyOptions notify;                // what is told on the bus
  listener::NotifierOptions notifier;  // all but the bus
  RedisOptions redis;
  std::size_t hosts_max = 10'000;  // that share this Redis
  bool require_persistence = false;
  LoginGroups logins;
  placement::Options placement;
  placement::CyborgOptions cyborg;
  bool listen_rpc = false;           // hear the casts to this host's cyborg-agent
  listener::RpcServerOptions rpc;    // all but the bus, the host and survey_delays_s
  placement::TokenOptions tokens;    // [keystone_authtoken]
  std::string www_authenticate_uri;  // of it
  ApiSettings api;
  AgentDoorSettings agent_door;
  nvme::Options nvme;
  std::vector<Location> firmware_images_at;  // where each of nvme.firmware.images stands
  ConductorOptions conductor;                // all but what the machine says of itself
  std::vector<DeviceSpec> device_specs;      // empty: no drive is ever touched
  std::vector<DeviceSpec> function_specs;    // [devices]; empty: no other device is
  std::vector<StepSection> steps;            // of operators' own, in the order of the files
  std::vector<PolicySection> policies;       // by role, in the order of the files
  bool manage_every_drive = false;  // also with an entry that matches every drive of the host
  nvme::VerifyLevel verify = nvme::VerifyLevel::sample;  // of an entry that says none
  std::vector<DeviceSpec> passthrough_whitelist;         // [pci], cyborg.conf's, as well as ours
  std::string signing_key;     // of certificates; empty: the worker's own under state_path
  std::string mirror_dir;      // of certificates; empty: none
  std::string mirror_command;  // gets the path of each; empty: none
  std::string organization;    // that pages name; empty: none, and the next
  std::string signatory;
  std::string metrics_textfile;      // [metrics]; empty: none
  std::string order_key_file;        // [security]; empty: none
  std::string provider_name;         // of the root provider; empty: host_names() says
  std::vector<int> survey_delays_s;  // ascending
  std::string compute_id_file;
  std::string machine_id_file;
  std::string policy_file;                   // [oslo_policy]
  Location policy_file_at;                   // who named it, it must be there; no file: nobody
  std::map<std::string, std::string> texts;  // of each option that is set (Options::texts())
  std::map<std::string, std::string> policy_rules;  // what it holds, read by config/load.h
};

// The process that the settings are for: `serve` needs all that a worker needs; `api` what the
// device API as a process of its own needs, which is Redis, Keystone and where to listen; a `tool`
// (explain, config check of a part, machine) is content with what is there, as long as it is well
// formed.
enum class Purpose { serve, api, tool };

struct CheckedSettings {
  Settings settings;              // to be used only if `problems` is empty
  std::vector<Problem> problems;  // all of them, not only the first
  std::vector<Problem> warnings;
};

// Merges the files (from the weakest to the strongest), reads every option and checks how they go
// together. `hostname` is the system's, for [DEFAULT] host.
[[nodiscard]] CheckedSettings build_settings(std::vector<SourceFile> files,
                                             const std::string& hostname, Purpose purpose);

// The operator's own steps for a device that `spec` matches, in the order of the files.
[[nodiscard]] std::vector<OperatorStep> steps_for(const std::vector<StepSection>& steps,
                                                  const DeviceSpec& spec, std::uint16_t vendor_id,
                                                  std::uint16_t product_id,
                                                  const PciAddress& address);

// The policy of an entry, raised by the policies that its tags choose: those whose name is that of
// a tag, or what the tag `policy` says. `timeout_ms` is [nvme] cleanup_timeout.
[[nodiscard]] DevicePolicy policy_by_role(DevicePolicy of_entry, const DeviceSpec& spec,
                                          const RolePolicies& roles, std::int64_t timeout_ms);

// All policies with their steps; null: there is none.
[[nodiscard]] RolePolicies role_policies(const Settings& settings);

// All of them, in one line.
[[nodiscard]] std::string to_text(const std::vector<Problem>& problems);

// redis://[user:password@]host[:port][/db] or unix://[user:password@]/path[?db=N] into the fields
// of `redis` that it is about. The error never quotes a password.
[[nodiscard]] Status parse_redis_url(std::string_view text, RedisOptions& redis);
// True if this build's hiredis has TLS; without it, rediss:// is refused.
[[nodiscard]] bool redis_has_tls();

}  // namespace reclaim::config
