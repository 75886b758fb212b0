// Settings from the texts of files, and the words of what is wrong with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace reclaim::config {

// What a file must hold for `serve`, so that a test sees only its own problems.
inline constexpr std::string_view kBase =
    "[DEFAULT]\ntransport_url = rabbit://u:p@h/\n"
    "[placement]\nauth_type = password\nauth_url = http://k:5000\nusername = nova\npassword = pw\n"
    "user_domain_name = Default\nproject_name = service\nproject_domain_name = Default\n"
    "[nvme]\ndevice_spec = {\"address\": \"0000:0a:00.*\"}\n";

inline SourceFile own(std::string_view text, std::string_view name = "r.conf") {
  return {parse_ini(text, name), false};
}

inline SourceFile service(std::string_view text, std::string_view name = "nova.conf") {
  return {parse_ini(text, name), true};
}

inline CheckedSettings build(std::vector<SourceFile> files, Purpose purpose = Purpose::tool) {
  return build_settings(std::move(files), "node-1", purpose);
}

inline CheckedSettings build(std::string_view text) {
  return build({own(text)});
}

inline std::vector<std::string> texts(const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  for (const Problem& problem : problems) out.push_back(to_string(problem));
  return out;
}

inline std::vector<std::string> problems(std::string_view text) {
  return texts(build(text).problems);
}
inline std::vector<std::string> warnings(std::string_view text) {
  return texts(build(text).warnings);
}

}  // namespace reclaim::config
