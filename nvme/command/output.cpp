#include "nvme/command/output.h"

#include <fmt/core.h>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kMessageBytesMax = 200;
constexpr std::size_t kFoundBytesMax = 1'000;

Error garbage(std::string_view line, std::string_view why) {
  return Error{Errc::failed, fmt::format("wrote what is not the protocol: '{}': {}",
                                         printable_excerpt(line), why)};
}

std::string text_of(const rapidjson::Value& value) {
  return std::string(value.GetString(), value.GetStringLength());
}

}  // namespace

Status CommandOutput::take(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ > limits_.output_bytes_max) {
    return Error{Errc::failed, fmt::format("wrote more than {} bytes", limits_.output_bytes_max)};
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (line_.size() > limits_.line_bytes_max) {
      return garbage(line_, fmt::format("a line has at most {} bytes", limits_.line_bytes_max));
    }
    if (end == std::string_view::npos) return Ok{};
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    if (Status taken = take_line(line); !taken) return taken;
  }
  return Ok{};
}

Status CommandOutput::finish() {
  const std::string line = std::exchange(line_, {});
  return line.empty() ? Status(Ok{}) : take_line(line);
}

Status CommandOutput::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Ok{};
  if (has_result_) return garbage(line, "nothing follows the result");
  const auto document = parse_shallow(line, limits_.line_bytes_max);
  if (!document) return garbage(line, document.error().what);
  if (!document->IsObject()) return garbage(line, "a line is a JSON object");
  for (const auto& member : document->GetObject()) {
    const std::string name = text_of(member.name);
    if (Status taken = take_member(name, member.value); !taken) {
      return garbage(line, taken.error().what);
    }
  }
  if (const auto progress = json::get_number(*document, "progress")) {
    on_progress_({*progress * 100, message_});
  } else if (json::find(*document, "message") != nullptr) {
    return garbage(line, "a message comes with a progress");
  }
  return Ok{};
}

// Errc::failed, with what is accepted.
Status CommandOutput::take_member(std::string_view name, const rapidjson::Value& value) {
  if (name == "progress") {
    if (value.IsNumber() && value.GetDouble() >= 0 && value.GetDouble() <= 1) return Ok{};
    return Error{Errc::failed, "progress is a number from 0 to 1"};
  }
  if (name == "message") {
    if (!value.IsString()) return Error{Errc::failed, "message is a string"};
    message_ = printable_excerpt(text_of(value), kMessageBytesMax);
    return Ok{};
  }
  if (name == "finding") return take_finding(value);
  if (name == "result") {
    if (!value.IsString() && !value.IsObject()) {
      return Error{Errc::failed, "result is a string or an object"};
    }
    has_result_ = true;
    result_ =
        printable_excerpt(value.IsString() ? text_of(value) : json::to_text(value), kFoundBytesMax);
    return Ok{};
  }
  return Error{Errc::failed, fmt::format("unknown member '{}', known: progress, message, finding, "
                                         "result",
                                         printable_excerpt(name))};
}

Status CommandOutput::take_finding(const rapidjson::Value& value) {
  const auto what = json::maybe_string(value, "what");
  const auto found = json::maybe_string(value, "found");
  const auto* const reset = json::find(value, "reset");
  const bool object = what && found && (reset == nullptr || reset->IsBool());
  if (!value.IsString() && !object) {
    return Error{Errc::failed,
                 "finding is a string, or an object with the strings what and found and, where "
                 "something was put right, reset (true)"};
  }
  if (findings_.size() == limits_.findings_max) {
    return Error{Errc::failed, fmt::format("more than {} findings", limits_.findings_max)};
  }
  StepFinding finding;
  finding.surface = printable_excerpt(what.value_or("finding"), kMessageBytesMax);
  finding.found = printable_excerpt(value.IsString() ? text_of(value) : *found, kFoundBytesMax);
  finding.reset = reset != nullptr && reset->GetBool();
  findings_.push_back(std::move(finding));
  return Ok{};
}

}  // namespace reclaim::nvme
