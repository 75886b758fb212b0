// The script that auditors get beside `reclaim certificate verify`: both have to refuse the same
// doctored files and chains.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cli/script_fixture.h"

namespace reclaim::cli {
namespace {

std::string line(const std::string& text, int number) {
  std::size_t from = 0;
  for (int i = 1; i < number; ++i) from = text.find('\n', from) + 1;
  return text.substr(from, text.find('\n', from) + 1 - from);
}

struct Doctored {
  const char* name;
  std::string (*change)(const std::string& text);
};

const Doctored kFiles[] = {
    {"a second sealed behind the first",
     [](const std::string& t) {
       return replaced(t, "\n,\"signature\"", "\n,\"sealed\":{\"certificate\":{}},\"signature\"");
     }},
    {"a second sealed at the end",
     [](const std::string& t) {
       return replaced(t, "\"}\n", "\",\"sealed\":{\"certificate\":{}}}\n");
     }},
    {"a second sealed in front",
     [](const std::string& t) {
       return replaced(t, "{\"sealed\":\n", "{\"sealed\":{},\"sealed\":\n");
     }},
    {"a second signature",
     [](const std::string& t) { return replaced(t, "\"}\n", "\",\"signature\":\"\"}\n"); }},
    {"another member in front",
     [](const std::string& t) { return replaced(t, "{\"sealed\"", "{\"x\":1,\"sealed\""); }},
    {"the signature first",
     [](const std::string& t) {
       const std::string last = line(t, 3);
       return "{" + last.substr(1, last.size() - 3) + ",\"sealed\":\n" + line(t, 2) + "}\n";
     }},
    {"a second certificate in the signed line",
     [](const std::string& t) {
       return replaced(t, "\"certificate\":", "\"certificate\":{},\"certificate\":");
     }},
    {"a blank in the first line",
     [](const std::string& t) { return replaced(t, "\"sealed\":\n", "\"sealed\": \n"); }},
    {"a blank in the second line",
     [](const std::string& t) { return replaced(t, "{\"sequence\":", "{ \"sequence\":"); }},
    {"a blank at the end of the second line",
     [](const std::string& t) { return replaced(t, "}\n,", "} \n,"); }},
    {"a blank in the third line",
     [](const std::string& t) { return replaced(t, ",\"signature\":", ", \"signature\":"); }},
    {"a blank at the end", [](const std::string& t) { return t + " "; }},
    {"an empty line at the end", [](const std::string& t) { return t + "\n"; }},
    {"an empty line in front", [](const std::string& t) { return "\n" + t; }},
    {"an empty line in the middle",
     [](const std::string& t) { return line(t, 1) + line(t, 2) + "\n" + line(t, 3); }},
    {"another line at the end", [](const std::string& t) { return t + "{}\n"; }},
    {"itself once more", [](const std::string& t) { return t + t; }},
    {"a NUL at the end", [](const std::string& t) { return t + '\0'; }},
    {"a NUL in the signed line",
     [](const std::string& t) { return replaced(t, "purge", std::string("pur\0e", 5)); }},
    {"a mark of the byte order", [](const std::string& t) { return "\xef\xbb\xbf" + t; }},
    {"lines that end in CR LF",
     [](const std::string& t) {
       std::string out;
       for (const char c : t) out += c == '\n' ? "\r\n" : std::string(1, c);
       return out;
     }},
    {"a changed byte of the certificate",
     [](const std::string& t) { return replaced(t, "\"purge\"", "\"Purge\""); }},
    {"another sequence",
     [](const std::string& t) { return replaced(t, "\"sequence\":1", "\"sequence\":2"); }},
    {"another previous",
     [](const std::string& t) { return replaced(t, "\"previous\":\"0", "\"previous\":\"1"); }},
    {"a changed byte of the signature",
     [](const std::string& t) {
       const std::size_t at = t.find("\"signature\":\"") + 20;
       return t.substr(0, at) + (t[at] == 'A' ? 'B' : 'A') + t.substr(at + 1);
     }},
    {"another spelling of the signature",
     [](const std::string& t) {
       const std::size_t at = t.size() - 6;
       return t.substr(0, at) + static_cast<char>(t[at] == 'A' ? 'B' : t[at] + 1) +
              t.substr(at + 1);
     }},
    {"the signature of nothing",
     [](const std::string& t) { return line(t, 1) + line(t, 2) + ",\"signature\":\"\"}\n"; }},
    {"sealed spelled with an escape",
     [](const std::string& t) { return replaced(t, "\"sealed\"", "\"\\u0073ealed\""); }},
    {"signature spelled with an escape",
     [](const std::string& t) { return replaced(t, "\"signature\"", "\"\\u0073ignature\""); }},
    {"certificate spelled with an escape",
     [](const std::string& t) { return replaced(t, "\"certificate\"", "\"\\u0063ertificate\""); }},
    {"no line break at the end", [](const std::string& t) { return t.substr(0, t.size() - 1); }},
    {"without its third line", [](const std::string& t) { return line(t, 1) + line(t, 2); }},
    {"without its first line", [](const std::string& t) { return line(t, 2) + line(t, 3); }},
    {"half of it", [](const std::string& t) { return t.substr(0, t.size() / 2); }},
    {"nothing", [](const std::string&) { return std::string(); }},
};

TEST_F(VerifyScript, BothRefuseEveryDoctoredFile) {
  keep(1);
  const std::string text = content(path_of(1));
  expect_file(true, text);
  for (const Doctored& each : kFiles) {
    SCOPED_TRACE(each.name);
    const std::string changed = each.change(text);
    ASSERT_NE(changed, text);
    expect_file(false, changed);
  }
}

TEST_F(VerifyScript, BothRefuseWhatAnotherKeySigned) {
  const auto other = SigningKey::load_or_create(state_path_ + "/other.key");
  ASSERT_TRUE(other.ok());
  keep(1);
  const std::string sealed = *seal(*other, 1, kNoPrevious, certificate_text(1));
  expect_file(false, sealed);
  // And names ours.
  expect_file(false, replaced(sealed, other->public_key().id(), keys().front().id()));
}

TEST_F(VerifyScript, BothRefuseEveryDoctoredChain) {
  keep(3);
  expect_chain(true);
  const std::string head = folder_ + "/head";
  const std::vector<std::function<void()>> changes = {
      [&] { fs::remove(path_of(1)); },
      [&] { fs::remove(path_of(2)); },
      [&] { fs::remove(path_of(3)); },
      [&] { fs::remove(head); },
      [&] {
        write(head, sha256_of(content(path_of(2))) + "  " +
                        fs::path(path_of(2)).filename().string() + "\n");
      },
      [&] { write(head, content(head) + content(head)); },
      [&] { fs::copy_file(path_of(1), path_of(2), fs::copy_options::overwrite_existing); },
      [&] { fs::rename(path_of(3), folder_ + "/" + sealed_name(4, id_of(3))); },
      [&] { fs::rename(path_of(3), folder_ + "/" + sealed_name(3, id_of(4))); },
      [&] { fs::copy_file(path_of(3), folder_ + "/" + sealed_name(4, id_of(4))); },
      [&] { write(folder_ + "/notes.txt", "x"); },
      // Signed with the host's key, yet chained to another.
      [&] {
        const auto key = SigningKey::load_or_create(key_path_);
        write(path_of(2), *seal(*key, 2, std::string(64, 'a'), certificate_text(2)));
      },
      // The same certificate, sealed at the head of another chain.
      [&] {
        const auto key = SigningKey::load_or_create(key_path_);
        write(path_of(1), *seal(*key, 1, kNoPrevious, certificate_text(1) + " "));
      },
  };
  expect_each_refused(changes);
}

// With the oldest key alone.
TEST_F(VerifyScript, BothFollowEndorsedKeysAndNoOthers) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const SigningKey second = key_named("second");
  const SigningKey third = key_named("third");
  const SigningKey stranger = key_named("stranger");
  const auto certificate = [this](const SigningKey& by, int number) {
    forge(by, id_of(number), certificate_text(number));
  };
  keep(1);
  forge_endorsement(first, second.public_key());
  expect_chain(true);
  certificate(second, 3);
  expect_chain(true);
  forge_endorsement(second, third.public_key());
  certificate(third, 5);
  expect_chain(true);
  const std::vector<std::function<void()>> changes = {
      // A key that another was put in the place of.
      [&] { certificate(first, 6); },
      [&] { certificate(second, 6); },
      [&] { forge_endorsement(first, stranger.public_key()); },
      // One that nobody endorsed, also where it endorses itself.
      [&] { certificate(stranger, 6); },
      [&] { forge_endorsement(stranger, stranger.public_key()); },
      [&] {
        forge_endorsement(second, stranger.public_key());
        certificate(stranger, 7);
      },
      // What is no key to sign with: X25519.
      [&] { forge_endorsement(third, std::string("nonsense")); },
      [&] {
        forge_endorsement(
            third, std::string("-----BEGIN PUBLIC KEY-----\n"
                               "MCowBQYDK2VuAyEAaTdl82XntlcYaQefcMz8n4lbLNn7dVdhR8SwkXK5Jhs=\n"
                               "-----END PUBLIC KEY-----\n"));
      },
      // Another host's chain, or a part of it.
      [&] {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
        certificate(stranger, 1);
      },
      [&] {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
        certificate(first, 1);
        certificate(stranger, 2);
      },
  };
  expect_each_refused(changes);
}

// `endorse` seals no such entry: another tool, or an earlier version, did.
TEST_F(VerifyScript, BothFollowAFormerKeyThatIsEndorsedAgain) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const SigningKey second = key_named("second");
  keep(1);
  forge_endorsement(first, second.public_key());
  forge(second, id_of(3), certificate_text(3));
  const std::string before = folder_ + ".before";
  fs::copy(folder_, before);
  forge_endorsement(second, first.public_key());
  forge(first, id_of(5), certificate_text(5));
  expect_chain(true);
  expect_each_refused({
      [&] { forge(second, id_of(6), certificate_text(6)); },
      // It was revoked before.
      [&] {
        fs::remove_all(folder_);
        fs::copy(before, folder_);
        forge_revocation(second, first.public_key().id(), 2);
        forge_endorsement(second, first.public_key());
        forge(first, id_of(6), certificate_text(6));
      },
  });
}

// A key that leaked, and was replaced: what it signed since then, in the chain or behind its end.
TEST_F(VerifyScript, BothRefuseWhatIsRevokedAndNothingElse) {
  const SigningKey first = *SigningKey::load_or_create(key_path_);
  const SigningKey second = key_named("second");
  keep(2);
  forge_endorsement(first, second.public_key());
  forge(second, id_of(4), certificate_text(4));
  const std::string leaked = first.public_key().id();
  forge_revocation(second, leaked, 4);
  expect_chain(true);
  forge_revocation(second, leaked, 9);
  forge_revocation(second, std::string(64, 'a'), 1);
  forge(second, id_of(8), certificate_text(8));
  expect_chain(true);
  const AuditEntry said = revocation(leaked, 9);
  const auto forge_text = [&](const std::string& text) {
    forge(second, said.id, text, SealedKind::audit);
  };
  expect_each_refused({
      [&] { forge_revocation(second, leaked, 3); },
      [&] { forge_revocation(second, leaked, 1); },
      // The one that is in use.
      [&] { forge_revocation(second, second.public_key().id(), 8); },
      // By who has the leaked key, or a key of his own.
      [&] { forge_revocation(first, second.public_key().id(), 4); },
      [&] { forge_revocation(key_named("stranger"), leaked, 4); },
      // Which key, or from where on, is not said, or in another form.
      [&] { forge_revocation(second, "", 4); },
      [&] { forge_revocation(second, leaked, 0); },
      [&] { forge_revocation(second, "nonsense", 4); },
      [&] { forge_text(replaced(encode_audit(said), "\"key_id\":", "\"key_id\": ")); },
      [&] { forge_text(replaced(encode_audit(said), "key_revoked", "key_rev\\u006fked")); },
      [&] {
        forge_text(replaced(encode_audit(said), "\"host\":", "\"from_sequence\":2,\"host\":"));
      },
  });
}

// GNU sed would take such a name for an option, and run what it says.
TEST_F(VerifyScript, WhatAFileIsCalledIsNoCommand) {
  keep(1);
  const std::string here = state_path_ + "/here";
  fs::create_directory(here);
  write(here + "/2p", "x\n");
  write(here + "/--expression=1e touch run;#.json", "x\n");
  for (const char* shell : {"dash", "bash"}) {
    const std::string command = "cd " + here + " && " + shell + " " + source_path(kVerifyScript) +
                                " " + key_path_ + ".pub *.json 2>/dev/null";
    EXPECT_NE(std::system(command.c_str()), 0) << shell;
    EXPECT_FALSE(fs::exists(here + "/run")) << shell;
  }
  // Nor does it move a cursor, or keep the line from being written.
  const std::string name = "\\r\x1b[2K\\c.json";
  write(here + "/" + name, "x");
  const std::string command = "cd " + here + " && sh " + source_path(kVerifyScript) + " " +
                              key_path_ + ".pub '" + name + "' 2>said";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_EQ(content(here + "/said"), "\\r?[2K\\c.json: has a control character in its name\n");
  // Or turns the reading direction, or is a control of eight bits.
  const std::string lines = "x ok\xe2\x80\xae\xc2\x9b.json";
  write(here + "/" + lines, "x");
  const std::string again = "cd " + here + " && sh " + source_path(kVerifyScript) + " " +
                            key_path_ + ".pub '" + lines + "' 2>said";
  EXPECT_NE(std::system(again.c_str()), 0);
  EXPECT_EQ(content(here + "/said"),
            "x ok?????.json: is not exactly one whole sealed certificate\n");
}

TEST_F(VerifyScript, BothEndOfWhatIsNoFile) {
  keep(1);
  const std::string place = folder_ + "/" + sealed_name(2, id_of(2));
  expect_each_refused({
      [&] { ASSERT_EQ(::mkfifo(place.c_str(), 0600), 0); },
      [&] { ASSERT_EQ(::mkfifo((folder_ + "/x").c_str(), 0600), 0); },
      [&] { fs::create_directory(place); },
      [&] { fs::create_symlink(folder_ + "/none", place); },
      [&] {
        write(place, "x");
        fs::resize_file(place, std::uintmax_t{1} << 32U);
      },
      [&] { write(folder_ + "/.hidden", "x"); },
      [&] { fs::create_symlink(folder_ + "/none", folder_ + "/.hidden"); },
      [&] {
        fs::remove(folder_ + "/head");
        ASSERT_EQ(::mkfifo((folder_ + "/head").c_str(), 0600), 0);
      },
  });
}

// Readers take either of the two. Only who has the key can seal one.
TEST_F(VerifyScript, BothRefuseAMemberThatIsThereTwice) {
  const SigningKey key = *SigningKey::load_or_create(key_path_);
  keep(1);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"serial\":", "\"serial\":\"other\",\"serial\":"},
           {"\"method\":", "\"method\":\"a [{ ] \\\"}: \",\"method\":"},
           {"\"serial\":", "\"seri\\u0061l\":\"other\",\"serial\":"},
           {"\"evidence\":{", "\"evidence\":{\"cdw10\":1,\"x\":[{}],\"cdw10\":2,"},
           {"\"evidence\":{", "\"evidence\":{\"x\":[{\"y\":{},\"y\":{}}],"}}) {
    const std::string whole = state_path_ + "/whole";
    fs::copy(folder_, whole);
    forge(key, id_of(2), replaced(certificate_text(2), from, to));
    expect_chain(false);
    fs::remove_all(folder_);
    fs::rename(whole, folder_);
  }
  // What a text says is no member, and one object's member is not another's.
  Certificate odd = *decode_certificate(certificate_text(2));
  odd.model = R"(","serial":"x"}{[)";
  odd.evidence = R"({"method":"sanitize_crypto","a":{"b":1},"b":[{"a":2},{"a":3}],"c":{"b":1}})";
  forge(key, id_of(2), encode_certificate(odd));
  expect_chain(true);
}

// Nobody signed it, so it says nothing of an honest one.
TEST_F(VerifyScript, TheFileAtFaultIsNamed) {
  keep(2);
  const AuditEntry said = revocation(keys().front().id(), 1);
  write(folder_ + "/zzz",
        *seal(key_named("stranger"), 3, kNoPrevious, encode_audit(said), SealedKind::audit));
  const std::string command = "sh " + source_path(kVerifyScript) + " " + key_path_ + ".pub " +
                              folder_ + " 2>" + state_path_ + "/said";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_EQ(content(state_path_ + "/said").substr(0, folder_.size() + 6), folder_ + "/zzz: ");
}

TEST_F(VerifyScript, ACutChainDoesNotHaveWhatWasNotedOfIt) {
  keep(3);
  const auto noted = [this](int number) {
    return " " + std::to_string(number) + ":" + sha256_of(content(path_of(number)));
  };
  const std::string newest = noted(3);
  const std::string cut = noted(2);
  EXPECT_TRUE(script_accepts(folder_ + newest));
  EXPECT_TRUE(script_accepts(folder_ + cut));
  EXPECT_FALSE(script_accepts(newest)) << "of nothing";
  EXPECT_FALSE(script_accepts(path_of(3) + newest)) << "of one file";
  fs::remove(path_of(3));
  write(folder_ + "/head", cut.substr(3) + "  " + fs::path(path_of(2)).filename().string() + "\n");
  EXPECT_TRUE(script_accepts(folder_)) << "nothing else tells";
  EXPECT_TRUE(script_accepts(folder_ + cut));
  EXPECT_FALSE(script_accepts(folder_ + newest));
}

// Nothing else tells whose erasure it is, where it is alone.
TEST_F(VerifyScript, BothSayWhatAFileAloneIs) {
  keep(2);
  AuditEntry quarantined;
  quarantined.event = AuditEvent::quarantined;
  quarantined.host = "compute-1";
  quarantined.serial = "S3";
  quarantined = identified(quarantined);
  forge(*SigningKey::load_or_create(key_path_), quarantined.id, encode_audit(quarantined),
        SealedKind::audit);
  const std::string own = fs::path(path_of(1)).filename();
  const std::string other = fs::path(path_of(2)).filename();
  const std::string entry = content(folder_ + "/" + sealed_name(3, quarantined.id));
  expect_file(true, content(path_of(1)), own);
  expect_file(false, content(path_of(1)), other);
  expect_file(false, entry, other);
  expect_file(true, content(path_of(1)), "of-my-own.json");
  EXPECT_EQ(script_says(own), "ok entry 1, certificate of serial \"S1\"\n");
  write(state_path_ + "/entry", entry);
  EXPECT_EQ(script_says("entry"), "ok entry 3, audit quarantined of serial \"S3\"\n");
  CertificateOptions options;
  options.named = {state_path_ + "/entry", "2"};
  const std::string said = command_says(options);
  EXPECT_NE(said.find("number 3, audit quarantined of serial 'S3', signed"), std::string::npos)
      << said;
  EXPECT_NE(said.find("number 2, certificate of serial 'S2', signed"), std::string::npos) << said;
}

TEST_F(VerifyScript, WhatLooksLikeANotedEntryIsOne) {
  keep(3);
  const std::string cut = sha256_of(content(path_of(2)));
  const std::string newest = "3:" + sha256_of(content(path_of(3)));
  EXPECT_EQ(script_says("certificates " + newest),
            "ok entries 1 to 3, the newest is " + newest + "\n");
  fs::remove(path_of(3));
  write(folder_ + "/head", cut + "  " + fs::path(path_of(2)).filename().string() + "\n");
  const auto refused = [this](const std::string& what) {
    return script_says(what).ends_with("refused\n");
  };
  EXPECT_TRUE(refused("certificates " + newest));
  fs::create_symlink(folder_, state_path_ + "/" + newest);
  EXPECT_TRUE(refused("certificates " + newest)) << "a folder of that name";
  EXPECT_FALSE(refused("certificates ./" + newest)) << "which is how it is named";
  EXPECT_TRUE(refused("certificates ''"));
  EXPECT_TRUE(refused("'' certificates"));
  EXPECT_TRUE(refused("2:" + cut + " 2:" + cut)) << "of nothing";
  EXPECT_TRUE(refused("2:" + cut + " certificates"));
  EXPECT_TRUE(refused(newest + " certificates 2:" + cut));
  EXPECT_FALSE(refused("certificates 2:" + cut));
  for (const std::string& torn : {newest.substr(0, 60), "0" + newest, newest + "0"}) {
    write(state_path_ + "/" + torn, content(path_of(1)));
    EXPECT_TRUE(refused("certificates " + torn)) << torn;
  }
}

// An auditor knows the key by its id, without Reclaim.
TEST_F(VerifyScript, TheKeyIsKnownByItsDigest) {
  keep(1);
  const std::string command = "openssl pkey -pubin -in " + key_path_ +
                              ".pub -outform DER | sha256sum | grep -q ^" + keys().front().id();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// Where it is, how it is called, and what it needs, in the script's own words.
TEST_F(VerifyScript, TheDocumentLeadsToThisScript) {
  const std::string document = content(source_path("docs/certificate-format.md"));
  const std::string script = content(source_path(kVerifyScript));
  const std::string begin = "\n# Needs ";
  const std::size_t at = script.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::size_t from = at + begin.size();
  const std::string needs = script.substr(from, script.find(". ", from) - from);
  for (const std::string& words :
       {std::string("](examples/verify-certificate.sh)"),
        std::string("\nverify-certificate.sh HOST.pub FILE "),
        std::string("\nverify-certificate.sh HOST.pub FOLDER "), "needs " + needs + ":\n"}) {
    EXPECT_NE(document.find(words), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace reclaim::cli
