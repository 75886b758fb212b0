// The guest's line to the host that runs it: QEMU's monitor, and the drives' image files as they
// really are. machine.py answers.
#pragma once

#include <cstdint>
#include <string>

#include "state/base/result.h"
#include "state/base/unique_fd.h"

namespace reclaim::guest {

// One request at a time; blocking.
class HostLine final {
 public:
  static Result<HostLine> open();

  // What the human monitor answers to `command`; "" when it had nothing to say.
  [[nodiscard]] Result<std::string> monitor(const std::string& command);
  // The card that was taken out comes back, with the ROM of its "maker" or of a "tenant".
  [[nodiscard]] Status plug_card(const std::string& owner);
  // How often `text` stands in the image of a namespace, named as in machine.py: "plain1".
  [[nodiscard]] Result<std::uint64_t> count(const std::string& image, const std::string& text);

 private:
  explicit HostLine(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] Result<std::string> ask(const std::string& request);

  UniqueFd fd_;
};

}  // namespace reclaim::guest
