#include "state/redis/scripts.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include "state/base/check.h"
#include "state/base/enum_names.h"
#include "state/base/text.h"

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
  if not lock or string.match(lock, '(%d+)$') ~= ARGV[2] then
    return {'conflict', 'the lock is not ours any more: ' .. (lock or 'it has no holder')}
  end
end
local last = 6 + tonumber(ARGV[4])
local record = last + 8 * tonumber(ARGV[5])
redis.call('HDEL', KEYS[1], '')
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < 100000000000000 then
  redis.call('PEXPIRE', KEYS[1], '1000000000000000')
end
redis.call('HSET', KEYS[1], unpack(ARGV, record + 2))
local written = {}
for i = record + 2, #ARGV, 2 do written[ARGV[i]] = true end
local found = redis.call('HGETALL', KEYS[1])
for i = 1, #found, 2 do
  if not written[found[i]] then redis.call('HDEL', KEYS[1], found[i]) end
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

constexpr std::string_view kReadRecord = R"lua(
local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err then return fields end
local bytes = 0
for _, each in ipairs(fields) do bytes = bytes + #each end
if bytes > tonumber(ARGV[1]) then
  return redis.error_reply('ERR it has ' .. bytes .. ' bytes, ' .. ARGV[1] .. ' are allowed')
end
return fields
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
if not held or string.match(held, '(%d+)$') ~= ARGV[1] then
  return {'conflict', 'the lock is not ours any more: ' .. (held or 'it has no holder')}
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'ok'}
)lua";

constexpr std::string_view kReleaseLock = R"lua(
local held = redis.call('GET', KEYS[1])
if held and string.match(held, '(%d+)$') ~= ARGV[1] then
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

// What is too long to be a notification is removed unread: as a reply it would end the connection.
constexpr std::string_view kReadOutbox = R"lua(
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

// In the first layout reclaim:hosts was a hash, HOST -> JSON.
constexpr std::string_view kUpgradeHosts = R"lua(
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  local stored = redis.call('HGET', KEYS[1], ARGV[1])
  if stored then
    local readable, info = pcall(cjson.decode, stored)
    if not readable or type(info) ~= 'table' or info.machine_id ~= ARGV[2] then
      return {'conflict', stored}
    end
  end
  local names = redis.call('HKEYS', KEYS[1])
  redis.call('DEL', KEYS[1])
  for _, name in ipairs(names) do redis.call('SADD', KEYS[1], name) end
end
redis.call('SADD', KEYS[1], ARGV[1])
return {'ok'}
)lua";

// Not of one whose worker lives, and did not say that it stops.
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
local major = stored and string.match(stored, '^%d+')
if not stored or (ARGV[2] ~= '' and major == ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[1])
  return {'ok', ARGV[1]}
end
if major ~= ARGV[1] then
  return {'refused', stored}
end
return {'ok', stored}
)lua";

std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr) == 1);
  return hex_of({digest.data(), length});
}

}  // namespace

std::string_view RedisScripts::text(RedisScript script) {
  return enum_names<RedisScript::schema>(
      kSave, kReadRecord, kSaveProgress, kAcquireLock, kRenewLock, kReleaseLock, kAckKicks,
      kTakeOrders, kReadOutbox, kHeartbeat, kUpgradeHosts, kForgetHost, kSchema)[script];
}

RedisScripts::RedisScripts() {
  for (std::size_t i = 0; i < kRedisScriptCount; ++i) {
    sha1s_.at(i) = sha1_of(text(static_cast<RedisScript>(i)));
  }
}

}  // namespace reclaim
