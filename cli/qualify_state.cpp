#include "cli/qualify_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>

#include "state/base/durable_file.h"

namespace reclaim::cli {
namespace {

// A serial may have any printable character.
std::string name_of(const std::string& serial) {
  std::string name;
  for (const char c : serial) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? std::string(1, c) : fmt::format("_{:02x}", byte);
  }
  return name + ".json";
}

}  // namespace

QualifyState::QualifyState(const std::string& state_path, const std::string& serial)
    : folder_(state_path + "/qualify"), name_(name_of(serial)) {}

Result<std::optional<nvme::Qualification>> QualifyState::load() const {
  if (::access(path().c_str(), F_OK) != 0 && errno == ENOENT) {
    return std::optional<nvme::Qualification>();
  }
  const auto file = durable_file::File::open(path(), O_RDONLY);
  if (!file) return file.error();
  const auto text = file->read_all(nvme::kQualificationBytesMax);
  if (!text) return text.error();
  auto read = nvme::decode_qualification(*text);
  if (!read) {
    return Error{Errc::invalid, fmt::format("{}: {}; remove the file to begin from the start",
                                            path(), read.error().what)};
  }
  return std::optional<nvme::Qualification>(*std::move(read));
}

Status QualifyState::save(const nvme::Qualification& qualification) const {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Errc::failed, fmt::format("cannot make {}: {}", folder_, std::strerror(errno)),
                 errno};
  }
  return durable_file::replace_file(folder_, name_, nvme::encode_qualification(qualification),
                                    0600);
}

void QualifyState::remove() const {
  static_cast<void>(::unlink(path().c_str()));
}

}  // namespace reclaim::cli
