// Settings from texts: precedence, substitution, types, what goes together, and each error's words.
#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(Settings, DefaultsAreTheDocumentedOnes) {
  const CheckedSettings checked = build("");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const Settings& s = checked.settings;
  EXPECT_EQ(s.host, "node-1");
  EXPECT_EQ(s.provider_name, "");
  EXPECT_EQ(s.state_path, "/var/lib/reclaim");
  EXPECT_EQ(s.rabbit.url.hosts[0].host, "localhost");
  EXPECT_EQ(s.amqp.heartbeat_s, 60);
  EXPECT_EQ(s.rabbit.reconnect_delay_s, 1.0);
  EXPECT_EQ(s.amqp.login, listener::AmqpLogin::plain);
  EXPECT_THAT(s.amqp.exchanges, ElementsAre("nova"));
  EXPECT_THAT(s.topics, ElementsAre("versioned_notifications", "notifications"));
  EXPECT_EQ(s.amqp.queue, "reclaim_notifications");
  EXPECT_EQ(s.amqp.body_bytes_max, 1024U * 1024);
  EXPECT_EQ(s.redis.host, "127.0.0.1");
  EXPECT_EQ(s.redis.port, 6379);
  EXPECT_THAT(s.placement.valid_interfaces, ElementsAre("internal", "public"));
  EXPECT_EQ(s.logins.placement, "");
  EXPECT_EQ(s.conductor.cleanup_timeout_ms, 900'000);
  EXPECT_EQ(s.conductor.interrupted_cleaning, InterruptedCleaning::automatic);
  EXPECT_THAT(s.survey_delays_s, ElementsAre(0, 5, 30));
  EXPECT_THAT(s.nvme.libvirt_dirs, ElementsAre("/run/libvirt/qemu", "/etc/libvirt/qemu"));
  EXPECT_THAT(texts(checked.warnings),
              ElementsAre("[nvme] device_spec is not set: no drive will ever be touched"));
}

TEST(Settings, TheNumbersInSettingsHAgreeWithTheSchema) {
  const Settings read = build("").settings;
  const Settings plain;
  EXPECT_EQ(read.amqp.prefetch, plain.amqp.prefetch);
  EXPECT_EQ(read.amqp.message_ttl_ms, plain.amqp.message_ttl_ms);
  EXPECT_EQ(read.amqp.queue_length_max, plain.amqp.queue_length_max);
  EXPECT_EQ(read.redis.command_timeout_ms, plain.redis.command_timeout_ms);
  EXPECT_EQ(read.redis.connect_timeout_ms, plain.redis.connect_timeout_ms);
  EXPECT_EQ(read.redis.reconnect_min_ms, plain.redis.reconnect_min_ms);
  EXPECT_EQ(read.redis.reconnect_max_ms, plain.redis.reconnect_max_ms);
  EXPECT_EQ(read.placement.timeout_ms, plain.placement.timeout_ms);
  EXPECT_EQ(read.conductor.stall_timeout_ms, plain.conductor.stall_timeout_ms);
  EXPECT_EQ(read.nvme.samples_max, plain.nvme.samples_max);
  EXPECT_EQ(read.verify, plain.verify);
  EXPECT_EQ(read.nvme.zero_bytes_per_s_max, plain.nvme.zero_bytes_per_s_max);
  EXPECT_EQ(read.conductor.cleanings_max, plain.conductor.cleanings_max);
  EXPECT_EQ(read.rabbit.heartbeat_rate, plain.rabbit.heartbeat_rate);
  EXPECT_EQ(read.amqp.reconnect_max_ms, plain.amqp.reconnect_max_ms);
  EXPECT_EQ(read.conductor.survey_interval_ms, plain.conductor.survey_interval_ms);
  EXPECT_EQ(read.conductor.manage_providers, plain.conductor.manage_providers);
  EXPECT_EQ(read.cyborg.session.timeout_ms, plain.cyborg.session.timeout_ms);
  EXPECT_EQ(read.api.http.unix_socket_mode, plain.api.http.unix_socket_mode);
  EXPECT_EQ(read.api.http.connections_max, plain.api.http.connections_max);
  EXPECT_EQ(read.api.http.head_timeout_ms, plain.api.http.head_timeout_ms);
  EXPECT_EQ(read.api.http.idle_timeout_ms, plain.api.http.idle_timeout_ms);
  EXPECT_EQ(read.api.http.request_body_bytes_max, plain.api.http.request_body_bytes_max);
  EXPECT_EQ(read.tokens.cache_time_ms, plain.tokens.cache_time_ms);
  EXPECT_EQ(read.tokens.service_token_roles_required, plain.tokens.service_token_roles_required);
}

TEST(Settings, AChoiceIsTheEnumeratorOfItsName) {
  const auto interrupted = [](std::string_view word) {
    return build("[recovery]\ninterrupted_cleaning = " + std::string(word) + "\n")
        .settings.conductor.interrupted_cleaning;
  };
  EXPECT_EQ(interrupted("auto"), InterruptedCleaning::automatic);
  EXPECT_EQ(interrupted("error"), InterruptedCleaning::error);
  EXPECT_EQ(interrupted("resume"), InterruptedCleaning::resume);
  const auto queue_type = [](std::string_view word) {
    return build("[listener]\nqueue_type = " + std::string(word) + "\n").settings.amqp.queue_type;
  };
  EXPECT_EQ(queue_type("auto"), listener::QueueType::automatic);
  EXPECT_EQ(queue_type("classic"), listener::QueueType::classic);
  EXPECT_EQ(queue_type("quorum"), listener::QueueType::quorum);
  for (const nvme::VerifyLevel level : {nvme::VerifyLevel::log, nvme::VerifyLevel::sample,
                                        nvme::VerifyLevel::nist, nvme::VerifyLevel::full}) {
    EXPECT_EQ(build("[nvme]\nverify = " + std::string(to_string(level)) + "\n").settings.verify,
              level);
  }
}

TEST(Settings, LaterFilesAndLaterLinesWin) {
  const auto checked = build({own("[DEFAULT]\nhost = a\nhost = b\n[nvme]\nmax_parallel = 2\n", "1"),
                              own("[DEFAULT]\nhost = c\nhost = d\n", "2")});
  EXPECT_EQ(checked.settings.host, "d");
  EXPECT_EQ(checked.settings.conductor.cleanings_max, 2U);
}

TEST(Settings, MultiValuedOptionsCollectAcrossFilesInOrder) {
  const auto checked = build({own("[nvme]\ndevice_spec = {\"vendor_id\":\"1\"}\n"
                                  "device_spec = {\"vendor_id\":\"2\"}\n",
                                  "1"),
                              own("[NVME]\ndevice_spec = {\"vendor_id\":\"3\"}\n", "2")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  ASSERT_EQ(checked.settings.device_specs.size(), 3U);
  EXPECT_EQ(checked.settings.device_specs[0].vendor_id, 1);
  EXPECT_EQ(checked.settings.device_specs[2].vendor_id, 3);
  EXPECT_EQ(to_string(checked.settings.device_specs[1].at), "1:3");
}

TEST(Settings, ListsAreReplacedNotCollected) {
  const auto checked = build({own("[listener]\nexchanges = nova, cyborg ,\n", "1"),
                              own("[listener]\nexchanges = x\n", "2")});
  EXPECT_THAT(checked.settings.amqp.exchanges, ElementsAre("x"));
  EXPECT_THAT(build("[listener]\nexchanges = nova, cyborg ,\n").settings.amqp.exchanges,
              ElementsAre("nova", "cyborg"));
}

TEST(Settings, ServiceFilesAreReadForSharedOptionsOnly) {
  const auto checked = build(
      {service("[DEFAULT]\ntransport_url = rabbit://n:x@mq/\nhost = compute-7\ndebug = true\n"
               "log_file = /var/log/nova.log\nnonsense = 1\n[libvirt]\nvirt_type = kvm\n"
               "[nvme]\ncleanup_timeout = 99\n[reclaim]\nbad = 1\n[api]\nbind = 0.0.0.0:6666\n"
               "[oslo_messaging_rabbit]\nssl = true\nrabbit_quorum_queue = true\nunheard = 1\n"
               "[placement]\nregion_name = R\n")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const Settings& s = checked.settings;
  EXPECT_EQ(s.host, "compute-7");
  EXPECT_EQ(s.rabbit.url.hosts[0].host, "mq");
  EXPECT_TRUE(s.amqp.tls.enabled);
  EXPECT_TRUE(s.amqp.durable);
  EXPECT_EQ(s.placement.region_name, "R");
  EXPECT_FALSE(s.debug);
  EXPECT_EQ(s.log_file, "");
  EXPECT_EQ(s.conductor.cleanup_timeout_ms, 900'000);
  EXPECT_FALSE(s.api.on());
}

TEST(Settings, OwnFilesWinOverServiceFiles) {
  const auto checked =
      build({service("[DEFAULT]\nhost = theirs\n"), own("[DEFAULT]\nhost = ours\n")});
  EXPECT_EQ(checked.settings.host, "ours");
}

TEST(Settings, AMalformedServiceFileIsAnError) {
  EXPECT_THAT(texts(build({service("[DEFAULT\n")}).problems),
              Contains(HasSubstr("nova.conf:1: invalid section")));
}

TEST(Settings, UnknownNamesInOwnFilesAreErrorsWithAHint) {
  EXPECT_THAT(problems("[nvme]\ncleanup_timout = 3\n"),
              ElementsAre("r.conf:2: unknown option 'cleanup_timout' in group [nvme], did you mean "
                          "'cleanup_timeout'?"));
  EXPECT_THAT(problems("[nvm]\n"),
              ElementsAre("r.conf:1: unknown group [nvm], did you mean [nvme]?"));
  EXPECT_THAT(problems("[default]\n"),
              ElementsAre("r.conf:1: unknown group [default], did you mean [DEFAULT]?"));
  EXPECT_THAT(problems("[zookeeper]\n"),
              ElementsAre(HasSubstr("unknown group [zookeeper], known groups: "
                                    "DEFAULT, oslo_messaging_rabbit")));
  EXPECT_THAT(
      problems("[DEFAULT]\ncleanup_timeout = 3\n"),
      ElementsAre("r.conf:2: unknown option 'cleanup_timeout' in group [DEFAULT], it belongs to "
                  "[nvme]"));
  EXPECT_THAT(problems("[nvme]\nzzzzzz = 3\n"),
              ElementsAre("r.conf:2: unknown option 'zzzzzz' in group [nvme]"));
  EXPECT_THAT(problems("[placement]\nauth-url = http://k\n"),
              ElementsAre(HasSubstr("did you mean 'auth_url'?")));
}

TEST(Settings, OlderNamesWorkWithAWarning) {
  const auto checked = build(
      "[oslo_messaging_rabbit]\nrabbit_use_ssl = true\n"
      "[placement]\nauth_plugin = password\nuser-name = x\n");
  EXPECT_TRUE(checked.settings.amqp.tls.enabled);
  EXPECT_EQ(checked.settings.placement.username, "x");
  EXPECT_THAT(
      texts(checked.warnings),
      Contains("r.conf:2: [oslo_messaging_rabbit] rabbit_use_ssl is an older name of ssl, use "
               "that"));
  // The option's own name wins within a file, wherever it stands, and a later file wins over both.
  EXPECT_EQ(build("[placement]\nauth_type=password\nusername = new\nuser_name = old\n")
                .settings.placement.username,
            "new");
  EXPECT_EQ(build({own("[placement]\nauth_type=password\nusername = new\n"),
                   own("[placement]\nuser_name = later\n")})
                .settings.placement.username,
            "later");
}

TEST(Settings, OsloOptionsWithoutEffectAreAWarning) {
  const auto checked = build(
      "[oslo_messaging_rabbit]\nuse_queue_manager = true\n"
      "[keystone_authtoken]\nmemcached_servers = x\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_THAT(
      texts(checked.warnings),
      Contains("r.conf:2: [oslo_messaging_rabbit] use_queue_manager has no effect in Reclaim"));
}

TEST(Settings, Substitution) {
  const auto host = [](std::string_view line) {
    return build("[DEFAULT]\nuse_json = x\nstate_path = /s\n" + std::string(line)).settings;
  };
  EXPECT_EQ(host("log_file = $state_path/log\n").log_file, "/s/log");
  EXPECT_EQ(host("log_file = ${state_path}x\n").log_file, "/sx");
  EXPECT_EQ(host("log_file = ${DEFAULT.state_path}\n").log_file, "/s");
  EXPECT_EQ(host("log_file = $nvme.cleanup_timeout\n").log_file, "900");
  EXPECT_EQ(host("log_file = a$$b\\$c$1$ ${ ${x $}\n").log_file, "a$b$c$1$ ${ ${x $}");
  EXPECT_EQ(host("[reclaim]\nrun_path = $state_path/run\n").nvme.run_path, "/s/run");
  EXPECT_EQ(host("[reclaim]\nprovider_name = $run_path\n").provider_name, "/run/reclaim");
}

TEST(Settings, APasswordWithDollars) {
  EXPECT_EQ(
      build("[placement]\nauth_type = password\npassword = a$$b%c\n").settings.placement.password,
      "a$b%c");
  const auto wrong = problems("[placement]\npassword = pa$word\nauth_type = password\n");
  EXPECT_THAT(wrong,
              Contains("r.conf:2: [placement] password: a '$' is followed by a name that is not an "
                       "option: write '$$' for a dollar sign, or '${name}' to mark a name's end"));
  for (const std::string& text : wrong) EXPECT_THAT(text, Not(HasSubstr("pa$word")));
}

TEST(Settings, ServiceFilesMayReferToTheirOwnOptions) {
  const auto checked =
      build({service("[DEFAULT]\nmy_ip = 10.0.0.9\ntransport_url = rabbit://u:p@$my_ip/\n")});
  EXPECT_EQ(checked.settings.rabbit.url.hosts[0].host, "10.0.0.9");
}

TEST(Settings, SubstitutionIsBounded) {
  EXPECT_THAT(problems("[DEFAULT]\nlog_file = $log_file\n"),
              ElementsAre("r.conf:2: [DEFAULT] log_file: its '$' references go round in a circle"));
  EXPECT_THAT(problems("[DEFAULT]\nlog_file = $state_path\nstate_path = /$log_file\n"),
              Contains(HasSubstr("circle")));
  const std::string bomb = "[DEFAULT]\nlog_file = $log_file$log_file$log_file$log_file$log_file\n";
  EXPECT_THAT(problems(bomb), ElementsAre(HasSubstr("circle")));
}

TEST(Settings, TypesAndRanges) {
  EXPECT_THAT(problems("[nvme]\nmax_parallel = many\n"),
              ElementsAre("r.conf:2: [nvme] max_parallel: 'many' is not an integer from 1 to 64"));
  for (const std::string bad : {"65", "0", "0x10", "99999999999999999999"}) {
    EXPECT_THAT(problems("[nvme]\nmax_parallel = " + bad + "\n"),
                ElementsAre(HasSubstr("'" + bad + "' is not")));
  }
  EXPECT_EQ(build("[nvme]\nmax_parallel = +4\n").settings.conductor.cleanings_max, 4U);
  EXPECT_EQ(build("[nvme]\nmax_parallel =\n").settings.conductor.cleanings_max, 8U);
  EXPECT_THAT(
      problems("[DEFAULT]\ndebug = maybe\n"),
      ElementsAre("r.conf:2: [DEFAULT] debug: 'maybe' is not a boolean, accepted: true, false, 1, "
                  "0, on, off, yes, no"));
  EXPECT_THAT(problems("[DEFAULT]\ndebug = t\n"), ElementsAre(HasSubstr("'t' is not a boolean")));
  EXPECT_TRUE(build("[DEFAULT]\ndebug = YES\n").settings.debug);
  EXPECT_EQ(build("[oslo_messaging_rabbit]\nkombu_reconnect_delay = 0.25\n")
                .settings.rabbit.reconnect_delay_s,
            0.25);
  EXPECT_THAT(problems("[oslo_messaging_rabbit]\nkombu_reconnect_delay = inf\n"),
              ElementsAre(HasSubstr("'inf' is not a number from 0 to 600")));
  EXPECT_THAT(
      problems("[recovery]\ninterrupted_cleaning = Resume\n"),
      ElementsAre("r.conf:2: [recovery] interrupted_cleaning: 'Resume' is not one of: auto, error, "
                  "resume"));
}

TEST(Settings, EverythingWrongIsSeenAtOnce) {
  EXPECT_THAT(
      problems("[nvme]\nmax_parallel = many\ntypo\n[DEFAULT]\ndebug = x\nhostt = y\n"),
      ElementsAre(HasSubstr("r.conf:3: no ':' or '='"), HasSubstr("r.conf:6: unknown option"),
                  HasSubstr("r.conf:5: [DEFAULT] debug"), HasSubstr("r.conf:2: [nvme]")));
}

TEST(Settings, TransportUrlsQueryWinsOverTheRabbitGroup) {
  const auto checked = build(
      "[DEFAULT]\ntransport_url = rabbit://u:p@h/?ssl=1&heartbeat_rate=9&"
      "rabbit_use_ssl=1&kombu_compression=gzip\n"
      "[oslo_messaging_rabbit]\nssl = false\nheartbeat_rate = 2\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_TRUE(checked.settings.amqp.tls.enabled);
  EXPECT_EQ(checked.settings.rabbit.heartbeat_rate, 9);
  EXPECT_THAT(
      problems("[DEFAULT]\ntransport_url = rabbit://h/?nonsense=1\n"),
      ElementsAre(
          "r.conf:2: [DEFAULT] transport_url: its query has 'nonsense', which is not an option "
          "of [oslo_messaging_rabbit]"));
  EXPECT_THAT(
      problems("[DEFAULT]\ntransport_url = rabbit://h/?heartbeat_rate=x\n"),
      ElementsAre("r.conf:2: [oslo_messaging_rabbit] heartbeat_rate: 'x' is not an integer from 1 "
                  "to 60"));
}

TEST(Settings, NotificationsMayHaveABusOfTheirOwn) {
  const auto checked = build(
      "[DEFAULT]\ntransport_url = rabbit://rpc/\n"
      "[oslo_messaging_notifications]\ntransport_url = rabbit://notes/\n");
  EXPECT_EQ(checked.settings.rabbit.url.hosts[0].host, "notes");
  EXPECT_THAT(
      problems("[oslo_messaging_notifications]\ntransport_url = kafka://x\n"),
      ElementsAre(HasSubstr("r.conf:2: [oslo_messaging_notifications] transport_url: scheme "
                            "'kafka' is not supported")));
}

TEST(Settings, RedisOptionsThatGoTogether) {
  EXPECT_THAT(problems("[redis]\ntls_cert_file = /c\n"),
              ElementsAre("r.conf:2: [redis] tls_cert_file needs tls_key_file beside it"));
  EXPECT_THAT(problems("[redis]\ntls_key_file = /k\n"),
              ElementsAre("r.conf:2: [redis] tls_key_file needs tls_cert_file beside it"));
  EXPECT_THAT(problems("[redis]\ntls_ca_file = ca.pem\n"),
              ElementsAre(HasSubstr("tls_ca_file: 'ca.pem' is not an absolute path")));
  EXPECT_THAT(warnings("[redis]\ntls_ca_file = /c\n"),
              Contains(HasSubstr("tls_ca_file has no effect, for url is not rediss://")));
  if (!redis_has_tls()) return;
  const auto all =
      build("[redis]\nurl = rediss://h\ntls_ca_file = /a\ntls_cert_file = /c\ntls_key_file = /k\n");
  EXPECT_THAT(texts(all.problems), IsEmpty());
  const RedisTlsOptions& tls = all.settings.redis.tls;
  EXPECT_TRUE(tls.enabled);
  EXPECT_EQ(tls.ca_file + tls.cert_file + tls.key_file, "/a/c/k");
}

TEST(Settings, RabbitOptionsThatGoTogether) {
  EXPECT_THAT(warnings("[oslo_messaging_rabbit]\nrabbit_login_method = AMQPLAIN\n"),
              Contains(HasSubstr("AMQPLAIN is used as PLAIN")));
  EXPECT_THAT(problems("[oslo_messaging_rabbit]\nrabbit_login_method = RABBIT-CR-DEMO\n"),
              ElementsAre(HasSubstr("is not one of: PLAIN, AMQPLAIN, EXTERNAL")));
  EXPECT_THAT(
      problems("[oslo_messaging_rabbit]\nrabbit_login_method = EXTERNAL\n"),
      ElementsAre("r.conf:2: [oslo_messaging_rabbit] rabbit_login_method: EXTERNAL needs ssl = "
                  "true, ssl_cert_file and ssl_key_file"));
  EXPECT_THAT(
      problems("[oslo_messaging_rabbit]\nssl = 1\nssl_cert_file = /c\n"),
      ElementsAre("r.conf:3: [oslo_messaging_rabbit] ssl_cert_file needs ssl_key_file beside it"));
  EXPECT_THAT(warnings("[oslo_messaging_rabbit]\nssl_ca_file = /c\n"),
              Contains(HasSubstr("ssl_ca_file has no effect, for ssl is false")));
  EXPECT_THAT(warnings("[oslo_messaging_rabbit]\nssl = 1\n"),
              Contains(HasSubstr("is not verified")));
  EXPECT_EQ(build("[oslo_messaging_rabbit]\nssl_version = TLSv1_2\n").settings.amqp.tls.lowest,
            listener::AmqpTlsVersion::v1_2);
  EXPECT_THAT(problems("[oslo_messaging_rabbit]\nssl_version = SSLv3\n"),
              ElementsAre(HasSubstr("'sslv3' is not one of: SSLv23, TLSv1")));
  const auto external = build(
      "[oslo_messaging_rabbit]\nssl = 1\nssl_ca_file = /a\nssl_cert_file = /c\n"
      "ssl_key_file = /k\nrabbit_login_method = EXTERNAL\n");
  EXPECT_THAT(texts(external.problems), IsEmpty());
  EXPECT_EQ(external.settings.amqp.login, listener::AmqpLogin::external);
}

TEST(Settings, ListenerOptionsThatGoTogether) {
  EXPECT_THAT(problems("[listener]\nqueue = q\ndead_letter_queue = q\n"),
              ElementsAre("r.conf:3: [listener] dead_letter_queue must not be the queue itself"));
  EXPECT_THAT(problems("[listener]\ntopics = ,\n"),
              ElementsAre(HasSubstr("at least one is needed")));
  EXPECT_THAT(problems("[listener]\nexchanges = a b\n"),
              ElementsAre(HasSubstr("'a b' is not a usable name")));
  EXPECT_THAT(problems("[listener]\nqueue = amq.x\n"), ElementsAre(HasSubstr("name of a queue")));
  const auto quorum = build("[listener]\nqueue_type = quorum\n");
  EXPECT_EQ(quorum.settings.amqp.queue_type, listener::QueueType::quorum);
}

TEST(Settings, HostNamesMustFitIntoKeys) {
  for (const char* host : {"a{b}", "a b"}) {
    const auto told = problems(std::string("[DEFAULT]\nhost = ") + host + "\n");
    EXPECT_THAT(told, ElementsAre(HasSubstr("not a usable host name")));
  }
  const auto unnamed = texts(build_settings({}, "", Purpose::tool).problems);
  EXPECT_THAT(unnamed, ElementsAre(HasSubstr("not a usable host")));
  EXPECT_EQ(
      build("[DEFAULT]\nhost = h\n[reclaim]\nprovider_name = h.example\n").settings.provider_name,
      "h.example");
}

TEST(Settings, Paths) {
  EXPECT_THAT(
      problems("[reclaim]\nsysfs_root = sys\nlibvirt_dirs = /a,b\n[DEFAULT]\nstate_path =\n"),
      ElementsAre("r.conf:5: [DEFAULT] state_path: '' is not an absolute path",
                  "r.conf:2: [reclaim] sysfs_root: 'sys' is not an absolute path",
                  "r.conf:3: [reclaim] libvirt_dirs: 'b' is not an absolute path"));
  EXPECT_THAT(problems("[reclaim]\nlabels = rack=7,b 2\n"),
              ElementsAre(HasSubstr("r.conf:2: [reclaim] labels: 'b 2' is no label")));
  EXPECT_THAT(problems("[reclaim]\nlibvirt_dirs = none\n"), ElementsAre());
  EXPECT_THAT(problems("[reclaim]\nlibvirt_dirs = none,/etc/libvirt/qemu\n"),
              ElementsAre(HasSubstr("'none' is not an absolute path")));
  EXPECT_THAT(problems("[reclaim]\nlibvirt_dirs =\n"),
              ElementsAre(HasSubstr("libvirt_dirs is empty")));
}

TEST(Settings, SurveyDelays) {
  EXPECT_THAT(build("[reclaim]\nsurvey_delays_s = 30, 0,5\n").settings.survey_delays_s,
              ElementsAre(0, 5, 30));
  EXPECT_THAT(problems("[reclaim]\nsurvey_delays_s = 1,-1\n"),
              ElementsAre(HasSubstr("'-1' is not an integer from 0 to 3600")));
  EXPECT_THAT(problems("[reclaim]\nsurvey_delays_s =\n"),
              ElementsAre(HasSubstr("needs 1 to 8 numbers")));
}

TEST(Settings, ServeNeedsCredentialsAToolDoesNot) {
  EXPECT_THAT(texts(build({}, Purpose::serve).problems),
              ElementsAre(HasSubstr("[placement] auth_type is not set")));
  EXPECT_THAT(texts(build({own(kBase)}, Purpose::serve).problems), IsEmpty());
  EXPECT_THAT(texts(build({own(kBase)}, Purpose::serve).warnings), IsEmpty());
}

TEST(Settings, PasswordCredentials) {
  const auto auth = [](std::string_view rest) {
    return problems("[placement]\nauth_type = v3password\nauth_url = http://k/v3\n" +
                    std::string(rest));
  };
  EXPECT_THAT(auth(""), ElementsAre("r.conf:2: [placement] auth_type needs username or user_id",
                                    "r.conf:2: [placement] auth_type needs password",
                                    HasSubstr("[placement] auth_type needs a scope")));
  EXPECT_THAT(
      auth("username = u\npassword = p\nproject_name = s\n"),
      ElementsAre(HasSubstr("needs user_domain_name"), HasSubstr("needs project_domain_name")));
  EXPECT_THAT(auth("username = u\npassword = p\nproject_name = s\ndefault_domain_id = default\n"),
              IsEmpty());
  EXPECT_THAT(auth("user_id = u\npassword = p\nproject_id = s\n"), IsEmpty());
  EXPECT_THAT(auth("user_id = u\npassword = p\nsystem_scope = all\n"), IsEmpty());
  EXPECT_THAT(auth("user_id = u\npassword = p\nsystem_scope = some\n"),
              ElementsAre(HasSubstr("only 'all'")));
  EXPECT_THAT(problems("[placement]\nauth_type = v2password\n"),
              ElementsAre(HasSubstr("'v2password' is not one of: password, v3password")));
  EXPECT_THAT(
      problems("[placement]\nauth_type = password\nauth_url = k:5000\nuser_id = u\npassword = p\n"
               "project_id = x\n"),
      ElementsAre("r.conf:3: [placement] auth_url: 'k:5000' is not an http:// or https:// URL"));
}

TEST(Settings, ApplicationCredentials) {
  const auto auth = [](std::string_view rest) {
    return problems(
        "[placement]\nauth_type = v3applicationcredential\nauth_url = http://k\n"
        "application_credential_secret = s\n" +
        std::string(rest));
  };
  EXPECT_THAT(auth("application_credential_id = i\n"), IsEmpty());
  EXPECT_THAT(auth("application_credential_name = n\nuser_id = u\n"), IsEmpty());
  EXPECT_THAT(auth("application_credential_name = n\nusername = u\nuser_domain_id = d\n"),
              IsEmpty());
  EXPECT_THAT(auth("application_credential_name = n\nusername = u\n"),
              ElementsAre(HasSubstr("needs application_credential_id, or")));
  EXPECT_THAT(problems("[placement]\nauth_type = v3applicationcredential\nauth_url = http://k\n"
                       "application_credential_id = i\n"),
              ElementsAre(HasSubstr("needs application_credential_secret")));
}

TEST(Settings, AuthSectionTakesTheCredentialsFromElsewhere) {
  constexpr std::string_view kNova =
      "[placement]\nauth_section = keystone_authtoken\nregion_name = R\nauth_url = http://wrong\n"
      "[keystone_authtoken]\nauth_type = password\nauth_url = http://k\nuser_id = u\npassword = p\n"
      "project_id = x\nmemcached_servers = m\n";
  const auto checked = build({service(kNova)}, Purpose::serve);
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.logins.placement, "keystone_authtoken");
  EXPECT_EQ(checked.settings.placement.auth_url, "http://k");
  EXPECT_EQ(checked.settings.placement.region_name, "R");

  const auto named = build(
      "[placement]\nauth_section = My_Auth\n[my_auth]\nauth_type = password\n"
      "auth_url = http://k\nuser_id = u\npassword = p\nproject_id = x\nuserid = 1\n");
  EXPECT_THAT(
      texts(named.problems),
      ElementsAre("r.conf:9: unknown option 'userid' in group [my_auth], did you mean 'user_id'?"));
  EXPECT_THAT(problems("[placement]\nauth_section = else\n"), IsEmpty());
  EXPECT_THAT(texts(build({own("[placement]\nauth_section = else\n")}, Purpose::serve).problems),
              ElementsAre(HasSubstr("r.conf:2: [else] auth_type is not set")));
}

TEST(Settings, PlacementOptions) {
  EXPECT_THAT(build("[placement]\nvalid_interfaces = publicURL,admin\n")
                  .settings.placement.valid_interfaces,
              ElementsAre("public", "admin"));
  EXPECT_THAT(problems("[placement]\nvalid_interfaces = outer\n"),
              ElementsAre(HasSubstr("'outer' is not one of: internal, public, admin")));
  EXPECT_THAT(problems("[placement]\nendpoint_override = http://u:p@h/\n"),
              ElementsAre(HasSubstr("must hold neither user nor password")));
  EXPECT_THAT(problems("[placement]\nkeyfile = /k\n"),
              ElementsAre(HasSubstr("keyfile needs certfile")));
}

TEST(Settings, WarnsWhenTheServiceSendsNothing) {
  const auto check = [](std::string_view nova) {
    return texts(build({service(nova), own(kBase)}, Purpose::serve).warnings);
  };
  EXPECT_THAT(check(""), ElementsAre(HasSubstr("driver is not messagingv2")));
  EXPECT_THAT(check("[oslo_messaging_notifications]\ndriver = noop\n"),
              ElementsAre(HasSubstr("nova.conf:2: [oslo_messaging_notifications] driver is not")));
  EXPECT_THAT(check("[oslo_messaging_notifications]\ndriver = log\ndriver = messagingv2\ntopics = "
                    "notifications,other\n"),
              ElementsAre(HasSubstr("topics has 'other', which is not in [listener] topics")));
  // Nova's own name of them; what it has in that group beside it is not ours.
  const std::string sends =
      "[oslo_messaging_notifications]\ndriver = messagingv2\n[notifications]\n";
  EXPECT_THAT(
      check(sends + "versioned_notifications_topics = v2\ntopics = nova's\n"),
      ElementsAre(HasSubstr("nova.conf:4: [notifications] versioned_notifications_topics has "
                            "'v2', which is not in [listener] topics")));
  EXPECT_THAT(check(sends + "versioned_notifications_topics = versioned_notifications\n"),
              IsEmpty());
}

TEST(Settings, DeviceSpecErrorsNameTheLine) {
  EXPECT_THAT(
      problems("[nvme]\ndevice_spec = {\"address\": \"*:0a:00.*\",\n  \"clear_action\": \"zero\",\n"
               "  \"clear_strategy\": \"crypto\"}\ndevice_spec = {\"x\": 1}\n"),
      ElementsAre(HasSubstr("r.conf:5: [nvme] device_spec: unknown key 'x'"),
                  HasSubstr("r.conf:2: [nvme] device_spec: clear_action=zero with")));
  EXPECT_THAT(problems("[nvme]\nverify = log\ndevice_spec = {\"vendor_id\": \"1\"}\n"
                       "device_spec = {\"vendor_id\": \"2\", \"clear_action\": \"format\"}\n"),
              ElementsAre(HasSubstr("r.conf:4: [nvme] device_spec: this entry, with [nvme] verify: "
                                    "verify=log needs a sanitize")));
  EXPECT_THAT(warnings("[nvme]\ndevice_spec = {}\ndevice_spec = {}\n"),
              ElementsAre(HasSubstr("r.conf:3: [nvme] device_spec: this entry never counts")));
  std::string many = "[nvme]\n";
  for (std::size_t i = 0; i <= kDeviceSpecsMax; ++i)
    many += "device_spec = {\"address\": \"0:0:0.0\"}\n";
  EXPECT_THAT(problems(many), ElementsAre(HasSubstr("more than 256 entries")));
}

TEST(Settings, HowDrivesAreCleaned) {
  const auto checked = build(
      "[nvme]\nverify = nist\nzero_rate_max = 2G\n"
      "clean_step_priority_override = nvme.check_health:95, nvme.reset_namespaces: 82\n"
      "clean_step_priority_override = nvme.check_health:96\n"
      "device_spec = {\"vendor_id\": \"1\"}\n"
      "device_spec = {\"vendor_id\": \"2\", \"verify\": \"full\"}\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const Settings& s = checked.settings;
  ASSERT_EQ(s.device_specs.size(), 2U);
  EXPECT_EQ(s.device_specs[0].rules.verify, nvme::VerifyLevel::nist);
  EXPECT_EQ(s.device_specs[1].rules.verify, nvme::VerifyLevel::full);
  EXPECT_EQ(s.nvme.zero_bytes_per_s_max, 2ULL << 30U);
  EXPECT_THAT(s.conductor.step_priorities,
              ElementsAre(Pair("nvme.check_health", 96), Pair("nvme.reset_namespaces", 82)));
  EXPECT_THAT(problems("[nvme]\nverify = some\nzero_rate_max = 2 apples\n"
                       "clean_step_priority_override = nvme.check_health\n"),
              ElementsAre(HasSubstr("r.conf:2: [nvme] verify: 'some' is not one of: log, sample"),
                          HasSubstr("r.conf:4: [nvme] clean_step_priority_override: "
                                    "'nvme.check_health' is not STEP:PRIORITY"),
                          HasSubstr("r.conf:3: [nvme] zero_rate_max: '2 apples' is not a rate")));
  EXPECT_THAT(problems("[nvme]\nclean_step_priority_override = nvme.check_helth:90\n"
                       "clean_step_priority_override = nvme.reset_namespaces:0\n"),
              ElementsAre(AllOf(HasSubstr("r.conf:2: [nvme] clean_step_priority_override: "),
                                HasSubstr("'nvme.check_helth'"), HasSubstr("nvme.check_health")),
                          AllOf(HasSubstr("r.conf:3: "), HasSubstr("cannot be disabled"))));
}

// Ironic's conductor does not start either (the specification, "tie").
TEST(Settings, TwoCleanStepsOfOnePriorityAreAnError) {
  EXPECT_THAT(problems("[nvme]\nclean_step_priority_override = nvme.check_health:60\n"
                       "clean_step_priority_override = nvme.reset_namespaces:85\n"),
              ElementsAre(AllOf(HasSubstr("r.conf:3: [nvme] clean_step_priority_override: "),
                                HasSubstr("nvme.recover_sanitize and nvme.reset_namespaces"),
                                HasSubstr("85"))));
  EXPECT_THAT(problems("[nvme]\nclean_step_priority_override = nvme.check_health:85, "
                       "nvme.recover_sanitize:90\n"),
              IsEmpty());
}

TEST(Settings, TheSigningKeyIsAnAbsolutePath) {
  EXPECT_EQ(build("").settings.order_key_file, "");
  EXPECT_EQ(build("[security]\norder_key_file = /etc/reclaim/order.key\n").settings.order_key_file,
            "/etc/reclaim/order.key");
  EXPECT_THAT(problems("[security]\norder_key_file = order.key\n"),
              ElementsAre(HasSubstr("[security] order_key_file: 'order.key' is not an absolute")));
  EXPECT_EQ(build("").settings.signing_key, "");
  EXPECT_EQ(build("[certificates]\nsigning_key = /etc/reclaim/host.key\n").settings.signing_key,
            "/etc/reclaim/host.key");
  EXPECT_THAT(problems("[certificates]\nsigning_key = host.key\n"),
              ElementsAre("r.conf:2: [certificates] signing_key: 'host.key' is not an absolute "
                          "path"));
}

TEST(Settings, TheFileForNodeExporterHasItsName) {
  EXPECT_EQ(build("[metrics]\ntextfile = /var/x/reclaim.prom\n").settings.metrics_textfile,
            "/var/x/reclaim.prom");
  EXPECT_THAT(problems("[metrics]\ntextfile = /var/x/reclaim.txt\n"),
              ElementsAre(HasSubstr("[metrics] textfile: '/var/x/reclaim.txt' does not end in")));
}

TEST(Settings, SecretsNeverShow) {
  const auto checked = build(
      "[DEFAULT]\ntransport_url = kafka://u:hunter2@h/\n[redis]\nurl = redis://:hunter2@h:x\n"
      "[placement]\nauth_type = password\npassword = hunter2$hunter2\n");
  EXPECT_THAT(texts(checked.problems), Contains(HasSubstr("[placement] password")));
  EXPECT_THAT(texts(checked.problems), Contains(HasSubstr("[redis] url")));
  for (const std::string& text : texts(checked.problems)) {
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace reclaim::config
