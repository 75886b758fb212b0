// [placement]: the endpoint, and the login at Keystone from wherever auth_section has it.
#include <fmt/core.h>

#include <algorithm>

#include "config/settings_parts.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

class PlacementReader {
 public:
  PlacementReader(const Reading& reading, PlacementSettings& placement)
      : read_(reading.read),
        problems_(reading.problems),
        purpose_(reading.purpose),
        placement_(placement) {}

  void run() {
    PlacementSettings& p = placement_;
    p.service_type = read_.string("placement", "service_type");
    p.region_name = read_.string("placement", "region_name");
    p.endpoint_override = read_.string("placement", "endpoint_override");
    if (!p.endpoint_override.empty()) check_url("placement", "endpoint_override");
    p.cafile = read_.string("placement", "cafile");
    p.certfile = read_.string("placement", "certfile");
    p.keyfile = read_.string("placement", "keyfile");
    if (p.certfile.empty() && !p.keyfile.empty()) {
      read_.complain("placement", "keyfile", " needs certfile beside it");
    }
    p.insecure = read_.boolean("placement", "insecure");
    p.timeout_s = read_.integer("placement", "timeout");
    for (std::string word : read_.list("placement", "valid_interfaces")) {
      if (word.ends_with("URL")) word.resize(word.size() - 3);  // the names of Keystone v2
      if (word != "internal" && word != "public" && word != "admin") {
        read_.complain("placement", "valid_interfaces",
                       fmt::format(": '{}' is not one of: internal, public, admin",
                                   printable_excerpt(word, kSettingExcerptBytes)));
      }
      p.valid_interfaces.push_back(std::move(word));
    }
    if (p.valid_interfaces.empty()) {
      read_.complain("placement", "valid_interfaces", " is empty");
    }
    auth();
  }

 private:
  void check_url(std::string_view group, std::string_view name) {
    const std::string url = read_.string(group, name);
    const bool scheme = url.starts_with("http://") || url.starts_with("https://");
    const std::size_t host = url.find("://") + 3;
    const bool clean =
        std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
    if (!scheme || host >= url.size() || url[host] == '/' || !clean) {
      read_.complain(group, name,
                     fmt::format(": '{}' is not an http:// or https:// URL",
                                 printable_excerpt(url, kSettingExcerptBytes)));
    } else if (url.find('@') != std::string::npos) {
      read_.complain(group, name, " must hold neither user nor password");
    }
  }

  void auth() {
    const std::string section = read_.string("placement", "auth_section");
    const std::string group = section.empty() ? "placement" : fold_group(section);
    const std::string type = read_.string(group, "auth_type");
    if (type.empty()) {
      if (purpose_ == Purpose::serve) {
        problems_.push_back(
            {read_.where("placement", "auth_section"),
             fmt::format("[{}] auth_type is not set: Keystone credentials are needed to speak with "
                         "Placement (accepted: password, v3password, v3applicationcredential)",
                         group)});
      }
      return;
    }
    AuthSettings a;
    a.group = group;
    if (type == "v3applicationcredential") {
      a.type = AuthType::application_credential;
    } else if (type != "password" && type != "v3password") {
      return read_.complain(group, "auth_type",
                            fmt::format(": '{}' is not one of: password, v3password, "
                                        "v3applicationcredential",
                                        printable_excerpt(type, kSettingExcerptBytes)));
    }
    const std::string default_name = read_.string(group, "default_domain_name");
    const std::string default_id = read_.string(group, "default_domain_id");
    a.auth_url = read_.string(group, "auth_url");
    a.username = read_.string(group, "username");
    a.user_id = read_.string(group, "user_id");
    a.password = read_.string(group, "password");
    a.user_domain_name = read_.string(group, "user_domain_name");
    a.user_domain_id = read_.string(group, "user_domain_id");
    a.project_name = read_.string(group, "project_name");
    a.project_id = read_.string(group, "project_id");
    a.project_domain_name = read_.string(group, "project_domain_name");
    a.project_domain_id = read_.string(group, "project_domain_id");
    a.domain_name = read_.string(group, "domain_name");
    a.domain_id = read_.string(group, "domain_id");
    a.system_scope = read_.string(group, "system_scope");
    a.application_credential_id = read_.string(group, "application_credential_id");
    a.application_credential_name = read_.string(group, "application_credential_name");
    a.application_credential_secret = read_.string(group, "application_credential_secret");
    if (a.user_domain_name.empty() && a.user_domain_id.empty()) {
      a.user_domain_name = default_name;
      a.user_domain_id = default_id;
    }
    if (a.project_domain_name.empty() && a.project_domain_id.empty()) {
      a.project_domain_name = default_name;
      a.project_domain_id = default_id;
    }
    check_auth(a);
    placement_.auth = std::move(a);
  }

  void need(const AuthSettings& a, bool there, std::string_view what) {
    if (there) return;
    problems_.push_back(
        {read_.where(a.group, "auth_type"), fmt::format("[{}] auth_type needs {}", a.group, what)});
  }

  void check_auth(const AuthSettings& a) {
    need(a, !a.auth_url.empty(), "auth_url");
    if (!a.auth_url.empty()) check_url(a.group, "auth_url");
    const bool user_domain = !a.user_domain_name.empty() || !a.user_domain_id.empty();
    if (a.type == AuthType::application_credential) {
      need(a, !a.application_credential_secret.empty(), "application_credential_secret");
      const bool by_name = !a.application_credential_name.empty() &&
                           (!a.user_id.empty() || (!a.username.empty() && user_domain));
      need(a, !a.application_credential_id.empty() || by_name,
           "application_credential_id, or application_credential_name with the user (user_id, or "
           "username and user_domain_name)");
      return;
    }
    need(a, !a.username.empty() || !a.user_id.empty(), "username or user_id");
    need(a, a.username.empty() || !a.user_id.empty() || user_domain,
         "user_domain_name or user_domain_id for the username");
    need(a, !a.password.empty(), "password");
    const bool project = !a.project_name.empty() || !a.project_id.empty();
    need(a, project || !a.system_scope.empty() || !a.domain_id.empty() || !a.domain_name.empty(),
         "a scope: project_name or project_id (or system_scope, domain_name, domain_id, trust_id)");
    need(a,
         a.project_name.empty() || !a.project_id.empty() || !a.project_domain_name.empty() ||
             !a.project_domain_id.empty(),
         "project_domain_name or project_domain_id for the project_name");
    if (!a.system_scope.empty() && a.system_scope != "all") {
      read_.complain(a.group, "system_scope", ": only 'all' is accepted");
    }
  }

  const Reader& read_;
  std::vector<Problem>& problems_;
  Purpose purpose_;
  PlacementSettings& placement_;
};

}  // namespace

void read_placement(const Reading& reading, PlacementSettings& placement) {
  PlacementReader(reading, placement).run();
}

}  // namespace reclaim::config
