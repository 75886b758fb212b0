// [oslo_messaging_rabbit]: how the broker is spoken to.
#include "config/settings_parts.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kRabbitGroup = "oslo_messaging_rabbit";

listener::AmqpTlsVersion lowest_tls(const Reader& read) {
  using enum listener::AmqpTlsVersion;
  const std::string text = lower(read.string(kRabbitGroup, "ssl_version"));
  if (text.empty() || text == "sslv23") return v1_2;
  if (text == "tlsv1") return v1_0;
  if (text == "tlsv1_1") return v1_1;
  if (text == "tlsv1_2") return v1_2;
  if (text == "tlsv1_3") return v1_3;
  read.refuse(kRabbitGroup, "ssl_version", text,
              "is not one of: SSLv23, TLSv1, TLSv1_1, TLSv1_2, TLSv1_3");
  return v1_2;
}

void check_tls(const Reading& reading, const listener::AmqpTls& tls) {
  check_pair(reading, kRabbitGroup, "ssl_cert_file", tls.cert_file, "ssl_key_file", tls.key_file);
  if (tls.enabled && tls.ca_file.empty()) {
    reading.warn(kRabbitGroup, "ssl",
                 " is true without ssl_ca_file: the broker's certificate is not verified");
  }
  if (tls.enabled) return;
  for (const std::string_view name : {"ssl_ca_file", "ssl_cert_file", "ssl_key_file"}) {
    if (reading.read.string(kRabbitGroup, name).empty()) continue;
    reading.warn(kRabbitGroup, name,
                 " has no effect, for ssl is false: the connection is not encrypted");
  }
}

}  // namespace

void read_rabbit(const Reading& reading, Settings& settings) {
  listener::AmqpOptions& amqp = settings.amqp;
  fill_group(reading, kRabbitGroup, settings);
  amqp.durable = amqp.durable || settings.rabbit.quorum_queue;
  amqp.tls.lowest = lowest_tls(reading.read);
  const std::string method = reading.read.string(kRabbitGroup, "rabbit_login_method");
  if (method == "EXTERNAL") amqp.login = listener::AmqpLogin::external;
  if (method == "AMQPLAIN") {
    reading.warn(kRabbitGroup, "rabbit_login_method",
                 ": AMQPLAIN is used as PLAIN, which every broker offers");
  }
  check_tls(reading, amqp.tls);
  if (method == "EXTERNAL" && (!amqp.tls.enabled || amqp.tls.cert_file.empty())) {
    reading.read.complain(kRabbitGroup, "rabbit_login_method",
                          ": EXTERNAL needs ssl = true, ssl_cert_file and ssl_key_file");
  }
}

}  // namespace reclaim::config
