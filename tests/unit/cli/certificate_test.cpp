// reclaim certificate list|show|verify over folders that are whole, changed, or somebody's copy.
#include <gmock/gmock.h>

#include <functional>
#include <sstream>
#include <type_traits>

#include "cli/commands.h"
#include "state/base/json.h"
#include "state/ledger/audit.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string upper_hex(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

class CertificateCommands : public proof::ProofTest {
 protected:
  template <typename Options>
  using Command = int (*)(const config::Settings&, const Options&, std::ostream&, std::ostream&);
  template <typename Options = CertificateOptions>
  int run(Command<Options> command, std::type_identity_t<Options> options,
          Format format = Format::value) {
    config::Settings settings;
    settings.state_path = state_path_;
    settings.host = "compute-1";
    settings.machine_id_file = state_path_ + "/machine-id";
    write(settings.machine_id_file, "a1\n");
    if constexpr (requires { options.view; }) options.view.format = format;
    out_.str("");
    err_.str("");
    return command(settings, options, out_, err_);
  }
  int verify(std::vector<std::string> named = {}) {
    CertificateOptions options;
    options.named = std::move(named);
    return run(&run_certificate_verify, options);
  }

  // A tenancy of the drive S1 that was seen at that time.
  void see(const SigningKey& by, const std::string& instance, std::int64_t at_ms) {
    AuditEntry entry;
    entry.host = "compute-1";
    entry.address = "0000:c1:00.0";
    entry.serial = "S1";
    entry.instance = instance;
    entry.at = WallMs{at_ms};
    entry = identified(entry);
    forge(by, entry.id, encode_audit(entry), SealedKind::audit);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CertificateCommands, WhatWasErasedAndNotReturnedSaysSo) {
  keep(1);
  ASSERT_TRUE(chain().keep(id_of(2), not_returned_text(2)).ok());
  EXPECT_EQ(verify(), 0) << out_.str();
  EXPECT_EQ(run(&run_certificate_list, {}, Format::csv), 0);
  EXPECT_THAT(out_.str(), HasSubstr("health: worn out"));
  EXPECT_EQ(run(&run_audit_list, {}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("sanitize_crypto, released; certificate " + id_of(1)),
                                HasSubstr("sanitize_crypto, not returned: health: worn out; "
                                          "certificate " +
                                          id_of(2))));
}

TEST_F(CertificateCommands, ListShowsTheChain) {
  keep(2);
  EXPECT_EQ(run(&run_certificate_list, {}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("2 " + id_of(2) +
                                    " 0000:c1:00.0 A \"drive\" S2 "
                                    "sanitize_crypto purge"));
  write(path_of(1), "torn");
  EXPECT_EQ(run(&run_certificate_list, {}), 1);
  EXPECT_THAT(out_.str(), HasSubstr(id_of(2)));
  EXPECT_THAT(err_.str(), HasSubstr(path_of(1)));
}

TEST_F(CertificateCommands, ShowPrintsEveryMember) {
  keep(2);
  CertificateOptions options;
  options.named = {id_of(2)};
  ASSERT_EQ(run(&run_certificate_show, options, Format::json), 0) << err_.str();
  const auto shown = json::parse(out_.str(), 100'000);
  ASSERT_TRUE(shown.ok());
  EXPECT_STREQ((*shown)["serial"].GetString(), "S2");
  EXPECT_EQ((*shown)["evidence"]["sstat"].GetInt(), 257);
  EXPECT_EQ((*shown)["sequence"].GetInt(), 2);
  EXPECT_EQ((*shown)["capacity_bytes"].GetInt64(), 1'000'204'886'016);
  options.named = {"2"};
  ASSERT_EQ(run(&run_certificate_show, options, Format::value), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(id_of(2)));
  keep(3);
  const std::string all = id_of(2).substr(0, 4);
  options.named = {all};
  const bool alike = id_of(1).starts_with(all) && id_of(3).starts_with(all);
  EXPECT_EQ(run(&run_certificate_show, options), alike ? 1 : 0);
  options.named = {"2"};
  options.html = true;
  ASSERT_EQ(run(&run_certificate_show, options), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("<h1>Certificate of sanitization</h1>"));
  EXPECT_THAT(out_.str(), HasSubstr("A &quot;drive&quot;"));
  EXPECT_THAT(out_.str(), HasSubstr("1.0 TB (1000204886016 bytes)"));
  EXPECT_THAT(out_.str(), HasSubstr(path_of(2)));
  options.html = false;
  options.named = {id_of(7)};
  EXPECT_EQ(run(&run_certificate_show, options), 1);
  EXPECT_THAT(err_.str(), HasSubstr("no certificate " + id_of(7)));
}

TEST_F(CertificateCommands, AWholeChainIsWell) {
  ASSERT_TRUE(SigningKey::load_or_create(key_path_).ok());
  EXPECT_EQ(verify(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("no entry yet"));
  keep(3);
  EXPECT_EQ(verify(), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("entries 1 to 3 (3 certificates)"),
                                HasSubstr(sha256_of(content(path_of(3))))));
  EXPECT_EQ(verify({id_of(1), path_of(2)}), 0);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(id_of(1) + " ok number 1"), HasSubstr(path_of(2) + " ok number 2")));
}

TEST_F(CertificateCommands, TamperingIsSaidAndEndsWithOne) {
  keep(3);
  const std::string text = content(path_of(2));
  std::string changed = text;
  changed.replace(changed.find("\"S2\""), 4, "\"S9\"");
  write(path_of(2), changed);
  EXPECT_EQ(verify(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("BAD its signature does not fit: the certificate was changed"));
  EXPECT_EQ(verify({id_of(2)}), 1);
  EXPECT_EQ(verify({path_of(2)}), 1);
  EXPECT_EQ(verify({id_of(1)}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is broken, so that no entry of it is proven by itself"));
  fs::remove(path_of(2));
  EXPECT_EQ(verify(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("entry 2 is missing"));
  EXPECT_EQ(verify({id_of(2)}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("no certificate " + id_of(2)));
  write(path_of(2), content(path_of(1)));
  EXPECT_EQ(verify({id_of(2)}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("holds entry 1"));
}

TEST_F(CertificateCommands, AMissingErasureIsSaidAndEndsWithTwo) {
  const SigningKey ours = *SigningKey::load_or_create(key_path_);
  fs::create_directory(folder_);
  see(ours, "one", 1'763'630'000'000);
  keep(1);
  see(ours, "two", 1'763'650'000'000);
  EXPECT_EQ(verify(), 0) << out_.str();
  see(ours, "three", 1'763'660'000'000);
  EXPECT_EQ(verify(), 2);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("entries 1 to 4 (1 certificate), whole and signed"),
                                HasSubstr("S1 UNERASED no erasure between the tenancy of entry 3"),
                                HasSubstr("instance three")));
  EXPECT_EQ(run(&run_audit_list, {}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tenancy_seen 0000:c1:00.0 S1 one"),
                                HasSubstr("erased 0000:c1:00.0 S1"), HasSubstr("three")));
  EXPECT_EQ(run(&run_certificate_list, {}), 0) << err_.str();
  EXPECT_EQ(out_.str().find("three"), std::string::npos);
  // A chain that was tampered with is that first.
  const auto files = list_chain(folder_)->files;
  fs::remove(folder_ + "/" + files[0].name);
  EXPECT_EQ(verify(), 1);
}

// The serial is known from the quarantine on: verified and reported as one drive's two tenancies.
TEST_F(CertificateCommands, ATenancyFromBeforeTheSerialWasKnownIsOfTheDriveToo) {
  std::int64_t at_ms = 1'763'630'000'000;
  const auto say = [&](AuditEvent event, const char* instance, const char* serial) {
    AuditEntry entry;
    entry.event = event;
    entry.host = "compute-1";
    entry.address = "0000:c1:00.0";
    entry.serial = serial;
    entry.instance = instance;
    entry.at = WallMs{at_ms += 1'000};
    entry = identified(entry);
    ASSERT_TRUE(chain().keep(entry.id, encode_audit(entry), SealedKind::audit).ok());
  };
  say(AuditEvent::tenancy_seen, "one", "");
  say(AuditEvent::tenancy_ended, "one", "");
  say(AuditEvent::quarantined, "one", "DEMO-0002");
  EXPECT_EQ(verify(), 0) << out_.str();
  say(AuditEvent::tenancy_seen, "two", "DEMO-0002");
  EXPECT_EQ(verify(), 2);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("DEMO-0002 UNERASED no erasure between the tenancy of entry 1"),
                    HasSubstr("entry 4")));
  CertificateOptions report;
  report.from = report.to = "2025-11-20";
  EXPECT_EQ(run(&run_certificate_report, report, Format::json), 2) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"unerased_tenancies\": 1"));
}

// The key leaked, and is revoked from the certificate on.
TEST_F(CertificateCommands, AVoidCertificateIsNoErasure) {
  const SigningKey leaked = *SigningKey::load_or_create(key_path_);
  const SigningKey next = key_named("next");
  fs::create_directory(folder_);
  see(leaked, "one", 1'763'630'000'000);
  forge(leaked, id_of(1), certificate_text(1));
  forge_endorsement(leaked, next.public_key());
  see(next, "two", 1'763'650'000'000);
  CertificateOptions options;
  options.public_keys = {key_path_ + ".pub", state_path_ + "/next.key.pub"};
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
  forge_revocation(next, leaked.public_key().id(), 2);
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(),
              HasSubstr("S1 UNERASED no erasure between the tenancy of entry 1 (2025-"));
  options.from = options.to = "2025-11-20";
  EXPECT_EQ(run(&run_certificate_report, options, Format::json), 1) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"unerased_tenancies\": 1"),
                                HasSubstr("\"erasures\": 0"), HasSubstr("\"broken\"")));
  // A tenancy in a void entry may be true: it is told, and marked.
  see(leaked, "three", 1'763'660'000'000);
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), HasSubstr("instance three, by an entry that proves nothing there)"));
}

// Whoever may write the folder adds one by a key of his own.
TEST_F(CertificateCommands, WhatNoKnownKeySignedIsNoErasure) {
  const SigningKey ours = *SigningKey::load_or_create(key_path_);
  fs::create_directory(folder_);
  see(ours, "one", 1'763'630'000'000);
  forge(key_named("stranger"), id_of(1), certificate_text(1));
  see(ours, "two", 1'763'650'000'000);
  EXPECT_EQ(verify(), 1);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("S1 UNERASED no erasure between the tenancy of entry 1 "),
                                HasSubstr("instance two)\n")));
  see(key_named("stranger"), "three", 1'763'660'000'000);
  EXPECT_EQ(verify(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("instance three); only with entries that no known key signed"));
}

TEST_F(CertificateCommands, WhatIsANumberAndTheBeginningOfAnIdIsNeither) {
  Certificate one = *decode_certificate(certificate_text(1));
  one.id = "0002" + one.id.substr(4);
  ASSERT_TRUE(chain().keep(one.id, encode_certificate(one)).ok());
  ASSERT_TRUE(chain().keep(id_of(2), certificate_text(2)).ok());
  EXPECT_EQ(verify({"0002"}), 1);
  EXPECT_THAT(out_.str(),
              HasSubstr("0002 BAD 0002 is a number, and the beginning of the ID " + one.id +
                        " too: give more of the ID, or the number with nine "
                        "digits, 000000002"));
  CertificateOptions options;
  options.named = {"0002"};
  EXPECT_EQ(run(&run_certificate_show, options), 1);
  EXPECT_THAT(err_.str(), HasSubstr("the number with nine digits, 000000002"));
  for (const auto& [named, number] : std::vector<std::pair<std::string, std::string>>{
           {"2", "2"}, {"000000002", "2"}, {one.id.substr(0, 9), "1"}, {one.id, "1"}}) {
    EXPECT_EQ(verify({named}), 0) << named;
    EXPECT_THAT(out_.str(), HasSubstr("number " + number + ", certificate")) << named;
  }
}

TEST_F(CertificateCommands, TheHeadIsWhatATimeStampIsTakenOf) {
  EXPECT_EQ(run(&run_certificate_head, {}), 1);
  keep(2);
  EXPECT_EQ(run(&run_certificate_head, {}), 0) << err_.str();
  EXPECT_EQ(out_.str(), content(folder_ + "/head"));
  // Of a copy, by who has the public key alone.
  fs::copy(folder_, state_path_ + "/copy");
  CertificateOptions copy;
  copy.folder = state_path_ + "/copy";
  copy.public_keys = {key_path_ + ".pub"};
  EXPECT_EQ(run(&run_certificate_head, copy), 0) << err_.str();
  EXPECT_EQ(out_.str(), content(folder_ + "/head"));
}

// A time stamp of it would vouch for it.
TEST_F(CertificateCommands, AHeadIsOfWhatWasVerified) {
  keep(3);
  const std::string head = folder_ + "/head";
  const auto name = [this](int number) { return fs::path(path_of(number)).filename().string(); };
  fs::copy(folder_, state_path_ + "/whole");
  const std::vector<std::function<void()>> changes = {
      [&] { fs::remove(head); }, [&] { write(head, std::string(64, 'f') + "  " + name(3) + "\n"); },
      [&] { write(head, sha256_of(content(path_of(2))) + "  " + name(2) + "\n"); },
      [&] { fs::remove(path_of(3)); }, [&] { write(path_of(3), content(path_of(3)) + "x"); },
      // Changed, or by another key, and `head` with it.
      [&] {
        std::string text = content(path_of(3));
        text.replace(text.find("\"S3\""), 4, "\"S9\"");
        write(path_of(3), text);
        write(head, sha256_of(text) + "  " + name(3) + "\n");
      },
      [&] {
        fs::remove(path_of(3));
        forge(key_named("stranger"), id_of(3), certificate_text(3));
      },
      [&] { fs::remove(key_path_ + ".pub"); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i]();
    EXPECT_EQ(run(&run_certificate_head, {}), 1) << i;
    EXPECT_THAT(out_.str(), IsEmpty()) << i;
    EXPECT_THAT(err_.str(), Not(IsEmpty())) << i;
    fs::remove_all(folder_);
    fs::copy(state_path_ + "/whole", folder_);
  }
}

TEST_F(CertificateCommands, ANewKeyIsEndorsedByTheOldOne) {
  keep(1);
  const auto next = SigningKey::load_or_create(state_path_ + "/next.key");
  ASSERT_TRUE(next.ok());
  CertificateOptions options;
  options.named = {state_path_ + "/next.key.pub"};
  ASSERT_EQ(run(&run_certificate_endorse, options), 0) << err_.str();
  fs::copy_file(key_path_ + ".pub", state_path_ + "/old.pub");
  for (const char* half : {"", ".pub"}) {
    fs::rename(state_path_ + "/next.key" + half, key_path_ + half);
  }
  ASSERT_TRUE(chain().keep(id_of(3), certificate_text(3)).ok());
  CertificateOptions by_the_old;
  by_the_old.public_keys = {state_path_ + "/old.pub"};
  EXPECT_EQ(run(&run_certificate_verify, by_the_old), 0) << out_.str();
  by_the_old.named = {id_of(3)};
  EXPECT_EQ(run(&run_certificate_verify, by_the_old), 0) << out_.str();
  EXPECT_EQ(verify(), 1);
}

// An operator's day: the key leaked, another is in its place, and what it signed since is void.
TEST_F(CertificateCommands, AKeyThatLeakedIsRevoked) {
  keep(3);
  const std::string leaked = keys().front().id();
  fs::rename(key_path_ + ".pub", state_path_ + "/leaked.pub");
  fs::rename(key_path_, state_path_ + "/leaked");
  ASSERT_TRUE(chain().keep(id_of(4), certificate_text(4)).ok());
  RevokeOptions options;
  options.key = leaked.substr(0, 8);
  options.from = "3";
  options.reason = "found in a backup";
  const auto revoke = [&] { return run(&run_certificate_revoke, options); };
  EXPECT_EQ(revoke(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("--yes")) << "nobody is there to ask";
  options.yes = true;
  ASSERT_EQ(revoke(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("key " + leaked +
                                    " signed entries from 1 to 3; from entry 3 on, 1 of them "
                                    "(1 certificate) will be refused"));
  CertificateOptions both;
  both.public_keys = {state_path_ + "/leaked.pub", key_path_ + ".pub"};
  EXPECT_EQ(run(&run_certificate_verify, both), 1);
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr(sealed_name(3, id_of(3)) + " BAD is signed with key " + leaked +
                      ", which entry 5 revokes from entry 3 on: "
                      "found in a backup"),
            HasSubstr("entry 5 revoked key " + leaked), Not(HasSubstr(sealed_name(2, id_of(2))))));
  // One by one, also a copy that lies elsewhere.
  both.named = {"2"};
  EXPECT_EQ(run(&run_certificate_verify, both), 0) << out_.str();
  fs::copy_file(path_of(3), state_path_ + "/copy.json");
  for (const std::string& named : {std::string("3"), state_path_ + "/copy.json"}) {
    both.named = {named};
    EXPECT_EQ(run(&run_certificate_verify, both), 1) << out_.str();
    EXPECT_THAT(out_.str(), HasSubstr("which entry 5 revokes from entry 3 on"));
  }
  EXPECT_EQ(run(&run_audit_list, {}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("key_revoked"));
  EXPECT_THAT(out_.str(), HasSubstr("key " + leaked + " from entry 3 on: found in a backup"));
}

// A revocation cannot be undone: a file of the key's name, with another key in it, is none of it.
TEST_F(CertificateCommands, WhatHasTheFormOfAKeysIdIsNoFile) {
  keep(1);
  const std::string leaked = keys().front().id();
  fs::rename(key_path_, state_path_ + "/leaked");
  fs::remove(key_path_ + ".pub");
  ASSERT_TRUE(chain().keep(id_of(2), certificate_text(2)).ok());
  const PublicKey other = key_named("other").public_key();
  const fs::path here = fs::current_path();
  fs::create_directory(state_path_ + "/here");
  fs::current_path(state_path_ + "/here");
  const std::string upper = upper_hex(leaked.substr(0, 12));
  const std::string unknown(8, '0');
  const std::string many = leaked + "0";
  for (const std::string& name : {leaked, leaked.substr(0, 8), upper, unknown, many}) {
    write(name, *other.pem());
  }
  RevokeOptions options;
  options.from = "7";
  options.reason = "found in a backup";
  options.yes = true;
  const auto revoked = [&](const std::string& key) {
    options.key = key;
    const bool well = run(&run_certificate_revoke, options) == 0;
    const std::string said = out_.str();
    return !well ? err_.str() : said.starts_with("key " + leaked) ? "leaked" : "other";
  };
  EXPECT_EQ(revoked(leaked), "leaked");
  EXPECT_EQ(revoked(leaked.substr(0, 8)), "leaked");
  EXPECT_EQ(revoked(upper), "leaked");
  EXPECT_THAT(revoked(unknown), AllOf(HasSubstr("no entry is signed with key 00000000"),
                                      HasSubstr("a file of such a name is given as ./NAME")));
  EXPECT_EQ(revoked("./" + leaked.substr(0, 8)), "other");
  EXPECT_EQ(revoked(many), "other") << "no id has that form";
  fs::current_path(here);
}

TEST_F(CertificateCommands, WhatCannotBeRevokedIsTold) {
  keep(1);
  RevokeOptions options;
  options.from = "1";
  options.reason = "x";
  options.yes = true;
  for (const auto& [key, said] :
       {std::pair<std::string, std::string>{key_path_ + ".pub", "is the one in use: put"},
        {keys().front().id(), "is the one in use"},
        {keys().front().id().substr(0, 7), "have signed entries: " + keys().front().id()},
        {path_of(1), "public key"}}) {
    options.key = key;
    EXPECT_EQ(run(&run_certificate_revoke, options), 1);
    EXPECT_THAT(err_.str(), HasSubstr(said)) << key;
  }
  options.key = std::string(64, 'a');
  for (const char* from : {"0", "", "-1", "0x1F", "1e3", "3.0", "1000000000000000"}) {
    options.from = from;
    EXPECT_EQ(run(&run_certificate_revoke, options), 2);
    EXPECT_THAT(err_.str(), HasSubstr("is not the number of an entry")) << from;
  }
  options.from = "2";
  options.reason = "";
  EXPECT_EQ(run(&run_certificate_revoke, options), 2);
  EXPECT_EQ(list_chain(folder_)->files.size(), 1U);
  // As the files' names have it; of a key that has signed nothing, too.
  options.from = "000000012";
  options.reason = "x";
  EXPECT_EQ(run(&run_certificate_revoke, options), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("is revoked from entry 12 on"));
}

// Whoever may write the folder, and has a former key, makes each entry alone look well.
TEST_F(CertificateCommands, ABrokenChainProvesNothingOneByOne) {
  keep(3);
  EXPECT_EQ(verify({"3"}), 0);
  fs::copy_file(path_of(3), folder_ + "/" + sealed_name(1, id_of(3)));
  EXPECT_EQ(verify({"3"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("is broken, so that no entry of it is proven by itself"));
}

TEST_F(CertificateCommands, AFileHasToBeThatOfTheChainAtHand) {
  keep(3);
  const SigningKey key = *SigningKey::load_or_create(key_path_);
  const SigningKey other = key_named("other");
  const std::string file = state_path_ + "/file.json";
  const auto verify_sealed = [&](const SigningKey& by, std::uint64_t sequence) {
    write(file, *seal(by, sequence, std::string(64, 'a'), certificate_text(7)));
    CertificateOptions options;
    options.named = {file};
    options.public_keys = {key_path_ + ".pub", state_path_ + "/other.key.pub"};
    return run(&run_certificate_verify, options);
  };
  for (const std::uint64_t sequence : {std::uint64_t{2}, std::uint64_t{500}}) {
    EXPECT_EQ(verify_sealed(key, sequence), 1);
    EXPECT_THAT(out_.str(), HasSubstr("is not entry " + std::to_string(sequence)));
    EXPECT_EQ(verify_sealed(other, sequence), 0) << "another host's";
  }
  fs::copy_file(path_of(2), file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(verify({file}), 0) << out_.str();
}

TEST_F(CertificateCommands, AFolderWithoutEntriesIsNoProof) {
  (void)chain();
  EXPECT_EQ(verify(), 0) << "of a host that has released nothing yet";
  EXPECT_THAT(out_.str(), HasSubstr("none no entry yet"));
  CertificateOptions with_key;
  with_key.public_keys = {key_path_ + ".pub"};
  with_key.from = with_key.to = "2025-11-20";
  EXPECT_EQ(run(&run_certificate_verify, with_key), 1) << "by an auditor";
  EXPECT_EQ(run(&run_certificate_report, with_key, Format::json), 1);
  with_key.public_keys.clear();
  with_key.expect = "1:" + std::string(64, 'a');
  EXPECT_EQ(run(&run_certificate_verify, with_key), 1) << "who noted an entry";
  fs::create_symlink(state_path_ + "/away", folder_);
  EXPECT_EQ(verify(), 1) << "on a disk that is away";
  fs::remove(folder_);
  keep(1);
  CertificateOptions options;
  options.folder = state_path_ + "/typo";
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), HasSubstr("has no entry"));
  options.from = options.to = "2025-11-20";
  EXPECT_EQ(run(&run_certificate_report, options, Format::json), 1);
  // A key that should have signed: was the chain cut?
  (void)key_named("next");
  CertificateOptions both;
  both.public_keys = {key_path_ + ".pub", state_path_ + "/next.key.pub"};
  EXPECT_EQ(run(&run_certificate_verify, both), 1);
  EXPECT_THAT(out_.str(), HasSubstr("BAD has signed nothing in this chain: it was cut"));
  both.named = {path_of(1)};
  EXPECT_EQ(run(&run_certificate_verify, both), 1) << "an entry by its path";
  both.named = {"1"};
  EXPECT_EQ(run(&run_certificate_verify, both), 1) << "and by its number";
  both.named.clear();
  both.from = both.to = "2025-11-20";
  EXPECT_EQ(run(&run_certificate_report, both, Format::json), 1);
  EXPECT_THAT(err_.str(), HasSubstr("has signed nothing in this chain"));
}

// Who has a former key that leaked cuts the chain before its end, and goes on.
TEST_F(CertificateCommands, ACutChainDoesNotHaveWhatWasNotedOfIt) {
  keep(3);
  const std::string noted = "2:" + sha256_of(content(path_of(2)));
  const std::string end = "3:" + sha256_of(content(path_of(3)));
  CertificateOptions options;
  for (const std::string& good : {noted, end}) {
    options.expect = good;
    EXPECT_EQ(run(&run_certificate_verify, options), 0) << out_.str();
    EXPECT_THAT(out_.str(), HasSubstr("is there as it was noted"));
  }
  fs::remove(path_of(3));
  write(folder_ + "/head",
        sha256_of(content(path_of(2))) + "  " + fs::path(path_of(2)).filename().string() + "\n");
  ASSERT_EQ(verify(), 0) << "nothing else tells";
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  EXPECT_THAT(out_.str(), HasSubstr("entry 3 BAD is not there as it was noted: the chain was cut"));
  const auto key = SigningKey::load_or_create(key_path_);
  forge(*key, id_of(3), certificate_text(3));
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << "sealed alike, it is the same entry";
  fs::remove(path_of(3));
  forge(*key, id_of(7), certificate_text(7));
  EXPECT_EQ(run(&run_certificate_verify, options), 1);
  options.expect = noted;
  EXPECT_EQ(run(&run_certificate_verify, options), 0);
  // A report is of the chain that was noted, too.
  options.from = options.to = "2025-11-20";
  options.expect = noted;
  EXPECT_EQ(run(&run_certificate_report, options, Format::json), 0) << err_.str();
  options.expect = end;
  EXPECT_EQ(run(&run_certificate_report, options, Format::json), 1);
  EXPECT_THAT(err_.str(), HasSubstr("entry 3: is not there as it was noted"));
  EXPECT_THAT(out_.str(), HasSubstr("entry 3: is not there as it was noted"));
}

TEST_F(CertificateCommands, OnlyANewKeyIsEndorsed) {
  keep(1);
  const auto endorse = [&](const std::string& name) {
    CertificateOptions options;
    options.named = {state_path_ + "/" + name};
    return run(&run_certificate_endorse, options);
  };
  const auto rotate = [&](const std::string& to) {
    (void)key_named(to);
    ASSERT_EQ(endorse(to + ".key.pub"), 0) << err_.str();
    for (const char* half : {"", ".pub"}) {
      fs::copy_file(state_path_ + "/" + to + ".key" + half, key_path_ + half,
                    fs::copy_options::overwrite_existing);
    }
  };
  fs::copy_file(key_path_ + ".pub", state_path_ + "/first.key.pub");
  EXPECT_EQ(endorse("first.key.pub"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is the one in use"));
  rotate("second");
  EXPECT_EQ(endorse("first.key.pub"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is a former one, in whose place entry 2 put another"));
  RevokeOptions revoke;
  revoke.key = key_named("leaked").public_key().id();
  revoke.from = "1";
  revoke.reason = "found in a backup";
  revoke.yes = true;
  ASSERT_EQ(run(&run_certificate_revoke, revoke), 0) << err_.str();
  EXPECT_EQ(endorse("leaked.key.pub"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("was revoked by entry 3"));
  rotate("third");
}

TEST_F(CertificateCommands, AnAuditorsCopyNeedsOnlyThePublicKey) {
  keep(2);
  fs::rename(folder_, state_path_ + "/copy");
  fs::rename(key_path_ + ".pub", state_path_ + "/host.pub");
  EXPECT_EQ(verify(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("--public-key"));
  CertificateOptions options;
  options.folder = state_path_ + "/copy";
  options.public_keys = {state_path_ + "/host.pub"};
  EXPECT_EQ(run(&run_certificate_verify, options), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("entries 1 to 2 (2 certificates)"));
  EXPECT_THAT(err_.str(), IsEmpty());
}

}  // namespace
}  // namespace reclaim::cli
