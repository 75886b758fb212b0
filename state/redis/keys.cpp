#include "state/redis/keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "state/base/embedded_json.h"
#include "state/base/fields.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/visible.h"

namespace reclaim::redis_keys {
namespace {

constexpr std::size_t kHostBytesMax = 255;
constexpr std::size_t kDelaysMax = 16;
// Any host may write kicks for another: longer words than an event has are cut.
constexpr std::size_t kKickWordBytesMax = 255;

std::string delays_text(const std::vector<int>& delays) {
  std::string text;
  for (const int delay : delays) text += (text.empty() ? "" : ",") + std::to_string(delay);
  return text;
}

Result<std::vector<int>> delays_from(std::string_view text) {
  std::vector<int> delays;
  while (!text.empty() && delays.size() < kDelaysMax) {
    const auto delay = parse_number<int>(take_until(text, ','));
    if (!delay || *delay < 0) return std::vector<int>{};
    delays.push_back(*delay);
  }
  return delays;
}

template <typename Struct>
std::vector<std::string> words_of(const Struct& value) {
  std::vector<std::string> words;
  for (auto& [name, told] : field::to_pairs(value)) words.insert(words.end(), {name, told});
  return words;
}

field::Texts last_of_each(const std::vector<std::pair<std::string, std::string>>& fields) {
  field::Texts texts;
  for (const auto& [name, value] : fields) texts[name] = value;
  return texts;
}

}  // namespace
}  // namespace reclaim::redis_keys

namespace reclaim {

template <typename Visit>
void visit_fields(Visit& visit, field::Of<JournalEntry> auto& entry) {
  using enum field::Rule;
  visit.moment("at", entry.at, lenient);
  visit("address", entry.address, lenient);
  visit("from", entry.from, lenient);
  visit("trigger", entry.trigger, lenient);
  visit("to", entry.to, lenient);
  visit("why", entry.why, lenient);
  visit("detail", entry.detail, lenient);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<Kick> auto& kick) {
  using enum field::Rule;
  visit("reason", kick.reason, lenient);
  visit("command", kick.command, lenient);
  visit("address", kick.address, lenient);
  visit("instance", kick.instance, lenient);
  visit("request_id", kick.request_id, lenient);
  visit("mark_allocated", kick.mark_allocated, lenient);
  visit.text("delays_s", kick.delays_s, redis_keys::delays_from, lenient, redis_keys::delays_text);
  visit("arq", kick.arq, lenient);
  visit.text("life", kick.life, parse_life, lenient);
  visit("host", kick.host, lenient);
  visit("sent_at", kick.sent_at, lenient);
  visit("mac", kick.mac, lenient);
}

template <typename Visit>
void visit_fields(Visit& visit, field::Of<HostInfo> auto& info) {
  visit.moment("heartbeat_at", info.heartbeat_at);
  visit("version", info.version);
  visit("machine_id", info.machine_id);
  visit("burned", info.burned);
  visit("nodes", info.nodes, field::Rule::lenient);
  visit("stopped", info.stopped, field::Rule::sparse);
  visit("observes", info.observes, field::Rule::sparse);
  visit("unheard_ends", info.unheard_ends, field::Rule::sparse);
  visit("unheard_since", info.unheard_since, field::Rule::sparse);
  visit("unread_queues", info.unread_queues, field::Rule::sparse);
  visit("unread_since", info.unread_since, field::Rule::sparse);
  visit("labels", info.labels, field::Rule::sparse);
  visit("paused_until", info.paused_until, field::Rule::sparse);
  visit("paused_by", info.paused_by, field::Rule::sparse);
}

}  // namespace reclaim

namespace reclaim::redis_keys {

Status check_host(std::string_view host) {
  const bool good = !host.empty() && host.size() <= kHostBytesMax &&
                    std::all_of(host.begin(), host.end(), [](char c) {
                      return c > ' ' && c < '\x7f' && c != '{' && c != '}';
                    });
  if (good) return Ok{};
  return Error{
      Errc::invalid,
      fmt::format("'{}' is not a name of a host: 1 to {} printable ASCII characters without "
                  "blanks and braces are",
                  printable_excerpt(host), kHostBytesMax)};
}

std::string of_host(std::string_view host, std::string_view what) {
  return fmt::format("reclaim:{{{}}}:{}", host, what);
}

std::string of_device(std::string_view host, std::string_view what, std::string_view address) {
  return fmt::format("reclaim:{{{}}}:{}:{}", host, what, address);
}

std::vector<std::string> journal_fields(const JournalEntry& entry, std::uint64_t epoch) {
  std::vector<std::string> words = words_of(entry);
  words.insert(words.end(), {"epoch", std::to_string(epoch)});
  return words;
}

JournalEntry journal_entry_from_fields(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  return field::from_texts<JournalEntry>(last_of_each(fields));
}

std::vector<std::string> kick_fields(const Kick& kick) {
  return words_of(kick);
}

Kick kick_from_fields(const std::string& id,
                      const std::vector<std::pair<std::string, std::string>>& fields) {
  Kick kick = field::from_texts<Kick>(last_of_each(fields));
  kick.id = id;
  for (std::string* word : {&kick.reason, &kick.command, &kick.address, &kick.instance,
                            &kick.request_id, &kick.host, &kick.mac}) {
    word->resize(std::min(word->size(), kKickWordBytesMax));
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

Error not_read(const std::string& key, const Error& error) {
  Error wrapped = error.wrap(key);
  if (is_of_what_is_stored(error)) {
    wrapped.what += fmt::format(
        "; no worker of that host wrote it: redis-cli -c DEL '{}', and find "
        "out who has the host's login to Redis",
        key);
  }
  return wrapped;
}

std::string encode_host(const HostInfo& info) {
  return field::to_json_text(info);
}

Result<HostInfo> decode_host(const std::string& host, std::string_view json_text) {
  const Result<rapidjson::Document> document = parse_shallow(json_text, kHostInfoBytesMax);
  if (!document.ok()) return document.error();
  auto info = field::from_json<HostInfo>(*document);
  if (!info.ok()) return info;
  std::vector<std::string> words = info->nodes;
  words.insert(words.end(), {info->version, info->machine_id});
  for (const std::string& word : words) {
    if (word.size() <= kHostBytesMax && visible(word) == word) continue;
    return Error{Errc::invalid, fmt::format("'{}' is no word of a heartbeat",
                                            visible(std::string_view(word).substr(0, 40)))};
  }
  info->host = host;
  return info;
}

}  // namespace reclaim::redis_keys
