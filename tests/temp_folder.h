// A folder of a test's own, gone with the object.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "state/base/check.h"

namespace reclaim {

class TempFolder final {
 public:
  TempFolder() : TempFolder(std::filesystem::temp_directory_path(), "") {}
  // Elsewhere. Its name has that of the temporary folder in it: so leftovers.py knows whose it is.
  explicit TempFolder(const std::filesystem::path& parent)
      : TempFolder(parent, std::filesystem::temp_directory_path().filename().string() + "-") {}
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Also where a test removed it.
  void empty() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    std::filesystem::create_directory(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  TempFolder(const std::filesystem::path& parent, const std::string& of) {
    std::string name =
        parent / ("reclaim-" + of + std::string(program_invocation_short_name) + "-XXXXXX");
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }

  std::filesystem::path path_;
};

}  // namespace reclaim
