// What earlier surveys read stands exactly as long as Placement's generations and the root's
// consumers say so: single cases, and any sequence of what Nova does.
#include "handlers/survey/reading_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/test_seed.h"

namespace reclaim {
namespace {

using placement::Inventory;
using placement::ProviderRow;
using placement::ProviderView;
using placement::Tree;

constexpr std::int64_t kFullMs = 600'000;

// Placement by its rules: which operation moves which generation.
struct Books {
  struct Device {
    std::int64_t generation = 1;
    std::int64_t reserved = 0;
    std::set<std::string> consumers;
    std::int64_t modified_s = 0;
  };
  std::int64_t root_generation = 1;
  std::int64_t root_modified_s = 0;
  std::int64_t clock_s = 0;  // of the server that is asked
  std::set<std::string> on_root;
  std::vector<Device> devices = std::vector<Device>(3);
  std::set<std::size_t> cyborgs;  // the others are Nova's

  [[nodiscard]] Tree tree() const {
    Tree tree{"root", "host", root_generation, {}};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      tree.rows.push_back(ProviderRow{std::to_string(i), "", "root", devices[i].generation,
                                      !cyborgs.contains(i), cyborgs.contains(i)});
    }
    std::int64_t newest = root_modified_s;
    for (const Device& device : devices) newest = std::max(newest, device.modified_s);
    tree.last_modified = std::to_string(newest);
    return tree;
  }
  void move(Device& device) const {
    device.generation += 1;
    device.modified_s = clock_s;
  }
  // Deleted, and made again with the same UUID; somebody may have it at once.
  void make_again(Device& device, std::int64_t generation, const std::set<std::string>& consumers) {
    if (!device.consumers.empty()) return;
    device = Device{generation, 0, consumers, clock_s};
  }
  [[nodiscard]] ProviderView view(const std::string& uuid) const {
    const Device& device = devices.at(std::stoul(uuid));
    return {uuid,
            device.generation,
            {Inventory{"CUSTOM", 1, device.reserved, 1, 1, 1, 1.0}},
            {device.consumers.begin(), device.consumers.end()}};
  }
  [[nodiscard]] std::vector<std::string> consumers() const {
    return {on_root.begin(), on_root.end()};
  }
  // PUT /allocations/{consumer}: what it names moves, what it had elsewhere just goes.
  void put(const std::string& consumer, bool root, const std::set<std::size_t>& have) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i].consumers.erase(consumer);
      if (!have.contains(i)) continue;
      devices[i].consumers.insert(consumer);
      move(devices[i]);
    }
    on_root.erase(consumer);
    if (!root) return;
    on_root.insert(consumer);
    root_generation += 1;
    root_modified_s = clock_s;
  }
  // POST /allocations, in one transaction: a migration takes over what an instance has.
  void move_all(const std::string& from, const std::string& to) {
    if (from == to) return;
    std::set<std::size_t> have;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].consumers.contains(from)) have.insert(i);
    }
    const bool root = on_root.contains(from);
    remove(from);
    put(to, root, have);
  }
  void remove(const std::string& consumer) {
    for (Device& device : devices) device.consumers.erase(consumer);
    on_root.erase(consumer);
  }
};

struct Memory : ::testing::Test {
  // As a survey goes: the rows that have to be read again are.
  std::set<std::string> survey(std::int64_t ms) {
    memory.note_tree(books.tree(), MonoMs{ms}, MonoMs{ms});
    const Tree tree = books.tree();
    const bool asks = memory.needs_consumers(tree.rows, MonoMs{ms});
    const auto on_root = asks ? books.consumers() : std::vector<std::string>{};
    std::set<std::string> read;
    for (const ProviderRow& row : tree.rows) {
      if (const ProviderView* view = memory.recall(row, on_root, MonoMs{ms})) {
        EXPECT_EQ(view->consumers, books.view(row.uuid).consumers);
        EXPECT_EQ(view->inventories, books.view(row.uuid).inventories);
        continue;
      }
      read.insert(row.uuid);
    }
    for (const std::string& uuid : read) memory.keep(books.view(uuid), MonoMs{ms});
    return read;
  }
  using Read = std::set<std::string>;
  Books books;
  ReadingMemory memory{kFullMs};
};

TEST_F(Memory, NothingIsReadTwiceWhileNothingMoves) {
  books.put("vm", true, {1});
  EXPECT_EQ(survey(0), (Read{"0", "1", "2"}));
  EXPECT_EQ(survey(kFullMs - 1), Read{});
  EXPECT_EQ(survey(kFullMs), (Read{"0", "1", "2"}));
}

TEST_F(Memory, WhatMovedIsReadAgain) {
  survey(0);
  books.devices[2].generation += 1;
  EXPECT_EQ(survey(1), Read{"2"});
  books.put("vm", true, {0});
  EXPECT_EQ(survey(2), Read{"0"});
}

TEST_F(Memory, ADeletedConsumersDeviceIsReadThoughNoGenerationMoved) {
  books.put("vm", true, {0});
  survey(0);
  books.remove("vm");
  EXPECT_EQ(survey(1), Read{"0"});
}

TEST_F(Memory, ADeviceThatAReplacingPutLeavesOutIsRead) {
  books.put("vm", true, {0, 1});
  survey(0);
  books.put("vm", true, {1});
  EXPECT_EQ(survey(1), (Read{"0", "1"}));
}

TEST_F(Memory, WhoseConsumerWasNeverAmongTheRootsIsReadEachTime) {
  books.put("vm", false, {0});
  survey(0);
  EXPECT_EQ(survey(1), Read{"0"});
  EXPECT_EQ(survey(2), Read{"0"});
}

TEST_F(Memory, WhatIsDoubtedIsReadAgain) {
  books.put("vm", true, {0});
  survey(0);
  const auto doubts = memory.doubts();
  memory.doubt_consumer("vm");
  EXPECT_NE(memory.doubts(), doubts);
  EXPECT_EQ(survey(1), Read{"0"});
  EXPECT_FALSE(memory.tree(MonoMs{1}).root_uuid.empty());
  memory.forget();
  EXPECT_TRUE(memory.tree(MonoMs{1}).root_uuid.empty());
  EXPECT_EQ(survey(2), (Read{"0", "1", "2"}));
}

TEST_F(Memory, TheTreeIsListedWholeAfterTheFullInterval) {
  survey(0);
  survey(kFullMs - 1);
  EXPECT_FALSE(memory.tree(MonoMs{kFullMs - 1}).root_uuid.empty());
  EXPECT_TRUE(memory.tree(MonoMs{kFullMs}).root_uuid.empty());
  survey(kFullMs);
  EXPECT_FALSE(memory.tree(MonoMs{2 * kFullMs - 1}).root_uuid.empty());
}

// Somebody wrote into Placement's tables by hand: no generation tells.
TEST_F(Memory, WhatNoGenerationTellsIsReadAfterTheFullInterval) {
  survey(0);
  books.devices[1].generation += 1;
  EXPECT_EQ(survey(kFullMs / 2), Read{"1"});
  books.devices[0].reserved = 1;
  EXPECT_EQ(survey(kFullMs), (Read{"0", "2"}));
  EXPECT_EQ(survey(kFullMs + kFullMs / 2), Read{"1"}) << "each ages by itself";
}

TEST_F(Memory, WithAnIntervalOfZeroNothingStands) {
  ReadingMemory none(0);
  none.note_tree(books.tree(), MonoMs{0}, MonoMs{0});
  none.keep(books.view("0"), MonoMs{0});
  EXPECT_TRUE(none.tree(MonoMs{0}).root_uuid.empty());
  EXPECT_EQ(none.recall(books.tree().rows.front(), {}, MonoMs{0}), nullptr);
}

TEST_F(Memory, OfCyborgsIsReadUntilTheTreeHasBeenAsItIsForAWhile) {
  books.cyborgs = {1};
  survey(0);
  EXPECT_EQ(survey(29'999), Read{"1"});
  EXPECT_EQ(survey(30'000), Read{"1"}) << "this reading is the first that stands";
  EXPECT_EQ(survey(60'000), Read{});
  books.clock_s = 60;
  books.move(books.devices[0]);
  EXPECT_EQ(survey(90'000), (Read{"0", "1"}));
}

TEST_F(Memory, AProviderOfCyborgsThatIsMadeAgainIsReadThoughItsGenerationIsTheSame) {
  books.cyborgs = {1};
  survey(0);
  survey(30'000);
  ASSERT_EQ(survey(60'000), Read{});
  books.clock_s = 60;
  books.make_again(books.devices[1], books.devices[1].generation, {"vm"});
  EXPECT_EQ(survey(90'000), Read{"1"});
}

TEST_F(Memory, WherePlacementTellsNoTimeCyborgsAreReadEachTime) {
  books.cyborgs = {0};
  Tree tree = books.tree();
  tree.last_modified.clear();
  for (const std::int64_t ms : {0, 60'000, 120'000}) {
    memory.note_tree(tree, MonoMs{ms}, MonoMs{ms});
    EXPECT_EQ(memory.recall(tree.rows.front(), {}, MonoMs{ms}), nullptr);
    memory.keep(books.view("0"), MonoMs{ms});
  }
}

// What is remembered is what Placement has, whatever Nova, Cyborg and operators did in between, and
// whichever of its servers they asked.
TEST_F(Memory, HidesNoFreedAndNoDirtyDevice) {
  std::mt19937 draw(test_seed());
  books.cyborgs = {2};
  const std::vector<std::string> consumers{"a", "b", "c"};
  std::size_t spared = 0;
  std::size_t cyborgs_spared = 0;
  for (std::int64_t ms = 0; ms < 300'000'000 && !HasFailure(); ms += 15'000) {
    for (auto left = draw() % 3 == 0 ? 1 + draw() % 2 : 0; left > 0; --left) {
      books.clock_s = ms / 1'000 + static_cast<std::int64_t>(draw() % 29);
      const std::string& consumer = consumers[draw() % consumers.size()];
      std::set<std::size_t> have;
      for (std::size_t i = 0; i < books.devices.size(); ++i) {
        if (draw() % 2 == 0) have.insert(i);
      }
      Books::Device& device = books.devices[draw() % books.devices.size()];
      switch (draw() % 8) {
        case 0:
          books.remove(consumer);
          break;
        case 1:
          device.reserved = static_cast<std::int64_t>(draw() % 2);
          books.move(device);
          break;
        case 2:
          memory.doubt_consumer(consumer);
          break;
        case 3:
          books.make_again(
              books.devices.back(),
              books.devices.back().generation - static_cast<std::int64_t>(draw() % 2),
              draw() % 2 == 0 ? std::set<std::string>{consumer} : std::set<std::string>{});
          break;
        case 4:
          books.move_all(consumer, consumers[draw() % consumers.size()]);
          break;
        default:
          books.put(consumer, draw() % 4 != 0, have);
      }
    }
    const std::set<std::string> read = survey(ms);
    spared += books.devices.size() - read.size();
    cyborgs_spared += read.contains("2") ? 0U : 1U;
  }
  EXPECT_GT(spared, 1'000U);
  EXPECT_GT(cyborgs_spared, 1'000U);
}

}  // namespace
}  // namespace reclaim
