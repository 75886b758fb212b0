#include "config/device_spec/device_spec.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/device_spec/clean_rules.h"
#include "config/device_spec/function_keys.h"
#include "config/oslo/options.h"
#include "state/base/bool_text.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::size_t kTagsMax = 64;
constexpr std::size_t kStepsMax = 32;
constexpr std::size_t kIdDigits = 4;  // as lspci -nn prints an id

// The keys that an [nvme] entry has besides kRuleKeys.
constexpr std::array<std::string_view, 8> kOurKeys = {
    "vendor_id", "product_id", "address", "managed", "tags", "shared_subsystem", "steps", "clean"};
// The keys that a [devices] entry has besides kFunctionKeys.
constexpr std::array<std::string_view, 6> kSharedKeys = {"vendor_id", "product_id", "address",
                                                         "tags",      "steps",      "clean"};
constexpr std::array<std::string_view, 3> kMatchKeys = {"vendor_id", "product_id", "address"};
// Nova's keys, so that an entry can be copied from nova.conf as it is.
constexpr std::array<std::string_view, 7> kNovaKeys = {
    "resource_class",   "traits",         "one_time_use", "live_migratable",
    "physical_network", "remote_managed", "trusted"};
constexpr std::array<std::string_view, 4> kNovaFlags = {"one_time_use", "live_migratable",
                                                        "remote_managed", "trusted"};
// Nova's keys that a drive's entry knows otherwise or cannot have.
constexpr std::array<std::string_view, 2> kNovaFunctionKeys = {"managed", "devname"};
// The keys that an entry of Cyborg's [pci] passthrough_whitelist has besides kNovaKeys.
constexpr std::array<std::string_view, 5> kWhitelistKeys = {"vendor_id", "product_id", "address",
                                                            "managed", "devname"};
constexpr std::string_view kDeviceSpec = "[nvme] device_spec";
constexpr std::string_view kFunctionSpec = "[devices] device_spec";
constexpr std::string_view kWhitelist = "[pci] passthrough_whitelist";
// os_resource_classes.STANDARDS.
constexpr std::array<std::string_view, 21> kStandardClasses = {
    "VCPU",
    "MEMORY_MB",
    "DISK_GB",
    "PCI_DEVICE",
    "SRIOV_NET_VF",
    "NUMA_SOCKET",
    "NUMA_CORE",
    "NUMA_THREAD",
    "NUMA_MEMORY_MB",
    "IPV4_ADDRESS",
    "VGPU",
    "VGPU_DISPLAY_HEAD",
    "NET_BW_EGR_KILOBIT_PER_SEC",
    "NET_BW_IGR_KILOBIT_PER_SEC",
    "PCPU",
    "MEM_ENCRYPTION_CONTEXT",
    "FPGA",
    "PGPU",
    "NET_PACKET_RATE_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC"};

template <typename Range>
bool contains(const Range& range, std::string_view text) {
  return std::find(range.begin(), range.end(), text) != range.end();
}

std::string text_of(const rapidjson::Value& value) {
  return std::string(value.GetString(), value.GetStringLength());
}

// The kind of an entry, which decides over the keys that it may have.
enum class EntryKind { device_spec, function_spec, whitelist, match };

// Reads one entry; everything that is wrong with it is appended to `problems`.
class EntryReader {
 public:
  EntryReader(const rapidjson::Value& entry, EntryKind kind, std::string_view option,
              const Location& at, std::vector<Problem>& problems)
      : entry_(entry), kind_(kind), option_(option), at_(at), problems_(problems) {}

  std::optional<DeviceSpec> run() && {
    const std::size_t before = problems_.size();
    spec_.at = at_;
    if (!entry_.IsObject()) {
      complain("an entry must be a JSON object like {\"address\": \"0000:c1:00.0\"}");
      return std::nullopt;
    }
    std::set<std::string> seen;
    for (const auto& member : entry_.GetObject()) {
      const std::string key = text_of(member.name);
      if (!seen.insert(key).second) {
        complain(fmt::format("'{}' is given twice", printable_excerpt(key)));
      } else {
        read(key, member.value);
      }
    }
    if (problems_.size() != before) return std::nullopt;
    if (kind_ == EntryKind::whitelist && !spec_.devname.empty()) return std::nullopt;
    spec_.text = json::to_text(entry_);
    return std::move(spec_);
  }

 private:
  void read(const std::string& key, const rapidjson::Value& value) {
    if (key == "vendor_id") return read_id(key, value, spec_.vendor_id);
    if (key == "product_id") return read_id(key, value, spec_.product_id);
    if (key == "address") return read_address(value);
    if (kind_ == EntryKind::match) return unknown_key(key, kMatchKeys);
    if (kind_ == EntryKind::function_spec) return read_function_entry(key, value);
    if (key == "managed") {
      spec_.managed = read_flag(key, value);
      return;
    }
    if (kind_ == EntryKind::whitelist) return read_whitelist_key(key, value);
    if (contains(kRuleKeys, key)) return note(read_rule(key, value, spec_));
    if (key == "shared_subsystem") return read_shared(value);
    if (key == "tags") return read_tags(value);
    if (key == "steps") return read_steps(value);
    if (key == "clean") return read_clean(value);
    if (contains(kNovaKeys, key)) return read_nova_key(key, value);
    unknown_key(key, kOurKeys, kRuleKeys, kNovaKeys);
  }

  void read_function_entry(const std::string& key, const rapidjson::Value& value) {
    if (contains(kFunctionKeys, key)) return note(read_function_key(key, value, spec_));
    if (key == "tags") return read_tags(value);
    if (key == "steps") return read_steps(value);
    if (key == "clean") return read_clean(value);
    if (contains(kNovaKeys, key)) return read_nova_key(key, value);
    if (key == "devname") return read_devname(value);
    if (key == "managed") return ignore_flag(key, value);
    unknown_key(key, kSharedKeys, kFunctionKeys, kNovaKeys, kNovaFunctionKeys);
  }

  void read_whitelist_key(const std::string& key, const rapidjson::Value& value) {
    if (key == "devname") return read_devname(value);
    if (contains(kNovaKeys, key)) {
      spec_.ignored.emplace_back(key, json::to_text(value));
      return;
    }
    unknown_key(key, kWhitelistKeys, kNovaKeys);
  }

  void read_steps(const rapidjson::Value& value) {
    bool good = value.IsArray() && value.Size() <= kStepsMax;
    if (good) {
      for (const auto& name : value.GetArray()) {
        good = good && name.IsString() && name.GetStringLength() > 0;
      }
    }
    if (!good) {
      return complain(
          fmt::format("'steps' must be a list of at most {} names of [step:NAME] "
                      "sections, like [\"reflash\"]",
                      kStepsMax));
    }
    for (const auto& name : value.GetArray()) spec_.steps.push_back(text_of(name));
  }

  void read_clean(const rapidjson::Value& value) {
    const std::string word = value.IsString() ? text_of(value) : json::to_text(value);
    if (word != "auto" && word != "manual") {
      return complain(
          fmt::format("'clean' is '{}', accepted: auto, manual", printable_excerpt(word)));
    }
    spec_.manual = word == "manual";
  }

  template <typename... Keys>
  void unknown_key(const std::string& key, const Keys&... lists) {
    std::vector<std::string> accepted;
    (accepted.insert(accepted.end(), lists.begin(), lists.end()), ...);
    const auto nearest = did_you_mean(key, accepted);
    complain(fmt::format("unknown key '{}'{}, accepted: {}", printable_excerpt(key),
                         nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "",
                         fmt::join(accepted, ", ")));
  }

  void read_devname(const rapidjson::Value& value) {
    if (!value.IsString() || value.GetStringLength() == 0) {
      return complain("'devname' must be the name of an interface like \"eth3\"");
    }
    spec_.devname = text_of(value);
  }

  void ignore_flag(const std::string& key, const rapidjson::Value& value) {
    if (read_flag(key, value)) spec_.ignored.emplace_back(key, json::to_text(value));
  }

  // Nova: hex, up to ffff, or "*"; white space around it does not count. In an entry of our own a
  // number with a digit missing is no other device's.
  void read_id(const std::string& key, const rapidjson::Value& value,
               std::optional<std::uint16_t>& id) {
    if (!value.IsString()) {
      return complain(fmt::format("'{}' must be a string like \"8086\" (hex) or \"*\"", key));
    }
    const std::string given = text_of(value);
    std::string_view digits = strip(given);
    if (digits == "*") return;
    id = parse_hex<std::uint16_t>(digits);
    if (!id) {
      return complain(fmt::format("'{}' is '{}', which is neither a hex number up to ffff nor '*'",
                                  key, printable_excerpt(given)));
    }
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    if (kind_ != EntryKind::whitelist && digits.size() < kIdDigits) {
      complain(
          fmt::format("'{}' is '{}', which has fewer than {} digits: write {:04x} if that is "
                      "the device's",
                      key, given, kIdDigits, *id));
    }
  }

  void read_address(const rapidjson::Value& value) {
    if (value.IsString()) {
      auto pattern = AddressPattern::from_glob(text_of(value));
      if (!pattern.ok()) return complain(fmt::format("'address': {}", pattern.error().what));
      spec_.address = *std::move(pattern);
      return;
    }
    if (!value.IsObject()) {
      return complain(
          "'address' must be a string like \"0000:c1:00.*\" or an object with the regular "
          "expressions domain, bus, slot and function");
    }
    AddressPattern::Fields fields;
    for (const auto& member : value.GetObject()) {
      const std::string name = text_of(member.name);
      std::optional<std::string>* field = name == "domain"     ? &fields.domain
                                          : name == "bus"      ? &fields.bus
                                          : name == "slot"     ? &fields.slot
                                          : name == "function" ? &fields.function
                                                               : nullptr;
      if (field == nullptr) {
        return complain(
            fmt::format("'address' has an unknown key '{}', accepted: domain, bus, slot, "
                        "function",
                        printable_excerpt(name)));
      }
      if (!member.value.IsString()) {
        return complain(fmt::format("'address': '{}' must be a string", name));
      }
      if (*field) return complain(fmt::format("'address': '{}' is given twice", name));
      *field = text_of(member.value);
    }
    auto pattern = AddressPattern::from_regex(fields);
    if (!pattern.ok()) return complain(fmt::format("'address': {}", pattern.error().what));
    spec_.address = *std::move(pattern);
  }

  void read_shared(const rapidjson::Value& value) {
    const std::string word = value.IsString() ? text_of(value) : json::to_text(value);
    if (word != "refuse" && word != "allow") {
      return complain(fmt::format("'shared_subsystem' is '{}', accepted: refuse, allow",
                                  printable_excerpt(word)));
    }
    spec_.shared_subsystem = word == "allow" ? SharedSubsystem::allow : SharedSubsystem::refuse;
  }

  std::optional<bool> read_flag(std::string_view key, const rapidjson::Value& value) {
    if (value.IsBool()) return value.GetBool();
    std::string text;
    if (value.IsString()) text = text_of(value);
    if (value.IsInt64()) text = std::to_string(value.GetInt64());
    const auto flag = bool_from_string(text);
    if (flag.ok()) return *flag;
    complain(fmt::format("'{}' {}", key, flag.error().what));
    return std::nullopt;
  }

  void read_tags(const rapidjson::Value& value) {
    std::vector<DeviceTag> tags;
    bool good = value.IsArray() || value.IsObject();
    if (value.IsArray()) {
      for (const auto& tag : value.GetArray()) {
        good = good && tag.IsString() && tag.GetStringLength() > 0;
        if (good) tags.push_back({text_of(tag), ""});
      }
    } else if (value.IsObject()) {
      for (const auto& member : value.GetObject()) {
        good = good && member.value.IsString() && member.name.GetStringLength() > 0;
        if (good) tags.push_back({text_of(member.name), text_of(member.value)});
      }
    }
    if (!good) {
      return complain(
          "'tags' must be a list of strings like [\"db\"] or an object of strings like "
          "{\"role\": \"db\"}");
    }
    if (tags.size() > kTagsMax) return complain(fmt::format("more than {} tags", kTagsMax));
    spec_.tags = std::move(tags);
  }

  void read_nova_key(const std::string& key, const rapidjson::Value& value) {
    if (value.IsObject() || value.IsArray()) {
      return complain(fmt::format("'{}' must be a string, a number or a boolean", key));
    }
    if (key == "resource_class") {
      if (!value.IsString() || value.GetStringLength() == 0) {
        return complain("'resource_class' must be a string like \"CUSTOM_NVME\"");
      }
      spec_.resource_class = normalize_resource_class(text_of(value));
      return;
    }
    if (contains(kNovaFlags, key)) return ignore_flag(key, value);
    spec_.ignored.emplace_back(key, json::to_text(value));
  }

  void note(const Status& taken) {
    if (!taken) complain(taken.error().what);
  }

  void complain(std::string_view text) {
    problems_.push_back({at_, fmt::format("{}: {}", option_, text)});
  }

  const rapidjson::Value& entry_;
  EntryKind kind_;
  std::string_view option_;  // as problems name it
  const Location& at_;
  std::vector<Problem>& problems_;
  DeviceSpec spec_;
};

// An object, or a list of objects.
std::vector<DeviceSpec> parse_entries(std::string_view text, EntryKind kind,
                                      std::string_view option, const Location& at,
                                      std::vector<Problem>& problems) {
  std::vector<DeviceSpec> specs;
  const auto document = json::parse(text, kDeviceSpecBytesMax);
  if (!document.ok()) {
    problems.push_back({at, fmt::format("{}: {}", option, document.error().what)});
    return specs;
  }
  const auto take = [&](const rapidjson::Value& entry) {
    if (auto spec = EntryReader(entry, kind, option, at, problems).run()) {
      specs.push_back(*std::move(spec));
    }
  };
  if (!document->IsArray()) {
    take(*document);
    return specs;
  }
  if (document->Size() > kDeviceSpecsMax) {
    problems.push_back({at, fmt::format("{}: more than {} entries", option, kDeviceSpecsMax)});
    return specs;
  }
  for (const auto& entry : document->GetArray()) take(entry);
  return specs;
}

bool compatible(const std::optional<std::uint16_t>& a, const std::optional<std::uint16_t>& b) {
  return !a || !b || *a == *b;
}

bool covers(const DeviceSpec& a, const DeviceSpec& b) {
  return (!a.vendor_id || a.vendor_id == b.vendor_id) &&
         (!a.product_id || a.product_id == b.product_id) && a.address.covers(b.address);
}

}  // namespace

std::string_view to_string(SharedSubsystem shared) {
  return shared == SharedSubsystem::allow ? "allow" : "refuse";
}

std::vector<DeviceSpec> parse_device_spec(std::string_view text, const Location& at,
                                          std::vector<Problem>& problems) {
  return parse_entries(text, EntryKind::device_spec, kDeviceSpec, at, problems);
}

std::vector<DeviceSpec> parse_function_spec(std::string_view text, const Location& at,
                                            std::vector<Problem>& problems) {
  return parse_entries(text, EntryKind::function_spec, kFunctionSpec, at, problems);
}

std::vector<DeviceSpec> parse_passthrough_whitelist(std::string_view text, const Location& at,
                                                    std::vector<Problem>& problems) {
  return parse_entries(text, EntryKind::whitelist, kWhitelist, at, problems);
}

std::optional<DeviceSpec> parse_device_match(std::string_view text, std::string_view option,
                                             const Location& at, std::vector<Problem>& problems) {
  const auto document = json::parse(text, kDeviceSpecBytesMax);
  if (!document.ok()) {
    problems.push_back({at, fmt::format("{}: {}", option, document.error().what)});
    return std::nullopt;
  }
  return EntryReader(*document, EntryKind::match, option, at, problems).run();
}

bool matches(const DeviceSpec& spec, std::uint16_t vendor_id, std::uint16_t product_id,
             const PciAddress& address) {
  return spec.vendor_id.value_or(vendor_id) == vendor_id &&
         spec.product_id.value_or(product_id) == product_id && spec.address.matches(address);
}

bool matches_every_drive(const DeviceSpec& spec) {
  return !spec.vendor_id && !spec.product_id && spec.address.covers_a_host();
}

std::optional<std::size_t> match(const std::vector<DeviceSpec>& specs, std::uint16_t vendor_id,
                                 std::uint16_t product_id, const PciAddress& address) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (matches(specs[i], vendor_id, product_id, address)) return i;
  }
  return std::nullopt;
}

bool overlap(const DeviceSpec& a, const DeviceSpec& b) {
  return compatible(a.vendor_id, b.vendor_id) && compatible(a.product_id, b.product_id) &&
         a.address.overlaps(b.address);
}

std::vector<Problem> never_counting(const std::vector<DeviceSpec>& specs, std::string_view option) {
  std::vector<Problem> found;
  for (std::size_t later = 1; later < specs.size(); ++later) {
    for (std::size_t first = 0; first < later; ++first) {
      const DeviceSpec& a = specs[first];
      const DeviceSpec& b = specs[later];
      if (!covers(a, b)) continue;
      found.push_back(
          {b.at,
           fmt::format("{}: this entry never counts, for the entry at {} comes first and matches "
                       "all that it matches: remove it, or put it before that one",
                       option, to_string(a.at))});
      break;  // one warning an entry is enough to look at it
    }
  }
  return found;
}

std::string normalize_resource_class(std::string_view name) {
  constexpr std::string_view kCustom = "CUSTOM_";
  std::string upper;
  for (const char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const auto legal = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (contains(kStandardClasses, upper)) {
    return upper;
  }
  if (upper.starts_with(kCustom) && upper.size() > kCustom.size() &&
      std::all_of(upper.begin(), upper.end(), legal)) {
    return upper;
  }
  // normalize_name(): a run of anything but letters and digits becomes one underscore.
  std::string normal(kCustom);
  bool gap = false;
  for (const char c : upper) {
    if (is_alnum(c)) {
      normal += c;
    } else if (!gap) {
      normal += '_';
    }
    gap = !is_alnum(c);
  }
  return normal;
}

}  // namespace reclaim::config
