// Notifications in Redis: posted with the record, in order, bounded, and told from what others put
// there.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/certificate/outbox_seal.h"
#include "tests/integration/store_on_redis.h"
#include "tests/temp_folder.h"

namespace reclaim::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kOutbox = "reclaim:{compute-1}:outbox";

class Outbox : public ::testing::Test {
 protected:
  Outbox() {
    seal_.emplace("compute-1", *MacKey::load_or_create(default_host_key(folder_)));
    redis_.options.outbox.host = "compute-1";
    redis_.options.outbox.length_max = 3;
    redis_.options.outbox.posts = [this](const Record& record, const JournalEntry&) {
      std::vector<Fields> posts;
      for (int i = 0; i < each_; ++i) {
        posts.push_back(seal_->seal({{"event", "device.quarantine"},
                                     {"priority", "error"},
                                     {"message", fmt::format("{}.{}", record.epoch, i)}}));
      }
      return posts;
    };
    redis_.open();
    EXPECT_TRUE(redis_.connected());
  }

  [[nodiscard]] bool save(std::uint64_t epoch) {
    return contract::save(world_, contract::record_of(world_, 1, epoch, Stage::error)).ok();
  }
  [[nodiscard]] OutboxPage read(std::size_t count = 100) {
    const auto page = contract::ask<OutboxPage>(world_, [&](Callback<OutboxPage> done) {
      redis_.store->read_outbox(count, std::move(done));
    });
    EXPECT_TRUE(page.ok());
    return page.ok() ? *page : OutboxPage{};
  }
  [[nodiscard]] static std::vector<std::string> messages(const OutboxPage& page) {
    std::vector<std::string> out;
    for (const OutboxEntry& entry : page.entries) out.push_back(entry.fields.at("message"));
    return out;
  }
  void cli(const std::vector<std::string>& words) { redis_.server.cli(words); }

  int each_ = 1;
  const TempFolder temp_;
  const std::string folder_ = temp_.path();
  std::optional<OutboxSeal> seal_;
  StoreOnRedis redis_;
  contract::World world_ = redis_.world("compute-1");
};

TEST_F(Outbox, WhatIsPostedStaysUntilItIsRemoved) {
  each_ = 2;
  ASSERT_TRUE(save(1));
  EXPECT_FALSE(save(1)) << "a record that is refused posts nothing";
  OutboxPage page = read();
  EXPECT_THAT(messages(page), ElementsAre("1.0", "1.1"));
  EXPECT_EQ(page.waiting, 2U);
  EXPECT_TRUE(seal_->fits(page.entries[0].fields));
  EXPECT_THAT(messages(read(1)), ElementsAre("1.0"));
  ASSERT_TRUE(contract::ask<Ok>(world_, [&](Callback<Ok> done) {
                redis_.store->remove_from_outbox({page.entries[0].id}, std::move(done));
              }).ok());
  EXPECT_THAT(messages(read()), ElementsAre("1.1"));
}

TEST_F(Outbox, IsBoundedAndCountsWhatItDrops) {
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) ASSERT_TRUE(save(epoch));
  const OutboxPage page = read();
  EXPECT_THAT(messages(page), ElementsAre("3.0", "4.0", "5.0"));
  EXPECT_EQ(page.dropped, 2U);
}

TEST_F(Outbox, WhatAnotherClientPutThereFitsNoSeal) {
  ASSERT_TRUE(save(1));
  OutboxPage page = read();
  Fields changed = page.entries[0].fields;
  changed["message"] = "2.0";
  EXPECT_FALSE(seal_->fits(changed));
  changed.erase("mac");
  EXPECT_FALSE(seal_->fits(changed));
  const OutboxSeal other("compute-2", *MacKey::load(default_host_key(folder_)));
  EXPECT_FALSE(other.fits(page.entries[0].fields)) << "a shared key would not make it another's";
  cli({"XADD", kOutbox, "*", "message", std::string(70'000, 'x')});
  cli({"XADD", kOutbox, "*", "message", "forged"});
  page = read();
  EXPECT_THAT(messages(page), ElementsAre("1.0", "forged"));
  EXPECT_EQ(page.removed, 1U) << "it is too long to be a worker's";
  EXPECT_FALSE(seal_->fits(page.entries[1].fields));
}

TEST_F(Outbox, ItsTroubleKeepsNoRecordFromBeingWritten) {
  cli({"SET", kOutbox, "x"});
  EXPECT_TRUE(save(1));
  EXPECT_THAT(messages(read()), ElementsAre("1.0"));
  cli({"SET", kOutbox, "x"});
  EXPECT_THAT(messages(read()), IsEmpty());
  cli({"XADD", kOutbox, "18446744073709551615-18446744073709551615", "a", "b"});
  EXPECT_TRUE(save(2));
  EXPECT_THAT(messages(read()), ElementsAre("2.0"));
  cli({"RPUSH", "reclaim:{compute-1}:outbox_dropped", "x"});
  for (std::uint64_t epoch = 3; epoch <= 6; ++epoch) EXPECT_TRUE(save(epoch));
  EXPECT_EQ(read().dropped, 2U) << "the count begins again";
  // The access rights of a version before this one.
  cli({"ACL", "SETUSER", "default", "-xlen"});
  EXPECT_TRUE(save(7));
  EXPECT_EQ(contract::load(world_)->front().epoch, 7U);
}

}  // namespace
}  // namespace reclaim::test
