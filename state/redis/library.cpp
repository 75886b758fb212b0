#include "state/redis/library.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "state/base/check.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::size_t kSuffixDigits = 12;
constexpr std::string_view kProbe = "probe";

std::string hex_sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr) == 1);
  return hex_of({digest.data(), length});
}

std::string function_name(std::string_view name, std::string_view suffix) {
  return fmt::format("reclaim_{}_{}", name, suffix);
}

std::string library_name(std::string_view suffix) {
  return fmt::format("reclaim_{}", suffix);
}

std::string function_text(const RedisScriptText& script, std::string_view suffix) {
  return fmt::format(
      "redis.register_function{{function_name='{}', flags={{{}}}, callback=function(KEYS, ARGV)"
      "{}end}}\n",
      function_name(script.name, suffix),
      script.flag.empty() ? "" : fmt::format("'{}'", script.flag), script.lua);
}

std::string library_text(std::string_view suffix) {
  std::string text = fmt::format("#!lua name={}\n", library_name(suffix));
  const RedisScriptText probe{{}, kProbe, " return 'ok' ", "no-writes"};
  text += function_text(probe, suffix);
  for (const RedisScriptText& script : redis_scripts()) text += function_text(script, suffix);
  return text;
}

}  // namespace

RedisLibrary::RedisLibrary() {
  const std::string suffix = hex_sha1(library_text("")).substr(0, kSuffixDigits);
  name_ = library_name(suffix);
  text_ = library_text(suffix);
  probe_ = function_name(kProbe, suffix);
  for (const RedisScriptText& script : redis_scripts()) {
    entries_.push_back({function_name(script.name, suffix), hex_sha1(script.lua)});
  }
}

const RedisLibrary& RedisLibrary::ours() {
  static const RedisLibrary kLibrary;
  return kLibrary;
}

const std::string& RedisLibrary::function(RedisScript script) const {
  return entries_.at(static_cast<std::size_t>(script)).function;
}

std::optional<std::string> RedisLibrary::sha1_of(std::string_view function) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [function](const Entry& entry) {
    return entry.function == function;
  });
  if (found == entries_.end()) return std::nullopt;
  return found->sha1;
}

}  // namespace reclaim
