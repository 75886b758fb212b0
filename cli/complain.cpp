#include "cli/complain.h"

#include <ostream>

#include "state/base/visible.h"

namespace reclaim::cli {

int complain(std::ostream& err, const Error& error) {
  err << "reclaim: " << visible(error.what) << '\n';
  return error.code == Errc::usage ? 2 : 1;
}

}  // namespace reclaim::cli
