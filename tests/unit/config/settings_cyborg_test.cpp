// [cyborg], [pci] and manage_providers: defaults, what is shared with cyborg.conf, each refusal.
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

constexpr std::string_view kLogin =
    "auth_type = password\nauth_url = http://k\nuser_id = u\npassword = p\nproject_id = x\n";

TEST(CyborgSettings, DefaultsAskAndHearNothing) {
  const Settings s = build("").settings;
  EXPECT_EQ(s.logins.cyborg, "");
  EXPECT_FALSE(s.listen_rpc);
  EXPECT_FALSE(s.rpc.serve);
  EXPECT_EQ(s.cyborg.session.service_type, "accelerator");
  EXPECT_THAT(s.cyborg.session.valid_interfaces, ElementsAre("internal", "public"));
  EXPECT_EQ(s.rpc.exchange, "cyborg");
  EXPECT_EQ(s.rpc.topic, "cyborg-agent");
  EXPECT_FALSE(build("").settings.conductor.manage_providers);
}

TEST(CyborgSettings, ItsApiIsAskedWithALoginOfItsOwnOrOfAnotherGroup) {
  const auto own_login = build("[cyborg]\nenabled = true\n" + std::string(kLogin));
  EXPECT_THAT(texts(own_login.problems), IsEmpty());
  EXPECT_EQ(own_login.settings.logins.cyborg, "cyborg");
  const auto shared =
      build("[cyborg]\nenabled = true\nauth_section = placement\nregion_name = R\n[placement]\n" +
            std::string(kLogin));
  EXPECT_THAT(texts(shared.problems), IsEmpty());
  EXPECT_EQ(shared.settings.logins.cyborg, "placement");
  EXPECT_EQ(shared.settings.cyborg.session.region_name, "R");
  EXPECT_THAT(problems("[cyborg]\nenabled = true\nauth_type = password\n"),
              Contains("r.conf:3: [cyborg] auth_type needs auth_url"));
  EXPECT_THAT(problems("[cyborg]\nenabled = true\nauth_type = token\n"),
              ElementsAre(HasSubstr("r.conf:3: [cyborg] auth_type: 'token' is not one of")));
  EXPECT_THAT(
      texts(build({own(kBase), own("[cyborg]\nauth_section = other\nenabled = 1\n", "c")},
                  Purpose::serve)
                .problems),
      ElementsAre("c:2: [other] auth_type is not set: Keystone credentials are needed to ask "
                  "Cyborg's REST API (accepted: password, v3password, v3applicationcredential)"));
}

TEST(CyborgSettings, ALoginOfNovasSaysNothingOfReclaim) {
  const std::string nova = "[cyborg]\nenabled = true\n" + std::string(kLogin);
  const auto checked = build({service(nova, "nova.conf"), own(kBase)});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.logins.cyborg, "");
  EXPECT_EQ(build({service("[cyborg]\nauth_type = token\n", "nova.conf"), own(kBase)})
                .settings.logins.cyborg,
            "");
}

TEST(CyborgSettings, ALoginOfOursThatIsNotEnabledIsAMistake) {
  EXPECT_THAT(problems("[cyborg]\nauth_section = placement\n"),
              ElementsAre("r.conf:2: [cyborg] auth_section is set but enabled is not, so that "
                          "Cyborg's API would not be asked (enabled = true, or take the login "
                          "out)"));
  EXPECT_THAT(
      texts(build({own(kBase), own("[cyborg]\nenabled = true\n", "c")}, Purpose::serve).problems),
      ElementsAre(HasSubstr("[cyborg] auth_type is not set")));
}

// Else a login that nobody uses looks as if Cyborg were asked.
TEST(CyborgSettings, ALoginWithoutAuthTypeIsRefusedAsPlacementsIs) {
  for (const std::string group : {"cyborg", "placement"}) {
    const std::string open =
        "[" + group + "]\n" + (group == "cyborg" ? "enabled = true\n" : "insecure = false\n");
    EXPECT_THAT(problems(open + "auth_url = http://k\nusername = u\npassword = p\n"),
                ElementsAre("r.conf:3: [" + group +
                            "] auth_url is set but auth_type is not, so it is not used to log in "
                            "(accepted: auth_type = password, v3password or "
                            "v3applicationcredential; or an auth_section that has it)"));
    EXPECT_THAT(problems(open + "auth_section = other\n[other]\npassword = hunter2\n"),
                ElementsAre(AllOf(HasSubstr("r.conf:5: [other] password is set but auth_type"),
                                  Not(HasSubstr("hunter2")))));
  }
  EXPECT_THAT(problems("[cyborg]\nregion_name = R\nvalid_interfaces = internal\n"), IsEmpty());
}

TEST(CyborgSettings, ABadValueNamesItsLine) {
  EXPECT_THAT(problems("[cyborg]\nvalid_interfaces = outer\n"),
              ElementsAre("r.conf:2: [cyborg] valid_interfaces: 'outer' is not one of: internal, "
                          "public, admin"));
  EXPECT_THAT(problems("[cyborg]\nendpoint_override = cyborg:6666\n"),
              ElementsAre(HasSubstr("'cyborg:6666' is not an http:// or https:// URL")));
  EXPECT_THAT(problems("[cyborg]\nkeyfile = /k\n"),
              ElementsAre("r.conf:2: [cyborg] keyfile needs certfile beside it"));
  EXPECT_THAT(problems("[cyborg]\ninsecure = perhaps\n"),
              ElementsAre(HasSubstr("'perhaps' is not a boolean")));
  EXPECT_THAT(problems("[cyborg]\ntimeout = 0\n"),
              ElementsAre(HasSubstr("'0' is not an integer from 1 to 600")));
  EXPECT_THAT(problems("[cyborg]\nlisten_rpc = 2\nserve_rpc = x\n"),
              ElementsAre(HasSubstr("[cyborg] listen_rpc: '2'"), HasSubstr("serve_rpc: 'x'")));
  EXPECT_THAT(problems("[cyborg]\nrpc_exchange =\nrpc_topic = a b\n"),
              ElementsAre(HasSubstr("r.conf:2: [cyborg] rpc_exchange: '' is not a usable name"),
                          HasSubstr("r.conf:3: [cyborg] rpc_topic: 'a b' is not a usable name")));
  EXPECT_THAT(problems("[cyborg]\nservice_typ = x\n"),
              ElementsAre(HasSubstr("did you mean 'service_type'?")));
  EXPECT_THAT(problems("[nvme]\nmanage_providers = maybe\n"),
              ElementsAre(HasSubstr("[nvme] manage_providers: 'maybe' is not a boolean")));
}

TEST(CyborgSettings, ServingImpliesListening) {
  const Settings s = build("[cyborg]\nserve_rpc = true\n").settings;
  EXPECT_TRUE(s.rpc.serve);
  EXPECT_TRUE(s.listen_rpc);
}

TEST(CyborgSettings, ItsRpcUsesTheBusOfTheServicesNotThatOfTheNotifications) {
  const auto checked = build(
      "[DEFAULT]\ntransport_url = rabbit://rpc/\n"
      "[oslo_messaging_notifications]\ntransport_url = rabbit://notes/\n");
  EXPECT_EQ(checked.settings.rabbit.url.hosts[0].host, "notes");
  EXPECT_EQ(checked.settings.rabbit.rpc_url.hosts[0].host, "rpc");
  EXPECT_EQ(
      build("[DEFAULT]\ntransport_url = rabbit://one/\n").settings.rabbit.rpc_url.hosts[0].host,
      "one");
  EXPECT_THAT(problems("[DEFAULT]\ntransport_url = kafka://x\n"
                       "[oslo_messaging_notifications]\ntransport_url = rabbit://notes/\n"),
              ElementsAre(HasSubstr("r.conf:2: [DEFAULT] transport_url")));
}

TEST(CyborgSettings, CyborgConfIsReadForHostBusDrivesAndWhitelist) {
  const auto checked = build(
      {service("[DEFAULT]\nhost = compute-7\ntransport_url = rabbit://n:x@mq/\n"
               "[agent]\nenabled_drivers = nvme_driver,pci_driver\n"
               "[nvme]\ndevice_spec = {\"vendor_id\": \"8086\", \"clear_action\": \"auto\"}\n"
               "[pci]\npassthrough_whitelist = {\"vendor_id\": \"10de\", \"managed\": \"no\"}\n"
               "[api]\nhost_ip = 0.0.0.0\n",
               "cyborg.conf")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  EXPECT_EQ(checked.settings.host, "compute-7");
  EXPECT_EQ(checked.settings.rabbit.url.hosts[0].host, "mq");
  ASSERT_EQ(checked.settings.device_specs.size(), 1U);
  EXPECT_TRUE(checked.settings.device_specs[0].service);
  EXPECT_EQ(to_string(checked.settings.device_specs[0].at), "cyborg.conf:7");
  ASSERT_EQ(checked.settings.passthrough_whitelist.size(), 1U);
  EXPECT_EQ(checked.settings.passthrough_whitelist[0].managed, false);
}

TEST(CyborgSettings, OurOwnEntriesComeBeforeCyborgs) {
  const auto checked =
      build({service("[nvme]\ndevice_spec = {\"vendor_id\": \"0001\"}\n"
                     "[pci]\npassthrough_whitelist = {\"vendor_id\": \"0003\"}\n"),
             own("[nvme]\ndevice_spec = {\"vendor_id\": \"0001\", \"verify\": \"full\"}\n"
                 "[pci]\npassthrough_whitelist = {\"vendor_id\": \"0004\"}\n")});
  EXPECT_THAT(texts(checked.problems), IsEmpty());
  ASSERT_EQ(checked.settings.device_specs.size(), 2U);
  EXPECT_EQ(checked.settings.device_specs[0].rules.verify, nvme::VerifyLevel::full);
  EXPECT_EQ(checked.settings.passthrough_whitelist[0].vendor_id, 4);
}

TEST(CyborgSettings, WhatIsWrongInCyborgConfNamesThatFile) {
  EXPECT_THAT(texts(build({service("[pci]\npassthrough_whitelist = {\"managed\": \"perhaps\"}\n"
                                   "[nvme]\ndevice_spec = {\"devname\": \"eth0\"}\n",
                                   "cyborg.conf")})
                        .problems),
              ElementsAre(HasSubstr("cyborg.conf:4: [nvme] device_spec: unknown key 'devname'"),
                          HasSubstr("cyborg.conf:2: [pci] passthrough_whitelist: 'managed' "
                                    "'perhaps' is not a boolean")));
  std::string many = "[pci]\n";
  for (std::size_t i = 0; i <= kDeviceSpecsMax; ++i) many += "passthrough_whitelist = {}\n";
  EXPECT_THAT(problems(many), ElementsAre(HasSubstr("more than 256 entries")));
}

TEST(CyborgSettings, TheAgentsDoorIsOffUnlessItHasASocket) {
  const Settings off = build("").settings;
  EXPECT_FALSE(off.conductor.agent_door);
  EXPECT_EQ(off.conductor.cyborg_owner, CyborgOwner::worker);
  EXPECT_EQ(off.agent_door.group, "cyborg");
  const auto on = build("[agent_door]\nsocket = /run/r/a.sock\n[cyborg]\nowner = agent\n");
  EXPECT_THAT(texts(on.problems), IsEmpty());
  EXPECT_TRUE(on.settings.conductor.agent_door);
  EXPECT_TRUE(on.settings.conductor.registers());
  EXPECT_EQ(on.settings.conductor.cyborg_owner, CyborgOwner::agent);
}

TEST(CyborgSettings, WhatStandsAgainstTheDoorIsTold) {
  const std::string door = "[agent_door]\nsocket = /run/r/a.sock\n";
  EXPECT_THAT(problems(door + "[nvme]\nmanage_providers = true\n"),
              ElementsAre(HasSubstr("r.conf:4: [nvme] manage_providers and [agent_door] socket")));
  EXPECT_THAT(problems(door + "[api]\nunix_socket = /run/r/a.sock\n"),
              ElementsAre(HasSubstr("[agent_door] socket is that of [api] unix_socket")));
  EXPECT_THAT(problems("[agent_door]\nsocket = /" + std::string(107, 'a') + "\n"),
              ElementsAre(HasSubstr("longer than 107 bytes")));
  EXPECT_THAT(problems("[agent_door]\nsocket = a.sock\n"),
              ElementsAre(HasSubstr("[agent_door] socket")));
  EXPECT_THAT(problems("[cyborg]\nowner = nova\n"), ElementsAre(HasSubstr("worker, agent")));
}

TEST(CyborgSettings, WithoutADoorWhatReclaimRegistersIsNotCyborgsToBind) {
  EXPECT_THAT(warnings("[nvme]\nmanage_providers = true\n"),
              Contains(HasSubstr("Cyborg cannot bind the drives that Reclaim registers")));
}

}  // namespace
}  // namespace reclaim::config
