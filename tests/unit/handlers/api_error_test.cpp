#include "handlers/api/error.h"

#include <gmock/gmock.h>

#include "state/base/json.h"

namespace reclaim::api {
namespace {

// The fault inside, read as the clients read it: twice.
rapidjson::Document fault_of(const std::string& body) {
  const auto outer = json::parse(body, 65'536);
  EXPECT_TRUE(outer.ok());
  auto inner = json::parse(*json::get_string(*outer, "error_message"), 65'536);
  EXPECT_TRUE(inner.ok());
  return std::move(inner).value();
}

TEST(ApiError, IsAFaultInsideAStringAsTheClientsReadIt) {
  EXPECT_EQ(error_body(404, "", "no such \"device\""),
            R"({"error_message":"{\"debuginfo\":null,\"faultcode\":\"Client\",)"
            R"(\"faultstring\":\"no such \\\"device\\\"\"}"})");
}

TEST(ApiError, ATitleStandsBeforeTheDetail) {
  EXPECT_EQ(*json::get_string(fault_of(error_body(409, "Conflict", "in use")), "faultstring"),
            "Conflict: in use");
  EXPECT_EQ(*json::get_string(fault_of(error_body(409, "Conflict", "")), "faultstring"),
            "Conflict");
}

TEST(ApiError, TheFaultIsTheServersFrom500On) {
  EXPECT_EQ(*json::get_string(fault_of(error_body(499, "x", "")), "faultcode"), "Client");
  EXPECT_EQ(*json::get_string(fault_of(error_body(500, "x", "")), "faultcode"), "Server");
}

TEST(ApiError, StaysJsonWhateverTheTexts) {
  const std::string odd("a\xff\x00\n\xc3\xa9", 6);
  EXPECT_EQ(*json::get_string(fault_of(error_body(400, odd, "")), "faultstring"), R"(a\xff\x00\x0a)"
                                                                                  "\xc3\xa9");
  EXPECT_EQ(*json::get_string(fault_of(error_body(400, "\xc3\xa9\n", "")), "faultstring"),
            "\xc3\xa9\\x0a");
  EXPECT_LT(error_body(400, "x", std::string(1'000'000, '\\')).size(), 65'536U);
}

}  // namespace
}  // namespace reclaim::api
