// The services that are spoken to behind Keystone's login: what they are called, where below their
// endpoint they answer, and which microversion is spoken with them. Pure; thread: any.
#pragma once

#include <string>
#include <string_view>

#include "placement/http/http.h"
#include "placement/keystone/microversion.h"
#include "state/base/result.h"

namespace reclaim::placement {

struct Service {
  std::string_view name;  // in words
  // Its name in the header OpenStack-API-Version; empty: it has no microversions.
  std::string_view api;
  Microversion needed, wanted;
  std::string_view version_path;  // of its version document, relative to the endpoint
  std::string_view needed_role;   // what to give the service user when it is answered 403
  // The URL that paths are joined to, made of the catalog's (without a trailing slash).
  Result<std::string> (*base_url)(const std::string& url);
};

extern const Service kPlacement;
extern const Service kCyborg;
extern const Service kIdentity;  // Keystone itself, where tokens are validated

// Chooses from the version document, read without a token: the lower of what is wanted and what the
// service has. Errors: refused (it is too old or too new), unavailable (429, 5xx), invalid.
[[nodiscard]] Result<Microversion> choose_microversion(const HttpResponse& response,
                                                       std::size_t body_bytes_max,
                                                       const Service& service = kPlacement);

// Cyborg of 2024.1 to 2026.1 takes "2.3" where the API guideline has "accelerator 2.3", and answers
// the latter with version 2.0 without a word. It gives itself away by the same header in its answer
// to a request for the version document.
[[nodiscard]] bool wants_bare_version(const HttpResponse& version_document);

}  // namespace reclaim::placement
