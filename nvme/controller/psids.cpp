#include "nvme/controller/psids.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "nvme/controller/opal_session.h"
#include "state/base/durable_file.h"
#include "state/base/owned_file.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kFileBytesMax = std::uint64_t{64} * 1024;
constexpr std::size_t kSerialBytesMax = 20;  // SN of Identify Controller
constexpr std::string_view kBlanks = " \t\r";

// The line itself is never shown: where its halves are exchanged, the serial number is the PSID.
Status add_line(std::string_view line, Psids& psids) {
  const std::size_t gap = line.find_last_of(kBlanks);
  if (gap == std::string_view::npos) {
    return Error{Errc::invalid,
                 "it has one word: a drive's serial number, a blank and its PSID are accepted"};
  }
  const std::string_view psid = line.substr(gap + 1);
  const std::string_view serial = strip(line.substr(0, gap), kBlanks);
  if (psid.size() != kPsidBytes || !std::all_of(psid.begin(), psid.end(), is_alnum)) {
    return Error{Errc::invalid,
                 fmt::format("its last word is no PSID ({} characters): {} letters and digits are "
                             "accepted, as on the drive's label",
                             psid.size(), kPsidBytes)};
  }
  if (serial.size() > kSerialBytesMax) {
    return Error{Errc::invalid,
                 fmt::format("its serial number has {} characters: at most {} are accepted, and it "
                             "stands before the PSID",
                             serial.size(), kSerialBytesMax)};
  }
  if (!psids.emplace(serial, psid).second) {
    return Error{Errc::invalid, "its serial number stands in a line above; a drive has one line"};
  }
  return Ok{};
}

}  // namespace

Result<Psids> parse_psids(std::string_view text, std::string_view path) {
  Psids psids;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_until(text, '\n');
    line = strip(take_until(line, '#'), kBlanks);
    if (line.empty()) continue;
    if (auto added = add_line(line, psids); !added) {
      return Error{Errc::invalid, fmt::format("{}:{}: {}", path, number, added.error().what)};
    }
  }
  return psids;
}

Result<Psids> read_psids(const std::string& path, uid_t owner) {
  const auto file = open_owned_file(WantedFile{"PSID file", path, owner, kFileBytesMax});
  if (!file) return file.error();
  const auto text = durable_file::read_secret(file->path);
  if (!text) return text.error();
  return parse_psids(*text, path);
}

}  // namespace reclaim::nvme
