#include "tests/guest/host_line.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace reclaim::guest {
namespace {

constexpr const char* kPort = "/dev/ttyS1";

}  // namespace

Result<HostLine> HostLine::open() {
  UniqueFd fd(::open(kPort, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    return Error{Errc::failed, fmt::format("cannot open {}: {}", kPort, std::strerror(errno))};
  }
  return HostLine(std::move(fd));
}

Result<std::string> HostLine::ask(const std::string& request) {
  const std::string line = request + "\n";
  if (::write(fd_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Error{Errc::failed, "the host cannot be asked"};
  }
  std::string answer;
  for (char byte = 0;;) {
    if (::read(fd_.get(), &byte, 1) != 1) return Error{Errc::failed, "the host does not answer"};
    if (byte == '\n') break;
    answer += byte;
  }
  if (answer.rfind("ok", 0) != 0) return Error{Errc::failed, request + ": " + answer};
  return answer.size() > 3 ? answer.substr(3) : std::string();
}

Result<std::string> HostLine::monitor(const std::string& command) {
  return ask("monitor " + command);
}

Status HostLine::plug_card(const std::string& owner) {
  const auto answer = ask("card " + owner);
  if (!answer) return answer.error();
  return answer->empty() ? Status(Ok{}) : Status(Error{Errc::failed, *answer});
}

Result<std::uint64_t> HostLine::count(const std::string& image, const std::string& text) {
  const auto answer = ask("count " + image + " " + text);
  if (!answer) return answer.error();
  std::uint64_t found = 0;
  std::from_chars(answer->data(), answer->data() + answer->size(), found);
  return found;
}

}  // namespace reclaim::guest
