#include "listener/certificate_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/certificate/file_ledger.h"
#include "state/certificate/own_chain.h"
#include "state/certificate/signing_key.h"

namespace reclaim::listener {
namespace {

constexpr std::size_t kCertificatesReadMax = 1'000;
constexpr std::size_t kCertificateWarningsMax = 5;

}  // namespace

void report_certificates(const config::Settings& settings, Logger& log) {
  const std::string& given = settings.signing_key;
  const auto key =
      SigningKey::load(given.empty() ? default_signing_key(settings.state_path) : given);
  const auto own = key ? check_own_chain(certificates_folder(settings.state_path),
                                         key->public_key(), kCertificatesReadMax)
                       : Result<OwnChain>(key.error());
  if (!own) {
    log.warning(log_name::kService, "the certificates cannot be read", {{"why", own.error().what}});
    return;
  }
  if (own->unendorsed) {
    log.warning(log_name::kService,
                fmt::format("certificates: the signing key {} was not endorsed by the former one, "
                            "{}: auditors need both public keys; before the next change of keys, "
                            "`reclaim certificate endorse NEW.pub`",
                            key->public_key().id(), *own->unendorsed));
  }
  const ChainReport& report = own->report;
  for (std::size_t i = 0; i < std::min(report.problems.size(), kCertificateWarningsMax); ++i) {
    const ChainProblem& problem = report.problems[i];
    log.warning(log_name::kService,
                fmt::format("certificates: {}: {}", problem.file, problem.what));
  }
  log.info(log_name::kService,
           fmt::format("certificates: the newest entry is number {}, signed with key {}; "
                       "{} problems with the newest {} entries",
                       report.last, key->public_key().id(), report.problems.size(), report.count));
}

}  // namespace reclaim::listener
