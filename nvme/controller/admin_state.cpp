#include "nvme/controller/admin_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "nvme/controller/admin_command.h"
#include "nvme/controller/buffer.h"
#include "nvme/controller/state_pages.h"

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kNamespacesMax = 8192;
constexpr std::uint64_t kBootBytesMax = std::uint64_t{32} << 20U;
constexpr std::size_t kLogChunkBytes = std::size_t{64} * 1024;
constexpr std::uint32_t kAll = 0xffffffff;

constexpr std::uint8_t kGetLog = 0x02;
constexpr std::uint8_t kIdentify = 0x06;
constexpr std::uint8_t kGetFeatures = 0x0a;
constexpr std::uint8_t kSecuritySend = 0x81;
constexpr std::uint8_t kSecurityReceive = 0x82;
constexpr std::uint8_t kReservationReport = 0x0e;

constexpr std::uint8_t kProtocolList = 0x00;
constexpr std::uint8_t kProtocolTcg = 0x01;
constexpr std::uint8_t kProtocolNvme = 0xea;
constexpr std::uint16_t kRpmb = 0x0001;
constexpr std::uint16_t kLevel0ComId = 0x0001;

// One reading of a drive: the state that grows, and what could not be read. More than thirty
// methods: one for each surface, and nothing else is shared by them.
class StateReader final {
 public:
  explicit StateReader(const StateSource& source) : source_(source) {}

  Status identify_all();
  Status read_surfaces();
  [[nodiscard]] ControllerState take() { return std::move(state_); }

  Result<std::span<std::byte>> get_log(std::uint8_t log, std::uint8_t specific,
                                       std::uint64_t offset, std::size_t bytes,
                                       std::string_view name);

 private:
  Result<std::span<std::byte>> identify(std::uint8_t cns, std::uint32_t nsid,
                                        std::string_view name);
  Result<std::vector<std::uint32_t>> namespace_list(std::uint8_t cns, std::string_view name);
  Status read_namespace(std::uint32_t nsid, bool active);
  Result<std::span<std::byte>> security_receive(std::uint8_t protocol, std::uint16_t specific,
                                                std::uint8_t target, std::size_t bytes,
                                                std::string_view name);
  Result<std::uint32_t> get_feature(std::uint8_t id, std::uint32_t nsid, std::uint32_t select);

  void read_firmware();
  void read_opal();
  void read_rpmb();
  void read_boot_partitions();
  void read_boot_contents(std::uint8_t partitions);
  void read_self_test();
  void read_lockdown();
  void read_secondary();
  void read_namespace_surfaces(NamespaceState& ns);
  void read_reservations(NamespaceState& ns);
  void read_features();
  void read_feature(const FeatureRule& rule, std::uint32_t nsid);
  void read_structures();
  void read_structure(const StructureRule& rule, std::uint32_t nsid);
  Result<std::string> get_structure(const StructureRule& rule, std::uint32_t nsid,
                                    std::uint32_t select);
  void read_nvm_sets();
  void read_endurance_groups();
  [[nodiscard]] bool says_supported(std::uint8_t log);
  // Every admin command; once patience has ended, it has ended for all that follow.
  Result<std::uint32_t> ask(const RawCommand& command, std::string_view name);
  Status go_on() {
    if (ended_) ended_ = source_.patience.check();
    return ended_;
  }
  void missing(std::string_view surface, const Error& error) {
    state_.unreadable.push_back(Unreadable{std::string(surface), error.what});
  }

  const StateSource& source_;
  ControllerState state_;
  ControllerAbilities abilities_;
  Status ended_ = Ok{};
  AlignedBuffer page_{kLogChunkBytes};
};

Result<std::uint32_t> StateReader::ask(const RawCommand& command, std::string_view name) {
  if (auto going = go_on(); !going) return std::move(going).error();
  return admin_command(source_.controller_fd, command, source_.timeout_ms, name);
}

Result<std::span<std::byte>> StateReader::identify(std::uint8_t cns, std::uint32_t nsid,
                                                   std::string_view name) {
  RawCommand command;
  command.opcode = kIdentify;
  command.nsid = nsid;
  command.cdw10 = cns;
  command.data = page_.bytes().first(kPageBytes);
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  auto done = ask(command, name);
  if (!done) return std::move(done).error();
  return command.data;
}

Result<std::span<std::byte>> StateReader::get_log(std::uint8_t log, std::uint8_t specific,
                                                  std::uint64_t offset, std::size_t bytes,
                                                  std::string_view name) {
  CHECK(bytes <= kLogChunkBytes && bytes % 4 == 0 && bytes > 0);
  constexpr std::uint32_t kRetainEvents = 1U << 15U;
  const auto dwords = static_cast<std::uint32_t>(bytes / 4 - 1);
  RawCommand command;
  command.opcode = kGetLog;
  command.nsid = kAll;
  command.cdw10 = log | std::uint32_t{specific} << 8U | kRetainEvents | dwords << 16U;
  command.cdw11 = dwords >> 16U;
  command.cdw12 = static_cast<std::uint32_t>(offset);
  command.cdw13 = static_cast<std::uint32_t>(offset >> 32U);
  command.data = page_.bytes().first(bytes);
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  auto done = ask(command, name);
  if (!done) return std::move(done).error();
  return command.data;
}

Result<std::span<std::byte>> StateReader::security_receive(std::uint8_t protocol,
                                                           std::uint16_t specific,
                                                           std::uint8_t target, std::size_t bytes,
                                                           std::string_view name) {
  RawCommand command;
  command.opcode = kSecurityReceive;
  command.cdw10 = std::uint32_t{protocol} << 24U | std::uint32_t{specific} << 8U | target;
  command.cdw11 = static_cast<std::uint32_t>(bytes);
  command.data = page_.bytes().first(bytes);
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  auto done = ask(command, name);
  if (!done) return std::move(done).error();
  return command.data;
}

Result<std::uint32_t> StateReader::get_feature(std::uint8_t id, std::uint32_t nsid,
                                               std::uint32_t select) {
  RawCommand command;
  command.opcode = kGetFeatures;
  command.nsid = nsid;
  command.cdw10 = id | select << 8U;
  return ask(command, fmt::format("Get Features {:#04x}", id));
}

Result<std::vector<std::uint32_t>> StateReader::namespace_list(std::uint8_t cns,
                                                               std::string_view name) {
  std::vector<std::uint32_t> all;
  while (true) {
    const auto page = identify(cns, all.empty() ? 0 : all.back(), name);
    if (!page) return page.error();
    const auto part = parse_nsid_list(*page);
    if (!part) return part.error();
    if (!part->empty() && !all.empty() && part->front() <= all.back()) {
      return Error{Errc::invalid, fmt::format("{}: it repeats itself", name)};
    }
    all.insert(all.end(), part->begin(), part->end());
    if (part->size() < kPageBytes / 4) return all;
    if (all.size() > kNamespacesMax) {
      return Error{Errc::limit, fmt::format("{}: more than {} namespaces", name, kNamespacesMax)};
    }
  }
}

Status StateReader::read_namespace(std::uint32_t nsid, bool active) {
  // CNS 00h shows active ones only, 11h every allocated one.
  const auto page =
      identify(active ? 0x00 : 0x11, nsid, fmt::format("Identify Namespace {}", nsid));
  if (!page) return page.error();
  auto ns = parse_namespace_state(*page, nsid, state_.formats);
  if (!ns) return Error{Errc::failed, ns.error().what, ns.error().raw};
  ns->active = active;
  state_.namespaces.push_back(*ns);
  return Ok{};
}

Status StateReader::identify_all() {
  const auto page = identify(0x01, 0, "Identify Controller");
  if (!page) return page.error();
  const auto abilities = parse_controller_abilities(*page, state_);
  if (!abilities) return abilities.error();
  abilities_ = *abilities;
  const auto active = namespace_list(0x02, "Identify, active namespaces");
  if (!active) return active.error();
  std::set<std::uint32_t> nsids(active->begin(), active->end());
  const auto allocated = namespace_list(0x10, "Identify, allocated namespaces");
  if (allocated) {
    nsids.insert(allocated->begin(), allocated->end());
  } else if (state_.namespace_management() || allocated.error().code != Errc::not_found) {
    return allocated.error();
  }
  const std::set<std::uint32_t> seen(active->begin(), active->end());
  for (const std::uint32_t nsid : nsids) {
    if (auto read = read_namespace(nsid, seen.count(nsid) != 0); !read) return read;
  }
  if (state_.formats.empty() && state_.namespace_management()) {
    // The formats common to all namespaces; not every drive answers.
    const auto common = identify(0x00, kAll, "Identify Namespace, common");
    if (common) static_cast<void>(parse_namespace_state(*common, kAll, state_.formats).ok());
  }
  return Ok{};
}

Status StateReader::read_surfaces() {
  auto health = read_health(source_.controller_fd, source_.timeout_ms);
  if (health) {
    state_.health = *health;
  } else {
    missing("health", health.error());
  }
  read_firmware();
  read_opal();
  read_rpmb();
  read_boot_partitions();
  read_self_test();
  read_lockdown();
  read_secondary();
  for (NamespaceState& ns : state_.namespaces) {
    if (ns.active) read_namespace_surfaces(ns);
  }
  read_features();
  read_structures();
  read_nvm_sets();
  read_endurance_groups();
  return ended_;
}

void StateReader::read_firmware() {
  const auto page = get_log(0x03, 0, 0, 512, "Get Log Page Firmware Slot");
  if (!page) return missing("firmware", page.error());
  auto firmware = parse_firmware(*page);
  if (!firmware) return missing("firmware", firmware.error());
  state_.firmware = *std::move(firmware);
}

void StateReader::read_opal() {
  if ((state_.oacs & 1U) == 0) return;
  const auto list =
      security_receive(kProtocolList, 0, 0, 512, "Security Receive, list of protocols");
  bool listed = false;
  if (list) {
    const auto protocols = parse_security_protocols(*list);
    if (!protocols) return missing("opal", protocols.error());
    listed = std::count(protocols->begin(), protocols->end(), kProtocolTcg) != 0;
  } else if (list.error().code != Errc::not_found) {
    return missing("opal", list.error());
  }
  const auto page = security_receive(kProtocolTcg, kLevel0ComId, 0, 2048,
                                     "Security Receive, TCG Level 0 Discovery");
  if (!page && page.error().code == Errc::not_found && !listed) return;
  if (!page) return missing("opal", page.error());
  const auto opal = parse_level0(*page);
  if (!opal) return missing("opal", opal.error());
  if (listed && !opal->supported) {
    return missing("opal", Error{Errc::invalid, "TCG Level 0 Discovery: it is empty"});
  }
  state_.opal = *opal;
}

void StateReader::read_rpmb() {
  state_.rpmb_targets = static_cast<std::uint8_t>(abilities_.rpmb & 7U);
  for (std::uint8_t target = 0; target < state_.rpmb_targets; ++target) {
    std::array<std::byte, 16> nonce{};
    if (auto random = fill_random(nonce); !random) return missing("rpmb", random.error());
    auto frame = rpmb_counter_request(target, nonce);
    RawCommand command;
    command.opcode = kSecuritySend;
    command.cdw10 = std::uint32_t{kProtocolNvme} << 24U | std::uint32_t{kRpmb} << 8U | target;
    command.cdw11 = static_cast<std::uint32_t>(frame.size());
    command.data = frame;
    const auto sent = ask(command, "Security Send, RPMB write counter");
    if (!sent) return missing("rpmb", sent.error());
    const auto page = security_receive(kProtocolNvme, kRpmb, target, kRpmbFrameBytes,
                                       "Security Receive, RPMB write counter");
    if (!page) return missing("rpmb", page.error());
    const auto programmed = parse_rpmb_counter(*page, nonce);
    if (!programmed) return missing("rpmb", programmed.error());
    if (*programmed) {
      state_.rpmb_programmed = static_cast<std::uint8_t>(state_.rpmb_programmed | 1U << target);
    }
  }
}

bool StateReader::says_supported(std::uint8_t log) {
  if ((abilities_.log_attributes & 0x20U) == 0) return false;
  const auto page = get_log(0x00, 0, 0, 1024, "Get Log Page Supported Log Pages");
  if (!page) {
    missing("supported_logs", page.error());
    return false;
  }
  return parse_supported_log(*page, log).value();
}

void StateReader::read_boot_partitions() {
  constexpr std::uint8_t kLog = 0x15;
  const bool claimed = says_supported(kLog);
  const auto page = get_log(kLog, 0, 0, kBootHeaderBytes, "Get Log Page Boot Partition");
  if (!page && page.error().code == Errc::not_found && !claimed) return;
  if (!page) return missing("boot_partitions", page.error());
  const auto header = parse_boot_header(*page);
  if (!header) return missing("boot_partitions", header.error());
  if (header->bytes == 0) return;
  state_.boot.supported = true;
  state_.boot.active = header->active;
  state_.boot.bytes = header->bytes;
  if (header->bytes > kBootBytesMax) {
    return missing("boot_partitions",
                   Error{Errc::limit, fmt::format("{} bytes each, at most {} are read",
                                                  header->bytes, kBootBytesMax)});
  }
  read_boot_contents(2);
}

void StateReader::read_boot_contents(std::uint8_t partitions) {
  for (std::uint8_t id = 0; id < partitions; ++id) {
    std::vector<std::byte> content;
    content.reserve(state_.boot.bytes);
    while (content.size() < state_.boot.bytes) {
      const std::size_t bytes =
          std::min<std::size_t>(kLogChunkBytes, state_.boot.bytes - content.size());
      const auto page = get_log(0x15, id, kBootHeaderBytes + content.size(), bytes,
                                "Get Log Page Boot Partition");
      if (!page) return missing("boot_partitions", page.error());
      content.insert(content.end(), page->begin(), page->end());
    }
    state_.boot.sha256.push_back(sha256_hex(content));
  }
}

void StateReader::read_self_test() {
  if ((state_.oacs & 0x10U) == 0) return;
  const auto page = get_log(0x06, 0, 0, 564, "Get Log Page Device Self-test");
  if (!page) return missing("self_test", page.error());
  state_.self_test = parse_self_test(*page).value();
}

void StateReader::read_lockdown() {
  constexpr std::uint8_t kNowProhibited = 1U << 4U;
  constexpr std::uint8_t kAdminCommands = 0;
  constexpr std::uint8_t kFeatures = 2;
  if ((state_.oacs & 0x400U) == 0) return;
  for (const auto& [scope, into] : {std::pair{kAdminCommands, &state_.locked_commands},
                                    std::pair{kFeatures, &state_.locked_features}}) {
    const auto page = get_log(0x14, static_cast<std::uint8_t>(kNowProhibited | scope), 0, 512,
                              "Get Log Page Lockdown");
    if (!page) return missing("lockdown", page.error());
    *into = parse_lockdown(*page).value();
  }
}

void StateReader::read_secondary() {
  if ((state_.oacs & 0x80U) == 0) return;
  const auto page = identify(0x15, 0, "Identify, secondary controllers");
  if (!page) return missing("virtualization", page.error());
  auto list = parse_secondary_controllers(*page);
  if (!list) return missing("virtualization", list.error());
  state_.secondary = *std::move(list);
}

void StateReader::read_namespace_surfaces(NamespaceState& ns) {
  constexpr std::uint8_t kWriteProtect = 0x84;
  if ((state_.nwpc & 1U) != 0) {
    const auto value = get_feature(kWriteProtect, ns.nsid, 0);
    if (value) {
      ns.write_protect = static_cast<std::uint8_t>(*value & 7U);
    } else {
      missing("write_protect", value.error());
    }
  }
  if ((state_.oncs & 0x20U) != 0) read_reservations(ns);
}

void StateReader::read_reservations(NamespaceState& ns) {
  const auto node = std::find_if(source_.nodes.begin(), source_.nodes.end(),
                                 [&](const StateSource::Node& n) { return n.nsid == ns.nsid; });
  if (node == source_.nodes.end()) {
    return missing(
        "reservations",
        Error{Errc::not_found, fmt::format("namespace {} has no block node on the host", ns.nsid)});
  }
  RawCommand command;
  command.opcode = kReservationReport;
  command.nsid = ns.nsid;
  command.cdw10 = kPageBytes / 4 - 1;
  command.data = page_.bytes().first(kPageBytes);
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  const auto done = io_command(node->fd, command, source_.timeout_ms,
                               fmt::format("Reservation Report of namespace {}", ns.nsid));
  if (!done) return missing("reservations", done.error());
  if (auto parsed = parse_reservations(command.data, ns); !parsed) {
    missing("reservations", parsed.error());
  }
}

void StateReader::read_features() {
  for (const FeatureRule& rule : feature_rules()) {
    if (!rule.per_namespace) {
      read_feature(rule, 0);
      continue;
    }
    for (const NamespaceState& ns : state_.namespaces) {
      if (ns.active) read_feature(rule, ns.nsid);
    }
  }
}

void StateReader::read_feature(const FeatureRule& rule, std::uint32_t nsid) {
  constexpr std::uint32_t kCurrent = 0;
  constexpr std::uint32_t kDefault = 1;
  constexpr std::uint32_t kSaved = 2;
  constexpr std::uint32_t kSupported = 3;
  const auto current = get_feature(rule.id, nsid, kCurrent);
  if (!current && current.error().code == Errc::not_found) return;  // it does not have it
  if (!current) return missing(rule.name, current.error());
  FeatureState feature;
  feature.id = rule.id;
  feature.nsid = nsid;
  feature.current = *current;
  if ((state_.oncs & 0x10U) != 0) {
    const auto supported = get_feature(rule.id, nsid, kSupported);
    if (!supported) return missing(rule.name, supported.error());
    feature.saveable = (*supported & 1U) != 0;
    feature.changeable = (*supported & 4U) != 0;
    const auto factory = get_feature(rule.id, nsid, kDefault);
    if (!factory) return missing(rule.name, factory.error());
    feature.factory = *factory;
    if (feature.saveable) {
      const auto saved = get_feature(rule.id, nsid, kSaved);
      if (!saved) return missing(rule.name, saved.error());
      feature.saved = *saved;
    }
  }
  state_.features.push_back(feature);
}

// A digest: of the value and the structure. All zero is "nothing".
Result<std::string> StateReader::get_structure(const StructureRule& rule, std::uint32_t nsid,
                                               std::uint32_t select) {
  RawCommand command;
  command.opcode = kGetFeatures;
  command.nsid = nsid;
  command.cdw10 = rule.id | select << 8U;
  command.data = page_.bytes().first(rule.bytes);
  std::fill(command.data.begin(), command.data.end(), std::byte{0});
  const auto value = ask(command, fmt::format("Get Features {:#04x}", rule.id));
  if (!value) return value.error();
  const bool nothing = *value == 0 && std::all_of(command.data.begin(), command.data.end(),
                                                  [](std::byte b) { return b == std::byte{0}; });
  if (nothing) return std::string("nothing");
  return fmt::format("{:#x}, SHA-256 {}", *value, sha256_hex(command.data));
}

void StateReader::read_structure(const StructureRule& rule, std::uint32_t nsid) {
  constexpr std::uint32_t kCurrent = 0;
  constexpr std::uint32_t kDefault = 1;
  constexpr std::uint32_t kSaved = 2;
  constexpr std::uint32_t kSupported = 3;
  auto current = get_structure(rule, nsid, kCurrent);
  if (!current && current.error().code == Errc::not_found) return;  // it does not have it
  if (!current) return missing(rule.surface, current.error());
  ConfigurationState state;
  state.surface = rule.surface;
  state.name = nsid != 0 ? fmt::format("of namespace {}", nsid) : "of the controller";
  state.now = rule.host_sets ? "" : *std::move(current);
  if ((state_.oncs & 0x10U) != 0) {
    const auto supported = get_feature(rule.id, nsid, kSupported);
    if (!supported) return missing(rule.surface, supported.error());
    const auto factory = get_structure(rule, nsid, kDefault);
    if (!factory) return missing(rule.surface, factory.error());
    state.factory = *factory;
    if ((*supported & 1U) != 0) {
      const auto saved = get_structure(rule, nsid, kSaved);
      if (!saved) return missing(rule.surface, saved.error());
      if (state.now != *saved) state.now += (state.now.empty() ? "" : "; saved: ") + *saved;
    }
  }
  if (!state.now.empty()) state_.configuration.push_back(std::move(state));
}

void StateReader::read_structures() {
  for (const StructureRule& rule : structure_rules()) {
    if (!rule.per_namespace) {
      read_structure(rule, 0);
      continue;
    }
    for (const NamespaceState& ns : state_.namespaces) {
      if (ns.active) read_structure(rule, ns.nsid);
    }
  }
}

void StateReader::read_nvm_sets() {
  constexpr std::uint32_t kNvmSets = 1U << 2U;
  if ((abilities_.attributes & kNvmSets) == 0) return;
  const auto page = identify(0x04, 0, "Identify, NVM sets");
  if (!page) return missing("nvm_sets", page.error());
  auto sets = parse_nvm_sets(*page);
  if (!sets) return missing("nvm_sets", sets.error());
  state_.configuration.push_back(
      ConfigurationState{"nvm_sets", "of the drive", *std::move(sets), ""});
}

// The groups, and of each whether its data is placed flexibly (FDP), which a tenant may switch.
void StateReader::read_endurance_groups() {
  constexpr std::uint32_t kGroups = 1U << 4U;
  constexpr std::uint32_t kPlacement = 1U << 19U;
  constexpr std::uint8_t kFlexiblePlacement = 0x1d;
  if ((abilities_.attributes & kGroups) == 0) return;
  const auto page = identify(0x19, 0, "Identify, endurance groups");
  if (!page) return missing("endurance_groups", page.error());
  const auto groups = parse_endurance_groups(*page);
  if (!groups) return missing("endurance_groups", groups.error());
  std::string text;
  for (const std::uint16_t group : *groups) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", group);
    if ((abilities_.attributes & kPlacement) == 0) continue;
    RawCommand command;
    command.opcode = kGetFeatures;
    command.cdw10 = kFlexiblePlacement;
    command.cdw11 = group;
    const auto value = ask(command, "Get Features 0x1d");
    if (!value) return missing("endurance_groups", value.error());
    text += fmt::format(" (placement {:#x})", *value);
  }
  state_.configuration.push_back(ConfigurationState{"endurance_groups", "of the drive", text, ""});
}

}  // namespace

Status Patience::check() const {
  if (stop != nullptr && stop->requested()) {
    return Error{Errc::cancelled, "stopped while the drive was asked"};
  }
  if (clock == nullptr || clock->now().mono.ms < deadline.ms) return Ok{};
  return Error{Errc::failed, "the drive did not answer everything within the step's time"};
}

Result<ControllerState> read_controller_state(const StateSource& source) {
  StateReader reader(source);
  if (auto identified = reader.identify_all(); !identified) return std::move(identified).error();
  if (auto read = reader.read_surfaces(); !read) return std::move(read).error();
  return reader.take();
}

Result<ControllerState> read_namespace_layout(int controller_fd, std::uint32_t timeout_ms,
                                              const Patience& patience) {
  const StateSource source{controller_fd, {}, timeout_ms, patience};
  StateReader reader(source);
  if (auto identified = reader.identify_all(); !identified) return std::move(identified).error();
  return reader.take();
}

Result<HealthState> read_health(int controller_fd, std::uint32_t timeout_ms) {
  const StateSource source{controller_fd, {}, timeout_ms, {}};
  StateReader reader(source);
  const auto page = reader.get_log(0x02, 0, 0, 512, "Get Log Page SMART");
  if (!page) return page.error();
  return parse_health(*page);
}

}  // namespace reclaim::nvme
