// Texts as OpenStack's services write them: flexible booleans, dicts as text, versioned objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/base/bool_text.h"
#include "state/base/json.h"
#include "state/device/python_text.h"
#include "state/device/versioned_object.h"

namespace reclaim {
namespace {

std::string read(std::string_view text) {
  const auto document = parse_json_or_python(text, 1'000);
  return document ? json::to_text(*document) : "error: " + document.error().what;
}

TEST(BoolText, IsOsloUtilsStrictBoolean) {
  for (const char* yes : {"1", "t", "true", "on", "y", "yes", "YES", " True\n"}) {
    EXPECT_TRUE(*bool_from_string(yes)) << yes;
  }
  for (const char* no : {"0", "f", "false", "off", "n", "no", "oFF"}) {
    EXPECT_FALSE(*bool_from_string(no)) << no;
  }
  for (const char* bad : {"", " ", "2", "yess", "None", "null", "-1", "tr ue"}) {
    EXPECT_FALSE(bool_from_string(bad).ok()) << bad;
  }
}

TEST(PythonText, ReadsWhatPythonPrintsOfADict) {
  EXPECT_EQ(read(R"({'product_id': '0001', 'controller': None, 'n': [1, -2.5, True, False]})"),
            R"({"product_id":"0001","controller":null,"n":[1,-2.5,true,false]})");
  EXPECT_EQ(read(R"({u'a': u"it's", 'b': 'say "x"', 'c': 'it\'s \x41\n\\'})"),
            R"({"a":"it's","b":"say \"x\"","c":"it's A\n\\"})");
  EXPECT_EQ(read(R"({"a": {"b": null}})"), R"({"a":{"b":null}})");
}

TEST(PythonText, SaysOfTheRestWhatJsonSays) {
  for (const char* bad :
       {"", "None", "['a']", "{'a': }", "{'a': 'b}", "{'a': b}", "{'a': '\\x4'}", "{'a': '\\",
        "{'a': nan}", "{'a': (1, 2)}", "os.system('x')", "{'a': 'b'} 1", "{'a': '\\q'}"}) {
    EXPECT_THAT(read(bad), ::testing::StartsWith("error: ")) << bad;
  }
  EXPECT_THAT(read("{'a': '" + std::string(2'000, 'x') + "'}"), ::testing::StartsWith("error: "));
  std::string deep = "{'a': ";
  for (int i = 0; i < 100; ++i) deep += "[";
  EXPECT_THAT(read(deep), ::testing::StartsWith("error: "));
}

TEST(VersionedObject, IsOpenedInAnyNamespace) {
  const auto document = json::parse(
      R"({"nova_object.name": "A", "nova_object.version": "1.7", "nova_object.data": {"x": 1},
          "x": 2})",
      1'000);
  const VersionedObject object = open_versioned_object(*document);
  EXPECT_FALSE(object.flat);
  EXPECT_EQ(object.name, "A");
  EXPECT_TRUE(object.major_is_one());
  EXPECT_EQ(*json::get_int(*object.data, "x"), 1);
  const auto flat = json::parse(R"({"x": 2, "_object.data": 1})", 1'000);
  EXPECT_TRUE(open_versioned_object(*flat).flat);
  EXPECT_EQ(*json::get_int(*open_versioned_object(*flat).data, "x"), 2);
  EXPECT_EQ(open_versioned_object(*json::parse("[]", 10)).data, nullptr);
  EXPECT_EQ(open_versioned_object(*json::parse(R"({"a_object.data": 1})", 100)).data, nullptr);
  for (const char* version : {"2.0", "10.0", "", "1x.0"}) {
    VersionedObject other;
    other.version = version;
    EXPECT_FALSE(other.major_is_one()) << version;
  }
}

}  // namespace
}  // namespace reclaim
