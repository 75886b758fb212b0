#include "state/redis/keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::redis_keys {
namespace {

constexpr std::size_t kHostBytesMax = 255;
constexpr std::size_t kHostInfoBytesMax = 4096;
constexpr std::size_t kDelaysMax = 16;
// Any host may write kicks for another: longer words than an event has are cut.
constexpr std::size_t kKickWordBytesMax = 255;

std::string delays_text(const std::vector<int>& delays) {
  std::string text;
  for (const int delay : delays) text += (text.empty() ? "" : ",") + std::to_string(delay);
  return text;
}

std::vector<int> delays_from(std::string_view text) {
  std::vector<int> delays;
  while (!text.empty() && delays.size() < kDelaysMax) {
    const auto delay = parse_number<int>(take_until(text, ','));
    if (!delay || *delay < 0) return {};
    delays.push_back(*delay);
  }
  return delays;
}

}  // namespace

Status check_host(std::string_view host) {
  const bool good = !host.empty() && host.size() <= kHostBytesMax &&
                    std::all_of(host.begin(), host.end(), [](char c) {
                      return c > ' ' && c < '\x7f' && c != '{' && c != '}';
                    });
  if (good) return Ok{};
  return Error{Errc::invalid,
               fmt::format("'{}' is no name of a host: 1 to {} printable ASCII characters without "
                           "blanks and braces are",
                           printable_excerpt(host, 80), kHostBytesMax)};
}

std::string of_host(std::string_view host, std::string_view what) {
  return fmt::format("reclaim:{{{}}}:{}", host, what);
}

std::string of_device(std::string_view host, std::string_view what, std::string_view address) {
  return fmt::format("reclaim:{{{}}}:{}:{}", host, what, address);
}

std::vector<std::string> journal_fields(const JournalEntry& entry, std::uint64_t epoch) {
  return {"at",      to_iso8601(entry.at),
          "address", entry.address,
          "from",    entry.from,
          "trigger", entry.trigger,
          "to",      entry.to,
          "why",     entry.why,
          "detail",  entry.detail,
          "epoch",   std::to_string(epoch)};
}

JournalEntry journal_entry_from_fields(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  JournalEntry entry;
  for (const auto& [name, value] : fields) {
    if (name == "address") entry.address = value;
    if (name == "from") entry.from = value;
    if (name == "trigger") entry.trigger = value;
    if (name == "to") entry.to = value;
    if (name == "why") entry.why = value;
    if (name == "detail") entry.detail = value;
    if (name == "at") {
      if (const Result<WallMs> at = from_iso8601(value)) entry.at = *at;
    }
  }
  return entry;
}

std::vector<std::string> kick_fields(const Kick& kick) {
  return {"reason",
          kick.reason,
          "command",
          kick.command,
          "address",
          kick.address,
          "instance",
          kick.instance,
          "request_id",
          kick.request_id,
          "mark_allocated",
          kick.mark_allocated ? "true" : "false",
          "delays_s",
          delays_text(kick.delays_s),
          "arq",
          kick.arq};
}

Kick kick_from_fields(const std::string& id,
                      const std::vector<std::pair<std::string, std::string>>& fields) {
  Kick kick;
  kick.id = id;
  for (const auto& [name, value] : fields) {
    const auto word = [&value = value] { return value.substr(0, kKickWordBytesMax); };
    if (name == "reason") kick.reason = word();
    if (name == "command") kick.command = word();
    if (name == "address") kick.address = word();
    if (name == "instance") kick.instance = word();
    if (name == "request_id") kick.request_id = word();
    if (name == "mark_allocated") kick.mark_allocated = value == "true";
    if (name == "delays_s") kick.delays_s = delays_from(value);
    if (name == "arq") kick.arq = value;
  }
  return kick;
}

std::vector<std::pair<std::string, std::string>> pairs_of(const RedisReply& flat) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i + 1 < flat.elements.size(); i += 2) {
    pairs.emplace_back(flat.elements[i].text, flat.elements[i + 1].text);
  }
  return pairs;
}

std::string encode_host(const HostInfo& info) {
  rapidjson::Document document(rapidjson::kObjectType);
  auto& allocator = document.GetAllocator();
  document.AddMember("heartbeat_at", json_string(to_iso8601(info.heartbeat_at), allocator),
                     allocator);
  document.AddMember("version", json_string(info.version, allocator), allocator);
  document.AddMember("machine_id", json_string(info.machine_id, allocator), allocator);
  document.AddMember("burned", info.burned, allocator);
  rapidjson::Value nodes(rapidjson::kArrayType);
  for (const std::string& node : info.nodes) {
    nodes.PushBack(json_string(node, allocator), allocator);
  }
  document.AddMember("nodes", nodes, allocator);
  return json::to_text(document);
}

Result<HostInfo> decode_host(const std::string& host, std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kHostInfoBytesMax);
  if (!document.ok()) return document.error();
  HostInfo info;
  info.host = host;
  const Result<std::string> at = json::get_string(*document, "heartbeat_at");
  if (!at.ok()) return at.error();
  const Result<WallMs> heartbeat_at = from_iso8601(*at);
  if (!heartbeat_at.ok()) return heartbeat_at.error();
  Result<std::string> version = json::get_string(*document, "version");
  if (!version.ok()) return std::move(version).error();
  Result<std::string> machine_id = json::get_string(*document, "machine_id");
  if (!machine_id.ok()) return std::move(machine_id).error();
  const Result<std::int64_t> burned = json::get_int(*document, "burned");
  if (!burned.ok()) return burned.error();
  if (*burned < 0 || *burned > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Errc::invalid, "'burned' is out of range"};
  }
  info.heartbeat_at = *heartbeat_at;
  info.version = *std::move(version);
  info.machine_id = *std::move(machine_id);
  info.burned = static_cast<std::uint32_t>(*burned);
  // A worker of an older version does not say.
  const rapidjson::Value* nodes = json::find(*document, "nodes");
  if (nodes != nullptr && nodes->IsArray()) {
    for (const rapidjson::Value& node : nodes->GetArray()) {
      if (node.IsString()) info.nodes.emplace_back(node.GetString(), node.GetStringLength());
    }
  }
  return info;
}

}  // namespace reclaim::redis_keys
