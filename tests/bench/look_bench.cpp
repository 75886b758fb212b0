// What a look at the drives of a host takes, beside libvirt's domains and other processes, and the
// guards of one claim. The drives are on vfio-pci in a tree of files; the processes are real. Run
// by root. The arguments are domains and processes. `survey_nvme`: drives on nvme, each in a slot;
// none can be opened, so that it is what sysfs takes.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "nvme/host/discovery.h"
#include "tests/unit/nvme/host_tree.h"

namespace reclaim::nvme {
namespace {

constexpr int kDrives = 8;
constexpr int kDescriptors = 16;  // of each process

class BusyHost final {
 public:
  BusyHost(std::int64_t domains, std::int64_t processes) {
    for (int i = 0; i < kDrives; ++i) add_drive(i);
    for (std::int64_t i = 0; i < domains; ++i) add_domain(i);
    for (std::int64_t i = 0; i < processes; ++i) add_process();
  }
  ~BusyHost() {
    for (const pid_t pid : processes_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  BusyHost(const BusyHost&) = delete;
  BusyHost& operator=(const BusyHost&) = delete;

  [[nodiscard]] const HostTree& tree() const { return tree_; }

 private:
  void add_drive(int index) const {
    const std::string address = fmt::format("0000:d{:x}:00.0", index);
    const std::string folder = "sys/devices/pci0000:d0/" + address;
    tree_.link("sys/bus/pci/devices/" + address, tree_.root / folder);
    tree_.write(folder + "/class", "0x010802\n");
    tree_.write(folder + "/vendor", "0x144d\n");
    tree_.write(folder + "/device", "0xa824\n");
    tree_.write(folder + "/sriov_numvfs", "0\n");
    tree_.link(folder + "/driver", tree_.root / "sys/bus/pci/drivers/vfio-pci");
    tree_.link(folder + "/iommu_group",
               tree_.root / fmt::format("sys/kernel/iommu_groups/{}", 1000 + index));
  }
  // With disks, interfaces and a device of its own, as Nova defines one.
  void add_domain(std::int64_t index) const {
    std::string devices;
    for (int i = 0; i < 8; ++i) {
      devices += fmt::format(
          "<disk type='block' device='disk'><driver name='qemu' type='raw' cache='none'/>"
          "<source dev='/dev/vg/volume-{0}-{1}'/><target dev='vd{1}' bus='virtio'/>"
          "<address type='pci' domain='0x0000' bus='0x0{1}' slot='0x00' function='0x0'/></disk>",
          index, i);
    }
    tree_.write(
        fmt::format("etc/libvirt/qemu/instance-{:08x}.xml", index),
        fmt::format("<domain type='kvm'><name>instance-{0:08x}</name><devices>{1}<hostdev "
                    "mode='subsystem' type='pci' managed='yes'><source><address domain='0x0001' "
                    "bus='0x{2:02x}' slot='0x00' function='0x0'/></source></hostdev></devices>"
                    "</domain>",
                    index, devices, index % 256));
  }
  void add_process() {
    const pid_t pid = ::fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      for (int i = 0; i < kDescriptors; ++i) (void)::open("/dev/null", O_RDONLY | O_CLOEXEC);
      for (;;) ::pause();
    }
    processes_.push_back(pid);
    tree_.link(fmt::format("proc/{}", pid), fmt::format("/proc/{}", pid));
  }

  HostTree tree_;
  std::vector<pid_t> processes_;
};

void survey(benchmark::State& state) {
  const BusyHost host(state.range(0), state.range(1));
  const SystemClock clock;
  StopFlag stop;
  Discovery discovery(host.tree().options, clock, nullptr);
  for (auto _ : state) {
    const auto found = discovery.look({}, {}, stop);
    CHECK(found.ok() && found->size() > kDrives);
  }
}

void survey_nvme(benchmark::State& state) {
  const HostTree tree;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const std::string slot = fmt::format("0000:{:02x}:00", 0x10 + i);
    const std::string function = fmt::format("sys/devices/pci0000:00/{}.0", slot);
    const std::string controller = fmt::format("{}/nvme/nvme{}", function, 10 + i);
    tree.link(fmt::format("sys/bus/pci/devices/{}.0", slot), tree.root / function);
    tree.write(fmt::format("sys/bus/pci/slots/{}/address", i), slot + "\n");
    tree.write(function + "/class", "0x010802\n");
    tree.write(function + "/vendor", "0x144d\n");
    tree.write(function + "/device", "0xa824\n");
    tree.link(function + "/driver", tree.root / "sys/bus/pci/drivers/nvme");
    tree.write(controller + "/dev", fmt::format("238:{}\n", 10 + i));
    tree.write(controller + "/state", "live\n");
    tree.write(controller + "/serial", fmt::format("S{}\n", i));
    tree.write(controller + "/subsysnqn", fmt::format("nqn.2014-08.org.example:{}\n", i));
    tree.link(fmt::format("sys/class/nvme/nvme{}", 10 + i), tree.root / controller);
    const std::string disk = fmt::format("{}/nvme{}n1", controller, 10 + i);
    tree.block(disk, fmt::format("259:{}", 10 + i), "7501476528");
    tree.write(disk + "/nsid", "1\n");
  }
  const SystemClock clock;
  StopFlag stop;
  Discovery discovery(tree.options, clock, nullptr);
  for (auto _ : state) {
    const auto found = discovery.look({}, {}, stop);
    CHECK(found.ok() && static_cast<std::int64_t>(found->size()) > state.range(0));
  }
}

void claim(benchmark::State& state) {
  const BusyHost host(state.range(0), state.range(1));
  const auto drive = host.tree().read();
  CHECK(drive.ok());
  for (auto _ : state) {
    const GuardContext context{host.tree().options, host.tree().request, *drive};
    benchmark::DoNotOptimize(look_at(guards_before_command(), context, true));
  }
}

void arguments(benchmark::internal::Benchmark* bench) {
  bench->Args({0, 0})->Args({100, 0})->Args({0, 1000})->Args({100, 1000});
  bench->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(survey)->Apply(arguments);
BENCHMARK(survey_nvme)->Arg(1)->Arg(24)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(claim)->Apply(arguments);

}  // namespace
}  // namespace reclaim::nvme

BENCHMARK_MAIN();
