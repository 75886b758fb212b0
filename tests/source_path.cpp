#include "tests/source_path.h"

#include <string>
#include <string_view>

namespace reclaim {

std::string source_path(std::string_view path) {
  return std::string(RECLAIM_SOURCE_DIR "/").append(path);
}

}  // namespace reclaim
