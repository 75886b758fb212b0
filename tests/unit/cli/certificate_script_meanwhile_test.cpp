// What changes in a folder while the script verifies it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/cli/script_fixture.h"

namespace reclaim::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Who may write the copy puts another genuine entry under a name.
TEST_F(VerifyScript, TheScriptReadsAFileOnce) {
  const std::string other = state_path_ + "/other/";
  const CertificateChain chain(state_path_ + "/other", *SigningKey::load_or_create(key_path_));
  for (const int number : {4, 5, 3}) {
    ASSERT_TRUE(chain.keep(id_of(number), certificate_text(number)).ok());
  }
  keep(2);
  for (const std::string& name : {sealed_name(3, id_of(3)), std::string("head")}) {
    fs::copy_file(other + name, folder_ + "/" + name, fs::copy_options::overwrite_existing);
  }
  const std::string second = other + sealed_name(2, id_of(5));
  EXPECT_THAT(script_says(folder_, running("cp " + second + " " + path_of(2))),
              AllOf(HasSubstr("is not chained to the file before"), HasSubstr("refused")));
  EXPECT_EQ(content(path_of(2)), content(second)) << "it was put there";
}

TEST_F(VerifyScript, AChainMayGrowMeanwhile) {
  keep(3);
  const std::string before = state_path_ + "/before";
  fs::copy(folder_, before);
  keep(4);
  const std::string grown = state_path_ + "/grown";
  fs::rename(folder_, grown);
  const std::string head = "cp " + grown + "/head " + folder_;
  const std::string entry_and_head = "cp " + grown + "/* " + folder_;
  // Its next entry comes once the folder was listed, or its head alone does.
  fs::copy(before, folder_);
  EXPECT_THAT(script_says(folder_, running(entry_and_head)), HasSubstr("ok entries 1 to 3,"));
  fs::copy(before + "/head", folder_ + "/head", fs::copy_options::overwrite_existing);
  EXPECT_THAT(script_says(folder_, running(head)), HasSubstr("ok entries 1 to 4,"));
  // One that stays behind, goes back, or that named nothing here at first.
  fs::copy(before + "/head", folder_ + "/head", fs::copy_options::overwrite_existing);
  EXPECT_THAT(script_says(folder_), HasSubstr("does not name the newest"));
  fs::copy(grown + "/head", folder_ + "/head", fs::copy_options::overwrite_existing);
  EXPECT_THAT(script_says(folder_, running("cp " + before + "/head " + folder_)),
              HasSubstr("does not name the newest"));
  write(folder_ + "/head", std::string(64, '0') + "  " + sealed_name(3, id_of(3)) + "\n");
  EXPECT_THAT(script_says(folder_), HasSubstr("does not name the newest"));
}

}  // namespace
}  // namespace reclaim::cli
