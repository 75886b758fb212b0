// A configuration file of anybody's making: parsed, merged, substituted, typed and checked.
#include <cstdint>
#include <string_view>

#include "config/settings.h"
#include "state/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reclaim::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const IniFile own = parse_ini(text, "own");
  for (const IniEntry& entry : own.entries) {
    CHECK(entry.at.line > 0);
    CHECK(!entry.key.empty());
    CHECK(!entry.group.empty());
  }
  // The same text as a service's file, too: of that no name is checked, but all shared options are
  // read.
  const CheckedSettings checked =
      build_settings({{own, true}, {own, false}}, "host", Purpose::serve);
  CHECK(checked.settings.conductor.cleanings_max >= 1);
  CHECK(checked.settings.device_specs.size() <= kDeviceSpecsMax);
  for (const Problem& problem : checked.problems) CHECK(!to_string(problem).empty());
  return 0;
}
