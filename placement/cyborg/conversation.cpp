#include "placement/cyborg/conversation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "placement/http/url.h"

namespace reclaim::placement {
namespace {

constexpr Microversion kStatusSince{2, 3};

}  // namespace

ReadAccelerators::ReadAccelerators(const CyborgOptions& options, HostNames names, Now now,
                                   Microversion spoken, KnownDeployables& known)
    : options_(options), names_(std::move(names)), now_(now), spoken_(spoken), known_(known) {}

ReadAccelerators::Step ReadAccelerators::start() {
  if (names_.host.empty()) {
    return Finished<CyborgView>{Error{Errc::invalid, "no host's name to ask Cyborg for"}};
  }
  return ask(RequestKind::arqs);
}

ReadAccelerators::Step ReadAccelerators::ask(RequestKind kind) {
  request_ = {kind, "/accelerator_requests", ""};
  if (kind == RequestKind::devices)
    request_.path = "/devices?hostname=" + percent_encode(names_.host);
  if (kind == RequestKind::deployables) request_.path = "/deployables";
  return request_;
}

Result<Ok> ReadAccelerators::take_in(const HttpResponse& response) {
  const auto body_bytes = static_cast<std::size_t>(options_.session.body_bytes_max);
  if (request_.kind == RequestKind::arqs) {
    auto arqs = parse_arqs(response.body, names_, now_.wall, {body_bytes, options_.arqs_max});
    if (!arqs.ok()) return std::move(arqs).error();
    arqs_ = *std::move(arqs);
  } else if (request_.kind == RequestKind::devices) {
    auto devices = parse_devices(response.body, names_.host, spoken_ >= kStatusSince,
                                 {body_bytes, options_.devices_max});
    if (!devices.ok()) return std::move(devices).error();
    devices_ = *std::move(devices);
  } else {
    auto deployables =
        parse_deployables(response.body, names_.host, {body_bytes, options_.deployables_max});
    if (!deployables.ok()) return std::move(deployables).error();
    known_ = {names_.host, device_list(), now_.mono, *std::move(deployables)};
  }
  return Ok{};
}

ReadAccelerators::Step ReadAccelerators::on_answer(Result<HttpResponse> answer) {
  auto good = triage(request_, std::move(answer), kCyborg);
  if (!good.ok()) return Finished<CyborgView>{std::move(good).error()};
  if (auto taken = take_in(*good); !taken.ok()) {
    return Finished<CyborgView>{std::move(taken).error()};
  }
  if (request_.kind == RequestKind::arqs) return ask(RequestKind::devices);
  if (request_.kind == RequestKind::devices && !known_is_good()) {
    return ask(RequestKind::deployables);
  }
  return finish();
}

std::string ReadAccelerators::device_list() const {
  std::string list;
  for (const DeviceAnswer& device : devices_) list += device.uuid + " ";
  return list;
}

bool ReadAccelerators::known_is_good() const {
  // A device whose provider Placement does not know yet gets one within a minute.
  return known_.host == names_.host && known_.devices == device_list() &&
         now_.mono.ms - known_.read_at.ms < options_.deployables_fresh_ms &&
         std::none_of(known_.deployables.begin(), known_.deployables.end(),
                      [](const DeployableAnswer& each) { return each.provider.empty(); });
}

ReadAccelerators::Step ReadAccelerators::finish() {
  return Finished<CyborgView>{
      CyborgView{std::move(arqs_), connect_devices(devices_, known_.deployables)}};
}

}  // namespace reclaim::placement
