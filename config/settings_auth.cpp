// The login at Keystone and the endpoint of a service, which [placement], [cyborg] and
// [keystone_authtoken] have alike: keystoneauth's options.
#include <fmt/core.h>

#include <algorithm>

#include "config/settings_parts.h"

namespace reclaim::config {
namespace {

class AuthReader {
 public:
  AuthReader(const Reading& reading, const Target& target)
      : reading_(reading), read_(reading.read), problems_(reading.problems), target_(target) {}

  std::string run(std::string_view owner, std::string_view needed_for) {
    const std::string section = read_.string(owner, "auth_section");
    group_ = section.empty() ? std::string(owner) : fold_group(section);
    const std::string type = read_.string(group_, "auth_type");
    if (type.empty()) {
      if (complain_of_idle_login()) return {};
      if (reading_.purpose != Purpose::tool && !needed_for.empty()) {
        problems_.push_back(
            {read_.where(owner, "auth_section"),
             fmt::format("[{}] auth_type is not set: Keystone credentials are needed {} "
                         "(accepted: password, v3password, v3applicationcredential)",
                         group_, needed_for)});
      }
      return {};
    }
    if (type != "v3applicationcredential" && type != "password" && type != "v3password") {
      read_.refuse(group_, "auth_type", type,
                   "is not one of: password, v3password, v3applicationcredential");
      return {};
    }
    fill_group(reading_, kAuthGroup, group_, target_);
    check_auth(*target_.session);
    return group_;
  }

 private:
  // Whoever writes a password means that somebody logs in with it.
  bool complain_of_idle_login() {
    const auto options = schema();
    const auto idle = std::find_if(options.begin(), options.end(), [&](const Option& option) {
      if (option.group != kAuthGroup || option.fill == nullptr) return false;
      const std::vector<Value> values = read_.multi(group_, option.name);
      return option.name != "auth_type" && !values.empty() && !values.back().text.empty();
    });
    if (idle == options.end()) return false;
    read_.complain(group_, idle->name,
                   " is set but auth_type is not, so it is not used to log in (accepted: "
                   "auth_type = password, v3password or v3applicationcredential; or an "
                   "auth_section that has it)");
    return true;
  }

  void need(bool there, std::string_view what) {
    if (there) return;
    problems_.push_back(
        {read_.where(group_, "auth_type"), fmt::format("[{}] auth_type needs {}", group_, what)});
  }

  void check_auth(const placement::Options& a) {
    need(!a.auth_url.empty(), "auth_url");
    const bool any_domain = !a.default_domain_name.empty() || !a.default_domain_id.empty();
    const bool user_domain = any_domain || !a.user_domain_name.empty() || !a.user_domain_id.empty();
    if (a.auth_type == "v3applicationcredential") {
      need(!a.application_credential_secret.empty(), "application_credential_secret");
      const bool by_name = !a.application_credential_name.empty() &&
                           (!a.user_id.empty() || (!a.username.empty() && user_domain));
      need(!a.application_credential_id.empty() || by_name,
           "application_credential_id, or application_credential_name with the user (user_id, or "
           "username and user_domain_name)");
      return;
    }
    need(!a.username.empty() || !a.user_id.empty(), "username or user_id");
    need(a.username.empty() || !a.user_id.empty() || user_domain,
         "user_domain_name or user_domain_id for the username");
    need(!a.password.empty(), "password");
    const bool project = !a.project_name.empty() || !a.project_id.empty();
    need(project || !a.system_scope.empty() || !a.domain_id.empty() || !a.domain_name.empty(),
         "a scope: project_name or project_id (or system_scope, domain_name, domain_id, trust_id)");
    need(any_domain || a.project_name.empty() || !a.project_id.empty() ||
             !a.project_domain_name.empty() || !a.project_domain_id.empty(),
         "project_domain_name or project_domain_id for the project_name");
    if (!a.system_scope.empty() && a.system_scope != "all") {
      read_.complain(group_, "system_scope", ": only 'all' is accepted");
    }
  }

  const Reading& reading_;
  const Reader& read_;
  std::vector<Problem>& problems_;
  const Target& target_;
  std::string group_;
};

}  // namespace

std::string read_auth(const Reading& reading, std::string_view group, std::string_view needed_for,
                      const Target& target) {
  return AuthReader(reading, target).run(group, needed_for);
}

void read_session(const Reading& reading, std::string_view group, const Target& target) {
  constexpr std::string_view kName = "valid_interfaces";
  fill_group(reading, group, group, target);
  placement::Options& session = *target.session;
  if (session.certfile.empty() && !session.keyfile.empty()) {
    reading.read.complain(group, "keyfile", " needs certfile beside it");
  }
  for (std::string& word : session.valid_interfaces) {
    if (word.ends_with("URL")) word.resize(word.size() - 3);  // the names of Keystone v2
    if (word != "internal" && word != "public" && word != "admin") {
      reading.read.refuse(group, kName, word, "is not one of: internal, public, admin");
    }
  }
  if (session.valid_interfaces.empty()) reading.read.complain(group, kName, " is empty");
}

void read_placement(const Reading& reading, Settings& settings) {
  const Target target{settings, &settings.placement};
  read_session(reading, "placement", target);
  const bool asked = reading.purpose != Purpose::api;
  settings.logins.placement =
      read_auth(reading, "placement", asked ? "to speak with Placement" : "", target);
}

}  // namespace reclaim::config
