// The logging seam. What logs takes a Logger& in its constructor; what it is written with is
// decided in main. Secrets and `_context_*` never get this far: callers log named values, not whole
// messages.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace reclaim {

enum class LogLevel { debug, info, warning, error, critical };

[[nodiscard]] std::string_view to_string(LogLevel level);

struct LogField {
  std::string_view key;
  std::string value;
};

// The loggers' names, as operators see them and may filter by.
namespace log_name {
inline constexpr std::string_view kAmqp = "reclaim.amqp";
inline constexpr std::string_view kApi = "reclaim.api";
inline constexpr std::string_view kApiAudit = "reclaim.api.audit";
inline constexpr std::string_view kConductor = "reclaim.conductor";
inline constexpr std::string_view kConfig = "reclaim.config";
inline constexpr std::string_view kCyborg = "reclaim.cyborg";
inline constexpr std::string_view kGuards = "reclaim.guards";
inline constexpr std::string_view kHttp = "reclaim.http";
inline constexpr std::string_view kLedger = "reclaim.ledger";
inline constexpr std::string_view kListener = "reclaim.listener";
inline constexpr std::string_view kNvme = "reclaim.nvme";
inline constexpr std::string_view kNotifier = "reclaim.notifier";
inline constexpr std::string_view kPlacement = "reclaim.placement";
inline constexpr std::string_view kRedis = "reclaim.redis";
inline constexpr std::string_view kRegistrar = "reclaim.registrar";
inline constexpr std::string_view kRpc = "reclaim.rpc";
inline constexpr std::string_view kService = "reclaim.service";
inline constexpr std::string_view kSteps = "reclaim.steps";
inline constexpr std::string_view kStore = "reclaim.store";
inline constexpr std::string_view kTokens = "reclaim.tokens";
}  // namespace log_name

// Thread: any; implementations lock.
class Logger {
 public:
  virtual ~Logger() = default;

  // `name` is one of log_name, `text` one line that stands by itself;
  // `fields` add what a machine wants (device, instance, request_id). A field named request_id is
  // printed where oslo.log prints it.
  virtual void write(LogLevel level, std::string_view name, std::string_view text,
                     std::initializer_list<LogField> fields) = 0;

  // Opens its file again, whatever has become of it: logrotate has moved it away.
  virtual void reopen() {}

  void debug(std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields = {}) {
    write(LogLevel::debug, name, text, fields);
  }
  void info(std::string_view name, std::string_view text,
            std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, name, text, fields);
  }
  void warning(std::string_view name, std::string_view text,
               std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warning, name, text, fields);
  }
  void error(std::string_view name, std::string_view text,
             std::initializer_list<LogField> fields = {}) {
    write(LogLevel::error, name, text, fields);
  }
};

// Drops everything; for tests and for command-line tools that print for themselves.
class NullLogger final : public Logger {
 public:
  void write(LogLevel /*level*/, std::string_view /*name*/, std::string_view /*text*/,
             std::initializer_list<LogField> /*fields*/) override {}
};

// Bounded, printable excerpt of foreign bytes, for log lines: control characters become '.', and a
// text longer than `bytes_max` ends in "...".
[[nodiscard]] std::string printable_excerpt(std::string_view bytes, std::size_t bytes_max = 80);
// The excerpt between single quotes, which are escaped in it: the journal has such a text under an
// operator's name, and its end is seen, whatever it says.
[[nodiscard]] std::string quoted_excerpt(std::string_view bytes, std::size_t bytes_max);

}  // namespace reclaim
