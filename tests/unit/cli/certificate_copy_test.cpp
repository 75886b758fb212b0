// reclaim certificate verify FILE and head, in a folder that is somebody's copy of a chain: what
// the chain there says of a file counts, whatever the chain of this host says.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <functional>
#include <sstream>

#include "cli/commands.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
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
  both.public_keys = {leaked};
  both.named = {at(2)};
  EXPECT_EQ(run(&run_certificate_verify, both), 0) << out_.str();
  both.public_keys = {leaked, key_path_ + ".pub"};
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
  const std::string loose = state_path_ + "/loose.json";
  fs::copy_file(at(2), loose);
  struct Way {
    std::string named;
    std::string folder;
  };
  for (const Way& way : {Way{"2", copy_}, Way{at(2), copy_}, Way{at(2), ""}, Way{loose, copy_},
                         Way{at(2), copy_ + "/"}}) {
    options.named = {way.named};
    options.folder = way.folder;
    options.public_keys = {key_path_ + ".pub"};
    EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
    options.public_keys = {key_path_ + ".pub", state_path_ + "/other.pub"};
    EXPECT_EQ(run(&run_certificate_verify, options), 1) << way.named << ' ' << way.folder;
    EXPECT_THAT(out_.str(), AllOf(HasSubstr(way.named + " BAD is in " + copy_),
                                  HasSubstr(", but key " + other->public_key().id() +
                                            " has signed nothing in this chain: it was cut")));
  }
  options.named = {loose};
  options.folder.clear();
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << "of no chain: " << out_.str();
}

// Who names a folder has the file held against the chain there: there has to be one.
TEST_F(CertificateCopy, AFileIsNotProvenByAFolderWithoutAChain) {
  const std::string loose = state_path_ + "/loose.json";
  fs::copy_file(at(2), loose);
  EXPECT_EQ(verify(loose), 0) << "alone";
  CertificateOptions options;
  options.named = {loose};
  options.folder = state_path_ + "/named";
  const std::vector<std::pair<const char*, std::function<void()>>> in_its_place = {
      {"nothing", [] {}},
      {"an empty folder", [&] { fs::create_directory(options.folder); }},
      {"a head alone",
       [&] {
         fs::create_directory(options.folder);
         fs::copy_file(copy_ + "/head", options.folder + "/head");
       }},
      {"a file", [&] { write(options.folder, ""); }},
      {"a pipe", [&] { ASSERT_EQ(::mkfifo(options.folder.c_str(), 0600), 0); }},
      {"a link to nowhere", [&] { fs::create_symlink("nowhere", options.folder); }},
      {"entries that cannot be read",
       [&] {
         fs::copy(copy_, options.folder);
         for (const int number : {1, 2, 3}) {
           const std::string entry =
               options.folder + "/" + fs::path(at(number)).filename().string();
           fs::remove(entry);
           fs::create_symlink("nowhere", entry);
         }
       }},
      {"junk", [&] {
         fs::create_directory(options.folder);
         write(options.folder + "/" + sealed_name(1, id_of(7)), "junk");
       }}};
  for (const auto& [what, put] : in_its_place) {
    put();
    EXPECT_EQ(run(&run_certificate_verify, options), 1) << what << ": " << out_.str();
    EXPECT_THAT(out_.str() + err_.str(), HasSubstr("/named")) << what;
    fs::remove_all(options.folder);
  }
  options.folder = copy_;
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
}

TEST_F(CertificateCopy, AnEntryThatCannotBeReadIsSaidByItsNumberToo) {
  fs::remove(at(2));
  fs::create_symlink("nowhere", at(2));
  CertificateOptions options;
  options.folder = copy_;
  options.named = {"2", "1"};
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
