#include "state/base/loopback.h"

#include "state/base/text.h"

namespace reclaim {

bool is_loopback(std::string_view host) {
  // An address in full: "127.1" and "127.0.0.1.example" are names to some.
  std::size_t dots = 0;
  bool v4 = host.starts_with("127.") && host.back() != '.';
  for (std::size_t i = 0; v4 && i < host.size(); ++i) {
    const bool dot = host[i] == '.';
    dots += dot ? 1U : 0U;
    v4 = dot ? host[i - 1] != '.' : host[i] >= '0' && host[i] <= '9';
  }
  return (v4 && dots == 3) || host == "::1" || same_ignoring_case(host, "localhost");
}

std::string_view host_of_url(std::string_view url) {
  constexpr std::string_view kEnd = "://";
  const std::size_t begin = url.find(kEnd);
  if (begin == std::string_view::npos) return {};
  std::string_view host = url.substr(begin + kEnd.size());
  host = host.substr(0, host.find_first_of("/?#"));
  host = host.substr(host.rfind('@') + 1);  // npos + 1 is the beginning
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

}  // namespace reclaim
