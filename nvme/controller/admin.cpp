#include "nvme/controller/admin.h"

#include <endian.h>
#include <fmt/core.h>
#include <libnvme.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "nvme/controller/sanitize.h"
#include "nvme/controller/state_pages.h"
#include "nvme/controller/status.h"

namespace reclaim::nvme {
namespace {

// Aligned as the drive's pages are: some kernels bounce what is not.
template <std::size_t Bytes>
struct alignas(4096) Page {
  std::array<std::byte, Bytes> bytes{};
};

// libnvme's convention: 0, a positive NVMe status, or -1 with errno.
Status judge(int returned, std::string_view command) {
  if (returned == 0) return Ok{};
  return returned > 0 ? status_to_error(returned, command) : errno_to_error(errno, command);
}

Status identify(int fd, nvme_identify_cns cns, std::uint32_t nsid, std::uint32_t timeout_ms,
                std::span<std::byte> page, std::string_view command) {
  nvme_identify_args args{};
  args.data = page.data();
  args.args_size = static_cast<int>(sizeof(args));
  args.fd = fd;
  args.timeout = timeout_ms;
  args.cns = cns;
  args.csi = NVME_CSI_NVM;
  args.nsid = nsid;
  args.cntid = NVME_CNTLID_NONE;
  args.cns_specific_id = NVME_CNSSPECID_NONE;
  args.uuidx = NVME_UUID_NONE;
  return judge(nvme_identify(&args), command);
}

Status get_log(int fd, nvme_cmd_get_log_lid lid, std::uint32_t timeout_ms,
               std::span<std::byte> page, std::string_view command) {
  nvme_get_log_args args{};
  args.log = page.data();
  args.args_size = static_cast<int>(sizeof(args));
  args.fd = fd;
  args.timeout = timeout_ms;
  args.lid = lid;
  args.len = static_cast<__u32>(page.size());
  args.nsid = NVME_NSID_ALL;
  args.csi = NVME_CSI_NVM;
  args.lsi = NVME_LOG_LSI_NONE;
  args.lsp = NVME_LOG_LSP_NONE;
  args.uuidx = NVME_UUID_NONE;
  args.rae = true;
  return judge(nvme_get_log(&args), command);
}

// Sends Sanitize by its dwords: the typed call of older libraries knows no media verification. All
// else is zero: NSID, AUSE, OWPASS, OIPBP, NDAS.
Status send_sanitize(int fd, std::uint32_t cdw10, std::uint32_t timeout_ms,
                     std::string_view command) {
  std::uint32_t result = 0;
  return judge(nvme_admin_passthru(fd, nvme_admin_sanitize_nvm, 0, 0, 0, 0, 0, cdw10, 0, 0, 0, 0, 0,
                                   0, nullptr, 0, nullptr, timeout_ms, &result),
               command);
}

}  // namespace

Result<Identity> identify_controller(int fd, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kIdentifyBytes>>();
  auto done = identify(fd, NVME_IDENTIFY_CNS_CTRL, NVME_NSID_NONE, timeout_ms, page->bytes,
                       "Identify Controller");
  if (!done) return std::move(done).error();
  return parse_identify_controller(page->bytes);
}

Result<NamespaceFacts> identify_namespace(int fd, std::uint32_t nsid, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kIdentifyBytes>>();
  auto done = identify(fd, NVME_IDENTIFY_CNS_NS, nsid, timeout_ms, page->bytes,
                       fmt::format("Identify Namespace {}", nsid));
  if (!done) return std::move(done).error();
  return parse_identify_namespace(page->bytes, nsid);
}

Result<std::vector<std::uint32_t>> active_namespaces(int fd, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kIdentifyBytes>>();
  auto done = identify(fd, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, NVME_NSID_NONE, timeout_ms,
                       page->bytes, "Identify Active Namespace ID List");
  if (!done) return std::move(done).error();
  std::vector<std::uint32_t> found;
  for (std::size_t at = 0; at < page->bytes.size(); at += sizeof(__le32)) {
    __le32 each{};
    std::memcpy(&each, page->bytes.data() + at, sizeof(each));
    if (each == 0) break;  // the list ends with the first zero
    found.push_back(le32toh(each));
  }
  return found;
}

Result<Counters> read_counters(int fd, std::uint32_t timeout_ms) {
  const auto smart = read_smart(fd, timeout_ms);
  if (!smart) return smart.error();
  return smart->counters;
}

Result<SmartLog> read_smart(int fd, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kSmartBytes>>();
  auto done = get_log(fd, NVME_LOG_LID_SMART, timeout_ms, page->bytes, "Get Log Page SMART");
  if (!done) return std::move(done).error();
  const auto counters = parse_smart(page->bytes);
  if (!counters) return counters.error();
  const auto health = parse_health(page->bytes);
  if (!health) return health.error();
  return SmartLog{*counters, *health};
}

Result<SanitizeLog> read_sanitize_log(int fd, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kSanitizeLogBytes>>();
  auto done =
      get_log(fd, NVME_LOG_LID_SANITIZE, timeout_ms, page->bytes, "Get Log Page Sanitize Status");
  if (!done) return std::move(done).error();
  return parse_sanitize_log(page->bytes);
}

Result<std::uint32_t> namespace_id(int fd) {
  __u32 nsid = 0;
  if (nvme_get_nsid(fd, &nsid) != 0) return errno_to_error(errno, "NVME_IOCTL_ID");
  return std::uint32_t{nsid};
}

Status start_sanitize(int fd, std::uint32_t cdw10, std::uint32_t timeout_ms) {
  return send_sanitize(fd, cdw10, timeout_ms, "Sanitize");
}

Status exit_media_verification(int fd, std::uint32_t timeout_ms) {
  return send_sanitize(fd, kExitMediaVerification, timeout_ms,
                       "Sanitize (exit media verification)");
}

Result<NamespaceFormat> identify_namespace_format(int fd, std::uint32_t nsid,
                                                  std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kIdentifyBytes>>();
  auto done = identify(fd, NVME_IDENTIFY_CNS_NS, nsid, timeout_ms, page->bytes,
                       fmt::format("Identify Namespace {}", nsid));
  if (!done) return std::move(done).error();
  return parse_namespace_format(page->bytes, nsid);
}

Result<std::vector<std::uint32_t>> allocated_namespaces(int fd, std::uint32_t timeout_ms) {
  const auto page = std::make_unique<Page<kIdentifyBytes>>();
  auto done = identify(fd, NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST, 0, timeout_ms, page->bytes,
                       "Identify Allocated Namespaces");
  if (!done) return std::move(done).error();
  return parse_namespace_list(page->bytes);
}

Status format_namespace(int fd, const NamespaceFormat& command, EraseMethod method,
                        std::uint32_t timeout_ms) {
  std::uint32_t result = 0;
  nvme_format_nvm_args args{};
  args.result = &result;
  args.args_size = static_cast<int>(sizeof(args));
  args.fd = fd;
  args.timeout = timeout_ms;
  args.nsid = command.nsid;
  args.mset = command.metadata_extended ? NVME_FORMAT_MSET_EXTENDED : NVME_FORMAT_MSET_SEPARATE;
  args.pi = static_cast<nvme_cmd_format_pi>(command.protection);
  args.pil = command.protection_first ? NVME_FORMAT_PIL_FIRST : NVME_FORMAT_PIL_LAST;
  args.ses = static_cast<nvme_cmd_format_ses>(secure_erase_setting(method));
  args.lbaf = command.lba_format & 0xfU;
  args.lbafu = static_cast<__u8>(command.lba_format >> 4U);
  CHECK(args.ses != NVME_FORMAT_SES_NONE);
  return judge(nvme_format_nvm(&args), fmt::format("Format NVM of namespace {:#x}", command.nsid));
}

}  // namespace reclaim::nvme
