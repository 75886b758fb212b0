// The signing key: made once, its owner's alone, and nothing else passes for one.
#include "state/certificate/signing_key.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/state/proof_fixture.h"

namespace reclaim::proof {
namespace {

using ::testing::HasSubstr;

class SigningKeyTest : public ProofTest {
 protected:
  void run(const std::string& command) const {
    ASSERT_EQ(std::system(("cd " + state_path_ + " && " + command + " 2>/dev/null").c_str()), 0);
  }
  [[nodiscard]] std::string error_of(const std::string& name) const {
    const auto key = SigningKey::load(state_path_ + "/" + name);
    return key.ok() ? std::string("a good key") : key.error().what;
  }
};

TEST_F(SigningKeyTest, IsMadeOnceAndItsOwnersAlone) {
  const mode_t before = umask(0022);
  const auto made = SigningKey::load_or_create(key_path_);
  umask(before);
  ASSERT_TRUE(made.ok()) << made.error().what;
  struct stat info {};
  ASSERT_EQ(stat(key_path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const std::string text = content(key_path_);
  const auto again = SigningKey::load_or_create(key_path_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(content(key_path_), text);
  EXPECT_EQ(again->public_key().id(), made->public_key().id());
  // A crash before the public half was written.
  std::filesystem::remove(key_path_ + ".pub");
  ASSERT_TRUE(SigningKey::load_or_create(key_path_).ok());
  const auto half = PublicKey::load(key_path_ + ".pub");
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->id(), made->public_key().id());
  const auto signature = made->sign("bytes");
  ASSERT_TRUE(signature.ok());
  EXPECT_TRUE(half->verifies("bytes", *signature));
  EXPECT_FALSE(half->verifies("bytez", *signature));
  EXPECT_FALSE(half->verifies("bytes", signature->substr(1)));
}

TEST_F(SigningKeyTest, OpensslMakesOneAsWell) {
  run("umask 077; openssl genpkey -algorithm ed25519 -out good.key");
  EXPECT_EQ(error_of("good.key"), "a good key");
}

TEST_F(SigningKeyTest, WhatIsNoneIsSaid) {
  run("umask 077; openssl genpkey -algorithm x25519 -out x.key");
  run("umask 077; openssl genpkey -algorithm ed25519 -aes256 -pass pass:x -out secret.key");
  run("umask 077; openssl genpkey -algorithm ed25519 -out open.key; chmod 640 open.key");
  run("umask 077; echo nonsense > nonsense.key");
  EXPECT_THAT(error_of("x.key"), HasSubstr("of another kind"));
  EXPECT_THAT(error_of("secret.key"), HasSubstr("without a passphrase"));
  EXPECT_THAT(error_of("open.key"), HasSubstr("(mode 0640): chmod 600 it"));
  // Root's own group may have members, so that root's secrets have one mode.
  EXPECT_EQ(error_of("open.key").find("640 where") == std::string::npos, ::geteuid() == 0);
  EXPECT_THAT(error_of("nonsense.key"), HasSubstr("holds no private key"));
  EXPECT_THAT(error_of("nowhere.key"), HasSubstr("No such file"));
  EXPECT_THAT(PublicKey::load(state_path_ + "/nonsense.key").error().what,
              HasSubstr("holds no public key"));
  // Another tool may read the first of two blocks, whatever its label says.
  const std::string pem = *key_named("one").public_key().pem();
  EXPECT_TRUE(PublicKey::parse("of compute-1\n" + pem).ok());
  EXPECT_THAT(PublicKey::parse("-----BEGIN RSA PUBLIC KEY-----\n" + pem).error().what,
              HasSubstr("more than one block"));
  // The neutral point: zeroes sign for it, whatever is signed.
  const auto neutral = PublicKey::parse(
      "-----BEGIN PUBLIC KEY-----\n"
      "MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
      "-----END PUBLIC KEY-----\n");
  ASSERT_FALSE(neutral.ok());
  EXPECT_THAT(neutral.error().what, HasSubstr("of small order, with which anybody can sign"));
  // Never overwritten by one of our own.
  EXPECT_FALSE(SigningKey::load_or_create(state_path_ + "/nonsense.key").ok());
  EXPECT_EQ(content(state_path_ + "/nonsense.key"), "nonsense\n");
}

TEST_F(SigningKeyTest, AFileMayHaveSeveral) {
  const std::string path = state_path_ + "/host.pub";
  const PublicKey one = key_named("one").public_key();
  const PublicKey two = key_named("two").public_key();
  write(path, "of 2026\n" + *one.pem() + "of 2027\n" + *two.pem());
  const auto keys = PublicKey::load_all(path);
  ASSERT_TRUE(keys.ok()) << keys.error().what;
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->at(0).id(), one.id());
  EXPECT_EQ(keys->at(1).id(), two.id());
  write(path, *one.pem());
  EXPECT_EQ(PublicKey::load_all(path)->size(), 1U);
  for (const std::string& wrong :
       {std::string(), *one.pem() + "-----BEGIN X509 CRL-----\n", "-----BEGIN" + *one.pem()}) {
    write(path, wrong);
    EXPECT_THAT(PublicKey::load_all(path).error().what, HasSubstr(path + ": holds no public key"));
  }
  // Whoever may write the folder stops nobody who reads it.
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(PublicKey::load_all(path).error().what, HasSubstr(path + " is not a regular file"));
}

}  // namespace
}  // namespace reclaim::proof
