// Placement's options as a plain struct: what keystoneauth's [placement] section says, already
// parsed. config/ fills it in; nothing here reads a file. An empty string means "not set".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reclaim::placement {

struct Options {
  // The login. auth_type is password, v3password or v3applicationcredential, as keystoneauth spells
  // them.
  std::string auth_type = "password";
  std::string auth_url;
  std::string username;
  std::string user_id;
  std::string password;
  std::string user_domain_name;
  std::string user_domain_id;
  std::string application_credential_id;
  std::string application_credential_name;
  std::string application_credential_secret;

  // The token's scope: a project, a domain, or the system ("all"); at most one of the three. An
  // application credential carries its own scope and takes none.
  std::string project_name;
  std::string project_id;
  std::string project_domain_name;
  std::string project_domain_id;
  std::string domain_name;
  std::string domain_id;
  std::string system_scope;

  // Stand in for user_domain_* and project_domain_* where those are not set.
  std::string default_domain_name;
  std::string default_domain_id;

  // The endpoint's place in the catalog. endpoint_override, if set, is used as it is.
  std::string service_type = "placement";
  std::string service_name;
  std::string region_name;
  std::vector<std::string> valid_interfaces = {"internal", "public"};
  std::string endpoint_override;

  // TLS, for Keystone and Placement alike. An empty cafile means the system's authorities.
  std::string cafile;
  std::string certfile;
  std::string keyfile;
  bool insecure = false;

  // Limits. A retry is made for reads only; a write is never repeated without a new decision.
  int timeout_ms = 60'000;         // one request, from sending to the last byte
  int connect_timeout_ms = 5'000;  // its connection: name, TCP, TLS
  int connect_retries = 2;         // no connection, or no answer to a read
  int connect_retry_delay_ms = 500;
  int status_code_retries = 2;  // 429 or 5xx to a read
  int status_code_retry_delay_ms = 500;
  int retry_delay_max_ms = 8'000;  // delays double up to this
  int requests_in_flight_max = 4;
  int requests_waiting_max = 1'024;
  std::int64_t body_bytes_max =
      std::int64_t{8} * 1'024 * 1'024;  // a tree of 10,000 providers is about 8 MB
  int tree_rows_max = 10'000;
  int rereads_max = 8;  // of one provider whose generation keeps moving while it is read

  // The prefix of the traits that choose a cleaning policy ("CUSTOM_RECLAIM_"). Empty: no policy
  // could be chosen, and Placement is not asked for them.
  std::string policy_trait_prefix;
  int policy_traits_max = 64;  // different ones in all of Placement

  // This host's name: keeps the pauses of a fleet's hosts apart.
  std::string host;
  // Names of this host's root provider, tried in this order: the operator's override, Nova's
  // hypervisor_hostname (usually the FQDN), the short host name.
  std::vector<std::string> root_provider_names;
};

}  // namespace reclaim::placement
