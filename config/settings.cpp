#include "config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "config/claims.h"
#include "config/oslo/reader.h"
#include "config/settings_parts.h"
#include "state/base/log.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kRabbit = "oslo_messaging_rabbit";
constexpr std::string_view kNotifications = "oslo_messaging_notifications";
constexpr std::size_t kNamesMax = 32;        // items of a list
constexpr std::size_t kAmqpNameBytes = 255;  // a short string of AMQP 0-9-1
constexpr int kSurveyDelayMaxS = 3600;
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
    const Reading reading{read_, out_.problems, out_.warnings, purpose_};
    process(reading);
    transport();
    read_rabbit(reading, out_.settings.rabbit);
    listener();
    redis();
    read_placement(reading, out_.settings.placement);
    read_cyborg(reading, out_.settings.cyborg);
    read_nvme(reading, out_.settings.nvme);
    read_passthrough_whitelist(reading, out_.settings);
    check_managed(out_.settings, out_.problems, out_.warnings);
    recovery();
    certificates(reading);
    security(reading);
    read_api(reading, out_.settings.api);
    read_tokens(reading, out_.settings.api, out_.settings.keystone_authtoken);
    policy(reading);
    host(reading);
    return std::move(out_);
  }

 private:
  static std::vector<Problem> collect(const std::vector<SourceFile>& files) {
    std::vector<Problem> problems;
    for (const SourceFile& file : files) {
      problems.insert(problems.end(), file.ini.problems.begin(), file.ini.problems.end());
    }
    return problems;
  }

  void warn(std::string_view group, std::string_view name, std::string_view text) {
    out_.warnings.push_back(
        {read_.where(group, name), fmt::format("[{}] {}{}", group, name, text)});
  }

  // A name that becomes part of Redis keys and AMQP names.
  bool good_name(std::string_view name) {
    return !name.empty() && name.size() <= kAmqpNameBytes &&
           std::all_of(name.begin(), name.end(), [](char c) {
             return static_cast<unsigned char>(c) > ' ' && c != '{' && c != '}' && c != '\x7f';
           });
  }

  std::vector<std::string> names(std::string_view group, std::string_view name) {
    std::vector<std::string> items = read_.list(group, name);
    if (items.empty()) read_.complain(group, name, " is empty, at least one is needed");
    if (items.size() > kNamesMax) {
      read_.complain(group, name, fmt::format(" has more than {} items", kNamesMax));
    }
    for (const std::string& item : items) {
      if (!good_name(item)) {
        read_.complain(
            group, name,
            fmt::format(": '{}' is no usable name", printable_excerpt(item, kAmqpNameBytes)));
      }
    }
    return items;
  }

  void process(const Reading& reading) {
    Settings& s = out_.settings;
    s.host = read_.string("DEFAULT", "host");
    if (s.host.empty()) s.host = hostname_;
    if (!good_name(s.host)) {
      read_.complain("DEFAULT", "host",
                     fmt::format(": '{}' is no usable host name (1 to 255 characters without white "
                                 "space and braces)",
                                 printable_excerpt(s.host, kAmqpNameBytes)));
    }
    s.debug = read_.boolean("DEFAULT", "debug");
    s.log_file = read_.string("DEFAULT", "log_file");
    s.use_json = read_.boolean("DEFAULT", "use_json");
    s.state_path = read_absolute_path(reading, "DEFAULT", "state_path");
  }

  // The bus of the notifications, whose query then overrides [oslo_messaging_rabbit].
  void transport() {
    const bool own = !read_.string(kNotifications, "transport_url").empty();
    const std::string_view group = own ? kNotifications : std::string_view("DEFAULT");
    auto url = parse_transport_url(read_.string(group, "transport_url"));
    if (!url.ok()) {
      return read_.complain(group, "transport_url", ": " + url.error().what);
    }
    const Location at = read_.where(group, "transport_url");
    if (purpose_ == Purpose::serve && at.file.empty()) {
      out_.warnings.push_back(
          {at, "[DEFAULT] transport_url is not set: guest on localhost is used"});
    }
    out_.settings.rabbit.url = *std::move(url);
    rpc_transport(own);
    for (const auto& [name, value] : out_.settings.rabbit.url.query) {
      if (const Option* option = options_.find(kRabbit, name)) {
        options_.override_value(kRabbit, option->name, {value, at});
      } else if (!is_unused(kRabbit, name)) {
        read_.complain(group, "transport_url",
                       fmt::format(": its query has '{}', which is no option of [{}]",
                                   printable_excerpt(name, kAmqpNameBytes), kRabbit));
      }
    }
    notification_warnings();
  }

  void rpc_transport(bool notifications_have_their_own) {
    RabbitSettings& rabbit = out_.settings.rabbit;
    rabbit.rpc_url = rabbit.url;
    if (!notifications_have_their_own) return;
    auto url = parse_transport_url(read_.string("DEFAULT", "transport_url"));
    if (!url.ok()) {
      return read_.complain("DEFAULT", "transport_url", ": " + url.error().what);
    }
    rabbit.rpc_url = *std::move(url);
  }

  static bool is_unused(std::string_view group, std::string_view name) {
    for (const OptionGroup& known : schema_groups()) {
      if (known.name != group) continue;
      const auto names = split_list(known.unused);
      return std::find(names.begin(), names.end(), name) != names.end();
    }
    return false;
  }

  // A service file tells whether its service sends anything that Reclaim could hear.
  void notification_warnings() {
    if (!has_service_file_ || purpose_ != Purpose::serve) return;
    const std::vector<Value> drivers = read_.multi(kNotifications, "driver");
    const bool sends = std::any_of(drivers.begin(), drivers.end(), [](const Value& driver) {
      return driver.text == "messagingv2" || driver.text == "messaging" || driver.text == "routing";
    });
    if (!sends) {
      warn(kNotifications, "driver",
           " is not messagingv2 in the service's configuration: it sends no notifications, and "
           "only the "
           "periodic survey will find dirty devices");
    }
    const std::vector<std::string> heard = read_.list("listener", "topics");
    for (const std::string& topic : read_.list(kNotifications, "topics")) {
      if (std::find(heard.begin(), heard.end(), topic) == heard.end()) {
        warn(kNotifications, "topics",
             fmt::format(" has '{}', which is not in [listener] topics and will not be heard",
                         printable_excerpt(topic, kAmqpNameBytes)));
      }
    }
  }

  void listener() {
    ListenerSettings& l = out_.settings.listener;
    l.exchanges = names("listener", "exchanges");
    l.topics = names("listener", "topics");
    l.queue = read_.string("listener", "queue");
    l.dead_letter_queue = read_.string("listener", "dead_letter_queue");
    for (const std::string_view name : {"queue", "dead_letter_queue"}) {
      const std::string queue = read_.string("listener", name);
      if (!good_name(queue) || queue.starts_with("amq.")) {
        read_.complain("listener", name,
                       fmt::format(": '{}' is no usable name of a queue",
                                   printable_excerpt(queue, kAmqpNameBytes)));
      }
    }
    if (l.queue == l.dead_letter_queue) {
      read_.complain("listener", "dead_letter_queue", " must not be the queue itself");
    }
    l.prefetch = read_.integer("listener", "prefetch");
    const std::string type = read_.string("listener", "queue_type");
    l.queue_type = type == "classic"  ? QueueType::classic
                   : type == "quorum" ? QueueType::quorum
                                      : QueueType::automatic;
    l.message_ttl_s = read_.integer("listener", "message_ttl_s");
    l.queue_length_max = read_.integer("listener", "queue_length_max");
    l.body_bytes_max = static_cast<std::size_t>(read_.integer("listener", "body_bytes_max"));
  }

  void redis() {
    RedisSettings& r = out_.settings.redis;
    const Status parsed = parse_redis_url(read_.string("redis", "url"), r);
    if (!parsed.ok()) read_.complain("redis", "url", ": " + parsed.error().what);
    r.connect_timeout_ms = read_.integer("redis", "connect_timeout_ms");
    r.command_timeout_ms = read_.integer("redis", "command_timeout_ms");
    r.reconnect_min_ms = read_.integer("redis", "reconnect_min_ms");
    r.reconnect_max_ms = read_.integer("redis", "reconnect_max_ms");
    if (r.reconnect_min_ms > r.reconnect_max_ms) {
      read_.complain("redis", "reconnect_min_ms", " is greater than reconnect_max_ms");
    }
    r.require_persistence = read_.boolean("redis", "require_persistence");
  }

  void recovery() {
    const std::string word = read_.string("recovery", "interrupted_cleaning");
    out_.settings.interrupted_cleaning = word == "error"    ? InterruptedCleaning::error
                                         : word == "resume" ? InterruptedCleaning::resume
                                                            : InterruptedCleaning::automatic;
  }

  void certificates(const Reading& reading) {
    if (read_.string("certificates", "signing_key").empty()) return;
    out_.settings.certificates.signing_key =
        read_absolute_path(reading, "certificates", "signing_key");
  }

  void security(const Reading& reading) {
    if (read_.string("security", "order_key_file").empty()) return;
    out_.settings.order_key_file = read_absolute_path(reading, "security", "order_key_file");
  }

  void policy(const Reading& reading) {
    out_.settings.policy_file = read_absolute_path(reading, "oslo_policy", "policy_file");
    out_.settings.policy_file_at = read_.where("oslo_policy", "policy_file");
  }

  void host(const Reading& reading) {
    HostSettings& h = out_.settings.reclaim;
    h.provider_name = read_.string("reclaim", "provider_name");
    h.survey_interval_s = read_.integer("reclaim", "survey_interval_s");
    h.survey_delays_s = delays();
    h.sysfs_root = read_absolute_path(reading, "reclaim", "sysfs_root");
    h.dev_root = read_absolute_path(reading, "reclaim", "dev_root");
    h.proc_root = read_absolute_path(reading, "reclaim", "proc_root");
    h.compute_id_file = read_absolute_path(reading, "reclaim", "compute_id_file");
    h.machine_id_file = read_absolute_path(reading, "reclaim", "machine_id_file");
    h.run_path = read_absolute_path(reading, "reclaim", "run_path");
    h.libvirt_dirs = read_.list("reclaim", "libvirt_dirs");
    if (h.libvirt_dirs == std::vector<std::string>{"none"}) return h.libvirt_dirs.clear();
    for (const std::string& directory : h.libvirt_dirs) {
      if (!directory.starts_with('/')) {
        read_.complain("reclaim", "libvirt_dirs",
                       fmt::format(": '{}' is not an absolute path",
                                   printable_excerpt(directory, kAmqpNameBytes)));
      }
    }
    if (h.libvirt_dirs.empty()) {
      read_.complain("reclaim", "libvirt_dirs",
                     " is empty: without libvirt's domain files nobody knows whose drive it is; "
                     "where there is no libvirt, say none");
    }
  }

  std::vector<int> delays() {
    std::vector<int> delays;
    for (const std::string& item : read_.list("reclaim", "survey_delays_s")) {
      int delay = 0;
      const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), delay);
      if (error != std::errc{} || end != item.data() + item.size() || delay < 0 ||
          delay > kSurveyDelayMaxS) {
        read_.complain("reclaim", "survey_delays_s",
                       fmt::format(": '{}' is not an integer from 0 to {}",
                                   printable_excerpt(item, kAmqpNameBytes), kSurveyDelayMaxS));
      } else {
        delays.push_back(delay);
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

std::string read_absolute_path(const Reading& reading, std::string_view group,
                               std::string_view name) {
  std::string path = reading.read.string(group, name);
  if (!path.starts_with('/')) {
    reading.read.complain(group, name,
                          fmt::format(": '{}' is not an absolute path",
                                      printable_excerpt(path, kSettingExcerptBytes)));
  }
  return path;
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
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

}  // namespace reclaim::config
