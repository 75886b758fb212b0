// TCG sessions of the Admin SP on the base ComID: as many as a revert by PSID needs. One at a time,
// of nobody or of the authority PSID; what a session may call is Revert. A revert leaves the media
// as they are, so that nothing may rest on it. TCG Storage Core 2.01, Opal SSC 2.01, PSID feature
// set; all fields are big-endian.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "tests/emulator/model/controller.h"

namespace reclaim::emulator {
namespace {

constexpr std::size_t kPayload = 56;
constexpr std::uint32_t kOurNumber = 0x1001;
constexpr std::uint8_t kTries = 5;
constexpr std::uint8_t kNotAuthorized = 0x01;
constexpr std::uint8_t kNoSessionsAvailable = 0x07;
constexpr std::uint8_t kLockedOut = 0x12;

using Uid = std::array<std::uint8_t, 8>;
constexpr Uid kSessionManager = {0, 0, 0, 0, 0, 0, 0, 0xff};
constexpr Uid kStartSession = {0, 0, 0, 0, 0, 0, 0xff, 0x02};
constexpr Uid kSyncSession = {0, 0, 0, 0, 0, 0, 0xff, 0x03};
constexpr Uid kAdminSp = {0, 0, 0x02, 0x05, 0, 0, 0, 0x01};
constexpr Uid kPsid = {0, 0, 0, 0x09, 0, 0x01, 0xff, 0x01};
constexpr Uid kRevert = {0, 0, 0, 0x06, 0, 0, 0x02, 0x02};

// What is sent, from the first byte on that was not expected yet.
class Reading final {
 public:
  explicit Reading(std::span<const std::byte> rest) : rest_(rest) {}
  bool bytes(std::initializer_list<std::uint8_t> wanted) {
    return take(std::span(wanted.begin(), wanted.size()));
  }
  bool uid(const Uid& wanted) { return bytes({0xa8}) && take(wanted); }
  // A tiny or a short atom.
  bool number(std::uint32_t& value) {
    if (rest_.empty()) return false;
    const auto first = std::to_integer<std::uint8_t>(rest_[0]);
    const std::size_t length = first < 0x40 ? 0 : first & 0x0fU;
    if (first >= 0x40 && (first < 0x81 || first > 0x84)) return false;
    if (rest_.size() < 1 + length) return false;
    value = first < 0x40 ? first : 0;
    for (std::size_t i = 1; i <= length; ++i) {
      value = value << 8U | std::to_integer<std::uint32_t>(rest_[i]);
    }
    rest_ = rest_.subspan(1 + length);
    return true;
  }
  std::span<const std::byte> next(std::size_t count) {
    if (rest_.size() < count) return {};
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  bool ends_method() { return bytes({0xf1, 0xf9, 0xf0, 0, 0, 0, 0xf1}) && rest_.empty(); }

 private:
  bool take(std::span<const std::uint8_t> wanted) {
    if (rest_.size() < wanted.size() ||
        std::memcmp(rest_.data(), wanted.data(), wanted.size()) != 0) {
      return false;
    }
    rest_ = rest_.subspan(wanted.size());
    return true;
  }
  std::span<const std::byte> rest_;
};

std::uint32_t load(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return value;
}

void store(std::span<std::byte> bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<std::byte>(value >> (24 - 8 * i) & 0xffU);
  }
}

void add(SecurityState& security, std::initializer_list<std::uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), security.answer.begin() + security.answer_bytes);
  security.answer_bytes = static_cast<std::uint8_t>(security.answer_bytes + bytes.size());
}

void add(SecurityState& security, const Uid& uid) {
  add(security, {0xa8, uid[0], uid[1], uid[2], uid[3], uid[4], uid[5], uid[6], uid[7]});
}

void add_number(SecurityState& security, std::uint32_t value) {
  add(security,
      {0x84, static_cast<std::uint8_t>(value >> 24U), static_cast<std::uint8_t>(value >> 16U),
       static_cast<std::uint8_t>(value >> 8U), static_cast<std::uint8_t>(value)});
}

std::uint8_t authenticate(SecurityState& security, std::span<const std::byte> psid) {
  if (security.psid_tries >= kTries) return kLockedOut;
  const bool right = security.psid[0] != 0 && psid.size() == security.psid.size() &&
                     std::memcmp(psid.data(), security.psid.data(), psid.size()) == 0;
  if (!right) ++security.psid_tries;
  return right ? 0 : kNotAuthorized;
}

bool start_session(SecurityState& security, Reading reading) {
  std::uint32_t host = 0;
  if (!reading.bytes({0xf8}) || !reading.uid(kSessionManager) || !reading.uid(kStartSession) ||
      !reading.bytes({0xf0}) || !reading.number(host) || !reading.uid(kAdminSp) ||
      !reading.bytes({1})) {
    return false;
  }
  std::uint8_t status = security.session != 0 ? kNoSessionsAvailable : 0;
  const bool by_psid = reading.bytes({0xf2, 0x00, 0xd0, 0x20});
  if (by_psid) {
    const auto psid = reading.next(security.psid.size());
    if (!reading.bytes({0xf3, 0xf2, 0x03}) || !reading.uid(kPsid) || !reading.bytes({0xf3})) {
      return false;
    }
    if (status == 0) status = authenticate(security, psid);
  }
  if (!reading.ends_method()) return false;
  if (status == 0) {
    security.session = kOurNumber;
    security.host_session = host;
    security.by_psid = by_psid;
  }
  add(security, {0xf8});
  add(security, kSessionManager);
  add(security, kSyncSession);
  add(security, {0xf0});
  add_number(security, host);
  add_number(security, status == 0 ? kOurNumber : 0);
  add(security, {0xf1, 0xf9, 0xf0, status, 0, 0, 0xf1});
  return true;
}

bool revert(SecurityState& security, Reading reading) {
  if (!reading.bytes({0xf8}) || !reading.uid(kAdminSp) || !reading.uid(kRevert) ||
      !reading.bytes({0xf0}) || !reading.ends_method()) {
    return false;
  }
  const std::uint8_t status = security.by_psid ? 0 : kNotAuthorized;
  add(security, {0xf0, 0xf1, 0xf9, 0xf0, status, 0, 0, 0xf1});
  if (status != 0) return true;
  security.session = 0;
  if (security.reverts_nothing) return true;
  security.locking_enabled = security.locked = false;
  security.mbr_enabled = security.mbr_done = false;
  security.sid_set = false;
  return true;
}

}  // namespace

Completion Controller::opal_send(const Command& command) {
  SecurityState& security = state_.security;
  const std::span<const std::byte> data = command.data;
  if (data.size() < kPayload || load(data, 4) != std::uint32_t{kOpalComId} << 16U) {
    return Completion{kInvalidField, 0};
  }
  const std::uint32_t bytes = load(data, 52);
  const std::uint32_t padded = (bytes + 3) / 4 * 4;
  if (bytes > data.size() - kPayload || load(data, 40) != 12 + padded ||
      load(data, 16) != 24 + 12 + padded) {
    return Completion{kInvalidField, 0};
  }
  const Reading reading(data.subspan(kPayload, bytes));
  security.answer_bytes = 0;
  security.answer_waits = security.answers_after;
  if (start_session(security, reading)) return Completion{};
  const bool of_session = security.session != 0 && load(data, 20) == security.session &&
                          load(data, 24) == security.host_session;
  if (!of_session) return Completion{kInvalidField, 0};
  if (revert(security, reading)) return Completion{};
  if (bytes != 1 || data[kPayload] != std::byte{0xfa}) return Completion{kInvalidField, 0};
  security.session = 0;
  add(security, {0xfa});
  return Completion{};
}

std::size_t Controller::opal_answer(std::span<std::byte> page) {
  SecurityState& security = state_.security;
  store(page, 4, std::uint32_t{kOpalComId} << 16U);
  if (security.answer_waits != 0) {
    --security.answer_waits;
    store(page, 8, 1);  // outstanding, and no more is known of it
    return kPayload;
  }
  const std::uint32_t bytes = security.answer_bytes;
  if (bytes == 0) return kPayload;
  const std::uint32_t padded = (bytes + 3) / 4 * 4;
  store(page, 16, 24 + 12 + padded);
  store(page, 40, 12 + padded);
  store(page, 52, bytes);
  std::memcpy(page.data() + kPayload, security.answer.data(), bytes);
  security.answer_bytes = 0;
  return kPayload + padded;
}

}  // namespace reclaim::emulator
