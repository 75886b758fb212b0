// Registering devices with a real Placement: what is there afterwards, what a crash between any
// two requests leaves, and whose providers are never touched. And reserving what is allocated.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/openstack_test.h"
#include "tests/integration/placement_bench.h"

namespace reclaim::testing {
namespace {

using placement::Inventory;
using placement::NewDevice;
using placement::Options;
using placement::ProviderRow;
using placement::ProviderView;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConsumer = "11111111-1111-4111-8111-111111111111";
constexpr const char* kClass = "CUSTOM_NVME_8086_0001";
const Inventory kReserved{kClass, 1, 1, 1, 1, 1, 1.0};

class RegisterOnStack : public OpenStackTest {
 protected:
  static Options options(const std::string& host, OpenStackStack* stack = stack_) {
    Options made = stack->options();
    made.root_provider_names = {host};
    made.connect_retries = 0;
    return made;
  }
  // The root provider of a host with one device of Nova's, whose provider it also names.
  static OpenStackStack::Device host_with_a_device(const std::string& host,
                                                   OpenStackStack* stack = stack_) {
    auto device = stack->register_device(host, "0000:0f:00.0", {"--one-time-use"});
    EXPECT_TRUE(device.ok()) << device.error().what;
    return *device;
  }
  static NewDevice new_device(const std::string& host, const std::string& root_uuid) {
    // Each test has a host of its own, so that the last digits tell them apart.
    const std::size_t number = std::hash<std::string>{}(host)&0xffffffffU;
    return {fmt::format("a0000000-0000-5000-8000-0000{:08x}", number),
            host + "_0000:01:00.0",
            root_uuid,
            kClass,
            {"OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_BES", "HW_NVME_WZS"}};
  }
  static Result<placement::HttpResponse> ask(PlacementBench& bench, const std::string& method,
                                             const std::string& path, const std::string& body = "",
                                             OpenStackStack* stack = stack_) {
    return bench.send({method,
                       stack->endpoint("placement_url") + path,
                       {{"X-Auth-Token", bench.transport().last_token()},
                        {"OpenStack-API-Version", "placement 1.28"},
                        {"Content-Type", "application/json"}},
                       body});
  }
  static std::string traits_of(PlacementBench& bench, const std::string& uuid,
                               OpenStackStack* stack = stack_) {
    const auto answer = ask(bench, "GET", "/resource_providers/" + uuid + "/traits", "", stack);
    return answer.ok() ? answer->body : answer.error().what;
  }
  static int allocate(PlacementBench& bench, const std::string& provider) {
    const auto answer = ask(bench, "PUT", std::string("/allocations/") + kConsumer,
                            "{\"allocations\":{\"" + provider + "\":{\"resources\":{\"" + kClass +
                                "\":1}}},\"consumer_generation\":null,\"project_id\":\"p\","
                                "\"user_id\":\"u\"}");
    return answer.ok() ? answer->status : 0;
  }
};

TEST_F(RegisterOnStack, ADeviceIsSeenWithClassTraitsAndReserved) {
  const auto root = host_with_a_device("new-host");
  PlacementBench bench(options("new-host"));
  const NewDevice device = new_device("new-host", root.root_uuid);
  const auto view = bench.register_device(device);
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_EQ(view->uuid, device.uuid);
  EXPECT_THAT(view->inventories, ElementsAre(kReserved));
  EXPECT_TRUE(view->free());

  const auto tree = bench.list_tree();
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  ASSERT_EQ(tree->rows.size(), 2U);
  for (const ProviderRow& row : tree->rows) {
    EXPECT_EQ(row.parent_uuid, root.root_uuid);
    EXPECT_EQ(row.one_time_use, row.uuid == root.provider_uuid);
    EXPECT_EQ(row.name, row.uuid == device.uuid ? device.name : root.provider_name);
  }
  for (const std::string& trait : device.traits) {
    EXPECT_THAT(traits_of(bench, device.uuid), HasSubstr(trait));
  }
}

TEST_F(RegisterOnStack, WhatIsReservedCannotBeAllocated) {
  const auto root = host_with_a_device("reserved-host");
  PlacementBench bench(options("reserved-host"));
  const NewDevice device = new_device("reserved-host", root.root_uuid);
  ASSERT_TRUE(bench.register_device(device).ok());
  EXPECT_EQ(allocate(bench, device.uuid), 409);
  const auto view = bench.read(device.uuid);
  ASSERT_TRUE(view.ok() && view->free());
  // The same attempt on the same device succeeds once it is released.
  ASSERT_TRUE(bench.set_reserved(*view, 0).ok());
  EXPECT_EQ(allocate(bench, device.uuid), 204);
  EXPECT_TRUE(stack_->run("free", {"--consumer", kConsumer}).ok());
}

TEST_F(RegisterOnStack, RegisteringAgainChangesNothing) {
  const auto root = host_with_a_device("again-host");
  PlacementBench bench(options("again-host"));
  const NewDevice device = new_device("again-host", root.root_uuid);
  const auto first = bench.register_device(device);
  ASSERT_TRUE(first.ok()) << first.error().what;
  ASSERT_TRUE(bench.set_reserved(*first, 0).ok());
  const auto before = bench.client().counts();
  const auto again = bench.register_device(device);
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_EQ(again->generation, first->generation + 1);  // that of set_reserved()
  EXPECT_FALSE(again->burned());  // it was cleaned and given back: that is not undone
  EXPECT_EQ(bench.client().counts().placement() - before.placement(), 6U);
}

TEST_F(RegisterOnStack, AProviderWithoutOwnerCyborgIsRefusedAndUntouched) {
  const auto nova = host_with_a_device("nova-host");
  PlacementBench bench(options("nova-host"));
  NewDevice device = new_device("nova-host", nova.root_uuid);
  device.name = nova.provider_name;
  const auto before = bench.read(nova.provider_uuid);
  ASSERT_TRUE(before.ok());
  const std::string traits = traits_of(bench, nova.provider_uuid);
  const auto refused = bench.register_device(device);
  EXPECT_EQ(refused.error().code, Errc::refused) << refused.error().what;
  EXPECT_THAT(refused.error().what, HasSubstr(nova.provider_uuid));
  const auto after = bench.read(nova.provider_uuid);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->generation, before->generation);
  EXPECT_EQ(after->inventories, before->inventories);
  EXPECT_EQ(traits_of(bench, nova.provider_uuid), traits);
  EXPECT_EQ(bench.list_tree()->rows.size(), 1U);
}

TEST_F(RegisterOnStack, ACrashAfterAnyRequestLeavesNothingToScheduleAndIsFinishedLater) {
  const auto root = host_with_a_device("crash-host");
  bool whole = false;
  int requests = 0;
  for (; !whole && requests < 40; ++requests) {
    NewDevice device = new_device(fmt::format("crash-{}", requests), root.root_uuid);
    device.resource_class = fmt::format("CUSTOM_NVME_CRASH_{}", requests);
    {
      PlacementBench crashing(options("crash-host"));
      ASSERT_TRUE(crashing.log_in().ok());
      crashing.transport().let_through(requests);
      whole = crashing.register_device(device).ok();
    }
    PlacementBench bench(options("crash-host"));
    const auto left = bench.read(device.uuid);
    if (left.ok()) {
      for (const Inventory& inventory : left->inventories) EXPECT_EQ(inventory.reserved, 1);
    } else {
      EXPECT_EQ(left.error().code, Errc::not_found) << left.error().what;
    }
    const auto finished = bench.register_device(device);
    ASSERT_TRUE(finished.ok()) << requests << ": " << finished.error().what;
    Inventory reserved = kReserved;
    reserved.resource_class = device.resource_class;
    EXPECT_THAT(finished->inventories, ElementsAre(reserved)) << requests;
    for (const std::string& trait : device.traits) {
      EXPECT_THAT(traits_of(bench, device.uuid), HasSubstr(trait)) << requests;
    }
  }
  EXPECT_EQ(requests - 1, 12);
}

TEST_F(RegisterOnStack, AnInventoryThatVanishedComesBackReserved) {
  const auto root = host_with_a_device("vanished-host");
  PlacementBench bench(options("vanished-host"));
  const NewDevice device = new_device("vanished-host", root.root_uuid);
  const auto first = bench.register_device(device);
  ASSERT_TRUE(first.ok() && bench.set_reserved(*first, 0).ok());
  const auto gone = ask(bench, "DELETE", "/resource_providers/" + device.uuid + "/inventories");
  ASSERT_TRUE(gone.ok());
  ASSERT_EQ(gone->status, 204);
  const auto again = bench.register_device(device);
  ASSERT_TRUE(again.ok()) << again.error().what;
  EXPECT_THAT(again->inventories, ElementsAre(kReserved));
}

TEST_F(RegisterOnStack, TraitsOfOthersAreKept) {
  const auto root = host_with_a_device("tagged-host");
  PlacementBench bench(options("tagged-host"));
  NewDevice device = new_device("tagged-host", root.root_uuid);
  const std::vector<std::string> all = device.traits;
  device.traits = {"OWNER_CYBORG", "HW_CPU_X86_AVX"};
  ASSERT_TRUE(bench.register_device(device).ok());
  device.traits = all;
  ASSERT_TRUE(bench.register_device(device).ok());
  EXPECT_THAT(traits_of(bench, device.uuid), HasSubstr("HW_CPU_X86_AVX"));
  EXPECT_THAT(traits_of(bench, device.uuid), HasSubstr("HW_NVME_WZS"));
}

TEST_F(RegisterOnStack, TwoWorkersAtOnceMakeOneProvider) {
  const auto root = host_with_a_device("race-host");
  PlacementBench bench(options("race-host"));
  const NewDevice device = new_device("race-host", root.root_uuid);
  ASSERT_TRUE(bench.log_in().ok());
  int good = 0;
  int refused = 0;
  for (int worker = 0; worker < 3; ++worker) {
    bench.client().register_device(device, [&](const Result<ProviderView>& view) {
      EXPECT_TRUE(view.ok()) << view.error().what;
      good += view.ok() && view->burned() ? 1 : 0;
      refused += view.ok() ? 0 : 1;
    });
  }
  for (int round = 0; round < 10'000 && good + refused < 3; ++round) bench.loop().run_once();
  EXPECT_EQ(good, 3);
  EXPECT_EQ(bench.list_tree()->rows.size(), 2U);
}

// Cyborg of today does not reserve at bind: the device has a consumer when we do.
TEST_F(RegisterOnStack, AnAllocatedDeviceIsReservedAndItsAllocationStands) {
  const auto device = stack_->register_device("bind-host", "0000:01:00.0",
                                              {"--trait", "OWNER_CYBORG", "--allocate", kConsumer});
  ASSERT_TRUE(device.ok()) << device.error().what;
  PlacementBench bench(options("bind-host"));
  const auto bound = bench.read(device->provider_uuid);
  ASSERT_TRUE(bound.ok());
  ASSERT_FALSE(bound->burned());
  const auto reserved = bench.set_reserved(*bound, 1);
  ASSERT_TRUE(reserved.ok()) << reserved.error().what;
  EXPECT_TRUE(reserved->burned());
  EXPECT_THAT(reserved->consumers, ElementsAre(kConsumer));
  // Everything but `reserved` is as it was.
  Inventory expected = bound->inventories.front();
  expected.reserved = 1;
  EXPECT_THAT(reserved->inventories, ElementsAre(expected));
  // It is the tenant's still: not given back while he is there, burned when he goes.
  EXPECT_EQ(bench.set_reserved(*reserved, 0).error().code, Errc::refused);
  ASSERT_TRUE(stack_->run("free", {"--consumer", kConsumer}).ok());
  const auto left = bench.read(device->provider_uuid);
  ASSERT_TRUE(left.ok());
  EXPECT_TRUE(left->burned() && left->free());
}

TEST(RegisterWithoutTraits, Debian12HasOwnerCyborgButNoTraitsOfNvme) {
  auto stack = OpenStackStack::start({"--without-traits"});
  ASSERT_TRUE(stack.ok()) << stack.error().what;
  const auto root = (*stack)->register_device("h", "0000:0f:00.0", {});
  ASSERT_TRUE(root.ok()) << root.error().what;
  Options made = (*stack)->options();
  made.root_provider_names = {"h"};
  PlacementBench bench(made);
  const NewDevice device{"a0000000-0000-5000-8000-000000000001",
                         "h_0000:01:00.0",
                         root->root_uuid,
                         kClass,
                         {"OWNER_CYBORG", "HW_NVME_CES", "HW_NVME_BES", "HW_NVME_WZS"}};
  const auto view = bench.register_device(device);
  ASSERT_TRUE(view.ok()) << view.error().what;
  EXPECT_THAT(view->inventories, ElementsAre(kReserved));
  const auto traits = bench.send(
      {"GET",
       (*stack)->endpoint("placement_url") + "/resource_providers/" + device.uuid + "/traits",
       {{"X-Auth-Token", bench.transport().last_token()},
        {"OpenStack-API-Version", "placement 1.28"}},
       ""});
  ASSERT_TRUE(traits.ok());
  EXPECT_THAT(traits->body, HasSubstr("OWNER_CYBORG"));
  EXPECT_THAT(traits->body, Not(HasSubstr("HW_NVME")));
}

}  // namespace
}  // namespace reclaim::testing
