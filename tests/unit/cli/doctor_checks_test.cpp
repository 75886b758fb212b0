// What `reclaim doctor` says of the device API's files and addresses, of claims, and of time.
#include "cli/doctor_checks.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "config/settings.h"
#include "state/base/unique_fd.h"
#include "tests/temp_folder.h"

namespace reclaim::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

config::Settings settings_of(const std::string& text) {
  config::CheckedSettings checked = config::build_settings(
      {{config::parse_ini(text, "r.conf"), false}}, "node-1", config::Purpose::tool);
  EXPECT_TRUE(checked.problems.empty()) << config::to_text(checked.problems);
  return std::move(checked.settings);
}

// "check result: detail", a line each.
std::vector<std::string> lines(const Chart& chart) {
  std::vector<std::string> out;
  for (const auto& row : chart.table().rows) {
    out.push_back(std::get<std::string>(row[0]) + " " + std::get<std::string>(row[1]) + ": " +
                  std::get<std::string>(row[2]));
  }
  return out;
}

std::vector<std::string> api(const std::string& text) {
  const config::Settings settings = settings_of("[api]\nauth = none\n" + text);
  NullLogger quiet;
  Session session(settings, quiet);
  Chart chart;
  check_api(session, chart);
  return lines(chart);
}

TEST(DoctorCompiledIn, IsNamedWithItsVersion) {
  const auto look = [](const std::string& what) {
    Chart chart;
    check_compiled_in(what, chart);
    return lines(chart);
  };
  EXPECT_THAT(look("node-llhttp 8.1.0"),
              ElementsAre("compiled in ok: node-llhttp 8.1.0: apt does not update it, a newer "
                          "package of Reclaim does"));
  EXPECT_THAT(look(""), IsEmpty());
}

TEST(DoctorRedisFunctions, SayHowRedisRunsOurLua) {
  const auto look = [](RedisLua lua) {
    Chart chart;
    check_redis_functions(lua, chart);
    return lines(chart);
  };
  EXPECT_THAT(look(RedisLua::functions), ElementsAre(HasSubstr("redis functions ok: those of ")));
  EXPECT_THAT(look(RedisLua::missing), ElementsAre(HasSubstr("redis functions error: ")));
  EXPECT_THAT(look(RedisLua::server_has_none), ElementsAre(HasSubstr("redis functions warning: ")));
}

TEST(DoctorRedisTls, WhatProtectsTheConnectionAndForHowLong) {
  RedisOptions redis;
  const WallMs now{1'700'000'000'000};
  const auto look = [&](const RedisTlsFacts& tls) {
    Chart chart;
    check_redis_tls(redis, tls, now, chart);
    return lines(chart);
  };
  constexpr std::int64_t kOneDayMs = 24LL * 3600 * 1000;
  const RedisTlsFacts good{"TLSv1.3", WallMs{now.ms + 15 * kOneDayMs}};
  EXPECT_THAT(look({}), IsEmpty());
  redis.tls.enabled = true;
  EXPECT_THAT(look({}), IsEmpty()) << "not connected: told elsewhere";
  EXPECT_THAT(look(good), ElementsAre("redis tls ok: TLSv1.3, verified by the authorities of this "
                                      "system; the server's certificate expires at "
                                      "2023-11-29T22:13:20.000Z"));
  redis.tls.ca_file = "/etc/ca.pem";
  EXPECT_THAT(
      look({"TLSv1.2", WallMs{now.ms + 13 * kOneDayMs}}),
      ElementsAre(HasSubstr("redis tls warning: TLSv1.2, verified by the authorities of "
                            "/etc/ca.pem; the server's certificate expires at 2023-11-27")));
  const auto own = [&](int days) {
    return look({"TLSv1.3", good.ends_at, WallMs{now.ms + days * kOneDayMs}});
  };
  EXPECT_THAT(own(15), ElementsAre(AllOf(HasSubstr("redis tls ok: "),
                                         HasSubstr(", this host's at 2023-11-29T22:13:20.000Z"))));
  EXPECT_THAT(own(13), ElementsAre(AllOf(HasSubstr("redis tls warning: "),
                                         HasSubstr(", this host's at 2023-11-27"))));
}

TEST(DoctorCluster, WhoHasTheSlotsAndWhoWouldTakeOver) {
  const auto map = [](std::uint16_t last, std::size_t replicas) {
    SlotMap of_two;
    EXPECT_TRUE(of_two.give(0, 99, {{"10.0.0.1", 7001}, 1}));
    EXPECT_TRUE(of_two.give(100, last, {{"10.0.0.2", 7002}, replicas}));
    return of_two;
  };
  const auto look = [](const std::vector<Result<SlotMap>>& told) {
    Chart chart;
    judge_cluster(told, chart);
    return lines(chart);
  };
  const Error away{Errc::unavailable, "cannot use Redis at n3"};
  const SlotMap good = map(16'383, 1);
  EXPECT_THAT(look({}), IsEmpty());
  EXPECT_THAT(look({away}), IsEmpty()) << "told elsewhere";
  EXPECT_THAT(look({good, good}),
              ElementsAre("redis cluster ok: 2 masters have all 16384 slots; replicas of each: 1"));
  EXPECT_THAT(look({good, away}),
              ElementsAre(AllOf(HasSubstr("redis cluster warning: 2 masters have all"),
                                HasSubstr("1 of 2 do not answer: cannot use Redis at n3"))));
  EXPECT_THAT(look({SlotMap{}, good}),
              ElementsAre(AllOf(HasSubstr("redis cluster warning: 2 masters have all"),
                                HasSubstr("1 of 2 do not answer: it knows of no slots"))));
  EXPECT_THAT(look({map(16'383, 0)}), ElementsAre(HasSubstr("replicas of each: 0 to 1; nobody "
                                                            "takes over from 10.0.0.2:7002")));
  EXPECT_THAT(look({good, map(16'383, 0)}), ElementsAre(HasSubstr("nodes do not agree")));
  EXPECT_THAT(look({map(16'381, 1)}),
              ElementsAre("redis cluster error: 2 masters; 2 of 16384 slots have none"));
}

TEST(DoctorUdev, RulesThatListNothingOrNotAllAreNoOk) {
  const TempFolder folder;
  const config::Settings settings =
      settings_of("[nvme]\ndevice_spec = {\"vendor_id\": \"144d\"}\n");
  nvme::DriveFacts ours;
  ours.address = *parse_pci_address("0000:c1:00.0");
  ours.vendor_id = 0x144d;
  ours.device_id = 0xa80a;
  nvme::DriveFacts other = ours;
  other.address = *parse_pci_address("0000:01:00.0");
  other.vendor_id = 0x8086;
  const auto look = [&](const std::string& rules) {
    if (!rules.empty()) std::ofstream(folder / "59-reclaim.rules") << rules;
    Chart chart;
    check_udev_rules(settings, {ours, other}, chart, {folder / "none", folder.path()});
    return lines(chart);
  };
  EXPECT_THAT(look(""), ElementsAre("udev rules warning: 59-reclaim.rules is installed nowhere"));
  EXPECT_THAT(look("#ENV{.RECLAIM_IDS}==\"*0x144d:0xa80a*\", ENV{RECLAIM_OWNED}=\"1\"\n"),
              ElementsAre(HasSubstr("lists no drive: its examples are comments")));
  EXPECT_THAT(look("ENV{.RECLAIM_ADDRESS}==\"*0000:c2:00.0*\", ENV{RECLAIM_OWNED}=\"1\"\n"),
              ElementsAre(HasSubstr("does not list 0000:c1:00.0")));
  EXPECT_THAT(look("ENV{.RECLAIM_IDS}==\"*0x144d:0xa80a*\", ENV{RECLAIM_OWNED}=\"1\"\n"),
              ElementsAre(HasSubstr("lists every drive of ours: 1")));
}

TEST(DoctorContainer, SaysWhatOfTheHostIsKeptFromIt) {
  const TempFolder folder;
  const std::string root = folder.path();
  std::filesystem::create_directories(root + "/proc/1/ns");
  nvme::Options options;
  options.proc_root = root + "/proc";
  options.sysfs_root = root;
  const auto look = [&](const char* pid_namespace) {
    std::filesystem::remove(root + "/proc/1/ns/pid");
    std::filesystem::create_symlink(pid_namespace, root + "/proc/1/ns/pid");
    Chart chart;
    check_container(options, chart);
    return lines(chart);
  };
  EXPECT_THAT(look("pid:[4026531836]"), ElementsAre(HasSubstr("processes ok: ")));
  EXPECT_THAT(look("pid:[4026532000]"), ElementsAre(HasSubstr("processes error: ")));
}

// A loopback port that somebody listens at, who never says a word.
class Taken final {
 public:
  Taken() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), raw, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), raw, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

const auto kNoOrderKey =
    HasSubstr("api orders warning: this node has no [security] order_key_file");

TEST(DoctorApi, SaysNothingOfAnApiThatIsOff) {
  EXPECT_THAT(api(""), IsEmpty());
}

TEST(DoctorApi, AnAddressThatIsFreeIsFine) {
  std::string address;
  {
    const Taken taken;
    address = taken.address();
  }
  EXPECT_THAT(api("bind = " + address + "\n"),
              ElementsAre("api address ok: " + address + " is free", kNoOrderKey));
}

TEST(DoctorApi, AnAddressThatSomebodyElseHasIsAnError) {
  const Taken taken;  // bound and not listening: asked who it is, it refuses
  EXPECT_THAT(api("bind = " + taken.address() + "\n"),
              ElementsAre("api address error: " + taken.address() + ": Address already in use",
                          kNoOrderKey));
}

TEST(DoctorApi, TheCertificateAndTheSocketsDirectoryMustBeAccessible) {
  EXPECT_THAT(
      api("unix_socket = /nonexistent/api.sock\n"),
      ElementsAre("api socket error: /nonexistent: No such file or directory", kNoOrderKey));
  EXPECT_THAT(api("unix_socket = /tmp/api.sock\ncert_file = /nonexistent\nkey_file = /dev/null\n"),
              ElementsAre("api cert_file error: /nonexistent: No such file or directory",
                          "api key_file ok: /dev/null can be read",
                          "api socket ok: /tmp is writable", kNoOrderKey));
}

TEST(DoctorApi, SaysWhoseOrdersItCanAuthenticate) {
  const TempFolder folder;
  const std::string path = folder / "order.key";
  const auto said = [&](const std::string& content) {
    std::ofstream(path) << content;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return api("unix_socket = /tmp/api.sock\n[security]\norder_key_file = " + path + "\n").back();
  };
  const std::string key(64, 'a');
  EXPECT_EQ(said(key + "\n"), "api orders ok: " + path + " is the master key");
  std::filesystem::remove(path);
  EXPECT_EQ(said("c1 " + key + "\n"), "api orders ok: " + path + " is the key of host c1");
  std::filesystem::remove(path);
  EXPECT_THAT(said("nonsense\n"), HasSubstr("api orders error: "));
}

TEST(DoctorWorker, MayMissThreeSurveysHoweverFarApart) {
  EXPECT_EQ(worker_silence_max_ms(settings_of("")), 200'000);
  EXPECT_EQ(worker_silence_max_ms(settings_of("[reclaim]\nsurvey_interval_s = 5\n")), 200'000);
  EXPECT_EQ(worker_silence_max_ms(settings_of("[reclaim]\nsurvey_interval_s = 600\n")), 1'800'000);
}

TEST(DoctorHearing, WarnsOfAWorkerThatHearsNothingOfWhatEnds) {
  static constexpr WallMs kNow{1'763'640'000'000};
  HostInfo worker;
  const auto said = [&worker] {
    Chart chart;
    check_bus_is_heard(worker, kNow, chart);
    return lines(chart);
  };
  EXPECT_THAT(said(), IsEmpty());
  worker.unheard_ends = 3;
  worker.unheard_since = WallMs{kNow.ms - 7'200'000};
  EXPECT_THAT(said(), ElementsAre(HasSubstr("notifications warning: surveys found 3 tenancies "
                                            "ended in the last 2h")));
  // One may get lost; and what ended just now may be heard of in a moment.
  worker.unheard_ends = 1;
  EXPECT_THAT(said(), IsEmpty());
  worker.unheard_ends = 3;
  worker.unheard_since = WallMs{kNow.ms - 60'000};
  EXPECT_THAT(said(), IsEmpty());
}

TEST(DoctorQueues, WarnsOfThoseThatNobodyReadsAndNobodyEmpties) {
  const auto said = [](const Result<std::vector<BusQueue>>& queues,
                       const std::vector<std::string>& drained = {}) {
    Chart chart;
    judge_queues(queues, drained, chart);
    EXPECT_FALSE(chart.failed());
    return lines(chart);
  };
  EXPECT_THAT(said(std::vector<BusQueue>{}),
              ElementsAre(HasSubstr("queues ok: Nova's notifier has declared none yet")));
  const std::vector<BusQueue> queues = {{"notifications.info", 340, 0},
                                        {"notifications.error", 0, 0},
                                        {"versioned_notifications.info", 349, 1}};
  EXPECT_THAT(said(queues), ElementsAre(HasSubstr("queues warning: nobody reads notifications.info "
                                                  "(340 messages, 0 consumers): each")));
  EXPECT_THAT(said(queues, {"notifications.info"}),
              ElementsAre(HasSubstr("queues ok: of Nova's notifier, none waits unread: "
                                    "notifications.info (340 messages, 0 consumers), "
                                    "notifications.error (0 messages")));
  EXPECT_THAT(said(Error{Errc::unavailable, "no answer"}),
              ElementsAre(HasSubstr("queues warning: not looked at: no answer")));
}

nvme::DriveFacts drive(std::uint64_t capacity_bytes) {
  nvme::DriveFacts facts;
  facts.address = PciAddress{0, 0xc1, 0, 0};
  facts.vendor_id = 0x144d;
  facts.device_id = 0xa80a;
  facts.identity.emplace();
  facts.identity->capabilities.oncs = 8;
  facts.namespaces.emplace_back().capacity_bytes = capacity_bytes;
  return facts;
}

TEST(DoctorTime, TheDriveThatMayTakeLongestIsNamed) {
  const config::Settings settings =
      settings_of("[nvme]\ndevice_spec = {\"clear_action\": \"zero\"}\n");
  Chart chart;
  check_cleaning_time(settings, {drive(1'000'000'000), drive(1'000'000'000'000)}, chart);
  EXPECT_THAT(
      lines(chart),
      ElementsAre("cleaning time ok: of 0000:c1:00.0, which may take longest, at most 10901 s: "
                  "900 cleanup_timeout, 10001 to zero 1000 GB"));
}

// A sysfs with no drive, at first.
class SmallSysfs final {
 public:
  SmallSysfs() { std::filesystem::create_directories(folder_ / kDevices); }
  [[nodiscard]] std::string path() const { return folder_.path(); }
  void add_drive() const {
    const std::string folder = folder_ / kDevices + "/0000:c1:00.0";
    std::filesystem::create_directories(folder);
    for (const auto& [name, text] :
         {std::pair("class", "0x010802"), {"vendor", "0x144d"}, {"device", "0xa80a"}}) {
      std::ofstream(folder + "/" + name) << text << '\n';
    }
  }

 private:
  static constexpr const char* kDevices = "bus/pci/devices";
  TempFolder folder_;
};

TEST(DoctorClaims, ADriveThatIsClaimedTwiceIsAnError) {
  const SmallSysfs tree;
  config::Settings settings = settings_of(
      "[nvme]\nmanage_providers = true\ndevice_spec = {\"vendor_id\": \"144d\"}\n"
      "device_spec = {\"product_id\": \"a80a\"}\n");
  settings.nvme.sysfs_root = tree.path();
  Chart none;
  check_claimants(settings, none);
  EXPECT_THAT(lines(none), ElementsAre("claims ok: no drive that is there is claimed twice"));
  tree.add_drive();
  Chart chart;
  check_claimants(settings, chart);
  EXPECT_THAT(lines(chart), ElementsAre(HasSubstr("claims error: InvalidConfiguration: ")));
  settings.nvme.sysfs_root = "/nowhere";
  Chart blind;
  check_claimants(settings, blind);
  EXPECT_THAT(lines(blind), ElementsAre(HasSubstr("claims error: ")));
}

// As today's Cyborg tells them: which deployable is of which device it does not say.
TEST(DoctorCyborg, CountsDevicesAndNotTheRowsThatStandForThem) {
  placement::CyborgView view;
  for (const char* uuid : {"d1", "d2", "d3", "", "", ""}) {
    view.devices.emplace_back().uuid = uuid;
  }
  EXPECT_EQ(count_devices(view), 3U);
}

CyborgReadings readings_of(const char* status, std::vector<std::string> consumers,
                           std::int64_t reserved) {
  CyborgReadings out;
  placement::CyborgDevice& device = out.before.devices.emplace_back();
  device.uuid = "d1";
  device.address = PciAddress{0, 0xc1, 0, 0};
  device.provider = "p1";
  device.status = status;
  Arq& arq = out.before.arqs.emplace_back();
  arq.uuid = "a1";
  arq.state = ArqState::bound;
  arq.address = device.address;
  arq.instance_uuid = "vm-1";
  out.after = out.before;
  placement::Inventory inventory;
  inventory.total = 1;
  inventory.reserved = reserved;
  out.providers["p1"] = {"p1", 1, {inventory}, std::move(consumers)};
  return out;
}

std::vector<std::string> bindings(const CyborgReadings& readings) {
  Chart chart;
  check_cyborg_bindings(readings, chart);
  return lines(chart);
}

TEST(DoctorBindings, AnArqThatIsBoundToWhatNobodyHasIsLeaked) {
  EXPECT_THAT(bindings(readings_of("enabled", {}, 1)),
              ElementsAre(HasSubstr("cyborg bindings warning: ARQ a1 of instance vm-1 is Bound")));
  EXPECT_THAT(bindings(readings_of("enabled", {"vm-1"}, 1)),
              ElementsAre("cyborg bindings ok: no ARQ is leaked, no switch went astray"));
  CyborgReadings ending = readings_of("enabled", {}, 1);
  ending.after.arqs.clear();  // its instance was being deleted meanwhile
  EXPECT_THAT(bindings(ending), ElementsAre(HasSubstr(" ok: ")));
  CyborgReadings unread = readings_of("enabled", {}, 1);
  unread.providers.clear();
  EXPECT_THAT(bindings(unread), ElementsAre(HasSubstr(" ok: ")));
}

TEST(DoctorBindings, ADisabledDeviceThatIsOfferedIsTold) {
  EXPECT_THAT(bindings(readings_of("maintaining", {"vm-1"}, 0)),
              ElementsAre(HasSubstr("warning: device d1 is maintaining, and its provider p1")));
  EXPECT_THAT(bindings(readings_of("maintaining", {"vm-1"}, 1)), ElementsAre(HasSubstr(" ok: ")));
  CyborgReadings unknown = readings_of("maintaining", {"vm-1"}, 0);
  unknown.before.devices.front().uuid.clear();  // Cyborg does not tell whose status it is
  EXPECT_THAT(bindings(unknown), ElementsAre(HasSubstr(" ok: ")));
}

TEST(DoctorCyborg, WarnsOfDrivesOfCyborgsThatNobodyIsHeardOf) {
  placement::ProviderRow row;
  row.name = "node-1_0000:c1:00.0";
  row.owner_cyborg = true;
  const auto heard = [&](const std::string& rest, std::vector<nvme::DriveFacts> drives) {
    Chart chart;
    check_cyborg_is_heard(settings_of("[nvme]\ndevice_spec = {}\n" + rest), {row}, drives, chart);
    return lines(chart);
  };
  EXPECT_THAT(heard("[reclaim]\nsurvey_interval_s = 45\n", {drive(1)}),
              ElementsAre("cyborg flow warning: 1 drive of Cyborg's, and neither its notifications "
                          "are heard nor its REST API is asked: a binding is seen by Nova's "
                          "events, or else within 45 s"));
  EXPECT_THAT(heard("[listener]\nexchanges = nova,cyborg\n", {drive(1)}),
              ElementsAre(HasSubstr("cyborg flow ok: 1 drive of Cyborg's; bindings are known by "
                                    "notifications")));
  EXPECT_THAT(heard("", {}), IsEmpty());
  row.owner_cyborg = false;
  EXPECT_THAT(heard("", {drive(1)}), IsEmpty());
}

}  // namespace
}  // namespace reclaim::cli
