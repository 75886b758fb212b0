// The report of a period as a page for an auditor: charts, devices, what went wrong, and whether
// the chain behind it was verified. The proof stays the chain. Pure; thread: any.
#pragma once

#include <string>

#include "cli/certificate_page.h"
#include "cli/certificate_report.h"

namespace reclaim::cli {

// `folder`: where the chain is, for the reader.
[[nodiscard]] std::string certificate_report_page(const PeriodReport& report,
                                                  const std::string& folder,
                                                  const PageIssuer& issuer = {});

}  // namespace reclaim::cli
