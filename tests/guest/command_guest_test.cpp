// A clean step's command where the worker runs it: as root in a bare guest, and (guest_units) under
// the restrictions of the shipped unit, which must leave a process the means to confine itself.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "nvme/command/run_command.h"
#include "tests/temp_folder.h"

namespace reclaim::guest {
namespace {

namespace fs = std::filesystem;

// The worker's own folder: of root alone, and writable under the unit.
fs::path state_folder() {
  const fs::path folder = "/var/lib/reclaim";
  fs::create_directories(folder);
  return folder;
}

std::uint64_t field(const std::string& file, const std::string& name, int base) {
  std::ifstream status(file);
  for (std::string word; status >> word;) {
    if (word == name && status >> word) return std::stoull(word, nullptr, base);
  }
  ADD_FAILURE() << name << " is not in " << file;
  return 0;
}

TEST(CommandGuestTest, IsRunWithLessThanTheWorkerHas) {
  const TempFolder folder{state_folder()};
  const std::string seen = folder / "seen";
  nvme::Command command;
  command.path = folder / "step";
  std::ofstream(command.path) << "#!/usr/bin/busybox sh\n/usr/bin/busybox cat /proc/self/status >"
                              << seen << "\n";
  fs::permissions(command.path, fs::perms::owner_all);
  nvme::StopFlag never;
  NullLogger quiet;
  const auto report = nvme::run_command(
      command, {}, [](const nvme::CommandProgress& /*now*/) {}, never, SystemClock(), quiet);
  ASSERT_TRUE(report.ok()) << report.error().what;
  const std::uint64_t ours = field("/proc/self/status", "CapPrm:", 16);
  const std::uint64_t its = field(seen, "CapPrm:", 16);
  constexpr std::uint64_t kPtrace = 1U << 19U;
  constexpr std::uint64_t kAdmin = 1U << 21U;
  EXPECT_EQ(ours & (kPtrace | kAdmin), kPtrace | kAdmin);
  EXPECT_EQ(its & (kPtrace | kAdmin), kAdmin);
  EXPECT_EQ(its & ~ours, 0U);
  EXPECT_EQ(field(seen, "Seccomp_filters:", 10),
            field("/proc/self/status", "Seccomp_filters:", 10) + 1);
}

}  // namespace
}  // namespace reclaim::guest
