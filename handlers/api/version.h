// The device API's microversions: which one a request asks for, and the documents by which clients
// discover them. Pure; thread: any.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim::api {

struct Microversion {
  int major = 2;
  int minor = 0;
  friend constexpr auto operator<=>(const Microversion&, const Microversion&) = default;
};

[[nodiscard]] std::string to_string(Microversion version);

inline constexpr Microversion kVersionMin{2, 0};
inline constexpr Microversion kVersionMax{2, 7};
// The versions, by what came with which one. Cyborg's own end at 2.3; 2.4 and 2.5 are the
// specifications', 2.6 and 2.7 are ours.
inline constexpr Microversion kVersionStatus{2, 3};       // a device's `status`
inline constexpr Microversion kVersionManaged{2, 4};      // attach_handle_info.managed
inline constexpr Microversion kVersionDeviceState{2, 5};  // `device_state`, and the clean call
inline constexpr Microversion kVersionCleaning{2, 6};     // a device's cleaning; abort and enrol
inline constexpr Microversion kVersionPages = kVersionCleaning;         // `limit` and the like
inline constexpr Microversion kVersionCertificates = kVersionCleaning;  // /v2/certificates

// `cleaning/steps` is the list of Ironic's specification, and `cleaning` what that was before.
inline constexpr Microversion kVersionStepList{2, 7};
inline constexpr Microversion kVersionWear = kVersionStepList;    // what a drive is worn
inline constexpr Microversion kVersionRetire = kVersionStepList;  // the call

inline constexpr std::string_view kVersionHeader = "OpenStack-API-Version";

struct Negotiated {
  Microversion version = kVersionMin;
  std::string service_type = "accelerator";  // as the client called us
};

// `header`: all values of OpenStack-API-Version, joined by commas; empty: none was sent, which
// means 2.0. Entries for other services are passed over, and the last one for us counts. The
// version alone, without a service type, is taken too, as Cyborg does for old clients. The error is
// a 406's text.
[[nodiscard]] Result<Negotiated> negotiate(std::string_view header);

// `GET /` and `GET /v2`; `base_url` is where the client reached us, without a slash at its end.
[[nodiscard]] std::string root_document(std::string_view base_url);
[[nodiscard]] std::string version_document(std::string_view base_url);

}  // namespace reclaim::api
