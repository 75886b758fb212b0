// The options of the device API: where it listens, whose tokens it takes, who may do what. Inner to
// config/: a part of the table in config/oslo/schema.cpp.
#pragma once

#include <array>

#include "config/oslo/options.h"

namespace reclaim::config {

inline constexpr std::array kApiOptions = {
    // ----------------------------------------------------------------------------------------- api
    Option{.group = "api",
           .name = "bind",
           .type = OptionType::list,
           .fallback = "",
           .help = "Where the device API listens: ADDRESS:PORT, as 192.0.2.7:6667 or [::1]:6667; "
                   "several are separated by ','. Port 0 takes any that is free. Empty, and with "
                   "no unix_socket: there is no API. Keep it off the tenants' networks. Only "
                   "`reclaim api` listens there, never the worker."},
    Option{.group = "api",
           .name = "unix_socket",
           .fallback = "",
           .help = "Listen at this path as well, as /run/reclaim-api/api.sock."},
    Option{.group = "api",
           .name = "unix_socket_mode",
           .fallback = "0600",
           .help = "The permissions of that socket, in octal: who may connect."},
    Option{.group = "api",
           .name = "in_worker",
           .type = OptionType::boolean,
           .fallback = "false",
           .help = "The API is a process of its own, `reclaim api`, whose user needs no drive. "
                   "true: the worker, which is root, answers it instead, at unix_socket alone; "
                   "for a small site that has no other callers than its own."},
    Option{.group = "api",
           .name = "auth",
           .fallback = "keystone",
           .help =
               "keystone: callers bring a token, which is validated as [keystone_authtoken] says, "
               "and [oslo_policy] decides. none: whoever can connect may do everything; then only "
               "loopback addresses and the unix socket are listened at.",
           .choices = "keystone,none"},
    Option{.group = "api",
           .name = "cert_file",
           .fallback = "",
           .help = "Certificate chain (PEM), together with key_file: every address of bind then "
                   "speaks TLS only. Both are read anew on SIGHUP."},
    Option{.group = "api", .name = "key_file", .fallback = "", .help = "The key (PEM) to it."},
    Option{.group = "api",
           .name = "connections_max",
           .type = OptionType::integer,
           .fallback = "512",
           .help = "Connections at the same time; beyond, the longest idle one is closed, or the "
                   "new one is turned away.",
           .min = 1,
           .max = 16384},
    Option{.group = "api",
           .name = "head_timeout_s",
           .type = OptionType::integer,
           .fallback = "10",
           .help = "Seconds that a request's head may take to arrive, and then its body.",
           .min = 1,
           .max = 600},
    Option{.group = "api",
           .name = "idle_timeout_s",
           .type = OptionType::integer,
           .fallback = "60",
           .help = "Seconds a connection may stay open between two requests.",
           .min = 1,
           .max = 3600},
    Option{.group = "api",
           .name = "request_bytes_max",
           .type = OptionType::integer,
           .fallback = "65536",
           .help = "The longest body of a request, in bytes.",
           .min = 1024,
           .max = 1048576},
    // -------------------------------------------------------------------------- keystone_authtoken
    Option{.group = "keystone_authtoken",
           .name = "www_authenticate_uri",
           .help = "Keystone's public URL, which a caller without a token is told. Default: "
                   "auth_url.",
           .aliases = "auth_uri",
           .shared = true},
    Option{.group = "keystone_authtoken",
           .name = "interface",
           .fallback = "internal",
           .help = "Which of Keystone's endpoints in its catalog validates tokens.",
           .choices = "internal,public,admin",
           .shared = true},
    Option{.group = "keystone_authtoken",
           .name = "region_name",
           .help = "The region of that endpoint.",
           .shared = true},
    Option{.group = "keystone_authtoken",
           .name = "token_cache_time",
           .type = OptionType::integer,
           .fallback = "300",
           .help = "Seconds for which a token that was found valid is not asked about again; a "
                   "revoked one is good for as long. -1: every request asks Keystone.",
           .min = -1,
           .max = 86400,
           .shared = true},
    Option{.group = "keystone_authtoken",
           .name = "service_token_roles",
           .type = OptionType::list,
           .fallback = "service",
           .help = "A service token counts if it bears one of these roles.",
           .shared = true},
    Option{.group = "keystone_authtoken",
           .name = "service_token_roles_required",
           .type = OptionType::boolean,
           .fallback = "true",
           .help = "Refuse a service token that bears none of them. false takes any service token, "
                   "as older releases did.",
           .shared = true},
    // --------------------------------------------------------------------------------- oslo_policy
    Option{.group = "oslo_policy",
           .name = "policy_file",
           .fallback = "/etc/reclaim/policy.yaml",
           .help = "Rules that differ from the defaults, as YAML or JSON: a mapping from a rule's "
                   "name to its text, in oslo.policy's language. Unless it is named here it need "
                   "not be there. It is read anew on SIGHUP."},
};

}  // namespace reclaim::config
