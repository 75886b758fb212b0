#include "state/redis/scripts.h"

#include <array>

namespace reclaim {
namespace {

// A stored epoch that is not a number is nobody's to overwrite. An equal one was written by
// somebody else (or by us, with the answer lost: then reading back shows it). A lower one means
// that Redis lost its last writes, and ours is newer. A lock, a list of devices or a journal of
// another type than it has to be, or a journal that takes no more, was made by somebody else, and
// would keep records from being written for ever: it is removed. Notifications are posted last, and
// what keeps one from being posted keeps no record from being written: it is told in the answer.
// The record's hash is changed in place, not deleted first: while a slot of a cluster moves, its
// old node refuses to create a key. An expiry, which no worker sets, is moved far into the future.
// HDEL comes first because it needs no memory: Redis lets a script that has written go on when
// memory is full.
constexpr std::string_view kSave = R"lua(
local function count(text)
  local number = tonumber(text)
  if number and number >= 0 and number <= #ARGV and number == math.floor(number) then
    return number
  end
end
local journal, posts = count(ARGV[4]), count(ARGV[5])
local last = 6 + (journal or 0)
local record = last + 8 * (posts or 0)
if not journal or not posts or record + 3 > #ARGV then
  return redis.error_reply('ERR the counts do not fit the arguments')
end
local function usable(key, answer)
  if type(answer) ~= 'table' or not answer.err then return answer end
  redis.call('DEL', key)
  return false
end
local stored = redis.pcall('HGET', KEYS[1], 'epoch')
if type(stored) == 'table' and stored.err then
  if string.find(stored.err, 'WRONGTYPE', 1, true) then return {'conflict', stored.err} end
  return stored
end
if stored then
  local epoch = tonumber(stored)
  if not epoch or epoch >= tonumber(ARGV[1]) then
    return {'conflict', 'the stored epoch is ' .. stored .. ', not below ' .. ARGV[1]}
  end
end
if ARGV[2] ~= '0' then
  local lock = usable(KEYS[4], redis.pcall('GET', KEYS[4]))
  if not lock or string.match(lock, '^.* (%d+)$') ~= ARGV[2] then
    return {'conflict', 'the lock is not ours any more: ' .. (lock or 'it has no holder')}
  end
end
redis.call('HDEL', KEYS[1], '')
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < 100000000000000 then
  redis.call('PEXPIRE', KEYS[1], '1000000000000000')
end
redis.call('HSET', KEYS[1], unpack(ARGV, record + 2))
local found = redis.call('HGETALL', KEYS[1])
if #found > #ARGV - record - 1 then
  local written = {}
  for i = record + 2, #ARGV, 2 do written[ARGV[i]] = true end
  for i = 1, #found, 2 do
    if not written[found[i]] then redis.call('HDEL', KEYS[1], found[i]) end
  end
end
if not usable(KEYS[2], redis.pcall('SADD', KEYS[2], ARGV[record + 1])) then
  redis.call('SADD', KEYS[2], ARGV[record + 1])
end
local added = redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', unpack(ARGV, 7, last))
if not usable(KEYS[3], added) then
  redis.call('XADD', KEYS[3], '*', unpack(ARGV, 7, last))
end
local function failed(answer)
  return type(answer) == 'table' and answer.err
end
local function post(first)
  local before = redis.pcall('XLEN', KEYS[5])
  if failed(before) then
    if not string.find(before.err, 'WRONGTYPE', 1, true) then return before.err end
    redis.call('DEL', KEYS[5])
    before = 0
  end
  local function add()
    return redis.pcall('XADD', KEYS[5], 'MAXLEN', ARGV[6], '*', unpack(ARGV, first, first + 7))
  end
  local posted = add()
  if failed(posted) and string.find(posted.err, 'exhausted', 1, true) then
    redis.call('DEL', KEYS[5])
    before = 0
    posted = add()
  end
  if failed(posted) then return posted.err end
  local lost = before + 1 - redis.call('XLEN', KEYS[5])
  if lost <= 0 then return end
  local dropped = redis.pcall('GET', KEYS[6])
  dropped = not failed(dropped) and tonumber(dropped or '0') or 0
  redis.pcall('SET', KEYS[6], string.format('%.0f', dropped + lost))
end
local problem = ''
for first = last + 1, record, 8 do problem = post(first) or problem end
return {'ok', problem}
)lua";

// The answer to any reading command, with each text cut: as a reply, what somebody made too long
// would end the connection for all who wait for an answer on it. It is called with the reader's
// rights, as the command would be.
constexpr std::string_view kRead = R"lua(
local text_max, bytes_max, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local function cut(value)
  bytes = bytes + 16
  if type(value) == 'string' then
    value = string.sub(value, 1, text_max)
    bytes = bytes + #value
  elseif type(value) == 'table' then
    for i, each in ipairs(value) do value[i] = cut(each) end
  end
  return value
end
local answer = redis.pcall(ARGV[3], KEYS[1], unpack(ARGV, 4))
if type(answer) == 'table' and answer.err then return answer end
answer = cut(answer)
if bytes > bytes_max then
  return redis.error_reply('ERR it is longer than ' .. ARGV[2] .. ' bytes')
end
return answer
)lua";

constexpr std::string_view kSaveProgress = R"lua(
local stored = redis.call('HGET', KEYS[1], 'epoch')
if stored ~= ARGV[1] then
  return {'conflict', 'the stored epoch is ' .. (stored or 'gone') .. ', not ' .. ARGV[1]}
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return {'ok'}
)lua";

// The token is above every one given before, and above those that a Redis which lost its last
// writes has forgotten: it never falls behind the caller's wall clock.
// A lock without an expiry, a value of another type, a last token that is not a number or beyond
// all that were given: no worker wrote these, and they would stop every cleaning of the host.
constexpr std::string_view kAcquireLock = R"lua(
local function text_at(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'table' or not value.err then return value end
  redis.call('DEL', key)
  return false
end
local held = text_at(KEYS[1])
if held and string.match(held, '^(.*) %d+$') ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if left >= 0 then return {'busy', held .. ' holds it for ' .. left .. ' ms more'} end
end
local last = tonumber(text_at(KEYS[2]) or '0')
if not last or not (last >= 0 and last < 9007199254740000) then last = 0 end
local token = string.format('%.0f', math.max(last + 1, tonumber(ARGV[3])))
redis.call('SET', KEYS[2], token)
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token, 'PX', ARGV[2])
return {'ok', token}
)lua";

constexpr std::string_view kRenewLock = R"lua(
local held = redis.call('GET', KEYS[1])
if not held or string.match(held, '^.* (%d+)$') ~= ARGV[1] then
  return {'conflict', 'the lock is not ours any more: ' .. (held or 'it has no holder')}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'ok'}
)lua";

constexpr std::string_view kReleaseLock = R"lua(
local held = redis.call('GET', KEYS[1])
if held and string.match(held, '^.* (%d+)$') ~= ARGV[1] then
  return {'conflict', 'the lock is not ours any more: ' .. held}
end
redis.call('DEL', KEYS[1])
return {'ok'}
)lua";

constexpr std::string_view kAckKicks = R"lua(
for i = 2, #ARGV do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  redis.call('XDEL', KEYS[1], ARGV[i])
end
return {'ok'}
)lua";

// Read and gone in one step; what is not a stream is gone too. The answer holds the entries, not a
// text.
constexpr std::string_view kTakeOrders = R"lua(
local count = tonumber(ARGV[1])
if not count or not (count >= 1 and count <= 1000) then
  return redis.error_reply('ERR a count from 1 to 1000 is allowed')
end
local entries = redis.pcall('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])
if entries.err then
  redis.call('DEL', KEYS[1])
  return {}
end
for _, entry in ipairs(entries) do
  local request_id = ''
  for i = 1, #entry[2] - 1, 2 do
    if entry[2][i] == 'request_id' then request_id = entry[2][i + 1] end
  end
  local kept = redis.pcall('HSET', KEYS[2], entry[1], request_id)
  if type(kept) == 'table' and kept.err then redis.call('DEL', KEYS[2]) end
  redis.call('XDEL', KEYS[1], entry[1])
end
if #entries > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return entries
)lua";

// Reads the oldest entries of the outbox. One that is too long to be a notification is removed
// unread: as a reply it would end the connection.
constexpr std::string_view kReadOutbox = R"lua(
local count = tonumber(ARGV[1])
if not count or not (count >= 1 and count <= 1000) then
  return redis.error_reply('ERR a count from 1 to 1000 is allowed')
end
local length = redis.pcall('XLEN', KEYS[1])
if type(length) == 'table' then
  if not string.find(length.err, 'WRONGTYPE', 1, true) then return length end
  redis.call('DEL', KEYS[1])
  length = 0
end
local kept, removed = {}, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])) do
  local bytes = 0
  for _, each in ipairs(entry[2]) do bytes = bytes + #each end
  if bytes <= tonumber(ARGV[2]) then
    kept[#kept + 1] = entry
  else
    redis.call('XDEL', KEYS[1], entry[1])
    removed = removed + 1
  end
end
local dropped = redis.pcall('GET', KEYS[2])
if type(dropped) == 'table' or not dropped then dropped = '0' end
return {kept, length - removed, dropped, removed}
)lua";

// The machine owns the name for good, though it be switched off; that it lives expires.
constexpr std::string_view kHeartbeat = R"lua(
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' and owner.err then
  redis.call('DEL', KEYS[1])
  owner = false
end
if owner and owner ~= ARGV[1] then
  return {'conflict', 'machine-id ' .. owner .. ', ' ..
    (redis.call('GET', KEYS[2]) or 'no heartbeat of late')}
end
if not owner then redis.call('SET', KEYS[1], ARGV[1]) end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return {'ok'}
)lua";

// Forgets a host, but not one whose worker lives and did not say that it stops.
constexpr std::string_view kForgetHost = R"lua(
local alive = redis.call('GET', KEYS[1])
if alive then
  local readable, info = pcall(cjson.decode, alive)
  if not readable or type(info) ~= 'table' or info.stopped ~= true then
    return {'busy', alive}
  end
end
for _, key in ipairs(KEYS) do redis.call('DEL', key) end
return {'ok'}
)lua";

constexpr std::string_view kSchema = R"lua(
local stored = redis.call('GET', KEYS[1])
if not stored then
  redis.call('SET', KEYS[1], ARGV[1])
  return {'ok', ARGV[1]}
end
if string.match(stored, '^%d+') ~= ARGV[1] then
  return {'refused', stored}
end
return {'ok', stored}
)lua";

// The flags of functions. Those that need no memory, or that must not wait for it, are carried out
// when memory is full, as scripts that have written are.
constexpr std::string_view kWhenFull = "allow-oom";
constexpr std::string_view kReadsOnly = "no-writes";

constexpr std::array<RedisScriptText, kRedisScriptCount> kTexts{{
    {RedisScript::save, "save", kSave, kWhenFull},
    {RedisScript::read, "read", kRead, kReadsOnly},
    {RedisScript::save_progress, "save_progress", kSaveProgress, ""},
    {RedisScript::acquire_lock, "acquire_lock", kAcquireLock, ""},
    {RedisScript::renew_lock, "renew_lock", kRenewLock, kWhenFull},
    {RedisScript::release_lock, "release_lock", kReleaseLock, kWhenFull},
    {RedisScript::ack_kicks, "ack_kicks", kAckKicks, kWhenFull},
    {RedisScript::take_orders, "take_orders", kTakeOrders, kWhenFull},
    {RedisScript::read_outbox, "read_outbox", kReadOutbox, kWhenFull},
    {RedisScript::heartbeat, "heartbeat", kHeartbeat, ""},
    {RedisScript::forget_host, "forget_host", kForgetHost, kWhenFull},
    {RedisScript::schema, "schema", kSchema, ""},
}};

consteval bool in_order() {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (static_cast<std::size_t>(kTexts.at(i).script) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const RedisScriptText& text_of(RedisScript script) {
  return kTexts.at(static_cast<std::size_t>(script));
}

std::span<const RedisScriptText> redis_scripts() {
  return kTexts;
}

}  // namespace reclaim
