// Accelerator requests as the API shows them: those that were heard of or read of Cyborg, in
// Cyborg's own shape. Pure; thread: any.
#pragma once

#include <optional>
#include <string>

#include "handlers/api_fleet.h"
#include "handlers/api_route.h"
#include "handlers/api_version.h"

namespace reclaim::api {

struct ArqFilter {
  std::optional<std::string> instance;
  bool resolved = false;  // bind_state=resolved
  // Whose ARQs may be seen: everybody's for nothing. One whose project is not known is nobody's.
  std::optional<std::string> project;
};

// The parameters of `GET /v2/accelerator_requests`; the error names the one that is wrong and what
// is accepted.
[[nodiscard]] Result<ArqFilter> parse_arq_filter(const Parameters& parameters);

[[nodiscard]] bool visible(const ArqRow& row, const std::optional<std::string>& project);

// Nothing: some of the instance's ARQs are not resolved yet, which is a 423.
[[nodiscard]] std::optional<std::string> arqs_body(const Arqs& arqs, const ArqFilter& filter,
                                                   Microversion version,
                                                   const std::string& base_url);
[[nodiscard]] std::string arq_body(const ArqRow& row, Microversion version,
                                   const std::string& base_url);

}  // namespace reclaim::api
