// Accelerator requests: Cyborg's shape, and `managed` as the VFIO specification has it ("ARQ attach
// handle information", "REST API impact").
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kInstance = "a11a5487-696b-4d4e-a487-6b9ec9d7e458";
constexpr const char* kFirst = "2f59e9d8-5a17-4607-83c5-e2ff83cce2c7";
constexpr const char* kSecond = "7e88a0a5-6dd9-497e-a7e0-fa2d75728a3b";
constexpr const char* kThird = "89ec9c4d-73b2-4aaf-9225-485945aa7162";

class ApiArqsTest : public ApiTest {
 protected:
  Arq& arq(const std::string& host, const std::string& uuid, ArqState state) {
    Arq made;
    made.uuid = uuid;
    made.state = state;
    made.project_id = kOurProject;
    made.device_profile_name = "vfio-variant-vf";
    made.hostname = host;
    made.device_rp_uuid = "0d59e5a5-d25e-478a-9c06-8d6fb0a0717e";
    made.instance_uuid = kInstance;
    made.attach_handle_type = "PCI";
    made.attach_handle_uuid = "97734f69-5cfa-4f4b-8609-b6d3ddadb0d7";
    made.address = *parse_pci_address("0000:25:00.4");
    made.created_at = "2019-10-25T07:58:23+00:00";
    made.updated_at = "2019-10-25T08:27:46+00:00";
    made.heard_at = clock.now().wall;
    store.books[host].push_back(made);
    return store.books[host].back();
  }

  std::string show(const std::string& uuid, const std::string& version) {
    clock.advance(2'000);
    const Response response = get("/v2/accelerator_requests/" + uuid, version);
    EXPECT_EQ(response.status, 200);
    return response.body;
  }

  static std::vector<std::string> uuids(const Response& response) {
    std::vector<std::string> found;
    const auto parsed = json::parse(response.body, 1U << 20U);
    if (!parsed || !parsed->HasMember("arqs")) return {"no list: " + response.body};
    for (const auto& one : (*parsed)["arqs"].GetArray()) {
      found.emplace_back(one["uuid"].GetString());
    }
    return found;
  }
};

TEST_F(ApiArqsTest, ManagedAppearsFrom24AsABooleanAndNeverBefore) {
  arq("compute-1", kFirst, ArqState::bound).managed = false;
  Arq& other = arq("compute-2", kSecond, ArqState::bound);
  other.attach_handle_type = "TEST_PCI";
  other.other_info = R"({"physical_network":"physnet1"})";
  arq("compute-1", kThird, ArqState::initial).updated_at.clear();
  for (const std::string version : {"2.0", "2.3", "2.4", "2.5"}) {
    const Response list = get("/v2/accelerator_requests", version);
    EXPECT_EQ(list.status, 200);
    expect_golden("arqs-" + version + ".json", list.body);
    const std::string one = show(kFirst, version);
    expect_golden("arq-" + version + ".json", one);
    EXPECT_EQ(one.find(R"("managed":false)") != std::string::npos, version >= "2.4") << version;
  }
}

TEST_F(ApiArqsTest, ManagedIsTrueWithoutAMarker) {
  arq("compute-1", kFirst, ArqState::bound);
  EXPECT_THAT(show(kFirst, "2.4"), HasSubstr(R"("function":"4","managed":true})"));
  EXPECT_THAT(show(kFirst, "2.3"), HasSubstr(R"("function":"4"})"));
}

TEST_F(ApiArqsTest, ManagedIsTheRecordsWhereTheArqSaysNothing) {
  arq("compute-1", kFirst, ArqState::bound);
  drive("compute-1", "0000:25:00.4", Stage::allocated).managed = false;
  drive("compute-2", "0000:25:00.4", Stage::allocated).managed = true;
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("managed":false)"));
  store.books["compute-1"][0].hostname = "compute-1.example.org";  // the node's, as Nova has it
  clock.advance(5'000);
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("managed":false)"));
  store.books["compute-1"][0].managed = true;
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("managed":true)")) << "the ARQ's marker is first";
}

TEST_F(ApiArqsTest, HandlesThatAreNotPciAreUnchanged) {
  Arq& mdev = arq("compute-1", kFirst, ArqState::bound);
  mdev.attach_handle_type = "MDEV";
  mdev.managed = false;
  mdev.other_info = R"({"asked_type":"nvidia-35","managed":"no"})";
  EXPECT_THAT(show(kFirst, "2.5"), Not(HasSubstr("managed")));
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("asked_type":"nvidia-35")"));
}

TEST_F(ApiArqsTest, AnUnboundOneShowsNothingOfWhatBoundIt) {
  arq("compute-1", kFirst, ArqState::unbound);
  const std::string body = show(kFirst, "2.5");
  EXPECT_THAT(body, HasSubstr(R"("attach_handle_type":"","attach_handle_uuid":null,)"
                              R"("attach_handle_info":{})"));
  EXPECT_THAT(body, HasSubstr(R"("hostname":null,"device_rp_uuid":null,"instance_uuid":null)"));
  EXPECT_THAT(uuids(get(std::string("/v2/accelerator_requests?instance=") + kInstance)), IsEmpty());
}

TEST_F(ApiArqsTest, AListOfManyIsMadeOverManyTurnsOfTheLoop) {
  for (int i = 0; i < 320; ++i) {
    arq("compute-1", fmt::format("2f59e9d8-5a17-4607-83c5-{:012}", i), ArqState::bound);
  }
  EXPECT_EQ(uuids(get("/v2/accelerator_requests")).size(), 320U);
  EXPECT_EQ(turns.turns, 10);
}

TEST_F(ApiArqsTest, AnInstanceIsMeantInWhateverCase) {
  arq("compute-1", kFirst, ArqState::bound);
  arq("compute-1", kSecond, ArqState::bind_started);
  drive("compute-1", "0000:25:00.4", Stage::allocated);
  const std::string asked =
      "/v2/accelerator_requests?instance=A11A5487-696B-4D4E-A487-6B9EC9D7E458";
  EXPECT_THAT(uuids(get(asked)), ElementsAre(kFirst, kSecond));
  EXPECT_EQ(get(asked + "&bind_state=resolved").status, 423);
}

TEST_F(ApiArqsTest, InstanceAndBindStateSelect) {
  arq("compute-1", kFirst, ArqState::bound);
  arq("compute-2", kSecond, ArqState::bound).instance_uuid = kThird;
  arq("compute-2", kThird, ArqState::bind_started).instance_uuid = kThird;
  const std::string ours = std::string("?instance=") + kInstance;
  const std::string theirs = std::string("?instance=") + kThird;
  EXPECT_THAT(uuids(get("/v2/accelerator_requests" + ours)), ElementsAre(kFirst));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests" + theirs)), ElementsAre(kSecond, kThird));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests?bind_state=resolved")),
              ElementsAre(kFirst, kSecond));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests" + ours + "&bind_state=resolved")),
              ElementsAre(kFirst));
}

TEST_F(ApiArqsTest, UnresolvedArqsOfTheInstanceAre423) {
  const std::string target =
      std::string("/v2/accelerator_requests?bind_state=resolved&instance=") + kInstance;
  arq("compute-1", kFirst, ArqState::bound);
  Arq& late = arq("compute-2", kSecond, ArqState::bind_started);
  drive("compute-2", "0000:25:00.4", Stage::allocated);
  const Response response = get(target);
  EXPECT_EQ(response.status, 423);
  EXPECT_THAT(fault_of(response), AllOf(HasSubstr(kInstance), HasSubstr("host compute-2 says")));
  // Its provider names the device before its attach handle does.
  late.address.reset();
  store.records["compute-2"][0].provider = late.device_rp_uuid;
  clock.advance(2'000);
  EXPECT_EQ(get(target).status, 423);
  for (const ArqState resolved : {ArqState::bound, ArqState::bind_failed, ArqState::deleting}) {
    late.state = resolved;
    clock.advance(2'000);
    EXPECT_EQ(get(target).status, 200) << to_string(resolved);
  }
}

// What a host's login writes into its own book of an instance that is not there.
TEST_F(ApiArqsTest, NoHostLocksTheInstanceOfAnother) {
  const std::string target =
      std::string("/v2/accelerator_requests?bind_state=resolved&instance=") + kInstance;
  arq("compute-2", kSecond, ArqState::bound);
  drive("compute-2", "0000:25:00.4", Stage::allocated).provider =
      store.books["compute-2"][0].device_rp_uuid;
  drive("compute-1", "0000:01:00.0", Stage::available).provider = kThird;
  Arq& forged = arq("compute-1", kFirst, ArqState::bind_started);
  EXPECT_THAT(uuids(get(target)), ElementsAre(kSecond)) << "a device and a provider of another's";
  forged.address.reset();
  forged.device_rp_uuid.clear();
  clock.advance(2'000);
  EXPECT_THAT(uuids(get(target)), ElementsAre(kSecond)) << "no device";
  forged.uuid = kSecond;
  clock.advance(2'000);
  EXPECT_THAT(uuids(get(target)), ElementsAre(kSecond)) << "the very one";
}

TEST_F(ApiArqsTest, BadFiltersAre400) {
  EXPECT_THAT(fault_of(get("/v2/accelerator_requests?bind_state=bound")),
              HasSubstr("accepted is resolved"));
  EXPECT_EQ(get("/v2/accelerator_requests?bind_state=bound").status, 400);
  EXPECT_EQ(get("/v2/accelerator_requests?instance=x").status, 400);
  EXPECT_EQ(get("/v2/accelerator_requests?instance=").status, 400);
  EXPECT_EQ(get("/v2/accelerator_requests/x?instance=y").status, 400);
}

TEST_F(ApiArqsTest, WhoIsNoAdminSeesTheOwnProjectsOnly) {
  arq("compute-1", kFirst, ArqState::bound);
  arq("compute-2", kSecond, ArqState::bound).project_id.clear();  // not told
  const std::string first = std::string("/v2/accelerator_requests/") + kFirst;
  const std::string second = std::string("/v2/accelerator_requests/") + kSecond;
  EXPECT_THAT(uuids(get("/v2/accelerator_requests")), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests", "2.5", "reader")), ElementsAre(kFirst));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests", "2.5", "stranger")), IsEmpty());
  EXPECT_EQ(get(first, "2.5", "reader").status, 200);
  EXPECT_EQ(get(first, "2.5", "stranger").status, 404);
  EXPECT_EQ(get(second, "2.5", "reader").status, 404);
  tokens.known["unscoped"] = person("unscoped", {"reader"}, "");
  EXPECT_EQ(get(second, "2.5", "unscoped").status, 403);
  // However far the rule is opened: whose they are stays.
  start({{"cyborg:arq:get_all", "@"}}, {});
  EXPECT_THAT(uuids(get("/v2/accelerator_requests", "2.5", "stranger")), IsEmpty());
  EXPECT_EQ(get("/v2/accelerator_requests", "2.5", "unscoped").status, 403);
}

TEST_F(ApiArqsTest, OneThatIsOverElsewhereIsShownAsWhoItBindsHasIt) {
  arq("compute-1", kFirst, ArqState::unbound).heard_at.ms += 5'000;
  arq("compute-2", kFirst, ArqState::bound);
  EXPECT_THAT(uuids(get("/v2/accelerator_requests")), ElementsAre(kFirst));
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("state":"Bound")"));
  // Of those that bind nothing the one heard of last.
  store.books["compute-2"][0].state = ArqState::initial;
  EXPECT_THAT(show(kFirst, "2.5"), HasSubstr(R"("state":"Unbound")"));
}

// What a host's login writes into its own book: another's ARQ, as heard of later.
TEST_F(ApiArqsTest, NoHostHidesTheArqOfAnother) {
  arq("compute-2", kFirst, ArqState::bound);
  const std::string honest = show(kFirst, "2.5");
  Arq& forged = arq("compute-1", kFirst, ArqState::unbound);
  forged.heard_at.ms += 60'000;
  forged.project_id = kOtherProject;
  EXPECT_EQ(show(kFirst, "2.5"), honest);
  store.books["compute-1"][0].state = ArqState::bound;
  clock.advance(2'000);
  const std::string one = std::string("/v2/accelerator_requests/") + kFirst;
  const Response both = get(one);
  EXPECT_EQ(both.status, 409);
  EXPECT_THAT(fault_of(both), HasSubstr("hosts compute-1, compute-2"));
  EXPECT_THAT(uuids(get("/v2/accelerator_requests")), ElementsAre(kFirst, kFirst));
  EXPECT_THAT(get("/v2/accelerator_requests").body, HasSubstr(R"("hostname":"compute-2")"));
  // Its project sees no more of it than before.
  EXPECT_EQ(get(one, "2.5", "reader").body, honest);
  EXPECT_EQ(get("/v2/accelerator_requests", "2.5", "reader").status, 200);
}

TEST_F(ApiArqsTest, OneThatAHostTellsTwiceIsShownOnce) {
  arq("compute-1", kFirst, ArqState::bound);
  arq("compute-1", kFirst, ArqState::bound);
  EXPECT_THAT(uuids(get("/v2/accelerator_requests")), ElementsAre(kFirst));
}

TEST_F(ApiArqsTest, AnUnknownOneIs404) {
  EXPECT_EQ(get(std::string("/v2/accelerator_requests/") + kFirst).status, 404);
}

}  // namespace
}  // namespace reclaim::api
