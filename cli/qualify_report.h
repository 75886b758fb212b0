// The report of a qualification, for people: as text and as a page. As JSON it is
// nvme/qualify/qualification.h itself. Pure; thread: any.
#pragma once

#include <string>

#include "cli/format.h"
#include "nvme/qualify/qualification.h"

namespace reclaim::cli {

[[nodiscard]] std::string qualification_text(const nvme::Qualification& qualification,
                                             std::size_t width);
[[nodiscard]] std::string qualification_page(const nvme::Qualification& qualification);

// "do not use", …
[[nodiscard]] std::string verdict_words(nvme::Verdict verdict);

}  // namespace reclaim::cli
