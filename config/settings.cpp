#include "config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "config/claims.h"
#include "config/oslo/reader.h"
#include "config/settings_parts.h"
#include "state/base/check.h"
#include "state/base/log.h"
#include "state/base/url.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kRabbit = "oslo_messaging_rabbit";
constexpr std::string_view kNotifications = "oslo_messaging_notifications";
constexpr std::string_view kTold = "notifications";
constexpr std::size_t kNamesMax = 32;        // items of a list
constexpr std::size_t kAmqpNameBytes = 255;  // a short string of AMQP 0-9-1
constexpr std::size_t kPriorityBytes = 6;    // ".error"
constexpr unsigned kSurveyDelayMaxS = 3600;
constexpr std::size_t kSurveyDelaysMax = 8;

// Builds the tree group by group; each part is one function below.
class Builder {
 public:
  Builder(std::vector<SourceFile> files, const std::string& hostname, Purpose purpose)
      : has_service_file_(std::any_of(files.begin(), files.end(),
                                      [](const SourceFile& file) { return file.service; })),
        hostname_(hostname),
        purpose_(purpose),
        files_problems_(collect(files)),
        options_(std::move(files)),
        read_(options_, out_.problems) {}

  CheckedSettings run() && {
    out_.problems.insert(out_.problems.end(), files_problems_.begin(), files_problems_.end());
    options_.check_names(out_.problems, out_.warnings);
    std::set<std::string_view> filled;
    const Reading reading{read_, out_.problems, out_.warnings, purpose_, filled};
    process(reading);
    transport(reading);
    read_rabbit(reading, out_.settings);
    listener(reading);
    notifications(reading);
    redis(reading);
    read_placement(reading, out_.settings);
    read_cyborg(reading, out_.settings);
    read_nvme(reading, out_.settings);
    read_policies(reading, out_.settings);
    read_steps(reading, out_.settings);
    check_policy_steps(reading, out_.settings);
    read_passthrough_whitelist(reading, out_.settings);
    check_managed(out_.settings, out_.problems, out_.warnings);
    for (const std::string_view group : {"recovery", "certificates", "security", "metrics"}) {
      fill_group(reading, group, out_.settings);
    }
    metrics();
    read_api(reading, out_.settings);
    read_agent_door(reading, out_.settings);
    read_tokens(reading, out_.settings);
    fill_group(reading, "oslo_policy", out_.settings);
    out_.settings.policy_file_at = read_.where("oslo_policy", "policy_file");
    host(reading);
    check_all_filled(filled);
    out_.settings.texts = options_.texts();
    return std::move(out_);
  }

 private:
  // An option of a group that no reader takes would be accepted and ignored. Logins and sections
  // with names are there for those who have them.
  static void check_all_filled(const std::set<std::string_view>& filled) {
    for (const Option& option : schema()) {
      const bool for_some = option.group == kAuthGroup || option.group.ends_with(':');
      CHECK(option.fill == nullptr || for_some || filled.contains(option.group));
    }
  }

  static std::vector<Problem> collect(const std::vector<SourceFile>& files) {
    std::vector<Problem> problems;
    for (const SourceFile& file : files) {
      problems.insert(problems.end(), file.ini.problems.begin(), file.ini.problems.end());
    }
    return problems;
  }

  // A name that becomes part of Redis keys and AMQP names.
  bool good_name(std::string_view name) {
    return !name.empty() && name.size() <= kAmqpNameBytes &&
           std::all_of(name.begin(), name.end(), [](char c) {
             return static_cast<unsigned char>(c) > ' ' && c != '{' && c != '}' && c != '\x7f';
           });
  }

  void check_names(std::string_view group, std::string_view name,
                   const std::vector<std::string>& items) {
    if (items.empty()) read_.complain(group, name, " is empty, at least one is needed");
    if (items.size() > kNamesMax) {
      read_.complain(group, name, fmt::format(" has more than {} items", kNamesMax));
    }
    for (const std::string& item : items) {
      if (!good_name(item)) read_.refuse(group, name, item, "is not a usable name");
    }
  }

  void process(const Reading& reading) {
    Settings& s = out_.settings;
    fill_group(reading, "DEFAULT", s);
    if (s.host.empty()) s.host = hostname_;
    if (!good_name(s.host)) {
      read_.refuse(
          "DEFAULT", "host", s.host,
          "is not a usable host name (1 to 255 characters without white space and braces)");
    }
  }

  // node_exporter reads no other.
  void metrics() {
    const std::string& path = out_.settings.metrics_textfile;
    if (path.empty() || path.ends_with(".prom")) return;
    read_.refuse("metrics", "textfile", path, "does not end in .prom, so that nobody reads it");
  }

  // The bus of the notifications, whose query then overrides [oslo_messaging_rabbit].
  void transport(const Reading& reading) {
    const bool own = !read_.string(kNotifications, "transport_url").empty();
    const std::string_view group = own ? kNotifications : std::string_view("DEFAULT");
    RabbitSettings& rabbit = out_.settings.rabbit;
    if (!take_url(group, rabbit.url)) return;
    const Location at = read_.where(group, "transport_url");
    if (purpose_ == Purpose::serve && at.file.empty()) {
      out_.warnings.push_back(
          {at, "[DEFAULT] transport_url is not set: guest on localhost is used"});
    }
    rabbit.rpc_url = rabbit.url;
    if (own) (void)take_url("DEFAULT", rabbit.rpc_url);
    rabbit.notifier_url = rabbit.rpc_url;
    for (const auto& [name, value] : rabbit.url.query) {
      if (const Option* option = options_.find(kRabbit, name)) {
        options_.override_value(kRabbit, option->name, {value, at});
      } else if (!options_.is_unused(kRabbit, name)) {
        read_.complain(group, "transport_url",
                       fmt::format(": its query has '{}', which is not an option of [{}]",
                                   printable_excerpt(name, kAmqpNameBytes), kRabbit));
      }
    }
    notification_warnings(reading);
  }

  bool take_url(std::string_view group, TransportUrl& into) {
    auto url = parse_transport_url(read_.string(group, "transport_url"));
    if (!url.ok()) {
      read_.complain(group, "transport_url", ": " + url.error().what);
      return false;
    }
    into = *std::move(url);
    return true;
  }

  // A service file tells whether its service sends anything that Reclaim could hear.
  void notification_warnings(const Reading& reading) {
    if (!has_service_file_ || purpose_ != Purpose::serve) return;
    const std::vector<Value> drivers = read_.multi(kNotifications, "driver");
    const bool sends = std::any_of(drivers.begin(), drivers.end(), [](const Value& driver) {
      return driver.text == "messagingv2" || driver.text == "messaging" || driver.text == "routing";
    });
    if (!sends) {
      reading.warn(
          kNotifications, "driver",
          " is not messagingv2 in the service's configuration: it sends no notifications, and "
          "only the "
          "periodic survey will find dirty devices");
    }
    const std::vector<std::string> heard = read_.list("listener", "topics");
    // Nova's topics of notifications without and with a version.
    for (const auto& [group, name] :
         {std::pair(kNotifications, "topics"), {kTold, "versioned_notifications_topics"}}) {
      for (const std::string& topic : read_.list(group, name)) {
        if (std::find(heard.begin(), heard.end(), topic) != heard.end()) continue;
        reading.warn(group, name,
                     fmt::format(" has '{}', which is not in [listener] topics and will not be "
                                 "received: add it there",
                                 printable_excerpt(topic, kAmqpNameBytes)));
      }
    }
  }

  void listener(const Reading& reading) {
    Settings& s = out_.settings;
    fill_group(reading, "listener", s);
    check_names("listener", "exchanges", s.amqp.exchanges);
    check_names("listener", "topics", s.topics);
    check_drain(s);
    for (const auto& [name, queue] :
         {std::pair("queue", &s.amqp.queue), {"dead_letter_queue", &s.amqp.dead_letter_queue}}) {
      if (!good_name(*queue) || queue->starts_with("amq.")) {
        read_.refuse("listener", name, *queue, "is not a usable name of a queue");
      }
    }
    if (s.amqp.queue == s.amqp.dead_letter_queue) {
      read_.complain("listener", "dead_letter_queue", " must not be the queue itself");
    }
    s.amqp.routing_keys = listener::notification_keys(s.topics);
    if (s.rabbit.quorum_queue && s.amqp.queue_type == listener::QueueType::automatic) {
      s.amqp.queue_type = listener::QueueType::quorum;
    }
  }

  // Refuses to empty a queue of Reclaim's own.
  void check_drain(const Settings& s) {
    if (s.drain.empty()) return;
    check_names("listener", "drain", s.drain);
    for (const std::string& key : listener::notification_keys(s.drain)) {
      if (key == s.amqp.queue || key == s.amqp.dead_letter_queue) {
        read_.refuse("listener", "drain", key, "is a queue of Reclaim's own");
      }
    }
  }

  // Reads [notifications]. TLS and login are [oslo_messaging_rabbit]'s, so that a query has nothing
  // to set.
  void notifications(const Reading& reading) {
    Settings& s = out_.settings;
    fill_group(reading, kTold, s);
    if (!good_name(s.notifier.exchange) || s.notifier.exchange.starts_with("amq.")) {
      read_.refuse(kTold, "exchange", s.notifier.exchange, "is not a usable name of an exchange");
    }
    check_names(kTold, "topics", s.notifier.topics);
    for (const std::string& topic : s.notifier.topics) {
      if (topic.size() + kPriorityBytes > kAmqpNameBytes) {
        read_.refuse(kTold, "topics", topic, "is too long for a routing key with its priority");
      }
    }
    if (read_.string(kTold, "transport_url").empty()) return;
    if (take_url(kTold, s.rabbit.notifier_url) && !s.rabbit.notifier_url.query.empty()) {
      read_.complain(kTold, "transport_url",
                     ": it has a query, which is read of [DEFAULT] transport_url alone: set the "
                     "options of [oslo_messaging_rabbit]");
    }
  }

  void redis(const Reading& reading) {
    RedisOptions& r = out_.settings.redis;
    const Status parsed = parse_redis_url(read_.string("redis", "url"), r);
    if (!parsed.ok()) {
      read_.complain("redis", "url", ": " + parsed.error().what);
      r = RedisOptions();
      r.host.clear();  // no address: security_remarks() says nothing of it
    }
    fill_group(reading, "redis", out_.settings);
    if (r.reconnect_min_ms > r.reconnect_max_ms) {
      read_.complain("redis", "reconnect_min_ms", " is greater than reconnect_max_ms");
    }
    check_pair(reading, "redis", "tls_cert_file", r.tls.cert_file, "tls_key_file", r.tls.key_file);
    if (r.tls.enabled || !parsed.ok()) return;
    for (const std::string_view name : {"tls_ca_file", "tls_cert_file", "tls_key_file"}) {
      if (read_.string("redis", name).empty()) continue;
      reading.warn("redis", name,
                   " has no effect, for url is not rediss://: the connection is not encrypted");
    }
  }

  void host(const Reading& reading) {
    out_.settings.survey_delays_s = delays();
    fill_group(reading, "reclaim", out_.settings);
    check_labels(out_.settings.conductor.labels);
    std::vector<std::string>& directories = out_.settings.nvme.libvirt_dirs;
    if (directories == std::vector<std::string>{"none"}) return directories.clear();
    for (const std::string& directory : directories) {
      if (!directory.starts_with('/')) {
        read_.refuse("reclaim", "libvirt_dirs", directory, "is not an absolute path");
      }
    }
    if (directories.empty()) {
      read_.complain("reclaim", "libvirt_dirs",
                     " is empty: without libvirt's domain files it is unknown whose drive it is; "
                     "where there is no libvirt, say none");
    }
  }

  void check_labels(const std::vector<std::string>& labels) {
    constexpr std::size_t kLabelsMax = 16;
    constexpr std::size_t kLabelBytesMax = 64;
    for (const std::string& label : labels) {
      const bool good = std::all_of(label.begin(), label.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view(".-_=:").find(static_cast<char>(c)) != std::string_view::npos;
      });
      if (!good || label.empty() || label.size() > kLabelBytesMax) {
        read_.refuse("reclaim", "labels", label,
                     "is no label: up to 64 letters, digits and . - _ = : are");
      }
    }
    if (labels.size() > kLabelsMax) {
      read_.complain("reclaim", "labels", fmt::format(" has more than {} words", kLabelsMax));
    }
  }

  std::vector<int> delays() {
    std::vector<int> delays;
    for (const std::string& item : read_.list("reclaim", "survey_delays_s")) {
      if (const auto delay = url::number(item, kSurveyDelayMaxS)) {
        delays.push_back(static_cast<int>(*delay));
      } else {
        read_.refuse("reclaim", "survey_delays_s", item,
                     fmt::format("is not an integer from 0 to {}", kSurveyDelayMaxS));
      }
    }
    std::sort(delays.begin(), delays.end());
    if (delays.empty() || delays.size() > kSurveyDelaysMax) {
      read_.complain("reclaim", "survey_delays_s",
                     fmt::format(" needs 1 to {} numbers", kSurveyDelaysMax));
    }
    return delays;
  }

  bool has_service_file_;
  const std::string& hostname_;
  Purpose purpose_;
  std::vector<Problem> files_problems_;
  CheckedSettings out_;
  Options options_;
  Reader read_;
};

// A value is read in more than one place, and each place reports what is wrong with it.
void drop_repeats(std::vector<Problem>& problems) {
  std::vector<Problem> once;
  for (Problem& problem : problems) {
    if (std::find(once.begin(), once.end(), problem) == once.end())
      once.push_back(std::move(problem));
  }
  problems = std::move(once);
}

}  // namespace

void fill_group(const Reading& reading, std::string_view declared, std::string_view group,
                const Target& target) {
  reading.filled.insert(declared);
  for (const Option& option : schema()) {
    if (option.group != declared || option.fill == nullptr) continue;
    option.fill(reading.read, group, option, target);
  }
}

void check_pair(const Reading& reading, std::string_view group, std::string_view certificate,
                const std::string& certificate_file, std::string_view key,
                const std::string& key_file) {
  if (certificate_file.empty() == key_file.empty()) return;
  if (certificate_file.empty()) std::swap(certificate, key);
  reading.read.complain(group, certificate, fmt::format(" needs {} beside it", key));
}

CheckedSettings build_settings(std::vector<SourceFile> files, const std::string& hostname,
                               Purpose purpose) {
  CheckedSettings checked = Builder(std::move(files), hostname, purpose).run();
  drop_repeats(checked.problems);
  drop_repeats(checked.warnings);
  return checked;
}

std::string to_text(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += "; ";
    text += to_string(problem);
  }
  return text;
}

}  // namespace reclaim::config
