// A test on the drive HYBRID, which starts honest, with one namespace full of a tenant's data.
#pragma once

#include "tests/guest/drive_thread_fixture.h"
#include "tests/guest/hybrid/hybrid.h"

namespace reclaim::guest {

class HybridTest : public DriveThreadTest {
 protected:
  static constexpr const char* kImage = "hybrid1";
  static constexpr std::uint64_t kFull = 16U << 10U;  // tenant texts on a full medium

  HybridTest() : DriveThreadTest(kHybrid) {}
  void SetUp() override {
    DriveThreadTest::SetUp();
    with_controller([](int fd) { reset_hybrid(fd); });
    rescan();
    ASSERT_TRUE(wait_for_namespaces({1}));
    fill(node(kHybrid));
    ASSERT_EQ(kept(kImage), kFull);
  }

  void with_controller(const std::function<void(int)>& work) const {
    const UniqueFd fd(::open(controller_node(kHybrid).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    work(fd.get());
  }
  void rescan() const { ASSERT_EQ(run("nvme ns-rescan " + controller_node(kHybrid)), 0); }
  [[nodiscard]] bool wait_for_namespaces(const std::vector<std::uint32_t>& nsids) const {
    return eventually([&] {
      const auto drive = look(kHybrid);
      if (!drive.ok() || drive->namespaces.size() != nsids.size()) return false;
      for (std::size_t i = 0; i < nsids.size(); ++i) {
        const auto& ns = drive->namespaces[i];
        if (ns.nsid != nsids[i] || ::access(("/dev/" + ns.disk.name).c_str(), F_OK) != 0) {
          return false;
        }
      }
      return true;
    });
  }
  static void set_duration_ms(std::uint32_t duration_ms) {
    with_hybrid([&](auto& drive) { drive.sanitize.duration_ms = duration_ms; });
  }
  // nvme-cli on the hybrid: "create-ns NODE -s 1".
  [[nodiscard]] int nvme_cli(const std::string& verb, const std::string& rest = "") const {
    return run("LD_PRELOAD=/tests/libreclaim_hybrid.so nvme " + verb + " " +
               controller_node(kHybrid) + " " + rest);
  }
};

}  // namespace reclaim::guest
