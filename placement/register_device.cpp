#include "placement/register_device.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "placement/http/url.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/base/uuid.h"

namespace reclaim::placement {
namespace {

constexpr std::string_view kOwnerCyborg = "OWNER_CYBORG";
constexpr int kConflict = 409;
constexpr int kServerError = 500;

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The trait by which the provider is another's and not Cyborg's; empty: it has none.
std::string_view other_owner(const std::vector<std::string>& traits) {
  for (const std::string_view trait : {"OWNER_NOVA", "HW_PCI_ONE_TIME_USE"}) {
    if (contains(traits, trait)) return trait;
  }
  return "";
}

// Placement (seen with 8.0) catches a change between its own read and write of a provider's traits
// nowhere: it rolls the write back and answers 500, not 409.
bool was_overtaken(const Error& error) {
  return error.raw == kServerError && error.what.find("concurrently updated") != std::string::npos;
}

}  // namespace

RegisterDevice::RegisterDevice(const Options& options, NewDevice device)
    : options_(options),
      device_(std::move(device)),
      rounds_left_(options.rereads_max),
      trait_writes_left_(options.rereads_max + 1) {}

RegisterDevice::Step RegisterDevice::stop(Errc code, std::string_view why) const {
  return Finished<Registered>{Error{code, fmt::format("provider '{}' is not registered: {}",
                                                      printable_excerpt(device_.name, 200), why)}};
}

RegisterDevice::Step RegisterDevice::start() {
  if (!looks_like_uuid(device_.uuid) || !looks_like_uuid(device_.parent_uuid)) {
    return stop(Errc::invalid, "its UUID or its parent's is none");
  }
  if (device_.name.empty() || device_.name.size() > kProviderNameBytesMax) {
    return stop(Errc::invalid, fmt::format("its name is of {} bytes, 1 to {} are possible",
                                           device_.name.size(), kProviderNameBytesMax));
  }
  if (!is_resource_class(device_.resource_class)) {
    return stop(Errc::invalid, fmt::format("'{}' is not a resource class",
                                           printable_excerpt(device_.resource_class, 60)));
  }
  if (!contains(device_.traits, kOwnerCyborg) ||
      !std::all_of(device_.traits.begin(), device_.traits.end(), is_resource_class)) {
    return stop(Errc::invalid,
                fmt::format("its traits have to be traits and to name {}", kOwnerCyborg));
  }
  return ask(Asked::known_traits,
             fmt::format("/traits?name=in:{}", fmt::join(device_.traits, ",")));
}

RegisterDevice::Step RegisterDevice::ask(Asked what, std::string path, std::string body) {
  asked_ = what;
  const auto method = [&] {
    if (what == Asked::create_provider) return Method::post;
    return what == Asked::create_class || !body.empty() ? Method::put : Method::get;
  };
  const Method how = method();
  request_ = {RequestKind::register_device, std::move(path), std::move(body), how};
  return request_;
}

RegisterDevice::Step RegisterDevice::find() {
  return ask(Asked::find, "/resource_providers?name=" + percent_encode(device_.name));
}

RegisterDevice::Step RegisterDevice::create_class() {
  return ask(Asked::create_class, "/resource_classes/" + device_.resource_class);
}

RegisterDevice::Step RegisterDevice::read_traits() {
  return ask(Asked::traits, fmt::format("/resource_providers/{}/traits", provider_));
}

RegisterDevice::Step RegisterDevice::read_inventories() {
  return ask(Asked::inventories, fmt::format("/resource_providers/{}/inventories", provider_));
}

RegisterDevice::Step RegisterDevice::on_answer(Result<HttpResponse> answer) {
  if (full_read_) return on_read_back(full_read_->on_answer(std::move(answer)));
  if (!answer.ok()) return Finished<Registered>{std::move(answer).error()};
  auto good = triage(request_, *std::move(answer));
  if (!good.ok()) return on_failed(std::move(good).error());
  switch (asked_) {
    case Asked::known_traits:
      return on_known_traits(*good);
    case Asked::find:
      return on_found(*good);
    case Asked::create_class:
      class_there_ = true;
      if (!provider_.empty()) return make_what_is_missing();
      return ask(Asked::create_provider, "/resource_providers", provider_body(device_));
    case Asked::create_provider:
      provider_ = device_.uuid;
      return read_traits();
    case Asked::traits:
      return on_traits(*good);
    case Asked::inventories:
      return on_inventories(*good);
    case Asked::put_traits:
      // The generation has moved on; what else has, a read shows.
      return read_traits();
    case Asked::put_inventory:
      inventory_written_ = true;
      return read_back();
  }
  return read_back();
}

RegisterDevice::Step RegisterDevice::on_failed(Error error) {
  const bool raced = error.code == Errc::conflict ||
                     (asked_ == Asked::create_provider && error.raw == kConflict) ||
                     (asked_ == Asked::put_traits && was_overtaken(error));
  return raced ? again(std::move(error)) : Finished<Registered>{std::move(error)};
}

// Somebody was quicker: what he made may be what was wanted, or what forbids it.
RegisterDevice::Step RegisterDevice::again(Error error) {
  if (rounds_left_ == 0) return Finished<Registered>{std::move(error)};
  --rounds_left_;
  return find();
}

RegisterDevice::Step RegisterDevice::on_known_traits(const HttpResponse& response) {
  auto known = parse_known_traits(response.body, static_cast<std::size_t>(options_.body_bytes_max));
  if (!known.ok()) return Finished<Registered>{std::move(known).error()};
  if (!contains(known->traits, kOwnerCyborg)) {
    return stop(Errc::refused,
                fmt::format("this Placement does not know the trait {}; install a newer os-traits "
                            "beside it and restart it",
                            kOwnerCyborg));
  }
  std::vector<std::string> traits;
  for (std::string& trait : device_.traits) {
    (contains(known->traits, trait) ? traits : left_out_).push_back(std::move(trait));
  }
  device_.traits = std::move(traits);
  return find();
}

RegisterDevice::Step RegisterDevice::on_found(const HttpResponse& response) {
  auto rows = parse_rows(response.body, static_cast<std::size_t>(options_.body_bytes_max),
                         static_cast<std::size_t>(options_.tree_rows_max));
  if (!rows.ok()) return Finished<Registered>{std::move(rows).error()};
  // Placement on MySQL takes names that differ in case only for the same.
  const auto row = std::find_if(rows->begin(), rows->end(), [&](const RowAnswer& each) {
    return same_ignoring_case(each.name, device_.name);
  });
  if (row == rows->end()) {
    provider_.clear();
    return create_class();
  }
  if (row->parent_uuid != device_.parent_uuid) {
    return stop(Errc::refused,
                fmt::format("one of that name ({}) is there, but not below this host's root "
                            "provider {}; remove it if it is not used",
                            row->uuid, device_.parent_uuid));
  }
  provider_ = row->uuid;
  return read_traits();
}

RegisterDevice::Step RegisterDevice::on_traits(const HttpResponse& response) {
  auto traits =
      parse_provider_traits(response.body, static_cast<std::size_t>(options_.body_bytes_max));
  if (!traits.ok()) return Finished<Registered>{std::move(traits).error()};
  traits_ = *std::move(traits);
  if (provider_ != device_.uuid && !contains(traits_.traits, kOwnerCyborg)) {
    return stop(Errc::refused, fmt::format("one of that name ({}) is there without {}; it belongs "
                                           "to another service and is left as it is",
                                           provider_, kOwnerCyborg));
  }
  if (const std::string_view owner = other_owner(traits_.traits); !owner.empty()) {
    return stop(Errc::refused,
                fmt::format("one of that name ({}) has {}: Nova has the device too; take it "
                            "out of nova.conf's or out of our device_spec",
                            provider_, owner));
  }
  return read_inventories();
}

RegisterDevice::Step RegisterDevice::on_inventories(const HttpResponse& response) {
  auto read = parse_inventories(response.body, static_cast<std::size_t>(options_.body_bytes_max));
  if (!read.ok()) return Finished<Registered>{std::move(read).error()};
  inventories_ = *std::move(read);
  for (const Inventory& inventory : inventories_.inventories) {
    if (inventory.resource_class == device_.resource_class) continue;
    return stop(Errc::refused,
                fmt::format("{} has an inventory of {}, not of {} alone: another drive was there, "
                            "or another client writes it; delete that inventory",
                            provider_, inventory.resource_class, device_.resource_class));
  }
  return make_what_is_missing();
}

RegisterDevice::Step RegisterDevice::make_what_is_missing() {
  std::vector<std::string> traits = traits_.traits;
  for (const std::string& trait : device_.traits) {
    if (!contains(traits, trait)) traits.push_back(trait);
  }
  if (traits.size() > traits_.traits.size()) {
    if (trait_writes_left_ == 0) {
      return stop(Errc::conflict, "its traits were written, but another client removes them again");
    }
    --trait_writes_left_;
    return ask(Asked::put_traits, fmt::format("/resource_providers/{}/traits", provider_),
               traits_body(traits, traits_.generation));
  }
  if (!inventories_.inventories.empty()) return read_back();
  if (!class_there_) return create_class();
  // Reserved from its first moment on: nobody may be given a drive that was never cleaned.
  const Inventory reserved{device_.resource_class, 1, 1, 1, 1, 1, 1.0};
  return ask(Asked::put_inventory, fmt::format("/resource_providers/{}/inventories", provider_),
             inventories_body(reserved, inventories_.generation));
}

RegisterDevice::Step RegisterDevice::read_back() {
  full_read_.emplace(options_, provider_);
  return on_read_back(full_read_->start());
}

RegisterDevice::Step RegisterDevice::on_read_back(ReadProvider::Step step) {
  if (auto* request = std::get_if<ApiRequest>(&step)) return std::move(*request);
  auto& result = std::get<Finished<ProviderView>>(step).result;
  if (!result.ok()) {
    Error error = result.error();
    if (inventory_written_) {
      error = error.wrap(fmt::format("provider '{}' was registered, but could not be read back",
                                     printable_excerpt(device_.name, 200)));
      error.code = Errc::unknown;
    }
    return Finished<Registered>{std::move(error)};
  }
  if (inventory_written_ && !result->burned()) {
    return stop(Errc::conflict,
                "its inventory was written with reserved = 1, but a read shows "
                "otherwise: it was changed since");
  }
  return Finished<Registered>{Registered{*std::move(result), std::move(left_out_)}};
}

}  // namespace reclaim::placement
