// What a worker of a scripted world hears of an ARQ, as a kick brings it.
#pragma once

#include <string>
#include <utility>

#include "state/device/arq.h"
#include "state/device/store.h"

namespace reclaim::sim {

// One that binds the device, until it says otherwise.
inline Arq arq_of(const PciAddress& address, std::string uuid, std::string instance) {
  Arq arq;
  arq.uuid = std::move(uuid);
  arq.state = ArqState::bound;
  arq.hostname = "compute-1";
  arq.address = address;
  arq.attach_handle_type = "PCI";
  arq.instance_uuid = std::move(instance);
  return arq;
}

inline Kick arq_kick(const std::string& event, const Arq& arq) {
  Kick kick;
  kick.reason = event;
  kick.arq = encode_arq(arq);
  kick.delays_s = {0};
  return kick;
}

}  // namespace reclaim::sim
