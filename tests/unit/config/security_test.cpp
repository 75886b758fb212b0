// What `config check` and `doctor` say of a configuration that leaves something open to others: a
// table of settings, each with the one remark that it is worth.
#include "config/security.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/temp_folder.h"
#include "tests/unit/config/settings_fixture.h"

namespace reclaim::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As they are printed, a line each.
std::vector<std::string> lines(const std::vector<Remark>& remarks) {
  std::vector<std::string> out;
  for (const Remark& remark : remarks) {
    EXPECT_FALSE(remark.remedy.empty()) << remark.what;
    EXPECT_EQ((remark.what + remark.remedy).find('\n'), std::string::npos) << remark.what;
    out.push_back(remark.what + ": " + remark.remedy);
  }
  return out;
}

// Nothing of it is open.
constexpr std::string_view kClosed =
    "[DEFAULT]\ntransport_url = rabbit://u:p@bus.example:5671/?ssl=1&ssl_ca_file=/ca\n"
    "[redis]\nurl = unix:///run/redis/redis.sock\n"
    "[placement]\nauth_type = password\nauth_url = https://keystone.example/v3\nusername = n\n"
    "password = p\nuser_domain_name = D\nproject_name = s\nproject_domain_name = D\n"
    "endpoint_override = https://placement.example\n"
    "[cyborg]\nenabled = true\nauth_section = placement\nendpoint_override = "
    "https://cyborg.example/v2\n"
    "[keystone_authtoken]\nauth_section = placement\n"
    "[api]\nunix_socket = /s\n"
    "[nvme]\ndevice_spec = {\"vendor_id\": \"144d\", \"address\": \"*:*:*.*\"}\n";

std::vector<std::string> remarks_with(const std::string& more) {
  const CheckedSettings checked = build({own(kClosed), own(more, "more.conf")});
  EXPECT_THAT(texts(checked.problems), IsEmpty()) << more;
  return lines(security_remarks(checked.settings));
}

struct Open {
  const char* settings;
  const char* said;
  const char* remedy;  // how the line ends
};

const Open kOpen[] = {
    {"[redis]\nurl = redis://127.0.0.1:6379/0\n",
     "[redis] url has no password: every client that can connect to 127.0.0.1:6379 may give orders",
     "of a socket that others cannot open"},
    {"[redis]\nurl = redis://u:p@redis.example/0\n",
     "[redis] url: records, orders and the password go to redis.example in the clear",
     "a network that is the fleet's alone"},
    {"[redis]\nurl = redis+cluster://127.0.0.1:7001,127.0.0.1:7002\n",
     "every client that can connect to a node of the cluster may give orders",
     "of a socket that others cannot open"},
    {"[redis]\nurl = redis+cluster://u:p@127.0.0.1,n2.example\n",
     "[redis] url: records, orders and the password go to n2.example in the clear",
     "a network that is the fleet's alone"},
    {"[redis]\nurl = redis+sentinel://u:p@127.0.0.1/cloud\n",
     "[redis] url has no sentinel_password: every client that can connect to a sentinel may name "
     "another master, and that one is sent the password of Redis",
     "or let nobody but the hosts reach them"},
    {"[redis]\nurl = redis+sentinel://u:p@127.0.0.1/cloud?sentinel_password=ADMIN\n",
     "[redis] url logs in to the sentinels as their user default, who may do everything: a host "
     "that is compromised may name another master",
     "and name it in sentinel_username (docs/redis-servers.md)"},
    {"[redis]\nurl = redis+sentinel://u:p@127.0.0.1/cloud?sentinel_username=default&"
     "sentinel_password=ADMIN\n",
     "[redis] url logs in to the sentinels as their user default",
     "and name it in sentinel_username (docs/redis-servers.md)"},
    {"[DEFAULT]\ntransport_url = rabbit://u:p@localhost,u:p@bus.example/\n",
     "transport_url: messages and the password go to bus.example in the clear",
     "?ssl=1&ssl_ca_file=PATH in the URL"},
    {"[DEFAULT]\ntransport_url = rabbit://u:p@bus.example/?ssl=1\n",
     "[oslo_messaging_rabbit] ssl_ca_file is not set: any certificate of the broker is taken",
     "name the file of the authority that signed it"},
    {"[oslo_messaging_rabbit]\nssl_enforce_hostname_verification = false\n",
     "the certificate of another host is taken for the broker's",
     "give the broker a certificate with its name"},
    {"[cyborg]\nlisten_rpc = true\n[oslo_messaging_notifications]\n"
     "transport_url = rabbit://u:p@127.0.0.1/\n[DEFAULT]\ntransport_url = rabbit://u:p@far/\n",
     "transport_url of the RPC: messages and the password go to far in the clear", "in the URL"},
    {"[placement]\nauth_url = http://keystone.example:5000/v3\n",
     "[placement] auth_url: the password goes to http://keystone.example:5000/v3 in the clear",
     "use the https:// URL of Keystone"},
    {"[placement]\nendpoint_override = http://[2001:db8::1]:8778\n",
     "[placement] endpoint_override: tokens go to http://[2001:db8::1]:8778 in the clear",
     "use the https:// URL of the service"},
    {"[cyborg]\nendpoint_override = http://cyborg.example/v2\n",
     "[cyborg] endpoint_override: tokens go to http://cyborg.example/v2 in the clear",
     "use the https:// URL of the service"},
    {"[placement]\ninsecure = true\n", "[placement] insecure = true: any server that answers",
     "name the authority's file in [placement] cafile and take insecure out"},
    {"[cyborg]\ninsecure = true\n", "[cyborg] insecure = true: any server that answers",
     "take insecure out"},
    {"[keystone_authtoken]\ninsecure = true\n",
     "[keystone_authtoken] insecure = true: any server that answers", "take insecure out"},
    {"[nvme]\ndevice_spec = {\"address\": \"*:*:*.*\"}\n",
     "[nvme] device_spec at more.conf:2 matches every drive of the host",
     "or the addresses of the tenants' drives"},
    {"[nvme]\ndevice_spec = {\"address\": \"0000:*:*.0\"}\n",
     "[nvme] device_spec at more.conf:2 matches every drive of the host",
     "or the addresses of the tenants' drives"},
    {"[nvme]\ndevice_spec = {\"address\": {\"bus\": \".*\"}}\n",
     "[nvme] device_spec at more.conf:2 matches every drive of the host",
     "or the addresses of the tenants' drives"},
};

TEST(SecurityRemarks, NothingIsSaidOfWhatIsClosed) {
  EXPECT_THAT(remarks_with(""), IsEmpty());
  for (const char* closed :
       {"[redis]\nurl = redis://u:p@127.0.0.1:6379/0\n", "[redis]\nurl = redis://u:p@[::1]/0\n",
        "[redis]\nurl = redis+sentinel://u:p@[::1]/cloud?sentinel_username=reclaim&"
        "sentinel_password=w\n",
        "[placement]\nauth_url = http://localhost:5000/v3\n",
        "[placement]\nendpoint_override = http://[::1]:8778\n",
        "[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1/\n",
        "[nvme]\ndevice_spec = {\"address\": \"*:0a:*.*\"}\n",
        "[nvme]\ndevice_spec = {\"product_id\": \"a80a\", \"address\": \"*:*:*.*\"}\n",
        "[nvme]\nmanage_every_drive = true\ndevice_spec = {\"address\": \"*:*:*.*\"}\n"}) {
    EXPECT_THAT(remarks_with(closed), IsEmpty()) << closed;
  }
  if (redis_has_tls()) {
    EXPECT_THAT(remarks_with("[redis]\nurl = rediss://u:p@redis.example/0\n"), IsEmpty());
  }
}

TEST(SecurityRemarks, EachOpeningIsOneLineThatEndsInItsRemedy) {
  for (const Open& open : kOpen) {
    EXPECT_THAT(remarks_with(open.settings),
                ElementsAre(AllOf(HasSubstr(open.said), EndsWith(open.remedy))))
        << open.settings;
  }
}

TEST(SecurityRemarks, ALoginOfTwoGroupsIsToldOnce) {
  EXPECT_EQ(remarks_with("[placement]\nauth_url = http://far/v3\n").size(), 1U);
}

TEST(SecurityRemarks, NothingIsSaidOfARedisWhoseUrlCannotBeRead) {
  for (const char* url :
       {"redis+sentinel://u:p@s1", "redis+sentinel://s1/cloud?sentinel_username=u", "redis://far:x",
        "redis://u@far", "redis+cluster://n1/3", "unix:///run/%00", "rediss", "nonsense", ""}) {
    const CheckedSettings checked =
        build({own(kClosed), own(fmt::format("[redis]\nurl = {}\n", url), "more.conf")});
    EXPECT_THAT(texts(checked.problems), ElementsAre(HasSubstr("[redis] url"))) << url;
    EXPECT_THAT(lines(security_remarks(checked.settings)), IsEmpty()) << url;
  }
}

TEST(SecurityRemarks, OnlyHttpToAnotherHostIsInTheClear) {
  EXPECT_TRUE(in_the_clear("http://127.0.0.1.example/v3"));
  EXPECT_TRUE(in_the_clear("http://127.0.0.1@far:80/"));
  EXPECT_FALSE(in_the_clear("http://127.0.0.1/v3"));
  EXPECT_FALSE(in_the_clear("https://far/v3"));
  EXPECT_FALSE(in_the_clear(""));
}

TEST(EveryDrive, WithManageProvidersIsAnErrorUnlessItIsMeant) {
  const std::string every =
      "[nvme]\nmanage_providers = true\ndevice_spec = {\"address\": \"*:*:*.*\"}\n";
  EXPECT_THAT(problems(every),
              ElementsAre(AllOf(HasSubstr("r.conf:3: [nvme] device_spec matches every drive"),
                                EndsWith("or say manage_every_drive = true"))));
  EXPECT_THAT(problems(every + "manage_every_drive = true\n"), IsEmpty());
  EXPECT_THAT(
      problems("[nvme]\nmanage_providers = true\ndevice_spec = {\"vendor_id\": \"144d\"}\n"),
      IsEmpty());
  EXPECT_THAT(problems("[nvme]\ndevice_spec = {\"address\": \"*:*:*.*\"}\n"), IsEmpty());
}

class FileRemarks : public ::testing::Test {
 protected:
  std::string make(const std::string& name, mode_t mode) {
    const std::string path = root_ + "/" + name;
    std::ofstream(path) << "x";
    ::chmod(path.c_str(), mode);
    return path;
  }

  const TempFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(FileRemarks, KeysThatOthersReadAreToldEach) {
  struct Key {
    const char* option;
    const char* settings;  // {} is its path
  };
  constexpr Key kKeys[] = {
      {"[certificates] signing_key", "[certificates]\nsigning_key = {}\n"},
      {"[security] order_key_file", "[security]\norder_key_file = {}\n"},
      {"[api] key_file", "[api]\nbind = 127.0.0.1:1\ncert_file = /c\nkey_file = {}\n"},
      {"[placement] keyfile", "[placement]\ncertfile = /c\nkeyfile = {}\n"},
      {"[cyborg] keyfile", "[cyborg]\ncertfile = /c\nkeyfile = {}\n"},
      {"[keystone_authtoken] keyfile", "[keystone_authtoken]\ncertfile = /c\nkeyfile = {}\n"},
      {"[oslo_messaging_rabbit] ssl_key_file",
       "[oslo_messaging_rabbit]\nssl = true\nssl_cert_file = /c\nssl_key_file = {}\n"},
      {"[redis] tls_key_file", "[redis]\ntls_cert_file = /c\ntls_key_file = {}\n"},
  };
  for (const Key& key : kKeys) {
    const std::string path = make("key", 0644);
    const Settings settings = build(fmt::format(fmt::runtime(key.settings), path)).settings;
    EXPECT_THAT(lines(file_remarks(settings, {})),
                ElementsAre(AllOf(HasSubstr(key.option), HasSubstr(path + " (mode 0644)"),
                                  HasSubstr("read the key"), HasSubstr("chmod 0600 it"))));
    for (const mode_t closed : {0600U, 0400U, 0640U}) {
      make("key", closed);
      EXPECT_THAT(file_remarks(settings, {}), IsEmpty()) << key.option;
    }
    make("key", 0620);
    EXPECT_THAT(lines(file_remarks(settings, {})), ElementsAre(HasSubstr("write the key")));
  }
  // The worker's own, where nobody named one.
  make("certificate.key", 0604);
  make("host.key", 0604);
  EXPECT_THAT(lines(file_remarks(build("[DEFAULT]\nstate_path = " + root_ + "\n").settings, {})),
              ElementsAre(HasSubstr("certificate.key (mode 0604)"),
                          AllOf(HasSubstr("records in Redis"), HasSubstr("host.key (mode 0604)"))));
}

TEST_F(FileRemarks, ConfigurationThatOthersWrite) {
  const Settings settings = build("[oslo_policy]\npolicy_file = " + root_ + "/policy\n").settings;
  for (const mode_t open : {0660U, 0662U, 0642U}) {
    const std::string path = make("r.conf", open);
    EXPECT_THAT(lines(file_remarks(settings, {path, root_ + "/not-there"})),
                ElementsAre(AllOf(HasSubstr(path + ": others than its owner may write it"),
                                  EndsWith("chmod go-w it"))));
  }
  EXPECT_THAT(file_remarks(settings, {make("r.conf", 0640), make("policy", 0660)}), IsEmpty());
}

TEST_F(FileRemarks, ASocketOfRedisThatEverybodyOpens) {
  const std::string path = make("redis.sock", 0777);
  EXPECT_THAT(lines(file_remarks(build("[redis]\nurl = unix://" + path + "\n").settings, {})),
              ElementsAre(AllOf(HasSubstr("every user of this host may connect to " + path),
                                HasSubstr("unixsocketperm 770"))));
  EXPECT_THAT(file_remarks(build("[redis]\nurl = unix://u:p@" + path + "\n").settings, {}),
              IsEmpty());
  make("redis.sock", 0770);
  EXPECT_THAT(file_remarks(build("[redis]\nurl = unix://" + path + "\n").settings, {}), IsEmpty());
}

}  // namespace
}  // namespace reclaim::config
