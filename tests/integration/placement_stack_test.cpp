// The Placement client against a real Keystone and a real Placement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/integration/openstack_test.h"
#include "tests/integration/placement_bench.h"

namespace reclaim::testing {
namespace {

using placement::Inventory;
using placement::Options;
using placement::ProviderRow;
using placement::ProviderView;
using placement::RequestKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConsumer = "11111111-1111-4111-8111-111111111111";

class PlacementStack : public OpenStackTest {
 protected:
  static void SetUpTestSuite() { start_stack({"--tls"}); }

  static Options options(const std::string& host) {
    Options made = stack_->options();
    made.root_provider_names = {host};
    return made;
  }
  // A device as Nova leaves it behind: burned, its allocation deleted.
  static OpenStackStack::Device burned(const std::string& host, const std::string& address) {
    auto device = stack_->register_device(
        host, address, {"--one-time-use", "--reserved", "1", "--allocate", kConsumer});
    EXPECT_TRUE(device.ok()) << device.error().what;
    EXPECT_TRUE(stack_->run("free", {"--consumer", kConsumer}).ok());
    return *device;
  }
};

TEST_F(PlacementStack, LogsInWithPassword) {
  PlacementBench bench(options("h"));
  const auto facts = bench.log_in();
  ASSERT_TRUE(facts.ok()) << facts.error().what;
  EXPECT_EQ(facts->endpoint, stack_->endpoint("placement_url"));
  EXPECT_EQ(facts->microversion, "1.28");
}

TEST_F(PlacementStack, LogsInWithAnUnversionedAuthUrl) {
  Options made = options("h");
  made.auth_url.resize(made.auth_url.size() - 3);
  EXPECT_TRUE(PlacementBench(made).log_in().ok());
}

TEST_F(PlacementStack, LogsInWithAnApplicationCredential) {
  Options made;
  made.auth_type = "v3applicationcredential";
  made.auth_url = stack_->endpoint("auth_url");
  made.region_name = stack_->endpoint("region");  // the other region's is behind TLS
  made.application_credential_id = stack_->endpoint("application_credential_id");
  made.application_credential_secret = stack_->endpoint("application_credential_secret");
  const auto facts = PlacementBench(made).log_in();
  ASSERT_TRUE(facts.ok()) << facts.error().what;
  made.application_credential_id.clear();
  made.application_credential_name = "reclaim";
  made.username = stack_->endpoint("service_username");
  made.user_domain_name = "Default";
  EXPECT_TRUE(PlacementBench(made).log_in().ok());
  made.application_credential_secret = "wrong";
  EXPECT_EQ(PlacementBench(made).log_in().error().code, Errc::refused);
}

TEST_F(PlacementStack, SaysThatThePasswordIsWrong) {
  Options made = options("h");
  made.password = "wrong";
  PlacementBench bench(made);
  const auto facts = bench.log_in();
  EXPECT_EQ(facts.error().code, Errc::refused);
  EXPECT_THAT(facts.error().what, HasSubstr("credentials were refused"));
  EXPECT_THAT(facts.error().what, ::testing::Not(HasSubstr("wrong")));
  EXPECT_EQ(bench.client().counts().of(RequestKind::token), 1U);
}

TEST_F(PlacementStack, SaysThatTheRegionIsNone) {
  Options made = options("h");
  made.region_name = "Nowhere";
  const auto facts = PlacementBench(made).log_in();
  EXPECT_EQ(facts.error().code, Errc::refused);
  EXPECT_THAT(facts.error().what, HasSubstr("RegionOne"));
}

TEST_F(PlacementStack, SaysThatTheRoleIsMissing) {
  Options made = options("h");
  made.username = "nobody";
  const auto tree = PlacementBench(made).list_tree();
  EXPECT_EQ(tree.error().code, Errc::refused);
  EXPECT_THAT(tree.error().what, HasSubstr("role admin or service"));
}

TEST_F(PlacementStack, ListsTheTreeAndMarksItsRows) {
  const auto first = burned("tree-host", "0000:c1:00.0");
  const auto plain = stack_->register_device("tree-host", "0000:02:00.0", {});
  ASSERT_TRUE(plain.ok());
  (void)burned("another-host", "0000:01:00.0");
  Options made = options("tree-host");
  made.root_provider_names = {"tree-host.example.org", "tree-host"};
  PlacementBench bench(made);
  const auto tree = bench.list_tree();
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  EXPECT_EQ(tree->root_name, "tree-host");
  EXPECT_EQ(tree->root_uuid, first.root_uuid);
  ASSERT_EQ(tree->rows.size(), 2U);
  for (const ProviderRow& row : tree->rows) {
    EXPECT_EQ(row.parent_uuid, first.root_uuid);
    EXPECT_EQ(row.one_time_use, row.uuid == first.provider_uuid) << row.name;
  }
  EXPECT_EQ(first.provider_name, "tree-host_0000:C1:00.0");
}

// Whoever un-reserves a device moves the generation that this shows.
TEST_F(PlacementStack, ListsTheGenerationsOfTheTree) {
  const auto device = burned("rows-host", "0000:c1:00.0");
  PlacementBench bench(options("rows-host"));
  EXPECT_EQ(bench.list_rows().error().code, Errc::not_found) << "no tree was listed yet";
  ASSERT_TRUE(bench.list_tree().ok());
  const auto generation = [&]() -> std::int64_t {
    const auto rows = bench.list_rows();
    if (!rows) return -1;
    EXPECT_EQ(rows->size(), 2U) << "the root and the device";
    const auto row = std::find_if(rows->begin(), rows->end(), [&](const ProviderRow& each) {
      return each.uuid == device.provider_uuid;
    });
    return row == rows->end() ? -1 : row->generation;
  };
  const std::int64_t before = generation();
  ASSERT_GE(before, 0);
  EXPECT_EQ(generation(), before);
  const auto view = bench.read(device.provider_uuid);
  ASSERT_TRUE(view.ok());
  ASSERT_TRUE(bench.set_reserved(*view, 0).ok());
  EXPECT_GT(generation(), before);
}

TEST_F(PlacementStack, NoSuchHost) {
  const auto tree = PlacementBench(options("no such host/%")).list_tree();
  EXPECT_EQ(tree.error().code, Errc::not_found);
}

TEST_F(PlacementStack, MarksCyborgsRows) {
  ASSERT_TRUE(
      stack_->register_device("cyborg-host", "0000:01:00.0", {"--trait", "OWNER_CYBORG"}).ok());
  const Options made = options("cyborg-host");
  const auto tree = PlacementBench(made).list_tree();
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  EXPECT_TRUE(tree->rows.front().owner_cyborg);
  EXPECT_FALSE(tree->rows.front().one_time_use);
}

TEST_F(PlacementStack, MarksARowOfBothOwnersWhereEveryDeviceIsNovas) {
  ASSERT_TRUE(stack_->register_device("both-host", "0000:01:00.0", {"--one-time-use"}).ok());
  const auto both = stack_->register_device("both-host", "0000:02:00.0",
                                            {"--one-time-use", "--trait", "OWNER_CYBORG"});
  ASSERT_TRUE(both.ok());
  const auto tree = PlacementBench(options("both-host")).list_tree();
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  ASSERT_EQ(tree->rows.size(), 2U);
  for (const ProviderRow& row : tree->rows) {
    EXPECT_TRUE(row.one_time_use) << row.name;
    EXPECT_EQ(row.owner_cyborg, row.uuid == both->provider_uuid) << row.name;
  }
}

TEST_F(PlacementStack, ReadsAndReleasesWithinTenRequests) {
  const auto device = burned("release-host", "0000:01:00.0");
  PlacementBench bench(options("release-host"));
  ASSERT_TRUE(bench.list_tree().ok());  // warm: the first survey of the process
  const auto before = bench.client().counts();

  // One clean: survey, admission, the check before the erasure, the look before the release.
  ASSERT_TRUE(bench.list_tree().ok());
  for (int look = 0; look < 3; ++look) {
    const auto view = bench.read(device.provider_uuid);
    ASSERT_TRUE(view.ok()) << view.error().what;
    EXPECT_TRUE(view->burned());
    EXPECT_TRUE(view->free());
  }
  const auto view = bench.read(device.provider_uuid);
  const auto released = bench.set_reserved(*view, 0);
  ASSERT_TRUE(released.ok()) << released.error().what;
  const Inventory expected{"CUSTOM_PCI_1B36_0010", 1, 0, 1, 1, 1, 1.0};
  EXPECT_THAT(released->inventories, ElementsAre(expected));
  EXPECT_EQ(released->generation, view->generation + 1);

  const auto after = bench.client().counts();
  // The read just above is this test's own, so two less: 2 + 3 * 2 + 2.
  EXPECT_EQ(after.placement() - before.placement() - 2, 10U);
  EXPECT_EQ(after.of(RequestKind::token), 1U);
  EXPECT_EQ(after.of(RequestKind::versions), 1U);
}

TEST_F(PlacementStack, EchoesWhatNovaWrote) {
  const auto device = burned("echo-host", "0000:01:00.0");
  PlacementBench bench(options("echo-host"));
  const auto view = bench.read(device.provider_uuid);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->inventories.front().max_unit, 1);
  ASSERT_TRUE(bench.set_reserved(*view, 0).ok());
  const auto again = bench.read(device.provider_uuid);
  Inventory expected = view->inventories.front();
  expected.reserved = 0;
  EXPECT_THAT(again->inventories, ElementsAre(expected));
}

TEST_F(PlacementStack, ReservesAgain) {
  const auto device = stack_->register_device("again-host", "0000:01:00.0", {"--one-time-use"});
  ASSERT_TRUE(device.ok());
  PlacementBench bench(options("again-host"));
  const auto view = bench.read(device->provider_uuid);
  const auto reserved = bench.set_reserved(*view, 1);
  ASSERT_TRUE(reserved.ok()) << reserved.error().what;
  EXPECT_TRUE(reserved->burned());
}

TEST_F(PlacementStack, AStaleGenerationIsAConflictAndChangesNothing) {
  const auto device = burned("stale-host", "0000:01:00.0");
  PlacementBench bench(options("stale-host"));
  auto view = bench.read(device.provider_uuid);
  ASSERT_TRUE(view.ok());
  view->generation -= 1;
  const auto refused = bench.set_reserved(*view, 0);
  EXPECT_EQ(refused.error().code, Errc::conflict) << refused.error().what;
  EXPECT_TRUE(bench.read(device.provider_uuid)->burned());
}

TEST_F(PlacementStack, AnAllocationMeanwhileIsAConflict) {
  const auto device = stack_->register_device("race-host", "0000:01:00.0", {"--one-time-use"});
  ASSERT_TRUE(device.ok());
  PlacementBench bench(options("race-host"));
  const auto view = bench.read(device->provider_uuid);
  ASSERT_TRUE(stack_
                  ->register_device(
                      "race-host", "0000:01:00.0",
                      {"--one-time-use", "--allocate", "31111111-1111-4111-8111-111111111111"})
                  .ok());
  EXPECT_EQ(bench.set_reserved(*view, 0).error().code, Errc::conflict);
  const auto allocated = bench.read(device->provider_uuid);
  EXPECT_THAT(allocated->consumers, ElementsAre("31111111-1111-4111-8111-111111111111"));
  EXPECT_EQ(bench.set_reserved(*allocated, 0).error().code, Errc::refused);
}

// What tells a tenant who moves from one who left (handlers/survey/tenant.h).
TEST_F(PlacementStack, AMigrationHasItsInstancesAllocationAndProjectAndNoTypeTellsIt) {
  const std::string instance = "51111111-1111-4111-8111-111111111111";
  const std::string migration = "52222222-2222-4222-8222-222222222222";
  const auto device = stack_->register_device("move-host", "0000:01:00.0",
                                              {"--one-time-use", "--allocate", instance});
  ASSERT_TRUE(device.ok());
  PlacementBench bench(options("move-host"));
  const placement::Consumer tenant{true, "demo", "demo"};
  const auto before = bench.read(device->provider_uuid);
  EXPECT_THAT(before->consumers, ElementsAre(instance));
  EXPECT_EQ(*bench.describe(instance), tenant);
  EXPECT_EQ(*bench.describe(migration), placement::Consumer{});

  ASSERT_TRUE(stack_->run("move", {"--consumer", instance, "--to", migration}).ok());
  const auto moved = bench.read(device->provider_uuid);
  EXPECT_THAT(moved->consumers, ElementsAre(migration));
  EXPECT_EQ(moved->uuid, before->uuid);
  EXPECT_EQ(*bench.describe(migration), tenant);
  EXPECT_EQ(*bench.describe(instance), placement::Consumer{})
      << "until the scheduler has another place";
  const auto typed = bench.send({"GET",
                                 stack_->endpoint("placement_url") + "/allocations/" + migration,
                                 {{"X-Auth-Token", bench.transport().last_token()},
                                  {"OpenStack-API-Version", "placement 1.38"}},
                                 ""});
  ASSERT_TRUE(typed.ok());
  EXPECT_THAT(typed->body, HasSubstr(R"("consumer_type": "unknown")"));

  ASSERT_TRUE(stack_
                  ->register_device("move-elsewhere", "0000:01:00.0",
                                    {"--one-time-use", "--allocate", instance})
                  .ok());
  EXPECT_TRUE(bench.describe(instance)->holds);
  EXPECT_EQ(bench.describe("instance 1").error().code, Errc::invalid);
}

TEST_F(PlacementStack, AProviderThatIsGoneIsNotFound) {
  PlacementBench bench(options("h"));
  const std::string nobody = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(bench.read(nobody).error().code, Errc::not_found);
  const ProviderView view{nobody, 1, {{"CUSTOM_X", 1, 1, 1, 1, 1, 1.0}}, {}};
  EXPECT_EQ(bench.set_reserved(view, 0).error().code, Errc::not_found);
}

TEST_F(PlacementStack, ARevokedTokenIsRenewedOnceEvenForAWrite) {
  const auto device = burned("revoked-host", "0000:01:00.0");
  PlacementBench bench(options("revoked-host"));
  const auto view = bench.read(device.provider_uuid);
  ASSERT_TRUE(view.ok());
  const std::string token = bench.transport().last_token();
  const auto revoked = bench.send({"DELETE",
                                   stack_->endpoint("auth_url") + "/auth/tokens",
                                   {{"X-Auth-Token", token}, {"X-Subject-Token", token}},
                                   ""});
  ASSERT_TRUE(revoked.ok());
  EXPECT_EQ(revoked->status, 204);
  // For some seconds Placement goes on believing what Keystone said of it.
  for (int status = 0, looks = 0; status != 401; ++looks) {
    ASSERT_LT(looks, 3000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto answer = bench.send(
        {"GET", stack_->endpoint("placement_url") + "/traits", {{"X-Auth-Token", token}}, ""});
    ASSERT_TRUE(answer.ok());
    status = answer->status;
  }
  const auto released = bench.set_reserved(*view, 0);
  ASSERT_TRUE(released.ok()) << released.error().what;
  EXPECT_EQ(bench.client().counts().of(RequestKind::token), 2U);
  EXPECT_EQ(bench.client().counts().of(RequestKind::set_inventory), 2U);
  EXPECT_NE(bench.transport().last_token(), token);
}

TEST_F(PlacementStack, ManyReadsAtOnceShareOneLogin) {
  const auto device = burned("many-host", "0000:01:00.0");
  PlacementBench bench(options("many-host"));
  int good = 0;
  constexpr int kReads = 20;
  for (int i = 0; i < kReads - 1; ++i) {
    bench.client().read(device.provider_uuid,
                        [&](const Result<ProviderView>& view) { good += view.ok() ? 1 : 0; });
  }
  ASSERT_TRUE(bench.read(device.provider_uuid).ok());
  for (int round = 0; round < 10'000 && good < kReads - 1; ++round) bench.loop().run_once();
  EXPECT_EQ(good, kReads - 1);
  EXPECT_EQ(bench.client().counts().of(RequestKind::token), 1U);
  EXPECT_EQ(bench.client().counts().placement(), 1U + 2U * kReads);
}

TEST_F(PlacementStack, SpeaksTlsWithTheRightAuthority) {
  Options made = options("h");
  made.auth_url = stack_->endpoint("tls.auth_url");
  made.region_name = "TlsRegion";
  made.cafile = stack_->endpoint("tls.ca");
  const auto facts = PlacementBench(made).log_in();
  ASSERT_TRUE(facts.ok()) << facts.error().what;
  EXPECT_EQ(facts->endpoint, stack_->endpoint("tls.placement_url"));
}

TEST_F(PlacementStack, RefusesAnUnknownAuthority) {
  Options made = options("h");
  made.connect_retries = 0;
  made.auth_url = stack_->endpoint("tls.auth_url");
  for (const std::string& cafile : {std::string(), stack_->endpoint("tls.other-ca")}) {
    made.cafile = cafile;
    const auto facts = PlacementBench(made).log_in();
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code, Errc::unavailable);
    EXPECT_THAT(facts.error().what, HasSubstr("cafile"));
  }
}

TEST_F(PlacementStack, RefusesAnotherHostsCertificate) {
  Options made = options("h");
  made.connect_retries = 0;
  made.auth_url = stack_->endpoint("tls.misnamed_auth_url");
  made.cafile = stack_->endpoint("tls.ca");
  const auto facts = PlacementBench(made).log_in();
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, Errc::unavailable);
  made.insecure = true;
  EXPECT_TRUE(PlacementBench(made).log_in().ok());
}

TEST_F(PlacementStack, ShowsItsClientCertificate) {
  Options made = options("h");
  made.connect_retries = 0;
  made.auth_url = stack_->endpoint("tls.mtls_auth_url");
  made.endpoint_override = stack_->endpoint("tls.mtls_placement_url");
  made.cafile = stack_->endpoint("tls.ca");
  EXPECT_FALSE(PlacementBench(made).log_in().ok());
  made.certfile = stack_->endpoint("tls.client");
  const auto facts = PlacementBench(made).log_in();
  EXPECT_TRUE(facts.ok()) << facts.error().what;
}

TEST(PlacementWithoutTraits, Debian12HasNoOneTimeUse) {
  auto stack = OpenStackStack::start({"--without-traits"});
  ASSERT_TRUE(stack.ok()) << stack.error().what;
  ASSERT_TRUE((*stack)->register_device("h", "0000:01:00.0", {}).ok());
  Options made = (*stack)->options();
  made.root_provider_names = {"h"};
  const auto tree = PlacementBench(made).list_tree();
  ASSERT_TRUE(tree.ok()) << tree.error().what;
  ASSERT_EQ(tree->rows.size(), 1U);
  EXPECT_FALSE(tree->rows.front().one_time_use);
}

}  // namespace
}  // namespace reclaim::testing
