#include "tests/emulator/host/sysfs_files.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace reclaim::emulator {
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& value) {
  fs::create_directories(path.parent_path());
  std::ifstream old(path);
  std::ostringstream text;
  text << old.rdbuf();
  if (old.is_open() && text.str() == value) return;
  std::ofstream(path, std::ios::trunc) << value;
}

void put_line(const fs::path& path, const std::string& value) {
  put(path, value + "\n");
}

void link(const fs::path& at, const fs::path& target) {
  fs::create_directories(at.parent_path());
  const fs::path relative = target.lexically_relative(at.parent_path());
  std::error_code code;
  if (fs::is_symlink(fs::symlink_status(at, code)) && fs::read_symlink(at, code) == relative)
    return;
  fs::remove(at, code);
  fs::create_symlink(relative, at, code);
}

void drop(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string hex(const char* format, unsigned value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string hex_bytes(std::span<const std::uint8_t> bytes, const char* between) {
  std::string text;
  for (const std::uint8_t each : bytes) {
    if (!text.empty()) text += between;
    text += hex("%02x", each);
  }
  return text;
}

std::string uuid_of(std::span<const std::uint8_t> nguid) {
  std::string text;
  for (std::size_t i = 0; i < nguid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex("%02x", nguid[i]);
  }
  return text;
}

std::string numbers(unsigned major, unsigned minor) {
  return std::to_string(major) + ":" + std::to_string(minor);
}

}  // namespace reclaim::emulator
