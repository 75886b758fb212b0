#include "handlers/bus/oslo_envelope.h"

#include <fmt/core.h>

#include "handlers/bus/json_members.h"
#include "state/base/log.h"

namespace reclaim {
namespace {

Error invalid(std::string what) {
  return Error{Errc::invalid, std::move(what)};
}

// A kombu publisher with compression on sends the compressed bytes as the body.
const char* compression_of(std::string_view body) {
  const auto begins = [body](std::string_view magic) {
    return body.substr(0, magic.size()) == magic;
  };
  if (begins("\x1f\x8b")) return "gzip";
  if (begins("\x78\x01") || begins("\x78\x9c") || begins("\x78\xda")) return "zlib";
  if (begins("BZh")) return "bzip2";
  if (begins("\xfd"
             "7zXZ"))
    return "xz";
  if (begins("\x28\xb5\x2f\xfd")) return "zstd";
  return nullptr;
}

Status check_version(const JsonMember& member) {
  Result<std::string> version = member.strict("oslo.version");
  if (!version) return std::move(version).error();
  if (*version == "2.0" || *version == "2.0.0") return Ok{};
  return invalid(fmt::format("oslo envelope version '{}' is not known, 2.0 is",
                             printable_excerpt(*version, 16)));
}

}  // namespace

Result<OsloMessage> open_envelope(std::string_view body, std::size_t body_bytes_max,
                                  std::string& inner) {
  if (body.size() > body_bytes_max) {
    return Error{Errc::limit, fmt::format("the body of {} bytes is over the limit of {} bytes",
                                          body.size(), body_bytes_max)};
  }
  if (const char* compression = compression_of(body)) {
    return invalid(
        fmt::format("the body is compressed ({}); leave kombu_compression unset in the "
                    "publisher's [oslo_messaging_rabbit]",
                    compression));
  }
  JsonMember version;
  JsonMember message;
  const JsonPick picks[] = {{"oslo.version", &version}, {"oslo.message", &message}};
  const std::string_view text = json::pair_surrogates(body, inner);
  const Status read = pick_members(text, "the body", picks);
  if (!read) return read.error();
  // oslo.messaging takes a body for an envelope only if it has both members.
  if (!version.seen() || !message.seen()) return OsloMessage{text, "the body"};
  const Status known = check_version(version);
  if (!known) return known.error();
  if (!message.is_text()) {
    return invalid(fmt::format("oslo.message is {}, a text is needed", message.kind()));
  }
  inner = std::move(message.text);
  return OsloMessage{inner, "the message"};
}

}  // namespace reclaim
