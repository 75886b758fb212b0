// The options of whom we ask over HTTP, as keystoneauth registers them for every service alike.
// Inner to config/: a part of the table in config/schema.cpp.
#pragma once

#include <array>
#include <string_view>

#include "config/declare.h"

namespace reclaim::config {

// keystoneauth's session options: where a service's certificate comes from, and ours.
constexpr std::array<Option, 4> session_options(std::string_view group) {
  const Group session{group, true};
  return {session.option<&placement::Options::cafile>(
              {.name = "cafile", .help = "CA certificates (PEM) for HTTPS."}),
          session.option<&placement::Options::certfile>(
              {.name = "certfile", .help = "Client certificate (PEM) for HTTPS."}),
          session.option<&placement::Options::keyfile>(
              {.name = "keyfile", .help = "Client key (PEM) for HTTPS."}),
          session.option<&placement::Options::insecure>(
              {.name = "insecure", .fallback = "false", .help = "Do not verify HTTPS servers."})};
}

constexpr std::array<Option, 1> timeout_option(std::string_view group) {
  const Group session{group, true};
  return {
      session.option<&placement::Options::timeout_ms>({.name = "timeout",
                                                       .fallback = "60",
                                                       .help = "Seconds one HTTP request may take.",
                                                       .range = Range{1, 600},
                                                       .times = kMsPerS})};
}

// keystoneauth's adapter options: how a service's endpoint is found.
constexpr std::array<Option, 4> adapter_options(std::string_view group,
                                                std::string_view service_type,
                                                std::string_view endpoint_help) {
  const Group session{group, true};
  return {session.option<&placement::Options::service_type>(
              {.name = "service_type",
               .fallback = service_type,
               .help = "The service type in Keystone's catalog."}),
          session.option<&placement::Options::valid_interfaces>(
              {.name = "valid_interfaces",
               .fallback = "internal,public",
               .help = "Endpoint interfaces, the preferred first.",
               .aliases = "interface,os_interface"}),
          session.option<&placement::Options::region_name>({.name = "region_name",
                                                            .help = "The region of the endpoint.",
                                                            .aliases = "os_region_name"}),
          session.option<&placement::Options::endpoint_override>(
              {.name = "endpoint_override", .help = endpoint_help, .form = Form::url})};
}

}  // namespace reclaim::config
