#include "nvme/pci/function_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "nvme/host/driver_override.h"
#include "nvme/host/sysfs.h"
#include "state/base/text.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kConfigBytesMin = 256;
constexpr std::size_t kAttributeBytesMax = 8192;
constexpr std::uint64_t kRomBytesMax = std::uint64_t{16} << 20U;  // the largest a ROM BAR can be
constexpr std::size_t kChunkBytes = std::size_t{64} << 10U;
constexpr std::uint32_t kRomAddress = 0xfffff800U;
constexpr std::string_view kSignature = "\x55\xaa";

// Writes something when it is made, and what undoes it at the latest when it ends. The kernel's
// `rom` takes nothing but "0\n", of two bytes, for off.
class Switch final {
 public:
  explicit Switch(std::string path) : path_(std::move(path)) {}
  ~Switch() { (void)off(); }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  [[nodiscard]] Status on() {
    on_ = true;
    return write_attribute(path_, "1\n");
  }
  [[nodiscard]] Status off() {
    if (!on_) return Ok{};
    on_ = false;
    return write_attribute(path_, "0\n");
  }

 private:
  std::string path_;
  bool on_ = false;
};

class Sha256 final {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    CHECK(context_ != nullptr);
    CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view bytes) {
    CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  [[nodiscard]] std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned length = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), &length) == 1);
    return hex_of({out.data(), length});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// The error's `raw` is the errno of a read.
Result<PciRom> read_image(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return Error{Errc::failed, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  }
  PciRom rom;
  Sha256 digest;
  std::string begin;
  std::vector<char> chunk(kChunkBytes);
  for (;;) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int number = errno;
      return Error{Errc::failed,
                   fmt::format("its expansion ROM cannot be read at byte {}: {}", rom.bytes,
                               std::strerror(number)),
                   rom.bytes == 0 ? number : 0};
    }
    if (got == 0) break;
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
    if (begin.size() < kSignature.size()) begin += bytes.substr(0, kSignature.size());
    digest.add(bytes);
    rom.bytes += bytes.size();
    if (rom.bytes > kRomBytesMax) {
      return Error{Errc::failed, fmt::format("its expansion ROM is longer than {} bytes, as none "
                                             "can be; replace the device",
                                             kRomBytesMax)};
    }
  }
  if (rom.bytes == 0) return Error{Errc::failed, "its expansion ROM reads as empty", EIO};
  if (!begin.starts_with(kSignature)) {
    return Error{
        Errc::failed,
        fmt::format("its expansion ROM begins with {}, not with 55aa: it is no image; "
                    "write the vendor's firmware to the device, or replace it",
                    hex_of({reinterpret_cast<const unsigned char*>(begin.data()), begin.size()}))};
  }
  rom.present = true;
  rom.sha256 = digest.hex();
  return rom;
}

// The kernel says EIO of a ROM in which it finds no image, and of one that it cannot see: only
// where the function is awake, answers to memory accesses, and its ROM has an address, the former
// is true.
bool could_be_seen(const Options& options, const PciAddress& address) {
  const auto config = read_config(options, address);
  const auto space = config ? parse_config_space(*config) : Result<ConfigSpace>(config.error());
  return space.ok() && space->memory_enabled && space->power_state == 0 &&
         (space->rom_bar & kRomAddress) != 0;
}

Result<std::optional<std::uint64_t>> read_total(const std::string& path, std::string_view name) {
  const auto text = read_file(path, kAttributeBytesMax);
  if (!text && text.error().code == Errc::not_found) return std::optional<std::uint64_t>{};
  if (!text) return text.error();
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    if (take_until(line, ' ') != name) continue;
    const auto number = parse_number<std::uint64_t>(line);
    if (number) return number;
  }
  return Error{Errc::failed, fmt::format("{} has no line {}", path, name)};
}

}  // namespace

Result<std::string> read_config(const Options& options, const PciAddress& address) {
  const std::string folder = function_path(options, address);
  std::string bytes = read_config_space(folder);
  if (bytes.size() < kConfigBytesMin) {
    return Error{Errc::failed,
                 fmt::format("{}/config gives {} bytes, {} at least are needed; the worker needs "
                             "CAP_SYS_ADMIN, and the function has to be there",
                             folder, bytes.size(), kConfigBytesMin)};
  }
  if (const auto space = parse_config_space(bytes); !space) {
    return Error{Errc::failed, space.error().what};
  }
  return bytes;
}

Result<PciRom> read_rom(const Options& options, const PciAddress& address) {
  const std::string folder = function_path(options, address);
  const std::string path = folder + "/rom";
  if (::access(path.c_str(), F_OK) != 0) {
    if (errno == ENOENT) return PciRom{};
    return Error{Errc::failed, fmt::format("cannot look at {}: {}", path, std::strerror(errno))};
  }
  const auto driver = read_driver(options.sysfs_root, address);
  if (!driver) return driver.error();
  Switch memory(folder + "/enable");
  Switch window(path);
  const auto enabled = read_file(folder + "/enable", kAttributeBytesMax);
  if (driver->empty() && enabled && *enabled == "0") {
    if (auto done = memory.on(); !done) return std::move(done).error();
  }
  if (auto done = window.on(); !done) return std::move(done).error();
  auto rom = read_image(path);
  const bool nothing_found = !rom && rom.error().raw == EIO && could_be_seen(options, address);
  if (auto done = window.off(); !done) return std::move(done).error();
  if (auto done = memory.off(); !done) return std::move(done).error();
  if (nothing_found) return PciRom{};
  if (rom || rom.error().raw == 0) return rom;
  return Error{Errc::failed,
               fmt::format("{}; {}", rom.error().what,
                           driver->empty()
                               ? "see the kernel's log, power-cycle its slot, or replace it"
                               : fmt::format("it is bound to {}, which may have put it to sleep: "
                                             "let the step run with driver = none",
                                             *driver))};
}

Result<std::optional<PciErrorCounters>> read_error_counters(const Options& options,
                                                            const PciAddress& address) {
  const std::string folder = function_path(options, address);
  const auto correctable = read_total(folder + "/aer_dev_correctable", "TOTAL_ERR_COR");
  if (!correctable) return correctable.error();
  const auto nonfatal = read_total(folder + "/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
  if (!nonfatal) return nonfatal.error();
  const auto fatal = read_total(folder + "/aer_dev_fatal", "TOTAL_ERR_FATAL");
  if (!fatal) return fatal.error();
  if (!*correctable && !*nonfatal && !*fatal) return std::optional<PciErrorCounters>{};
  if (*correctable && *nonfatal && *fatal) {
    return std::optional(PciErrorCounters{**correctable, **nonfatal, **fatal});
  }
  return Error{Errc::failed, fmt::format("{} has not all of its aer_dev_ files", folder)};
}

Result<PciState> read_pci_state(const Options& options, const PciAddress& address) {
  PciState state;
  auto config = read_config(options, address);
  if (!config) return std::move(config).error();
  const auto space = parse_config_space(*config);
  CHECK(space.ok());
  if (space->link) {
    state.link_speed = space->link->speed;
    state.link_width = space->link->width;
  }
  state.config = *std::move(config);
  auto rom = read_rom(options, address);
  if (!rom) return std::move(rom).error();
  state.rom = *std::move(rom);
  const auto errors = read_error_counters(options, address);
  if (!errors) return errors.error();
  state.errors = *errors;
  return state;
}

}  // namespace reclaim::nvme
