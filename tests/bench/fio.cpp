#include "tests/bench/fio.h"

#include <fmt/core.h>
#include <sys/times.h>
#include <unistd.h>

#include "state/base/json.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kInFlight = 8;
constexpr std::size_t kReportBytesMax = 1U << 20U;

double processor_s_of_children() {
  tms spent{};
  ::times(&spent);
  return static_cast<double>(spent.tms_cutime + spent.tms_cstime) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string arguments(const std::vector<Target>& targets, FioEngine engine) {
  const std::uint64_t bytes = targets.front().bytes;
  std::string out =
      "fio --output-format=json --group_reporting --thread --rw=write --bs=1M --direct=1 "
      "--zero_buffers --end_fsync=1";
  if (engine == FioEngine::io_uring) {
    out += fmt::format(" --ioengine=io_uring --iodepth={} --fixedbufs --registerfiles --size={}",
                       kInFlight, bytes);
  } else {
    const std::uint64_t part = bytes / kInFlight;
    out += fmt::format(" --ioengine=psync --numjobs={} --size={} --offset_increment={}", kInFlight,
                       part, part);
  }
  for (const Target& target : targets) {
    out += fmt::format(" --name={0} --filename={0}", target.device);
  }
  return out;
}

}  // namespace

bool fio_is_installed() {
  return command("fio --version");
}

std::optional<FioRun> run_fio(const std::vector<Target>& targets, FioEngine engine) {
  const double before = processor_s_of_children();
  const auto report = printed(arguments(targets, engine) + " 2>/dev/null");
  if (!report) return std::nullopt;
  const auto document = json::parse(*report, kReportBytesMax);
  if (!document || !document->HasMember("jobs") || (*document)["jobs"].Empty()) return std::nullopt;
  const auto bytes_per_s = json::get_number((*document)["jobs"][0]["write"], "bw_bytes");
  if (!bytes_per_s) return std::nullopt;
  return FioRun{*bytes_per_s, processor_s_of_children() - before};
}

}  // namespace reclaim::nvme
