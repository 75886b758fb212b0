// The proof of one erasure, written and read back; half of one is never taken for a whole one.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "state/base/json.h"
#include "state/device/record.h"

namespace reclaim {
namespace {

Certificate sample() {
  Certificate certificate;
  certificate.id = "5f0c2f0e-7c0e-4d0e-9d55-0c5a8e1f7a31";
  certificate.host = "compute-1";
  certificate.address = "0000:c1:00.0";
  certificate.flow = "nova";
  certificate.model = "An \"odd\" \\ model";
  certificate.serial = "S1";
  certificate.capacity_bytes = 18'000'000'000'000'000'000U;
  certificate.method = "sanitize_crypto";
  certificate.sanitization_class = "purge";
  certificate.evidence = R"({"sstat":257,"log":{"scdw10":4}})";
  certificate.verification = R"({"samples":[1,2]})";
  certificate.findings = R"({"nvme.check_health":[{"surface":"spare","reset":false}]})";
  certificate.started_at = WallMs{1'763'640'000'123};
  certificate.released_at = WallMs{1'763'640'060'000};
  certificate.tool_version = "0.1.0";
  return certificate;
}

TEST(Certificate, RoundTrips) {
  const Certificate certificate = sample();
  const Result<Certificate> back = decode_certificate(encode_certificate(certificate));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, certificate);
}

TEST(Certificate, EvidenceIsPartOfTheDocument) {
  const auto document = json::parse(encode_certificate(sample()), 100'000);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(*json::get_int(*document, "schema"), 2) << "which earlier versions read";
  EXPECT_EQ((*document)["evidence"]["log"]["scdw10"].GetInt(), 4);
  EXPECT_STREQ((*document)["started_at"].GetString(), "2025-11-20T12:00:00.123Z");
  EXPECT_STREQ((*document)["verified_at"].GetString(), "");
}

TEST(Certificate, EvidenceThatIsNoObjectIsKeptAsText) {
  Certificate certificate = sample();
  certificate.evidence = "not { json";
  certificate.verification = "";
  const Result<Certificate> back = decode_certificate(encode_certificate(certificate));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, certificate);
}

TEST(Certificate, ADriveThatSpeaksNoUtf8CannotMakeItUnreadable) {
  Certificate certificate = sample();
  certificate.model = "\xff\xfe drive \xc3\xa4";
  const Result<Certificate> back = decode_certificate(encode_certificate(certificate));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(back->model, "?? drive ??");
}

TEST(Certificate, NoPrefixOfItPassesForIt) {
  const std::string text = encode_certificate(sample());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Result<Certificate> decoded = decode_certificate(text.substr(0, length));
    ASSERT_FALSE(decoded.ok()) << length;
    ASSERT_EQ(decoded.error().what.find("this is not a whole certificate: "), 0U);
  }
}

TEST(Certificate, EveryMissingMemberIsNamed) {
  auto whole = json::parse(encode_certificate(sample()), 100'000);
  ASSERT_TRUE(whole.ok());
  int members = 0;
  for (const auto& member : std::as_const(*whole).GetObject()) {
    rapidjson::Document copy;
    copy.CopyFrom(*whole, copy.GetAllocator());
    const std::string name = member.name.GetString();
    copy.RemoveMember(name.c_str());
    const Result<Certificate> decoded = decode_certificate(json::to_text(copy));
    if (name == "findings") {  // which certificates of the first version lack
      EXPECT_TRUE(decoded.ok());
      continue;
    }
    ASSERT_FALSE(decoded.ok()) << name;
    EXPECT_NE(decoded.error().what.find("'" + name + "'"), std::string::npos)
        << decoded.error().what;
    ++members;
  }
  EXPECT_EQ(members, 23);
}

TEST(Certificate, AnEarlierSchemaIsReadAndALaterOneRefused) {
  std::string text = encode_certificate(sample());
  const std::size_t version = text.find("\"schema\":2") + 9;
  text[version] = '1';
  EXPECT_TRUE(decode_certificate(text).ok());
  text[version] = '4';
  EXPECT_EQ(decode_certificate(text).error().what,
            "this is not a whole certificate: 'schema' is 4, this version reads 1 to 3");
  text[version] = '0';
  EXPECT_FALSE(decode_certificate(text).ok());
}

// Readers of an earlier version take every certificate for that of a release.
TEST(Certificate, OneOfWhatWasNotReturnedHasASchemaOfItsOwnAndNoRelease) {
  Certificate certificate = sample();
  certificate.verified_at = WallMs{1'763'640'050'000};
  EXPECT_EQ(certificate.ended_at(), certificate.released_at);
  certificate.released_at = WallMs{};
  certificate.not_returned = "health: 101 % of its endurance is used";
  EXPECT_FALSE(certificate.returned());
  EXPECT_EQ(certificate.ended_at(), certificate.verified_at);
  const std::string text = encode_certificate(certificate);
  EXPECT_EQ(text.find("{\"schema\":3,"), 0U);
  EXPECT_EQ(text.find("released_at"), std::string::npos);
  const Result<Certificate> back = decode_certificate(text);
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, certificate);
  certificate.released_at = certificate.verified_at;
  EXPECT_FALSE(decode_certificate(encode_certificate(certificate)).ok()) << "both";
}

TEST(Certificate, IsBoundedInSizeAndDepth) {
  EXPECT_EQ(decode_certificate(std::string(1'048'577, ' ')).error().code, Errc::limit);
  Certificate certificate = sample();
  certificate.evidence = R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  // Too deep to be embedded: kept as text, so nothing recurses.
  const Result<Certificate> back = decode_certificate(encode_certificate(certificate));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->evidence, certificate.evidence);
}

}  // namespace
}  // namespace reclaim
