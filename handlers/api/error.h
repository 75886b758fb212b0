// The body of every answer that is an error, the API's own and the HTTP server's alike.
//
// Thread: any. No I/O.
#pragma once

#include <string>
#include <string_view>

namespace reclaim::api {

inline constexpr std::string_view kJsonContentType = "application/json";

// The standard text of an HTTP status (RFC 9110, section 15); one that we never send has none.
[[nodiscard]] std::string_view reason_phrase(int status);

// The body as Cyborg's API writes it, for cyborgclient and openstacksdk read nothing else: the
// fault is a JSON text inside a JSON string,
//   {"error_message": "{\"debuginfo\": null, \"faultcode\": \"Client\", \"faultstring\": \"...\"}"}
// faultcode is Server from status 500 on; faultstring is "title: detail", or one of them alone.
// Texts that are not UTF-8 are made printable, and long ones are cut.
[[nodiscard]] std::string error_body(int status, std::string_view title, std::string_view detail);

}  // namespace reclaim::api
