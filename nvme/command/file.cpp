#include "nvme/command/file.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>

#include "state/base/check.h"
#include "state/base/owned_file.h"
#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30U;
constexpr std::size_t kChunkBytes = std::size_t{256} * 1024;

Status check_directories(const WantedFile& wanted, const std::filesystem::path& real) {
  for (std::filesystem::path at = real.parent_path(); !at.empty(); at = at.parent_path()) {
    struct stat stat {};
    if (::stat(at.c_str(), &stat) != 0) return refuse(wanted, std::strerror(errno));
    if (Status good = check_owner(wanted, at.string(), stat); !good) return good;
    if (at == at.root_path()) break;
  }
  return Ok{};
}

Result<std::string> digest_of(int fd, const WantedFile& wanted) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  std::vector<char> chunk(kChunkBytes);
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(wanted, fmt::format("cannot be read: {}", std::strerror(errno)));
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
  const WantedFile wanted{"command", path, options.owner, kBytesMax};
  auto file = open_owned_file(wanted);
  if (!file) return std::move(file).error();
  if ((file->mode & S_IXUSR) == 0) {
    return refuse(wanted, fmt::format("is not executable: `chmod u+x {}`", file->path));
  }
  if (Status good = check_directories(wanted, file->path); !good) return std::move(good).error();
  return digest_of(file->fd.get(), wanted);
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
