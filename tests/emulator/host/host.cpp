#include "tests/emulator/host/host.h"

#include <algorithm>
#include <charconv>
#include <cstring>

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

// Settings that are more than a field of the drive's state.
bool of_host(const std::string& key) {
  return key == "add_namespace" || key == "hidden_namespace" || key == "attach" ||
         key == "detach" || key == "delete_namespace";
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
      if (of_host(each.key)) continue;
      if (const Status done = apply_setting(state, each); !done.ok()) return done;
    }
    if (!drive.media().create(1, bytes)) {
      return Error{Errc::failed, "cannot create the media of " + address};
    }
    return Ok{};
  });
  if (!applied.ok()) return applied;
  {
    const std::lock_guard guard(mutex_);
    drives_[address] = std::move(*made);
  }
  if (const Status done = rescan(drive); !done.ok()) return done;
  for (const Setting& each : *settings) {
    if (!of_host(each.key)) continue;
    if (const Status done = set(address, each.key, each.value); !done.ok()) return done;
  }
  return Ok{};
}

Status Host::add_function(const std::string& description) {
  const auto settings = parse_settings(description);
  if (!settings.ok()) return settings.error();
  for (const Setting& each : *settings) {
    if (each.key != "address") continue;
    const auto address = parse_pci_address(each.value);
    if (!address.ok()) return address.error();
    return PciFunction(root_, to_string(*address)).create(*settings);
  }
  return Error{Errc::invalid, "a function needs address="};
}

std::optional<PciFunction> Host::function(const std::string& address) const {
  if (!parse_pci_address(address).ok()) return std::nullopt;
  PciFunction found(root_, address);
  return found.exists() ? std::optional(std::move(found)) : std::nullopt;
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
      return state.host.disk == first && state.host.known[nsid - 1];
    });
    if (here) return Node{drive.get(), nsid};
  }
  return std::nullopt;
}

Status Host::sync(DriveFile& drive) {
  const bool waits = drive.with([](Controller&, DriveState& state) {
    return state.host.needs_rescan && text_of(state.host.driver) == "nvme";
  });
  if (!waits) return rescan(drive);
  const std::lock_guard guard(mutex_);
  return tree_.sync(drive);
}

Status Host::rescan(DriveFile& drive) {
  const std::lock_guard guard(mutex_);
  drive.with([](Controller&, DriveState& state) {
    if (state.host.settles_at_ms != 0) return;  // it cannot be asked yet
    const bool lives = state.host.outcome == ProbeFault::none;
    for (std::uint32_t i = 0; i < kNamespacesMax; ++i) {
      const NamespaceState& each = state.namespaces[i];
      state.host.known[i] =
          lives && each.allocated && each.attached && state.faults.hidden_nsid != i + 1;
    }
  });
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
  if (const auto other = function(address)) return other->set(key, value);
  if (key == "driver") return bind(address, value);
  if (key == "mounted") return mount(address, value);
  if (key == "swap") return swap_on(address, value == "1");
  if (key == "holder") return hold(address, value);
  if (key == "power_loss") return power_loss(address);
  if (key == "replug") return replug(address);
  if (of_host(key)) {
    const auto number = parse_size(value);
    if (!number.ok()) return number.error();
    return change_namespace(address, key, *number);
  }
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const Status done = (*found)->with([&](Controller&, DriveState& state) {
    return apply_setting(state, Setting{key, value});
  });
  if (!done.ok()) return done;
  return sync(**found);
}

// What a tenant did to its namespaces.
Status Host::change_namespace(const std::string& address, const std::string& key,
                              std::uint64_t value) {
  if (key == "add_namespace" || key == "hidden_namespace") {
    const auto made = add_namespace(address, value, key == "hidden_namespace");
    return made.ok() ? Status(Ok{}) : Status(made.error());
  }
  auto found = drive(address);
  if (!found.ok()) return found.error();
  const bool there = (*found)->with([&](Controller&, DriveState& state) {
    if (value == 0 || value > kNamespacesMax || !state.namespaces[value - 1].allocated) {
      return false;
    }
    NamespaceState& each = state.namespaces[value - 1];
    each.attached = key == "attach";
    if (key == "delete_namespace") {
      (*found)->media().remove(static_cast<std::uint32_t>(value));
      each = NamespaceState{};
    }
    return true;
  });
  if (!there) {
    return Error{Errc::not_found, address + " has no namespace " + std::to_string(value)};
  }
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
      state.noise_seed = state.noise_seed * 6364136223846793005ULL + 1442695040888963407ULL;
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

Status Host::power_loss(const std::string& address) {
  auto found = drive(address);
  if (!found.ok()) return found.error();
  (*found)->with([](Controller& controller, DriveState& state) {
    controller.power_loss();
    ++state.host.generation;  // the function went away and came back: old descriptors are dead
  });
  return rescan(**found);
}

}  // namespace reclaim::emulator
