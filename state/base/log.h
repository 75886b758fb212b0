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

// Thread: any; implementations lock.
class Logger {
 public:
  virtual ~Logger() = default;

  // `name` is the logger's dotted name ("reclaim.survey"), `text` one line that stands by itself;
  // `fields` add what a machine wants (device, instance, request_id). A field named request_id is
  // printed where oslo.log prints it.
  virtual void write(LogLevel level, std::string_view name, std::string_view text,
                     std::initializer_list<LogField> fields) = 0;

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
[[nodiscard]] std::string printable_excerpt(std::string_view bytes, std::size_t bytes_max);

}  // namespace reclaim
