// One page of `GET /v2/devices`, in the order that was asked for, made in pieces: the marker is
// looked for, the rows behind it are collected, no more than the page takes, and written.
//
// Thread: any. Holds on to the devices it may yet write.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "handlers/api/device_list.h"

namespace reclaim::api {

class DevicePage final {
 public:
  // `url`: of the list, without a query.
  DevicePage(Devices devices, DeviceQuery query, DeviceForm form, std::string url);

  // Goes on with it; false: take() has the body.
  [[nodiscard]] bool go_on();
  // Errc::invalid: no device has the marker's UUID.
  [[nodiscard]] Result<std::string> take();

 private:
  struct Row {
    HostDevices host;  // keeps the device
    const Device* device = nullptr;
    std::size_t place = 0;  // in the order of hosts and addresses
  };
  struct Before {
    DeviceKey key;
    bool descending;
    bool operator()(const Row& a, const Row& b) const;
  };
  enum class Phase { marker, rows, body };

  [[nodiscard]] bool look_for_marker();
  [[nodiscard]] bool collect();
  [[nodiscard]] bool write();
  void consider(Row row);
  void begin(Phase phase);

  Devices devices_;
  const DeviceQuery query_;
  const DeviceForm form_;
  const std::string url_;
  Phase phase_ = Phase::rows;
  std::size_t next_ = 0;   // of the hosts
  std::size_t place_ = 0;  // of the next device
  std::size_t written_ = 0;
  Row marker_;                  // null device: none, or it was not found
  std::set<Row, Before> rows_;  // one more than the page has, at most: it tells that there is more
  std::string last_;            // UUID of the row written last
  std::string body_ = R"({"devices":[)";
};

}  // namespace reclaim::api
