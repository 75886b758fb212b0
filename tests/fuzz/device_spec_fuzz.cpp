// [nvme] device_spec: whatever is accepted can be matched, and a refused entry is not among the
// results.
#include <cstdint>
#include <string_view>
#include <vector>

#include "config/device_spec/clean_rules.h"
#include "config/device_spec/device_spec.h"
#include "state/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reclaim;
  using namespace reclaim::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Problem> problems;
  const std::vector<DeviceSpec> specs = parse_device_spec(text, {"f", 1}, problems);
  CHECK(specs.size() <= kDeviceSpecsMax);
  for (const Problem& problem : problems) CHECK(!problem.text.empty());
  for (const DeviceSpec& spec : specs) {
    DeviceSpec settled = spec;
    const bool sound = settle_rules(settled, nvme::VerifyLevel::sample).ok();
    CHECK(!sound || spec.rules.action != nvme::ClearAction::zero ||
          spec.rules.strategy != nvme::ClearStrategy::crypto);
    CHECK(!spec.text.empty());
    // Its own text is read to the same meaning, unless an escape made half a surrogate of it.
    if (text.find("\\ud") != text.npos || text.find("\\uD") != text.npos) continue;
    std::vector<Problem> none;
    const auto again = parse_device_spec(spec.text, {"f", 1}, none);
    CHECK(none.empty() && again.size() == 1);
    CHECK(again[0].vendor_id == spec.vendor_id && again[0].managed == spec.managed);
  }
  for (const PciAddress address : {PciAddress{0, 0, 0, 0}, PciAddress{0x10000, 0xff, 0x1f, 7}}) {
    const auto found = match(specs, 0x8086, 1, address);
    CHECK(!found || specs[*found].address.matches(address));
  }
  if (specs.size() <= 4) static_cast<void>(never_counting(specs, "[nvme] device_spec"));
  static_cast<void>(AddressPattern::from_glob(text));
  return 0;
}
