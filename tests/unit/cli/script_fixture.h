// The script that auditors get, and `reclaim certificate verify`, over the same folder or file.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "state/base/check.h"
#include "tests/source_path.h"
#include "tests/unit/state/proof_fixture.h"

namespace reclaim::cli {

namespace fs = std::filesystem;

inline constexpr const char* kVerifyScript = "docs/examples/verify-certificate.sh";

class VerifyScript : public proof::ProofTest {
 protected:
  [[nodiscard]] bool script_accepts(const std::string& what) const {
    const std::string command = "/bin/sh " + source_path(kVerifyScript) + " " + key_path_ +
                                ".pub " + what + " >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  }
  [[nodiscard]] bool command_accepts(const CertificateOptions& options) const {
    std::ostringstream out;
    return verify(options, out) == 0;
  }
  [[nodiscard]] std::string command_says(const CertificateOptions& options) const {
    std::ostringstream out;
    (void)verify(options, out);
    return out.str();
  }
  int verify(const CertificateOptions& options, std::ostream& out) const {
    config::Settings settings;
    settings.state_path = state_path_;
    std::ostringstream err;
    return run_certificate_verify(settings, options, out, err);
  }
  // Where an auditor works; what the script says, on either stream, and "refused" where it refuses.
  [[nodiscard]] std::string script_says(const std::string& what,
                                        const std::string& environment = "") const {
    const std::string command = "cd " + state_path_ + " && { " + environment + " /bin/sh " +
                                source_path(kVerifyScript) + " " + key_path_ + ".pub " + what +
                                " || echo refused; } >said 2>&1";
    CHECK(std::system(command.c_str()) == 0);
    return content(state_path_ + "/said");
  }
  // For script_says(): runs the command each time that the script looks at the second entry.
  [[nodiscard]] std::string running(const std::string& command) const {
    const std::string bin = state_path_ + "/bin";
    fs::create_directory(bin);
    write(bin + "/openssl",
          "#!/bin/sh\nfor each; do\n  ! grep -qs '^{\"sequence\":2,' -- \"$each\" || " + command +
              "\ndone\nPATH=${PATH#*:} exec openssl \"$@\"\n");
    fs::permissions(bin + "/openssl", fs::perms::owner_all);
    return "PATH=" + bin + ":$PATH";
  }
  // As whoever has the key can do it; `body` need not be JSON, as all that is in `sealed`.
  void forge_body(const SigningKey& key, SealedKind kind, const std::string& body) const {
    const auto files = list_chain(folder_)->files;
    const std::size_t number = files.size() + 1;
    const std::string before = sha256_of(content(folder_ + "/" + files.back().name));
    std::string line = "{\"sequence\":" + std::to_string(number) + ",\"previous\":\"" + before +
                       "\",\"key_id\":\"" + key.public_key().id() + "\",\"";
    line += std::string(to_string(kind)) + "\":" + body + "}\n";
    const std::string sealed =
        "{\"sealed\":\n" + line + ",\"signature\":\"" + base64_of(*key.sign(line)) + "\"}\n";
    const std::string name = sealed_name(number, id_of(static_cast<int>(number)));
    write(folder_ + "/" + name, sealed);
    write(folder_ + "/head", sha256_of(sealed) + "  " + name + "\n");
  }
  static std::string base64_of(const std::string& raw) {
    std::string text(4 * ((raw.size() + 2) / 3) + 1, '\0');
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(raw.data()),
                                       static_cast<int>(raw.size()));
    return text.substr(0, static_cast<std::size_t>(length));
  }
  // Of an Ed25519 key with these 32 bytes.
  static std::string pem_of(const std::string& point) {
    const std::string der("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
    return "-----BEGIN PUBLIC KEY-----\n" + base64_of(der + point) + "\n-----END PUBLIC KEY-----\n";
  }
  void expect_file(bool good, const std::string& text,
                   const std::string& name = "sealed.json") const {
    const std::string file = state_path_ + "/" + name;
    write(file, text);
    CertificateOptions options;
    options.named = {file};
    EXPECT_EQ(script_accepts("'" + file + "'"), good) << "the script";
    EXPECT_EQ(command_accepts(options), good) << "reclaim certificate verify";
  }
  // The folder is a good chain, and again before each change.
  void expect_each_refused(const std::vector<std::function<void()>>& changes) const {
    const fs::path whole = state_path_ + "/whole";
    fs::copy(folder_, whole);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      SCOPED_TRACE(i);
      changes[i]();
      expect_chain(false);
      fs::remove_all(folder_);
      fs::copy(whole, folder_);
    }
    expect_chain(true);
  }
  void expect_chain(bool good) const {
    EXPECT_EQ(script_accepts(folder_), good) << "the script";
    EXPECT_EQ(command_accepts({}), good) << "reclaim certificate verify";
  }
};

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  CHECK(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace reclaim::cli
