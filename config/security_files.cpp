// Tells who may read the keys, write the configuration and open Redis' socket.
#include <fmt/core.h>
#include <sys/stat.h>

#include "config/security.h"
#include "state/certificate/file_ledger.h"
#include "state/certificate/mac_key.h"

namespace reclaim::config {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// The mode without the kind of file; nothing: there is none to be looked at.
std::optional<mode_t> mode_of(const std::string& path) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode & 07777U;
}

void look_at_key(const std::string& path, std::string_view option, std::vector<Remark>& out) {
  const auto mode = mode_of(path);
  if (!mode || (*mode & (S_IROTH | kOthersWrite)) == 0) return;
  out.push_back({fmt::format("{}: others than its owner may {} the key {} (mode {:04o})", option,
                             (*mode & S_IROTH) != 0 ? "read" : "write", path, *mode),
                 (*mode & S_IROTH) != 0 ? "chmod 0600 it, and make a new one: this one may be known"
                                        : "chmod go-w it"});
}

}  // namespace

std::vector<Remark> file_remarks(const Settings& settings, const std::vector<std::string>& files) {
  std::vector<Remark> out;
  for (const std::string& file : files) {
    const auto mode = mode_of(file);
    // The policy file has its own warning, where it is read (config/load.cpp).
    if (!mode || (*mode & kOthersWrite) == 0 || file == settings.policy_file) continue;
    out.push_back(
        {fmt::format("{}: others than its owner may write it (mode {:04o}), and so decide "
                     "which drives are erased",
                     file, *mode),
         "chmod go-w it"});
  }
  const std::string& signing_key = settings.signing_key;
  look_at_key(signing_key.empty() ? default_signing_key(settings.state_path) : signing_key,
              "[certificates] signing_key", out);
  look_at_key(default_host_key(settings.state_path), "the host's key of its records in Redis", out);
  look_at_key(settings.order_key_file, "[security] order_key_file", out);
  look_at_key(settings.api.http.tls_key_file, "[api] key_file", out);
  look_at_key(settings.placement.keyfile, "[placement] keyfile", out);
  look_at_key(settings.cyborg.session.keyfile, "[cyborg] keyfile", out);
  look_at_key(settings.tokens.session.keyfile, "[keystone_authtoken] keyfile", out);
  look_at_key(settings.amqp.tls.key_file, "[oslo_messaging_rabbit] ssl_key_file", out);
  look_at_key(settings.redis.tls.key_file, "[redis] tls_key_file", out);
  const auto socket = mode_of(settings.redis.unix_socket);
  if (socket && (*socket & S_IWOTH) != 0 && settings.redis.password.empty()) {
    out.push_back(
        {fmt::format("[redis] url has no password, and every user of this host may connect "
                     "to {} (mode {:04o})",
                     settings.redis.unix_socket, *socket),
         "unixsocketperm 770 in redis.conf, and Reclaim's user in its group"});
  }
  return out;
}

}  // namespace reclaim::config
