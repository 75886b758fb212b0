#include "state/base/spdlog_logger.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

class SpdlogLogger final : public Logger {
 public:
  SpdlogLogger(std::shared_ptr<spdlog::logger> logger, bool json)
      : logger_(std::move(logger)), json_(json) {}

  void write(LogLevel level, std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields) override {
    if (!logger_->should_log(to_spdlog(level))) return;
    logger_->log(to_spdlog(level),
                 json_ ? as_json(level, name, text, fields) : as_oslo(level, name, text, fields));
  }

 private:
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

  std::shared_ptr<spdlog::logger> logger_;
  bool json_;
};

}  // namespace

Result<std::unique_ptr<Logger>> make_spdlog_logger(const LogOptions& options) {
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (options.file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    } catch (const spdlog::spdlog_ex& e) {
      return Error{Errc::invalid, fmt::format("log_file {}: {}", options.file, e.what())};
    }
  }
  auto logger = std::make_shared<spdlog::logger>("reclaim", std::move(sink));
  logger->set_level(options.debug ? spdlog::level::debug : spdlog::level::info);
  logger->set_pattern(options.json ? "%v" : "%Y-%m-%d %H:%M:%S.%e %P %v",
                      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::debug);
  return std::unique_ptr<Logger>(std::make_unique<SpdlogLogger>(std::move(logger), options.json));
}

}  // namespace reclaim
