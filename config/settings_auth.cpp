// The login at Keystone and the endpoint of a service, which [placement], [cyborg] and
// [keystone_authtoken] have alike: keystoneauth's options.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "config/settings_parts.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

class AuthReader {
 public:
  explicit AuthReader(const Reading& reading)
      : reading_(reading), read_(reading.read), problems_(reading.problems) {}

  std::optional<AuthSettings> run(std::string_view owner, std::string_view needed_for) {
    const std::string section = read_.string(owner, "auth_section");
    const std::string group = section.empty() ? std::string(owner) : fold_group(section);
    const std::string type = read_.string(group, "auth_type");
    if (type.empty()) {
      if (complain_of_idle_login(group)) return std::nullopt;
      if (reading_.purpose != Purpose::tool && !needed_for.empty()) {
        problems_.push_back(
            {read_.where(owner, "auth_section"),
             fmt::format("[{}] auth_type is not set: Keystone credentials are needed {} "
                         "(accepted: password, v3password, v3applicationcredential)",
                         group, needed_for)});
      }
      return std::nullopt;
    }
    AuthSettings a;
    a.group = group;
    if (type == "v3applicationcredential") {
      a.type = AuthType::application_credential;
    } else if (type != "password" && type != "v3password") {
      read_.complain(group, "auth_type",
                     fmt::format(": '{}' is not one of: password, v3password, "
                                 "v3applicationcredential",
                                 printable_excerpt(type, kSettingExcerptBytes)));
      return std::nullopt;
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
    return a;
  }

  // Whoever writes a password means that somebody logs in with it.
  bool complain_of_idle_login(std::string_view group) {
    constexpr std::array<std::string_view, 18> kLogin{"auth_url",
                                                      "username",
                                                      "user_id",
                                                      "password",
                                                      "application_credential_id",
                                                      "application_credential_name",
                                                      "application_credential_secret",
                                                      "user_domain_name",
                                                      "user_domain_id",
                                                      "project_name",
                                                      "project_id",
                                                      "project_domain_name",
                                                      "project_domain_id",
                                                      "domain_name",
                                                      "domain_id",
                                                      "system_scope",
                                                      "default_domain_name",
                                                      "default_domain_id"};
    const auto* const idle = std::find_if(kLogin.begin(), kLogin.end(), [&](std::string_view name) {
      return read_.given(group, name) && !read_.string(group, name).empty();
    });
    if (idle == kLogin.end()) return false;
    read_.complain(group, *idle,
                   " is set but auth_type is not, so that nobody would log in with it (accepted: "
                   "auth_type = password, v3password or v3applicationcredential; or an "
                   "auth_section that has it)");
    return true;
  }

  void need(const AuthSettings& a, bool there, std::string_view what) {
    if (there) return;
    problems_.push_back(
        {read_.where(a.group, "auth_type"), fmt::format("[{}] auth_type needs {}", a.group, what)});
  }

  void check_auth(const AuthSettings& a) {
    need(a, !a.auth_url.empty(), "auth_url");
    if (!a.auth_url.empty()) check_url(reading_, a.group, "auth_url");
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

  const Reading& reading_;
  const Reader& read_;
  std::vector<Problem>& problems_;
};

}  // namespace

std::optional<AuthSettings> read_auth(const Reading& reading, std::string_view group,
                                      std::string_view needed_for) {
  return AuthReader(reading).run(group, needed_for);
}

void check_url(const Reading& reading, std::string_view group, std::string_view name) {
  const std::string url = reading.read.string(group, name);
  const bool scheme = url.starts_with("http://") || url.starts_with("https://");
  const std::size_t host = url.find("://") + 3;
  const bool clean =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  if (!scheme || host >= url.size() || url[host] == '/' || !clean) {
    reading.read.complain(group, name,
                          fmt::format(": '{}' is not an http:// or https:// URL",
                                      printable_excerpt(url, kSettingExcerptBytes)));
  } else if (url.find('@') != std::string::npos) {
    reading.read.complain(group, name, " must hold neither user nor password");
  }
}

std::vector<std::string> read_interfaces(const Reading& reading, std::string_view group) {
  constexpr std::string_view kName = "valid_interfaces";
  std::vector<std::string> out;
  for (std::string word : reading.read.list(group, kName)) {
    if (word.ends_with("URL")) word.resize(word.size() - 3);  // the names of Keystone v2
    if (word != "internal" && word != "public" && word != "admin") {
      reading.read.complain(group, kName,
                            fmt::format(": '{}' is not one of: internal, public, admin",
                                        printable_excerpt(word, kSettingExcerptBytes)));
    }
    out.push_back(std::move(word));
  }
  if (out.empty()) reading.read.complain(group, kName, " is empty");
  return out;
}

}  // namespace reclaim::config
