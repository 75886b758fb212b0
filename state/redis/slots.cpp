#include "state/redis/slots.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::size_t kMastersMax = 512;  // Redis advises against more than 1,000 nodes
constexpr std::uint16_t kPolynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    auto crc = static_cast<std::uint16_t>(byte << 8U);
    for (int bit = 0; bit < 8; ++bit) {
      const bool carries = (crc & 0x8000U) != 0;
      crc = static_cast<std::uint16_t>(static_cast<std::uint16_t>(crc << 1U) ^
                                       (carries ? kPolynomial : 0U));
    }
    table.at(byte) = crc;
  }
  return table;
}

std::uint16_t crc16(std::string_view bytes) {
  static constexpr std::array<std::uint16_t, 256> kTable = crc_table();
  std::uint16_t crc = 0;
  for (const char c : bytes) {
    const std::size_t at = (static_cast<std::size_t>(crc) >> 8U) ^ static_cast<unsigned char>(c);
    crc = static_cast<std::uint16_t>(static_cast<std::uint16_t>(crc << 8U) ^ kTable.at(at));
  }
  return crc;
}

// The host of [host, port, id, [metadata name, value, ...]].
std::string host_of(const RedisReply& node, const RedisAddress& asked) {
  const std::string& host = node.elements[0].text;
  if (host.empty()) return asked.host;
  if (host != "?") return host;
  // It is to announce a name and has none.
  const std::vector<RedisReply> none;
  const auto& more = node.elements.size() > 3 ? node.elements[3].elements : none;
  for (std::size_t i = 0; i + 1 < more.size(); i += 2) {
    if (more[i].text == "ip" && !more[i + 1].text.empty()) return more[i + 1].text;
  }
  return asked.host;
}

std::optional<std::uint16_t> within(const RedisReply& number, std::int64_t max) {
  if (number.type != RedisReply::Type::integer) return std::nullopt;
  if (number.integer < 0 || number.integer > max) return std::nullopt;
  return static_cast<std::uint16_t>(number.integer);
}

// The address in "HOST:PORT". The last colon parts the two: an IPv6 address stands there without
// brackets.
std::optional<RedisAddress> address_in(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host == "?") host = "";
  return RedisAddress{std::string(host), *port};
}

}  // namespace

std::uint16_t slot_of_key(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return static_cast<std::uint16_t>(crc16(key) % kSlotCount);
}

std::optional<std::size_t> first_key_of(const std::vector<std::string>& command) {
  std::size_t at = 1;
  const std::string& word = command.front();
  if (word == "FCALL" || word == "FCALL_RO" || word == "EVAL" || word == "EVALSHA") {
    if (command.size() < 4 || command[2] == "0") return std::nullopt;
    at = 3;
  } else if (word == "XGROUP") {
    at = 2;
  } else if (word == "XREAD" || word == "XREADGROUP") {
    const auto streams = std::find(command.begin(), command.end(), "STREAMS");
    at = static_cast<std::size_t>(streams - command.begin()) + 1;
  }
  if (at >= command.size()) return std::nullopt;
  return at;
}

std::optional<RedisRedirect> redirect_in(const Error& error) {
  std::string_view said = redis_words_of(error);
  const std::string_view word = take_until(said, ' ');
  if (word != "MOVED" && word != "ASK") return std::nullopt;
  if (!parse_number<std::uint16_t>(take_until(said, ' '))) return std::nullopt;
  auto to = address_in(take_until(said, ' '));
  if (!to) return std::nullopt;
  return RedisRedirect{word == "ASK", *std::move(to)};
}

bool says_try_again(const Error& error) {
  std::string_view said = redis_words_of(error);
  const std::string_view word = take_until(said, ' ');
  return word == "TRYAGAIN" || word == "CLUSTERDOWN" || word == "LOADING" || word == "MASTERDOWN";
}

const RedisAddress* SlotMap::owner_of(std::uint16_t slot) const {
  const std::int16_t owner = owners_.at(slot);
  return owner == kNobody ? nullptr : &masters_.at(static_cast<std::size_t>(owner)).address;
}

std::size_t SlotMap::uncovered() const {
  return static_cast<std::size_t>(std::count(owners_.begin(), owners_.end(), kNobody));
}

bool SlotMap::give(std::uint16_t first, std::uint16_t last, const SlotMaster& master) {
  auto at = std::find_if(masters_.begin(), masters_.end(), [&master](const SlotMaster& each) {
    return each.address == master.address;
  });
  if (at == masters_.end()) {
    if (masters_.size() >= kMastersMax) return false;
    at = masters_.insert(at, master);
  }
  const auto owner = static_cast<std::int16_t>(at - masters_.begin());
  for (std::size_t slot = first; slot <= last; ++slot) owners_.at(slot) = owner;
  return true;
}

// [[first, last, [host, port, id, ...], replica ...], ...]
Result<SlotMap> slot_map_from(const RedisReply& answer, const RedisAddress& asked) {
  const Error malformed{Errc::failed, "the answer to CLUSTER SLOTS is not of its form"};
  if (!answer.is_array()) return malformed;
  struct Range {
    std::uint16_t first;
    std::uint16_t last;
    SlotMaster master;
  };
  std::vector<Range> ranges;
  for (const RedisReply& range : answer.elements) {
    if (range.elements.size() < 3 || range.elements[2].elements.size() < 2) return malformed;
    const auto first = within(range.elements[0], kSlotCount - 1);
    const auto last = within(range.elements[1], kSlotCount - 1);
    const RedisReply& node = range.elements[2];
    const auto port = within(node.elements[1], UINT16_MAX);
    if (!first || !last || *first > *last || !port || *port == 0) return malformed;
    ranges.push_back({*first, *last, {{host_of(node, asked), *port}, range.elements.size() - 3}});
  }
  // Each node tells them in an order of its own.
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.first < b.first; });
  SlotMap map;
  for (const Range& range : ranges) {
    if (!map.give(range.first, range.last, range.master)) {
      return Error{Errc::limit, fmt::format("more than {} masters have slots", kMastersMax)};
    }
  }
  return map;
}

}  // namespace reclaim
