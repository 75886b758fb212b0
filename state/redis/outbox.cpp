// RedisStore's outbox: a stream of notifications that save() posts to, emptied as they are
// published.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "state/base/text.h"
#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

// Ours have some two kilobytes, with as many long tags as are told some fifty.
constexpr const char* kEntryBytesMax = "65536";

// {entries, waiting, dropped, removed}
Result<OutboxPage> page_from(const RedisReply& reply) {
  const Error malformed{Errc::failed, "the outbox's answer is not of its form"};
  if (reply.elements.size() != 4 || !reply.elements[0].is_array()) return malformed;
  OutboxPage page;
  for (const RedisReply& entry : reply.elements[0].elements) {
    if (entry.elements.size() != 2) return malformed;
    const auto pairs = redis_keys::pairs_of(entry.elements[1]);
    page.entries.push_back({entry.elements[0].text, {pairs.begin(), pairs.end()}});
  }
  page.waiting = static_cast<std::size_t>(std::max<std::int64_t>(0, reply.elements[1].integer));
  page.dropped = parse_number<std::uint64_t>(reply.elements[2].text).value_or(0);
  page.removed = static_cast<std::size_t>(std::max<std::int64_t>(0, reply.elements[3].integer));
  return page;
}

}  // namespace

void RedisStore::read_outbox(std::size_t count_max, Callback<OutboxPage> done) {
  const std::string& host = options_.outbox.host;
  call(RedisScript::read_outbox,
       {redis_keys::of_host(host, "outbox"), redis_keys::of_host(host, "outbox_dropped")},
       {std::to_string(count_max), kEntryBytesMax},
       reading<RedisReply>(std::move(done), "the notifications that wait", page_from));
}

void RedisStore::remove_from_outbox(const std::vector<std::string>& ids, Callback<Ok> done) {
  std::vector<std::string> words{"XDEL", redis_keys::of_host(options_.outbox.host, "outbox")};
  words.insert(words.end(), ids.begin(), ids.end());
  client_->command(std::move(words),
                   without_value<RedisReply>(std::move(done), "published notifications stay"));
}

}  // namespace reclaim
