// [nvme] device_spec: which drives Reclaim may touch, and how they are to be cleaned; and
// [devices] device_spec, the same of PCI functions that are no drives. Allow-lists: a device that
// no entry matches is never looked at twice. And their elder relative, Cyborg's [pci]
// passthrough_whitelist. Pure. Thread: any.
//
// The entries are those of Nova's [pci] device_spec (nova/pci/devspec.py) and of the Cyborg NVMe
// specification: JSON objects, whose addresses are globs ("*:0a:00.*", parts may be missing) or, as
// objects, one regular expression a field, anchored at its start as Python's re.match() is.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/device_spec/pattern.h"
#include "config/oslo/ini.h"
#include "nvme/pci/config_compare.h"
#include "nvme/rules.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::config {

enum class SharedSubsystem { refuse, allow };

[[nodiscard]] std::string_view to_string(SharedSubsystem shared);

// The PCI addresses that an entry is for. Bus, slot and function have so few values that a pattern
// is resolved to their set once; the domain keeps its pattern.
class AddressPattern {
 public:
  // Everything.
  AddressPattern();
  // Nova's glob: "DDDD:BB:SS.F", where every field is a hex number or "*", and fields to the left
  // as well as the function may be left out.
  [[nodiscard]] static Result<AddressPattern> from_glob(std::string_view text);
  // Nova's object of regular expressions; an empty optional stands for ".*". Matching ignores case.
  struct Fields {
    std::optional<std::string> domain, bus, slot, function;
  };
  [[nodiscard]] static Result<AddressPattern> from_regex(const Fields& fields);

  [[nodiscard]] bool matches(const PciAddress& address) const;
  // True if some address surely matches both; of a domain's pattern only the values below 0x100 are
  // tried.
  [[nodiscard]] bool overlaps(const AddressPattern& other) const;
  // True if it surely matches every address that the other does; of a domain's pattern only the
  // values below 0x100 are tried.
  [[nodiscard]] bool covers(const AddressPattern& other) const;
  // True if no drive of domain 0000, which is the only one of most hosts, escapes it: drives are
  // function 0.
  [[nodiscard]] bool covers_a_host() const;

 private:
  [[nodiscard]] bool domain_matches(std::uint32_t domain) const;

  std::optional<std::uint32_t> domain_;    // a glob's number
  std::optional<Pattern> domain_pattern_;  // an object's regular expression
  std::bitset<256> buses_;
  std::bitset<32> slots_;
  std::bitset<8> functions_;
};

struct DeviceTag {
  std::string name;
  std::string value;  // empty where tags are a list

  friend bool operator==(const DeviceTag&, const DeviceTag&) = default;
};

struct DeviceSpec {
  std::optional<std::uint16_t> vendor_id;   // nothing: any
  std::optional<std::uint16_t> product_id;  // nothing: any
  AddressPattern address;
  std::optional<nvme::VerifyLevel> verify;  // nothing: [nvme] verify
  std::optional<int> cleanup_timeout_s;     // nothing: [nvme] cleanup_timeout
  nvme::Rules rules;                        // its `verify` is settled with the settings
  // Does libvirt bind the device back to the nvme driver after the guest? If not, Reclaim does.
  // Nothing: as the [pci] passthrough_whitelist says, or else it does (config/claims.h).
  std::optional<bool> managed;
  SharedSubsystem shared_subsystem = SharedSubsystem::refuse;
  std::vector<DeviceTag> tags;
  std::vector<std::string> steps;  // names of [step:NAME] sections that are for its devices
  std::optional<bool> manual;      // clean = manual or auto; nothing: [clean] automated
  // The fields from here to config_ignored are of [devices] alone (handlers/options.h
  // FunctionPolicy).
  std::string type;
  std::string driver;
  std::vector<std::string> roms_allowed;
  std::vector<nvme::ConfigRange> config_ignored;
  // Normalised as Nova normalises it; takes the place of CUSTOM_PCI_<VENDOR>_<PRODUCT>. Empty: not
  // given.
  std::string resource_class;
  // Nova's way to name a network card. While a guest has the card, no interface of the host bears
  // the name, so that such an entry matches nothing here. Empty: not given.
  std::string devname;
  // The other keys Nova puts into an entry, kept as written (JSON), without effect here.
  std::vector<std::pair<std::string, std::string>> ignored;
  std::string text;  // the entry's JSON, for `reclaim plan` to show
  Location at;
  bool service = false;  // it is in a file of --service-config: entries of our own come first
};

inline constexpr std::size_t kDeviceSpecBytesMax = std::size_t{64} * 1024;  // of one option's value
inline constexpr std::size_t kDeviceSpecsMax = 256;                         // of all entries

// Reads one value of the option: an object, or a list of objects. What is wrong is appended to
// `problems` with its place, all of it; the entries that are right are returned.
[[nodiscard]] std::vector<DeviceSpec> parse_device_spec(std::string_view text, const Location& at,
                                                        std::vector<Problem>& problems);

// Reads one value of [devices] device_spec, as parse_device_spec() does.
[[nodiscard]] std::vector<DeviceSpec> parse_function_spec(std::string_view text, const Location& at,
                                                          std::vector<Problem>& problems);

// Reads a step's `devices`: an object with an entry's vendor_id, product_id and address, and
// nothing else. `option` is how problems name it. Nothing: there are problems.
[[nodiscard]] std::optional<DeviceSpec> parse_device_match(std::string_view text,
                                                           std::string_view option,
                                                           const Location& at,
                                                           std::vector<Problem>& problems);

// Reads one value of Cyborg's [pci] passthrough_whitelist, whose entries say which devices they are
// for and whether libvirt manages them, and nothing that counts besides.
[[nodiscard]] std::vector<DeviceSpec> parse_passthrough_whitelist(std::string_view text,
                                                                  const Location& at,
                                                                  std::vector<Problem>& problems);

[[nodiscard]] bool matches(const DeviceSpec& spec, std::uint16_t vendor_id,
                           std::uint16_t product_id, const PciAddress& address);

// The first entry that matches, as Nova decides; nothing: no entry matches, and the device is left
// as it is.
[[nodiscard]] std::optional<std::size_t> match(const std::vector<DeviceSpec>& specs,
                                               std::uint16_t vendor_id, std::uint16_t product_id,
                                               const PciAddress& address);

// True if it restricts nothing: any vendor, any product, any place in domain 0000.
[[nodiscard]] bool matches_every_drive(const DeviceSpec& spec);

// True if one device can match both.
[[nodiscard]] bool overlap(const DeviceSpec& a, const DeviceSpec& b);

// One warning for each entry that never counts, since an earlier one takes all that it matches. An
// exception before the general entry is how it is written. `option` is how it names them.
[[nodiscard]] std::vector<Problem> never_counting(const std::vector<DeviceSpec>& specs,
                                                  std::string_view option);

// Nova's rule: a standard class stays, anything else becomes CUSTOM_ with only A-Z, 0-9 and '_'.
[[nodiscard]] std::string normalize_resource_class(std::string_view name);

}  // namespace reclaim::config
