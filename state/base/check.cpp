#include "state/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace reclaim {

void check_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "reclaim: CHECK(%s) failed at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace reclaim
