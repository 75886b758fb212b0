#include "nvme/command/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "state/base/check.h"
#include "state/base/text.h"
#include "state/base/unique_fd.h"

namespace reclaim::nvme {
namespace {

constexpr off_t kBytesMax = off_t{1} << 30;
constexpr std::size_t kChunkBytes = std::size_t{256} * 1024;

Error refuse(const std::string& path, std::string_view why) {
  return Error{Errc::refused, fmt::format("command {}: {}", path, why)};
}

// Owner and mode of the file, or of a directory above it.
Status check_owner(const CommandOptions& options, const std::string& path,
                   const std::string& command, const struct stat& stat) {
  if (stat.st_uid != options.owner) {
    return refuse(command, fmt::format("{} belongs to user {}, not to {}: `chown {} {}`", path,
                                       stat.st_uid, options.owner, options.owner, path));
  }
  if ((stat.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refuse(command, fmt::format("{} can be written by others than its owner (mode {:o}): "
                                       "`chmod go-w {}`",
                                       path, stat.st_mode & 07777U, path));
  }
  return Ok{};
}

Status check_directories(const CommandOptions& options, const std::filesystem::path& real,
                         const std::string& command) {
  for (std::filesystem::path at = real.parent_path(); !at.empty(); at = at.parent_path()) {
    struct stat stat {};
    if (::stat(at.c_str(), &stat) != 0) return refuse(command, std::strerror(errno));
    if (Status good = check_owner(options, at.string(), command, stat); !good) return good;
    if (at == at.root_path()) break;
  }
  return Ok{};
}

Result<std::string> digest_of(int fd, const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  std::vector<char> chunk(kChunkBytes);
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    CHECK(EVP_DigestUpdate(context.get(), chunk.data(), static_cast<std::size_t>(got)) == 1);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1);
  return hex_of({digest.data(), length});
}

}  // namespace

Result<std::string> digest_of_command(const CommandOptions& options, const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return refuse(path, fmt::format("{}: correct `command`", error.message()));
  const UniqueFd file(::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat stat {};
  if (!file.valid() || ::fstat(file.get(), &stat) != 0) {
    return refuse(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(stat.st_mode)) return refuse(path, "is not a regular file");
  if (Status good = check_owner(options, real.string(), path, stat); !good) return good.error();
  if ((stat.st_mode & S_IXUSR) == 0) {
    return refuse(path, fmt::format("is not executable: `chmod u+x {}`", real.string()));
  }
  if (stat.st_size > kBytesMax) {
    return refuse(path,
                  fmt::format("has {} bytes, at most {} are accepted", stat.st_size, kBytesMax));
  }
  if (Status good = check_directories(options, real, path); !good) return good.error();
  return digest_of(file.get(), path);
}

Result<std::map<std::string, std::string>> digests_of_commands(
    const CommandOptions& options, const std::vector<std::string>& paths,
    std::vector<GuardFinding>& findings) {
  std::map<std::string, std::string> out;
  for (const std::string& path : paths) {
    auto digest = digest_of_command(options, path);
    findings.push_back({"step_command", digest.ok(),
                        digest ? fmt::format("{} sha256:{}", path, *digest) : digest.error().what});
    if (!digest) return std::move(digest).error().wrap("step_command");
    out[path] = *std::move(digest);
  }
  return out;
}

}  // namespace reclaim::nvme
