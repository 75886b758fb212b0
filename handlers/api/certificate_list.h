// Certificates as the API shows them: of each device the newest that is sealed, returned or not, as
// its host stored it in Redis. Records name those of releases alone, so the texts say which there
// are.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handlers/api/fleet.h"
#include "handlers/api/route.h"
#include "state/base/callback.h"
#include "state/base/log.h"
#include "state/device/certificates.h"
#include "state/device/record.h"

namespace reclaim::api {

struct CertificateQuery {
  std::optional<std::string> hostname, device_uuid, serial;
  std::size_t limit = 100;
  std::string marker;  // empty: from the beginning
  Parameters parameters;
};

// The parameters of `GET /v2/certificates`; the error names the one that is wrong and what is
// accepted.
[[nodiscard]] Result<CertificateQuery> parse_certificate_query(const Parameters& parameters);

// The `hostname` of `GET /v2/certificates/{id}`; nothing: all hosts are asked.
[[nodiscard]] Result<std::optional<std::string>> parse_certificate_host(
    const Parameters& parameters);

struct FoundCertificate {
  std::string text;  // sealed; empty: no device has it, or it has a newer one
  std::string uuid;  // of the device
  // The reason why nobody can say whose it is; empty: it is known. A host's login may write
  // another's id into a text of its own, and only the signature tells which of them is whose.
  std::string doubt;
  std::string damage;  // what is where it should be, and cannot be believed; empty: nothing is
};
// Looks for the device that has this certificate, in the texts of all. `certificates` and `log`
// outlive it.
void find_certificate(Certificates& certificates, Logger& log, const Devices& devices,
                      const std::string& id, Callback<FoundCertificate> done);

// Goes through all devices. Keeps none of them: `devices` outlives it.
class DeviceCursor final {
 public:
  explicit DeviceCursor(const Devices& devices) : devices_(devices) {}
  [[nodiscard]] const Device* next();  // null: that was the last
  // Goes on behind the one of this UUID; false: there is none.
  [[nodiscard]] bool skip_to(const std::string& uuid);

 private:
  const Devices& devices_;
  std::size_t host_ = 0;
  std::size_t device_ = 0;  // of the next one
};

struct ReadText {
  const Device* device = nullptr;
  Result<std::string> text;  // sealed; empty: there is none
};

// The body of `GET /v2/certificates`, read from Redis some at a time.
class CertificateList final : public std::enable_shared_from_this<CertificateList> {
 public:
  // `url`: of the list, without a query. `certificates` and `log` outlive it.
  CertificateList(Certificates& certificates, Logger& log, Devices devices, CertificateQuery query,
                  std::string url);

  // Errc::invalid: the marker names no device, and not one certificate; else the store's error.
  void run(Callback<std::string> done);

 private:
  void go_on();
  void begin_behind_certificate();
  [[nodiscard]] const Device* next();
  void take(const ReadText& read);
  void finish();

  Certificates& certificates_;
  Logger& log_;
  const Devices devices_;
  DeviceCursor cursor_;
  std::vector<Damaged> damaged_;
  const CertificateQuery query_;
  const std::string url_;
  Callback<std::string> done_;
  std::size_t rows_ = 0;
  bool more_ = false;
  std::string last_;  // UUID of the device whose row was written last
  std::string body_ = R"({"certificates":[)";
};

}  // namespace reclaim::api
