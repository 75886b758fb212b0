#include "tests/emulator/host/host.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "state/base/pci_address.h"
#include "tests/emulator/host/tenant_data.h"

namespace reclaim::emulator {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kNamespaceBytesMin = 1024 * 1024;

void put_text(std::span<char> field, std::string_view text, char padding) {
  std::fill(field.begin(), field.end(), padding);
  std::copy_n(text.begin(), std::min(text.size(), field.size()), field.begin());
}

// Everything that must differ between drives when a description does not say.
void name_drive(DriveState& state, const std::string& address, std::uint32_t index) {
  const std::string number = std::to_string(index);
  put_text(state.serial, "RECLAIM-" + address.substr(address.size() - 7, 2) + "-" + number, ' ');
  put_text(state.model, "Reclaim Emulated NVMe", ' ');
  put_text(state.subsystem_nqn, "nqn.2026-01.org.reclaim:emulated:" + address, '\0');
  put_text(state.host.address, address, '\0');
  put_text(state.host.driver, "nvme", '\0');
  put_text(std::span(state.host.controller_state).first(15), "live", '\0');
  state.host.instance = index;
  state.host.disk = index;
  state.host.iommu_group = 20 + index;
  state.noise_seed ^= index * 0x632be59bd9b4e019ULL;
}

// Replaces the lines of a file that contain `marker` by `line` (or by nothing).
void edit_lines(const fs::path& path, const std::string& marker, const std::string& line) {
  std::ifstream in(path);
  std::string kept;
  for (std::string each; std::getline(in, each);) {
    if (each.find(marker) == std::string::npos) kept += each + "\n";
  }
  in.close();
  if (!line.empty()) kept += line + "\n";
  std::ofstream(path, std::ios::trunc) << kept;
}

NamespaceState new_namespace(std::uint32_t nsid, std::uint64_t bytes, std::uint64_t noise) {
  NamespaceState made{};
  made.allocated = true;
  made.attached = true;
  made.blocks = bytes / 512;
  std::memcpy(made.eui64.data(), &noise, made.eui64.size());
  std::memcpy(made.nguid.data() + 8, &noise, 8);
  made.nguid[0] = static_cast<std::uint8_t>(nsid);
  return made;
}

}  // namespace

Result<std::unique_ptr<Host>> Host::create(const fs::path& root,
                                           const std::vector<std::string>& drives) {
  std::error_code code;
  fs::create_directories(root, code);
  if (!fs::is_empty(root, code) || code) {
    return Error{Errc::refused,
                 "an emulated host needs an empty folder, and " + root.string() + " is not one"};
  }
  std::unique_ptr<Host> host(new Host(fs::canonical(root)));
  if (const Status made = host->tree_.create_skeleton(); !made.ok()) return made.error();
  std::uint32_t index = 0;
  for (const std::string& each : drives) {
    if (const Status made = host->add_drive(each, index); !made.ok()) return made.error();
    ++index;
  }
  return host;
}

Result<std::unique_ptr<Host>> Host::open(const fs::path& root) {
  std::error_code code;
  const fs::path real = fs::canonical(root, code);
  if (code || !fs::is_directory(real / "state", code)) {
    return Error{Errc::not_found, root.string() + " is not an emulated host"};
  }
  std::unique_ptr<Host> host(new Host(real));
  if (const Status loaded = host->load(); !loaded.ok()) return loaded.error();
  return host;
}

Status Host::load() {
  const std::lock_guard guard(mutex_);
  std::error_code code;
  for (const auto& each : fs::directory_iterator(root_ / "state", code)) {
    const fs::path& path = each.path();
    if (path.extension() != ".state" || drives_.contains(path.stem().string())) continue;
    auto opened = DriveFile::open(path);
    if (!opened.ok()) return opened.error();
    drives_[path.stem().string()] = std::move(*opened);
  }
  return Ok{};
}

Status Host::add_drive(const std::string& description, std::uint32_t index) {
  const auto settings = parse_settings(description);
  if (!settings.ok()) return settings.error();
  std::string address;
  std::uint64_t bytes = std::uint64_t{64} << 20U;
  std::string driver = "nvme";
  for (const Setting& each : *settings) {
    if (each.key == "address") address = each.value;
    if (each.key == "driver") driver = each.value;
    if (each.key != "size") continue;
    const auto size = parse_size(each.value);
    if (!size.ok()) return size.error();
    bytes = *size;
  }
  const auto parsed = parse_pci_address(address);
  if (!parsed.ok()) return parsed.error().wrap("a drive needs address=");
  address = to_string(*parsed);
  if (bytes < kNamespaceBytesMin || bytes % 4096 != 0) {
    return Error{Errc::invalid, "size must be a multiple of 4096 and at least 1M"};
  }
  auto made = DriveFile::create(root_ / "state", address);
  if (!made.ok()) return made.error();
  DriveFile& drive = **made;
  const Status applied = drive.with([&](Controller&, DriveState& state) -> Status {
    name_drive(state, address, index);
    put_text(state.host.driver, driver, '\0');
    state.capabilities.capacity_bytes = bytes;
    state.namespaces[0] = new_namespace(1, bytes, state.noise_seed);
    for (const Setting& each : *settings) {
      if (each.key == "address" || each.key == "size" || each.key == "driver") continue;
      if (const Status done = apply_setting(state, each); !done.ok()) return done;
    }
    if (!drive.media().create(1, bytes)) {
      return Error{Errc::failed, "cannot create the media of " + address};
    }
    return Ok{};
  });
  if (!applied.ok()) return applied;
  const std::lock_guard guard(mutex_);
  drives_[address] = std::move(*made);
  return tree_.sync(drive);
}

std::vector<std::string> Host::addresses() {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> all;
  for (const auto& [address, drive] : drives_) all.push_back(address);
  return all;
}

Result<DriveFile*> Host::drive(const std::string& address) {
  if (const Status loaded = load(); !loaded.ok()) return loaded.error();
  const std::lock_guard guard(mutex_);
  const auto found = drives_.find(address);
  if (found == drives_.end()) {
    return Error{Errc::not_found, "the emulated host has no drive at " + address};
  }
  return found->second.get();
}

std::optional<Node> Host::find_node(std::string_view name) {
  if (!name.starts_with("nvme")) return std::nullopt;
  const char* at = name.data() + 4;
  const char* const end = name.data() + name.size();
  std::uint32_t first = 0;
  std::uint32_t nsid = 0;
  const auto number = std::from_chars(at, end, first);
  if (number.ec != std::errc{}) return std::nullopt;
  if (number.ptr != end) {
    if (*number.ptr != 'n') return std::nullopt;
    const auto second = std::from_chars(number.ptr + 1, end, nsid);
    if (second.ec != std::errc{} || second.ptr != end || nsid == 0 || nsid > kNamespacesMax) {
      return std::nullopt;
    }
  }
  if (!load().ok()) return std::nullopt;
  const std::lock_guard guard(mutex_);
  for (const auto& [address, drive] : drives_) {
    const bool here = drive->with([&](Controller&, DriveState& state) {
      if (text_of(state.host.driver) != "nvme") return false;
      if (nsid == 0) return state.host.instance == first;
      return state.host.disk == first && state.namespaces[nsid - 1].attached;
    });
    if (here) return Node{drive.get(), nsid};
  }
  return std::nullopt;
}

Status Host::sync(DriveFile& drive) {
  const std::lock_guard guard(mutex_);
  return tree_.sync(drive);
}

Status Host::fill(const std::string& address, std::uint64_t seed, bool blank) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  DriveFile& drive = **found;
  return drive.with([&](Controller& controller, DriveState& state) -> Status {
    std::vector<std::byte> chunk(1U << 20U);
    for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
      const std::uint64_t bytes = controller.namespace_bytes(nsid);
      if (blank) {
        drive.media().discard(nsid, 0, bytes);
        continue;
      }
      for (std::uint64_t at = 0; at < bytes; at += chunk.size()) {
        const std::uint64_t length = std::min<std::uint64_t>(chunk.size(), bytes - at);
        const std::span<std::byte> part = std::span(chunk).first(length);
        for (std::uint64_t i = 0; i + kTenantBlock <= length; i += kTenantBlock) {
          tenant_block(seed + nsid - 1, at + i, bytes, part.subspan(i).first<kTenantBlock>());
        }
        if (!drive.media().write(nsid, at, part)) {
          return Error{Errc::failed, "cannot write the media of " + address};
        }
        state.smart.sectors_written += length / 512;
        ++state.smart.host_writes;
        state.sanitize.data_erased = false;
      }
    }
    return Ok{};
  });
}

Status Host::set(const std::string& address, const std::string& key, const std::string& value) {
  if (key == "driver") return bind(address, value);
  if (key == "mounted") return mount(address, value);
  if (key == "swap") return swap_on(address, value == "1");
  if (key == "holder") return hold(address, value);
  if (key == "power_loss") return power_loss(address);
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const Status done = (*found)->with([&](Controller&, DriveState& state) {
    return apply_setting(state, Setting{key, value});
  });
  if (!done.ok()) return done;
  return sync(**found);
}

Result<std::uint32_t> Host::add_namespace(const std::string& address, std::uint64_t bytes,
                                          bool hidden) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  DriveFile& drive = **found;
  const std::uint32_t made = drive.with([&](Controller& controller, DriveState& state) {
    std::uint64_t used = bytes;
    for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
      used += controller.namespace_bytes(nsid);
    }
    for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
      NamespaceState& each = state.namespaces[nsid - 1];
      if (each.allocated) continue;
      if (!drive.media().create(nsid, bytes)) return 0U;
      each = new_namespace(nsid, bytes, state.noise_seed ^ nsid);
      each.attached = !hidden;
      Capabilities& can = state.capabilities;
      can.capacity_bytes = std::max(can.capacity_bytes, used);
      return nsid;
    }
    return 0U;
  });
  if (made == 0) return Error{Errc::limit, "no room for another namespace on " + address};
  if (const Status done = sync(drive); !done.ok()) return done.error();
  return made;
}

Status Host::bind(const std::string& address, const std::string& driver) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  if (!driver.empty() && !fs::exists(root_ / "sys/bus/pci/drivers" / driver)) {
    return Error{Errc::not_found, "the emulated host has no driver " + driver};
  }
  (*found)->with([&](Controller& controller, DriveState& state) {
    put_text(state.host.driver, driver, '\0');
    put_text(std::span(state.host.controller_state).first(15), "live", '\0');
    ++state.host.generation;
    controller.reset();
  });
  return sync(**found);
}

Status Host::reset(const std::string& address) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([](Controller& controller, DriveState& state) {
    controller.reset();
    const char* after = state.faults.reset_fails ? "dead" : "live";
    put_text(std::span(state.host.controller_state).first(15), after, '\0');
  });
  return sync(**found);
}

Status Host::power_loss(const std::string& address) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([](Controller& controller, DriveState& state) {
    controller.power_loss();
    ++state.host.generation;  // the function went away and came back: old descriptors are dead
  });
  return sync(**found);
}

Status Host::claim(const std::string& address, bool claimed) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([&](Controller&, DriveState& state) { state.host.claimed = claimed; });
  return Ok{};
}

Status Host::mount(const std::string& address, const std::string& mount_point) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  std::string disk;
  std::uint32_t minor = 0;
  (*found)->with([&](Controller&, DriveState& state) {
    disk = "/dev/" + disk_name(state, 1);
    minor = block_minor(state, 1);
  });
  const std::string line = mount_point.empty()
                               ? ""
                               : "97 22 " + std::to_string(kBlockMajor) + ":" +
                                     std::to_string(minor) + " / " + mount_point +
                                     " rw,relatime shared:55 - ext4 " + disk + " rw";
  edit_lines(root_ / "proc/self/mountinfo", " " + disk + " ", line);
  edit_lines(root_ / "proc/1/mountinfo", " " + disk + " ", line);
  edit_lines(root_ / "proc/mounts", disk + " ",
             mount_point.empty() ? "" : disk + " " + mount_point + " ext4 rw,relatime 0 0");
  return claim(address, !mount_point.empty());
}

Status Host::swap_on(const std::string& address, bool on) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const std::string disk =
      (*found)->with([](Controller&, DriveState& state) { return "/dev/" + disk_name(state, 1); });
  const std::string line = disk + "                          partition\t65532\t\t0\t\t-2";
  edit_lines(root_ / "proc/swaps", disk + " ", on ? line : "");
  return claim(address, on);
}

Status Host::hold(const std::string& address, const std::string& holder) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const std::string disk =
      (*found)->with([](Controller&, DriveState& state) { return disk_name(state, 1); });
  const fs::path holders = fs::canonical(root_ / "sys/block" / disk) / "holders";
  for (const auto& each : fs::directory_iterator(holders)) fs::remove_all(each.path());
  if (holder.empty()) return claim(address, false);
  const fs::path target = root_ / "sys/devices/virtual/block" / holder;
  fs::create_directories(target / "slaves");
  fs::create_symlink(target.lexically_relative(holders), holders / holder);
  return claim(address, true);
}

}  // namespace reclaim::emulator
