// The audit journal: its entries, what they tell of missing erasures, and their place in the chain.
#include "state/ledger/audit.h"

#include <gmock/gmock.h>

#include <optional>

#include "state/certificate/own_chain.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::proof {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

AuditEntry entry(AuditEvent event, const std::string& instance, std::int64_t at_s) {
  AuditEntry made;
  made.event = event;
  made.host = "compute-1";
  made.address = "0000:c1:00.0";
  made.serial = "S\"1";
  made.instance = instance;
  made.detail = "because";
  made.at = WallMs{1'763'640'000'000 + at_s * 1000};
  return made;
}

class AuditTest : public ProofTest {
 protected:
  void keep_audit(const AuditEntry& made) const {
    const AuditEntry named = identified(made);
    const auto kept = chain().keep(named.id, encode_audit(named), SealedKind::audit);
    ASSERT_TRUE(kept.ok()) << kept.error().what;
  }
  void endorse(const PublicKey& next) const {
    AuditEntry made = entry(AuditEvent::key_endorsed, "", 1);
    made.public_key = *next.pem();
    keep_audit(made);
  }
  SigningKey other_key() const {
    auto key = SigningKey::load_or_create(state_path_ + "/other.key");
    CHECK(key.ok());
    return *std::move(key);
  }
  // Of a worker whose key it is.
  [[nodiscard]] std::vector<std::string> said_at_a_start(const SigningKey& key) const {
    std::vector<std::string> said;
    const auto own = check_own_chain(folder_, key.public_key(), 1'000);
    for (const ChainProblem& problem : own->report.problems) said.push_back(problem.what);
    return said;
  }
};

TEST_F(AuditTest, AnEntryComesBackAsItWas) {
  for (int i = 0; i <= static_cast<int>(AuditEvent::opal_reverted); ++i) {
    const AuditEntry made = identified(entry(static_cast<AuditEvent>(i), "i1", i));
    const std::string text = encode_audit(made);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto back = decode_audit(text);
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(*back, made);
    EXPECT_EQ(identified(made), made) << "its id is made of what it says";
    EXPECT_TRUE(check_certificate_schema(text, SealedKind::audit).ok());
    EXPECT_FALSE(check_certificate_schema(text).ok());
  }
}

TEST_F(AuditTest, WhatIsNoEntryIsRefused) {
  const std::string good = encode_audit(identified(entry(AuditEvent::quarantined, "i1", 1)));
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"quarantined\"", "\"cleaned\""},
        {"\"serial\":", "\"sorial\":"},
        {"\"at\":\"2", "\"at\":\"x"},
        {"\"host\":\"compute-1\"", "\"host\":1"}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    EXPECT_FALSE(decode_audit(text).ok()) << to;
  }
}

// What a drive said may stand in it.
TEST_F(AuditTest, ItsDetailIsOnePrintableLine) {
  AuditEntry made = entry(AuditEvent::quarantined, "i1", 1);
  made.detail = "serial \xff\n\x1b[31m" + std::string(100'000, 'x');
  keep_audit(made);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_EQ(identified(made).detail.find('\n'), std::string::npos);
  EXPECT_LT(identified(made).detail.size(), 10'000U);
}

using Kind = DriveEvent::Kind;

TEST(MissingErasures, ATenancyIsErasedBeforeTheNext) {
  struct Case {
    const char* name;
    std::vector<DriveEvent> events;
    std::size_t missing;
  };
  const auto at = [](Kind kind, const char* instance, std::int64_t ms, const char* drive = "S1") {
    return DriveEvent{drive, kind, instance, WallMs{ms}, static_cast<std::uint64_t>(ms)};
  };
  for (const Case& each : {
           Case{"nothing", {}, 0},
           Case{"one that goes on", {at(Kind::tenancy, "a", 1)}, 0},
           Case{"one that is over and waits",
                {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2)},
                0},
           Case{"erased between",
                {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2), at(Kind::erasure, "a", 3),
                 at(Kind::tenancy, "b", 4)},
                0},
           Case{"sealed late",
                {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 4), at(Kind::erasure, "a", 3)},
                0},
           Case{"not erased", {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 4)}, 1},
           Case{"erased before, not between",
                {at(Kind::erasure, "", 1), at(Kind::tenancy, "a", 2), at(Kind::tenancy, "b", 4)},
                1},
           Case{"another drive's erasure",
                {at(Kind::tenancy, "a", 1), at(Kind::erasure, "a", 3, "S2"),
                 at(Kind::tenancy, "b", 4)},
                1},
           Case{"seen twice", {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "a", 4)}, 0},
           Case{"came back before anything was done",
                {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2), at(Kind::tenancy, "a", 4)},
                0},
           Case{"two that nobody knows",
                {at(Kind::tenancy, "", 1), at(Kind::ended, "", 2), at(Kind::tenancy, "", 4)},
                1},
           Case{"three, none erased",
                {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 4), at(Kind::tenancy, "c", 5)},
                2},
           Case{"sealed late, and had it before",
                {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "a", 4), at(Kind::tenancy, "b", 6),
                 at(Kind::erasure, "a", 5)},
                0},
           Case{"sealed late, before it had it again",
                {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2), at(Kind::tenancy, "a", 5),
                 at(Kind::erasure, "a", 3), at(Kind::tenancy, "b", 6)},
                1},
           Case{"sealed late, of nobody known",
                {at(Kind::tenancy, "a", 1), at(Kind::tenancy, "b", 4), at(Kind::erasure, "", 3)},
                0},
           Case{"erased while the clock was set back",
                {at(Kind::tenancy, "a", 100), at(Kind::ended, "a", 10), at(Kind::erasure, "a", 11),
                 at(Kind::tenancy, "b", 200)},
                0},
           Case{"the next while the clock was set back",
                {at(Kind::tenancy, "a", 100), at(Kind::tenancy, "b", 10), at(Kind::ended, "b", 20),
                 at(Kind::erasure, "b", 30)},
                1},
           Case{"the chain began in its middle",
                {at(Kind::ended, "a", 2), at(Kind::tenancy, "b", 4)},
                1},
           Case{"the chain began in its middle, and nobody knows whose",
                {at(Kind::ended, "", 2), at(Kind::tenancy, "b", 4)},
                1},
           Case{"the chain began in its middle, erased between",
                {at(Kind::ended, "a", 2), at(Kind::erasure, "a", 3), at(Kind::tenancy, "b", 4)},
                0},
           Case{"the chain began in its middle, sealed late",
                {at(Kind::ended, "a", 20), at(Kind::tenancy, "b", 4), at(Kind::erasure, "a", 21),
                 at(Kind::tenancy, "c", 22)},
                1},
           Case{"two ends", {at(Kind::ended, "a", 2), at(Kind::ended, "b", 4)}, 1},
           Case{"an end told twice",
                {at(Kind::tenancy, "a", 1), at(Kind::ended, "a", 2), at(Kind::ended, "a", 3),
                 at(Kind::erasure, "a", 4), at(Kind::ended, "a", 5), at(Kind::tenancy, "b", 6)},
                0},
           Case{"it ends under another name",
                {at(Kind::tenancy, "m", 1), at(Kind::ended, "a", 2), at(Kind::erasure, "a", 3)},
                0},
           Case{"the clock was set back between the two",
                {at(Kind::tenancy, "a", 100), at(Kind::ended, "a", 110),
                 at(Kind::erasure, "a", 120), at(Kind::tenancy, "b", 10)},
                0},
       }) {
    EXPECT_EQ(find_missing_erasures(each.events).size(), each.missing) << each.name;
  }
}

TEST_F(AuditTest, EntriesStandInTheChainOfTheCertificates) {
  keep_audit(entry(AuditEvent::tenancy_seen, "a", -100));
  keep_audit(entry(AuditEvent::tenancy_ended, "a", -50));
  ASSERT_TRUE(chain().keep(id_of(1), certificate_text(1)).ok());
  keep_audit(entry(AuditEvent::tenancy_seen, "b", 100));
  EXPECT_THAT(problems(), IsEmpty());
  const auto told = drive_events(folder_);
  ASSERT_TRUE(told.ok());
  EXPECT_THAT(told->with_unproven, IsEmpty());
  const auto& events = told->proven;
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[2].kind, Kind::erasure);
  EXPECT_EQ(events[2].drive, "S1");
  EXPECT_EQ(events[3].sequence, 4U);
  // The same twice, as a crash makes it: kept once.
  keep_audit(entry(AuditEvent::tenancy_seen, "b", 100));
  EXPECT_EQ(list_chain(folder_)->files.size(), 4U);
  // One taken away, one changed.
  const auto files = list_chain(folder_)->files;
  const std::string path = folder_ + "/" + files[1].name;
  const std::string text = content(path);
  std::filesystem::remove(path);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("entry 2 is missing")));
  std::string changed = text;
  changed.replace(changed.find("because"), 7, "Because");
  write(path, changed);
  EXPECT_THAT(problems(), ::testing::Contains(HasSubstr("its signature does not fit")));
  // An entry passed off as a certificate.
  std::string renamed = text;
  renamed.replace(renamed.find("\"audit\":"), 8, "\"certificate\":");
  EXPECT_FALSE(check_sealed(renamed, keys()).ok());
}

TEST_F(AuditTest, AnEndorsedKeyIsFollowed) {
  keep(1);
  const auto before = keys();
  const SigningKey next = other_key();
  endorse(next.public_key());
  const CertificateChain after(folder_, other_key());
  ASSERT_TRUE(after.keep(id_of(3), certificate_text(3)).ok());
  EXPECT_THAT(check_chain(folder_, before)->problems, IsEmpty());
  EXPECT_EQ(check_chain(folder_, before)->keys.size(), 2U);
  // Whoever knows the new key alone learns nothing of the old one by it.
  EXPECT_EQ(check_chain(folder_, {next.public_key()})->problems.size(), 2U);
}

// Who finds a key that was replaced signs nothing with it that anybody takes for the host's.
TEST_F(AuditTest, AKeyInWhosePlaceAnotherWasPutSignsNothingMore) {
  keep(1);
  const SigningKey former = *SigningKey::load_or_create(key_path_);
  const SigningKey next = other_key();
  endorse(next.public_key());
  forge(former, id_of(3), certificate_text(3));
  EXPECT_THAT(problems(), ElementsAre(AllOf(HasSubstr("in whose place entry 2 put another"),
                                            HasSubstr(former.public_key().id()))));
  // Nor does it vouch for another one.
  forge_endorsement(former, key_named("third").public_key());
  EXPECT_EQ(check_chain(folder_, keys())->keys.size(), 2U);
  forge(key_named("third"), id_of(5), certificate_text(5));
  EXPECT_EQ(problems().size(), 3U);
}

TEST_F(AuditTest, AKeyThatWasReplacedWithoutItsWordSignsNothingMoreEither) {
  keep(1);
  const SigningKey former = *SigningKey::load_or_create(key_path_);
  const SigningKey next = other_key();
  forge(next, id_of(2), certificate_text(2));
  forge(former, id_of(3), certificate_text(3));
  const auto both = check_chain(folder_, {former.public_key(), next.public_key()});
  ASSERT_EQ(both->problems.size(), 1U);
  EXPECT_THAT(both->problems[0].what, HasSubstr("in whose place entry 2 put another"));
}

TEST_F(AuditTest, AFormerKeyThatIsEndorsedAgainSignsAgain) {
  keep(1);
  const SigningKey former = *SigningKey::load_or_create(key_path_);
  endorse(other_key().public_key());
  forge_endorsement(other_key(), former.public_key());
  forge(former, id_of(4), certificate_text(4));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(AuditTest, TheHostItselfDoesNotGoOnWithAReplacedKey) {
  keep(1);
  EXPECT_TRUE(chain().check_key());
  endorse(other_key().public_key());
  const auto kept = chain().keep(id_of(3), certificate_text(3));
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Errc::refused);
  EXPECT_THAT(kept.error().what,
              AllOf(HasSubstr("entry 2 of "), HasSubstr("put the private half")));
  EXPECT_EQ(chain().check_key().error().code, Errc::refused);
  EXPECT_TRUE(CertificateChain(folder_, other_key()).check_key());
  // Nor does a backup bring the former one back.
  forge(other_key(), id_of(3), certificate_text(3));
  EXPECT_EQ(chain().check_key().error().code, Errc::refused);
  EXPECT_TRUE(CertificateChain(folder_, other_key()).check_key());
  // One that nobody knows yet may follow, as where a key was lost.
  EXPECT_TRUE(CertificateChain(folder_, key_named("third")).check_key());
}

// Other tools read it too, and see what they look for alone.
TEST_F(AuditTest, WhatIsSaidOfAKeyHasOneForm) {
  const SigningKey key = *SigningKey::load_or_create(key_path_);
  for (const bool plain : {true, false}) {
    std::filesystem::remove_all(folder_);
    keep(1);
    AuditEntry entry;
    entry.event = AuditEvent::key_endorsed;
    entry.host = "compute-1";
    entry.public_key = *other_key().public_key().pem();
    if (!plain) entry.key_id = std::string(64, '0');
    entry.at = WallMs{1'763'640'000'000};
    entry = identified(entry);
    forge(key, entry.id, encode_audit(entry), SealedKind::audit);
    EXPECT_EQ(problems().empty(), plain);
  }
}

// A key that leaked before it was replaced: whoever has it may have signed what came since.
TEST_F(AuditTest, ARevokedKeyProvesNothingFromThatEntryOn) {
  keep(3);
  const SigningKey leaked = *SigningKey::load_or_create(key_path_);
  const SigningKey next = other_key();
  endorse(next.public_key());
  forge(next, id_of(5), certificate_text(5));
  EXPECT_THAT(problems(), IsEmpty());
  forge_revocation(next, leaked.public_key().id(), 3);
  // With both keys: the certificate and the endorsement since then; what came before counts.
  const auto both = check_chain(folder_, {leaked.public_key(), next.public_key()});
  ASSERT_EQ(both->problems.size(), 2U);
  EXPECT_EQ(both->problems[0].file, sealed_name(3, id_of(3)));
  EXPECT_THAT(both->problems[0].what,
              AllOf(HasSubstr("entry 6 revokes from entry 3 on: a \"copy\" of it was found"),
                    HasSubstr(leaked.public_key().id())));
  EXPECT_EQ(both->revoked.at(leaked.public_key().id()).from, 3U);
  // With the leaked one alone: it vouches for no other, so nothing behind it counts.
  EXPECT_EQ(check_chain(folder_, {leaked.public_key()})->problems.size(), 4U);
  // A second word on it takes nothing back.
  forge_revocation(next, leaked.public_key().id(), 7);
  EXPECT_EQ(check_chain(folder_, {leaked.public_key(), next.public_key()})->problems.size(), 2U);
}

// Who has the leaked key revokes nobody's, and who has none does not either.
TEST_F(AuditTest, OnlyTheKeyInUseRevokesAnother) {
  keep(1);
  const SigningKey leaked = *SigningKey::load_or_create(key_path_);
  const SigningKey next = other_key();
  endorse(next.public_key());
  forge(next, id_of(3), certificate_text(3));
  for (const SigningKey& by : {leaked, key_named("stranger")}) {
    forge_revocation(by, next.public_key().id(), 1);
    const auto report = check_chain(folder_, keys());
    EXPECT_THAT(report->revoked, IsEmpty());
    fs::remove(folder_ + "/" + list_chain(folder_)->files.back().name);
  }
}

TEST_F(AuditTest, TheHostItselfDoesNotGoOnWithARevokedKey) {
  keep(1);
  const std::string own = keys().front().id();
  forge(other_key(), id_of(2), certificate_text(2));
  forge_revocation(other_key(), own, 1);
  const Status may = chain().check_key();
  ASSERT_FALSE(may);
  EXPECT_EQ(may.error().code, Errc::refused);
  EXPECT_THAT(may.error().what,
              AllOf(HasSubstr("entry 3 of "), HasSubstr("revokes this signing key"),
                    HasSubstr("put a new key in its place")));
  EXPECT_TRUE(CertificateChain(folder_, other_key()).check_key());
  // Though its successor endorses it, and whatever was sealed since.
  forge_endorsement(other_key(), keys().front());
  EXPECT_FALSE(chain().check_key());
  for (int number = 5; number < 8; ++number) {
    forge(other_key(), id_of(number), certificate_text(number));
  }
  EXPECT_FALSE(chain().check_key());
  EXPECT_EQ(chain().keep(id_of(8), certificate_text(8)).error().code, Errc::refused);
}

// It was to be the next, and leaked before it was used.
TEST_F(AuditTest, AnEndorsedKeyThatAnotherCameInsteadOfSignsNothing) {
  keep(1);
  const SigningKey unused = key_named("unused");
  endorse(unused.public_key());
  forge(other_key(), id_of(3), certificate_text(3));
  const std::vector<PublicKey> given = {keys().front(), other_key().public_key()};
  EXPECT_THAT(check_chain(folder_, given)->problems, IsEmpty());
  forge(unused, id_of(4), certificate_text(4));
  ASSERT_EQ(check_chain(folder_, given)->problems.size(), 1U);
  EXPECT_THAT(check_chain(folder_, given)->problems[0].what,
              HasSubstr("in whose place entry 3 put another"));
}

// Who may write the folder, and has a former key.
TEST_F(AuditTest, WhatIsNotAtItsPlaceSaysNothingOfKeys) {
  keep(1);
  const SigningKey former = *SigningKey::load_or_create(key_path_);
  const SigningKey stranger = key_named("stranger");
  endorse(other_key().public_key());
  forge(other_key(), id_of(3), certificate_text(3));
  AuditEntry forged = entry(AuditEvent::key_endorsed, "", 9);
  forged.public_key = *stranger.public_key().pem();
  forged = identified(forged);
  write(folder_ + "/" + sealed_name(1, forged.id),
        *seal(former, 1, kNoPrevious, encode_audit(forged), SealedKind::audit));
  forge(stranger, id_of(5), certificate_text(5));
  const auto report = check_chain(folder_, keys());
  EXPECT_TRUE(report->broken());
  EXPECT_EQ(report->keys.size(), 1U);
}

// Entries in a chain, each of its own minute. What names no serial is of the drive that the place
// has when it is named next.
TEST_F(AuditTest, AnEntryWithoutASerialIsOfTheDriveThatItsPlaceHasNext) {
  struct One {
    std::optional<AuditEvent> event;  // nothing: a certificate
    const char* instance;
    const char* serial;
    const char* address = "0000:c1:00.0";
    const char* host = "compute-1";
  };
  struct Case {
    const char* name;
    std::vector<One> told;
    std::vector<std::string> missing;  // of which drives
  };
  constexpr auto kSeen = AuditEvent::tenancy_seen;
  constexpr auto kEnded = AuditEvent::tenancy_ended;
  constexpr auto kError = AuditEvent::quarantined;
  constexpr auto kErased = std::nullopt;
  const char* const other = "0000:c2:00.0";
  for (const Case& each : {
           Case{"known with the quarantine",
                {{kSeen, "a", ""}, {kEnded, "a", ""}, {kError, "a", "S1"}, {kSeen, "b", "S1"}},
                {"S1"}},
           Case{"known with the next",
                {{kSeen, "a", ""}, {kEnded, "a", ""}, {kSeen, "b", "S1"}},
                {"S1"}},
           Case{"known with the next, no end", {{kSeen, "a", ""}, {kSeen, "b", "S1"}}, {"S1"}},
           Case{"known with the end of the next",
                {{kSeen, "a", ""}, {kEnded, "a", ""}, {kSeen, "b", ""}, {kEnded, "b", "S1"}},
                {"S1"}},
           Case{"known with the erasure of the next",
                {{kSeen, "a", ""}, {kSeen, "b", ""}, {kErased, "b", "S1"}, {kSeen, "c", "S1"}},
                {"S1"}},
           Case{"erased between, which names it",
                {{kSeen, "a", ""}, {kEnded, "a", ""}, {kErased, "a", "S1"}, {kSeen, "b", "S1"}},
                {}},
           Case{"erased between, and quarantined before",
                {{kSeen, "a", ""}, {kError, "a", "S1"}, {kErased, "a", "S1"}, {kSeen, "b", "S1"}},
                {}},
           Case{"erased between, and not known again",
                {{kSeen, "a", ""}, {kErased, "a", "S1"}, {kSeen, "b", ""}},
                {}},
           Case{"known, not known, known again",
                {{kSeen, "a", "S1"}, {kEnded, "a", ""}, {kSeen, "b", ""}, {kError, "b", "S1"}},
                {"S1"}},
           Case{"known, not known, known again, and erased",
                {{kSeen, "a", "S1"},
                 {kEnded, "a", ""},
                 {kErased, "a", "S1"},
                 {kSeen, "b", ""},
                 {kError, "b", "S1"}},
                {}},
           Case{"known, and not known again",
                {{kSeen, "a", "S1"}, {kEnded, "a", "S1"}, {kSeen, "b", ""}},
                {"S1"}},
           Case{"not known, known, and not known again",
                {{kSeen, "a", ""}, {kError, "a", "S1"}, {kSeen, "b", ""}},
                {"S1"}},
           Case{"never known",
                {{kSeen, "a", ""}, {kSeen, "b", ""}},
                {"device at 0000:c1:00.0 of compute-1"}},
           Case{"another drive was there before",
                {{kSeen, "a", "S1"}, {kErased, "a", "S1"}, {kSeen, "b", ""}, {kSeen, "c", "S2"}},
                {"S2"}},
           Case{"two, each at its place",
                {{kSeen, "a", ""},
                 {kSeen, "b", "", other},
                 {kError, "a", "S1"},
                 {kError, "b", "S2", other}},
                {}},
           Case{"two that nobody knows", {{kSeen, "a", ""}, {kSeen, "b", "", other}}, {}},
           Case{"known at another place", {{kSeen, "a", ""}, {kSeen, "b", "S1", other}}, {}},
           Case{"known, and moved to another place",
                {{kSeen, "a", ""}, {kError, "a", "S1"}, {kSeen, "b", "S1", other}},
                {"S1"}},
           Case{"another host's same address",
                {{kSeen, "a", ""}, {kSeen, "b", "S1", "0000:c1:00.0", "compute-2"}},
                {}},
           Case{"another host's same address, never known",
                {{kSeen, "a", ""}, {kSeen, "b", "", "0000:c1:00.0", "compute-2"}},
                {}},
           Case{"another drive's serial is that address",
                {{kSeen, "a", ""}, {kErased, "x", "0000:c1:00.0", other}, {kSeen, "b", ""}},
                {"device at 0000:c1:00.0 of compute-1"}},
       }) {
    fs::remove_all(folder_);
    int minute = 0;
    for (const One& one : each.told) {
      minute += 1;
      if (one.event) {
        AuditEntry made = entry(*one.event, one.instance, std::int64_t{60} * minute);
        made.serial = one.serial;
        made.address = one.address;
        made.host = one.host;
        keep_audit(made);
        continue;
      }
      Certificate erased = *decode_certificate(certificate_text(minute));
      erased.instance = one.instance;
      erased.serial = one.serial;
      erased.address = one.address;
      erased.host = one.host;
      erased.started_at = WallMs{1'763'640'000'000 + std::int64_t{60'000} * minute};
      ASSERT_TRUE(chain().keep(erased.id, encode_certificate(erased)).ok());
    }
    std::vector<std::string> missing;
    for (const MissingErasure& one : find_missing_erasures(*drive_events(folder_))) {
      missing.push_back(one.tenancy.drive);
    }
    EXPECT_EQ(missing, each.missing) << each.name;
  }
}

// Of seven entries one may be a certificate.
TEST_F(AuditTest, EntriesAndCertificatesAreCountedApart) {
  EXPECT_EQ(extent_of(*check_chain(folder_, {other_key().public_key()})), "no entry yet");
  keep_audit(entry(AuditEvent::tenancy_seen, "a", 1));
  keep(1);
  EXPECT_THAT(extent_of(*check_chain(folder_, keys())),
              HasSubstr("entries 1 to 2 (1 certificate), whole and signed"));
}

TEST_F(AuditTest, AKeyThatTheFormerOneDidNotEndorseIsTold) {
  const SigningKey next = other_key();
  const auto told = [&](const PublicKey& key) {
    return check_own_chain(folder_, key, 1'000)->unendorsed;
  };
  EXPECT_EQ(told(next.public_key()), std::nullopt) << "it is the first";
  keep(1);
  EXPECT_EQ(told(keys().front()), std::nullopt);
  EXPECT_EQ(told(next.public_key()), keys().front().id());
  const CertificateChain after(folder_, other_key());
  ASSERT_TRUE(after.keep(id_of(2), certificate_text(2)).ok());
  EXPECT_EQ(told(next.public_key()), keys().front().id()) << "it is told with each start";
  EXPECT_THAT(said_at_a_start(next), ElementsAre(HasSubstr("none of those given")));
}

// Of a host whose keys follow one another nothing is said at each start.
TEST_F(AuditTest, KeysThatEndorsedTheNextAreNotToldOf) {
  keep(2);
  endorse(other_key().public_key());
  EXPECT_THAT(said_at_a_start(other_key()), IsEmpty());
  const SigningKey third = key_named("third");
  forge_endorsement(other_key(), third.public_key());
  forge(third, id_of(5), certificate_text(5));
  EXPECT_THAT(said_at_a_start(third), IsEmpty());
  EXPECT_EQ(check_own_chain(folder_, third.public_key(), 1'000)->unendorsed, std::nullopt);
  const std::string whole = content(path_of(2));
  write(path_of(2), content(path_of(1)));
  EXPECT_THAT(said_at_a_start(third), Not(IsEmpty())) << "what they signed is looked at";
  write(path_of(2), whole);
  forge_revocation(third, keys().front().id(), 2);
  EXPECT_THAT(said_at_a_start(third), SizeIs(3)) << "what it signed stands there, void in part";
}

// An endorsement that another entry of its key follows was not its last word.
TEST_F(AuditTest, AKeyThatSignedOnBehindItsEndorsementIsToldOf) {
  keep(1);
  endorse(other_key().public_key());
  forge(*SigningKey::load_or_create(key_path_), id_of(3), certificate_text(3));
  forge(other_key(), id_of(4), certificate_text(4));
  EXPECT_THAT(said_at_a_start(other_key()), SizeIs(3));
}

TEST_F(AuditTest, AKeyThatAnUnknownOneEndorsesIsNotFollowed) {
  keep(1);
  const auto third = SigningKey::load_or_create(state_path_ + "/third.key");
  AuditEntry made = entry(AuditEvent::key_endorsed, "", 1);
  made.public_key = *third->public_key().pem();
  made = identified(made);
  const CertificateChain forged(folder_, other_key());
  ASSERT_TRUE(forged.keep(made.id, encode_audit(made), SealedKind::audit).ok());
  const CertificateChain after(folder_, *third);
  ASSERT_TRUE(after.keep(id_of(3), certificate_text(3)).ok());
  EXPECT_EQ(check_chain(folder_, keys())->problems.size(), 2U);
  EXPECT_EQ(check_chain(folder_, keys())->keys.size(), 1U);
}

}  // namespace
}  // namespace reclaim::proof
