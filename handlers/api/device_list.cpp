#include "handlers/api/device_list.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "handlers/api/paging.h"
#include "state/base/enum_names.h"
#include "state/base/log.h"

namespace reclaim::api {
namespace {

constexpr std::array<std::string_view, 5> kStates{"available", "allocated", "pending_cleaning",
                                                  "cleaning", "error"};
constexpr std::array<std::string_view, 2> kStatuses{"enabled", "maintaining"};
constexpr std::array<std::string_view, 2> kDirections{"asc", "desc"};
constexpr std::array<std::string_view, 9> kKeys{"uuid",         "type",       "vendor",
                                                "model",        "hostname",   "status",
                                                "device_state", "created_at", "updated_at"};
constexpr std::size_t kDeviceBytes = 480;  // about what one takes in a list

Error bad_word(std::string_view name, std::string_view value, const auto& accepted) {
  return Error{Errc::invalid, fmt::format("{} = '{}'; accepted are {}", name,
                                          printable_excerpt(value, 40), fmt::join(accepted, ", "))};
}

bool is_one_of(const auto& accepted, std::string_view value) {
  return std::find(accepted.begin(), accepted.end(), value) != accepted.end();
}

// A parameter's name, and what its value, which is never empty, does to the query.
struct Name {
  std::string_view name;
  Microversion since;
  Status (*take)(DeviceQuery& query, const std::string& value);
};

constexpr Name kNames[] = {
    {"type", kVersionMin,
     [](DeviceQuery& query, const std::string& value) -> Status {
       query.filter.type = value;
       return Ok{};
     }},
    {"vendor", kVersionMin,
     [](DeviceQuery& query, const std::string& value) -> Status {
       query.filter.vendor = value;
       return Ok{};
     }},
    {"hostname", kVersionMin,
     [](DeviceQuery& query, const std::string& value) -> Status {
       query.filter.hostname = value;
       return Ok{};
     }},
    {"status", kVersionDeviceState,
     [](DeviceQuery& query, const std::string& value) -> Status {
       if (!is_one_of(kStatuses, value)) return bad_word("status", value, kStatuses);
       query.filter.status = value;
       return Ok{};
     }},
    {"device_state", kVersionDeviceState,
     [](DeviceQuery& query, const std::string& value) -> Status {
       if (!is_one_of(kStates, value)) return bad_word("device_state", value, kStates);
       query.filter.device_state = value;
       return Ok{};
     }},
    {"limit", kVersionPages,
     [](DeviceQuery& query, const std::string& value) -> Status {
       const auto limit = parse_limit(value);
       if (!limit) return limit.error();
       query.limit = *limit;
       return Ok{};
     }},
    {"marker", kVersionPages,
     [](DeviceQuery& query, const std::string& value) -> Status {
       auto marker = parse_marker(value, "a device");
       if (!marker) return marker.error();
       query.marker = *std::move(marker);
       return Ok{};
     }},
    {"sort_key", kVersionPages,
     [](DeviceQuery& query, const std::string& value) -> Status {
       const auto key = std::find(kKeys.begin(), kKeys.end(), value);
       if (key == kKeys.end()) return bad_word("sort_key", value, kKeys);
       // kKeys names all but the first, in their order.
       query.sort_key = static_cast<DeviceKey>(key - kKeys.begin() + 1);
       return Ok{};
     }},
    {"sort_dir", kVersionPages,
     [](DeviceQuery& query, const std::string& value) -> Status {
       if (!is_one_of(kDirections, value)) return bad_word("sort_dir", value, kDirections);
       query.descending = value == "desc";
       return Ok{};
     }},
};

std::string names_at(Microversion version) {
  std::vector<std::string_view> accepted;
  for (const Name& one : kNames) {
    if (one.since <= version) accepted.push_back(one.name);
  }
  return fmt::format(" at microversion {} are {}", to_string(version), fmt::join(accepted, ", "));
}

}  // namespace

bool DeviceFilter::passes(const Device& device) const {
  const auto is = [](const std::optional<std::string>& wanted, std::string_view value) {
    return !wanted || *wanted == value;
  };
  return is(type, device.type) && is(vendor, device.vendor_id) && is(hostname, device.host) &&
         is(status, device.status) && is(device_state, to_string(device.state));
}

Result<DeviceQuery> parse_device_query(const Parameters& parameters, Microversion version) {
  DeviceQuery query;
  query.parameters = parameters;
  std::vector<std::string_view> given;
  for (const auto& [name, value] : parameters) {
    const auto* known = std::find_if(
        std::begin(kNames), std::end(kNames),
        [&, &asked = name](const Name& one) { return one.name == asked && one.since <= version; });
    if (known == std::end(kNames)) return unknown_parameter(name, names_at(version));
    if (is_one_of(given, known->name)) return given_twice(known->name);
    // Cyborg's reading: an empty filter is none.
    if (value.empty()) continue;
    given.push_back(known->name);
    if (auto taken = known->take(query, value); !taken) return std::move(taken).error();
  }
  return query;
}

DeviceList::DeviceList(Devices devices, DeviceFilter filter, DeviceForm form)
    : devices_(std::move(devices)), filter_(std::move(filter)), form_(std::move(form)) {}

bool DeviceList::go_on() {
  // Room is taken by the list that is being made, not by those that wait.
  if (next_ == 0 && filter_.all()) {
    std::size_t count = 0;
    for (const HostDevices& of_host : devices_.hosts) count += of_host->size();
    body_.reserve(count * kDeviceBytes);
  }
  for (std::size_t seen = 0; seen < kDevicesAPiece && next_ < devices_.hosts.size(); ++next_) {
    const HostDevices of_host = std::move(devices_.hosts[next_]);
    seen += of_host->size();
    for (const Device& device : *of_host) {
      if (!filter_.passes(device)) continue;
      if (body_.back() == '}') body_ += ',';
      append_device(body_, device, form_);
    }
  }
  if (next_ < devices_.hosts.size()) return true;
  body_ += "]" + damaged_member(devices_.damaged, form_) + "}";
  return false;
}

}  // namespace reclaim::api
