// [api], [keystone_authtoken] and [oslo_policy]: what listens, whose tokens count, each refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> api(const std::string& rest) {
  return problems("[api]\n" + rest);
}

std::vector<std::string> serve(const std::string& rest) {
  return texts(build({own(kBase), own(rest, "a.conf")}, Purpose::serve).problems);
}

TEST(ApiSettings, OffByDefault) {
  const Settings settings = build("").settings;
  EXPECT_FALSE(settings.api.on());
  EXPECT_EQ(settings.api.auth, ApiAuth::keystone);
  EXPECT_EQ(settings.api.http.unix_socket_mode, 0600U);
  EXPECT_THAT(settings.tokens.session.valid_interfaces, ElementsAre("internal"));
  EXPECT_THAT(settings.tokens.service_token_roles, ElementsAre("service"));
  EXPECT_EQ(settings.policy_file, "/etc/reclaim/policy.yaml");
  EXPECT_EQ(settings.policy_file_at.file, "");
}

TEST(ApiSettings, AddressesAreNumeric) {
  const auto checked = build("[api]\nbind = 127.0.0.1:6667, [::1]:0\nunix_socket = /run/r.sock\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_TRUE(checked.settings.api.on());
  EXPECT_THAT(checked.settings.api.http.bind, ElementsAre("127.0.0.1:6667", "[::1]:0"));
  for (const char* bad :
       {"6667", ":6667", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:6667", "[127.0.0.1]:1",
        "host:6667", "[::1]6667", "127.0.0.1:-1", "*:6667", "[]:1", "127.0.0.1:1x"}) {
    EXPECT_THAT(api(std::string("bind = ") + bad + "\n"),
                ElementsAre(AllOf(HasSubstr(std::string("r.conf:2: [api] bind: '") + bad + "'"),
                                  HasSubstr("is not ADDRESS:PORT, like"))))
        << bad;
  }
  std::string many = "bind = ";
  for (int i = 0; i < 17; ++i) many += "127.0.0.1:0,";
  EXPECT_THAT(api(many), ElementsAre(HasSubstr("more than 16 addresses")));
}

TEST(ApiSettings, WithoutAuthenticationOnlyThisHostMayConnect) {
  EXPECT_THAT(api("auth = none\nbind = 127.0.0.1:1,127.9.9.9:1,[::1]:1\n"
                  "unix_socket = /s\n"),
              IsEmpty());
  for (const char* open : {"0.0.0.0:6667", "192.0.2.7:6667", "[::]:6667", "[2001:db8::1]:6667",
                           "126.255.255.255:1", "128.0.0.1:1"}) {
    EXPECT_THAT(
        api(std::string("auth = none\nbind = 127.0.0.1:1,") + open + "\n"),
        ElementsAre(AllOf(HasSubstr("r.conf:3: [api] bind: '" + std::string(open) + "'"),
                          HasSubstr("is not a loopback address"), HasSubstr("auth = none"))))
        << open;
  }
  EXPECT_THAT(api("auth = anybody\n"),
              ElementsAre("r.conf:2: [api] auth: 'anybody' is not one of: keystone, none"));
}

TEST(ApiSettings, AnIpv4AddressIsNotWrittenAsIpv6) {
  for (const char* auth : {"keystone", "none"}) {
    EXPECT_THAT(api(std::string("auth = ") + auth + "\nbind = [::ffff:127.0.0.1]:6667\n"),
                ElementsAre("r.conf:3: [api] bind: '[::ffff:127.0.0.1]:6667' is an IPv4 address in "
                            "IPv6's form: write 127.0.0.1:6667"));
  }
  EXPECT_THAT(api("bind = [::ffff:c000:207]:1\n"), ElementsAre(HasSubstr("write 192.0.2.7:1")));
}

TEST(ApiSettings, WithoutAuthenticationEveryUserOfTheHostMayDoEverything) {
  constexpr const char* kWords = "every user of this host may connect, and with auth = none";
  for (const char* door : {"bind = 127.0.0.1:6667", "bind = [::1]:6667",
                           "unix_socket = /s\nunix_socket_mode = 0666"}) {
    EXPECT_THAT(warnings(std::string("[api]\nauth = none\n") + door + "\n"),
                Contains(HasSubstr(kWords)))
        << door;
    EXPECT_THAT(warnings(std::string("[api]\n") + door + "\n"), Not(Contains(HasSubstr(kWords))))
        << door;
  }
  EXPECT_THAT(warnings("[api]\nauth = none\nunix_socket = /s\n"), Not(Contains(HasSubstr(kWords))));
}

TEST(ApiSettings, TokensInTheClearAreWarnedOf) {
  EXPECT_THAT(warnings("[api]\nbind = 192.0.2.7:6667\n"),
              Contains(HasSubstr("tokens come to 192.0.2.7:6667 in the clear")));
  EXPECT_THAT(warnings("[api]\nbind = 127.0.0.1:6667\n"), Not(Contains(HasSubstr("in the clear"))));
  EXPECT_THAT(warnings("[api]\nbind = 192.0.2.7:6667\ncert_file = /c\nkey_file = /k\n"),
              Not(Contains(HasSubstr("in the clear"))));
  EXPECT_THAT(warnings("[api]\nunix_socket = /s\ncert_file = /c\nkey_file = /k\n"),
              Contains(HasSubstr("cert_file has no effect, for bind is not set")));
}

TEST(ApiSettings, TheSocketAndItsMode) {
  const auto checked =
      build("[api]\nunix_socket = /run/reclaim/api.sock\nunix_socket_mode = 660\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.api.http.unix_socket_mode, 0660U);
  for (const char* bad : {"0888", "rw", "1777", "-1", "", "0x10"}) {
    EXPECT_THAT(api(std::string("unix_socket_mode = ") + bad + "\n"),
                ElementsAre(HasSubstr("is not an octal number from 0 to 0777")))
        << bad;
  }
  EXPECT_THAT(api("unix_socket = api.sock\n"),
              ElementsAre("r.conf:2: [api] unix_socket: 'api.sock' is not an absolute path"));
  EXPECT_THAT(api("unix_socket = /" + std::string(107, 'x') + "\n"),
              ElementsAre(HasSubstr("longer than 107 bytes")));
}

TEST(ApiSettings, TheOtherOptionsRefuseBadValues) {
  EXPECT_THAT(api("cert_file = /c\n"),
              ElementsAre("r.conf:2: [api] cert_file needs key_file beside it"));
  EXPECT_THAT(api("key_file = /k\n"),
              ElementsAre("r.conf:2: [api] key_file needs cert_file beside it"));
  EXPECT_THAT(api("connections_max = 0\n"), ElementsAre(HasSubstr("from 1 to 16384")));
  EXPECT_THAT(api("head_timeout_s = 601\n"), ElementsAre(HasSubstr("from 1 to 600")));
  EXPECT_THAT(api("idle_timeout_s = soon\n"), ElementsAre(HasSubstr("from 1 to 3600")));
  EXPECT_THAT(api("request_bytes_max = 1023\n"), ElementsAre(HasSubstr("from 1024 to 1048576")));
  EXPECT_THAT(api("host_ip = 0.0.0.0\n"),
              ElementsAre("r.conf:2: unknown option 'host_ip' in group [api]"));
}

TEST(ApiSettings, TheProcessOfTheApiNeedsWhereToListenAndWhomToAskAndNothingOfAWorkers) {
  const auto process = [](const std::string& text) {
    return texts(build({own(text)}, Purpose::api).problems);
  };
  EXPECT_THAT(process("[api]\nbind = 127.0.0.1:1\nauth = none\n"), IsEmpty());
  EXPECT_THAT(
      texts(build({own("[api]\nbind = 127.0.0.1:1\nauth = none\n")}, Purpose::api).warnings),
      Not(Contains(HasSubstr("device_spec"))));
  EXPECT_THAT(process(""), ElementsAre(HasSubstr("[api] bind and unix_socket are not set")));
  EXPECT_THAT(process("[api]\nbind = 127.0.0.1:1\n"),
              ElementsAre(HasSubstr("[keystone_authtoken] auth_type is not set")));
}

TEST(TokenSettings, AreNeededOnlyByTheProcessThatAnswersAndAuthenticates) {
  const auto process = [](const std::string& text) {
    return texts(build({own("[api]\nunix_socket = /s\n" + text)}, Purpose::api).problems);
  };
  EXPECT_THAT(serve("[api]\nunix_socket = /s\n"), IsEmpty());
  EXPECT_THAT(serve("[keystone_authtoken]\nusername = half\n"), IsEmpty());
  EXPECT_THAT(process(""),
              ElementsAre(HasSubstr("[keystone_authtoken] auth_type is not set: Keystone "
                                    "credentials are needed to validate the tokens")));
  EXPECT_THAT(process("auth = none\n"), IsEmpty());
  const SourceFile shared =
      own("[api]\nunix_socket = /s\n[keystone_authtoken]\nauth_section = placement\n", "a.conf");
  EXPECT_THAT(texts(build({own(kBase), shared}, Purpose::api).problems), IsEmpty());
}

TEST(TokenSettings, AsKeystonemiddlewareHasThem) {
  const auto checked =
      build({service("[keystone_authtoken]\nauth_type = password\nauth_url = http://k:5000\n"
                     "user_id = u\npassword = p\nproject_id = x\nmemcached_servers = m\n"
                     "auth_uri = https://public:5000\ninterface = admin\nregion_name = R\n"
                     "token_cache_time = -1\nservice_token_roles = service,admin\n"
                     "service_token_roles_required = false\n",
                     "cyborg.conf"),
             own("[api]\nunix_socket = /s\n")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  const placement::TokenOptions& tokens = checked.settings.tokens;
  EXPECT_EQ(tokens.session.auth_url, "http://k:5000");
  EXPECT_EQ(checked.settings.www_authenticate_uri, "https://public:5000");
  EXPECT_THAT(tokens.session.valid_interfaces, ElementsAre("admin"));
  EXPECT_EQ(tokens.session.region_name, "R");
  EXPECT_EQ(tokens.cache_time_ms, 0);
  EXPECT_THAT(tokens.service_token_roles, ElementsAre("service", "admin"));
  EXPECT_FALSE(tokens.service_token_roles_required);
  EXPECT_EQ(build("[api]\nunix_socket = /s\n[keystone_authtoken]\nauth_type = password\n"
                  "auth_url = http://k\n")
                .settings.www_authenticate_uri,
            "http://k");
}

TEST(TokenSettings, BadValuesNameTheirLine) {
  const auto tokens = [](const std::string& line) {
    return problems("[keystone_authtoken]\n" + line + "\n");
  };
  EXPECT_THAT(tokens("www_authenticate_uri = keystone"),
              ElementsAre("r.conf:2: [keystone_authtoken] www_authenticate_uri: 'keystone' is not "
                          "an http:// or https:// URL"));
  EXPECT_THAT(tokens("interface = outer"), ElementsAre(HasSubstr("internal, public, admin")));
  EXPECT_THAT(tokens("keyfile = /k"), ElementsAre(HasSubstr("keyfile needs certfile")));
  EXPECT_THAT(tokens("insecure = x"), ElementsAre(HasSubstr("'x' is not a boolean")));
  EXPECT_THAT(tokens("token_cache_time = -2"), ElementsAre(HasSubstr("from -1 to 86400")));
  EXPECT_THAT(tokens("service_token_roles_required = x"),
              ElementsAre(HasSubstr("'x' is not a boolean")));
}

TEST(PolicySettings, TheFileAndWhoNamedIt) {
  const auto checked = build("[oslo_policy]\npolicy_file = /etc/p.json\nenforce_scope = true\n");
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.policy_file, "/etc/p.json");
  EXPECT_EQ(to_string(checked.settings.policy_file_at), "r.conf:2");
  EXPECT_THAT(texts(checked.warnings),
              Contains("r.conf:3: [oslo_policy] enforce_scope has no effect in Reclaim"));
  EXPECT_THAT(problems("[oslo_policy]\npolicy_file = policy.yaml\n"),
              ElementsAre("r.conf:2: [oslo_policy] policy_file: 'policy.yaml' is not an absolute "
                          "path"));
  // cyborg.conf's rules are Cyborg's.
  EXPECT_EQ(build({service("[oslo_policy]\npolicy_file = /etc/cyborg/policy.yaml\n")})
                .settings.policy_file,
            "/etc/reclaim/policy.yaml");
}

}  // namespace
}  // namespace reclaim::config
