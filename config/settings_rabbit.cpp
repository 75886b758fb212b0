// [oslo_messaging_rabbit]: how the broker is spoken to.
#include <fmt/core.h>

#include <algorithm>

#include "config/settings_parts.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kRabbit = "oslo_messaging_rabbit";

class RabbitReader {
 public:
  RabbitReader(const Reading& reading, RabbitSettings& rabbit)
      : read_(reading.read), warnings_(reading.warnings), rabbit_(rabbit) {}

  void run() {
    RabbitSettings& r = rabbit_;
    r.ssl = read_.boolean(kRabbit, "ssl");
    r.ssl_ca_file = read_.string(kRabbit, "ssl_ca_file");
    r.ssl_cert_file = read_.string(kRabbit, "ssl_cert_file");
    r.ssl_key_file = read_.string(kRabbit, "ssl_key_file");
    r.ssl_version = tls_version();
    r.ssl_enforce_hostname_verification =
        read_.boolean(kRabbit, "ssl_enforce_hostname_verification");
    const std::string method = read_.string(kRabbit, "rabbit_login_method");
    r.login_method = method == "EXTERNAL" ? LoginMethod::external : LoginMethod::plain;
    r.heartbeat_timeout_s = read_.integer(kRabbit, "heartbeat_timeout_threshold");
    r.heartbeat_rate = read_.integer(kRabbit, "heartbeat_rate");
    r.reconnect_delay_ms = static_cast<int>(read_.real(kRabbit, "kombu_reconnect_delay") * 1000);
    r.retry_interval_s = read_.integer(kRabbit, "rabbit_retry_interval");
    r.retry_backoff_s = read_.integer(kRabbit, "rabbit_retry_backoff");
    r.retry_interval_max_s = read_.integer(kRabbit, "rabbit_interval_max");
    r.quorum_queue = read_.boolean(kRabbit, "rabbit_quorum_queue");
    r.durable = read_.boolean(kRabbit, "amqp_durable_queues") || r.quorum_queue;

    if (method == "AMQPLAIN") {
      warn(kRabbit, "rabbit_login_method",
           ": AMQPLAIN is used as PLAIN, which every broker offers");
    }
    if (r.ssl_cert_file.empty() != r.ssl_key_file.empty()) {
      const std::string_view given = r.ssl_cert_file.empty() ? "ssl_key_file" : "ssl_cert_file";
      read_.complain(kRabbit, given,
                     fmt::format(" needs {} beside it",
                                 r.ssl_cert_file.empty() ? "ssl_cert_file" : "ssl_key_file"));
    }
    if (r.login_method == LoginMethod::external && (!r.ssl || r.ssl_cert_file.empty())) {
      read_.complain(kRabbit, "rabbit_login_method",
                     ": EXTERNAL needs ssl = true, ssl_cert_file and ssl_key_file");
    }
    if (!r.ssl) {
      for (const std::string_view name : {"ssl_ca_file", "ssl_cert_file", "ssl_key_file"}) {
        if (!read_.string(kRabbit, name).empty()) {
          warn(kRabbit, name, " has no effect, for ssl is false: the connection is not encrypted");
        }
      }
    } else if (r.ssl_ca_file.empty()) {
      warn(kRabbit, "ssl",
           " is true without ssl_ca_file: the broker's certificate is not verified");
    }
  }

 private:
  void warn(std::string_view group, std::string_view name, std::string_view text) {
    warnings_.push_back({read_.where(group, name), fmt::format("[{}] {}{}", group, name, text)});
  }

  TlsVersion tls_version() {
    std::string text = read_.string(kRabbit, "ssl_version");
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (text.empty() || text == "sslv23") return TlsVersion::any;
    if (text == "tlsv1") return TlsVersion::v1_0;
    if (text == "tlsv1_1") return TlsVersion::v1_1;
    if (text == "tlsv1_2") return TlsVersion::v1_2;
    if (text == "tlsv1_3") return TlsVersion::v1_3;
    read_.complain(kRabbit, "ssl_version",
                   fmt::format(": '{}' is not one of: SSLv23, TLSv1, TLSv1_1, TLSv1_2, TLSv1_3",
                               printable_excerpt(text, kSettingExcerptBytes)));
    return TlsVersion::any;
  }

  const Reader& read_;
  std::vector<Problem>& warnings_;
  RabbitSettings& rabbit_;
};

}  // namespace

void read_rabbit(const Reading& reading, RabbitSettings& rabbit) {
  RabbitReader(reading, rabbit).run();
}

}  // namespace reclaim::config
