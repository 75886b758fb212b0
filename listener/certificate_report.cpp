#include "listener/certificate_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/certificate/chain.h"
#include "state/certificate/file_ledger.h"
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
  const auto report = key ? check_chain(certificates_folder(settings.state_path),
                                        {key->public_key()}, kCertificatesReadMax)
                          : Result<ChainReport>(key.error());
  if (!report) {
    log.warning(log_name::kService, "the certificates cannot be read",
                {{"why", report.error().what}});
    return;
  }
  if (const auto former = unendorsed_predecessor(certificates_folder(settings.state_path),
                                                 key->public_key(), kCertificatesReadMax)) {
    log.warning(log_name::kService,
                fmt::format("certificates: the signing key {} was not endorsed by the former one, "
                            "{}: auditors need both public keys; before the next change of keys, "
                            "`reclaim certificate endorse NEW.pub`",
                            key->public_key().id(), *former));
  }
  for (std::size_t i = 0; i < std::min(report->problems.size(), kCertificateWarningsMax); ++i) {
    const ChainProblem& problem = report->problems[i];
    log.warning(log_name::kService,
                fmt::format("certificates: {}: {}", problem.file, problem.what));
  }
  log.info(
      log_name::kService,
      fmt::format("certificates: the newest entry is number {}, signed with key {}; "
                  "{} problems with the newest {} entries",
                  report->last, key->public_key().id(), report->problems.size(), report->count));
}

}  // namespace reclaim::listener
