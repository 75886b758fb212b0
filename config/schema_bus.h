// The options of the bus, its queue and the store. Inner to config/: a part of the
// table in config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kDefault{"DEFAULT"};
inline constexpr Group kRabbit{"oslo_messaging_rabbit", true};
inline constexpr Group kNotifications{"oslo_messaging_notifications", true};
inline constexpr Group kListener{"listener"};
inline constexpr Group kTold{"notifications"};
inline constexpr Group kRedis{"redis"};

inline constexpr std::array kBusOptions = {
    // ------------------------------------------------------------------------------------- DEFAULT
    kDefault.option(
        {.name = "transport_url",
         .fallback = "rabbit://",
         .help =
             "The message bus: rabbit://USER:PASSWORD@HOST:PORT[,USER:PASSWORD@HOST:PORT]/VHOST, "
             "the one nova.conf has. '/', '?', '#', '@', ':', ',' and '%' in a user name or "
             "password are percent-encoded, and '$' is written '$$'. Without user and password it "
             "is guest.",
         .secret = true,
         .shared = true}),
    kDefault.option(
        {.name = "service_config",
         .type = OptionType::multi,
         .help = "Read a file of Nova's or Cyborg's as well, for the options that it has in "
                 "common with Reclaim: /etc/nova/nova.conf, /etc/cyborg/cyborg.conf. May be given "
                 "several times. Weaker than all of Reclaim's own files. The same as "
                 "--service-config, for the service and every command.",
         .form = Form::path}),
    kDefault.option<&Settings::host>(
        {.name = "host",
         .help = "This host's name as nova-compute knows it ([DEFAULT] host in nova.conf). "
                 "Default: the system's host name.",
         .shared = true}),
    kDefault.option<&Settings::debug>(
        {.name = "debug", .fallback = "false", .help = "Log at level DEBUG instead of INFO."}),
    kDefault.option<&Settings::log_file>({.name = "log_file",
                                          .help = "Log to this file instead of standard error.",
                                          .aliases = "log-file,logfile"}),
    kDefault.option<&Settings::use_json>(
        {.name = "use_json",
         .fallback = "false",
         .help = "Log one JSON object a line instead of oslo.log's line format.",
         .aliases = "use-json"}),
    kDefault.option<&Settings::state_path>(
        {.name = "state_path",
         .fallback = "/var/lib/reclaim",
         .help = "Where the local ledger is kept, which must survive a reboot: it remembers the "
                 "dirty drives when Redis does not.",
         .form = Form::path}),
    // ----------------------------------------------------------------------- oslo_messaging_rabbit
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::tls, &listener::AmqpTls::enabled>(
        {.name = "ssl",
         .fallback = "false",
         .help =
             "Connect with TLS. The port does not change by itself: write 5671 in transport_url.",
         .aliases = "rabbit_use_ssl"}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::tls, &listener::AmqpTls::ca_file>(
        {.name = "ssl_ca_file",
         .fallback = "",
         .help = "CA certificates (PEM). Without them the broker's certificate is not verified.",
         .aliases = "kombu_ssl_ca_certs"}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::tls, &listener::AmqpTls::cert_file>(
        {.name = "ssl_cert_file",
         .fallback = "",
         .help = "Client certificate (PEM), together with ssl_key_file.",
         .aliases = "kombu_ssl_certfile"}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::tls, &listener::AmqpTls::key_file>(
        {.name = "ssl_key_file",
         .fallback = "",
         .help = "Client key (PEM), together with ssl_cert_file.",
         .aliases = "kombu_ssl_keyfile"}),
    kRabbit.option({.name = "ssl_version",
                    .fallback = "",
                    .help = "The lowest TLS version, by oslo's names: SSLv23 (any), TLSv1, "
                            "TLSv1_1, TLSv1_2, TLSv1_3. Default: what the TLS library allows.",
                    .aliases = "kombu_ssl_version"}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::tls,
                   &listener::AmqpTls::verify_hostname>(
        {.name = "ssl_enforce_hostname_verification",
         .fallback = "true",
         .help =
             "Check that the broker's certificate is for its host name; only with ssl_ca_file."}),
    kRabbit.option({.name = "rabbit_login_method",
                    .fallback = "PLAIN",
                    .help = "SASL mechanism. AMQPLAIN, oslo's default, is used as PLAIN. EXTERNAL "
                            "needs TLS with a client certificate.",
                    .choices = "PLAIN,AMQPLAIN,EXTERNAL"}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::heartbeat_s>(
        {.name = "heartbeat_timeout_threshold",
         .fallback = "60",
         .help =
             "Seconds of silence after which the broker counts as gone; 0 switches heartbeats off.",
         .range = Range{0, 3600}}),
    kRabbit.option<&Settings::rabbit, &RabbitSettings::heartbeat_rate>(
        {.name = "heartbeat_rate",
         .fallback = "3",
         .help = "How often the heartbeat is checked in that time.",
         .range = Range{1, 60}}),
    kRabbit.option<&Settings::rabbit, &RabbitSettings::reconnect_delay_s>(
        {.name = "kombu_reconnect_delay",
         .fallback = "1.0",
         .help =
             "Seconds to wait before consuming again after the broker has cancelled the consumer.",
         .range = Range{0, 600}}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::reconnect_interval_ms>(
        {.name = "rabbit_retry_interval",
         .fallback = "1",
         .help = "Seconds before the first attempt to connect again.",
         .range = Range{1, 600},
         .times = kMsPerS}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::reconnect_backoff_ms>(
        {.name = "rabbit_retry_backoff",
         .fallback = "2",
         .help = "Seconds by which the wait grows with each failed attempt.",
         .range = Range{0, 600},
         .times = kMsPerS}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::reconnect_max_ms>(
        {.name = "rabbit_interval_max",
         .fallback = "30",
         .help = "The longest wait between two attempts, in seconds.",
         .range = Range{1, 3600},
         .times = kMsPerS}),
    kRabbit.option<&Settings::amqp, &listener::AmqpOptions::durable>(
        {.name = "amqp_durable_queues",
         .fallback = "false",
         .help = "What Nova has set: with it, its exchange is durable. Only a first guess, what "
                 "exists on the broker is looked up.",
         .aliases = "rabbit_durable_queues"}),
    kRabbit.option<&Settings::rabbit, &RabbitSettings::quorum_queue>(
        {.name = "rabbit_quorum_queue",
         .fallback = "false",
         .help = "What Nova has set: quorum queues, which are durable. Only a first guess, too."}),
    // ---------------------------------------------------------------- oslo_messaging_notifications
    kNotifications.option(
        {.name = "transport_url",
         .help = "The bus of the notifications where it is not [DEFAULT] transport_url.",
         .secret = true}),
    kNotifications.option({.name = "driver",
                           .type = OptionType::multi,
                           .help = "Read from a file given with --service-config only to warn when "
                                   "Nova sends no notifications."}),
    kNotifications.option({.name = "topics",
                           .type = OptionType::list,
                           .help = "Read from a file given with --service-config only to warn when "
                                   "[listener] topics lacks one of them."}),
    // ------------------------------------------------------------------------------------ listener
    kListener.option<&Settings::amqp, &listener::AmqpOptions::exchanges>(
        {.name = "exchanges",
         .fallback = "nova",
         .help = "The control_exchange of each service that is listened to."}),
    kListener.option<&Settings::topics>(
        {.name = "topics",
         .fallback = "versioned_notifications,notifications",
         .help = "Topics of notifications; bound are TOPIC.info and TOPIC.error."}),
    kListener.option<&Settings::drain>(
        {.name = "drain",
         .fallback = "",
         .help = "Topics of which nobody but Reclaim hears: the queues TOPIC.info and TOPIC.error "
                 "that Nova's notifier declares and nobody reads are emptied every five minutes. "
                 "One that has a consumer, or had one at the look before, is left alone."}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::queue>(
        {.name = "queue",
         .fallback = "reclaim_notifications",
         .help = "The queue that the listeners of all hosts share, so that each event is handled "
                 "once."}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::dead_letter_queue>(
        {.name = "dead_letter_queue",
         .fallback = "reclaim_notifications_dead",
         .help = "The queue of messages that cannot be read; bounded as the queue is."}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::prefetch>(
        {.name = "prefetch",
         .fallback = "200",
         .help = "Unacknowledged messages on the way to this listener.",
         .range = Range{1, 10000}}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::queue_type>(
        {.name = "queue_type",
         .fallback = "auto",
         .help = "The type a new queue is declared with; auto follows rabbit_quorum_queue.",
         .choices = "auto,classic,quorum"}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::message_ttl_ms>(
        {.name = "message_ttl_s",
         .fallback = "3600",
         .help =
             "Seconds after which an unread event is dropped. The survey finds what it was about.",
         .range = Range{60, 604800},
         .times = kMsPerS}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::queue_length_max>(
        {.name = "queue_length_max",
         .fallback = "100000",
         .help = "Messages the queue holds before the oldest are dropped.",
         .range = Range{100, 10000000}}),
    kListener.option<&Settings::amqp, &listener::AmqpOptions::body_bytes_max>(
        {.name = "body_bytes_max",
         .fallback = "1048576",
         .help = "A longer message goes to the dead-letter queue unread.",
         .range = Range{4096, 134217728}}),
    // ------------------------------------------------------------------------------- notifications
    kTold.option<&Settings::notify, &NotifyOptions::driver>(
        {.name = "driver",
         .fallback = "noop",
         .help = "messagingv2: the worker tells the bus of its devices' lives (device.clean.start, "
                 "device.release.end and others: docs/notifications.md). noop: it does not.",
         .choices = "noop,messagingv2"}),
    kTold.option<&Settings::notify, &NotifyOptions::level>(
        {.name = "level",
         .fallback = "info",
         .help = "The lowest priority that is sent: info is all of them, error is "
                 "device.clean.error, device.quarantine, device.offered_dirty and "
                 "device.allocated_dirty.",
         .choices = "info,error"}),
    kTold.option<&Settings::notifier, &listener::NotifierOptions::topics>(
        {.name = "topics",
         .fallback = "versioned_notifications",
         .help = "The topics that each notification is sent to, as TOPIC.info or TOPIC.error."}),
    kTold.option<&Settings::notifier, &listener::NotifierOptions::exchange>(
        {.name = "exchange",
         .fallback = "reclaim",
         .help = "The exchange they are sent to: what a listener names as Reclaim's "
                 "control_exchange. It is made where it does not exist, durable if "
                 "amqp_durable_queues is set."}),
    kTold.option({.name = "versioned_notifications_topics",
                  .type = OptionType::list,
                  .help = "Read from a file given with --service-config only to warn when "
                          "[listener] topics lacks one of them.",
                  .shared = true}),
    kTold.option({.name = "transport_url",
                  .help = "The bus they are sent to where it is not [DEFAULT] transport_url; "
                          "without a query. TLS and login method are those of "
                          "[oslo_messaging_rabbit].",
                  .secret = true}),
    // --------------------------------------------------------------------------------------- redis
    kRedis.option(
        {.name = "url",
         .fallback = "redis://127.0.0.1:6379/0",
         .help = "The Redis that all hosts of the fleet use: "
                 "redis://[USER:PASSWORD@]HOST[:PORT][/DB], unix://[USER:PASSWORD@]/PATH[?db=N], "
                 "or, where "
                 "Redis Sentinel names the master, "
                 "redis+sentinel://[USER:PASSWORD@]HOST[:PORT],.../SERVICE[/DB], or, of a Redis "
                 "Cluster, redis+cluster://[USER:PASSWORD@]HOST[:PORT],... "
                 "(docs/redis-servers.md). "
                 "User and password are percent-encoded; redis://:PASSWORD@HOST is for a server "
                 "without ACLs; '$' is written '$$'. rediss://, rediss+sentinel:// and "
                 "rediss+cluster:// are the same with TLS, where hiredis has it: in Debian 13, not "
                 "in Debian 12. "
                 "Default: redis://127.0.0.1:6379/0.",
         .secret = true}),
    kRedis.option<&Settings::redis, &RedisOptions::tls, &RedisTlsOptions::ca_file>(
        {.name = "tls_ca_file",
         .fallback = "",
         .help = "CA certificates (PEM) by which the certificates of the servers, and of the "
                 "sentinels, are verified, with rediss://. Default: those that the system trusts. "
                 "It is read again, as the two below, when it has changed and a connection is "
                 "made.",
         .form = Form::path}),
    kRedis.option<&Settings::redis, &RedisOptions::tls, &RedisTlsOptions::cert_file>(
        {.name = "tls_cert_file",
         .fallback = "",
         .help = "Client certificate (PEM, its chain behind it), together with tls_key_file.",
         .form = Form::path}),
    kRedis.option<&Settings::redis, &RedisOptions::tls, &RedisTlsOptions::key_file>(
        {.name = "tls_key_file",
         .fallback = "",
         .help = "Client key (PEM, without a pass phrase). One that others than its owner and its "
                 "group may read is refused.",
         .form = Form::path}),
    kRedis.option<&Settings::redis, &RedisOptions::connect_timeout_ms>(
        {.name = "connect_timeout_ms",
         .fallback = "2000",
         .help = "How long connecting may take.",
         .range = Range{50, 60000}}),
    kRedis.option<&Settings::redis, &RedisOptions::command_timeout_ms>(
        {.name = "command_timeout_ms",
         .fallback = "2000",
         .help = "After this time without an answer a command may or may not have happened: the "
                 "connection is closed and what matters is read again.",
         .range = Range{50, 60000}}),
    kRedis.option<&Settings::redis, &RedisOptions::reconnect_min_ms>(
        {.name = "reconnect_min_ms",
         .fallback = "100",
         .help = "The first wait before connecting again; it doubles up to reconnect_max_ms.",
         .range = Range{10, 60000}}),
    kRedis.option<&Settings::redis, &RedisOptions::reconnect_max_ms>(
        {.name = "reconnect_max_ms",
         .fallback = "5000",
         .help = "The longest wait before connecting again.",
         .range = Range{10, 600000}}),
    kRedis.option<&Settings::hosts_max>(
        {.name = "hosts_max",
         .fallback = "10000",
         .help = "The most hosts that may share this Redis. With more, a list of all hosts is an "
                 "error, because any host's login may invent names. Each worker holds two "
                 "connections, so Redis' own maxclients (10000 unless it is set there) must be "
                 "above twice the number of hosts. `reclaim doctor` and `reclaim status` warn at "
                 "three quarters of either.",
         .range = Range{1, 100000}}),
    kRedis.option<&Settings::require_persistence>(
        {.name = "require_persistence",
         .fallback = "false",
         .help = "Refuse to start if Redis keeps no append-only file or may evict keys, instead of "
                 "a warning."}),
};

}  // namespace reclaim::config
