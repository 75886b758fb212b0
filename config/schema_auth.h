// The options of a login at Keystone. Inner to config/: a part of the table in
// config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kLogin{kAuthGroup, true};

inline constexpr std::array kAuthOptions = {
    // --------------------------------------------------------------------------------------- @auth
    kLogin.option<&placement::Options::auth_type>(
        {.name = "auth_type",
         .help = "How to log in to Keystone: password (or v3password) or v3applicationcredential.",
         .aliases = "auth_plugin"}),
    kLogin.option({.name = "auth_section",
                   .help = "Take the authentication options from this group instead."}),
    kLogin.option<&placement::Options::auth_url>(
        {.name = "auth_url", .help = "Keystone's URL, with or without /v3.", .form = Form::url}),
    kLogin.option<&placement::Options::username>(
        {.name = "username",
         .help = "The user's name; needs the user's domain.",
         .aliases = "user_name,user-name"}),
    kLogin.option<&placement::Options::user_id>(
        {.name = "user_id", .help = "The user's id, instead of its name.", .aliases = "user-id"}),
    kLogin.option<&placement::Options::password>(
        {.name = "password", .help = "The user's password; '$' is written '$$'.", .secret = true}),
    kLogin.option<&placement::Options::user_domain_name>(
        {.name = "user_domain_name", .help = "The user's domain.", .aliases = "user-domain-name"}),
    kLogin.option<&placement::Options::user_domain_id>({.name = "user_domain_id",
                                                        .help = "The user's domain by id.",
                                                        .aliases = "user-domain-id"}),
    kLogin.option<&placement::Options::project_name>(
        {.name = "project_name",
         .help = "The project to be scoped to.",
         .aliases = "project-name,tenant_name,tenant-name"}),
    kLogin.option<&placement::Options::project_id>({.name = "project_id",
                                                    .help = "The project by id.",
                                                    .aliases = "project-id,tenant_id,tenant-id"}),
    kLogin.option<&placement::Options::project_domain_name>({.name = "project_domain_name",
                                                             .help = "The project's domain.",
                                                             .aliases = "project-domain-name"}),
    kLogin.option<&placement::Options::project_domain_id>({.name = "project_domain_id",
                                                           .help = "The project's domain by id.",
                                                           .aliases = "project-domain-id"}),
    kLogin.option<&placement::Options::domain_name>(
        {.name = "domain_name", .help = "The domain to be scoped to.", .aliases = "domain-name"}),
    kLogin.option<&placement::Options::domain_id>({.name = "domain_id",
                                                   .help = "The domain to be scoped to, by id.",
                                                   .aliases = "domain-id"}),
    kLogin.option<&placement::Options::system_scope>({.name = "system_scope",
                                                      .help = "Be scoped to the system: 'all'.",
                                                      .aliases = "system-scope"}),
    kLogin.option<&placement::Options::default_domain_name>(
        {.name = "default_domain_name",
         .help = "The domain of user and project where none is given.",
         .aliases = "default-domain-name"}),
    kLogin.option<&placement::Options::default_domain_id>(
        {.name = "default_domain_id",
         .help = "The domain of user and project by id where none is given.",
         .aliases = "default-domain-id"}),
    kLogin.option<&placement::Options::application_credential_id>(
        {.name = "application_credential_id",
         .help = "For auth_type v3applicationcredential: its id."}),
    kLogin.option<&placement::Options::application_credential_name>(
        {.name = "application_credential_name",
         .help = "For auth_type v3applicationcredential: its name, together with the user."}),
    kLogin.option<&placement::Options::application_credential_secret>(
        {.name = "application_credential_secret",
         .help = "For auth_type v3applicationcredential: its secret; '$' is written '$$'.",
         .secret = true}),
};

}  // namespace reclaim::config
