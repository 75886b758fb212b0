// A state folder of a test's own, with a signing key and certificates that have all the schema asks
// for.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "state/base/check.h"
#include "state/base/pci_address.h"
#include "state/base/uuid.h"
#include "state/certificate/chain.h"
#include "state/device/record.h"
#include "tests/temp_folder.h"

namespace reclaim::proof {

class ProofTest : public ::testing::Test {
 protected:
  ProofTest() {
    folder_ = state_path_ + "/certificates";
    key_path_ = state_path_ + "/certificate.key";
  }

  static std::string id_of(int number) {
    return "5f0c2f0e-7c0e-4d0e-9d55-0000000000" + std::to_string(10 + number);
  }

  static std::string certificate_text(int number) {
    Certificate certificate;
    certificate.id = id_of(number);
    certificate.host = "compute-1";
    certificate.address = "0000:c1:00.0";
    certificate.device_uuid =
        device_uuid(certificate.host, *parse_pci_address(certificate.address));
    certificate.flow = "nova";
    certificate.vendor_id = "144d";
    certificate.product_id = "a80a";
    certificate.model = "A \"drive\"";
    certificate.serial = "S" + std::to_string(number);
    certificate.capacity_bytes = 1'000'204'886'016;
    certificate.method = "sanitize_crypto";
    certificate.sanitization_class = "purge";
    certificate.evidence = R"({"method":"sanitize_crypto","sstat":257,"scdw10":4})";
    certificate.verification =
        R"({"level":"sample","relaxed":[],"samples_read":3,"samples_counted":3,)"
        R"("samples_unchanged":0,"bytes_read":12288,"canaries_found":0,)"
        R"("global_data_erased":true,"expectation":"changed"})";
    certificate.started_at = WallMs{1'763'640'000'123};
    certificate.verified_at = WallMs{1'763'640'050'000};
    certificate.released_at = WallMs{1'763'640'060'000};
    certificate.tool_version = "0.1.0";
    return encode_certificate(certificate);
  }

  // Of a drive that was too unwell to be given back.
  static std::string not_returned_text(int number) {
    Certificate certificate = *decode_certificate(certificate_text(number));
    certificate.released_at = WallMs{};
    certificate.not_returned = "health: worn out";
    return encode_certificate(certificate);
  }

  [[nodiscard]] CertificateChain chain() const {
    auto key = SigningKey::load_or_create(key_path_);
    CHECK(key.ok());
    return {folder_, *std::move(key)};
  }
  [[nodiscard]] std::vector<PublicKey> keys() const {
    auto key = PublicKey::load(key_path_ + ".pub");
    CHECK(key.ok());
    return {*std::move(key)};
  }
  void keep(int count) const {
    const CertificateChain kept = chain();
    for (int number = 1; number <= count; ++number) {
      const auto text = kept.keep(id_of(number), certificate_text(number));
      ASSERT_TRUE(text.ok()) << text.error().what;
    }
  }

  [[nodiscard]] SigningKey key_named(const std::string& name) const {
    auto key = SigningKey::load_or_create(state_path_ + "/" + name + ".key");
    CHECK(key.ok());
    return *std::move(key);
  }
  // As whoever has that key can do it, in the folder's next place.
  void forge(const SigningKey& key, const std::string& id, const std::string& text,
             SealedKind kind = SealedKind::certificate) const {
    const auto files = list_chain(folder_)->files;
    const std::string before = files.empty()
                                   ? std::string(kNoPrevious)
                                   : sha256_of(content(folder_ + "/" + files.back().name));
    const std::string sealed = *seal(key, files.size() + 1, before, text, kind);
    const std::string name = sealed_name(files.size() + 1, id);
    write(folder_ + "/" + name, sealed);
    write(folder_ + "/head", sha256_of(sealed) + "  " + name + "\n");
  }
  void forge_endorsement(const SigningKey& by, const PublicKey& next) const {
    forge_endorsement(by, *next.pem());
  }
  void forge_endorsement(const SigningKey& by, const std::string& pem) const {
    AuditEntry entry;
    entry.event = AuditEvent::key_endorsed;
    entry.host = "compute-1";
    entry.detail = R"(says "event":"key_endorsed","public_key":"none")";
    entry.public_key = pem;
    entry.at = WallMs{1'763'640'000'000};
    entry = identified(entry);
    forge(by, entry.id, encode_audit(entry), SealedKind::audit);
  }

  static AuditEntry revocation(const std::string& key_id, std::uint64_t from) {
    AuditEntry entry;
    entry.event = AuditEvent::key_revoked;
    entry.host = "compute-1";
    entry.detail = R"(a "copy" of it was found)";
    entry.key_id = key_id;
    entry.from_sequence = from;
    entry.at = WallMs{1'763'640'000'000};
    return identified(entry);
  }
  void forge_revocation(const SigningKey& by, const std::string& key_id, std::uint64_t from) const {
    const AuditEntry entry = revocation(key_id, from);
    forge(by, entry.id, encode_audit(entry), SealedKind::audit);
  }

  [[nodiscard]] std::string path_of(int number) const {
    return folder_ + "/" + sealed_name(static_cast<std::uint64_t>(number), id_of(number));
  }
  static std::string content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  }

  // "FILE: WHAT" of each problem.
  [[nodiscard]] std::vector<std::string> problems() const {
    const auto report = check_chain(folder_, keys());
    CHECK(report.ok());
    std::vector<std::string> lines;
    for (const ChainProblem& problem : report->problems) {
      lines.push_back(problem.file + ": " + problem.what);
    }
    return lines;
  }

  const TempFolder temp_;
  const std::string state_path_ = temp_.path();
  std::string folder_;
  std::string key_path_;
};

}  // namespace reclaim::proof
