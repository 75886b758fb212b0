// A secret key by which texts are authenticated (HMAC-SHA256): this host's own, which its records
// in Redis and its local command line's orders carry, or that of orders from elsewhere
// (order_key.h). A file of 64 hexadecimal digits, readable by its owner alone. Blocks while the
// file is read or written; otherwise pure, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "state/base/result.h"

namespace reclaim {

class MacKey final {
 public:
  // Errc::not_found: there is no such file. Errc::invalid names what is wrong with it.
  [[nodiscard]] static Result<MacKey> load(const std::string& path);
  // Reads a key out of such a file's text. Zeroes, as of an empty disk, are no secret.
  [[nodiscard]] static std::optional<MacKey> parse(std::string_view text);
  // Loads it as load() does; where there is no such file, makes one (mode 0600, durable).
  [[nodiscard]] static Result<MacKey> load_or_create(const std::string& path);

  // The code in lower-case hex. `purpose` keeps what one thing is signed with from being good for
  // another; each name and value is taken with its length, in the order of the names.
  [[nodiscard]] std::string mac(std::string_view purpose,
                                const std::map<std::string, std::string>& fields) const;
  // Takes the same time wherever they differ.
  [[nodiscard]] bool fits(std::string_view purpose,
                          const std::map<std::string, std::string>& fields,
                          std::string_view mac_text) const;

 private:
  explicit MacKey(std::string secret) : secret_(std::move(secret)) {}
  std::string secret_;  // raw
};

// STATE_PATH/host.key.
[[nodiscard]] std::string default_host_key(const std::string& state_path);

}  // namespace reclaim
