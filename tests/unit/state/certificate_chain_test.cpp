// The chain as files: what a crash leaves heals, what a hand leaves is found.
#include "state/certificate/chain.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/unit/state/proof_fixture.h"

namespace reclaim::proof {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ChainTest = ProofTest;

TEST_F(ChainTest, EachIsChainedToTheFileBefore) {
  keep(3);
  const auto first = open_seal(content(path_of(1)));
  const auto third = open_seal(content(path_of(3)));
  ASSERT_TRUE(first.ok() && third.ok());
  EXPECT_EQ(first->previous, kNoPrevious);
  EXPECT_EQ(third->sequence, 3U);
  EXPECT_EQ(third->previous, sha256_of(content(path_of(2))));
  EXPECT_EQ(content(folder_ + "/head"),
            sha256_of(content(path_of(3))) + "  " + sealed_name(3, id_of(3)) + "\n");
  const auto report = check_chain(folder_, keys());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count, 3U);
  EXPECT_EQ(report->first, 1U);
  EXPECT_EQ(report->last, 3U);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ChainTest, ACertificateIsSealedOnce) {
  keep(2);
  const std::string before = content(path_of(1));
  for (const int number : {1, 2}) {
    const auto again = chain().keep(id_of(number), certificate_text(9));
    ASSERT_TRUE(again.ok()) << again.error().what;
    EXPECT_EQ(*again, content(path_of(number)));
  }
  EXPECT_EQ(content(path_of(1)), before);
  EXPECT_EQ(list_chain(folder_)->files.size(), 2U);
  EXPECT_THAT(problems(), IsEmpty());
}

// keep() writes a file beside, renames it, writes the head beside, renames that.
TEST_F(ChainTest, ACrashBetweenAnyTwoStepsHeals) {
  keep(2);
  const std::string head_of_one =
      sha256_of(content(path_of(1))) + "  " + sealed_name(1, id_of(1)) + "\n";
  for (const int next : {2, 3}) {  // the interrupted one again, or another first
    for (const bool head_beside : {false, true}) {
      fs::remove(path_of(3));
      write(folder_ + "/head", head_of_one);
      if (head_beside) write(folder_ + "/.head.tmp", "half a li");
      write(folder_ + "/." + sealed_name(3, id_of(3)) + ".tmp", "{\"sealed\":\n{\"sequ");
      const auto kept = chain().keep(id_of(next), certificate_text(next));
      ASSERT_TRUE(kept.ok()) << kept.error().what;
      EXPECT_EQ(list_chain(folder_)->files.size(), static_cast<std::size_t>(next));
      EXPECT_THAT(problems(), IsEmpty());
    }
  }
}

TEST_F(ChainTest, TheFirstMayLackItsHeadAfterACrash) {
  keep(1);
  fs::remove(folder_ + "/head");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("head: is missing")));
  ASSERT_TRUE(chain().keep(id_of(2), certificate_text(2)).ok());
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ChainTest, NothingIsSealedBehindADamagedEnd) {
  keep(3);
  const auto refused = [this] {
    const auto kept = chain().keep(id_of(4), certificate_text(4));
    return kept.ok() ? std::string("kept") : kept.error().what;
  };
  const std::string last = content(path_of(3));
  const std::string head = content(folder_ + "/head");
  write(path_of(3), last.substr(0, last.size() / 2));
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_of(3)), HasSubstr("was changed")));
  fs::remove(path_of(3));
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_of(3)), HasSubstr("is missing")));
  write(path_of(3), last);
  write(folder_ + "/head", "torn");
  EXPECT_THAT(refused(), AllOf(HasSubstr(folder_ + "/head"), HasSubstr("SHA-256")));
  fs::remove(folder_ + "/head");
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_of(3)), HasSubstr("no head names")));
  // One behind, as after a crash, but the new end is torn, or another's.
  const std::string head_of_two =
      sha256_of(content(path_of(2))) + "  " + sealed_name(2, id_of(2)) + "\n";
  write(folder_ + "/head", head_of_two);
  write(path_of(3), last.substr(0, last.size() - 1));
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_of(3)), HasSubstr("not a whole sealed certificate")));
  const auto key = SigningKey::load(key_path_);
  write(path_of(3), *seal(*key, 3, std::string(64, 'b'), certificate_text(3)));
  EXPECT_THAT(refused(), AllOf(HasSubstr(path_of(3)), HasSubstr("is not the one that follows")));
  write(path_of(3), last);
  write(folder_ + "/head", head);
  EXPECT_EQ(refused(), "kept");
  fs::remove_all(folder_);
  EXPECT_EQ(refused(), "kept");  // a new chain
  EXPECT_TRUE(fs::exists(folder_ + "/" + sealed_name(1, id_of(4))));
}

TEST_F(ChainTest, AChangedFileIsFound) {
  keep(3);
  const std::string text = content(path_of(2));
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write(path_of(2), changed);
    ASSERT_THAT(problems(), Contains(HasSubstr(sealed_name(2, id_of(2))))) << at;
  }
  write(path_of(2), text.substr(0, 100));
  EXPECT_THAT(problems(), Contains(HasSubstr("not a whole sealed certificate")));
}

TEST_F(ChainTest, OneThatWasSealedAnewIsFound) {
  keep(3);
  const auto key = SigningKey::load(key_path_);
  std::string other = certificate_text(2);
  other.replace(other.find("\"S2\""), 4, "\"S5\"");
  write(path_of(2), *seal(*key, 2, sha256_of(content(path_of(1))), other));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is not chained to " + sealed_name(2, id_of(2)))));
}

TEST_F(ChainTest, TheNewestSealedAnewIsFoundByTheHead) {
  keep(2);
  const auto key = SigningKey::load(key_path_);
  std::string other = certificate_text(2);
  other.replace(other.find("\"S2\""), 4, "\"S5\"");
  write(path_of(2), *seal(*key, 2, sha256_of(content(path_of(1))), other));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("the head knows another SHA-256")));
}

TEST_F(ChainTest, WhatIsSealedBehindTheEndNeedsNoGoodEnd) {
  keep(2);
  write(path_of(2), "torn");
  const auto again = chain().keep(id_of(1), certificate_text(1));
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(*again, content(path_of(1)));
  EXPECT_FALSE(chain().keep(id_of(2), certificate_text(2)).ok());
}

TEST_F(ChainTest, ACertificateThatBreaksTheSchemaIsFoundThoughItIsSigned) {
  std::string bad = certificate_text(1);
  bad.replace(bad.find("\"purge\""), 7, "\"clean\"");
  ASSERT_TRUE(chain().keep(id_of(1), bad).ok());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("published schema at '/sanitization_class'")));
}

TEST_F(ChainTest, AMissingOneIsFoundWhereverItStood) {
  keep(5);
  const auto without = [this](std::vector<int> numbers) {
    fs::create_directory(state_path_ + "/aside");
    for (const int number : numbers) {
      fs::rename(path_of(number), state_path_ + "/aside/" + std::to_string(number));
    }
    auto found = problems();
    for (const int number : numbers) {
      fs::rename(state_path_ + "/aside/" + std::to_string(number), path_of(number));
    }
    return found;
  };
  EXPECT_THAT(without({1}), ElementsAre(HasSubstr("entry 1 is missing")));
  EXPECT_THAT(without({3}), ElementsAre(HasSubstr("entry 3 is missing")));
  EXPECT_THAT(without({2, 3}), ElementsAre(HasSubstr("entries 2 to 3 are missing")));
  EXPECT_THAT(without({5}), ElementsAre(HasSubstr("the head says that it is the newest")));
  EXPECT_THAT(without({1, 2, 3, 4, 5}), ElementsAre(HasSubstr("the head says")));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ChainTest, AnotherOrderIsFound) {
  keep(3);
  const std::string one = content(path_of(1));
  write(path_of(1), content(path_of(2)));
  write(path_of(2), one);
  EXPECT_THAT(problems(), Contains(HasSubstr("it was renamed or put in another's place")));
  keep(1);
}

TEST_F(ChainTest, WhatDoesNotBelongThereIsFound) {
  keep(2);
  write(folder_ + "/note.txt", "hello");
  write(folder_ + "/" + sealed_name(2, id_of(8)), content(path_of(2)));
  EXPECT_THAT(problems(),
              AllOf(Contains(HasSubstr("note.txt: is not a certificate of this chain")),
                    Contains(HasSubstr("has the place of " + sealed_name(2, id_of(2))))));
  EXPECT_THAT(chain().keep(id_of(3), certificate_text(3)).error().what, HasSubstr("as well"));
}

TEST_F(ChainTest, AReplacedKeyIsFound) {
  keep(2);
  const auto before = keys();
  fs::remove(key_path_);
  ASSERT_TRUE(chain().keep(id_of(3), certificate_text(3)).ok());
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("none of those given"), HasSubstr("none of those given")));
  auto both = keys();
  both.push_back(before.front());
  EXPECT_THAT(check_chain(folder_, both)->problems, IsEmpty());
}

TEST_F(ChainTest, ItMayGrowWhileItIsLookedAt) {
  keep(2);
  const std::string head = content(folder_ + "/head");
  std::atomic<bool> all_kept{false};
  std::thread worker([&] {
    const CertificateChain own = chain();
    for (int number = 3; number < 80; ++number) {
      EXPECT_TRUE(own.keep(id_of(number), certificate_text(number)).ok());
    }
    all_kept = true;
  });
  while (!all_kept) {
    EXPECT_THAT(check_chain(folder_, keys())->problems, IsEmpty());
    EXPECT_THAT(check_chain(folder_, keys(), 1)->problems, IsEmpty());
  }
  worker.join();
  // One that does not move on is a head of other entries.
  write(folder_ + "/head", head);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is the newest")));
}

TEST_F(ChainTest, TheNewestCanBeLookedAtAlone) {
  keep(3);
  write(path_of(1), "torn");
  const auto report = check_chain(folder_, keys(), 2);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->count, 2U);
  EXPECT_EQ(report->first, 2U);
}

TEST_F(ChainTest, AVoidCertificateIsNoErasure) {
  keep(2);
  const SigningKey leaked = *SigningKey::load_or_create(key_path_);
  const SigningKey next = key_named("next");
  forge_endorsement(leaked, next.public_key());
  forge(next, id_of(4), certificate_text(4));
  const std::vector<PublicKey> both = {leaked.public_key(), next.public_key()};
  EXPECT_THAT(check_chain(folder_, both)->doubted.revoked, IsEmpty());
  forge_revocation(next, leaked.public_key().id(), 2);
  const auto listing = list_chain(folder_);
  const auto report = check_chain(folder_, both);
  EXPECT_THAT(report->doubted.revoked, ElementsAre(listing->files[1].name, listing->files[2].name));
  const auto events = drive_events(folder_, report->doubted)->proven;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].sequence, 1U);
  EXPECT_EQ(events[1].sequence, 4U);
  // Also where the leaked key itself is not among those that are known.
  const auto by_one = check_chain(folder_, {next.public_key()});
  EXPECT_TRUE(by_one->doubted.revoked.contains(listing->files[1].name));
  EXPECT_TRUE(by_one->doubted.revoked.contains(listing->files[2].name));
}

// Whoever has an old key and may write the folder leaves a gap, and the key counts no more by it.
TEST_F(ChainTest, AVoidCertificateOutOfItsOrderIsNoErasure) {
  keep(1);
  const SigningKey old = *SigningKey::load_or_create(key_path_);
  const SigningKey next = key_named("next");
  forge_endorsement(old, next.public_key());
  forge(next, id_of(3), certificate_text(3));
  for (const bool revoked : {false, true}) {
    if (revoked) forge_revocation(next, old.public_key().id(), 2);
    forge(old, id_of(8), certificate_text(8));
    forge(old, id_of(9), certificate_text(9));
    const auto files = list_chain(folder_)->files;
    std::filesystem::remove(folder_ + "/" + files[files.size() - 2].name);
    const auto report = check_chain(folder_, {old.public_key(), next.public_key()});
    EXPECT_TRUE(report->doubted.revoked.contains(files.back().name)) << revoked;
    const auto events = drive_events(folder_, report->doubted)->proven;
    ASSERT_EQ(events.size(), 2U) << revoked;
    EXPECT_EQ(events[1].sequence, 3U);
    std::filesystem::remove(folder_ + "/" + files.back().name);
  }
}

// Whoever may write the folder adds one by a key of his own, and a copy of another.
TEST_F(ChainTest, WhatNoKnownKeySignedIsToldApart) {
  keep(2);
  const std::string second = list_chain(folder_)->files[1].name;
  forge(key_named("stranger"), id_of(3), certificate_text(3));
  const std::vector<PublicKey> keys = {SigningKey::load_or_create(key_path_)->public_key()};
  const auto told = [&](const std::vector<PublicKey>& by) {
    const auto events = drive_events(folder_, check_chain(folder_, by)->doubted);
    return std::pair(events->proven.size(), events->with_unproven.size());
  };
  EXPECT_EQ(told(keys), std::pair(2UL, 3UL));
  EXPECT_EQ(told({}), std::pair(0UL, 3UL)) << "without a key";
  std::filesystem::remove(folder_ + "/" + list_chain(folder_)->files[2].name);
  std::string copy = second;
  copy.replace(0, copy.find('-'), std::string(copy.find('-') - 1, '0') + "3");
  std::filesystem::copy_file(folder_ + "/" + second, folder_ + "/" + copy);
  EXPECT_EQ(told(keys), std::pair(2UL, 3UL)) << "a copy in another's place";
}

// A snapshot of a host was put back, so that its key sealed two histories. Whoever may write the
// folder takes from the other one what he likes.
TEST_F(ChainTest, ACertificateOfAnotherHistoryIsNoErasure) {
  const SigningKey key = key_named("ours");
  const std::vector<PublicKey> keys = {key.public_key()};
  fs::create_directory(folder_);
  const auto see = [&](const char* instance, std::int64_t at_ms) {
    AuditEntry seen;
    seen.host = "compute-1";
    seen.address = "0000:c1:00.0";
    seen.serial = "S1";
    seen.instance = instance;
    seen.at = WallMs{at_ms};
    seen = identified(seen);
    forge(key, seen.id, encode_audit(seen), SealedKind::audit);
  };
  see("one", 1'763'630'000'000);
  see("two", 1'763'645'000'000);
  forge(key, id_of(2), certificate_text(2));  // of other drives
  forge(key, id_of(3), certificate_text(3));
  const auto missing = [&](const ChainReport& report) {
    return find_missing_erasures(*drive_events(folder_, report.doubted)).size();
  };
  const auto whole = check_chain(folder_, keys);
  ASSERT_THAT(whole->problems, IsEmpty());
  ASSERT_EQ(missing(*whole), 1U);
  const auto files = list_chain(folder_)->files;
  const auto digest = [&](std::size_t number) {
    return sha256_of(content(folder_ + "/" + files[number - 1].name));
  };
  const auto expect_no_erasure = [&](std::uint64_t sequence, const std::string& before,
                                     const std::string& id, bool with_head = false) {
    const std::string name = sealed_name(sequence, id);
    const std::string head = content(folder_ + "/head");
    Certificate erased = *decode_certificate(certificate_text(1));
    erased.id = id;
    const std::string sealed = *seal(key, sequence, before, encode_certificate(erased));
    write(folder_ + "/" + name, sealed);
    if (with_head) write(folder_ + "/head", sha256_of(sealed) + "  " + name + "\n");
    const auto report = check_chain(folder_, keys);
    EXPECT_THAT(report->doubted.disputed, Contains(name)) << before;
    EXPECT_EQ(missing(*report), 1U) << name << before;
    fs::remove(folder_ + "/" + name);
    write(folder_ + "/head", head);
  };
  const std::string foreign(64, 'a');
  const std::string first = "00000000-0000-4000-8000-000000000000";  // sorts before the others
  const std::string last = "ffffffff-0000-4000-8000-000000000000";
  for (const std::string& id : {first, last}) {
    expect_no_erasure(1, std::string(kNoPrevious), id);
    expect_no_erasure(2, digest(1), id);  // where the two histories part
    expect_no_erasure(2, foreign, id);
    expect_no_erasure(4, digest(3), id);
    expect_no_erasure(4, foreign, id);
    fs::rename(folder_ + "/" + files[2].name, state_path_ + "/aside");
    expect_no_erasure(3, digest(2), id);  // in another's place
    fs::rename(state_path_ + "/aside", folder_ + "/" + files[2].name);
  }
  expect_no_erasure(5, digest(4), first);
  expect_no_erasure(5, foreign, first, true);
  expect_no_erasure(6, foreign, first, true);
  // A run of it: each follows the one before, and the first of them nothing of this history.
  const auto run_begins = [&](std::uint64_t sequence) {
    const std::string sealed = *seal(key, sequence, foreign, certificate_text(8));
    write(folder_ + "/" + sealed_name(sequence, id_of(8)), sealed);
    return sha256_of(sealed);
  };
  for (const std::uint64_t sequence : {6UL, 7UL}) {
    for (const bool with_head : {false, true}) {
      expect_no_erasure(sequence + 1, run_begins(sequence), first, with_head);
    }
    fs::remove(folder_ + "/" + sealed_name(sequence, id_of(8)));
  }
  // Its tenancies may be invented, and say nothing of another entry's.
  const std::string other = sealed_name(2, first);
  AuditEntry seen = *decode_audit(open_entry(folder_, files[1].name)->content);
  seen.id = first;
  write(folder_ + "/" + other, *seal(key, 2, digest(1), encode_audit(seen), SealedKind::audit));
  const auto told = drive_events(folder_, check_chain(folder_, keys)->doubted)->proven;
  EXPECT_THAT(told,
              Contains(AllOf(Field(&DriveEvent::file, other), Field(&DriveEvent::is_void, true))));
  fs::remove(folder_ + "/" + other);
  // What no key of ours signed puts nothing in dispute.
  write(folder_ + "/" + sealed_name(3, id_of(7)),
        *seal(key_named("stranger"), 3, foreign, certificate_text(7)));
  EXPECT_THAT(check_chain(folder_, keys)->doubted.disputed, IsEmpty());
}

// Who has a key that leaked could say that the first tenancy was of another drive.
TEST_F(ChainTest, AVoidEntryNamesTheDriveOfAnotherOnlyWhereNothingElseDoes) {
  std::vector<std::string> names;
  const auto say = [&](AuditEvent event, const char* instance, const char* serial) {
    AuditEntry made;
    made.event = event;
    made.host = "compute-1";
    made.address = "0000:c1:00.0";
    made.serial = serial;
    made.instance = instance;
    made.at = WallMs{1'763'640'000'000 + static_cast<std::int64_t>(names.size()) * 1000};
    made = identified(made);
    ASSERT_TRUE(chain().keep(made.id, encode_audit(made), SealedKind::audit).ok());
    names.push_back(list_chain(folder_)->files.back().name);
  };
  const auto drives = [&](const std::set<std::string>& revoked) {
    std::vector<std::string> found;
    const auto events = drive_events(folder_, {revoked, {}});
    for (const DriveEvent& event : events->proven) {
      found.push_back(event.drive + (event.is_void ? ", void" : ""));
    }
    return found;
  };
  say(AuditEvent::tenancy_seen, "one", "");
  say(AuditEvent::quarantined, "one", "ANOTHER");
  EXPECT_THAT(drives({names[1]}), ElementsAre("ANOTHER"));
  say(AuditEvent::tenancy_seen, "two", "S1");
  EXPECT_THAT(drives({}), ElementsAre("ANOTHER", "S1"));
  EXPECT_THAT(drives({names[1]}), ElementsAre("S1", "S1"));
  EXPECT_EQ(find_missing_erasures(*drive_events(folder_, {{names[1]}, {}})).size(), 1U);
  EXPECT_THAT(drives({names[2]}), ElementsAre("ANOTHER", "S1, void"));
}

}  // namespace
}  // namespace reclaim::proof
