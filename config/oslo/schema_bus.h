// The options of the bus, its queue and the store. Inner to config/: a part of the
// table in config/oslo/schema.cpp.
#pragma once

#include <array>

#include "config/oslo/options.h"

namespace reclaim::config {

inline constexpr std::array kBusOptions = {
    // ------------------------------------------------------------------------------------- DEFAULT
    Option{
        .group = "DEFAULT",
        .name = "transport_url",
        .fallback = "rabbit://",
        .help =
            "The message bus: rabbit://USER:PASSWORD@HOST:PORT[,USER:PASSWORD@HOST:PORT]/VHOST, "
            "the "
            "one nova.conf has. '/', '?', '#', '@', ':', ',' and '%' in a user name or password "
            "are percent-encoded, and '$' is written '$$'. Without user and password it is guest.",
        .secret = true,
        .shared = true},
    Option{
        .group = "DEFAULT",
        .name = "host",
        .help =
            "This host's name as nova-compute knows it ([DEFAULT] host in nova.conf). Default: the "
            "system's host name.",
        .shared = true},
    Option{.group = "DEFAULT",
           .name = "debug",
           .type = OptionType::boolean,
           .fallback = "false",
           .help = "Log at level DEBUG instead of INFO."},
    Option{.group = "DEFAULT",
           .name = "log_file",
           .help = "Log to this file instead of standard error.",
           .aliases = "log-file,logfile"},
    Option{.group = "DEFAULT",
           .name = "use_json",
           .type = OptionType::boolean,
           .fallback = "false",
           .help = "Log one JSON object a line instead of oslo.log's line format.",
           .aliases = "use-json"},
    Option{
        .group = "DEFAULT",
        .name = "state_path",
        .fallback = "/var/lib/reclaim",
        .help =
            "Where the local ledger is kept, which must survive a reboot: it remembers the dirty "
            "drives when Redis does not."},
    // ----------------------------------------------------------------------- oslo_messaging_rabbit
    Option{.group = "oslo_messaging_rabbit",
           .name = "ssl",
           .type = OptionType::boolean,
           .fallback = "false",
           .help =
               "Connect with TLS. The port does not change by itself: write 5671 in transport_url.",
           .aliases = "rabbit_use_ssl",
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "ssl_ca_file",
           .fallback = "",
           .help = "CA certificates (PEM). Without them the broker's certificate is not verified.",
           .aliases = "kombu_ssl_ca_certs",
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "ssl_cert_file",
           .fallback = "",
           .help = "Client certificate (PEM), together with ssl_key_file.",
           .aliases = "kombu_ssl_certfile",
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "ssl_key_file",
           .fallback = "",
           .help = "Client key (PEM), together with ssl_cert_file.",
           .aliases = "kombu_ssl_keyfile",
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "ssl_version",
           .fallback = "",
           .help =
               "The lowest TLS version, by oslo's names: SSLv23 (any), TLSv1, TLSv1_1, TLSv1_2, "
               "TLSv1_3. Default: what the TLS library allows.",
           .aliases = "kombu_ssl_version",
           .shared = true},
    Option{
        .group = "oslo_messaging_rabbit",
        .name = "ssl_enforce_hostname_verification",
        .type = OptionType::boolean,
        .fallback = "true",
        .help = "Check that the broker's certificate is for its host name; only with ssl_ca_file.",
        .shared = true},
    Option{
        .group = "oslo_messaging_rabbit",
        .name = "rabbit_login_method",
        .fallback = "PLAIN",
        .help =
            "SASL mechanism. AMQPLAIN, oslo's default, is used as PLAIN. EXTERNAL needs TLS with a "
            "client certificate.",
        .choices = "PLAIN,AMQPLAIN,EXTERNAL",
        .shared = true},
    Option{
        .group = "oslo_messaging_rabbit",
        .name = "heartbeat_timeout_threshold",
        .type = OptionType::integer,
        .fallback = "60",
        .help =
            "Seconds of silence after which the broker counts as gone; 0 switches heartbeats off.",
        .min = 0,
        .max = 3600,
        .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "heartbeat_rate",
           .type = OptionType::integer,
           .fallback = "3",
           .help = "How often the heartbeat is checked in that time.",
           .min = 1,
           .max = 60,
           .shared = true},
    Option{
        .group = "oslo_messaging_rabbit",
        .name = "kombu_reconnect_delay",
        .type = OptionType::real,
        .fallback = "1.0",
        .help =
            "Seconds to wait before consuming again after the broker has cancelled the consumer.",
        .min = 0,
        .max = 600,
        .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "rabbit_retry_interval",
           .type = OptionType::integer,
           .fallback = "1",
           .help = "Seconds before the first attempt to connect again.",
           .min = 1,
           .max = 600,
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "rabbit_retry_backoff",
           .type = OptionType::integer,
           .fallback = "2",
           .help = "Seconds by which the wait grows with each failed attempt.",
           .min = 0,
           .max = 600,
           .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "rabbit_interval_max",
           .type = OptionType::integer,
           .fallback = "30",
           .help = "The longest wait between two attempts, in seconds.",
           .min = 1,
           .max = 3600,
           .shared = true},
    Option{
        .group = "oslo_messaging_rabbit",
        .name = "amqp_durable_queues",
        .type = OptionType::boolean,
        .fallback = "false",
        .help =
            "What Nova has set: with it, its exchange is durable. Only a first guess, what exists "
            "on the broker is looked up.",
        .aliases = "rabbit_durable_queues",
        .shared = true},
    Option{.group = "oslo_messaging_rabbit",
           .name = "rabbit_quorum_queue",
           .type = OptionType::boolean,
           .fallback = "false",
           .help = "What Nova has set: quorum queues, which are durable. Only a first guess, too.",
           .shared = true},
    // ---------------------------------------------------------------- oslo_messaging_notifications
    Option{.group = "oslo_messaging_notifications",
           .name = "transport_url",
           .help = "The bus of the notifications where it is not [DEFAULT] transport_url.",
           .secret = true,
           .shared = true},
    Option{.group = "oslo_messaging_notifications",
           .name = "driver",
           .type = OptionType::multi,
           .help = "Read from a file given with --service-config only to warn when Nova sends no "
                   "notifications.",
           .shared = true},
    Option{.group = "oslo_messaging_notifications",
           .name = "topics",
           .type = OptionType::list,
           .help = "Read from a file given with --service-config only to warn when [listener] "
                   "topics lacks "
                   "one of them.",
           .shared = true},
    // ------------------------------------------------------------------------------------ listener
    Option{.group = "listener",
           .name = "exchanges",
           .type = OptionType::list,
           .fallback = "nova",
           .help = "The control_exchange of each service that is listened to."},
    Option{.group = "listener",
           .name = "topics",
           .type = OptionType::list,
           .fallback = "versioned_notifications,notifications",
           .help = "Topics of notifications; bound are TOPIC.info and TOPIC.error."},
    Option{
        .group = "listener",
        .name = "queue",
        .fallback = "reclaim_notifications",
        .help =
            "The queue that the listeners of all hosts share, so that each event is handled once."},
    Option{.group = "listener",
           .name = "dead_letter_queue",
           .fallback = "reclaim_notifications_dead",
           .help = "Where messages go that nobody can read; bounded as the queue is."},
    Option{.group = "listener",
           .name = "prefetch",
           .type = OptionType::integer,
           .fallback = "200",
           .help = "Unacknowledged messages on the way to this listener.",
           .min = 1,
           .max = 10000},
    Option{.group = "listener",
           .name = "queue_type",
           .fallback = "auto",
           .help = "The type a new queue is declared with; auto follows rabbit_quorum_queue.",
           .choices = "auto,classic,quorum"},
    Option{
        .group = "listener",
        .name = "message_ttl_s",
        .type = OptionType::integer,
        .fallback = "3600",
        .help =
            "Seconds after which an unread event is dropped. The survey finds what it was about.",
        .min = 60,
        .max = 604800},
    Option{.group = "listener",
           .name = "queue_length_max",
           .type = OptionType::integer,
           .fallback = "100000",
           .help = "Messages the queue holds before the oldest are dropped.",
           .min = 100,
           .max = 10000000},
    Option{.group = "listener",
           .name = "body_bytes_max",
           .type = OptionType::integer,
           .fallback = "1048576",
           .help = "A longer message goes to the dead-letter queue unread.",
           .min = 4096,
           .max = 134217728},
    // --------------------------------------------------------------------------------------- redis
    Option{
        .group = "redis",
        .name = "url",
        .fallback = "redis://127.0.0.1:6379/0",
        .help =
            "redis://[USER:PASSWORD@]HOST[:PORT][/DB] or unix://[USER:PASSWORD@]/PATH[?db=N]. User "
            "and password are percent-encoded; redis://:PASSWORD@HOST is for a server without "
            "ACLs; '$' is written '$$'. TLS is not supported: use a socket or a "
            "tunnel. Default: redis://127.0.0.1:6379/0.",
        .secret = true},
    Option{.group = "redis",
           .name = "connect_timeout_ms",
           .type = OptionType::integer,
           .fallback = "2000",
           .help = "How long connecting may take.",
           .min = 50,
           .max = 60000},
    Option{.group = "redis",
           .name = "command_timeout_ms",
           .type = OptionType::integer,
           .fallback = "2000",
           .help = "After this time without an answer a command may or may not have happened: the "
                   "connection is closed and what matters is read again.",
           .min = 50,
           .max = 60000},
    Option{.group = "redis",
           .name = "reconnect_min_ms",
           .type = OptionType::integer,
           .fallback = "100",
           .help = "The first wait before connecting again; it doubles up to reconnect_max_ms.",
           .min = 10,
           .max = 60000},
    Option{.group = "redis",
           .name = "reconnect_max_ms",
           .type = OptionType::integer,
           .fallback = "5000",
           .help = "The longest wait before connecting again.",
           .min = 10,
           .max = 600000},
    Option{.group = "redis",
           .name = "require_persistence",
           .type = OptionType::boolean,
           .fallback = "false",
           .help =
               "Refuse to start if Redis keeps no append-only file or may evict keys, instead of a "
               "warning."},
};

}  // namespace reclaim::config
