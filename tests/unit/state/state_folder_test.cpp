// Whose state_path it is: a copied disk has neither a ledger to believe nor a key to sign with.
#include "state/certificate/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/temp_folder.h"

namespace reclaim {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const FolderOwner kUs{"b2", "compute-2"};
const FolderOwner kCopied{"a1", "compute-1"};

class StateFolder : public ::testing::Test {
 protected:
  StateFolder() {
    write("ledger", "its ledger");
    write("certificate.key", "its key");
    fs::create_directory(at("certificates"));
    write("certificates/1.json", "its proof");
  }

  std::string at(const std::string& name) const { return folder_.path().string() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(at(name)).rdbuf();
    return text.str();
  }
  void own(const FolderOwner& owner) const {
    const auto owned = own_state_folder(folder_.path(), owner);
    ASSERT_TRUE(owned.ok()) << owned.error().what;
    EXPECT_EQ(*owned, std::nullopt);
  }

  const TempFolder folder_;
};

TEST_F(StateFolder, OfAnOlderVersionIsTakenOnceAndKept) {
  own(kUs);
  EXPECT_EQ(read("machine"), "b2 compute-2\n");
  own(kUs);
  EXPECT_EQ(read("ledger"), "its ledger");
  EXPECT_TRUE(check_state_folder(folder_.path(), kUs).ok());
}

TEST_F(StateFolder, OfACopiedMachineIsPutAsideWhole) {
  own(kCopied);
  write("ledger.lock", "");
  write("firmware.bin", "an operator's");
  EXPECT_EQ(check_state_folder(folder_.path(), kUs).error().code, Errc::refused);
  EXPECT_EQ(read("ledger"), "its ledger") << "a look changes nothing";
  const auto told = own_state_folder(folder_.path(), kUs);
  ASSERT_TRUE(told.ok()) << told.error().what;
  ASSERT_TRUE(told->has_value());
  EXPECT_THAT(**told,
              AllOf(HasSubstr("is a copy of compute-1's (machine-id a1)"),
                    HasSubstr("into " + at("other-machine-a1")), HasSubstr("starts with nothing"),
                    HasSubstr("move them back, remove " + at("machine"))));
  EXPECT_FALSE(fs::exists(at("ledger")));
  EXPECT_FALSE(fs::exists(at("certificate.key")));
  EXPECT_FALSE(fs::exists(at("certificates")));
  EXPECT_TRUE(fs::exists(at("ledger.lock"))) << "it is held";
  EXPECT_EQ(read("firmware.bin"), "an operator's");
  EXPECT_EQ(read("other-machine-a1/ledger"), "its ledger");
  EXPECT_EQ(read("other-machine-a1/certificate.key"), "its key");
  EXPECT_EQ(read("other-machine-a1/certificates/1.json"), "its proof");
  EXPECT_EQ(read("other-machine-a1/machine"), "a1 compute-1\n");
  EXPECT_EQ(read("machine"), "b2 compute-2\n");
  own(kUs);
}

TEST_F(StateFolder, OfTheSameHostNameIsAnOperatorsToDecide) {
  own({"a1", "compute-2"});
  for (int start = 0; start < 2; ++start) {
    const auto refused = own_state_folder(folder_.path(), kUs);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_THAT(refused.error().what,
                AllOf(HasSubstr("machine-id a1"), HasSubstr("this one has b2"),
                      HasSubstr("remove " + at("machine")), HasSubstr("/etc/machine-id"),
                      HasSubstr("[DEFAULT] host")));
    EXPECT_EQ(check_state_folder(folder_.path(), kUs).error().what, refused.error().what);
    EXPECT_EQ(read("ledger"), "its ledger");
  }
  // His decision.
  fs::remove(at("machine"));
  own(kUs);
  EXPECT_EQ(read("ledger"), "its ledger");
}

TEST_F(StateFolder, OfAHostThatWasGivenAnotherNameStaysItsOwn) {
  own({"b2", "old-name"});
  own(kUs);
  EXPECT_EQ(read("ledger"), "its ledger");
  EXPECT_EQ(read("machine"), "b2 compute-2\n");
}

TEST_F(StateFolder, IsPutAsideAlsoWhereACrashLeftHalfOfIt) {
  own(kCopied);
  fs::create_directory(at("other-machine-a1"));
  fs::rename(at("ledger"), at("other-machine-a1/ledger"));
  ASSERT_TRUE(own_state_folder(folder_.path(), kUs).ok());
  EXPECT_EQ(read("other-machine-a1/ledger"), "its ledger");
  EXPECT_EQ(read("other-machine-a1/certificate.key"), "its key");
  EXPECT_EQ(read("machine"), "b2 compute-2\n");
}

TEST_F(StateFolder, IsPutOverNothingThatWasPutAsideBefore) {
  own(kCopied);
  fs::create_directory(at("other-machine-a1"));
  write("other-machine-a1/ledger", "an earlier one");
  const auto refused = own_state_folder(folder_.path(), kUs);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, AllOf(HasSubstr("File exists"), HasSubstr("elsewhere")));
  EXPECT_EQ(read("other-machine-a1/ledger"), "an earlier one");
  EXPECT_EQ(read("machine"), "a1 compute-1\n") << "and the next start tries again";
}

TEST_F(StateFolder, WithAnOwnerThatCannotBeReadIsNobodys) {
  for (const char* text :
       {"", "a1", "a1\n", " a1\n", "a1 compute-2", "../a1 compute-2\n", "a1 compute-2\nmore\n"}) {
    write("machine", text);
    const auto refused = own_state_folder(folder_.path(), kUs);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, Errc::invalid) << text;
    EXPECT_THAT(refused.error().what, HasSubstr("is damaged"));
    EXPECT_EQ(read("ledger"), "its ledger");
  }
}

}  // namespace
}  // namespace reclaim
