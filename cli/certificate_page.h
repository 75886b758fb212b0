// A certificate as a page for people: auditors print and file it. The proof stays the sealed file;
// the page says where that is and how it is checked. Pure; thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "state/base/rapidjson.h"

namespace reclaim::cli {

// A sealed file's place in its chain.
struct SealedPlace {
  std::uint64_t sequence = 0;
  std::string previous;  // SHA-256 of the file before
  std::string key_id;
  std::string file;    // its path
  std::string sha256;  // of all bytes of it
};

// The names of who answers for it and who signs the page by hand, as the configuration says: no
// part of what is sealed. Empty: nobody is named.
struct PageIssuer {
  std::string organization;
  std::string signatory;
};
// The lines to sign on; empty where nobody is named.
[[nodiscard]] std::string signature_lines(const PageIssuer& issuer);

// `certificate`: the object of docs/certificate-format.md. What it lacks is left out, what is not
// known here is shown by its name; a zero that says nothing is left out.
[[nodiscard]] std::string certificate_page(const rapidjson::Value& certificate,
                                           const SealedPlace& place, const PageIssuer& issuer = {});

}  // namespace reclaim::cli
