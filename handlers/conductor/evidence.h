// The drive's and the verification's words as JSON, for the record and the certificate. Pure.
#pragma once

#include <string>

#include "nvme/controller/facts.h"
#include "state/device/record.h"

namespace reclaim {

[[nodiscard]] std::string to_json(const nvme::EraseEvidence& evidence);
[[nodiscard]] std::string to_json(const nvme::VerifyReport& report);
[[nodiscard]] Result<nvme::EraseEvidence> evidence_of_json(const std::string& json_text);
// The counters a verification ended with, out of what to_json wrote.
[[nodiscard]] Result<nvme::Counters> counters_of_verification(const std::string& json_text);

// Ok if the verification of this text found the drive well enough to be given back. Errc::refused:
// it did not, or does not tell.
[[nodiscard]] Status is_fit_by(const std::string& json_text);

// One line each, for journal and log.
[[nodiscard]] std::string summary(const nvme::EraseEvidence& evidence);
[[nodiscard]] std::string summary(const nvme::VerifyReport& report);
[[nodiscard]] std::string summary(const nvme::StepReport& report);

// The findings so far (a JSON object, a member a step; empty: none yet) with those of one more
// step. A step that is run again replaces its own.
[[nodiscard]] std::string with_findings(const std::string& findings, const std::string& step,
                                        const nvme::StepReport& report);

// The certificate of the release that `record` stands for: all of it is in the record, so that it
// can be made again after a crash between release and certificate.
[[nodiscard]] Certificate certificate_of(const Record& record, const std::string& tool_version);

}  // namespace reclaim
