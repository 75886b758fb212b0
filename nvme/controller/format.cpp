#include "nvme/controller/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace reclaim::nvme {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kFlbas = 26;
constexpr std::size_t kDps = 29;
constexpr std::uint8_t kFormatsAll = 1U << 0U;
constexpr std::uint8_t kErasesAll = 1U << 1U;
constexpr std::uint8_t kNoBroadcast = 1U << 3U;

}  // namespace

Result<NamespaceFormat> parse_namespace_format(std::span<const std::byte> page,
                                               std::uint32_t nsid) {
  if (page.size() < kPageBytes) {
    return Error{Errc::invalid, fmt::format("Identify Namespace {} is {} bytes long instead of {}",
                                            nsid, page.size(), kPageBytes)};
  }
  const auto flbas = std::to_integer<std::uint8_t>(page[kFlbas]);
  const auto formats = std::to_integer<std::uint8_t>(page[25]);  // NLBAF, one less than there are
  const auto dps = std::to_integer<std::uint8_t>(page[kDps]);
  NamespaceFormat format;
  format.nsid = nsid;
  format.lba_format = flbas & 0xfU;
  if (formats >= 16) format.lba_format |= static_cast<std::uint8_t>((flbas >> 1U) & 0x30U);
  format.metadata_extended = (flbas & 0x10U) != 0;
  format.protection = dps & 7U;
  format.protection_first = (dps & 8U) != 0;
  return format;
}

Result<std::vector<std::uint32_t>> parse_namespace_list(std::span<const std::byte> page) {
  if (page.size() < kPageBytes) {
    return Error{Errc::invalid, fmt::format("a list of namespaces is {} bytes long instead of {}",
                                            page.size(), kPageBytes)};
  }
  std::vector<std::uint32_t> list;
  for (std::size_t at = 0; at < kPageBytes; at += 4) {
    std::uint32_t nsid = 0;
    for (std::size_t i = 4; i-- > 0;)
      nsid = nsid << 8U | std::to_integer<std::uint32_t>(page[at + i]);
    if (nsid == 0) break;
    list.push_back(nsid);
  }
  return list;
}

std::uint8_t secure_erase_setting(EraseMethod method) {
  CHECK(method == EraseMethod::format_crypto || method == EraseMethod::format_user_data);
  return method == EraseMethod::format_crypto ? 2 : 1;
}

Result<std::vector<NamespaceFormat>> plan_format(const std::vector<NamespaceFormat>& namespaces,
                                                 std::uint8_t fna) {
  if (namespaces.empty()) {
    return Error{Errc::failed, "there is no namespace to format; nothing was sent to the drive"};
  }
  NamespaceFormat all = namespaces.front();
  const bool alike =
      std::all_of(namespaces.begin(), namespaces.end(), [&all](NamespaceFormat each) {
        each.nsid = all.nsid;
        return each == all;
      });
  if ((fna & kFormatsAll) != 0 && !alike) {
    return Error{
        Errc::failed,
        "the drive formats all namespaces alike, but theirs differ, so that a format would "
        "change one; nothing was sent to the drive: delete the namespaces, create one, "
        "then clean the device again"};
  }
  const bool whole_drive = (fna & (kFormatsAll | kErasesAll)) != 0;
  if (!whole_drive || (fna & kNoBroadcast) != 0 || !alike) return namespaces;
  all.nsid = kNsidAll;
  return std::vector<NamespaceFormat>{all};
}

std::uint32_t format_command_timeout_ms(std::int64_t left_ms, std::uint32_t at_least_ms) {
  constexpr std::int64_t kMostMs = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ms, at_least_ms, kMostMs));
}

}  // namespace reclaim::nvme
