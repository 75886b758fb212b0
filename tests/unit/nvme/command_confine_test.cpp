// What a clean step's command has no more, shown by commands that try to use it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "state/base/unique_fd.h"
#include "tests/unit/nvme/command_fixture.h"

namespace reclaim::nvme {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Not;

constexpr const char* kPython = "/usr/bin/python3";

struct ConfinedTest : CommandTest {
  std::vector<std::string> found_by(const std::string& path, bool network = false) {
    Command command;
    command.path = path;
    command.network = network;
    const auto report = run_command(
        command, options, [](const auto&) {}, stop, clock, log);
    EXPECT_TRUE(report.ok()) << error_of(report);
    std::vector<std::string> found;
    if (!report) return found;
    for (const StepFinding& finding : report->findings) found.push_back(finding.found);
    return found;
  }
};

struct Listener {
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), any, size), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    EXPECT_EQ(::getsockname(socket.get(), any, &size), 0);
    port = std::to_string(::ntohs(address.sin_port));
  }
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  std::string port;
};

// One finding each: what was tried, and how it ended.
constexpr const char* kTries = R"(
import ctypes, errno, json, os, socket
def attempt(what, function):
    try:
        function()
        ended = "done"
    except OSError as error:
        ended = errno.errorcode[error.errno]
    print(json.dumps({"finding": "%s: %s" % (what, ended)}))
)";

TEST_F(ConfinedTest, OpensNoConnectionButOnThisHost) {
  const std::string path = script(std::string(kTries) + R"(
for family in ("AF_INET", "AF_INET6", "AF_PACKET", "AF_VSOCK"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        attempt(family, lambda: socket.socket(getattr(socket, family), kind))
)",
                                  kPython);
  const auto found = found_by(path);
  EXPECT_EQ(found.size(), 12U);
  EXPECT_THAT(found, Each(EndsWith(": EAFNOSUPPORT")));
  const std::string local = script(std::string(kTries) + R"(
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("pair", socket.socketpair)
)",
                                   kPython);
  EXPECT_THAT(found_by(local), Each(EndsWith(": done")));
}

// Rings open sockets past socket(2), and so do the calls of another table.
TEST_F(ConfinedTest, FindsNoOtherWayToASocket) {
#if defined(__x86_64__)
  const std::string x32 = "(0x40000029, 2, 1, 0)";
#else
  const std::string x32 = "(425, 0, 0)";
#endif
  const std::string path = script(std::string(kTries) + R"(
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("ring", lambda: call(425, 1, ctypes.create_string_buffer(512)))
attempt("other table", lambda: call(*)" +
                                      x32 + R"())
)",
                                  kPython);
  EXPECT_THAT(found_by(path), Each(EndsWith(": ENOSYS")));
}

TEST_F(ConfinedTest, WithNetworkItConnects) {
  const Listener listener;
  const std::string path = script(std::string(kTries) +
                                      "attempt('connect', lambda: socket.create_connection("
                                      "('127.0.0.1', " +
                                      listener.port + ")))\n",
                                  kPython);
  EXPECT_THAT(found_by(path), Contains("connect: EAFNOSUPPORT"));
  EXPECT_EQ(::accept(listener.socket.get(), nullptr, nullptr), -1) << "somebody connected";
  EXPECT_THAT(found_by(path, true), Contains("connect: done"));
  const UniqueFd accepted(::accept(listener.socket.get(), nullptr, nullptr));
  EXPECT_TRUE(accepted.valid());
}

std::uint64_t capabilities(const std::string& file, const std::string& field) {
  std::ifstream status(file);
  std::string name;
  std::string value;
  while (status >> name >> value) {
    if (name == field) return std::stoull(value, nullptr, 16);
    std::getline(status, name);
  }
  return ~std::uint64_t{0};
}

TEST_F(ConfinedTest, KeepsTheCapabilitiesForDevicesAndFilesAlone) {
  std::uint64_t kept = 0;
  for (const int capability : {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
                               CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_IPC_LOCK,
                               CAP_SYS_RAWIO, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE}) {
    kept |= std::uint64_t{1} << static_cast<unsigned>(capability);
  }
  const std::uint64_t ours = capabilities("/proc/self/status", "CapPrm:");
  if ((ours & ~kept) == 0) GTEST_SKIP() << "this process has no other capability to lose";
  const std::string seen = (folder / "status").string();
  // By a program that it starts, which may not get back what it has not.
  EXPECT_THAT(found_by(script("/bin/sh -c 'cat /proc/self/status' > " + seen)), testing::IsEmpty());
  EXPECT_EQ(capabilities(seen, "CapPrm:"), ours & kept);
  EXPECT_EQ(capabilities(seen, "CapEff:"), ours & kept);
  EXPECT_EQ(capabilities(seen, "CapAmb:"), 0U);
  EXPECT_EQ(capabilities(seen, "NoNewPrivs:"), 1U);
}

TEST_F(ConfinedTest, MayNotDoWhatThisProcessMay) {
  const std::string path =
      script(std::string(kTries) + "attempt('chroot', lambda: os.chroot('/'))\n" +
                 "attempt('ptrace', lambda: os.open('/proc/" + std::to_string(::getpid()) +
                 "/mem', os.O_RDONLY))\n",
             kPython);
  const fs::path out = folder / "unconfined";
  ASSERT_EQ(std::system((path + " > " + out.string()).c_str()), 0);
  for (const std::string what : {"chroot", "ptrace"}) {
    if (content("unconfined").find(what + ": done") == std::string::npos) {
      GTEST_SKIP() << "this process itself may not: " << what;
    }
  }
  EXPECT_THAT(found_by(path), Each(Not(EndsWith(": done"))));
}

// The kernel forgets it where a process changes its credentials too far.
TEST_F(ConfinedTest, StillEndsWithTheThreadThatBeganIt) {
  const std::string path = script(R"(
import ctypes, json
signal = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(signal))
print(json.dumps({"finding": str(signal.value)}))
)",
                                  kPython);
  EXPECT_THAT(found_by(path), testing::ElementsAre(std::to_string(SIGKILL)));
}

}  // namespace
}  // namespace reclaim::nvme
