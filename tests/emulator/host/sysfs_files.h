// Writing the files of an emulated sysfs. Inside of host/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace reclaim::emulator {

// A file is rewritten only when its text differs: readers in other processes see no gap.
void put(const std::filesystem::path& path, const std::string& value);
void put_line(const std::filesystem::path& path, const std::string& value);
void link(const std::filesystem::path& at, const std::filesystem::path& target);  // relative
void drop(const std::filesystem::path& path);
std::string hex(const char* format, unsigned value);
std::string hex_bytes(std::span<const std::uint8_t> bytes, const char* between);
std::string uuid_of(std::span<const std::uint8_t> nguid);
std::string numbers(unsigned major, unsigned minor);  // "259:0"

}  // namespace reclaim::emulator
