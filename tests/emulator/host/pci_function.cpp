#include "tests/emulator/host/pci_function.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "state/base/text.h"
#include "tests/emulator/host/config_image.h"
#include "tests/emulator/host/internal_io.h"
#include "tests/emulator/host/sysfs_files.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kRomBytes = 65'536;
constexpr unsigned kVfioMinor = 100;  // behind those of the drives
constexpr unsigned kSleeping = 3;     // D3hot

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string rom_image(const std::string& seed) {
  std::string image(kRomBytes, '\0');
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<char>(seed[i % seed.size()] + static_cast<int>(i / 251));
  }
  image[0] = '\x55';
  image[1] = '\xaa';
  return image;
}

bool is_vfio(const std::string& driver) {
  return driver.find("vfio") != std::string::npos;
}

std::string counters(const char* total, const std::string& value) {
  return "RxErr 0\nBadTLP " + value + "\n" + total + " " + value + "\n";
}

}  // namespace

PciFunction::PciFunction(const fs::path& root, const std::string& address)
    : root_(root),
      address_(address),
      tree_(root),
      state_(root / "state" / (address + ".function")),
      folder_(tree_.device_folder(address)) {}

bool PciFunction::exists() const {
  const InternalIo internal;
  std::error_code code;
  return fs::exists(state_, code);
}

std::string PciFunction::get(const std::string& key) const {
  const InternalIo internal;
  return read_all(state_ / key);
}

void PciFunction::keep(const std::string& key, const std::string& value) const {
  const InternalIo internal;
  put(state_ / key, value);
}

std::string PciFunction::config() const {
  return read_all(folder_ / "config");
}

void PciFunction::show_config(const std::string& bytes) const {
  const InternalIo internal;
  put(folder_ / "config", bytes);
  const auto status = get_config(bytes, card::kExpress + 0x12, 2);
  const auto most = get_config(bytes, card::kExpress + 0xc, 4);
  put_line(folder_ / "current_link_width", std::to_string(status >> 4U & 0x3fU));
  put_line(folder_ / "max_link_width", std::to_string(most >> 4U & 0x3fU));
}

Status PciFunction::create(const std::vector<Setting>& settings) const {
  const InternalIo internal;
  unsigned vendor = 0x8086;
  unsigned device = 0x1572;
  unsigned class_code = 0x020000;
  fs::create_directories(state_);
  for (const auto& [key, value] : {std::pair{"group", "60"},
                                   {"driver", "i40e"},
                                   {"resets", ""},
                                   {"methods", "flr bus"},
                                   {"reset", "ok"},
                                   {"rom_on", "0"},
                                   {"correctable", "0"},
                                   {"nonfatal", "0"},
                                   {"fatal", "0"}}) {
    keep(key, value);
  }
  for (const Setting& each : settings) {
    const unsigned number = parse_hex<unsigned>(each.value).value_or(0);
    if (each.key == "vendor") vendor = number;
    if (each.key == "device") device = number;
    if (each.key == "class") class_code = number;
    if (each.key == "group" || each.key == "driver") keep(each.key, each.value);
  }
  keep("config", card_config(static_cast<std::uint16_t>(vendor), static_cast<std::uint16_t>(device),
                             class_code));
  keep("rom", rom_image("shipped"));
  put_line(folder_ / "vendor", hex("0x%04x", vendor));
  put_line(folder_ / "device", hex("0x%04x", device));
  put_line(folder_ / "class", hex("0x%06x", class_code));
  put_line(folder_ / "driver_override", "(null)");
  put_line(folder_ / "enable", "0");
  put_line(folder_ / "sriov_totalvfs", "64");
  put_line(folder_ / "sriov_numvfs", "0");
  put(folder_ / "reset", "");
  put_line(folder_ / "reset_method", get("methods"));
  show_config(get("config"));
  show();
  const fs::path drivers = root_ / "sys/bus/pci/drivers";
  for (const char* file : {"bind", "unbind", "new_id", "remove_id"}) {
    put(drivers / get("driver") / file, "");
  }
  const fs::path group_folder = root_ / "sys/kernel/iommu_groups" / group();
  link(folder_ / "iommu_group", group_folder);
  link(group_folder / "devices" / address_, folder_);
  link(folder_ / "subsystem", root_ / "sys/bus/pci");
  link(root_ / "sys/bus/pci/devices" / address_, folder_);
  for (const Setting& each : settings) {
    if (each.key == "address" || each.key == "vendor" || each.key == "device" ||
        each.key == "class" || each.key == "group" || each.key == "driver") {
      continue;
    }
    if (auto done = set(each.key, each.value); !done.ok()) return done;
  }
  return Ok{};
}

Status PciFunction::set(const std::string& key, const std::string& value) const {
  const InternalIo internal;
  if (key == "bound") return bind(value);
  if (key == "config" || key == "register") return change_register(value, key == "config");
  if (key == "link") {
    const std::size_t colon = value.find(':');
    const auto speed = parse_number<unsigned>(std::string_view(value).substr(0, colon));
    const auto width = colon == std::string::npos
                           ? std::nullopt
                           : parse_number<unsigned>(std::string_view(value).substr(colon + 1));
    if (!speed || !width) return Error{Errc::invalid, "link is SPEED:WIDTH"};
    std::string bytes = get("config");
    put_config(bytes, card::kExpress + 0x12, 2, 0x1000U | *width << 4U | *speed);
    keep("config", bytes);
    show_config(bytes);
    return Ok{};
  }
  if (key == "rom") {
    keep("rom", value == "none" || value == "blank" ? value : rom_image(value));
  } else if (key == "methods") {
    std::string list = value == "none" ? "" : value;
    for (char& c : list) c = c == '+' ? ' ' : c;
    keep("methods", list);
    put_line(folder_ / "reset_method", list);
  } else if (key == "correctable" || key == "nonfatal" || key == "fatal" || key == "rom_fails" ||
             key == "reset" || key == "up" || key == "master" || key == "upper" ||
             key == "vfio_user" || key == "unbinds") {
    keep(key, value);
  } else {
    return Error{Errc::invalid, "a function has no setting " + key};
  }
  show();
  show_driver();
  return Ok{};
}

Status PciFunction::change_register(const std::string& value, bool for_good) const {
  const std::size_t colon = value.find(':');
  const auto at = parse_hex<std::size_t>(std::string_view(value).substr(0, colon));
  const auto bytes = colon == std::string::npos
                         ? std::nullopt
                         : bytes_of_hex(std::string_view(value).substr(colon + 1));
  if (!at || !bytes || *at + bytes->size() > 4096) {
    return Error{Errc::invalid, "a register is OFFSET:HEX"};
  }
  std::string live = config();
  live.replace(*at, bytes->size(), *bytes);
  if (for_good) {
    std::string kept = get("config");
    keep("config", kept.replace(*at, bytes->size(), *bytes));
  }
  show_config(live);
  return Ok{};
}

// What does not depend on the driver.
void PciFunction::show() const {
  const std::string rom = get("rom");
  if (rom == "none") {
    drop(folder_ / "rom");
  } else {
    put(folder_ / "rom", rom);
  }
  put(folder_ / "aer_dev_correctable", counters("TOTAL_ERR_COR", get("correctable")));
  put(folder_ / "aer_dev_nonfatal", counters("TOTAL_ERR_NONFATAL", get("nonfatal")));
  put(folder_ / "aer_dev_fatal", counters("TOTAL_ERR_FATAL", get("fatal")));
}

std::string PciFunction::driver() const {
  const InternalIo internal;
  std::error_code code;
  return fs::read_symlink(folder_ / "driver", code).filename();
}

fs::path PciFunction::vfio_device() const {
  return root_ / "dev/vfio/devices" / ("vfio" + group());
}

Status PciFunction::bind(const std::string& wanted) const {
  const InternalIo internal;
  const std::string before = driver();
  if (wanted != before && !before.empty() && get("unbinds") == "0") {
    return Error{Errc::failed, before + " does not let go of " + address_};
  }
  const fs::path drivers = root_ / "sys/bus/pci/drivers";
  if (!wanted.empty() && !fs::exists(drivers / wanted)) {
    return Error{Errc::not_found, "the emulated host has no driver " + wanted};
  }
  if (!before.empty()) drop(drivers / before / address_);
  if (wanted.empty()) {
    drop(folder_ / "driver");
  } else {
    link(folder_ / "driver", drivers / wanted);
    link(drivers / wanted / address_, folder_);
  }
  put_line(folder_ / "enable", wanted.empty() ? "0" : "1");
  // vfio puts what no guest uses to sleep; whoever lets go wakes it.
  std::string bytes = config();
  put_config(bytes, card::kPower + 4, 1,
             (get_config(bytes, card::kPower + 4, 1) & 0xfcU) | (is_vfio(wanted) ? kSleeping : 0U));
  // Only a driver, or the `enable` attribute, switches its memory on.
  if (wanted.empty()) put_config(bytes, 4, 1, get_config(bytes, 4, 1) & 0xf9U);
  if (!wanted.empty()) put_config(bytes, 4, 1, get_config(bytes, 4, 1) | 6U);
  show_config(bytes);
  show_driver();
  return Ok{};
}

// What the bound driver makes: an interface, or the nodes of vfio.
void PciFunction::show_driver() const {
  const std::string now = driver();
  const fs::path interface = folder_ / "net" / ("eth" + group());
  if (now == matching_driver()) {
    put_line(interface / "flags", get("up") == "1" ? "0x1003" : "0x1002");
    put_line(interface / "operstate", get("up") == "1" ? "up" : "down");
    for (const char* kind : {"master", "upper"}) {
      const std::string name = get(kind);
      const fs::path at = interface / (kind == std::string("upper") ? "upper_" + name : kind);
      if (!name.empty()) link(at, root_ / "sys/devices/virtual/net" / name);
    }
  } else {
    drop(folder_ / "net");
  }
  const std::string cdev = vfio_device().filename();
  if (is_vfio(now)) {
    for (const fs::path& node : {root_ / "dev/vfio" / group(), vfio_device()}) {
      if (!fs::exists(node)) put(node, "");
    }
    put_line(folder_ / "vfio-dev" / cdev / "dev", numbers(kVfioMajor, kVfioMinor));
    return;
  }
  drop(folder_ / "vfio-dev");
  drop(vfio_device());
  if (!tree_.group_on_vfio(group())) drop(root_ / "dev/vfio" / group());
}

int PciFunction::write(const std::string& attribute, const std::string& value) const {
  const InternalIo internal;
  if (attribute == "reset") return value == "1" ? reset() : EINVAL;
  if (attribute == "reset_method") {
    const std::string all = " " + get("methods") + " ";
    if (value == "default") {
      put_line(folder_ / "reset_method", get("methods"));
      return 0;
    }
    std::istringstream names(value);
    for (std::string name; names >> name;) {
      if (all.find(" " + name + " ") == std::string::npos) return EINVAL;
    }
    return -1;
  }
  if (attribute == "rom") {
    keep("rom_on", value == "0" ? "0" : "1");
    return 0;
  }
  if (attribute == "enable") {
    if (!driver().empty()) return EBUSY;
    std::string bytes = config();
    if (value == "1") put_config(bytes, 4, 1, get_config(bytes, 4, 1) | 2U);
    show_config(bytes);
    return -1;
  }
  return -1;
}

int PciFunction::rom_error(std::uint64_t offset) const {
  const InternalIo internal;
  if (get("rom_on") != "1") return EINVAL;
  const std::string bytes = config();
  const bool answers =
      (get_config(bytes, 4, 1) & 2U) != 0 && (get_config(bytes, card::kPower + 4, 1) & 3U) == 0;
  const std::string rom = get("rom");
  if (!answers || !rom.starts_with("\x55\xaa")) return EIO;
  return get("rom_fails") == "1" && offset > 0 ? EIO : 0;
}

int PciFunction::reset() const {
  std::istringstream methods(read_all(folder_ / "reset_method"));
  std::string method;
  methods >> method;
  if (method.empty()) return ENOTTY;
  const std::string outcome = get("reset");
  if (outcome == "refused") return ENOTTY;
  const std::string before = get("resets");
  keep("resets", before + (before.empty() ? "" : " ") + method);
  const std::string live = config();
  std::string fresh = get("config");
  // The kernel puts back what it had set.
  fresh.replace(4, 2, live, 4, 2);
  fresh.replace(card::kPower + 4, 1, live, card::kPower + 4, 1);
  if (outcome == "dead" || outcome == "slow") fresh.assign(fresh.size(), '\xff');
  if (outcome == "other") put_config(fresh, 2, 2, 0xdead);
  show_config(fresh);
  if (outcome == "slow") keep("reads_until_back", "2");
  return 0;
}

void PciFunction::config_is_read() const {
  const InternalIo internal;
  const std::string left = get("reads_until_back");
  if (left.empty() || left == "0") return;
  keep("reads_until_back", left == "2" ? "1" : "0");
  if (left == "1") show_config(get("config"));
}

}  // namespace reclaim::emulator
