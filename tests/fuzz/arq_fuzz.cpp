// Payloads of accelerator requests and requests to an agent: whatever is taken can be kept and read
// again as it was, all readings of one message agree, and every answer is JSON.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "handlers/arq/notification.h"
#include "handlers/bus/kick.h"
#include "handlers/bus/rpc_message.h"
#include "state/base/json.h"
#include "state/base/uuid.h"
#include "state/device/python_text.h"

namespace {

using namespace reclaim;

constexpr std::size_t kBytesMax = std::size_t{1} << 20U;

std::string enveloped(std::string_view message) {
  std::string out = R"({"oslo.version": "2.0", "oslo.message": )";
  json::append_string(message, out);
  return out + "}";
}

void check_arq(const Arq& arq) {
  CHECK(looks_like_uuid(arq.uuid));
  CHECK(arq.other_info.size() <= kArqOtherInfoBytesMax);
  const std::string kept = encode_arq(arq);
  CHECK(kept.size() <= kArqBytesMax);
  // A surrogate that stands alone ("\\udc00") is not text: written again it is another one, and
  // stays.
  const Result<Arq> again = decode_arq(kept);
  CHECK(again.ok());
  const Result<Arq> once_more = decode_arq(encode_arq(*again));
  CHECK(once_more.ok() && *once_more == *again);
}

void check_payload(std::string_view payload, const ArqRow& row) {
  // As every message is read, before anything of it is: half a surrogate is replaced.
  std::string paired;
  const Result<Arq> arq = decode_arq_payload(json::pair_surrogates(payload, paired), row);
  if (arq) check_arq(*arq);
  // The same as it stands on the bus.
  const std::string message = R"({"event_type": ")" + std::string(row.event_type) +
                              R"(", "payload": )" + std::string(payload) + "}";
  KickDecider decider(kBytesMax);
  const std::array<std::string, 2> bodies{message, enveloped(message)};
  for (const std::string& body : bodies) {
    const Decision fast = decider.decide_fast(body);
    const Decision exact = decider.decide_exact(body);
    CHECK(fast.verdict == exact.verdict && fast.hosts == exact.hosts && fast.arq == exact.arq);
    CHECK(exact.verdict != Verdict::kick || exact.arq.has_value());
    CHECK(exact.verdict != Verdict::kick || exact.any_host == exact.hosts.empty());
    // In an envelope bytes that are not UTF-8 are others than in `payload`.
    const bool same_bytes = &body == &bodies.front();
    if (same_bytes && arq && exact.verdict == Verdict::kick) CHECK(*arq == *exact.arq);
  }
}

void check_request(std::string_view body) {
  for (const std::string& text : {std::string(body), enveloped(body)}) {
    const RpcDecision decision = decide_rpc(text, "cmp1");
    CHECK(decision.failure.has_value() == (decision.verdict == Verdict::ignore));
    CHECK(decision.verdict == Verdict::kick || !decision.why.empty());
    CHECK(decision.reply_queue.size() <= 255);
    CHECK(decision.request_id.size() <= 255);
    if (decision.verdict == Verdict::kick) {
      CHECK(decision.device.hostname.empty() || decision.device.hostname == "cmp1");
    }
    const auto reply = json::parse(rpc_reply(decision.msg_id, "u", decision.failure), kBytesMax);
    CHECK(reply.ok());
    CHECK(json::parse(*json::get_string(*reply, "oslo.message"), kBytesMax).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_payload(text, kArqTable[size % kArqTable.size()]);
  check_request(text);
  // As the argument of a request, so that the fuzzer need not find one.
  check_request(R"({"method": "cleanup_device", "version": "1.1", "args": {"device": )" +
                std::string(text) + "}}");
  const auto dict = parse_json_or_python(text, kBytesMax);
  if (dict) CHECK(dict->IsObject());
  return 0;
}
