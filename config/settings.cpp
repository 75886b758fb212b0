#include "config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "config/reader.h"
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
    process();
    transport();
    rabbit();
    listener();
    redis();
    placement();
    nvme();
    recovery();
    certificates();
    reclaim();
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

  std::string absolute_path(std::string_view group, std::string_view name) {
    std::string path = read_.string(group, name);
    if (!path.starts_with('/')) {
      read_.complain(
          group, name,
          fmt::format(": '{}' is not an absolute path", printable_excerpt(path, kAmqpNameBytes)));
    }
    return path;
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

  void process() {
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
    s.state_path = absolute_path("DEFAULT", "state_path");
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

  void rabbit() {
    RabbitSettings& r = out_.settings.rabbit;
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
                               printable_excerpt(text, kAmqpNameBytes)));
    return TlsVersion::any;
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

  void placement() {
    PlacementSettings& p = out_.settings.placement;
    p.service_type = read_.string("placement", "service_type");
    p.region_name = read_.string("placement", "region_name");
    p.endpoint_override = read_.string("placement", "endpoint_override");
    if (!p.endpoint_override.empty()) check_url("placement", "endpoint_override");
    p.cafile = read_.string("placement", "cafile");
    p.certfile = read_.string("placement", "certfile");
    p.keyfile = read_.string("placement", "keyfile");
    if (p.certfile.empty() && !p.keyfile.empty()) {
      read_.complain("placement", "keyfile", " needs certfile beside it");
    }
    p.insecure = read_.boolean("placement", "insecure");
    p.timeout_s = read_.integer("placement", "timeout");
    for (std::string word : read_.list("placement", "valid_interfaces")) {
      if (word.ends_with("URL")) word.resize(word.size() - 3);  // the names of Keystone v2
      if (word != "internal" && word != "public" && word != "admin") {
        read_.complain("placement", "valid_interfaces",
                       fmt::format(": '{}' is not one of: internal, public, admin",
                                   printable_excerpt(word, kAmqpNameBytes)));
      }
      p.valid_interfaces.push_back(std::move(word));
    }
    if (p.valid_interfaces.empty()) {
      read_.complain("placement", "valid_interfaces", " is empty");
    }
    auth();
  }

  void check_url(std::string_view group, std::string_view name) {
    const std::string url = read_.string(group, name);
    const bool scheme = url.starts_with("http://") || url.starts_with("https://");
    const std::size_t host = url.find("://") + 3;
    const bool clean =
        std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
    if (!scheme || host >= url.size() || url[host] == '/' || !clean) {
      read_.complain(group, name,
                     fmt::format(": '{}' is not an http:// or https:// URL",
                                 printable_excerpt(url, kAmqpNameBytes)));
    } else if (url.find('@') != std::string::npos) {
      read_.complain(group, name, " must hold neither user nor password");
    }
  }

  void auth() {
    const std::string section = read_.string("placement", "auth_section");
    const std::string group = section.empty() ? "placement" : fold_group(section);
    const std::string type = read_.string(group, "auth_type");
    if (type.empty()) {
      if (purpose_ == Purpose::serve) {
        out_.problems.push_back(
            {read_.where("placement", "auth_section"),
             fmt::format("[{}] auth_type is not set: Keystone credentials are needed to speak with "
                         "Placement (accepted: password, v3password, v3applicationcredential)",
                         group)});
      }
      return;
    }
    AuthSettings a;
    a.group = group;
    if (type == "v3applicationcredential") {
      a.type = AuthType::application_credential;
    } else if (type != "password" && type != "v3password") {
      return read_.complain(group, "auth_type",
                            fmt::format(": '{}' is not one of: password, v3password, "
                                        "v3applicationcredential",
                                        printable_excerpt(type, kAmqpNameBytes)));
    }
    const std::string default_name = read_.string(group, "default_domain_name");
    const std::string default_id = read_.string(group, "default_domain_id");
    a.auth_url = read_.string(group, "auth_url");
    a.username = read_.string(group, "username");
    a.user_id = read_.string(group, "user_id");
    a.password = read_.string(group, "password");
    a.user_domain_name = read_.string(group, "user_domain_name");
    a.user_domain_id = read_.string(group, "user_domain_id");
    a.project_name = read_.string(group, "project_name");
    a.project_id = read_.string(group, "project_id");
    a.project_domain_name = read_.string(group, "project_domain_name");
    a.project_domain_id = read_.string(group, "project_domain_id");
    a.domain_name = read_.string(group, "domain_name");
    a.domain_id = read_.string(group, "domain_id");
    a.system_scope = read_.string(group, "system_scope");
    a.application_credential_id = read_.string(group, "application_credential_id");
    a.application_credential_name = read_.string(group, "application_credential_name");
    a.application_credential_secret = read_.string(group, "application_credential_secret");
    if (a.user_domain_name.empty() && a.user_domain_id.empty()) {
      a.user_domain_name = default_name;
      a.user_domain_id = default_id;
    }
    if (a.project_domain_name.empty() && a.project_domain_id.empty()) {
      a.project_domain_name = default_name;
      a.project_domain_id = default_id;
    }
    check_auth(a);
    out_.settings.placement.auth = std::move(a);
  }

  void need(const AuthSettings& a, bool there, std::string_view what) {
    if (there) return;
    out_.problems.push_back(
        {read_.where(a.group, "auth_type"), fmt::format("[{}] auth_type needs {}", a.group, what)});
  }

  void check_auth(const AuthSettings& a) {
    need(a, !a.auth_url.empty(), "auth_url");
    if (!a.auth_url.empty()) check_url(a.group, "auth_url");
    const bool user_domain = !a.user_domain_name.empty() || !a.user_domain_id.empty();
    if (a.type == AuthType::application_credential) {
      need(a, !a.application_credential_secret.empty(), "application_credential_secret");
      const bool by_name = !a.application_credential_name.empty() &&
                           (!a.user_id.empty() || (!a.username.empty() && user_domain));
      need(a, !a.application_credential_id.empty() || by_name,
           "application_credential_id, or application_credential_name with the user (user_id, or "
           "username and user_domain_name)");
      return;
    }
    need(a, !a.username.empty() || !a.user_id.empty(), "username or user_id");
    need(a, a.username.empty() || !a.user_id.empty() || user_domain,
         "user_domain_name or user_domain_id for the username");
    need(a, !a.password.empty(), "password");
    const bool project = !a.project_name.empty() || !a.project_id.empty();
    need(a, project || !a.system_scope.empty() || !a.domain_id.empty() || !a.domain_name.empty(),
         "a scope: project_name or project_id (or system_scope, domain_name, domain_id, trust_id)");
    need(a,
         a.project_name.empty() || !a.project_id.empty() || !a.project_domain_name.empty() ||
             !a.project_domain_id.empty(),
         "project_domain_name or project_domain_id for the project_name");
    if (!a.system_scope.empty() && a.system_scope != "all") {
      read_.complain(a.group, "system_scope", ": only 'all' is accepted");
    }
  }

  void nvme() {
    NvmeSettings& n = out_.settings.nvme;
    for (const Value& value : read_.multi("nvme", "device_spec")) {
      std::vector<DeviceSpec> specs = parse_device_spec(value.text, value.at, out_.problems);
      if (n.device_specs.size() + specs.size() > kDeviceSpecsMax) {
        out_.problems.push_back(
            {value.at, fmt::format("[nvme] device_spec: more than {} entries", kDeviceSpecsMax)});
        break;
      }
      std::move(specs.begin(), specs.end(), std::back_inserter(n.device_specs));
    }
    for (Problem& overlap : overlaps(n.device_specs)) out_.warnings.push_back(std::move(overlap));
    if (!read_.given("nvme", "device_spec")) {
      out_.warnings.push_back(
          {{}, "[nvme] device_spec is not set: no device will ever be touched"});
    }
    n.cleanup_timeout_s = read_.integer("nvme", "cleanup_timeout");
    n.stall_timeout_s = read_.integer("nvme", "stall_timeout_s");
    n.verify_samples = read_.integer("nvme", "verify_samples");
    n.max_parallel = read_.integer("nvme", "max_parallel");
  }

  void recovery() {
    const std::string word = read_.string("recovery", "interrupted_cleaning");
    out_.settings.interrupted_cleaning = word == "error"    ? InterruptedCleaning::error
                                         : word == "resume" ? InterruptedCleaning::resume
                                                            : InterruptedCleaning::automatic;
  }

  void certificates() {
    if (read_.string("certificates", "signing_key").empty()) return;
    out_.settings.certificates.signing_key = absolute_path("certificates", "signing_key");
  }

  void reclaim() {
    HostSettings& h = out_.settings.reclaim;
    h.provider_name = read_.string("reclaim", "provider_name");
    if (h.provider_name.empty()) h.provider_name = out_.settings.host;
    h.survey_interval_s = read_.integer("reclaim", "survey_interval_s");
    h.survey_delays_s = delays();
    h.sysfs_root = absolute_path("reclaim", "sysfs_root");
    h.dev_root = absolute_path("reclaim", "dev_root");
    h.proc_root = absolute_path("reclaim", "proc_root");
    h.compute_id_file = absolute_path("reclaim", "compute_id_file");
    h.machine_id_file = absolute_path("reclaim", "machine_id_file");
    h.run_path = absolute_path("reclaim", "run_path");
    h.libvirt_dirs = read_.list("reclaim", "libvirt_dirs");
    for (const std::string& directory : h.libvirt_dirs) {
      if (!directory.starts_with('/')) {
        read_.complain("reclaim", "libvirt_dirs",
                       fmt::format(": '{}' is not an absolute path",
                                   printable_excerpt(directory, kAmqpNameBytes)));
      }
    }
    if (h.libvirt_dirs.empty()) {
      read_.complain("reclaim", "libvirt_dirs",
                     " is empty: without libvirt's domain files nobody knows whose drive it is");
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
