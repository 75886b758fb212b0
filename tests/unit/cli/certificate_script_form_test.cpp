// What only who has the host's key can seal: the script and the command read it alike, or refuse
// it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/cli/script_fixture.h"

namespace reclaim::cli {
namespace {

// Another blank or escape, another order of what an entry is found by, a member beside those of
// `sealed`.
TEST_F(VerifyScript, BothRefuseWhatIsNotSpelledAsReclaimWritesIt) {
  const SigningKey key = *SigningKey::load_or_create(key_path_);
  keep(1);
  const std::string text = certificate_text(2);
  const std::string open = text.substr(0, text.size() - 1);
  const std::string id = "\"id\":\"" + id_of(2) + "\",";
  const auto forge_with = [&](const std::string& from, const std::string& to) {
    forge_body(key, SealedKind::certificate, replaced(text, from, to));
  };
  const auto forge_behind = [&](const std::string& more) {
    forge_body(key, SealedKind::certificate, open + more);
  };
  expect_each_refused({
      [&] { forge_behind(",\"serial\" :\"S2\"}"); },
      [&] { forge_behind(",\"serial\"\t:\"S2\"}"); },
      [&] { forge_behind(",\"s\\u0065rial\" :\"S2\"}"); },
      [&] { forge_behind(",,}"); },
      [&] { forge_behind("/**/}"); },
      [&] { forge_behind(",'x':1}"); },
      [&] { forge_behind(",\"x\":1.5}"); },
      [&] { forge_behind(",\"x\":01}"); },
      [&] { forge_behind(",\"x\":-0}"); },
      [&] { forge_behind(",\"x\":NaN}"); },
      [&] { forge_behind(",\"x\":" + std::string(20, '[') + std::string(20, ']') + "}"); },
      [&] { forge_behind("},\"sequence\":{}"); },
      [&] { forge_behind("},\"x\":{}"); },
      [&] { forge_behind("},\"audit\":{}"); },
      [&] { forge_with("\"serial\":", "\"serial\": "); },
      [&] { forge_with("\"S2\"", "\"\\u00532\""); },
      [&] { forge_with("\"S2\"", "\"S\\/2\""); },
      [&] { forge_with("\"S2\"", "\"S\\u0009\""); },
      [&] { forge_with("\"S2\"", "\"S\\u001f\""); },
      [&] { forge_with("\"S2\"", "\"S\x01\""); },
      [&] { forge_with("\"S2\"", std::string("\"S\0\"", 4)); },
      [&] { forge_with("\"S2\"", "\"S\xff\""); },
      [&] { forge_with("\"S2\"", "\"S\xed\xa0\x80\""); },
      [&] { forge_with(id, ""); },
      [&] { forge_with(id, "\"more\":1," + id); },
      [&] { forge_with("\"id\":\"5", "\"id\":\"\\u0035"); },
  });
  Certificate odd = *decode_certificate(text);
  odd.model =
      std::string(1, '\0') + "\x01\b\t\n\x0b\f\r\x1f\x7f \"\\/\xc3\xa4\xf0\x9f\x98\x80 \"x\" : 1.5";
  odd.capacity_bytes = 0;
  odd.evidence =
      R"({"method":"sanitize_crypto","a":[[],{},[-1,18446744073709551615,true,false,null]],"":""})";
  forge(key, id_of(2), encode_certificate(odd));
  expect_chain(true);
}

TEST_F(VerifyScript, BothReadWhatIsSaidOfKeysInOneForm) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const SigningKey second = key_named("second");
  keep(1);
  AuditEntry endorsed;
  endorsed.id = id_of(2);
  endorsed.event = AuditEvent::key_endorsed;
  endorsed.host = "compute-1";
  endorsed.public_key = *second.public_key().pem();
  endorsed.at = WallMs{1'763'640'000'000};
  const auto said = [&](const AuditEntry& entry) {
    forge_body(first, SealedKind::audit, encode_audit(entry));
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    forge_body(first, SealedKind::audit, replaced(encode_audit(endorsed), from, to));
  };
  const auto with_pem = [&](const std::string& pem) {
    AuditEntry entry = endorsed;
    entry.public_key = pem;
    said(entry);
  };
  const std::string& pem = endorsed.public_key;
  expect_each_refused({
      [&] { with("\"detail\"", "\"project\":\"p\",\"detail\""); },
      [&] { with(",\"at\"", ",\"key_id\":\"" + std::string(64, '0') + "\",\"at\""); },
      [&] { with(",\"at\"", ",\"from_sequence\":2,\"at\""); },
      [&] { with("\"2025-", "\"TT::-"); },
      [&] { with("\"detail\":\"\"", "\"detail\":\"\xff\""); },
      [&] { with_pem(replaced(pem, "KEY-----\n", "KEY-----\r\n")); },
      [&] { with_pem(replaced(pem, "KEY-----\n", "KEY-----\t\n")); },
      [&] { with_pem("\n" + pem); },
      [&] { with_pem(pem + pem); },
      [&] { with_pem(pem.substr(0, pem.size() - 1)); },
      [&] {
        AuditEntry entry = revocation(second.public_key().id(), 9);
        entry.id = id_of(2);
        entry.public_key = pem;
        said(entry);
      },
  });
  // An earlier version's, which knew them by schema 1.
  with("\"schema\":2", "\"schema\":1");
  forge(second, id_of(3), certificate_text(3));
  AuditEntry entry = revocation(first.public_key().id(), 9);
  entry.id = id_of(4);
  forge_body(second, SealedKind::audit,
             replaced(encode_audit(entry), "\"schema\":2", "\"schema\":1"));
  expect_chain(true);
}

TEST_F(VerifyScript, BothTakeWhatWasErasedAndNotReturned) {
  keep(1);
  ASSERT_TRUE(chain().keep(id_of(2), not_returned_text(2)).ok());
  expect_chain(true);
}

// The points of small order, in each of their spellings: anybody can sign with such a key.
TEST_F(VerifyScript, BothRefuseAKeyThatAnybodyCanSignWith) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  keep(1);
  const std::string p = std::string(30, '\xff');
  std::vector<std::string> points = {'\x01' + std::string(31, '\0'), std::string(32, '\0'),
                                     '\xec' + p + '\x7f', '\xed' + p + '\x7f', '\xee' + p + '\x7f'};
  points.emplace_back(
      "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f"
      "\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a");
  points.emplace_back(
      "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0"
      "\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05");
  std::vector<std::function<void()>> changes;
  for (std::string point : points) {
    for (int sign = 0; sign < 2; ++sign) {
      ASSERT_EQ(point.size(), 32U);
      EXPECT_FALSE(PublicKey::parse(pem_of(point)).ok());
      changes.emplace_back([this, &first, point] { forge_endorsement(first, pem_of(point)); });
      point.back() = static_cast<char>(point.back() ^ 0x80);
    }
  }
  expect_each_refused(changes);
  const auto next_to_it = PublicKey::parse(pem_of('\x02' + std::string(31, '\0')));
  ASSERT_TRUE(next_to_it.ok());
  forge_endorsement(first, *next_to_it);
  expect_chain(true);
}

}  // namespace
}  // namespace reclaim::cli
