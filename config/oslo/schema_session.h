// The options of whom we ask over HTTP, as keystoneauth registers them for every service alike.
// Inner to config/: a part of the table in config/oslo/schema.cpp.
#pragma once

#include <array>
#include <string_view>

#include "config/oslo/options.h"

namespace reclaim::config {

// keystoneauth's session options: where a service's certificate comes from, and ours.
constexpr std::array<Option, 4> session_options(std::string_view group) {
  return {
      Option{.group = group,
             .name = "cafile",
             .help = "CA certificates (PEM) for HTTPS.",
             .shared = true},
      Option{.group = group,
             .name = "certfile",
             .help = "Client certificate (PEM) for HTTPS.",
             .shared = true},
      Option{
          .group = group, .name = "keyfile", .help = "Client key (PEM) for HTTPS.", .shared = true},
      Option{.group = group,
             .name = "insecure",
             .type = OptionType::boolean,
             .fallback = "false",
             .help = "Do not verify HTTPS servers.",
             .shared = true}};
}

constexpr std::array<Option, 1> timeout_option(std::string_view group) {
  return {Option{.group = group,
                 .name = "timeout",
                 .type = OptionType::integer,
                 .fallback = "60",
                 .help = "Seconds one HTTP request may take.",
                 .min = 1,
                 .max = 600,
                 .shared = true}};
}

// keystoneauth's adapter options: how a service's endpoint is found.
constexpr std::array<Option, 4> adapter_options(std::string_view group,
                                                std::string_view service_type,
                                                std::string_view endpoint_help) {
  return {
      Option{.group = group,
             .name = "service_type",
             .fallback = service_type,
             .help = "The service type in Keystone's catalog.",
             .shared = true},
      Option{.group = group,
             .name = "valid_interfaces",
             .type = OptionType::list,
             .fallback = "internal,public",
             .help = "Endpoint interfaces, the preferred first.",
             .aliases = "interface,os_interface",
             .shared = true},
      Option{.group = group,
             .name = "region_name",
             .help = "The region of the endpoint.",
             .aliases = "os_region_name",
             .shared = true},
      Option{.group = group, .name = "endpoint_override", .help = endpoint_help, .shared = true}};
}

}  // namespace reclaim::config
