// Operators' commands as real child processes: what they are told, how they end, and that nothing
// of them is left.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nvme/command/cgroup.h"
#include "nvme/command/file.h"
#include "state/base/unique_fd.h"
#include "tests/temp_folder.h"
#include "tests/unit/nvme/command_fixture.h"

namespace reclaim::nvme {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CommandTest, TellsProgressFindingsAndResult) {
  const auto report = run(
      script("read line; echo \"$line\" > " + (folder / "told").string() +
             "; echo '{\"progress\": 0.5, \"message\": \"half\"}'; echo '{\"finding\": \"fine\"}'; "
             "echo a word >&2; echo '{\"result\": \"done\"}'"));
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_THAT(progress, ElementsAre("half"));
  EXPECT_EQ(report->result, "done");
  EXPECT_EQ(report->findings.at(0).found, "fine");
  EXPECT_EQ(report->sha256.size(), 64U);
  EXPECT_EQ(content("told"), input + "\n");
  EXPECT_THAT(log.lines, Contains(HasSubstr("a word")));
}

// As a command is run that is no clean step.
TEST_F(CommandTest, ASilentOneGetsItsArgumentAndIsLogged) {
  Command command;
  command.silent = true;
  command.argument = "/a path; $(touch x)";
  command.path = script("echo \"got $# $1\"; cat; echo not json; echo oops >&2; exit $(test -e " +
                        (folder / "bad").string() + " && echo 4 || echo 0)");
  const auto ignore = [](const CommandProgress& /*now*/) {};
  const auto report = run_command(command, options, ignore, stop, clock, log);
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_THAT(log.lines, AllOf(Contains(HasSubstr("got 1 /a path; $(touch x)")),
                               Contains(HasSubstr("not json")), Contains(HasSubstr("oops"))));
  std::ofstream(folder / "bad") << "x";
  EXPECT_EQ(error_of(run_command(command, options, ignore, stop, clock, log)),
            "failed: oops (exit status 4)");
}

TEST_F(CommandTest, InPythonAndWithoutAWordIsDoneToo) {
  const auto report = run(script("import json, sys\nassert json.load(sys.stdin)['protocol'] == 1\n",
                                 "/usr/bin/python3"));
  EXPECT_TRUE(report.ok()) << error_of(report);
}

TEST_F(CommandTest, ItsExitStatusDecides) {
  EXPECT_EQ(error_of(run(script("echo '{\"result\": \"image too old\"}'; exit 3"))),
            "failed: image too old (exit status 3)");
  EXPECT_EQ(error_of(run(script("echo nothing to see >&2; exit 1"))),
            "failed: nothing to see (exit status 1)");
  EXPECT_EQ(error_of(run(script("echo '{\"progress\":0,\"message\":\"in use\"}'; exit 75"))),
            "busy: in use (exit status 75)");
  EXPECT_THAT(error_of(run(script("kill -SEGV $$"))), HasSubstr("failed: killed by signal 11"));
  EXPECT_THAT(error_of(run(script("echo hello"))),
              HasSubstr("failed: wrote what is not the protocol: 'hello'"));
}

TEST_F(CommandTest, OneThatHangsIsKilledWithAllItStarted) {
  const std::string note = "echo $! > " + (folder / "pid").string();
  const std::string hangs =
      script("trap '' TERM; sleep 1000 & " + note + "; while true; do sleep 1000; done");
  // On a slow machine it may be killed before it has noted anything: it is given more time.
  for (std::int64_t seconds = 1; content("pid").empty(); seconds *= 10) {
    EXPECT_EQ(error_of(run(hangs, "", 1'000 * seconds)),
              "failed: no end after " + std::to_string(seconds) + " s: killed");
  }
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(CommandTest, AStopEndsIt) {
  on_progress = [this] { stop.request(); };
  const auto report = run(script("echo '{\"progress\": 0}'; echo $$ > " +
                                 (folder / "pid").string() + "; exec sleep 1000"));
  EXPECT_EQ(error_of(report), "cancelled: stopped while it ran");
}

TEST_F(CommandTest, AProcessItLeavesBehindHoldsNobodyUp) {
  const auto report = run(script("sleep 1000 & echo $! > " + (folder / "pid").string() +
                                 "; echo '{\"result\": \"done\"}'"));
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_EQ(report->result, "done");
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(CommandTest, OneThatLeftItsGroupIsKilledByItsCgroup) {
  const fs::path root =
      fs::is_directory("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
  options.cgroup = (root / ("reclaim-test-" + std::to_string(::getpid()))).string();
  if (::mkdir(options.cgroup.c_str(), 0755) != 0 || !fs::exists(options.cgroup + "/cgroup.kill")) {
    (void)::rmdir(options.cgroup.c_str());
    GTEST_SKIP() << "no cgroup v2 that can be written at " << root;
  }
  const auto report = run(script("setsid sleep 1000 & echo $! > " + (folder / "pid").string()));
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_TRUE(is_gone("pid"));
  EXPECT_EQ(::rmdir(options.cgroup.c_str()), 0) << "a cgroup of a step is left";
}

TEST_F(CommandTest, OwnCgroupIsWhereTheKernelSays) {
  fs::create_directories(folder / "self");
  fs::create_directories(folder / "cg/system.slice/reclaim.service");
  std::ofstream(folder / "cg/system.slice/reclaim.service/cgroup.procs") << "";
  const auto write = [this](const std::string& name, const std::string& text) {
    std::ofstream(folder / "self" / name) << text;
  };
  write("cgroup", "4:memory:/x\n0::/system.slice/reclaim.service\n");
  EXPECT_EQ(own_cgroup(folder.string()), "") << "no cgroup2 is mounted";
  write("mounts",
        "tmpfs /x tmpfs rw 0 0\ncgroup2 " + (folder / "cg").string() + " cgroup2 rw 0 0\n");
  EXPECT_EQ(own_cgroup(folder.string()), (folder / "cg/system.slice/reclaim.service").string());
  fs::remove(folder / "cg/system.slice/reclaim.service/cgroup.procs");
  EXPECT_EQ(own_cgroup(folder.string()), "");
}

TEST_F(CommandTest, FindsACleanPlace) {
  const UniqueFd open(::open("/dev/null", O_RDONLY));  // inherited but for our care
  ASSERT_EQ(::setenv("SECRET", "x", 1), 0);
  const auto report =
      run(script("(ls -l /proc/self/fd; env; pwd; umask; grep -E "
                 "'NoNewPrivs|SigBlk|SigIgn' /proc/self/status; ulimit -c) > " +
                 (folder / "place").string()));
  ASSERT_TRUE(report.ok()) << error_of(report);
  const std::string place = content("place");
  EXPECT_THAT(place, AllOf(HasSubstr("\nPATH=/usr/local/sbin"), HasSubstr("LANG=C.UTF-8"),
                           Not(HasSubstr("SECRET")), HasSubstr("\n/\n0077\n"),
                           HasSubstr("NoNewPrivs:\t1")));
  EXPECT_THAT(place, Not(HasSubstr("/dev/null")));
  EXPECT_THAT(place, HasSubstr("SigBlk:\t0000000000000000"));
}

TEST_F(CommandTest, MuchInputAndMuchErrorHoldNobodyUp) {
  input = "{\"a\":\"" + std::string(1'000'000, 'x') + "\"}";
  EXPECT_TRUE(run(script("exit 0")).ok()) << "one that does not read";
  EXPECT_TRUE(run(script("exec <&-; exit 0")).ok());
  options.errors_bytes_max = 1'000;
  const auto report =
      run(script("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done"));
  ASSERT_TRUE(report.ok()) << error_of(report);
  EXPECT_THAT(log.lines.back(), HasSubstr("wrote more, which is not logged"));
  EXPECT_LT(log.lines.size(), 200U);
}

TEST_F(CommandTest, EndlessOutputIsGarbage) {
  options.output_bytes_max = 100'000;
  EXPECT_THAT(error_of(run(script("while true; do echo '{\"progress\": 0}'; done"))),
              HasSubstr("failed: wrote more than 100000 bytes"));
  EXPECT_THAT(error_of(run(script("exec cat /dev/zero"))), HasSubstr("a line has at most"));
}

TEST_F(CommandTest, AChangedCommandIsNotRun) {
  const std::string path = script("echo ran > " + (folder / "ran").string());
  const auto digest = digest_of_command(options, path);
  ASSERT_TRUE(digest.ok());
  EXPECT_TRUE(run(path, *digest).ok());
  fs::remove(folder / "ran");
  std::ofstream(path, std::ios::app) << "# changed\n";
  EXPECT_THAT(error_of(run(path, *digest)), HasSubstr("busy: command " + path + " is not the one"));
  EXPECT_FALSE(fs::exists(folder / "ran"));
}

TEST_F(CommandTest, WhatOthersCouldHaveWrittenIsRefused) {
  const std::string path = script("exit 0");
  const auto refusal = [&](const std::string& of) {
    const auto digest = digest_of_command(options, of);
    return digest ? "accepted" : digest.error().what;
  };
  EXPECT_EQ(refusal(path).substr(0, 8), "accepted");
  fs::permissions(path, fs::perms(0770));
  EXPECT_THAT(refusal(path),
              AllOf(HasSubstr("(mode 770)"), HasSubstr("`chmod go-w " + path + "`")));
  fs::permissions(path, fs::perms(0600));
  EXPECT_THAT(refusal(path), HasSubstr("is not executable: `chmod u+x"));
  fs::permissions(path, fs::perms(0700));
  fs::permissions(folder, fs::perms(0777));
  EXPECT_THAT(refusal(path), HasSubstr("`chmod go-w " + folder.string() + "`"));
  fs::permissions(folder, fs::perms(0700));
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_THAT(refusal(path), HasSubstr("belongs to user 65534"));
  EXPECT_THAT(refusal(folder.string()), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal((folder / "gone").string()), HasSubstr("No such file or directory"));
  // A link counts as what it leads to.
  const TempFolder others{"/tmp"};
  const fs::path open = others / "step";
  std::ofstream(open) << "#!/bin/sh\n";
  fs::permissions(open, fs::perms(0700));
  fs::create_symlink(open, folder / "link");
  EXPECT_THAT(refusal((folder / "link").string()), HasSubstr("`chmod go-w /tmp`"));
}

TEST_F(CommandTest, WithoutAnInterpreterItCannotBeRun) {
  EXPECT_THAT(error_of(run(script("", "/no/such/interpreter"))),
              HasSubstr("cannot be run: No such file or directory; does its first line"));
}

TEST_F(CommandTest, AreAGuardOfAClaim) {
  const std::string good = script("exit 0");
  std::vector<GuardFinding> findings;
  const auto digests = digests_of_commands(options, {good}, findings);
  ASSERT_TRUE(digests.ok());
  EXPECT_EQ(digests->at(good).size(), 64U);
  EXPECT_TRUE(findings.at(0).passed);
  const auto refused = digests_of_commands(options, {good, "/no/such"}, findings);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_THAT(refused.error().what, HasSubstr("step_command: command /no/such: "));
}

}  // namespace
}  // namespace reclaim::nvme
