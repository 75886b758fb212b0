// What the script and the command are given by name: files, folders, keys, noted entries; and the
// times that a certificate names.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/cli/script_fixture.h"

namespace reclaim::cli {
namespace {

// A shell's $( ) cuts line breaks off the end of what it holds.
TEST_F(VerifyScript, BothVerifyTheFileThatIsNamedAndNoOther) {
  keep(1);
  const std::string genuine = content(path_of(1));
  const std::string forged = replaced(genuine, "\"S1\"", "\"S9\"");
  expect_file(true, genuine, "drive.json");
  expect_file(true, genuine, "-drive of mine.json");
  for (const char* name : {"drive.json\n", "drive.json\n\n", "\ndrive.json", "drive.json\r",
                           "dri\x1bve.json", "drive.json\x7f"}) {
    SCOPED_TRACE(name);
    expect_file(false, forged, name);
    expect_file(false, genuine, name);
  }
  const std::string copy = folder_ + "\n";
  fs::copy(folder_, copy);
  write(copy + "/" + fs::path(path_of(1)).filename().string(), forged);
  EXPECT_FALSE(script_accepts("'" + copy + "'"));
  CertificateOptions options;
  options.folder = copy;
  EXPECT_FALSE(command_accepts(options));
  fs::copy_file(path_of(1), copy + "/" + fs::path(path_of(1)).filename().string(),
                fs::copy_options::overwrite_existing);
  EXPECT_FALSE(script_accepts("'" + copy + "'"));
  EXPECT_FALSE(command_accepts(options));
  EXPECT_NE(script_says("'certificates\n'").find("has a control character in its name"),
            std::string::npos);
}

TEST_F(VerifyScript, BothRefuseAKeyOfAnotherNameOrSize) {
  keep(1);
  const std::string pub = key_path_ + ".pub";
  const std::string pem = content(pub);
  write(pub, pem + std::string(16'384 - pem.size(), '#'));
  expect_chain(true);
  write(pub, pem + std::string(16'385 - pem.size(), '#'));
  expect_chain(false);
  write(pub + "\n", pem);
  CertificateOptions options;
  options.public_keys = {pub + "\n"};
  EXPECT_FALSE(command_accepts(options));
  fs::rename(pub + "\n", pub);
  expect_chain(true);
}

TEST_F(VerifyScript, BothRefuseAKeyFileWithAnotherBlock) {
  keep(1);
  const std::string pub = key_path_ + ".pub";
  const std::string pem = content(pub);
  const std::string other = *key_named("other").public_key().pem();
  const auto labelled = [](std::string text, const std::string& label) {
    text = replaced(std::move(text), "BEGIN PUBLIC KEY", "BEGIN " + label);
    return replaced(std::move(text), "END PUBLIC KEY", "END " + label);
  };
  for (const std::string label : {"RSA PUBLIC KEY", "X509 CRL", "PARAMETERS", "PUBLIC KEY"}) {
    SCOPED_TRACE(label);
    write(pub, labelled(other, label) + pem);
    expect_chain(false);
    write(pub, labelled(pem, label) + other);
    expect_chain(false);
  }
  write(pub, labelled(pem, "RSA PUBLIC KEY"));
  expect_chain(false);
  write(pub, "of compute-1\n" + pem + "until 2027\n");
  expect_chain(true);
}

TEST_F(VerifyScript, BothTakeWhatLooksLikeANameOfAChainForOne) {
  keep(2);
  const std::string text = content(path_of(1));
  const std::string id = "-" + id_of(1) + ".json";
  for (const std::string& name :
       {"000000001" + id, "00000001" + id, "x000000001" + id, "000000001" + id + ".bak",
        "1-" + id_of(1) + ".json", std::string("000000001.json")}) {
    SCOPED_TRACE(name);
    expect_file(true, text, name);
  }
  for (const std::string& name :
       {"0000000001" + id, "000000000" + id, "0000000002" + id,
        "000000000000000000000000000002" + id, "0000000002-" + id_of(2) + ".json",
        "000000001-5F" + id.substr(3)}) {
    SCOPED_TRACE(name);
    expect_file(false, text, name);
  }
}

TEST_F(VerifyScript, BothTakeANotedEntryInOneSpelling) {
  keep(3);
  const std::string digest = sha256_of(content(path_of(3)));
  std::string upper = digest;
  for (char& c : upper) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  ASSERT_NE(upper, digest);
  const auto expect_noted = [&](const std::string& noted, bool good) {
    SCOPED_TRACE(noted);
    CertificateOptions options;
    options.expect = noted;
    EXPECT_EQ(script_accepts(folder_ + " '" + noted + "'"), good) << "the script";
    EXPECT_EQ(command_accepts(options), good) << "reclaim certificate verify";
  };
  expect_noted("3:" + digest, true);
  for (const std::string& noted :
       {"03:" + digest, "3:" + upper, "+3:" + digest, " 3:" + digest, "3:" + digest + " ",
        "3:" + digest + "\n", "0:" + digest, "2:" + digest, "4:" + digest, "3:" + digest + "0",
        "18446744073709551619:" + digest}) {
    expect_noted(noted, false);
  }
}

// Only who has the key can seal one. It would be in no period of a report.
TEST_F(VerifyScript, BothRefuseATimeThatIsInNoCalendar) {
  const SigningKey key = *SigningKey::load_or_create(key_path_);
  keep(1);
  const std::string now = to_iso8601(WallMs{1'763'640'060'000});
  const std::string text = certificate_text(2);
  const std::string timeline = R"(,"timeline":[{"stage":"erasing","at":")";
  const auto released = [&](const std::string& at) {
    forge_body(key, SealedKind::certificate, replaced(text, now, at));
  };
  std::vector<std::function<void()>> changes;
  for (const char* at :
       {"2026-11-31T00:00:00.000Z", "2026-02-29T00:00:00.000Z", "2100-02-29T00:00:00.000Z",
        "2026-13-10T00:00:00.000Z", "2026-00-10T00:00:00.000Z", "2026-11-00T00:00:00.000Z",
        "2026-11-10T24:00:00.000Z", "2026-11-10T23:60:00.000Z", "2026-11-10T23:59:60.000Z",
        "2026-11-10T23:59:59Z", "2026-11-10T23:59:59.1Z"}) {
    changes.emplace_back([&released, at] { released(at); });
  }
  AuditEntry entry;
  entry.id = id_of(2);
  entry.host = "compute-1";
  entry.at = WallMs{1'763'640'060'000};
  for (const char* at : {"2026-11-31T00:00:00.000Z", "", "today"}) {
    changes.emplace_back([this, &key, &entry, &now, at] {
      forge_body(key, SealedKind::audit, replaced(encode_audit(entry), now, at));
    });
  }
  changes.emplace_back([&] {
    forge_body(key, SealedKind::certificate,
               text.substr(0, text.size() - 1) + timeline + "2026-11-31T00:00:00.000Z\"}]}");
  });
  expect_each_refused(changes);
  const std::string whole = state_path_ + "/good";
  fs::copy(folder_, whole);
  for (const char* at : {"2028-02-29T23:59:59.999Z", "2000-02-29T00:00:00.000Z",
                         "2026-12-31T09:00:00.000Z", "2026-04-30T19:10:00.000Z"}) {
    SCOPED_TRACE(at);
    released(at);
    expect_chain(true);
    fs::remove_all(folder_);
    fs::copy(whole, folder_);
  }
  // What a text says is no time.
  Certificate odd = *decode_certificate(text);
  odd.model = R"({"at":"never","released_at":"never)";
  odd.timeline = {{Stage::erasing, WallMs{1'763'640'030'000}}};
  forge(key, id_of(2), encode_certificate(odd));
  expect_chain(true);
}

}  // namespace
}  // namespace reclaim::cli
