// How doctor gets inside the restrictions of the worker's unit: what it takes from the unit, the
// command that it runs, and what it takes over of the answer.
#include "cli/doctor_unit.h"
#include "tests/source_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace reclaim::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DoctorUnit, TakesWhatRestrictsInTheOrderOfTheDropIns) {
  const auto options = sandbox_options(
      "# /lib/systemd/system/reclaim.service\n[Unit]\nDescription=x\nProtectSystem=no\n"
      "[Service]\nType=notify\nExecStart=/usr/bin/reclaim serve $RECLAIM_OPTIONS\n"
      "# ProtectHome=no\n;ProtectHome=no\n  UMask = 0077 \nRestart=always\nRestartSec=5\n"
      "SystemCallFilter=@system-service \\\n# between them\n   ~@mount\nAmbientCapabilities=\n"
      "[Install]\nWantedBy=multi-user.target\n\n"
      "# /etc/systemd/system/reclaim.service.d/override.conf\n[Service]\n"
      "ReadWritePaths=/srv/certificates");
  ASSERT_TRUE(options);
  EXPECT_THAT(*options, ElementsAre("--property=UMask=0077",
                                    "--property=SystemCallFilter=@system-service ~@mount",
                                    "--property=AmbientCapabilities=",
                                    "--property=ReadWritePaths=/srv/certificates"));
}

TEST(DoctorUnit, NeverTakesTheRunDirectoryAwayFromTheWorker) {
  const auto options = sandbox_options(
      "[Service]\nRuntimeDirectory=reclaim\nRuntimeDirectoryPreserve=no\nStateDirectory=reclaim\n");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->back(), "--property=RuntimeDirectoryPreserve=yes");
  const auto without = sandbox_options("[Service]\nStateDirectory=reclaim\n");
  ASSERT_TRUE(without);
  EXPECT_THAT(*without, ElementsAre("--property=StateDirectory=reclaim"));
}

TEST(DoctorUnit, RefusesWhatItCannotPassOn) {
  const auto options = sandbox_options("[Service]\nReadWritePaths=/srv/%n\n");
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().what, HasSubstr("ReadWritePaths=/srv/%n"));
  EXPECT_TRUE(sandbox_options("[Service]\nExecStartPre=/bin/echo %n\n"));
}

// What the unit that ships has has to arrive, by name.
TEST(DoctorUnit, TakesAllThatTheShippedUnitRestricts) {
  std::ifstream file(source_path("config/reclaim.service"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto options = sandbox_options(text);
  ASSERT_TRUE(options);
  for (const char* each : {"EnvironmentFile=-/etc/default/reclaim",
                           "StateDirectory=reclaim",
                           "StateDirectoryMode=0700",
                           "RuntimeDirectory=reclaim",
                           "LogsDirectory=reclaim",
                           "UMask=0077",
                           "LimitCORE=0",
                           "DevicePolicy=closed",
                           "DeviceAllow=char-nvme rw",
                           "DeviceAllow=block-blkext rw",
                           "DeviceAllow=char-vfio rw",
                           "CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_DAC_OVERRIDE",
                           "NoNewPrivileges=yes",
                           "ProtectSystem=strict",
                           "ReadOnlyPaths=-/proc/sys -/proc/sysrq-trigger",
                           "ReadWritePaths=-/var/lib/prometheus/node-exporter",
                           "ProtectHome=yes",
                           "PrivateTmp=yes",
                           "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
                           "RestrictNamespaces=yes",
                           "LockPersonality=yes",
                           "MemoryDenyWriteExecute=yes",
                           "SystemCallArchitectures=native",
                           "SystemCallFilter=@system-service",
                           "SystemCallErrorNumber=EPERM"}) {
    EXPECT_THAT(*options, Contains(std::string("--property=") + each));
  }
  for (const char* other : {"Exec", "Type", "Restart", "Watchdog", "Timeout", "Notify", "Kill"}) {
    EXPECT_THAT(*options, Not(Contains(StartsWith(std::string("--property=") + other))));
  }
}

TEST(DoctorUnit, RunsDoctorThereWithTheSameFiles) {
  config::LoadRequest request;
  request.config_files = {"here.conf"};
  request.service_configs = {"/etc/nova/nova.conf"};
  const auto words = doctor_in_unit({"--property=UMask=0077"}, "/usr/bin/reclaim", request);
  EXPECT_EQ(words.front(), "systemd-run");
  EXPECT_THAT(words, IsSupersetOf({"--wait", "--pipe", "--collect", "--service-type=exec"}));
  const auto program = std::find(words.begin(), words.end(), "--");
  ASSERT_NE(program, words.end());
  EXPECT_EQ(*(program - 1), "--property=UMask=0077");
  EXPECT_THAT(std::vector<std::string>(program + 1, words.end()),
              ElementsAre("/usr/bin/reclaim", "--config-file",
                          std::filesystem::absolute("here.conf").string(), "--service-config",
                          "/etc/nova/nova.conf", "doctor", "--inside-unit", "-f", "json"));
}

TEST(DoctorUnit, TakesOverTheRowsOfTheOtherOrNone) {
  Chart inside(kInUnit);
  inside.ok("redis", "connected");
  inside.error("metrics textfile", "/srv: Read-only file system", "systemctl edit reclaim");
  const auto printed = format_list(inside.table(), {Format::json, {}});
  ASSERT_TRUE(printed);
  Chart chart;
  EXPECT_TRUE(take_rows(*printed, chart));
  EXPECT_EQ(chart.table().rows, inside.table().rows);
  EXPECT_EQ(chart.table().rows[1].back(), Cell("in the unit"));
  EXPECT_TRUE(chart.failed());

  Chart none;
  for (const char* wrong : {"", "reclaim: no such file", "{}", "[1]", R"([{"Check": "redis"}])"}) {
    EXPECT_FALSE(take_rows(wrong, none)) << wrong;
  }
  EXPECT_THAT(none.table().rows, IsEmpty());
  EXPECT_FALSE(none.failed());
}

}  // namespace
}  // namespace reclaim::cli
