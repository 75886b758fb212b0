#include "handlers/api/device_page.h"

#include <fmt/core.h>

#include <compare>
#include <iterator>

#include "handlers/api/paging.h"

namespace reclaim::api {
namespace {

std::strong_ordering compare(const Device& a, const Device& b, DeviceKey key) {
  switch (key) {
    case DeviceKey::place:
      break;
    case DeviceKey::uuid:
      return a.uuid <=> b.uuid;
    case DeviceKey::type:
      return a.type <=> b.type;
    case DeviceKey::vendor:
      return a.vendor_id <=> b.vendor_id;
    case DeviceKey::model:
      return a.product_id <=> b.product_id;
    case DeviceKey::hostname:
      return a.host <=> b.host;
    case DeviceKey::status:
      return a.status <=> b.status;
    case DeviceKey::device_state:
      return to_string(a.state) <=> to_string(b.state);
    case DeviceKey::created_at:
      return a.created_at.ms <=> b.created_at.ms;
    case DeviceKey::updated_at:
      return a.updated_at.ms <=> b.updated_at.ms;
  }
  return std::strong_ordering::equal;
}

}  // namespace

bool DevicePage::Before::operator()(const Row& a, const Row& b) const {
  auto order = compare(*a.device, *b.device, key);
  if (order == std::strong_ordering::equal) order = a.place <=> b.place;
  return descending ? order > 0 : order < 0;
}

DevicePage::DevicePage(Devices devices, DeviceQuery query, DeviceForm form, std::string url)
    : devices_(std::move(devices)),
      query_(std::move(query)),
      form_(std::move(form)),
      url_(std::move(url)),
      rows_(Before{query_.sort_key, query_.descending}) {
  if (!query_.marker.empty()) phase_ = Phase::marker;
}

bool DevicePage::go_on() {
  switch (phase_) {
    case Phase::marker:
      return look_for_marker();
    case Phase::rows:
      return collect();
    case Phase::body:
      break;
  }
  return write();
}

void DevicePage::begin(Phase phase) {
  phase_ = phase;
  next_ = place_ = 0;
}

bool DevicePage::look_for_marker() {
  for (std::size_t seen = 0; seen < kDevicesAPiece && next_ < devices_.hosts.size(); ++next_) {
    const HostDevices& host = devices_.hosts[next_];
    seen += host->size();
    for (const Device& device : *host) {
      if (device.uuid == query_.marker) {
        marker_ = Row{host, &device, place_};
        begin(Phase::rows);
        return true;
      }
      place_ += 1;
    }
  }
  return next_ < devices_.hosts.size();
}

bool DevicePage::collect() {
  for (std::size_t seen = 0; seen < kDevicesAPiece && next_ < devices_.hosts.size(); ++next_) {
    const HostDevices host = std::move(devices_.hosts[next_]);
    seen += host->size();
    for (const Device& device : *host) {
      if (query_.filter.passes(device)) consider(Row{host, &device, place_});
      place_ += 1;
    }
  }
  if (next_ == devices_.hosts.size()) begin(Phase::body);
  return true;
}

void DevicePage::consider(Row row) {
  const Before before = rows_.key_comp();
  if (marker_.device != nullptr && !before(marker_, row)) return;
  const bool full = query_.limit && rows_.size() > *query_.limit;
  if (full && !before(row, *rows_.rbegin())) return;
  rows_.insert(std::move(row));
  if (full) rows_.erase(std::prev(rows_.end()));
}

bool DevicePage::write() {
  for (std::size_t count = 0; count < kDevicesAPiece && !rows_.empty(); ++count) {
    if (query_.limit && written_ == *query_.limit) {
      body_ += "]" + damaged_member(devices_.damaged, form_) +
               next_link("devices", url_, query_.parameters, last_) + "}";
      return false;
    }
    const Device& device = *rows_.begin()->device;
    if (written_ > 0) body_ += ',';
    append_device(body_, device, form_);
    last_ = device.uuid;
    written_ += 1;
    rows_.erase(rows_.begin());
  }
  if (!rows_.empty()) return true;
  body_ += "]" + damaged_member(devices_.damaged, form_) + "}";
  return false;
}

Result<std::string> DevicePage::take() {
  if (query_.marker.empty() || marker_.device != nullptr) return std::move(body_);
  return Error{
      Errc::invalid,
      fmt::format("marker = '{}'; accepted is the UUID of a device, and there is none with "
                  "this one",
                  query_.marker)};
}

}  // namespace reclaim::api
