// The options for restoring firmware. Passive data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace reclaim::nvme {

// An entry of [nvme] firmware_images.
struct FirmwareImage {
  std::string model;      // of the drives that it is for, as Identify tells it, without padding
  std::string revision;   // that a slot with it shows
  std::uint8_t slot = 0;  // 1..7
  std::string path;       // absolute
  std::string sha256;     // of the file, lower-case hex
  friend bool operator==(const FirmwareImage&, const FirmwareImage&) = default;
};

struct FirmwareOptions {
  std::vector<FirmwareImage> images;
  uid_t owner = 0;  // whose the files have to be
};

}  // namespace reclaim::nvme
