// Everything an operator can set, typed and checked. Plain data: made once at the start, then
// handed to the modules in pieces (main turns them into each module's own options). Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/device_spec/device_spec.h"
#include "config/oslo/ini.h"
#include "config/oslo/options.h"
#include "config/transport_url.h"

namespace reclaim::config {

enum class LoginMethod { plain, external };
enum class QueueType { automatic, classic, quorum };
enum class TlsVersion { any, v1_0, v1_1, v1_2, v1_3 };  // the lowest allowed
enum class InterruptedCleaning { automatic, error, resume };
enum class AuthType { password, application_credential };

struct RabbitSettings {
  TransportUrl url;      // of the notifications
  TransportUrl rpc_url;  // of Cyborg's RPC: the same, unless notifications have a bus of their own
  bool ssl = false;
  std::string ssl_ca_file;  // empty: the broker's certificate is not verified, as in oslo
  std::string ssl_cert_file;
  std::string ssl_key_file;
  TlsVersion ssl_version = TlsVersion::any;
  bool ssl_enforce_hostname_verification = true;  // counts only with ssl_ca_file
  LoginMethod login_method = LoginMethod::plain;
  int heartbeat_timeout_s = 60;  // 0: none
  int heartbeat_rate = 3;
  int reconnect_delay_ms = 1000;  // after the broker cancelled the consumer
  int retry_interval_s = 1;
  int retry_backoff_s = 2;
  int retry_interval_max_s = 30;
  bool durable = false;       // amqp_durable_queues or rabbit_quorum_queue
  bool quorum_queue = false;  // rabbit_quorum_queue
};

struct ListenerSettings {
  std::vector<std::string> exchanges;
  std::vector<std::string> topics;
  std::string queue;
  std::string dead_letter_queue;
  int prefetch = 200;
  QueueType queue_type = QueueType::automatic;
  int message_ttl_s = 3600;
  int queue_length_max = 100'000;
  std::size_t body_bytes_max = std::size_t{1024} * 1024;
};

struct RedisSettings {
  std::string host;  // empty if unix_socket is set
  std::uint16_t port = 6379;
  std::string unix_socket;  // empty if host is set
  std::string username;     // empty: AUTH with the password alone
  std::string password;     // empty: no AUTH
  int db = 0;
  int connect_timeout_ms = 2000;
  int command_timeout_ms = 2000;
  int reconnect_min_ms = 100;
  int reconnect_max_ms = 5000;
  bool require_persistence = false;
};

// keystoneauth's options; empty strings are not given.
struct AuthSettings {
  std::string group;  // where they were read from: [placement], or what auth_section names
  AuthType type = AuthType::password;
  std::string auth_url;
  std::string username, user_id, password, user_domain_name, user_domain_id;
  std::string project_name, project_id, project_domain_name, project_domain_id;
  std::string domain_name, domain_id, system_scope;
  std::string application_credential_id, application_credential_name, application_credential_secret;
};

struct PlacementSettings {
  std::optional<AuthSettings> auth;  // nothing: not configured; only a Purpose::tool accepts that
  std::string service_type;
  std::vector<std::string> valid_interfaces;  // internal, public, admin; the preferred first
  std::string region_name;
  std::string endpoint_override;
  std::string cafile, certfile, keyfile;
  bool insecure = false;
  int timeout_s = 60;
};

struct NvmeSettings {
  std::vector<DeviceSpec> device_specs;  // empty: no device is ever touched
  int cleanup_timeout_s = 900;
  int stall_timeout_s = 600;
  int verify_samples = 256;
  int max_parallel = 8;
  bool manage_providers = false;  // register what discovery finds, as the Cyborg specification says
  bool manage_every_drive = false;  // also with an entry that matches every drive of the host
  nvme::VerifyLevel verify = nvme::VerifyLevel::sample;  // of an entry that says none
  std::uint64_t zero_bytes_per_s_max = 0;                // of all drives together; 0: no limit
  std::map<std::string, int> step_priorities;            // "nvme.check_health": 95
};

struct CertificateSettings {
  std::string signing_key;  // empty: the worker's own under state_path
};

// [cyborg]: how much of Cyborg is asked and answered.
struct CyborgSettings {
  // The REST API, read to map ARQ → device → provider; nothing: it is not asked, for `enabled` is
  // not set in Reclaim's own files.
  std::optional<AuthSettings> auth;
  std::string service_type;  // accelerator
  std::vector<std::string> valid_interfaces;
  std::string region_name;
  std::string endpoint_override;
  std::string cafile, certfile, keyfile;
  bool insecure = false;
  int timeout_s = 60;
  bool listen_rpc = false;   // hear the casts to this host's cyborg-agent
  bool serve_rpc = false;    // and answer calls: for a host without an agent
  std::string rpc_exchange;  // cyborg
  std::string rpc_topic;     // cyborg-agent
};

enum class ApiAuth { keystone, none };

// [api]: the device API. Off while neither bind nor unix_socket is set.
struct ApiSettings {
  bool in_worker = false;  // `serve` answers it, at unix_socket alone; false: `reclaim api` does
  std::vector<std::string> bind;  // ADDRESS:PORT, IPv6 in brackets
  std::string unix_socket;
  std::uint32_t unix_socket_mode = 0600;
  ApiAuth auth = ApiAuth::keystone;  // none: loopback addresses and the unix socket only
  std::string cert_file, key_file;
  int connections_max = 512;
  int head_timeout_s = 10;
  int idle_timeout_s = 60;
  std::size_t request_bytes_max = 65'536;

  [[nodiscard]] bool on() const { return !bind.empty() || !unix_socket.empty(); }
  // Whether the worker has to answer it.
  [[nodiscard]] bool of_worker() const { return in_worker && on(); }
};

// [keystone_authtoken], as keystonemiddleware has it: how the callers' tokens are validated.
struct TokenSettings {
  std::optional<AuthSettings> auth;
  std::string www_authenticate_uri;
  std::string interface;  // of Keystone's own endpoint: internal
  std::string region_name;
  std::string cafile, certfile, keyfile;
  bool insecure = false;
  int cache_time_s = 300;  // 0: every request asks Keystone
  std::vector<std::string> service_token_roles;
  bool service_token_roles_required = true;
};

struct HostSettings {
  std::string provider_name;  // of the root provider; empty: host_names() says
  int survey_interval_s = 60;
  std::vector<int> survey_delays_s;  // ascending
  std::string sysfs_root, dev_root, proc_root;
  std::vector<std::string> libvirt_dirs;  // empty: there is no libvirt
  std::string compute_id_file;
  std::string machine_id_file;
  std::string run_path;
};

struct Settings {
  std::string host;
  bool debug = false;
  std::string log_file;  // empty: standard error
  bool use_json = false;
  std::string state_path;
  RabbitSettings rabbit;
  ListenerSettings listener;
  RedisSettings redis;
  PlacementSettings placement;
  NvmeSettings nvme;
  InterruptedCleaning interrupted_cleaning = InterruptedCleaning::automatic;
  CertificateSettings certificates;
  std::string order_key_file;  // [security]; empty: none
  HostSettings reclaim;
  CyborgSettings cyborg;
  ApiSettings api;
  TokenSettings keystone_authtoken;
  std::string policy_file;  // [oslo_policy]
  Location policy_file_at;  // who named it, it must be there; no file: nobody
  std::map<std::string, std::string> policy_rules;  // what it holds, read by config/load.h
  std::vector<DeviceSpec> passthrough_whitelist;    // [pci], cyborg.conf's, as well as ours
};

// What the settings are for: `serve` needs all that a worker needs; `api` what the device API as a
// process of its own needs, which is Redis, Keystone and where to listen; a `tool` (explain, config
// check of a part, machine) is content with what is there, as long as it is well formed.
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

// One line for each problem.
[[nodiscard]] std::string to_text(const std::vector<Problem>& problems);

// redis://[user:password@]host[:port][/db] or unix://[user:password@]/path[?db=N] into the fields
// of `settings` that it is about. The error never quotes a password.
[[nodiscard]] Status parse_redis_url(std::string_view text, RedisSettings& settings);

}  // namespace reclaim::config
