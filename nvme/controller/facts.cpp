// Names of erase methods, and the baseline as compact text: one line of the device record, some
// 70 bytes a sample.
#include "nvme/controller/facts.h"

#include <fmt/core.h>

#include <array>

#include "state/base/enum_names.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::string_view kBaselineHeader = "b1";
constexpr std::size_t kBaselineBytesMax = std::size_t{512} * 1024;
constexpr std::size_t kSamplesMax = 4096;
constexpr std::uint32_t kSampleLengthMax = 64U << 20U;
constexpr std::size_t kDigestBytes = 32;
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr auto kMethods =
    enum_names<EraseMethod::format_user_data>("sanitize_crypto", "sanitize_block", "write_zeroes",
                                              "overwrite", "format_crypto", "format_user_data");

constexpr auto kSteps =
    enum_names<DriveStep::reset_namespaces>("check_health", "restore_firmware", "recover_sanitize",
                                            "reset_controller_state", "reset_namespaces");

// 64 hex digits as 43 characters of base64url; a digest is most of a sample's text.
std::string pack_digest(std::string_view hex) {
  CHECK(hex.size() == kDigestBytes * 2);
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : hex) {
    const int digit = hex_value(c);
    CHECK(digit >= 0);
    bits = (bits << 4U) | static_cast<std::uint32_t>(digit);
    held += 4;
    if (held >= 6) {
      held -= 6;
      out += kBase64[(bits >> static_cast<unsigned>(held)) & 0x3fU];
    }
  }
  if (held > 0) out += kBase64[(bits << static_cast<unsigned>(6 - held)) & 0x3fU];
  return out;
}

std::optional<std::string> unpack_digest(std::string_view packed) {
  if (packed.size() != (kDigestBytes * 8 + 5) / 6) return std::nullopt;
  std::string hex;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : packed) {
    const std::size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    held += 6;
    while (held >= 4 && hex.size() < kDigestBytes * 2) {
      held -= 4;
      hex += "0123456789abcdef"[(bits >> static_cast<unsigned>(held)) & 0xfU];
    }
  }
  // The last character carries two bits that belong to no digit; they must be clear, so that one
  // baseline has one text.
  if ((bits & 3U) != 0) return std::nullopt;
  return hex;
}

std::optional<Sample> parse_sample(char kind, std::string_view text) {
  Sample sample;
  const auto nsid = parse_number<decltype(sample.nsid)>(take_until(text, ':'));
  const auto offset = parse_number<decltype(sample.offset_bytes)>(take_until(text, ':'), 16);
  const auto length = parse_number<decltype(sample.length_bytes)>(take_until(text, ':'), 16);
  if (!nsid || !offset || !length) return std::nullopt;
  sample.nsid = *nsid;
  sample.offset_bytes = *offset;
  sample.length_bytes = *length;
  if (kind != 'u') {
    auto digest = unpack_digest(text);
    if (!digest) return std::nullopt;
    sample.sha256 = *std::move(digest);
  } else if (!text.empty()) {
    return std::nullopt;
  }
  if (sample.length_bytes == 0 || sample.length_bytes > kSampleLengthMax) return std::nullopt;
  return sample;
}

}  // namespace

std::string_view to_string(EraseMethod method) {
  return kMethods[method];
}

Result<EraseMethod> parse_erase_method(std::string_view text) {
  if (const auto method = kMethods.find(text)) return *method;
  return Error{Errc::invalid, fmt::format("'{}' is not an erase method; {} are", text.substr(0, 64),
                                          kMethods.list(" and "))};
}

std::string_view to_string(DriveStep step) {
  return kSteps[step];
}

Result<DriveStep> parse_drive_step(std::string_view text) {
  if (const auto step = kSteps.find(text)) return *step;
  return Error{Errc::invalid, fmt::format("'{}' is not a clean step; there are {}",
                                          text.substr(0, 64), kSteps.list())};
}

bool is_sanitize(EraseMethod method) {
  return method == EraseMethod::sanitize_crypto || method == EraseMethod::sanitize_block;
}

std::string_view sanitization_class(EraseMethod method) {
  return is_sanitize(method) ? "purge" : "clear";
}

// "b1 KNSID:OFFSET:LENGTH:DIGEST ...", K being s (sample), z (blank sample), u (unreadable sample,
// without a digest) or c (canary), offset and length in hex.
std::string encode_baseline(const Baseline& baseline) {
  std::string out{kBaselineHeader};
  const auto append = [&out](char kind, const Sample& sample) {
    out += fmt::format(" {}{}:{:x}:{:x}:{}", kind, sample.nsid, sample.offset_bytes,
                       sample.length_bytes, kind == 'u' ? "" : pack_digest(sample.sha256));
  };
  for (const Sample& sample : baseline.samples) {
    append(sample.sha256.empty() ? 'u' : sample.blank ? 'z' : 's', sample);
  }
  for (const Sample& canary : baseline.canaries) append('c', canary);
  CHECK(out.size() <= kBaselineBytesMax);
  return out;
}

Result<Baseline> decode_baseline(std::string_view text) {
  if (text.size() > kBaselineBytesMax) {
    return Error{Errc::limit, fmt::format("the baseline is {} bytes long; at most {} are read",
                                          text.size(), kBaselineBytesMax)};
  }
  if (take_until(text, ' ') != kBaselineHeader) {
    return Error{Errc::invalid, "the baseline does not begin with 'b1'"};
  }
  Baseline baseline;
  while (!text.empty()) {
    const std::string_view token = take_until(text, ' ');
    if (baseline.samples.size() + baseline.canaries.size() == kSamplesMax) {
      return Error{Errc::limit, fmt::format("the baseline names more than {} places", kSamplesMax)};
    }
    const char kind = token.empty() ? ' ' : token.front();
    auto sample = token.empty() ? std::nullopt : parse_sample(kind, token.substr(1));
    if (!sample || std::string_view("szuc").find(kind) == std::string_view::npos) {
      return Error{Errc::invalid, fmt::format("place {} of the baseline is malformed",
                                              baseline.samples.size() + baseline.canaries.size())};
    }
    sample->blank = kind == 'z' || kind == 'u';
    (kind == 'c' ? baseline.canaries : baseline.samples).push_back(*std::move(sample));
  }
  return baseline;
}

}  // namespace reclaim::nvme
