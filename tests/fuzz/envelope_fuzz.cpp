// Message bodies: the quick reading, the exact reading and a slow one with RapidJSON documents must
// come to the same verdict, and nothing that is kept of a message may hold its context.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "cli/explain.h"
#include "handlers/arq/events.h"
#include "handlers/bus/kick.h"
#include "handlers/bus/kick_events.h"
#include "state/base/json.h"

namespace {

using namespace reclaim;

constexpr std::size_t kBytesMax = std::size_t{1} << 20U;

// What RapidJSON judges otherwise than we do, on purpose: unpaired surrogates, numbers too big for
// a double and exponents that json::parse() refuses pass here, a NUL byte ends a text for it, and
// depth has no bound there.
bool comparable(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  if (text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos) {
    return false;
  }
  std::size_t depth = 0;
  for (const char c : text) depth += c == '[' || c == '{' ? 1 : 0;
  return depth < json::kReadDepthMax;
}

struct Slow {
  bool readable = true;  // false: the two need not agree
  Verdict verdict = Verdict::reject;
  std::string event_type;
  std::set<std::string> hosts;
};

bool short_text(const rapidjson::Value* value) {
  return value != nullptr && value->IsString() && value->GetStringLength() <= 255;
}

std::string text_of(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

// The member whose name ends so; the first one.
const rapidjson::Value* find_ending(const rapidjson::Value& object, std::string_view end) {
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it) {
    const std::string name = text_of(it->name);
    if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      return &it->value;
    }
  }
  return nullptr;
}

bool host_like(const std::string& text) {
  for (const char c : text) {
    if (c <= 0x20 || c >= 0x7f || std::string_view("{}\"\\*?'").find(c) != std::string_view::npos) {
      return false;
    }
  }
  return !text.empty() && text.size() <= 255;
}

Slow judge(const rapidjson::Value& message) {
  Slow slow;
  const rapidjson::Value* event_type = json::find(message, "event_type");
  if (!short_text(event_type)) return slow;
  slow.event_type = text_of(*event_type);
  if (find_arq_row(slow.event_type) != nullptr) {
    slow.readable = false;  // arq_fuzz.cpp reads these
    return slow;
  }
  const KickRow* row = find_kick_row(slow.event_type);
  if (row == nullptr) {
    slow.verdict = Verdict::ignore;
    return slow;
  }
  const rapidjson::Value* publisher = json::find(message, "publisher_id");
  if (publisher != nullptr && !publisher->IsNull() && !short_text(publisher)) return slow;
  const rapidjson::Value* payload = json::find(message, "payload");
  if (payload == nullptr || !payload->IsObject()) return slow;
  if (const rapidjson::Value* data = find_ending(*payload, "_object.data")) {
    const rapidjson::Value* version = find_ending(*payload, "_object.version");
    if (!short_text(version)) return slow;
    const std::string number = text_of(*version);
    if (number != "1" && number.rfind("1.", 0) != 0) return slow;
    if (!data->IsObject()) return slow;
    payload = data;
  }
  std::set<std::string> hosts;
  const rapidjson::Value* host = json::find(*payload, "host");
  if (host != nullptr && !host->IsNull()) {
    if (!short_text(host)) return slow;
    hosts.insert(text_of(*host));
  }
  hosts.erase("");
  std::string legacy;
  if (publisher != nullptr && publisher->IsString()) {
    const std::string id = text_of(*publisher);
    if (id.rfind("nova-compute:", 0) == 0) hosts.insert(id.substr(13));
    if (id.rfind("compute.", 0) == 0) legacy = id.substr(8);
  }
  if (!legacy.empty() && !host_like(legacy)) return slow;
  if (row->scope != KickScope::named_by_payload || !hosts.empty()) hosts.insert(legacy);
  hosts.erase("");
  for (const std::string& name : hosts) {
    if (!host_like(name)) return slow;
  }
  slow.verdict = Verdict::kick;
  if (row->scope != KickScope::any) slow.hosts = hosts;
  return slow;
}

Slow unreadable(const Error& error) {
  Slow slow;
  slow.readable = error.what.find("Number too big") == std::string::npos &&
                  error.what.find("exponent") == std::string::npos;
  return slow;
}

Slow slow_reading(std::string_view body) {
  Slow doubtful;
  doubtful.readable = false;
  if (!comparable(body)) return doubtful;
  const auto outer = json::parse(body, kBytesMax);
  if (!outer) return unreadable(outer.error());
  const rapidjson::Value* version = json::find(*outer, "oslo.version");
  const rapidjson::Value* text = json::find(*outer, "oslo.message");
  if (!outer->IsObject() || version == nullptr || text == nullptr) return judge(*outer);
  if (!version->IsString() || !text->IsString()) return {};
  if (text_of(*version) != "2.0" && text_of(*version) != "2.0.0") return {};
  const std::string inner_text = text_of(*text);
  if (!comparable(inner_text)) return doubtful;
  const auto inner = json::parse(inner_text, kBytesMax);
  if (!inner) return unreadable(inner.error());
  return judge(*inner);
}

bool same(const Decision& a, const Decision& b) {
  return a.verdict == b.verdict && a.event_type == b.event_type && a.hosts == b.hosts &&
         a.any_host == b.any_host && a.delays_s == b.delays_s && a.why == b.why &&
         a.mark_allocated == b.mark_allocated;
}

void check_readings(std::string_view body) {
  KickDecider decider(kBytesMax);
  const Decision exact = decider.decide_exact(body);
  const Decision fast = decider.decide_fast(body);
  if (fast.verdict == Verdict::ignore && exact.verdict == Verdict::reject) {
    CHECK(!is_kick_event(fast.event_type));
  } else {
    CHECK(same(fast, exact));
  }
  CHECK(exact.verdict == Verdict::kick || (exact.hosts.empty() && !exact.any_host));
  const Slow slow = slow_reading(body);
  if (!slow.readable) return;
  CHECK(exact.verdict == slow.verdict);
  if (exact.verdict == Verdict::reject) return;
  CHECK(exact.event_type == slow.event_type);
  CHECK(std::set<std::string>(exact.hosts.begin(), exact.hosts.end()) == slow.hosts);
}

struct Nothing final : json::Parts {
  void on(json::Token /*token*/, std::string_view /*text*/, std::size_t /*offset*/) override {}
};

void check_storage(std::string_view body) {
  for (const std::size_t bytes_max : {std::size_t{100}, kBytesMax}) {
    const std::string kept = clean_for_storage(body, bytes_max);
    CHECK(kept.find("_context") == std::string::npos);
    Nothing nothing;
    CHECK(json::read(kept, nothing));
  }
  CHECK(safe_excerpt(body, 200).size() <= 203);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check_readings(body);
  // The same bytes as the message inside an envelope, so that the fuzzer need not learn to escape.
  std::string enveloped = R"({"oslo.version": "2.0", "oslo.message": )";
  json::append_string(body, enveloped);
  enveloped += '}';
  check_readings(enveloped);
  check_storage(body);
  check_storage(enveloped);
  std::string buffer;
  const std::string_view unwrapped = cli::unwrap_recorded(body, buffer);
  CHECK(unwrapped.size() <= body.size());
  return 0;
}
