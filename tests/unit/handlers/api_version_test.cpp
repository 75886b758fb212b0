// OpenStack-API-Version as microversion-parse and Cyborg read it, and the documents of discovery.
#include "handlers/api/version.h"

#include <gmock/gmock.h>

#include "handlers/api/route.h"
#include "tests/unit/handlers/api_fixture.h"

namespace reclaim::api {
namespace {

using ::testing::HasSubstr;

TEST(ApiVersionTest, TheHeaderIsReadAsMicroversionParseDoes) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "2.0"},
      {"accelerator 2.0", "2.0"},
      {"accelerator 2.3", "2.3"},
      {"accelerator 2.5", "2.5"},
      {"Accelerator  2.4 ", "2.4"},
      {"accelerator latest", "2.7"},
      {"accelerator LATEST", "2.7"},
      {"accelerator-cleaning 2.5", "2.5"},
      {"compute 2.90", "2.0"},
      {"compute 2.90, accelerator 2.3", "2.3"},
      {"accelerator 2.3,compute 2.90", "2.3"},
      {"accelerator 2.3,accelerator 2.4", "2.4"},
      {"compute 2.90,2.3", "2.0"},
      {"2.3", "2.3"},  // without a service type, as old clients send it
      {"latest", "2.7"},
  };
  for (const auto& [header, version] : table) {
    const auto negotiated = negotiate(header);
    ASSERT_TRUE(negotiated.ok()) << header;
    EXPECT_EQ(to_string(negotiated->version), version) << header;
  }
}

TEST(ApiVersionTest, WhatIsNotSupportedIsRefusedWithTheRange) {
  for (const std::string header :
       {"accelerator 2.8", "accelerator 1.0", "accelerator 3.0", "accelerator 2", "accelerator 2.x",
        "accelerator -2.0", "accelerator 2.99999999999999999999", "accelerator two", "nonsense",
        "accelerator 2.3.1", "accelerator 2."}) {
    const auto negotiated = negotiate(header);
    ASSERT_FALSE(negotiated.ok()) << header;
    EXPECT_THAT(negotiated.error().what, HasSubstr("[2.0, 2.7]")) << header;
  }
}

TEST(ApiRouteTest, PathsAreDecodedAndASlashAtTheEndIsNothing) {
  const std::vector<std::tuple<std::string, Resource, std::string, std::string>> table{
      {"/", Resource::root, "", ""},
      {"/healthz", Resource::healthz, "", ""},
      {"/accelerator/readyz/", Resource::readyz, "", "/accelerator"},
      {"/v2/healthz", Resource::nothing, "", ""},
      {"/metrics", Resource::metrics, "", ""},
      {"/v2", Resource::version, "", ""},
      {"/v2/", Resource::version, "", ""},
      {"/accelerator", Resource::root, "", "/accelerator"},
      {"/accelerator/v2/devices", Resource::devices, "", "/accelerator"},
      {"/v2/devices/", Resource::devices, "", ""},
      {"/v2/%64evices", Resource::devices, "", ""},
      {"/v2/devices/a%2Fb", Resource::device, "a/b", ""},
      {"/v2/devices/x/clean", Resource::clean, "x", ""},
      {"/v2/devices/x/clean/", Resource::clean, "x", ""},
      {"/v2/devices/x/unhold", Resource::unhold, "x", ""},
      {"/v2/devices/x/abort", Resource::abort, "x", ""},
      {"/v2/devices/x/enrol", Resource::enrol, "x", ""},
      {"/v2/devices/x/enable", Resource::enable, "x", ""},
      {"/v2/devices/x/disable", Resource::disable, "x", ""},
      {"/v2/devices/x/disable/y", Resource::nothing, "", ""},
      {"/v2/devices/x/cleaning/steps", Resource::steps, "x", ""},
      {"/v2/devices/x/cleaning", Resource::cleaning, "x", ""},
      {"/v2/devices/x/cleaning/y", Resource::nothing, "", ""},
      {"/v2/accelerator_requests", Resource::arqs, "", ""},
      {"/v2/accelerator_requests/y", Resource::arq, "y", ""},
      {"/v2/certificates", Resource::certificates, "", ""},
      {"/v2/certificates/z", Resource::certificate, "z", ""},
      {"/v2//devices", Resource::nothing, "", ""},
      {"/v3/devices", Resource::nothing, "", ""},
      {"/v2/devices/a+b", Resource::device, "a+b", ""},
  };
  for (const auto& [path, resource, id, mount] : table) {
    const auto route = parse_route(path);
    ASSERT_TRUE(route.ok()) << path;
    EXPECT_EQ(route->resource, resource) << path;
    EXPECT_EQ(route->id, id) << path;
    EXPECT_EQ(route->mount, mount) << path;
  }
}

TEST(ApiRouteTest, AQueryIsDecodedInItsOrder) {
  const auto route = parse_route("/v2/devices?type=NV%4DE&&vendor=a+b&flag&x==");
  ASSERT_TRUE(route.ok());
  const Parameters wanted{{"type", "NVME"}, {"vendor", "a b"}, {"flag", ""}, {"x", "="}};
  EXPECT_EQ(route->parameters, wanted);
}

TEST(ApiRouteTest, BadEncodingControlCharactersAndTooManyParametersAreRefused) {
  std::string many = "/v2/devices?";
  for (std::size_t i = 0; i <= kParametersMax; ++i) many += "a=b&";
  for (const std::string& target :
       {std::string("/v2/%"), std::string("/v2/%4"), std::string("/v2/%zz"),
        std::string("/v2/a%00b"), std::string("/v2/devices?a=%0a"), std::string("v2"),
        std::string(""), std::string("*"), many}) {
    EXPECT_FALSE(parse_route(target).ok()) << target;
  }
}

class ApiDiscoveryTest : public ApiTest {};

TEST_F(ApiDiscoveryTest, AnybodyMayAskWhichVersionsThereAre) {
  const Response root = ask(request("GET", "/", "", ""));
  EXPECT_EQ(root.status, 200);
  expect_golden("root.json", root.body);
  for (const std::string path : {"/v2", "/v2/"}) {
    const Response version = ask(request("GET", path, "2.99", ""));
    EXPECT_EQ(version.status, 200);
    expect_golden("v2.json", version.body);
  }
}

TEST_F(ApiDiscoveryTest, LinksStayBelowTheMountPointThatTheClientUsed) {
  EXPECT_THAT(ask(request("GET", "/accelerator/", "", "")).body,
              HasSubstr("\"http://reclaim:6667/accelerator/v2\""));
  drive("compute-1", "0000:01:00.0", Stage::available);
  EXPECT_THAT(get("/accelerator/v2/devices").body,
              HasSubstr("\"http://reclaim:6667/accelerator/v2/devices/"));
}

TEST_F(ApiDiscoveryTest, EveryAnswerSaysWhichVersionItIsAndWhichThereAre) {
  const Response response = get("/v2/devices", "2.3");
  EXPECT_EQ(header(response, "OpenStack-API-Version"), "accelerator 2.3");
  EXPECT_EQ(header(response, "OpenStack-API-Minimum-Version"), "2.0");
  EXPECT_EQ(header(response, "OpenStack-API-Maximum-Version"), "2.7");
  EXPECT_EQ(header(response, "Vary"), "OpenStack-API-Version, X-Auth-Token");
  EXPECT_EQ(header(response, "Content-Type"), "application/json");
  EXPECT_EQ(header(get("/v2/devices", ""), "OpenStack-API-Version"), "accelerator 2.0");
}

TEST_F(ApiDiscoveryTest, WhatIsRefusedOrAskedOfNobodySaysItsVersionToo) {
  tokens.trouble = Error{Errc::unavailable, "controller:5000 does not answer"};
  const std::vector<std::pair<int, Request>> table{
      {401, request("GET", "/v2/devices", "2.3", "")}, {503, request("GET", "/v2/devices", "2.3")},
      {200, request("GET", "/", "2.3", "")},           {200, request("GET", "/v2", "2.3", "")},
      {405, request("PUT", "/v2", "2.3", "")},         {400, request("GET", "/v2/%zz", "2.3", "")},
  };
  for (const auto& [status, asked] : table) {
    const Response response = ask(asked);
    EXPECT_EQ(response.status, status) << asked.target;
    EXPECT_EQ(header(response, "OpenStack-API-Version"), "accelerator 2.3") << status;
    EXPECT_EQ(header(response, "OpenStack-API-Minimum-Version"), "2.0") << status;
    EXPECT_EQ(header(response, "OpenStack-API-Maximum-Version"), "2.7") << status;
    EXPECT_EQ(header(response, "Vary"), "OpenStack-API-Version, X-Auth-Token") << status;
  }
}

TEST_F(ApiDiscoveryTest, AHeaderThatComesTwiceIsOneList) {
  Request asked = request("GET", "/v2/devices", "2.3");
  asked.headers.push_back({"openstack-api-version", "compute 2.90"});
  EXPECT_EQ(header(ask(asked), "OpenStack-API-Version"), "accelerator 2.3");
}

TEST_F(ApiDiscoveryTest, AVersionThatIsNotThereIs406WithTheRange) {
  const Response response = get("/v2/devices", "2.8");
  EXPECT_EQ(response.status, 406);
  EXPECT_THAT(fault_of(response), HasSubstr("Version 2.8 was requested"));
  EXPECT_THAT(fault_of(response), HasSubstr("[2.0, 2.7]"));
  EXPECT_EQ(header(response, "OpenStack-API-Maximum-Version"), "2.7");
  EXPECT_EQ(header(response, "OpenStack-API-Minimum-Version"), "2.0");
  EXPECT_EQ(header(response, "OpenStack-API-Version"), "");
}

}  // namespace
}  // namespace reclaim::api
