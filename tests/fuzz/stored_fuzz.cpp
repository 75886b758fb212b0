// What somebody may have written into Redis: records, orders, kicks, hosts and certificates, and
// the clean steps that an order names. What is read can be written and read again as it was;
// everything else is an error.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/base/check.h"
#include "state/device/named_steps.h"
#include "state/device/order.h"
#include "state/device/order_args.h"
#include "state/device/record.h"
#include "state/redis/keys.h"

namespace {

using namespace reclaim;

// Lines of FIELD=VALUE.
std::vector<std::pair<std::string, std::string>> pairs_in(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    pairs.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return pairs;
}

void check_record(const Fields& fields) {
  const Result<Record> record = decode_record(fields);
  if (!record) {
    CHECK(!record.error().what.empty());
    return;
  }
  const Result<Record> again = decode_record(encode_record(*record));
  CHECK(again.ok());
  CHECK(*again == *record);
}

void check_order(const std::map<std::string, std::string>& fields) {
  Order order = order_from_fields("1700000000000-0", fields);
  CHECK(order_from_fields(order.id, order_fields(order)) == order);
}

void check_certificate(std::string_view text) {
  const Result<Certificate> certificate = decode_certificate(text);
  if (!certificate) return;
  // A surrogate that stands alone ("\\udc00") is not text: written again it is another one, and
  // stays.
  const Result<Certificate> again = decode_certificate(encode_certificate(*certificate));
  CHECK(again.ok());
  const Result<Certificate> once_more = decode_certificate(encode_certificate(*again));
  CHECK(once_more.ok() && *once_more == *again);
}

void check_steps(std::string_view text) {
  const auto steps = parse_named_steps(text);
  if (!steps) {
    CHECK(!steps.error().what.empty());
    return;
  }
  CHECK(decode_plan(encode_plan(*steps)).ok());
  for (const CleanStep& step : *steps) {
    CleanStep bare = step;
    bare.args = "{}";
    CHECK(check_named_steps({bare}, {step}).ok());
    (void)merged_args(step.args, step.args);
    (void)check_order_args(step.args);
    (void)check_ordered_args(step.args, step.args);
    (void)check_planned_args(step.args, step.args, "{}");
    (void)paths_in_order_args(step.args, step.args);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pairs = pairs_in(text);
  const std::map<std::string, std::string> fields(pairs.begin(), pairs.end());
  check_record(fields);
  check_order(fields);
  check_certificate(text);
  check_steps(text);
  (void)redis_keys::kick_from_fields("1-0", pairs);
  (void)redis_keys::journal_entry_from_fields(pairs);
  (void)redis_keys::decode_host("cmp1", text);
  (void)written_at_ms(text);
  return 0;
}
