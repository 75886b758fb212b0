// When an ARQ binds a device, and when it no longer does.
#include "handlers/arq/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

namespace reclaim {
namespace {

const PciAddress kAddress{0, 0xc1, 0, 0};
constexpr const char* kHost = "compute-1";
constexpr const char* kNode = "compute-1.example.org";
constexpr const char* kProvider = "11111111-0000-4000-8000-000000000001";
constexpr const char* kBind = "accelerator_request.bind.end";
constexpr const char* kUnbind = "accelerator_request.unbind.end";

Now at(std::int64_t ms) {
  return Now{WallMs{1'000'000 + ms}, MonoMs{ms}};
}

Arq bound(const std::string& uuid = "arq-1") {
  Arq arq;
  arq.uuid = uuid;
  arq.state = ArqState::bound;
  arq.hostname = kHost;
  arq.instance_uuid = "vm-1";
  arq.attach_handle_type = "PCI";
  arq.address = kAddress;
  arq.device_rp_uuid = kProvider;
  arq.updated_at = "2026-11-21T10:00:00+00:00";
  return arq;
}

// As Cyborg leaves it: nobody could tell which device it was.
Arq wiped(const std::string& uuid = "arq-1") {
  Arq arq;
  arq.uuid = uuid;
  arq.state = ArqState::unbound;
  arq.updated_at = "2026-11-21T10:05:00+00:00";
  return arq;
}

struct Book : ::testing::Test {
  ArqBook book{HostNames{kHost, {kNode}}};

  [[nodiscard]] DeviceArqs about(bool free = true, std::int64_t surveyed_from = 1'000) const {
    return book.about({kAddress, kProvider, free, "", MonoMs{surveyed_from}});
  }
  [[nodiscard]] bool binds(bool free = true) const { return about(free).holder.has_value(); }
};

// Nova binds by the name of the node, and MySQL takes any case of letters for the same.
TEST_F(Book, AnArqIsOfThisHostByAnyOfItsNames) {
  for (const std::string& name : {std::string("COMPUTE-1"), std::string("Compute-1.Example.org")}) {
    Arq arq = bound("arq-" + name);
    arq.hostname = name;
    EXPECT_TRUE(book.hear(kBind, arq, at(10))) << name;
    EXPECT_TRUE(binds()) << name;
    Arq listed = bound("listed-" + name);
    listed.hostname = name;
    EXPECT_TRUE(book.reconcile({listed}, MonoMs{30}, at(30))) << name;
  }
  Arq elsewhere = bound("arq-elsewhere");
  elsewhere.hostname = "compute-1.other.org";
  EXPECT_FALSE(book.hear(kBind, elsewhere, at(10)));
}

// Two ARQs of one device, one of them leaked: the end of the other's tenancy is not that of both.
TEST_F(Book, TheAllocationOfAnotherInstanceSaysNothingOfThisBinding) {
  EXPECT_TRUE(book.hear(kBind, bound(), at(10)));
  const std::string mine = bound().instance_uuid;
  ASSERT_FALSE(mine.empty());
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{20}, {"another-instance"}});
  EXPECT_TRUE(book.about({kAddress, kProvider, true, "another-instance", MonoMs{99}}).holder);
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{20}, {mine}});
  EXPECT_FALSE(book.about({kAddress, kProvider, true, "another-instance", MonoMs{99}}).holder);
}

TEST_F(Book, ABoundArqHoldsItsDeviceByAddressOrByProvider) {
  EXPECT_TRUE(book.hear(kBind, bound(), at(10)));
  EXPECT_TRUE(binds());
  EXPECT_TRUE(book.about({PciAddress{0, 9, 0, 0}, kProvider, true, "", MonoMs{99}}).holder);
  EXPECT_TRUE(book.about({kAddress, "another", true, "", MonoMs{99}}).holder);
  EXPECT_FALSE(book.about({PciAddress{0, 9, 0, 0}, "another", true, "", MonoMs{99}}).holder);
}

TEST_F(Book, ABindingThatHasOnlyBegunHoldsToo) {
  Arq arq = bound();
  arq.state = ArqState::initial;
  book.hear("accelerator_request.bind.start", arq, at(10));
  EXPECT_TRUE(binds());
}

TEST_F(Book, AnArqOfAnotherHostIsNotKept) {
  Arq arq = bound();
  arq.hostname = "compute-2";
  EXPECT_FALSE(book.hear(kBind, arq, at(10)));
  EXPECT_EQ(book.size(), 0U);
  EXPECT_TRUE(book.take_unsaved().empty());
}

TEST_F(Book, AFakeDriversHandleNamesNoFunction) {
  Arq arq = bound();
  arq.attach_handle_type = "TEST_PCI";
  arq.device_rp_uuid = "another";
  book.hear(kBind, arq, at(10));
  EXPECT_FALSE(binds());
}

class Ends : public Book, public ::testing::WithParamInterface<const char*> {};

TEST_P(Ends, TheBindingThoughItsDeviceWasWiped) {
  book.hear(kBind, bound(), at(10));
  EXPECT_TRUE(book.hear(GetParam(), wiped(), at(20)));
  EXPECT_FALSE(binds());
  // The tenancy is remembered by its device until that is released.
  ASSERT_TRUE(about().ended.has_value());
  EXPECT_EQ(about().ended->held_at, at(10).wall);
  book.bury(kAddress, kProvider, about().over);
  EXPECT_FALSE(about().ended.has_value());
}

INSTANTIATE_TEST_SUITE_P(Of, Ends, ::testing::Values(kUnbind, "accelerator_request.delete.end"));

TEST_F(Book, AnUnbindingThatFailedOrOnlyBeganStillHolds) {
  book.hear(kBind, bound(), at(10));
  book.hear("accelerator_request.unbind.start", bound(), at(20));
  EXPECT_TRUE(binds());
  book.hear("accelerator_request.unbind.error", bound(), at(30));
  EXPECT_TRUE(binds());
}

TEST_F(Book, ALateWordOfABindingThatIsOverMeansNothing) {
  book.hear(kBind, bound(), at(10));
  book.hear(kUnbind, wiped(), at(20));
  EXPECT_FALSE(book.hear(kBind, bound(), at(30)));
  EXPECT_FALSE(binds());
  // Nor does one whose end was heard before it was known at all.
  book.hear("accelerator_request.delete.end", wiped("arq-2"), at(40));
  EXPECT_FALSE(book.hear(kBind, bound("arq-2"), at(50)));
  EXPECT_FALSE(binds());
}

TEST_F(Book, ABindingAfterTheUnbindingHolds) {
  book.hear(kBind, bound(), at(10));
  book.hear(kUnbind, wiped(), at(20));
  Arq again = bound();
  again.updated_at = "2026-11-21T10:06:00+00:00";
  EXPECT_TRUE(book.hear(kBind, again, at(30)));
  EXPECT_TRUE(binds());
}

TEST_F(Book, NovasWordThatTheInstanceIsGoneEndsIt) {
  book.hear(kBind, bound(), at(10));
  EXPECT_FALSE(book.instance_deleted("vm-2", at(20)));
  EXPECT_TRUE(book.instance_deleted("vm-1", at(20)));
  EXPECT_FALSE(binds());
}

TEST_F(Book, AnAllocationThatWasSeenAndIsGoneEndsIt) {
  book.hear(kBind, bound(), at(10));
  EXPECT_TRUE(binds()) << "none was seen yet";
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{20}});
  EXPECT_TRUE(binds(false));
  EXPECT_FALSE(binds());
}

TEST_F(Book, AnAllocationReadBeforeTheBindingWasHeardSaysNothingOfIt) {
  book.hear(kBind, bound(), at(10));
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{9}});
  EXPECT_TRUE(binds());
}

TEST_F(Book, ALateWordOfTheTenancyThatPlacementShowedHoldsNothing) {
  book.hear(kBind, bound(), at(10));
  const ArqQuestion question{kAddress, kProvider, true, "vm-1", MonoMs{20}};
  EXPECT_FALSE(book.about(question).holder);
  const ArqQuestion before{kAddress, kProvider, true, "vm-1", MonoMs{9}};
  EXPECT_TRUE(book.about(before).holder);
}

TEST_F(Book, AnOperatorsWordEndsItThoughCyborgListsIt) {
  book.hear(kBind, bound(), at(10));
  EXPECT_TRUE(book.let_go(kAddress, kProvider));
  EXPECT_FALSE(binds());
  for (int i = 2; i < 6; ++i) {
    book.reconcile({bound()}, MonoMs{i * 60'000}, at(i * 60'000 + 1));
  }
  EXPECT_FALSE(binds());
}

TEST_F(Book, TimeAloneEndsNothing) {
  book.hear(kBind, bound(), at(10));
  EXPECT_TRUE(book.about({kAddress, kProvider, true, "", MonoMs{1'000'000'000}}).holder);
}

TEST_F(Book, WhatTheApiNoLongerListsIsOver) {
  book.reconcile({bound()}, MonoMs{10}, at(11));
  ASSERT_TRUE(binds());
  for (const std::int64_t ms : {20, 30, 30'000}) book.reconcile({}, MonoMs{ms}, at(ms + 1));
  EXPECT_TRUE(binds()) << "readings may have come from a replica that lags";
  book.reconcile({bound()}, MonoMs{30'005}, at(30'006));
  book.reconcile({}, MonoMs{30'025}, at(30'026));
  EXPECT_TRUE(binds());
  book.reconcile({}, MonoMs{60'025}, at(60'026));
  EXPECT_FALSE(binds());
}

// Cyborg lists by project. Nova allocates before it binds.
TEST_F(Book, WhatTheApiNeverListedIsHiddenFromUsWherePlacementShowedItsAllocation) {
  book.hear(kBind, bound(), at(10));
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{20}});
  for (std::int64_t ms = 60'000; ms < 400'000; ms += 60'000) {
    book.reconcile({}, MonoMs{ms}, at(ms + 1));
  }
  EXPECT_TRUE(binds(false));
}

TEST_F(Book, WhatNeitherTheApiNorPlacementEverShowedIsForgotten) {
  book.hear(kBind, bound(), at(10));
  EXPECT_FALSE(book.reconcile({}, MonoMs{60'000}, at(60'001)));
  EXPECT_TRUE(binds()) << "a replica may lag";
  (void)book.take_unsaved();
  EXPECT_TRUE(book.reconcile({}, MonoMs{120'000}, at(120'001)));
  EXPECT_FALSE(binds());
  EXPECT_FALSE(about().ended) << "nobody had it";
  const auto writes = book.take_unsaved();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_FALSE(writes[0].arq.has_value());
}

// Anybody on the bus can say that an ARQ binds.
TEST_F(Book, OnlyADeviceOfCyborgsHereIsBoundAndByAFewOnly) {
  book.know_devices({{kAddress, kProvider}}, MonoMs{1});
  Arq elsewhere = bound("elsewhere");
  elsewhere.address = PciAddress{0, 0xc2, 0, 0};
  elsewhere.device_rp_uuid = "another";
  EXPECT_FALSE(book.hear(kBind, elsewhere, at(10)));
  Arq nameless = bound("nameless");
  nameless.address.reset();
  nameless.device_rp_uuid.clear();
  EXPECT_FALSE(book.hear(kBind, nameless, at(10)));
  EXPECT_EQ(book.size(), 0U);
  for (int i = 0; i < 20'000; ++i) {
    Arq forged = bound(fmt::format("forged-{}", i));
    if (i % 2 == 0) forged.address.reset();
    book.hear(kBind, forged, at(20 + i));
  }
  EXPECT_EQ(book.size(), kArqsPerDeviceMax);
  // Those that are known go on to be heard.
  EXPECT_TRUE(book.hear(kUnbind, wiped("forged-0"), at(50'000)));
  EXPECT_TRUE(book.hear(kBind, bound(), at(50'001)));
}

// The provider was made a moment ago, and no survey has shown it yet.
TEST_F(Book, WhatBindsADeviceThatNoSurveyHasShownWaitsForOne) {
  book.know_devices({}, MonoMs{1});
  EXPECT_FALSE(book.hear(kBind, bound(), at(10)));
  EXPECT_FALSE(binds());
  EXPECT_FALSE(book.know_devices({}, MonoMs{5})) << "that survey began before it was heard";
  EXPECT_TRUE(book.know_devices({{kAddress, kProvider}}, MonoMs{20}));
  EXPECT_TRUE(binds());
}

TEST_F(Book, WhatWaitsForADeviceIsForgottenWhereASurveyDoesNotShowItOrItEnds) {
  book.know_devices({}, MonoMs{1});
  book.hear(kBind, bound(), at(10));
  EXPECT_FALSE(book.know_devices({}, MonoMs{20}));
  EXPECT_FALSE(book.know_devices({{kAddress, kProvider}}, MonoMs{30}));
  book.know_devices({}, MonoMs{31});
  book.hear(kBind, bound("unbound"), at(40));
  book.hear(kUnbind, wiped("unbound"), at(41));
  book.hear(kBind, bound("deleted"), at(42));
  book.instance_deleted(bound("deleted").instance_uuid, at(43));
  EXPECT_FALSE(book.know_devices({{kAddress, kProvider}}, MonoMs{40}));
  EXPECT_FALSE(binds());
}

TEST_F(Book, FewWaitForADeviceAndTheNewestStay) {
  book.know_devices({}, MonoMs{1});
  for (int i = 0; i < 2'000; ++i) {
    Arq forged = bound(fmt::format("forged-{}", i));
    forged.address = PciAddress{1, 0, 0, 0};
    forged.device_rp_uuid = "another";
    book.hear(kBind, forged, at(10));
  }
  book.hear(kBind, bound(), at(11));
  EXPECT_EQ(book.size(), 0U);
  EXPECT_TRUE(book.know_devices({{kAddress, kProvider}}, MonoMs{10}));
  EXPECT_EQ(book.size(), 1U);
  EXPECT_TRUE(binds());
}

// As somebody has left it in Redis.
TEST_F(Book, WhatIsLoadedIsBoundedTooAndAKnownDevicesHolderStays) {
  book.know_devices({{kAddress, kProvider}}, MonoMs{1});
  std::vector<Arq> stored;
  for (int i = 0; i < 17'000; ++i) {
    Arq forged = bound(fmt::format("forged-{}", i));
    forged.address = PciAddress{1, 0, 0, 0};
    forged.device_rp_uuid = "another";
    forged.heard_at = WallMs{2'000'000 + i};
    stored.push_back(std::move(forged));
  }
  stored.push_back(bound());
  book.load(stored);
  EXPECT_EQ(book.size(), kArqsMax);
  EXPECT_TRUE(binds());
  EXPECT_EQ(book.take_unsaved().size(), stored.size() - kArqsMax) << "taken out of the store";
}

TEST_F(Book, AReadingThatBeganBeforeItWasHeardSaysNothing) {
  book.reconcile({bound()}, MonoMs{10}, at(11));
  book.hear(kUnbind, wiped(), at(20));
  Arq again = bound();
  again.updated_at = "2026-11-21T10:06:00+00:00";
  book.hear(kBind, again, at(30));
  book.reconcile({bound()}, MonoMs{40}, at(41));
  book.hear(kUnbind, wiped(), at(100'000));
  again.updated_at = "2026-11-21T10:07:00+00:00";
  book.hear(kBind, again, at(100'100));
  for (const std::int64_t ms : {50, 99'999}) book.reconcile({}, MonoMs{ms}, at(100'200));
  EXPECT_TRUE(binds());
}

TEST_F(Book, WhatItSaysIsWrittenAndWhatCouldNotBeIsHandedBack) {
  book.hear(kBind, bound(), at(10));
  auto writes = book.take_unsaved();
  ASSERT_EQ(writes.size(), 1U);
  ASSERT_TRUE(writes[0].arq.has_value());
  EXPECT_EQ(writes[0].arq->held_at, at(10).wall);
  EXPECT_TRUE(book.take_unsaved().empty());
  book.not_saved(writes[0].uuid);
  EXPECT_EQ(book.take_unsaved().size(), 1U);
  book.hear(kBind, bound(), at(20));
  EXPECT_TRUE(book.take_unsaved().empty()) << "said twice";
  // Redis has forgotten it.
  book.compare({});
  EXPECT_EQ(book.take_unsaved().size(), 1U);
}

TEST_F(Book, AnotherWorkerGoesOnWithIt) {
  book.hear(kBind, bound(), at(10));
  book.allocation_seen({kAddress, kProvider, false, "", MonoMs{20}});
  const auto text = encode_arq(*book.take_unsaved().at(0).arq);
  const auto read = decode_arq(text);
  ASSERT_TRUE(read.ok()) << read.error().what;
  ArqBook next(HostNames{kHost, {}});
  next.load({*read});
  EXPECT_TRUE(next.about({kAddress, kProvider, false, "", MonoMs{5}}).holder);
  EXPECT_FALSE(next.about({kAddress, kProvider, true, "", MonoMs{5}}).holder);
}

TEST_F(Book, IsBoundedAndTheOldestThatHoldNothingGoFirst) {
  book.hear(kBind, bound("held"), at(1));
  for (std::size_t i = 0; i < kArqsMax + 10; ++i) {
    Arq arq = bound(fmt::format("arq-{}", i));
    arq.address = PciAddress{1, 0, 0, 0};
    arq.device_rp_uuid.clear();
    const auto ms = static_cast<std::int64_t>(i) + 10;
    book.hear(kBind, arq, at(ms));
    book.hear("accelerator_request.unbind.end", wiped(arq.uuid), at(ms));
  }
  EXPECT_EQ(book.size(), kArqsMax);
  EXPECT_TRUE(binds());
}

Now in_2026(std::int64_t ms) {
  return Now{WallMs{from_iso8601("2026-11-21T12:00:00Z")->ms + ms}, MonoMs{ms}};
}

TEST_F(Book, AWordThatComesLateTellsOfItsOwnTimeAndOfNoTenancyOfToday) {
  book.hear(kBind, bound(), in_2026(10));
  book.hear(kUnbind, wiped(), in_2026(20));
  ASSERT_TRUE(about().ended);
  EXPECT_LE(about().ended->held_at, *from_iso8601("2026-11-21T10:01:00Z"));
  // Its time may be that of the word before it, and then says nothing.
  Arq begun = bound("arq-2");
  begun.state = ArqState::initial;
  book.hear("accelerator_request.bind.start", begun, in_2026(30));
  ASSERT_TRUE(about().holder);
  EXPECT_EQ(about().holder->held_at, in_2026(30).wall);
}

TEST_F(Book, ABindingThatIsCompletedLaterIsOfThatTime) {
  Arq arq = bound();
  arq.state = ArqState::bind_started;
  book.hear("accelerator_request.bind.start", arq, in_2026(10));
  const WallMs begun = about().holder->held_at;
  arq.state = ArqState::bound;
  arq.updated_at = "2026-11-21T11:00:00+00:00";
  book.hear(kBind, arq, in_2026(20));
  EXPECT_GT(about().holder->held_at, begun);
}

TEST_F(Book, ALeakedArqThatIsTouchedInCyborgIsNoNewBinding) {
  book.hear(kBind, bound(), at(10));
  book.let_go(kAddress, kProvider);
  book.bury(kAddress, kProvider, about().over);
  Arq touched = wiped();
  touched.state = ArqState::unbind_failed;
  for (std::int64_t ms = 60'000; ms < 400'000; ms += 60'000) {
    book.reconcile({touched}, MonoMs{ms}, at(ms + 1));
  }
  EXPECT_FALSE(about(true, 1'000'000).holder);
  EXPECT_FALSE(about(true, 1'000'000).ended);
}

TEST_F(Book, ArqsThatNameNoHostAreTakenOnlyWhereTheyAreKnown) {
  book.hear(kBind, bound(), at(10));
  (void)book.take_unsaved();
  std::vector<Arq> listed;
  for (int i = 0; i < 4'200; ++i) {
    listed.push_back(wiped(fmt::format("foreign-{}", i)));
    listed.back().state = ArqState::unbind_failed;
  }
  book.reconcile(listed, MonoMs{100}, at(101));
  EXPECT_EQ(book.size(), 1U);
  EXPECT_TRUE(book.take_unsaved().empty());
  EXPECT_TRUE(binds());
}

TEST_F(Book, WhatHoldsADeviceIsNeverForgottenForRoom) {
  book.hear(kBind, bound(), at(1));
  for (std::size_t i = 0; i < kArqsMax + 10; ++i) {
    Arq arq = bound(fmt::format("other-{}", i));
    arq.address.reset();
    arq.device_rp_uuid.clear();
    book.hear(kBind, arq, at(static_cast<std::int64_t>(i) + 10));
  }
  EXPECT_EQ(book.size(), kArqsMax);
  EXPECT_TRUE(binds());
}

TEST_F(Book, AnUntimedEndYieldsToLaterReadingsThatListItBound) {
  for (const bool buried : {false, true}) {
    ArqBook other(HostNames{kHost, {}});
    const auto question = ArqQuestion{kAddress, kProvider, false, "", MonoMs{1'000'000}};
    other.hear(kBind, bound(), at(10));
    Arq untimed = wiped();
    untimed.updated_at.clear();
    other.hear(kUnbind, untimed, at(20));
    if (buried) other.bury(kAddress, kProvider, other.about(question).over);
    other.reconcile({bound()}, MonoMs{100}, at(101));
    EXPECT_FALSE(other.about(question).holder) << buried;
    other.reconcile({bound()}, MonoMs{30'100}, at(30'101));
    EXPECT_TRUE(other.about(question).holder) << buried;
  }
}

TEST_F(Book, ATimedEndIsNotTakenBackByAReplicaThatLags) {
  book.hear(kBind, bound(), at(10));
  book.hear(kUnbind, wiped(), at(20));
  book.bury(kAddress, kProvider, about().over);
  for (std::int64_t ms = 60'000; ms < 400'000; ms += 60'000) {
    book.reconcile({bound()}, MonoMs{ms}, at(ms + 1));
  }
  EXPECT_FALSE(binds());
}

TEST_F(Book, TheReleaseOfOneDeviceLetsGoOfNoOther) {
  book.hear(kBind, bound(), at(10));
  book.hear(kUnbind, wiped(), at(20));
  const auto over = about().over;
  Arq moved = bound();
  moved.address = PciAddress{0, 0xc2, 0, 0};
  moved.device_rp_uuid = "another";
  moved.updated_at = "2026-11-21T10:06:00+00:00";
  book.hear(kBind, moved, at(30));
  book.bury(kAddress, kProvider, over);
  EXPECT_TRUE(book.about({*moved.address, "another", true, "", MonoMs{99}}).holder);
}

TEST_F(Book, TheReleaseEndsNoBindingThatCameMeanwhile) {
  book.hear(kBind, bound(), at(10));
  book.hear(kUnbind, wiped(), at(20));
  const auto over = about().over;
  Arq again = bound();
  again.updated_at = "2026-11-21T10:06:00+00:00";
  book.hear(kBind, again, at(30));
  book.bury(kAddress, kProvider, over);
  EXPECT_TRUE(binds());
}

TEST_F(Book, TheOldestEndIsForgottenFirst) {
  for (std::size_t i = 0; i < kArqsMax; ++i) {
    book.hear(kUnbind, wiped(fmt::format("z-{}", i)), at(static_cast<std::int64_t>(i)));
  }
  book.hear(kUnbind, wiped("a"), at(10'000));
  EXPECT_FALSE(book.hear(kBind, bound("a"), at(10'001)));
  EXPECT_TRUE(book.hear(kBind, bound("z-0"), at(10'002)));
}

TEST_F(Book, AHostIsTheSameInOtherLetters) {
  Arq arq = bound();
  arq.hostname = "Compute-1";
  EXPECT_TRUE(book.hear(kBind, arq, at(10)));
  EXPECT_TRUE(binds());
}

}  // namespace
}  // namespace reclaim
