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
  RabbitReader(const Reading& reading, listener::AmqpOptions& amqp)
      : read_(reading.read), warnings_(reading.warnings), amqp_(amqp) {}

  void run() {
    listener::AmqpTls& tls = amqp_.tls;
    tls.lowest = lowest_tls();
    const std::string method = read_.string(kRabbit, "rabbit_login_method");
    const bool external = method == "EXTERNAL";
    amqp_.login = external ? listener::AmqpLogin::external : listener::AmqpLogin::plain;

    if (method == "AMQPLAIN") {
      warn(kRabbit, "rabbit_login_method",
           ": AMQPLAIN is used as PLAIN, which every broker offers");
    }
    if (tls.cert_file.empty() != tls.key_file.empty()) {
      const std::string_view given = tls.cert_file.empty() ? "ssl_key_file" : "ssl_cert_file";
      read_.complain(kRabbit, given,
                     fmt::format(" needs {} beside it",
                                 tls.cert_file.empty() ? "ssl_cert_file" : "ssl_key_file"));
    }
    if (external && (!tls.enabled || tls.cert_file.empty())) {
      read_.complain(kRabbit, "rabbit_login_method",
                     ": EXTERNAL needs ssl = true, ssl_cert_file and ssl_key_file");
    }
    if (!tls.enabled) {
      for (const std::string_view name : {"ssl_ca_file", "ssl_cert_file", "ssl_key_file"}) {
        if (!read_.string(kRabbit, name).empty()) {
          warn(kRabbit, name, " has no effect, for ssl is false: the connection is not encrypted");
        }
      }
    } else if (tls.ca_file.empty()) {
      warn(kRabbit, "ssl",
           " is true without ssl_ca_file: the broker's certificate is not verified");
    }
  }

 private:
  void warn(std::string_view group, std::string_view name, std::string_view text) {
    warnings_.push_back({read_.where(group, name), fmt::format("[{}] {}{}", group, name, text)});
  }

  listener::AmqpTlsVersion lowest_tls() {
    std::string text = read_.string(kRabbit, "ssl_version");
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    using enum listener::AmqpTlsVersion;
    if (text.empty() || text == "sslv23") return v1_2;
    if (text == "tlsv1") return v1_0;
    if (text == "tlsv1_1") return v1_1;
    if (text == "tlsv1_2") return v1_2;
    if (text == "tlsv1_3") return v1_3;
    read_.complain(kRabbit, "ssl_version",
                   fmt::format(": '{}' is not one of: SSLv23, TLSv1, TLSv1_1, TLSv1_2, TLSv1_3",
                               printable_excerpt(text, kSettingExcerptBytes)));
    return v1_2;
  }

  const Reader& read_;
  std::vector<Problem>& warnings_;
  listener::AmqpOptions& amqp_;
};

}  // namespace

void read_rabbit(const Reading& reading, Settings& settings) {
  fill_group(reading, kRabbit, settings);
  settings.amqp.durable = settings.amqp.durable || settings.rabbit.quorum_queue;
  RabbitReader(reading, settings.amqp).run();
}

}  // namespace reclaim::config
