// A zeroing that was stopped, or whose worker died, over the emulated controller: the next claim
// goes on behind the last mark where nobody else can have written, and begins with the first byte
// otherwise. Whichever it is, all is zero at the end.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>

#include "nvme/erase/zero_mark.h"
#include "tests/integration/nvme_fixture.h"
#include "tests/test_seed.h"

namespace reclaim::nvme {
namespace {

constexpr const char* kBeginsAgain = "begins with the first byte: ";

// The clock of a rate limit that lets so many chunks through as the test says, however slow the
// machine is. Whoever asks for one more waits for the test, for minutes if need be. Once it is
// closed he has to wait for an hour, which a stop ends.
class Sluice final : public Clock {
 public:
  [[nodiscard]] Now now() const override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(5), [this] { return closed_ || passed_ < let_; });
    if (passed_ < let_) ++passed_;
    return {WallMs{0}, MonoMs{passed_ * kHourMs}};
  }
  void let(std::int64_t more) {
    change([&] { let_ += more; });
  }
  void close() {
    change([&] { closed_ = true; });
  }
  [[nodiscard]] std::shared_ptr<RateLimit> rate(std::uint64_t chunk_bytes) const {
    return std::make_shared<RateLimit>(chunk_bytes / kHourS, *this);
  }

 private:
  static constexpr std::int64_t kHourS = 3'600;
  static constexpr std::int64_t kHourMs = 1'000 * (kHourS + 60);  // more than a chunk takes

  void change(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::int64_t passed_ = 0;
  std::int64_t let_ = 0;
  bool closed_ = false;
};

class ZeroResumeTest : public NvmeFixture, public ::testing::WithParamInterface<EraseMethod> {
 protected:
  static constexpr std::uint64_t kAll = 16U << 20U;
  static constexpr std::uint64_t kMiB = 1U << 20U;

  void SetUp() override {
    NvmeFixture::SetUp();
    options_.write_zeroes_chunk_bytes = kMiB;
    options_.zero_chunk_bytes = kMiB;
    options_.zero_queue_depth = 1;
    options_.write_zeroes_queue_depth = 1;
    options_.verify_queue_depth = 1;
    options_.poll_interval_ms = 1;
    options_.zero_mark_interval_ms = 1;
    request_.rules.verify = VerifyLevel::full;
  }

  EraseRequest by() {
    EraseRequest request;
    request.method = GetParam();
    request.on_mark = [this](const std::string& mark) { marks_.push_back(mark); };
    return request;
  }
  void claim_anew() {
    drive_.reset();
    auto claimed = claim();
    ASSERT_TRUE(claimed.ok()) << claimed.error().what;
    drive_ = *std::move(claimed);
  }
  // Zeroes a chunk a mark until `enough` says so of its last mark, then stops: marks_ are what it
  // told, the last one when all had come to rest.
  void zero_until(const std::function<bool(const ZeroMark&)>& enough) {
    claim_behind_sluice();
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    stop_when(enough, by());
    drive_.reset();
    host_rate_.reset();
    ASSERT_GE(marks_.size(), 2U);
  }
  void claim_behind_sluice(std::uint64_t chunks = 1) {
    sluice_.emplace();
    sluice_->let(static_cast<std::int64_t>(chunks));
    host_rate_ = sluice_->rate(kMiB);
    claim_anew();
  }
  void stop_when(const std::function<bool(const ZeroMark&)>& enough, EraseRequest request) {
    StopFlag early;
    request.on_mark = [&](const std::string& mark) {
      marks_.push_back(mark);
      if (!enough(*decode_mark(mark))) return sluice_->let(1);
      early.request();
      sluice_->close();
    };
    const auto stopped = drive_->erase(
        request, [](EraseProgress) {}, early);
    expect_error(stopped, Errc::unknown, "stopped while zeroing");
  }
  // Nobody is left who would verify it.
  void zero_to_its_end() {
    claim_anew();
    auto baseline = drive_->take_baseline(stop_);
    ASSERT_TRUE(baseline.ok()) << baseline.error().what;
    baseline_ = *std::move(baseline);
    const auto evidence = erase(*drive_, by());
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    drive_.reset();
    ASSERT_FALSE(marks_.empty());
    ASSERT_TRUE(decode_mark(marks_.back())->is_of_the_end());
  }
  void zero_a_part() {
    zero_until([](const ZeroMark& mark) { return mark.position_bytes >= kAll / 4; });
  }
  // What a worker that was killed has left: the last mark before all came to rest. One more chunk
  // was written behind it, unless it is the first.
  [[nodiscard]] const std::string& of_a_crash() const {
    return marks_[marks_.size() > 2 ? marks_.size() - 3 : 0];
  }
  [[nodiscard]] const std::string& of_a_stop() const { return marks_.back(); }

  [[nodiscard]] std::uint64_t host_writes() {
    return (*host_->drive(kAddress))->with([](auto&, auto& state) {
      return std::uint64_t{state.smart.host_writes};
    });
  }
  Result<EraseEvidence> go_on(const std::string& mark) {
    EraseRequest request = by();
    request.adopt_ours = true;
    request.mark = mark;
    return erase(*drive_, request);
  }
  void expect_goes_on(const std::string& mark) {
    const std::uint64_t position = decode_mark(mark)->position_bytes;
    claim_anew();
    const std::uint64_t before = host_writes();
    progress_.clear();
    const auto evidence = go_on(mark);
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->resumed_at_bytes, position);
    EXPECT_TRUE(evidence->adopted);
    EXPECT_EQ(evidence->bytes_zeroed, kAll);
    EXPECT_EQ(host_writes() - before, (kAll - position) / kMiB);  // a command for each chunk
    EXPECT_EQ(progress_.back().percent, 100);
    EXPECT_EQ(media().nonzero_bytes, 0U);
    const auto report = verify(*drive_, *evidence);
    EXPECT_TRUE(report.ok()) << report.error().what;
  }
  // And nothing was written before it does.
  void expect_begins_again(const std::string& mark, std::string_view says) {
    claim_anew();
    const std::uint64_t before = host_writes();
    const auto refused = go_on(mark);
    expect_error(refused, Errc::not_found, says);
    EXPECT_EQ(host_writes(), before);
    const auto evidence = erase(*drive_, by());
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(evidence->resumed_at_bytes, 0U);
    EXPECT_FALSE(evidence->adopted);
    EXPECT_EQ(media().nonzero_bytes, 0U);
    const auto report = verify(*drive_, *evidence);
    EXPECT_TRUE(report.ok()) << report.error().what;
  }
  // One write command of somebody else's.
  void write_as_another(std::uint64_t offset, const std::string& bytes, bool counted = true) {
    put_media(offset, bytes);
    if (counted) set("host_writes", std::to_string(host_writes() + 1));
  }

  std::optional<Sluice> sluice_;
  std::vector<std::string> marks_;
  bool mounted_ = false;
};

INSTANTIATE_TEST_SUITE_P(Both, ZeroResumeTest,
                         ::testing::Values(EraseMethod::write_zeroes, EraseMethod::overwrite),
                         [](const auto& method) { return std::string(to_string(method.param)); });

TEST_P(ZeroResumeTest, AfterAStopOnlyTheRestIsWritten) {
  make_drive("sanicap=none,dlfeat=0");
  zero_a_part();
  EXPECT_GT(media().tenant_blocks_kept, 0U);
  const auto last = decode_mark(of_a_stop());
  EXPECT_EQ(last->host_writes, last->host_writes_max);
  EXPECT_EQ(last->host_writes, host_writes());
  expect_goes_on(of_a_stop());
}

TEST_P(ZeroResumeTest, AfterACrashOnlyTheRestIsWritten) {
  make_drive();
  zero_a_part();
  const auto mark = decode_mark(of_a_crash());
  EXPECT_GE(host_writes(), mark->host_writes);
  expect_goes_on(of_a_crash());
}

TEST_P(ZeroResumeTest, ItIsStoppedAgainAndGoesOnOnceMore) {
  make_drive();
  zero_until([](const ZeroMark& mark) { return mark.position_bytes >= kAll / 8; });
  const std::string mark = of_a_stop();
  // What is read back is bounded by the same rate.
  claim_behind_sluice(decode_mark(mark)->position_bytes / kMiB + 1);
  EraseRequest request = by();
  request.adopt_ours = true;
  request.mark = mark;
  stop_when([](const ZeroMark& at) { return at.position_bytes >= kAll / 4; }, request);
  host_rate_.reset();
  expect_goes_on(of_a_stop());
}

// Its threads are nice: beside others, none may have written when the next mark is due.
TEST_P(ZeroResumeTest, UntilSomethingIsWrittenTheMarkBeforeHolds) {
  make_drive();
  zero_a_part();
  const std::string mark = of_a_stop();
  marks_.clear();
  claim_behind_sluice(decode_mark(mark)->position_bytes / kMiB);  // it is read back, and no more
  const std::uint64_t before = host_writes();
  EraseRequest request = by();
  request.adopt_ours = true;
  request.mark = mark;
  StopFlag early;
  int looks = 0;
  const auto stopped = drive_->erase(
      request,
      [&](EraseProgress progress) {
        // The reading's last look says it too; each later one is followed by the next mark's turn.
        if (progress.percent < 25 || ++looks < 5) return;
        early.request();
        sluice_->close();
      },
      early);
  expect_error(stopped, Errc::unknown, "stopped while zeroing");
  host_rate_.reset();
  EXPECT_TRUE(marks_.empty());
  EXPECT_EQ(host_writes(), before);
  expect_goes_on(mark);
}

TEST_P(ZeroResumeTest, AfterAStopOneWriteCommandByAnotherIsEnough) {
  make_drive();
  zero_a_part();
  write_as_another(kAll - 4096, "x");
  expect_begins_again(of_a_stop(), "somebody else wrote");
}

TEST_P(ZeroResumeTest, AfterACrashMoreWriteCommandsThanOursCanBeAreEnough) {
  make_drive();
  zero_a_part();
  const std::string mark = of_a_crash();
  set("host_writes", std::to_string(decode_mark(mark)->host_writes_max + 1));
  expect_begins_again(mark, "somebody else wrote");
}

TEST_P(ZeroResumeTest, WhatNoCounterTellsIsReadBack) {
  make_drive();
  zero_a_part();
  write_as_another(kMiB + 17, "x", false);
  expect_begins_again(of_a_crash(), "only 1048576 of the ");
}

TEST_P(ZeroResumeTest, WhatWasZeroedToItsEndIsVerifiedAndNotWrittenAgain) {
  for (const char* drive : {"", "counts_no_zeroing=1"}) {
    make_drive(drive);
    zero_to_its_end();
    claim_anew();
    const std::uint64_t before = host_writes();
    const auto evidence = go_on(marks_.back());
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_TRUE(evidence->adopted);
    EXPECT_EQ(evidence->bytes_zeroed, kAll);
    EXPECT_EQ(evidence->resumed_at_bytes, 0U);
    EXPECT_EQ(host_writes(), before);
    const auto report = verify(*drive_, *evidence);
    EXPECT_TRUE(report.ok()) << report.error().what;
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

TEST_P(ZeroResumeTest, BehindItsEndOneWriteCommandByAnotherIsEnough) {
  make_drive();
  zero_to_its_end();
  write_as_another(kAll - 4096, "x");
  expect_begins_again(marks_.back(), "somebody else wrote");
}

TEST_P(ZeroResumeTest, BehindItsEndADriveThatWasAwayFromItsDriverBeginsAgain) {
  make_drive();
  zero_to_its_end();
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  expect_begins_again(marks_.back(), "away from its driver");
}

TEST_P(ZeroResumeTest, BehindItsEndAnotherBootBeginsAgain) {
  make_drive();
  zero_to_its_end();
  write("proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000002");
  expect_begins_again(marks_.back(), "the host was started again since");
}

// Its last mark was not kept: what the one before proves is read back, and the rest is written.
TEST_P(ZeroResumeTest, TheMarkBeforeTheEndIsNoMarkOfTheEnd) {
  make_drive();
  zero_to_its_end();
  ZeroMark before = *decode_mark(marks_.back());
  before.host_writes_max += 1;
  EXPECT_FALSE(before.is_of_the_end());
  write_as_another(kMiB + 17, "x", false);
  expect_begins_again(encode_mark(before), "only 1048576 of the ");
}

TEST_P(ZeroResumeTest, AnotherBootBeginsAgain) {
  make_drive();
  zero_a_part();
  write("proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000002");
  expect_begins_again(of_a_stop(), "the host was started again since");
}

TEST_P(ZeroResumeTest, ADriveThatWasAwayFromItsDriverBeginsAgain) {
  make_drive();
  zero_a_part();
  ASSERT_TRUE(host_->bind(kAddress, "").ok());
  ASSERT_TRUE(host_->bind(kAddress, "nvme").ok());
  expect_begins_again(of_a_stop(), "away from its driver");
}

TEST_P(ZeroResumeTest, AnotherSerialBeginsAgain) {
  make_drive();
  zero_a_part();
  set("serial", "S2");
  expect_begins_again(of_a_stop(), "another drive");
}

TEST_P(ZeroResumeTest, ACounterThatStandsStillMarksNothing) {
  make_drive("counts_no_writes=1");
  claim_behind_sluice(4);
  StopFlag early;
  const auto stopped = drive_->erase(
      by(),
      [&](EraseProgress progress) {
        if (progress.percent < 25) return;
        early.request();
        sluice_->close();
      },
      early);
  expect_error(stopped, Errc::unknown, "stopped while zeroing");
  EXPECT_TRUE(marks_.empty());
}

TEST_P(ZeroResumeTest, ADriveThatCountsNoWriteZeroesIsWrittenOneBlockToSeeThatItCounts) {
  make_drive("counts_no_zeroing=1");
  zero_a_part();
  const bool by_drive = GetParam() == EraseMethod::write_zeroes;
  const auto first = decode_mark(marks_.front());
  if (by_drive) {
    EXPECT_EQ(first->host_writes, host_writes());
  }
  const std::uint64_t position = decode_mark(of_a_stop())->position_bytes;
  claim_anew();
  const std::uint64_t before = host_writes();
  const auto evidence = go_on(of_a_stop());
  ASSERT_TRUE(evidence.ok()) << evidence.error().what;
  EXPECT_EQ(evidence->resumed_at_bytes, position);
  if (by_drive) {
    EXPECT_LE(host_writes(), before + 1);
  }
  EXPECT_EQ(media().nonzero_bytes, 0U);
}

TEST_P(ZeroResumeTest, AMarkOfAnotherMethodOrOfNobodyBeginsAgain) {
  make_drive();
  zero_a_part();
  ZeroMark other = *decode_mark(of_a_stop());
  other.method =
      GetParam() == EraseMethod::overwrite ? EraseMethod::write_zeroes : EraseMethod::overwrite;
  expect_begins_again(encode_mark(other), "begun by");
  expect_begins_again("{\"position_bytes\":16777216}", kBeginsAgain);
}

TEST_P(ZeroResumeTest, StoppedWhileItReadsBackNothingIsWritten) {
  make_drive();
  zero_a_part();
  claim_anew();
  const std::uint64_t before = host_writes();
  StopFlag early;
  early.request();
  EraseRequest request = by();
  request.adopt_ours = true;
  request.mark = of_a_stop();
  const auto stopped = drive_->erase(
      request, [](EraseProgress) {}, early);
  expect_error(stopped, Errc::cancelled, "stopped before");
  EXPECT_EQ(host_writes(), before);
}

TEST_P(ZeroResumeTest, AGuardThatRefusesWhileItReadsBackStopsItBeforeItWrites) {
  make_drive();
  zero_a_part();
  claim_anew();
  const std::uint64_t before = host_writes();
  EraseRequest request = by();
  request.adopt_ours = true;
  request.mark = of_a_stop();
  const auto refused = drive_->erase(
      request,
      [this](EraseProgress) {
        if (!mounted_) {
          ASSERT_TRUE(host_->mount(kAddress, "/srv").ok());
        }
        mounted_ = true;
      },
      stop_);
  ASSERT_TRUE(mounted_);
  expect_error(refused, Errc::refused, "nothing was written");
  EXPECT_EQ(host_writes(), before);
}

// Random writes by another between mark and resumption, wherever and however many, told by the
// counter or past it: what is skipped reads as zeroes, and all does at the end.
TEST_P(ZeroResumeTest, WhatAnotherWroteIsNeverSkipped) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    marks_.clear();
    make_drive();
    const std::uint64_t until = kMiB * (1 + random() % 6);
    zero_until([until](const ZeroMark& mark) { return mark.position_bytes >= until; });
    const bool crashed = random() % 2 == 0;
    const std::string mark = crashed ? of_a_crash() : of_a_stop();
    const std::uint64_t position = decode_mark(mark)->position_bytes;
    bool skipped = false;
    bool counted = false;
    for (std::uint64_t writes = random() % 4; writes > 0; --writes) {
      const std::uint64_t offset = random() % (kAll - 8);
      const bool tells = random() % 2 == 0;
      write_as_another(offset, "tenant", tells);
      skipped = skipped || offset < position;
      counted = counted || tells;
    }
    claim_anew();
    auto evidence = go_on(mark);
    if (skipped || (counted && !crashed)) expect_error(evidence, Errc::not_found, kBeginsAgain);
    if (!evidence) evidence = erase(*drive_, by());
    ASSERT_TRUE(evidence.ok()) << evidence.error().what;
    EXPECT_EQ(media().nonzero_bytes, 0U);
    EXPECT_TRUE(verify(*drive_, *evidence).ok());
    drive_.reset();
    host_.reset();
    std::filesystem::remove_all(root_);
  }
}

}  // namespace
}  // namespace reclaim::nvme
