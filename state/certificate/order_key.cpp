#include "state/certificate/order_key.h"

#include <fmt/core.h>

#include "state/base/check.h"
#include "state/base/durable_file.h"

namespace reclaim {
namespace {

constexpr std::string_view kPurpose = "reclaim order key 1";

}  // namespace

Result<OrderKey> OrderKey::load(const std::string& path) {
  Result<std::string> text = durable_file::read_secret(path);
  if (!text.ok()) return std::move(text).error();
  const std::size_t space = text->find(' ');
  const bool of_host = space != std::string::npos;
  auto key = MacKey::parse(of_host ? std::string_view(*text).substr(space + 1) : *text);
  if (!key || space == 0) {
    return Error{Errc::invalid,
                 fmt::format("{} holds no key of orders: on operators' machines and nodes of the "
                             "API that is what `openssl rand -hex 32` prints, on a host what "
                             "`reclaim security order-key --host NAME` prints there",
                             path)};
  }
  return OrderKey(of_host ? text->substr(0, space) : std::string(), *std::move(key));
}

std::optional<MacKey> OrderKey::key_of(const std::string& host) const {
  if (host_ == host && !host.empty()) return key_;
  if (!host_.empty()) return std::nullopt;
  auto derived = MacKey::parse(key_.mac(kPurpose, {{"host", host}}));
  CHECK(derived.has_value());
  return derived;
}

std::string OrderKey::line_for(const std::string& host) const {
  CHECK(host_.empty());
  return host + " " + key_.mac(kPurpose, {{"host", host}});
}

std::string why_not_of_host(const OrderKey& key, const std::string& host) {
  if (key.host() == host) return {};
  const std::string remedy = fmt::format(
      "run `reclaim security order-key --host {}` on an operator's machine, and put the line that "
      "it prints into the file",
      host);
  if (!key.host().empty()) {
    return fmt::format("it holds the key of host {}, and this is {}: {}", key.host(), host, remedy);
  }
  return fmt::format(
      "it holds the fleet's master key, as versions before this one shared it; with that, root on "
      "this host orders on every other: {}. Then make a new master, for every host has seen this "
      "one (docs/operator-guide.md, \"The key of orders\")",
      remedy);
}

}  // namespace reclaim
