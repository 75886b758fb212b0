// The larger groups of the settings, each read by a function of its own. Inner to config/.
#pragma once

#include <vector>

#include "config/reader.h"
#include "config/settings.h"

namespace reclaim::config {

// What they are read with; what is wrong is appended.
struct Reading {
  const Reader& read;
  std::vector<Problem>& problems;
  std::vector<Problem>& warnings;
  Purpose purpose;
};

// All of [oslo_messaging_rabbit]; `rabbit.url` stays as it is.
void read_rabbit(const Reading& reading, RabbitSettings& rabbit);
// [placement] and the login that it names.
void read_placement(const Reading& reading, PlacementSettings& placement);
void read_nvme(const Reading& reading, NvmeSettings& nvme);

inline constexpr std::size_t kSettingExcerptBytes = 255;  // of a value that an error quotes

}  // namespace reclaim::config
