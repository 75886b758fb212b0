#include "tests/emulator/host/internal_io.h"

namespace reclaim::emulator {
namespace {
thread_local int depth = 0;
}  // namespace

InternalIo::InternalIo() {
  ++depth;
}
InternalIo::~InternalIo() {
  --depth;
}
bool InternalIo::active() {
  return depth > 0;
}

}  // namespace reclaim::emulator
