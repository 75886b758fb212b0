// reclaim doctor: the device API's files, addresses and tokens.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "cli/doctor_checks.h"
#include "placement/keystone/token_validator.h"
#include "state/base/unique_fd.h"
#include "state/certificate/order_key.h"

namespace reclaim::cli {
namespace {

constexpr const char* kAddress = "api address";
constexpr std::int64_t kProbeMs = 5'000;
// A token of no Keystone: it looks like one of the UUIDs that tokens once were.
constexpr const char* kNoToken = "00000000000000000000000000000000";

void check_file(const std::string& option, const std::string& path, Chart& chart) {
  if (path.empty()) return;
  if (access(path.c_str(), R_OK) == 0) return chart.ok("api " + option, path + " can be read");
  chart.error("api " + option, fmt::format("{}: {}", path, std::strerror(errno)),
              fmt::format("correct [api] {}, or let the user of the process read it", option));
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::uint16_t port = 0;
  std::string host_to_ask;  // itself, or where a process that listens everywhere answers
};

// "ADDRESS:PORT", which the settings have checked.
Address parse(const std::string& text) {
  Address out;
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), out.port);
  if (host.starts_with('[')) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(out.port);
    inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr);
    out.size = sizeof *v6;
    out.host_to_ask = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ? "[::1]" : host;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(out.port);
    inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
    out.size = sizeof *v4;
    out.host_to_ask = v4->sin_addr.s_addr == htonl(INADDR_ANY) ? "127.0.0.1" : host;
  }
  return out;
}

// 0, or why not.
int try_to_bind(const Address& address) {
  const UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno;
  const int on = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) {
    (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  return ::bind(fd.get(), raw, address.size) == 0 && ::listen(fd.get(), 1) == 0 ? 0 : errno;
}

// True if a device API answers there: its version document is everybody's to read.
bool is_ours(Session& session, const Address& address) {
  placement::Options options;
  options.insecure = true;  // who it is, not whether it is to be trusted
  options.connect_timeout_ms = static_cast<int>(kProbeMs);
  options.timeout_ms = static_cast<int>(kProbeMs);
  auto transport = placement::CurlTransport::create(session.loop(), options);
  if (!transport) return false;
  const char* scheme = session.settings().api.http.tls_cert_file.empty() ? "http" : "https";
  const auto answer = session.wait<placement::HttpResponse>([&](auto done) {
    (*transport)
        ->send(
            {"GET", fmt::format("{}://{}:{}/", scheme, address.host_to_ask, address.port), {}, ""},
            std::move(done));
  });
  return answer && answer->body.find("Reclaim device API") != std::string::npos;
}

void check_address(Session& session, const std::string& text, Chart& chart) {
  const Address address = parse(text);
  const int error = try_to_bind(address);
  if (error == 0) return chart.ok(kAddress, text + " is free");
  if (error == EADDRINUSE && is_ours(session, address)) {
    return chart.ok(kAddress, text + " is answered by a device API");
  }
  chart.error(kAddress, fmt::format("{}: {}", text, std::strerror(error)),
              error == EADDRINUSE ? "another process listens there (ss -ltnp): choose another port"
                                  : "[api] bind names an address that is not this host's");
}

void check_socket(const std::string& path, Chart& chart) {
  const std::string folder = std::filesystem::path(path).parent_path();
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return chart.error(
        "api socket", fmt::format("{}: {}", folder, std::strerror(errno)),
        "[api] unix_socket needs a directory that the process may write, as /run/reclaim-api");
  }
  chart.ok("api socket", folder + " is writable");
}

// Hosts that have a key of orders refuse what is not authenticated.
void check_order_key(const std::string& path, Chart& chart) {
  constexpr const char* kCheck = "api orders";
  if (path.empty()) {
    return chart.warning(kCheck,
                         "this node has no [security] order_key_file: it cannot order enrol, "
                         "disown, unhold or steps, and a host with a key refuses its other orders",
                         "name a file with the fleet's master key (operator-guide.md, \"The key of "
                         "orders\")");
  }
  const auto key = OrderKey::load(path);
  if (!key) return chart.error(kCheck, key.error().what, "correct [security] order_key_file");
  chart.ok(kCheck, key->host().empty() ? path + " is the master key"
                                       : path + " is the key of host " + key->host());
}

void check_tokens(Session& session, Chart& chart) {
  constexpr const char* kCheck = "api tokens";
  constexpr const char* kRemedy = "correct [keystone_authtoken]; cyborg.conf's works here as well";
  auto options = config::token_options(session.settings());
  if (!options) return chart.error(kCheck, options.error().what, kRemedy);
  auto transport = placement::CurlTransport::create(session.loop(), options->session);
  if (!transport) return chart.error(kCheck, transport.error().what, kRemedy);
  UvTimers timers(session.loop());
  auto tokens = placement::TokenValidator::create(
      *std::move(options), placement::Ports{**transport, timers, session.clock(), session.log()});
  if (!tokens) return chart.error(kCheck, tokens.error().what, kRemedy);
  const auto facts =
      session.wait<placement::LoginFacts>([&](auto done) { (*tokens)->log_in(std::move(done)); });
  if (!facts) return chart.error(kCheck, facts.error().what, kRemedy);
  check_endpoint("keystone", facts->endpoint, chart);
  const auto judged = session.wait<placement::Identity>(
      [&](auto done) { (*tokens)->validate(kNoToken, "", std::move(done)); });
  if (judged) {
    return chart.error(kCheck, facts->endpoint + " accepts a token that was never issued",
                       "is that Keystone?");
  }
  if (judged.error().code != Errc::refused) {
    return chart.error(kCheck, judged.error().what,
                       "the user of [keystone_authtoken] needs the role service or admin");
  }
  chart.ok(kCheck, fmt::format("{} validates tokens for {}", facts->endpoint,
                               session.settings().tokens.session.username.empty()
                                   ? "our service user"
                                   : session.settings().tokens.session.username));
}

}  // namespace

void check_api(Session& session, Chart& chart) {
  const config::ApiSettings& api = session.settings().api;
  const auto& http = api.http;
  if (!api.on()) return;
  check_file("cert_file", http.tls_cert_file, chart);
  check_file("key_file", http.tls_key_file, chart);
  for (const std::string& address : http.bind) check_address(session, address, chart);
  if (!http.unix_socket.empty()) check_socket(http.unix_socket, chart);
  check_order_key(session.settings().order_key_file, chart);
  if (api.auth == config::ApiAuth::keystone) check_tokens(session, chart);
}

}  // namespace reclaim::cli
