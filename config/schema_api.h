// The options of the device API: where it listens, whose tokens it takes, who may do what. Inner to
// config/: a part of the table in config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kApi{"api"};
inline constexpr Group kTokens{"keystone_authtoken", true};
inline constexpr Group kPolicy{"oslo_policy"};

inline constexpr std::array kApiOptions = {
    // ----------------------------------------------------------------------------------------- api
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::bind>(
        {.name = "bind",
         .fallback = "",
         .help = "Where the device API listens: ADDRESS:PORT, as 192.0.2.7:6667 or [::1]:6667; "
                 "several are separated by ','. Port 0 takes any that is free. Empty, and with no "
                 "unix_socket: there is no API. Keep it off the tenants' networks. Only `reclaim "
                 "api` listens there, never the worker."}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::unix_socket>(
        {.name = "unix_socket",
         .fallback = "",
         .help = "Listen at this path as well, as /run/reclaim-api/api.sock.",
         .form = Form::path}),
    kApi.option({.name = "unix_socket_mode",
                 .fallback = "0600",
                 .help = "The permissions of that socket, in octal: who may connect."}),
    kApi.option<&Settings::api, &ApiSettings::auth>(
        {.name = "auth",
         .fallback = "keystone",
         .help = "keystone: callers bring a token, which is validated as [keystone_authtoken] "
                 "says, and [oslo_policy] decides. none: every client that can connect may do "
                 "everything; "
                 "then only loopback addresses and the unix socket are listened at.",
         .choices = "keystone,none"}),
    kApi.option<&Settings::api, &ApiSettings::metrics>(
        {.name = "metrics",
         .fallback = "false",
         .help = "true: GET /metrics is answered for Prometheus, without a token. It tells the "
                 "names of the hosts, how many devices are in which state, the PCI addresses of "
                 "drives, and no serial or instance."}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::tls_cert_file>(
        {.name = "cert_file",
         .fallback = "",
         .help = "Certificate chain (PEM), together with key_file: every address of bind then "
                 "speaks TLS only. SIGHUP reloads both."}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::tls_key_file>(
        {.name = "key_file", .fallback = "", .help = "The key (PEM) to it."}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::connections_max>(
        {.name = "connections_max",
         .fallback = "512",
         .help = "Connections at the same time; beyond, the longest idle one is closed, or the new "
                 "one is turned away.",
         .range = Range{1, 16384}}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::head_timeout_ms>(
        {.name = "head_timeout_s",
         .fallback = "10",
         .help = "Seconds that a request's head may take to arrive, and then its body.",
         .range = Range{1, 600},
         .times = kMsPerS}),
    kApi.option<&Settings::api, &ApiSettings::http, &listener::HttpServerOptions::idle_timeout_ms>(
        {.name = "idle_timeout_s",
         .fallback = "60",
         .help = "Seconds a connection may stay open between two requests.",
         .range = Range{1, 3600},
         .times = kMsPerS}),
    kApi.option<&Settings::api, &ApiSettings::http,
                &listener::HttpServerOptions::request_body_bytes_max>(
        {.name = "request_bytes_max",
         .fallback = "65536",
         .help = "The longest body of a request, in bytes.",
         .range = Range{1024, 1048576}}),
    // -------------------------------------------------------------------------- keystone_authtoken
    kTokens.option<&Settings::www_authenticate_uri>(
        {.name = "www_authenticate_uri",
         .help =
             "Keystone's public URL, which a caller without a token is told. Default: auth_url.",
         .aliases = "auth_uri",
         .form = Form::url}),
    kTokens.option({.name = "interface",
                    .fallback = "internal",
                    .help = "Which of Keystone's endpoints in its catalog validates tokens.",
                    .choices = "internal,public,admin"}),
    kTokens.option<&Settings::tokens, &placement::TokenOptions::session,
                   &placement::Options::region_name>(
        {.name = "region_name", .help = "The region of that endpoint."}),
    kTokens.option<&Settings::tokens, &placement::TokenOptions::cache_time_ms>(
        {.name = "token_cache_time",
         .fallback = "300",
         .help = "Seconds for which a token that was found valid is not asked about again; a "
                 "revoked one is good for as long. -1: every request asks Keystone.",
         .range = Range{-1, 86400},
         .times = kMsPerS}),
    kTokens.option<&Settings::tokens, &placement::TokenOptions::service_token_roles>(
        {.name = "service_token_roles",
         .fallback = "service",
         .help = "A service token counts if it has one of these roles."}),
    kTokens.option<&Settings::tokens, &placement::TokenOptions::service_token_roles_required>(
        {.name = "service_token_roles_required",
         .fallback = "true",
         .help = "Refuse a service token that has none of them. false takes any service token, "
                 "as older releases did."}),
    // --------------------------------------------------------------------------------- oslo_policy
    kPolicy.option<&Settings::policy_file>(
        {.name = "policy_file",
         .fallback = "/etc/reclaim/policy.yaml",
         .help = "Rules that differ from the defaults, as YAML or JSON: a mapping from a rule's "
                 "name to its text, in oslo.policy's language. Unless it is named here it need not "
                 "be there. SIGHUP reloads it.",
         .form = Form::path}),
};

}  // namespace reclaim::config
