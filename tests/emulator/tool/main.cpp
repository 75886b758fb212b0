// reclaim-emulator: makes emulated hosts and plays with their drives, for tests, the demo and
// people.
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/emulator/host/digest.h"
#include "tests/emulator/host/host.h"

namespace reclaim::emulator {
namespace {

const char* const kUsage =
    R"(usage: reclaim-emulator COMMAND ROOT ...
  create ROOT --drive address=0000:01:00.0,KEY=VALUE,... [--drive ...] [--function address=...]
  show ROOT [ADDRESS]
  fill ROOT ADDRESS --seed N | --blank
  digest ROOT ADDRESS [--seed N]     sha256, non-zero bytes, blocks that survive of a fill
  set ROOT ADDRESS KEY=VALUE ...
  add-namespace ROOT ADDRESS SIZE [--hidden]
  bind ROOT ADDRESS DRIVER           nvme or vfio-pci
  unbind ROOT ADDRESS
  reset ROOT ADDRESS
  power-loss ROOT ADDRESS
  firmware FILE REVISION BYTES       writes an image that emulated drives take
Drives are used with RECLAIM_EMULATOR_ROOT=ROOT and LD_PRELOAD=libreclaim_emulator.so.

keys of create and set:
)";
const char* const kMoreKeys =
    "also       add_namespace=SIZE hidden_namespace=SIZE attach=NSID detach=NSID\n"
    "           delete_namespace=NSID driver= power_loss=1\n"
    "set only   mounted=/mnt swap=0|1 holder=dm-0\n"
    "functions that are no drives: address= group= class= vendor= device= driver= bound=\n"
    "           config=OFFSET:HEX register=OFFSET:HEX rom=SEED|none|blank rom_fails=0|1\n"
    "           correctable= nonfatal= fatal= link=SPEED:WIDTH methods=flr+bus\n"
    "           reset=ok|dead|slow|refused|other up=0|1 master= upper= vfio_user=0|1 unbinds=0|1\n";

using Arguments = std::vector<std::string>;

Error usage_error(const std::string& what) {
  return Error{Errc::invalid, what};
}

Result<std::uint64_t> seed_of(const Arguments& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--seed") return parse_size(arguments[i + 1]);
  }
  return usage_error("--seed N is missing");
}

bool has(const Arguments& arguments, const std::string& option) {
  for (const std::string& each : arguments) {
    if (each == option) return true;
  }
  return false;
}

Status create(const std::string& root, const Arguments& arguments) {
  std::vector<std::string> drives;
  std::vector<std::string> functions;  // that are no drives
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const bool drive = arguments[i] == "--drive";
    if ((!drive && arguments[i] != "--function") || i + 1 == arguments.size()) {
      return usage_error("create takes only --drive address=…,… and --function address=…,…");
    }
    (drive ? drives : functions).push_back(arguments[i + 1]);
  }
  const auto made = Host::create(root, drives);
  if (!made.ok()) return made.error();
  for (const std::string& each : functions) {
    if (auto added = (*made)->add_function(each); !added.ok()) return added;
  }
  return Ok{};
}

void show_drive(const std::string& address, Controller& controller, const DriveState& state) {
  const SanitizeState& sanitize = state.sanitize;
  std::printf("%s serial=%s model='%s' firmware=%s driver=%s state=%s controller=%s\n",
              address.c_str(), text_of(state.serial).c_str(), text_of(state.model).c_str(),
              text_of(state.firmware).c_str(), text_of(state.host.driver).c_str(),
              text_of(state.host.controller_state).c_str(), controller_name(state).c_str());
  std::printf(
      "  sanitize status=%u gde=%d scdw10=0x%x restricted=%d failure_mode=%d accepted=%llu\n",
      static_cast<unsigned>(sanitize.status), sanitize.data_erased, sanitize.cdw10,
      sanitize.restricted, sanitize.failure_mode,
      static_cast<unsigned long long>(state.sanitizes_accepted));
  std::printf("  host_reads=%llu host_writes=%llu media_errors=%llu percent_used=%u admin=%llu\n",
              static_cast<unsigned long long>(state.smart.host_reads),
              static_cast<unsigned long long>(state.smart.host_writes),
              static_cast<unsigned long long>(state.smart.media_errors), state.smart.percent_used,
              static_cast<unsigned long long>(state.admin_commands));
  for (std::uint32_t nsid = 1; nsid <= kNamespacesMax; ++nsid) {
    const NamespaceState& each = state.namespaces[nsid - 1];
    if (!each.allocated) continue;
    std::printf("  namespace %u %s bytes=%llu block=%u %s write_protect=%u\n", nsid,
                disk_name(state, nsid).c_str(),
                static_cast<unsigned long long>(controller.namespace_bytes(nsid)),
                controller.block_bytes(nsid), each.attached ? "attached" : "hidden",
                each.write_protect);
  }
}

Status show(Host& host, const Arguments& arguments) {
  for (const std::string& address : host.addresses()) {
    if (!arguments.empty() && arguments[0] != address) continue;
    auto drive = host.drive(address);
    if (!drive.ok()) return drive.error();
    (*drive)->with(
        [&](Controller& controller, DriveState& state) { show_drive(address, controller, state); });
  }
  return Ok{};
}

Status fill(Host& host, const std::string& address, const Arguments& arguments) {
  if (has(arguments, "--blank")) return host.fill(address, 0, true);
  const auto seed = seed_of(arguments);
  if (!seed.ok()) return seed.error();
  return host.fill(address, *seed);
}

Status print_digest(Host& host, const std::string& address, const Arguments& arguments) {
  std::optional<std::uint64_t> seed;
  if (!arguments.empty()) {
    const auto given = seed_of(arguments);
    if (!given.ok()) return given.error();
    seed = *given;
  }
  const auto digest = media_digest(host, address, seed);
  if (!digest.ok()) return digest.error();
  std::printf(
      "sha256=%s bytes=%llu nonzero_bytes=%llu tenant_blocks=%llu tenant_blocks_kept=%llu\n",
      digest->sha256.c_str(), static_cast<unsigned long long>(digest->bytes),
      static_cast<unsigned long long>(digest->nonzero_bytes),
      static_cast<unsigned long long>(digest->tenant_blocks),
      static_cast<unsigned long long>(digest->tenant_blocks_kept));
  return Ok{};
}

Status set(Host& host, const std::string& address, const Arguments& arguments) {
  for (const std::string& each : arguments) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) return usage_error("'" + each + "' is not KEY=VALUE");
    const Status done = host.set(address, each.substr(0, equals), each.substr(equals + 1));
    if (!done.ok()) return done;
  }
  return Ok{};
}

Status add_namespace(Host& host, const std::string& address, const Arguments& arguments) {
  if (arguments.empty()) return usage_error("add-namespace needs a SIZE");
  const auto bytes = parse_size(arguments[0]);
  if (!bytes.ok()) return bytes.error();
  const auto made = host.add_namespace(address, *bytes, has(arguments, "--hidden"));
  if (!made.ok()) return made.error();
  std::printf("nsid=%u\n", *made);
  return Ok{};
}

Status write_firmware(const std::string& file, const Arguments& arguments) {
  const auto bytes = arguments.size() == 2
                         ? parse_size(arguments[1])
                         : Result<std::uint64_t>(usage_error("firmware FILE REVISION BYTES"));
  if (!bytes.ok()) return bytes.error();
  const std::vector<std::byte> image = make_firmware(arguments[0], *bytes);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(image.data()),
            static_cast<std::streamsize>(image.size()));
  if (!out.flush()) return Error{Errc::failed, "cannot write " + file};
  return Ok{};
}

Status run(const std::string& command, const std::string& root, Arguments rest) {
  if (command == "create") return create(root, rest);
  if (command == "firmware") return write_firmware(root, rest);
  const auto host = Host::open(root);
  if (!host.ok()) return host.error();
  if (command == "show") return show(**host, rest);
  if (rest.empty()) return usage_error(command + " needs an ADDRESS");
  const std::string address = rest.front();
  rest.erase(rest.begin());
  if (command == "fill") return fill(**host, address, rest);
  if (command == "digest") return print_digest(**host, address, rest);
  if (command == "set") return set(**host, address, rest);
  if (command == "add-namespace") return add_namespace(**host, address, rest);
  if (command == "bind" && rest.size() == 1) return (*host)->bind(address, rest[0]);
  if (command == "unbind") return (*host)->bind(address, "");
  if (command == "reset") return (*host)->reset(address);
  if (command == "power-loss") return (*host)->power_loss(address);
  return usage_error("unknown command '" + command + "'; --help lists them");
}

}  // namespace
}  // namespace reclaim::emulator

int main(int argc, char** argv) {
  using namespace reclaim::emulator;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2 || words[0] == "--help") {
    const bool asked = !words.empty() && words[0] == "--help";
    std::fprintf(asked ? stdout : stderr, "%s%s%s%s%s%s", kUsage, kSettingsHelp,
                 kFirmwareSettingsHelp, kSurfaceSettingsHelp, kPageSettingsHelp, kMoreKeys);
    return asked ? 0 : 2;
  }
  const auto done = run(words[0], words[1], Arguments(words.begin() + 2, words.end()));
  if (done.ok()) return 0;
  std::fprintf(stderr, "reclaim-emulator: %s\n", done.error().what.c_str());
  return done.error().code == reclaim::Errc::invalid ? 2 : 1;
}
