#include "cli/explain.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>
#include <system_error>

#include "handlers/bus/json_members.h"
#include "state/base/log.h"

namespace reclaim::cli {
namespace {

enum class LineRead { line, too_long, end };

// A line of at most `bytes_max` bytes; of a longer one the rest is passed over without being kept.
LineRead read_line(std::istream& in, std::size_t bytes_max, std::string& line) {
  line.clear();
  std::streambuf* buffer = in.rdbuf();
  bool too_long = false;
  bool any = false;
  while (true) {
    const int c = buffer->sbumpc();
    if (c == std::char_traits<char>::eof()) {
      if (!any) return LineRead::end;
      break;
    }
    any = true;
    if (c == '\n') break;
    if (line.size() < bytes_max) {
      line += static_cast<char>(c);
    } else {
      too_long = true;
    }
  }
  return too_long ? LineRead::too_long : LineRead::line;
}

std::string hosts_text(const Decision& decision) {
  if (decision.any_host) return "any";
  std::string out;
  for (const std::string& host : decision.hosts) {
    if (!out.empty()) out += ',';
    out += host;
  }
  return out.empty() ? "-" : out;
}

std::string delays_text(const Decision& decision) {
  std::string out;
  for (const int delay_s : decision.delays_s) {
    if (!out.empty()) out += ',';
    out += fmt::format("{}", delay_s);
  }
  return out.empty() ? "-" : out;
}

std::string explain_row(const Decision& decision) {
  const std::string event_type =
      decision.event_type.empty() ? "?" : printable_excerpt(decision.event_type, 60);
  return fmt::format("{:<48} {:<7} {:<24} {:<8} {}", event_type, to_string(decision.verdict),
                     hosts_text(decision), delays_text(decision), decision.why);
}

class Explainer final {
 public:
  Explainer(const ExplainOptions& options, std::ostream& out)
      : options_(options), out_(out), decider_(options.body_bytes_max) {}

  void header() {
    if (!options_.table) return;
    out_ << fmt::format("{:<48} {:<7} {:<24} {:<8} {}\n", "EVENT TYPE", "VERDICT", "HOSTS",
                        "DELAYS_S", "WHY");
  }

  void explain(std::istream& in) {
    // A recorded message holds its body as a string, whose escapes can double it.
    const std::size_t line_bytes_max = 2 * options_.body_bytes_max + 65536;
    while (true) {
      const LineRead read = read_line(in, line_bytes_max, line_);
      if (read == LineRead::end) return;
      if (read == LineRead::too_long) {
        write(reject(Error{Errc::limit,
                           fmt::format("the line is over the limit of {} bytes", line_bytes_max)}));
        continue;
      }
      if (line_.find_first_not_of(" \t\r") == std::string::npos) continue;
      write(decider_.decide_exact(unwrap_recorded(line_, body_)));
    }
  }

 private:
  void write(const Decision& decision) {
    out_ << (options_.table ? explain_row(decision) : explain_json(decision)) << '\n';
  }

  const ExplainOptions& options_;
  std::ostream& out_;
  KickDecider decider_;
  std::string line_;
  std::string body_;
};

}  // namespace

std::string_view unwrap_recorded(std::string_view line, std::string& buffer) {
  JsonMember oslo_message;
  JsonMember event_type;
  JsonMember body;
  JsonMember routing_key;
  JsonMember exchange;
  JsonMember properties;
  const JsonPick picks[] = {
      {"oslo.message", &oslo_message}, {"event_type", &event_type}, {"body", &body},
      {"routing_key", &routing_key},   {"exchange", &exchange},     {"properties", &properties}};
  std::string paired;
  if (!pick_members(json::pair_surrogates(line, paired), "the line", picks)) return line;
  const bool routed = routing_key.seen() || exchange.seen() || properties.seen();
  if (oslo_message.seen() || event_type.seen() || !routed || !body.is_text()) return line;
  buffer = std::move(body.text);
  return buffer;
}

std::string explain_json(const Decision& decision) {
  std::string out = "{\"event_type\": ";
  if (decision.event_type.empty()) {
    out += "null";
  } else {
    json::append_string(decision.event_type, out);
  }
  out += ", \"verdict\": ";
  json::append_string(to_string(decision.verdict), out);
  out += ", \"hosts\": ";
  if (decision.any_host) {
    out += "\"any\"";
  } else {
    out += '[';
    for (const std::string& host : decision.hosts) {
      if (out.back() != '[') out += ", ";
      json::append_string(host, out);
    }
    out += ']';
  }
  out += ", \"delays_s\": [";
  for (const int delay_s : decision.delays_s) {
    if (out.back() != '[') out += ", ";
    out += fmt::format("{}", delay_s);
  }
  out += "], \"why\": ";
  json::append_string(decision.why, out);
  out += '}';
  return out;
}

int run_explain(const ExplainOptions& options, std::istream& in, std::ostream& out,
                std::ostream& err) {
  Explainer explainer(options, out);
  explainer.header();
  if (options.files.empty()) explainer.explain(in);
  int exit_code = 0;
  for (const std::string& file : options.files) {
    if (file == "-") {
      explainer.explain(in);
      continue;
    }
    std::ifstream stream(file, std::ios::binary);
    // A directory opens but cannot be read; the first look tells.
    const bool readable =
        stream.is_open() && (stream.peek() != std::ifstream::traits_type::eof() || !stream.bad());
    if (!readable) {
      err << fmt::format("reclaim explain: cannot read {}: {}\n", file,
                         std::generic_category().message(errno));
      exit_code = 1;
      continue;
    }
    stream.clear();
    explainer.explain(stream);
  }
  out.flush();
  return exit_code;
}

}  // namespace reclaim::cli
