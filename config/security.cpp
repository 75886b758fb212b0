#include "config/security.h"

#include <fmt/core.h>

#include <algorithm>

#include "state/base/log.h"
#include "state/base/loopback.h"

namespace reclaim::config {
namespace {

class Remarks {
 public:
  explicit Remarks(const Settings& settings) : settings_(settings) {}

  std::vector<Remark> run() && {
    redis();
    rabbit();
    service("placement", settings_.logins.placement, settings_.placement);
    service("cyborg", settings_.logins.cyborg, settings_.cyborg.session);
    service("keystone_authtoken", settings_.logins.tokens, settings_.tokens.session);
    for (const DeviceSpec& spec : settings_.device_specs) {
      if (!matches_every_drive(spec) || settings_.manage_every_drive) continue;
      add(fmt::format("[nvme] device_spec at {} matches every drive of the host",
                      to_string(spec.at)),
          "name vendor_id and product_id in it, or the addresses of the tenants' drives");
    }
    return std::move(out_);
  }

 private:
  // Two groups may share one login.
  void add(std::string what, std::string remedy) {
    Remark remark{std::move(what), std::move(remedy)};
    if (std::find(out_.begin(), out_.end(), remark) == out_.end()) {
      out_.push_back(std::move(remark));
    }
  }

  void redis() {
    const RedisOptions& redis = settings_.redis;
    // Only the sentinels know where the master stands: it is taken to be beside them, and the nodes
    // of a cluster that url does not name beside those that it names.
    std::vector<RedisAddress> at = redis.sentinels.empty() ? redis.cluster : redis.sentinels;
    if (at.empty() && !redis.host.empty()) at.push_back({redis.host, redis.port});
    if (at.empty()) return;  // a unix socket, or url could not be read
    if (redis.password.empty()) {
      std::string where = fmt::format("{}:{}", redis.host, redis.port);
      if (!redis.cluster.empty()) where = "a node of the cluster";
      if (!redis.sentinels.empty()) {
        where = fmt::format("the master of '{}'", redis.sentinel_service);
      }
      add(fmt::format("[redis] url has no password: every client that can connect to {} may give "
                      "orders and change what is recorded",
                      where),
          "give each host an ACL user (docs/redis.md) and name it in url, or use unix:///PATH of a "
          "socket that others cannot open");
    }
    if (!redis.sentinels.empty() && redis.sentinel_password.empty()) {
      add("[redis] url has no sentinel_password: every client that can connect to a sentinel may "
          "name another master, and that one is sent the password of Redis",
          "give the sentinels a password and the hosts a user that may only ask "
          "(docs/redis-servers.md), or let nobody but the hosts reach them");
    } else if (!redis.sentinels.empty() &&
               (redis.sentinel_username.empty() || redis.sentinel_username == "default")) {
      add("[redis] url logs in to the sentinels as their user default, who may do everything: a "
          "host that is compromised may name another master, and that one is sent the password of "
          "Redis",
          "give each sentinel a user that may only ask, and name it in sentinel_username "
          "(docs/redis-servers.md)");
    }
    const auto far = std::find_if(at.begin(), at.end(), [](const RedisAddress& address) {
      return !is_loopback(address.host);
    });
    if (far != at.end() && !redis.tls.enabled) {
      add(fmt::format("[redis] url: records, orders and the password go to {} in the clear",
                      far->host),
          redis_has_tls()
              ? "write rediss:// and set tls_ca_file (docs/redis-servers.md), or use a network "
                "that is the fleet's alone"
              : "reach it through a TLS tunnel that ends on loopback, as stunnel makes, or by a "
                "network that is the fleet's alone");
    }
  }

  void rabbit() {
    const listener::AmqpTls& tls = settings_.amqp.tls;
    bus("transport_url", settings_.rabbit.url);
    if (settings_.listen_rpc) {
      bus("transport_url of the RPC", settings_.rabbit.rpc_url);
    }
    if (settings_.notify.driver != NotificationDriver::noop) {
      bus("[notifications] transport_url", settings_.rabbit.notifier_url);
    }
    if (!tls.enabled) return;
    if (tls.ca_file.empty()) {
      add("[oslo_messaging_rabbit] ssl_ca_file is not set: any certificate of the broker is taken",
          "name the file of the authority that signed it");
    } else if (!tls.verify_hostname) {
      add("[oslo_messaging_rabbit] ssl_enforce_hostname_verification = false: the certificate of "
          "another host is taken for the broker's",
          "take it out, and give the broker a certificate with its name");
    }
  }

  void bus(std::string_view option, const TransportUrl& url) {
    if (settings_.amqp.tls.enabled) return;
    const auto far = std::find_if(url.hosts.begin(), url.hosts.end(),
                                  [](const auto& host) { return !is_loopback(host.host); });
    if (far == url.hosts.end()) return;
    add(fmt::format("{}: messages and the password go to {} in the clear", option,
                    printable_excerpt(far->host, kHostBytes)),
        "[oslo_messaging_rabbit] ssl = true and ssl_ca_file, or ?ssl=1&ssl_ca_file=PATH in the "
        "URL");
  }

  void service(std::string_view group, std::string_view login, const placement::Options& session) {
    if (!login.empty() && in_the_clear(session.auth_url)) {
      add(fmt::format("[{}] auth_url: the password goes to {} in the clear", login,
                      session.auth_url),
          "use the https:// URL of Keystone");
    }
    if (!login.empty() && session.insecure) {
      add(fmt::format("[{}] insecure = true: any server that answers in its place is believed, and "
                      "gets the password",
                      group),
          fmt::format("name the authority's file in [{}] cafile and take insecure out", group));
    }
    if (!in_the_clear(session.endpoint_override)) return;
    add(fmt::format("[{}] endpoint_override: tokens go to {} in the clear", group,
                    session.endpoint_override),
        "use the https:// URL of the service");
  }

  static constexpr std::size_t kHostBytes = 255;

  const Settings& settings_;
  std::vector<Remark> out_;
};

}  // namespace

std::vector<Remark> security_remarks(const Settings& settings) {
  return Remarks(settings).run();
}

bool in_the_clear(std::string_view url) {
  return url.starts_with("http://") && !is_loopback(host_of_url(url));
}

}  // namespace reclaim::config
