// reclaim certificate verify FILE and head, in a folder that is somebody's copy of a chain: what
// the chain there says of a file counts, whatever the chain of this host says.
#include <gmock/gmock.h>

#include <sstream>

#include "cli/commands.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CertificateCopy : public proof::ProofTest {
 protected:
  void SetUp() override {
    keep(3);
    copy_ = state_path_ + "/copy";
    fs::rename(folder_, copy_);
  }
  int verify(const std::string& file) {
    CertificateOptions options;
    options.named = {file};
    return run(&run_certificate_verify, options);
  }
  template <typename Command>
  int run(const Command& command, CertificateOptions options) {
    config::Settings settings;
    settings.state_path = state_path_;
    if (options.public_keys.empty()) options.public_keys = {key_path_ + ".pub"};
    options.view.format = Format::value;
    out_.str("");
    err_.str("");
    return command(settings, options, out_, err_);
  }
  [[nodiscard]] std::string at(int number) const {
    return copy_ + "/" + sealed_name(static_cast<std::uint64_t>(number), id_of(number));
  }

  std::string copy_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CertificateCopy, AFileIsAnEntryOfTheChainWhereItLies) {
  EXPECT_EQ(verify(at(2)), 0) << out_.str();
  const std::string other =
      *seal(*SigningKey::load_or_create(key_path_), 2, std::string(64, 'a'), certificate_text(7));
  write(copy_ + "/of-another-history.json", other);
  EXPECT_EQ(verify(copy_ + "/of-another-history.json"), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is not entry 2 of the chain in " + copy_));
  fs::remove(at(1));
  EXPECT_EQ(verify(at(3)), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is broken, so that no entry of it is proven by itself"));
}

// The host was installed anew, and its former key leaked.
TEST_F(CertificateCopy, AFileOfAnotherChainIsNotProvenByAKeyThatTheHostsChainRevokes) {
  const std::string leaked = state_path_ + "/leaked.pub";
  fs::rename(key_path_ + ".pub", leaked);
  fs::remove(key_path_);
  ASSERT_TRUE(chain().keep(id_of(1), certificate_text(1)).ok());
  CertificateOptions both;
  both.public_keys = {leaked, key_path_ + ".pub"};
  both.named = {at(2)};
  EXPECT_EQ(run(&run_certificate_verify, both), 0) << out_.str();
  RevokeOptions options;
  options.key = leaked;
  options.from = "1";
  options.reason = "found in a backup";
  options.yes = true;
  config::Settings settings;
  settings.state_path = state_path_;
  settings.machine_id_file = state_path_ + "/machine-id";
  write(settings.machine_id_file, "a1\n");
  ASSERT_EQ(run_certificate_revoke(settings, options, out_, err_), 0) << err_.str();
  EXPECT_EQ(run(&run_certificate_verify, both), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is not entry 2 of the chain in " + folder_));
}

// Cut before its key was replaced, and gone on with by the key that leaked.
TEST_F(CertificateCopy, AnEntryIsNotProvenWhereAGivenKeyHasSignedNothing) {
  const auto other = SigningKey::load_or_create(state_path_ + "/other");
  ASSERT_TRUE(other.ok());
  CertificateOptions options;
  options.folder = copy_;
  options.named = {"2"};
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
  options.public_keys = {key_path_ + ".pub", state_path_ + "/other.pub"};
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), HasSubstr("BAD"));
}

TEST_F(CertificateCopy, AHeadThatLeadsNowhereMakesNoFileOneAlone) {
  fs::remove(copy_ + "/head");
  fs::create_symlink("nowhere", copy_ + "/head");
  EXPECT_EQ(verify(at(2)), 1);
}

TEST_F(CertificateCopy, AnEmptyFolderThatIsNamedIsTakenForAMistake) {
  CertificateOptions options;
  options.folder = state_path_ + "/empty";
  fs::create_directory(options.folder);
  for (const auto command : {&run_certificate_list, &run_audit_list}) {
    EXPECT_EQ(run(command, options), 1);
    EXPECT_EQ(out_.str(), "");
    EXPECT_THAT(err_.str(), HasSubstr("/empty: has no entry: is it the folder of a chain?"));
  }
}

// Without a head it is no chain, but a file that somebody sent.
TEST_F(CertificateCopy, AFileAloneIsJudgedAlone) {
  fs::remove(at(1));
  fs::remove(copy_ + "/head");
  EXPECT_EQ(verify(at(3)), 0) << out_.str();
}

TEST_F(CertificateCopy, AHeadNamesTheFileThatItIsOf) {
  const std::string stray = copy_ + "/" + sealed_name(3, "00000000-0000-4000-8000-000000000000");
  write(stray, "junk");
  CertificateOptions options;
  options.folder = copy_;
  EXPECT_EQ(run(&run_certificate_head, options), 0) << err_.str();
  const std::string name = fs::path(at(3)).filename();
  EXPECT_EQ(out_.str(), sha256_of(content(at(3))) + "  " + name + "\n");
  write(copy_ + "/head", std::string(64, 'f') + "  " + name + "\n");
  EXPECT_EQ(run(&run_certificate_head, options), 1);
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(CertificateCopy, ANotedEntryThatCannotBeMeantIsTheCommandLinesMistake) {
  CertificateOptions options;
  options.folder = copy_;
  for (const std::string odd : {"3", ":", "0x3:00", "3:00", "three:", "zz"}) {
    options.expect = odd;
    for (const auto command : {&run_certificate_verify, &run_certificate_report}) {
      EXPECT_EQ(run(command, options), 2) << odd;
      EXPECT_THAT(out_.str(), IsEmpty());
      EXPECT_THAT(err_.str(), HasSubstr("--expect: '" + odd + "' is not SEQUENCE:SHA256"));
    }
  }
}

}  // namespace
}  // namespace reclaim::cli
