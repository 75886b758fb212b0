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

  // The chain in `from` as it is, and what another key signs behind it, which `by` endorses.
  void go_on(const std::string& from, const SigningKey& by, const SigningKey& next) {
    folder_ = from;
    forge_endorsement(by, next.public_key());
    forge(next, id_of(5), certificate_text(5));
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
  const std::string loose = state_path_ + "/loose.json";
  fs::copy_file(at(2), loose);
  CertificateOptions both;
  both.public_keys = {leaked, key_path_ + ".pub"};
  both.named = {loose};
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

// No other chain tells which keys follow the one that was given.
TEST_F(CertificateCopy, AnEntryByAKeyThatWasEndorsedIsVerifiedByTheChainWhereItLies) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const std::string cut = state_path_ + "/cut";
  const std::string other = state_path_ + "/other";
  fs::copy(copy_, cut);
  go_on(copy_, first, key_named("second"));
  folder_ = other;
  fs::create_directory(other);
  forge(key_named("other"), id_of(1), certificate_text(1));
  CertificateOptions options;
  options.named = {at(5)};
  for (const std::string& folder : {std::string(), other, copy_}) {
    options.folder = folder;
    EXPECT_EQ(run(&run_certificate_verify, options), 0) << folder << ": " << out_.str();
  }
  // The host began a new chain since: a key that was given proves by itself.
  folder_ = state_path_ + "/new";
  fs::create_directory(folder_);
  forge(key_named("second"), id_of(7), certificate_text(7));
  options.folder = folder_;
  options.named = {at(2)};
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
  // Whoever has the first key makes a chain of his own, which the other does not have.
  go_on(cut, first, key_named("stranger"));
  options.named = {cut + "/" + fs::path(at(5)).filename().string()};
  options.folder.clear();
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << "nothing else tells";
  for (const std::string& folder : {copy_, copy_ + "/"}) {
    options.folder = folder;
    EXPECT_EQ(run(&run_certificate_verify, options), 1) << out_.str();
    EXPECT_THAT(out_.str(), HasSubstr("BAD is not entry 5 of the chain in " + copy_));
  }
  const std::string link = copy_ + "/link.json";
  fs::create_symlink(options.named.front(), link);
  EXPECT_EQ(verify(link), 1) << "the chain where the link lies, too: " << out_.str();
  fs::remove(link);
  fs::remove(at(1));
  EXPECT_EQ(verify(at(5)), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is broken, so that no entry of it is proven by itself"));
}

TEST_F(CertificateCopy, OfALinkTheChainThatItLeadsToDecides) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const SigningKey second = key_named("second");
  go_on(copy_, first, second);
  forge_revocation(second, first.public_key().id(), 2);
  const std::string away = state_path_ + "/away";
  fs::create_directory(away);
  CertificateOptions options;
  options.public_keys = {key_path_ + ".pub", state_path_ + "/second.key.pub"};
  for (const int number : {1, 2}) {
    const std::string link = away + "/" + std::to_string(number) + ".json";
    fs::create_symlink("../copy/" + fs::path(at(number)).filename().string(), link);
    fs::create_symlink(link, link + ".2");
    for (const std::string& named : {at(number), link, link + ".2"}) {
      options.named = {named};
      EXPECT_EQ(run(&run_certificate_verify, options), number - 1) << named << ": " << out_.str();
      EXPECT_THAT(out_.str(), HasSubstr(number == 1 ? " ok number 1" : "revokes from entry 2 on"));
    }
  }
}

// A key does not tell whose it is: that each was used by one chain or another proves nothing.
TEST_F(CertificateCopy, TheFilesOfSeveralHostsAreVerifiedOneHostAfterTheOther) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const std::string cut = state_path_ + "/cut";
  fs::copy(copy_, cut);
  go_on(copy_, first, key_named("second"));
  folder_ = cut;
  forge(first, id_of(4), certificate_text(4));
  CertificateOptions options;
  options.public_keys = {key_path_ + ".pub", state_path_ + "/second.key.pub"};
  options.named = {at(5), cut + "/" + sealed_name(4, id_of(4))};
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(at(5) + " ok number 5"),
                                HasSubstr(options.named.back() + " BAD is in " + cut)));
  const std::string other = state_path_ + "/other";
  folder_ = other;
  fs::create_directory(other);
  forge(key_named("other"), id_of(1), certificate_text(1));
  options.named = {at(5), other + "/" + sealed_name(1, id_of(1))};
  options.public_keys.push_back(state_path_ + "/other.key.pub");
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), HasSubstr("or is another host's: verify each host's files in a command "
                                    "of its own, with all keys of that host and no others"));
  // As it says.
  options.named.pop_back();
  options.public_keys.pop_back();
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
  options.named = {other + "/" + sealed_name(1, id_of(1))};
  options.public_keys = {state_path_ + "/other.key.pub"};
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
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
