// The groups of the option table, in the order of the sample file.
#include <array>

#include "config/oslo/options.h"

namespace reclaim::config {
namespace {

// The options of keystoneauth that have no effect here, beside those that we have.
constexpr std::string_view kAdapterUnused =
    "service_name,trust_id,trust-id,connect_retries,connect_retry_delay,status_code_retries,"
    "status_code_retry_delay,retriable_status_codes,min_version,max_version,version,"
    "collect_timing,split_loggers,randomize_allocation_candidates";

constexpr std::array kGroups = {
    OptionGroup{.name = "DEFAULT", .help = "The process and the message bus.", .unused = ""},
    OptionGroup{
        .name = "oslo_messaging_rabbit",
        .help = "How RabbitMQ is spoken to. The options are oslo.messaging's; the query of "
                "transport_url "
                "(?ssl=1&ssl_ca_file=...) wins over them.",
        .unused =
            "ssl_enforce_fips_mode,heartbeat_in_pthread,kombu_compression,"
            "kombu_missing_consumer_retry_timeout,kombu_reconnect_timeout,kombu_reconnect_splay,"
            "kombu_failover_strategy,rabbit_ha_queues,rabbit_qos_prefetch_count,"
            "rabbit_quorum_delivery_limit,rabbit_quorum_max_memory_length,"
            "rabbit_quorum_max_memory_bytes,rabbit_quroum_max_memory_length,"
            "rabbit_quroum_max_memory_bytes,rabbit_transient_queues_ttl,"
            "rabbit_transient_quorum_queue,rabbit_stream_fanout,direct_mandatory_flag,"
            "enable_cancel_on_failover,use_queue_manager,hostname,processname,amqp_auto_delete,"
            "conn_pool_min_size,conn_pool_ttl,rpc_conn_pool_size,rabbit_max_retries"},
    OptionGroup{.name = "oslo_messaging_notifications",
                .help = "Where notifications go, as in nova.conf.",
                .unused = "retry"},
    OptionGroup{
        .name = "listener", .help = "What is heard, and the queue it is heard from.", .unused = ""},
    OptionGroup{.name = "notifications",
                .help = "What the worker tells the bus of its devices.",
                .unused = ""},
    OptionGroup{
        .name = "redis", .help = "The store of device records, locks and work.", .unused = ""},
    OptionGroup{
        .name = "placement",
        .help =
            "Keystone credentials and the Placement endpoint, as in nova.conf. The user needs the "
            "role service, and admin too where Placement does not know that one yet: the device "
            "API takes who is admin alone for an operator.",
        .unused = kAdapterUnused},
    OptionGroup{
        .name = "keystone_authtoken",
        .help = "How the tokens of the device API's callers are validated, as in cyborg.conf; "
                "needed with [api] auth = keystone. [placement] and [cyborg] auth_section may name "
                "this group, which then takes the authentication options of theirs.",
        .unused =
            "trust_id,trust-id,auth_version,delay_auth_decision,"
            "http_connect_timeout,http_request_max_retries,cache,"
            "memcached_servers,memcache_servers,"
            "memcache_security_strategy,memcache_secret_key,memcache_pool_dead_retry,"
            "memcache_pool_maxsize,memcache_pool_socket_timeout,memcache_pool_unused_timeout,"
            "memcache_pool_conn_get_timeout,memcache_use_advanced_pool,include_service_catalog,"
            "enforce_token_bind,service_type,"
            "identity_uri,admin_token,admin_user,admin_password,admin_tenant_name,"
            "hash_algorithms,signing_dir,check_revocations_for_cached,memcache_tls_enabled,"
            "memcache_tls_cafile,memcache_tls_certfile,memcache_tls_keyfile,"
            "memcache_tls_allowed_ciphers,"
            "memcache_sasl_enabled,memcache_username,memcache_password"},
    OptionGroup{.name = "cyborg",
                .help = "Cyborg: its REST API, which is read to map accelerator requests to "
                        "devices if enabled is set, and its RPC.",
                .unused = kAdapterUnused},
    OptionGroup{.name = "agent_door",
                .help =
                    "Where the cyborg-agent of this host asks for its drives, through its driver "
                    "reclaim_nvme.",
                .unused = ""},
    OptionGroup{.name = "nvme",
                .help = "Which drives are Reclaim's, and how they are erased.",
                .unused = ""},
    OptionGroup{.name = "devices",
                .help = "Which PCI devices that are no NVMe drives are Reclaim's, and how they are "
                        "cleaned.",
                .unused = ""},
    OptionGroup{.name = "pci",
                .help = "The devices of Cyborg's PCI driver, as in cyborg.conf.",
                .unused = ""},
    OptionGroup{.name = "clean",
                .help = "When a device is cleaned, and in which order its steps run.",
                .unused = ""},
    OptionGroup{.name = "step:",
                .help = "A clean step of your own, in a section of its own name (lower-case "
                        "letters, digits, '_'). May stand as often as there are steps.",
                .unused = ""},
    OptionGroup{.name = "policy:",
                .help = "How devices in a role are cleaned, in a section of its own name "
                        "(lower-case letters, digits, '_'). It is for the devices whose "
                        "device_spec entry has a tag of that name, or whose provider in Placement "
                        "has the trait CUSTOM_RECLAIM_<NAME>. It can only make stricter what the "
                        "entry says; of several, the strictest of each key counts.",
                .unused = ""},
    OptionGroup{.name = "recovery", .help = "What to do after a restart.", .unused = ""},
    OptionGroup{.name = "certificates",
                .help = "The proof of each erasure that led to a release.",
                .unused = ""},
    OptionGroup{.name = "security", .help = "Who may say what only an operator may.", .unused = ""},
    OptionGroup{.name = "metrics", .help = "What the worker tells node_exporter.", .unused = ""},
    OptionGroup{.name = "api",
                .help = "The device API of the Cyborg specification, for the whole fleet. Off "
                        "unless bind or unix_socket is set.",
                .unused = ""},
    OptionGroup{.name = "oslo_policy",
                .help = "Who may do what with the device API.",
                .unused = "enforce_scope,enforce_new_defaults,policy_default_rule,policy_dirs,"
                          "remote_content_type,remote_ssl_verify_server_crt,"
                          "remote_ssl_ca_crt_file,remote_ssl_client_crt_file,"
                          "remote_ssl_client_key_file,remote_timeout"},
    OptionGroup{.name = "reclaim",
                .help = "This host: its name in Placement, its files, the survey.",
                .unused = ""},
};

}  // namespace

std::span<const OptionGroup> schema_groups() {
  return kGroups;
}

}  // namespace reclaim::config
