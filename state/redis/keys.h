// The names of the keys in Redis and the readable forms of what is in them, where that is no
// record: docs/redis-keys.md in code. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/base/pci_address.h"
#include "state/base/result.h"
#include "state/device/store.h"
#include "state/redis/reply.h"

namespace reclaim::redis_keys {

inline constexpr std::size_t kHostInfoBytesMax = 4096;  // of a heartbeat

inline constexpr const char* kHosts = "reclaim:hosts";
inline constexpr const char* kAliases = "reclaim:aliases";
inline constexpr const char* kInHand = "reclaim:in_hand";
inline constexpr const char* kSchema = "reclaim:schema";
inline constexpr const char* kKickGroup = "workers";

// A host's name becomes part of its keys; braces would break their common hash tag. At most 255
// printable characters without blanks and braces.
[[nodiscard]] Status check_host(std::string_view host);

// "reclaim:{HOST}:<what>", e.g. devices, kicks, journal, fence.
[[nodiscard]] std::string of_host(std::string_view host, std::string_view what);
// "reclaim:{HOST}:<what>:ADDRESS", e.g. device, lock, certificate.
[[nodiscard]] std::string of_device(std::string_view host, std::string_view what,
                                    std::string_view address);

// Field and value one after the other, as HSET and XADD take them.
[[nodiscard]] std::vector<std::string> journal_fields(const JournalEntry& entry,
                                                      std::uint64_t epoch);
[[nodiscard]] JournalEntry journal_entry_from_fields(
    const std::vector<std::pair<std::string, std::string>>& fields);
[[nodiscard]] std::vector<std::string> kick_fields(const Kick& kick);
// A kick carries no authority and may be written by hand: absent fields are their defaults, and
// delays that cannot be read are none.
[[nodiscard]] Kick kick_from_fields(const std::string& id,
                                    const std::vector<std::pair<std::string, std::string>>& fields);

// The [field, value, ...] of a stream's entry.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(const RedisReply& flat);

// The error of a key that cannot be read: with the remedy, where it is for what is stored there.
[[nodiscard]] Error not_read(const std::string& key, const Error& error);

[[nodiscard]] std::string encode_host(const HostInfo& info);
// Errc::invalid: it is not of its form, or a word of it is long or would be obeyed by a terminal.
[[nodiscard]] Result<HostInfo> decode_host(const std::string& host, std::string_view json_text);

}  // namespace reclaim::redis_keys
