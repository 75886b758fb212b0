// Keystone's, Placement's and Cyborg's answers. The first byte chooses who reads the rest; what is
// accepted must then hold together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "placement/answers.h"
#include "placement/cyborg/answers.h"
#include "placement/keystone/exchange.h"
#include "placement/keystone/keystone.h"
#include "placement/keystone/microversion.h"
#include "placement/keystone/token_answers.h"
#include "state/base/check.h"
#include "state/base/uuid.h"

namespace reclaim::placement {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;
constexpr std::size_t kRowsMax = 1'000;

void read_rows(std::string_view body) {
  const auto rows = parse_rows(body, kBytesMax, kRowsMax);
  if (!rows.ok()) return;
  CHECK(rows->size() <= kRowsMax);
  for (const RowAnswer& row : *rows) {
    CHECK(looks_like_uuid(row.uuid) && looks_like_uuid(row.root_uuid));
    CHECK(!row.name.empty() && row.generation >= 0);
  }
}

// What was read is written again and read back as the same.
void read_inventories(std::string_view body) {
  const auto read = parse_inventories(body, kBytesMax);
  if (!read.ok()) return;
  CHECK(read->generation >= 0);
  for (const Inventory& inventory : read->inventories) {
    CHECK(is_resource_class(inventory.resource_class) && inventory.reserved >= 0);
    const std::string written = inventory_body(inventory, read->generation);
    CHECK(parse_put_generation(written, kBytesMax) == read->generation);
    const auto again = parse_inventories("{\"resource_provider_generation\":1,\"inventories\":{\"" +
                                             inventory.resource_class + "\":" + written + "}}",
                                         kBytesMax);
    CHECK(again.ok() && again->inventories.front() == inventory);
  }
}

void read_traits(std::string_view body) {
  for (const auto& read :
       {parse_known_traits(body, kBytesMax), parse_provider_traits(body, kBytesMax)}) {
    if (!read.ok()) continue;
    for (const std::string& trait : read->traits) CHECK(is_resource_class(trait));
    // What was read is written again and read back as the same.
    const auto again =
        parse_provider_traits(traits_body(read->traits, read->generation), kBytesMax);
    CHECK(again.ok() && again->traits == read->traits && again->generation == read->generation);
  }
}

void read_status(std::string_view body) {
  for (const int status : {200, 302, 400, 401, 403, 404, 406, 409, 500}) {
    for (const Method method : {Method::get, Method::put}) {
      const ApiRequest request{RequestKind::set_inventory, "/x", "", method};
      const auto meaning = triage(request, HttpResponse{status, {}, std::string(body)});
      CHECK(meaning.ok() == (status == 200));
      CHECK(meaning.ok() || meaning.error().what.size() < 2'000);
    }
  }
}

// What is kept of an ARQ is in Redis as text and is read back as the same.
void read_arqs(std::string_view body) {
  const auto arqs = parse_arqs(body, {"h", {"n"}}, WallMs{1}, {kBytesMax, kRowsMax});
  if (!arqs.ok()) return;
  for (const Arq& arq : *arqs) {
    CHECK(looks_like_uuid(arq.uuid));
    CHECK(same_host(arq.hostname, "h") || same_host(arq.hostname, "n") ||
          (arq.hostname.empty() && arq.holds_device()));
    const auto again = decode_arq(encode_arq(arq));
    CHECK(again.ok() && again->uuid == arq.uuid && again->state == arq.state);
    CHECK(again->address == arq.address && again->managed == arq.managed);
  }
}

void read_devices(std::string_view body) {
  const auto devices = parse_devices(body, "h", false, {kBytesMax, kRowsMax});
  const auto deployables = parse_deployables(body, "h", {kBytesMax, kRowsMax});
  const std::vector<DeviceAnswer> some = devices.ok() ? *devices : std::vector<DeviceAnswer>();
  const std::vector<DeployableAnswer> others =
      deployables.ok() ? *deployables : std::vector<DeployableAnswer>();
  const bool maintaining = std::any_of(some.begin(), some.end(), [](const DeviceAnswer& each) {
    return each.status == "maintaining";
  });
  const auto all = connect_devices(some, others);
  CHECK(all.size() >= others.size());
  CHECK(!maintaining || std::any_of(all.begin(), all.end(), [](const CyborgDevice& each) {
    return each.status == "maintaining";
  }));
}

}  // namespace
}  // namespace reclaim::placement

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace placement = reclaim::placement;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
      placement::read_rows(body);
      break;
    case 'i':
      placement::read_inventories(body);
      break;
    case 'a':
      (void)placement::parse_allocations(body, placement::kBytesMax);
      break;
    case 'q':
      placement::read_arqs(body);
      break;
    case 'd':
      placement::read_devices(body);
      break;
    case 'b':
      (void)placement::board_address(body);
      break;
    case 'u':
      (void)placement::check_token_text(body);
      (void)placement::parse_subject_token({200, {}, std::string(body)}, placement::kBytesMax);
      break;
    case 'p':  // what a provider has
      placement::read_traits(body);
      break;
    case 's':
      placement::read_status(body);
      break;
    case 'v':
      (void)placement::choose_microversion({200, {}, std::string(body)}, placement::kBytesMax);
      break;
    case 't': {
      const auto token = placement::parse_token(
          {201, {{"x-subject-token", "t"}}, std::string(body)}, placement::kBytesMax);
      if (token.ok()) {
        CHECK(token->life_ms > 0);
        (void)placement::choose_endpoint({}, token->catalog);
      }
      break;
    }
    default:
      break;
  }
  return 0;
}
