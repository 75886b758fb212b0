// The seal alone: its form to the byte, its signature, the published schema.
#include "state/certificate/seal.h"

#include <gmock/gmock.h>

#include "state/base/json.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::proof {
namespace {

using ::testing::HasSubstr;

class SealTest : public ProofTest {
 protected:
  SealTest() : key_(SigningKey::load_or_create(key_path_)) { CHECK(key_.ok()); }
  [[nodiscard]] std::string sealed() const {
    auto text = seal(*key_, 7, std::string(64, 'a'), certificate_text(1));
    CHECK(text.ok());
    return *std::move(text);
  }
  Result<SigningKey> key_;
};

TEST_F(SealTest, IsThreeLinesAndOneJsonObject) {
  const std::string text = sealed();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const auto document = json::parse(text, kSealedBytesMax);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ((*document)["sealed"]["sequence"].GetInt(), 7);
  EXPECT_STREQ((*document)["sealed"]["certificate"]["serial"].GetString(), "S1");
  const auto opened = open_seal(text);
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_EQ(opened->sequence, 7U);
  EXPECT_EQ(opened->previous, std::string(64, 'a'));
  EXPECT_EQ(opened->id, id_of(1));
  EXPECT_EQ(opened->content, certificate_text(1));
  EXPECT_EQ(opened->key_id, keys().front().id());
  EXPECT_TRUE(check_sealed(text, keys()).ok());
}

TEST_F(SealTest, NoByteOfItCanBeChanged) {
  const std::string text = sealed();
  const auto known = keys();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int bit : {0, 3, 5}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      ASSERT_FALSE(check_sealed(changed, known).ok()) << "byte " << at << ", bit " << bit;
    }
  }
}

TEST_F(SealTest, NoPrefixAndNothingLongerPassesForIt) {
  const std::string text = sealed();
  const auto known = keys();
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto opened = open_seal(text.substr(0, length));
    ASSERT_FALSE(opened.ok()) << length;
    ASSERT_THAT(opened.error().what, HasSubstr("this is not a whole sealed certificate"));
  }
  EXPECT_FALSE(open_seal(text + " ").ok());
  EXPECT_FALSE(open_seal(text + text).ok());
}

TEST_F(SealTest, ASignatureHasOneSpelling) {
  // The last letter before the padding carries two bits of the signature and four that decode to
  // nothing.
  std::string text = sealed();
  const std::size_t last = text.size() - 6;
  text[last] = text[last] == 'A' ? 'B' : static_cast<char>(text[last] + 1);
  const auto opened = open_seal(text);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().what, HasSubstr("64 bytes in base64"));
}

TEST_F(SealTest, ItsMembersHaveOneSpelling) {
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"sequence\":7,", "\"sequence\": 7,"},
        {"\"sequence\":7,", "\"sequence\":7,\"x\":1,"},
        {"{\"sequence\"", "{\"key_id\":\"" + std::string(64, 'c') + "\",\"sequence\""}}) {
    std::string text = sealed();
    text.replace(text.find(from), from.size(), to);
    const auto opened = open_seal(text);
    ASSERT_FALSE(opened.ok()) << to;
    EXPECT_THAT(opened.error().what, HasSubstr("is not spelled as Reclaim writes it"));
  }
}

TEST_F(SealTest, AMemberIsThereOnce) {
  const auto key = SigningKey::load_or_create(key_path_);
  const auto why = [&](const std::string& from, const std::string& to) {
    std::string text = certificate_text(1);
    text.replace(text.find(from), from.size(), to);
    const auto opened = open_seal(*seal(*key, 1, kNoPrevious, text));
    return opened.ok() ? std::string() : opened.error().what;
  };
  EXPECT_EQ(why("\"serial\":", "\"serial\":"), "");
  EXPECT_NE(why("\"serial\":", "\"serial\":\"x\",\"serial\":").find("'serial' twice"),
            std::string::npos);
  EXPECT_NE(why("\"sstat\":", "\"x\":[{\"sstat\":1}],\"sstat\":1,\"sstat\":").find("'sstat' twice"),
            std::string::npos)
      << "whatever object it is in";
  EXPECT_NE(why("\"serial\":", "\"serial\":\"x\",\"seri\\u0061l\":").find("'serial' twice"),
            std::string::npos);
}

// Tools that are no JSON parser read it too.
TEST_F(SealTest, WhatIsInsideHasOneSpelling) {
  const auto why = [&](const std::string& from, const std::string& to) {
    std::string text = certificate_text(1);
    text.replace(text.find(from), from.size(), to);
    const auto opened = open_seal(*seal(*key_, 1, kNoPrevious, text));
    return opened.ok() ? std::string() : opened.error().what;
  };
  const std::string id = "\"id\":\"" + id_of(1) + "\",";
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"serial\":", "\"serial\": "},
                                                        {"\"serial\":", "\"seri\\u0061l\":"},
                                                        {"\"S1\"", "\"\\u00531\""},
                                                        {"\"S1\"", "\"S\\/1\""},
                                                        {"\"sstat\":257", "\"sstat\":-0"},
                                                        {id, "\"more\":1," + id},
                                                        {"{\"schema\":2,", "{"}}) {
    EXPECT_THAT(why(from, to), HasSubstr("is not spelled as Reclaim writes it")) << to;
  }
  EXPECT_THAT(why("\"sstat\":257", "\"sstat\":257.0"), HasSubstr("not whole"));
  EXPECT_THAT(why("\"sstat\":257", "\"more\":[[[[[[[]]]]]]]"), HasSubstr("nested too deep"));
  EXPECT_EQ(why("\"sstat\":257", "\"more\":[[[[[[]]]]]]"), "");
}

TEST_F(SealTest, AnotherKeyIsSaid) {
  const auto other = SigningKey::load_or_create(state_path_ + "/other.key");
  ASSERT_TRUE(other.ok());
  const auto judged = check_sealed(sealed(), {other->public_key()});
  ASSERT_FALSE(judged.ok());
  EXPECT_THAT(judged.error().what, HasSubstr("which is none of those given"));
  // One who signs with a key of his own and names ours.
  std::string forged = *seal(*other, 7, std::string(64, 'a'), certificate_text(1));
  forged.replace(forged.find(other->public_key().id()), 64, keys().front().id());
  EXPECT_THAT(check_sealed(forged, keys()).error().what, HasSubstr("signature does not fit"));
}

TEST_F(SealTest, OnlyOneLineOfJsonIsSealed) {
  EXPECT_FALSE(seal(*key_, 1, kNoPrevious, "{\"id\":\"a\",\n\"b\":1}").ok());
  EXPECT_FALSE(seal(*key_, 1, kNoPrevious, "[]").ok());
  EXPECT_FALSE(seal(*key_, 1, kNoPrevious, "{").ok());
}

TEST_F(SealTest, NamesSortInTheChainsOrder) {
  EXPECT_EQ(sealed_name(2, id_of(1)), "000000002-" + id_of(1) + ".json");
  EXPECT_LT(sealed_name(9, id_of(2)), sealed_name(10, id_of(1)));
  const auto parsed = parse_sealed_name(sealed_name(12'345'678'901, id_of(1)));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->sequence, 12'345'678'901U);
  EXPECT_EQ(parsed->id, id_of(1));
  for (const std::string& bad :
       {"2-" + id_of(1) + ".json", "000000000-" + id_of(1) + ".json", id_of(1) + ".json",
        std::string("000000001-x.json"), "000000001-" + id_of(1), std::string()}) {
    EXPECT_FALSE(parse_sealed_name(bad).ok()) << bad;
  }
}

TEST_F(SealTest, TheSchemaIsHeldAgainstTheCertificate) {
  const std::string good = certificate_text(1);
  ASSERT_TRUE(check_certificate_schema(good).ok()) << check_certificate_schema(good).error().what;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    CHECK(at != std::string::npos);
    return check_certificate_schema(text.replace(at, from.size(), to));
  };
  EXPECT_THAT(changed("\"serial\":", "\"serialx\":").error().what, HasSubstr("'required'"));
  EXPECT_TRUE(changed("\"flow\":", "\"tags\":[\"db\"],\"policies\":[\"gold\"],\"flow\":").ok());
  EXPECT_THAT(changed("\"flow\":", "\"policies\":[\"A B\"],\"flow\":").error().what,
              HasSubstr("'/policies/0'"));
  EXPECT_THAT(changed("\"S1\"", "17").error().what, HasSubstr("'/serial'"));
  EXPECT_THAT(changed("\"samples_unchanged\":0", "\"samples_unchanged\":1").error().what,
              HasSubstr("'/verification/samples_unchanged'"));
  EXPECT_THAT(changed("\"sstat\":257", "\"sstat\":\"257\"").error().what,
              HasSubstr("'/evidence/sstat'"));
  // A class that the method does not have.
  EXPECT_THAT(changed("\"purge\"", "\"clear\"").error().what, HasSubstr("'oneOf'"));
  const std::string findings = "\"findings\":\"\"";
  EXPECT_TRUE(changed(findings,
                      R"("findings":{"nvme.check_health":[{"surface":"wear","found":"1 %",)"
                      R"("reset":false}]})")
                  .ok());
  EXPECT_THAT(
      changed(findings, R"("findings":{"nvme.check_health":[{"surface":"wear"}]})").error().what,
      HasSubstr("'/findings/nvme.check_health/0'"));
  EXPECT_TRUE(changed("\"schema\":2", "\"more\":true,\"schema\":2").ok());
  EXPECT_TRUE(changed("\"schema\":2", "\"schema\":1").ok());
  EXPECT_FALSE(changed("\"schema\":2", "\"schema\":3").ok());
  EXPECT_TRUE(changed("\"flow\":", R"("project":"p","user":"u","migration":"m","flow":)").ok());
  EXPECT_THAT(changed("\"flow\":", R"("project":"","flow":)").error().what,
              HasSubstr("'/project'"));
}

TEST_F(SealTest, WhatWasErasedAndNotReturnedHasNoReleaseAndAReason) {
  const std::string good = certificate_text(1);
  const std::string released = "\"released_at\":\"" + to_iso8601(WallMs{1'763'640'060'000}) + "\"";
  const auto with = [&](const char* schema, const std::string& end) {
    std::string text = good;
    text.replace(text.find("\"schema\":2"), 10, schema);
    return check_certificate_schema(text.replace(text.find(released), released.size(), end)).ok();
  };
  const std::string why = "\"not_returned\":\"worn out\"";
  EXPECT_TRUE(with("\"schema\":3", why));
  EXPECT_FALSE(with("\"schema\":2", why));
  EXPECT_FALSE(with("\"schema\":3", released));
  EXPECT_FALSE(with("\"schema\":3", released + "," + why));
  EXPECT_FALSE(with("\"schema\":2", released + "," + why));
  EXPECT_FALSE(with("\"schema\":3", "\"not_returned\":\"\""));
}

TEST_F(SealTest, ATimeIsOfTheCalendar) {
  const std::string good = certificate_text(1);
  const std::string last = to_iso8601(WallMs{1'763'640'060'000});
  for (const char* bad : {"2026-11-31T00:00:00.000Z", "2026-02-29T00:00:00.000Z",
                          "2026-11-10T24:00:00.000Z", "2026-11-10T23:59:60.000Z"}) {
    std::string text = good;
    const Status said = check_certificate_schema(text.replace(text.find(last), last.size(), bad));
    ASSERT_FALSE(said.ok()) << bad;
    EXPECT_THAT(said.error().what, HasSubstr("'released_at' is '" + std::string(bad)));
  }
  std::string text = good;
  text.pop_back();
  text += R"(,"timeline":[{"stage":"erasing","at":"2026-11-31T00:00:00.000Z"}]})";
  EXPECT_THAT(check_certificate_schema(text).error().what, HasSubstr("'at' is '2026-11-31"));
}

TEST_F(SealTest, WhatIsNestedTooDeepIsRefused) {
  const auto nested = [](std::size_t depth) {
    return R"({"id":")" + id_of(1) + R"(","x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}";
  };
  const auto good = seal(*key_, 1, kNoPrevious, nested(100));
  ASSERT_TRUE(good.ok()) << good.error().what;
  EXPECT_FALSE(seal(*key_, 1, kNoPrevious, nested(100'000)).ok());
  std::string text = *good;
  text.replace(text.find(nested(100)), nested(100).size(), nested(100'000));
  EXPECT_THAT(open_seal(text).error().what, HasSubstr("deep"));
}

}  // namespace
}  // namespace reclaim::proof
