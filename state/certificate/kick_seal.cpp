#include "state/certificate/kick_seal.h"

#include <map>

namespace reclaim {
namespace {

constexpr std::string_view kPurpose = "reclaim kick 1";

std::map<std::string, std::string> sealed_part(const Kick& kick, const std::string& host) {
  return {{"host", host},
          {"command", kick.command},
          {"address", kick.address},
          {"sent_at", std::to_string(kick.sent_at.ms)}};
}

}  // namespace

std::string KickSeal::mac_of(const Kick& kick) const {
  return key_.mac(kPurpose, sealed_part(kick, host_));
}

bool KickSeal::fits(const Kick& kick) const {
  return key_.fits(kPurpose, sealed_part(kick, host_), kick.mac);
}

}  // namespace reclaim
