// The configuration space of a PCI function, as a card shows it, alone and beside another reading;
// and the enrolment baseline of such a function as it is kept.
#include <cstdint>
#include <string>
#include <string_view>

#include "nvme/pci/config_compare.h"
#include "nvme/pci/config_space.h"
#include "nvme/pci/pci_state.h"
#include "state/base/check.h"

namespace {

using namespace reclaim::nvme;

// As many bytes as the kernel gives, the rest zeros.
std::string padded(std::string_view bytes) {
  std::string space(bytes.substr(0, 4096));
  space.resize(space.size() <= 64 ? 64 : space.size() <= 256 ? 256 : 4096, '\0');
  return space;
}

void read_space(const std::string& bytes) {
  const auto space = parse_config_space(bytes);
  if (!space) return;
  for (const PciCapability& each : space->capabilities) {
    CHECK(std::size_t{each.at} + each.bytes <= bytes.size());
    CHECK(!to_string(each).empty());
  }
  CHECK(space->bars.size() <= 6);
  const auto same = compare_config(bytes, bytes);
  CHECK(same.ok() && same->empty());
  PciState state;
  state.config = bytes;
  const auto back = decode_pci_state(encode_pci_state(state));
  CHECK(back.ok() && *back == state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_space(padded(bytes));
  // Two readings in a row.
  if (size >= 128) {
    const std::string before = padded(bytes.substr(0, size / 2));
    const std::string after = padded(bytes.substr(size / 2));
    const auto differences = compare_config(before, after);
    if (differences.ok() && before == after) CHECK(differences->empty());
  }
  const auto state = decode_pci_state(bytes);
  if (state) CHECK(*decode_pci_state(encode_pci_state(*state)) == *state);
  return 0;
}
