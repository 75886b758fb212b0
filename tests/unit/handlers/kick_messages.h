// Message bodies for tests, put together the way oslo.messaging does it.
#pragma once

#include <string>
#include <string_view>

#include "state/base/json.h"

namespace reclaim::testing {

// A body of driver messagingv2 around `message`, itself a JSON text.
inline std::string enveloped(std::string_view message) {
  std::string out = R"({"oslo.version": "2.0", "oslo.message": )";
  json::append_string(message, out);
  return out + "}";
}

inline std::string message(std::string_view event_type, std::string_view publisher_id,
                           std::string_view payload) {
  return std::string(
             R"({"message_id": "3f1a0a2e-8b0f-4c6b-9a4b-2c1f0e1d9a77", "publisher_id": ")") +
         std::string(publisher_id) + R"(", "event_type": ")" + std::string(event_type) +
         R"(", "priority": "INFO", "payload": )" + std::string(payload) +
         R"(, "timestamp": "2026-08-21 12:34:56.789012", "_unique_id": "0f3c", )"
         R"("_context_auth_token": "gAAAAABsecret", "_context_request_id": "req-1"})";
}

// `host` is a JSON value: "\"cmp1\"" or "null".
inline std::string versioned_payload(std::string_view host, std::string_view version = "1.9",
                                     std::string_view ns = "nova") {
  const std::string prefix = "\"" + std::string(ns) + "_object.";
  return "{" + prefix + R"(name": "InstanceActionPayload", )" + prefix + R"(namespace": "nova", )" +
         prefix + R"(version": ")" + std::string(version) + R"(", )" + prefix +
         R"(data": {"uuid": "178b0921-8f85-4257-88b6-2e743b5a975c", "host": )" + std::string(host) +
         R"(, "flavor": {"nova_object.name": "FlavorPayload", "nova_object.version": "1.4", )"
         R"("nova_object.data": {"host": "not-this-one", "event_type": "x"}}}})";
}

inline std::string legacy_payload(std::string_view host) {
  return R"({"tenant_id": "t", "instance_id": "178b0921-8f85-4257-88b6-2e743b5a975c", "host": )" +
         std::string(host) +
         R"(, "node": "cmp1.example.org", "metadata": {"host": "not-this-one"}})";
}

}  // namespace reclaim::testing
