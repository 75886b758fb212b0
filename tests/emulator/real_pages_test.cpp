// A drive that is made from what a real one answered answers that again.
#include <fstream>

#include "tests/emulator/drive_fixture.h"
#include "tests/emulator/host/settings.h"
#include "tests/temp_folder.h"

namespace reclaim::emulator {
namespace {

class RealPagesTest : public DriveTest {
 protected:
  template <typename Page>
  Status give(const std::string& key, const Page& page) {
    const std::string path = (folder_.path() / key).string();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&page), sizeof(page));
    return apply_setting(state_, {key, path});
  }

  // Every byte is something, as vendors have it in reserved ones, too.
  template <typename Page>
  static Page filled() {
    Page page{};
    std::memset(&page, 0x35, sizeof(page));
    return page;
  }

  template <typename Page>
  static bool same(const Page& a, const Page& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
  }

  const TempFolder folder_;
};

TEST_F(RealPagesTest, IdentifyIsAnsweredAsItWas) {
  auto page = filled<nvme_id_ctrl>();
  std::memset(page.tnvmcap, 0, sizeof(page.tnvmcap));
  std::memset(page.unvmcap, 0, sizeof(page.unvmcap));
  const auto put = [](std::uint8_t(&field)[16], std::uint64_t value) {
    std::memcpy(field, &value, sizeof(value));
  };
  put(page.tnvmcap, 4 * kBytes);
  put(page.unvmcap, 3 * kBytes);
  ASSERT_TRUE(give("identify", page).ok());
  EXPECT_TRUE(same(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL), page));
  EXPECT_EQ(state_.capabilities.oacs, page.oacs);
  ASSERT_TRUE(apply_setting(state_, {"sanicap", "block"}).ok());
  EXPECT_EQ(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL).sanicap, 2U) << "what comes behind it";
}

TEST_F(RealPagesTest, ADriveThatTellsNoCapacityAndNoNameTellsNone) {
  auto page = filled<nvme_id_ctrl>();
  std::memset(page.tnvmcap, 0, sizeof(page.tnvmcap));
  std::memset(page.unvmcap, 0, sizeof(page.unvmcap));
  std::memset(page.subnqn, 0, sizeof(page.subnqn));
  ASSERT_TRUE(give("identify", page).ok());
  EXPECT_TRUE(same(identify<nvme_id_ctrl>(NVME_IDENTIFY_CNS_CTRL), page));
}

TEST_F(RealPagesTest, LogsAreAnsweredAsTheyWere) {
  auto smart = filled<nvme_smart_log>();
  const auto clear_upper = [](std::uint8_t(&field)[16]) { std::memset(field + 5, 0, 11); };
  for (auto* field : {&smart.data_units_read, &smart.data_units_written, &smart.host_reads,
                      &smart.host_writes, &smart.power_cycles, &smart.power_on_hours,
                      &smart.unsafe_shutdowns, &smart.media_errors, &smart.num_err_log_entries}) {
    clear_upper(*field);
  }
  ASSERT_TRUE(give("smart", smart).ok());
  EXPECT_TRUE(same(log<nvme_smart_log>(NVME_LOG_LID_SMART), smart));
  auto sanitize = filled<nvme_sanitize_log_page>();
  sanitize.sprog = 0xffff;
  sanitize.sstat = 0x101;
  ASSERT_TRUE(give("sanitize_log", sanitize).ok());
  EXPECT_TRUE(same(sanitize_log(), sanitize));
}

TEST_F(RealPagesTest, AFileOfAnotherLengthIsRefused) {
  const Status given = give("identify", std::array<char, 512>{});
  ASSERT_FALSE(given.ok());
  EXPECT_NE(given.error().what.find("a file of 4096 bytes; this one has 512"), std::string::npos)
      << given.error().what;
  EXPECT_FALSE(apply_setting(state_, {"smart", "/nowhere"}).ok());
}

}  // namespace
}  // namespace reclaim::emulator
