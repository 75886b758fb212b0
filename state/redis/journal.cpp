// RedisStore's reading of the journal, for `reclaim watch`: XRANGE from where the last piece ended.
#include <fmt/core.h>

#include <utility>

#include "state/redis/keys.h"
#include "state/redis/store.h"

namespace reclaim {
namespace {

// The answer to XRANGE and XREVRANGE: [[id, [field, value, ...]], ...].
Result<JournalPage> page_from(const RedisReply& reply, const std::string& after_id) {
  JournalPage page;
  page.last_id = after_id;
  for (const RedisReply& entry : reply.elements) {
    if (!entry.is_array() || entry.elements.size() != 2 || !entry.elements[1].is_array()) {
      return Error{Errc::failed, "the journal's answer is not of its form"};
    }
    page.entries.push_back(
        redis_keys::journal_entry_from_fields(redis_keys::pairs_of(entry.elements[1])));
    page.last_id = entry.elements[0].text;
  }
  return page;
}

}  // namespace

void RedisStore::read_journal(const std::string& host, const std::string& after_id,
                              std::size_t count_max, Callback<JournalPage> done) {
  const std::string key = redis_keys::of_host(host, "journal");
  const bool from_now = after_id == "$";
  const std::vector<std::string> words =
      from_now ? std::vector<std::string>{"XREVRANGE", key, "+", "-", "COUNT", "1"}
               : std::vector<std::string>{"XRANGE", key,     "(" + after_id,
                                          "+",      "COUNT", std::to_string(count_max)};
  read(host, words,
       [key, after_id, from_now, done = std::move(done)](const Result<RedisReply>& reply) {
         if (!reply.ok()) return done(redis_keys::not_read(key, reply.error()));
         auto page = page_from(*reply, from_now ? "0-0" : after_id);
         // From now on: only where the journal ends is of interest.
         if (page && from_now) page->entries.clear();
         done(std::move(page));
       });
}

}  // namespace reclaim
