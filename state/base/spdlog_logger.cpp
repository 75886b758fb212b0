#include "state/base/spdlog_logger.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "state/base/clock.h"
#include "state/base/rapidjson.h"
#include "state/base/visible.h"

namespace reclaim {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::critical:
      return spdlog::level::critical;
  }
  return spdlog::level::info;
}

// Its one sink can be replaced while other threads log.
using Sinks = spdlog::sinks::dist_sink_mt;

Result<spdlog::sink_ptr> open_file(const std::string& path) {
  try {
    return spdlog::sink_ptr(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  } catch (const spdlog::spdlog_ex& e) {
    return Error{Errc::invalid, fmt::format("log_file {}: {}", path, e.what())};
  }
}

// True if standard error is the journal (systemd.exec(5), JOURNAL_STREAM): device and inode of the
// stream that systemd has connected.
bool is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

class SpdlogLogger final : public Logger {
 public:
  SpdlogLogger(LogOptions options, bool to_journal, std::shared_ptr<Sinks> sinks)
      : options_(std::move(options)), to_journal_(to_journal), sinks_(std::move(sinks)) {
    logger_ = std::make_shared<spdlog::logger>("reclaim", sinks_);
    logger_->set_level(options_.debug ? spdlog::level::debug : spdlog::level::info);
    set_pattern();
    logger_->flush_on(spdlog::level::debug);
  }

  void write(LogLevel level, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override {
    if (!logger_->should_log(to_spdlog(level))) return;
    const std::string line =
        options_.json ? as_json(level, name, text, fields) : as_oslo(level, name, text, fields);
    logger_->log(to_spdlog(level),
                 to_journal_ ? fmt::format("<{}>{}", priority(level), line) : line);
  }

  void reopen() override {
    if (options_.file.empty()) return;
    auto sink = open_file(options_.file);
    if (!sink)
      return error(log_name::kService, "the log goes on in the former file: " + sink.error().what);
    sinks_->set_sinks({*sink});
    set_pattern();
  }

 private:
  // Sets the pattern of the sinks there are. The journal has time and process already.
  void set_pattern() {
    const bool bare = options_.json || to_journal_;
    logger_->set_pattern(bare ? "%v" : "%Y-%m-%d %H:%M:%S.%e%z %P %v");
  }

  // sd-daemon(3): by which `journalctl -p err` selects.
  static int priority(LogLevel level) {
    switch (level) {
      case LogLevel::debug:
        return 7;
      case LogLevel::info:
        return 6;
      case LogLevel::warning:
        return 4;
      case LogLevel::error:
        return 3;
      case LogLevel::critical:
        return 2;
    }
    return 6;
  }

  // oslo.log's default: "LEVEL name [request_id - - - - -] text", after time and pid.
  static std::string as_oslo(LogLevel level, std::string_view name, std::string_view text,
                             std::initializer_list<LogField> fields) {
    std::string request_id = "-";
    std::string tail;
    for (const LogField& field : fields) {
      if (field.key == "request_id") {
        if (!field.value.empty()) request_id = visible_id(field.value);
        continue;
      }
      if (field.value.empty()) continue;  // nothing to say
      tail += fmt::format(" {}={}", field.key, quoted(field.value));
    }
    return fmt::format("{} {} [{}] {}{}", to_string(level), name, request_id, visible(text), tail);
  }

  static std::string quoted(const std::string& value) {
    const std::string printable = printable_excerpt(value, 4096);
    if (!printable.empty() && printable.find_first_of(" \"=") == std::string::npos)
      return printable;
    std::string out = "\"";
    for (const char c : printable) {
      if (c == '"') out += '\\';
      out += c;
    }
    return out + "\"";
  }

  static std::string as_json(LogLevel level, std::string_view name, std::string_view text,
                             std::initializer_list<LogField> fields) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    const auto put = [&writer](std::string_view key, std::string_view foreign) {
      const std::string value = visible(foreign);
      writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
      writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    writer.StartObject();
    put("time", to_iso8601(SystemClock().now().wall));
    put("level", to_string(level));
    put("name", name);
    put("message", text);
    for (const LogField& field : fields) {
      if (!field.value.empty()) put(field.key, field.value);
    }
    writer.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
  }

  LogOptions options_;
  bool to_journal_;
  std::shared_ptr<Sinks> sinks_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

Result<std::unique_ptr<Logger>> make_spdlog_logger(const LogOptions& options) {
  auto sinks = std::make_shared<Sinks>();
  if (options.file.empty()) {
    sinks->add_sink(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  } else {
    auto sink = open_file(options.file);
    if (!sink) return sink.error();
    sinks->add_sink(*std::move(sink));
  }
  const bool to_journal = options.file.empty() && is_journal();
  return std::unique_ptr<Logger>(
      std::make_unique<SpdlogLogger>(options, to_journal, std::move(sinks)));
}

}  // namespace reclaim
