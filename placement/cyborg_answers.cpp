#include "placement/cyborg_answers.h"

namespace reclaim::placement {
namespace {

Error not_yet() {
  return Error{Errc::failed, "Cyborg's answers are not read yet"};
}

}  // namespace

Result<std::vector<Arq>> parse_arqs(std::string_view /*body*/, std::string_view /*host*/,
                                    WallMs /*now*/, std::size_t /*body_bytes_max*/,
                                    std::size_t /*arqs_max*/) {
  return not_yet();
}

Result<std::vector<DeviceAnswer>> parse_devices(std::string_view /*body*/,
                                                std::string_view /*host*/,
                                                std::size_t /*body_bytes_max*/,
                                                std::size_t /*devices_max*/) {
  return not_yet();
}

Result<std::vector<DeployableAnswer>> parse_deployables(std::string_view /*body*/,
                                                        std::string_view /*host*/,
                                                        std::size_t /*body_bytes_max*/,
                                                        std::size_t /*deployables_max*/) {
  return not_yet();
}

std::vector<CyborgDevice> connect(const std::vector<DeviceAnswer>& /*devices*/,
                                  const std::vector<DeployableAnswer>& /*deployables*/) {
  return {};
}

Result<std::optional<PciAddress>> board_address(std::string_view /*std_board_info*/) {
  return std::optional<PciAddress>();
}

}  // namespace reclaim::placement
