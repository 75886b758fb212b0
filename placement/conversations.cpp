#include "placement/conversations.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "placement/http/url.h"
#include "state/base/log.h"
#include "state/base/pci_address.h"
#include "state/base/uuid.h"

namespace reclaim::placement {
namespace {

constexpr std::string_view kOneTimeUse = "HW_PCI_ONE_TIME_USE";
constexpr std::string_view kOwnerCyborg = "OWNER_CYBORG";

// Placement answers 400 to a trait its os-traits does not know: then no provider has it.
bool trait_is_unknown(const HttpResponse& response, std::string_view trait) {
  return response.status == 400 && error_detail(response).detail.find(fmt::format(
                                       "No such trait(s): {}", trait)) != std::string::npos;
}

std::string provider_path(std::string_view uuid, std::string_view rest) {
  return fmt::format("/resource_providers/{}{}", uuid, rest);
}

// True if the name of a row may be a device's: <host>_<PCI address>.
bool names_a_function(std::string_view name) {
  const std::size_t underscore = name.rfind('_');
  return underscore != std::string_view::npos &&
         parse_pci_address(name.substr(underscore + 1)).ok();
}

template <typename T>
std::size_t bytes_max(const T& options) {
  return static_cast<std::size_t>(options.body_bytes_max);
}

}  // namespace

ListTree::ListTree(const Options& options, std::optional<Root> root, Tree known)
    : options_(options), known_(std::move(known)) {
  if (root) {
    tree_.root_uuid = std::move(root->uuid);
    tree_.root_name = std::move(root->name);
    asked_ = Asked::tree;
  } else {
    looked_up_ = true;
  }
}

ListTree::Step ListTree::start() {
  if (options_.root_provider_names.empty()) {
    return Finished<Tree>{
        Error{Errc::invalid, "no name is known under which Placement could have this host"}};
  }
  return ask();
}

ListTree::Step ListTree::ask() {
  const auto list = [&](RequestKind kind, std::string_view trait) {
    std::string path = "/resource_providers?in_tree=" + tree_.root_uuid;
    if (!trait.empty()) path += fmt::format("&required={}", trait);
    return ApiRequest{kind, std::move(path), ""};
  };
  switch (asked_) {
    case Asked::root:
      request_ = {RequestKind::find_root,
                  "/resource_providers?name=" + percent_encode(options_.root_provider_names[name_]),
                  ""};
      break;
    case Asked::tree:
      request_ = list(RequestKind::list_tree, "");
      break;
    case Asked::one_time_use:
      request_ = list(RequestKind::list_by_trait,
                      cyborgs_known_ ? fmt::format("{},!{}", kOneTimeUse, kOwnerCyborg)
                                     : std::string(kOneTimeUse));
      break;
    case Asked::owner_cyborg:
      request_ =
          list(RequestKind::list_by_trait, novas_known_ && !some_novas_
                                               ? fmt::format("{},!{}", kOwnerCyborg, kOneTimeUse)
                                               : std::string(kOwnerCyborg));
      break;
    case Asked::both:
      request_ = list(RequestKind::list_by_trait, fmt::format("{},{}", kOneTimeUse, kOwnerCyborg));
      break;
    case Asked::policies:
      request_ = {
          RequestKind::list_by_trait,
          fmt::format("/traits?name=startswith:{}&associated=true", options_.policy_trait_prefix),
          ""};
      break;
    case Asked::policy_bearers:
      request_ = list(RequestKind::list_by_trait, policy_traits_.back());
      break;
  }
  return request_;
}

ListTree::Step ListTree::on_answer(Result<HttpResponse> answer) {
  if (!answer.ok()) return Finished<Tree>{std::move(answer).error()};
  if (asked_ == Asked::tree && answer->status == 404) return look_up_again();
  // Deleted since it was listed: nobody has it.
  if (asked_ == Asked::policy_bearers && trait_is_unknown(*answer, policy_traits_.back())) {
    return next_policy();
  }
  const bool of_traits =
      asked_ == Asked::one_time_use || asked_ == Asked::owner_cyborg || asked_ == Asked::both;
  if (of_traits && novas_known_ && trait_is_unknown(*answer, kOneTimeUse)) {
    novas_known_ = false;
    return on_unknown_trait();
  }
  if (of_traits && cyborgs_known_ && trait_is_unknown(*answer, kOwnerCyborg)) {
    cyborgs_known_ = false;
    return on_unknown_trait();
  }
  auto good = triage(request_, *std::move(answer));
  if (!good.ok()) return Finished<Tree>{std::move(good).error()};
  switch (asked_) {
    case Asked::root:
      return on_root(*good);
    case Asked::tree:
      return on_tree(*good);
    case Asked::policies:
      return on_policies(*good);
    case Asked::policy_bearers:
      return on_policy_bearers(*good);
    case Asked::one_time_use:
    case Asked::owner_cyborg:
    case Asked::both:
      break;
  }
  return on_marked(*good);
}

Result<std::vector<RowAnswer>> ListTree::rows(const HttpResponse& response) const {
  return parse_rows(response.body, bytes_max(options_),
                    static_cast<std::size_t>(options_.tree_rows_max));
}

ListTree::Step ListTree::on_root(const HttpResponse& response) {
  const std::string& name = options_.root_provider_names[name_];
  auto found = rows(response);
  if (!found.ok()) return Finished<Tree>{std::move(found).error()};
  const auto row = std::find_if(found->begin(), found->end(),
                                [&](const RowAnswer& each) { return each.name == name; });
  if (row == found->end()) return next_name();
  if (row->root_uuid != row->uuid) {
    not_root_ = name;
    return next_name();
  }
  tree_.root_uuid = row->uuid;
  tree_.root_name = row->name;
  asked_ = Asked::tree;
  return ask();
}

ListTree::Step ListTree::next_name() {
  ++name_;
  if (name_ < options_.root_provider_names.size()) return ask();
  std::string what = fmt::format(
      "Placement has no root resource provider named '{}'; set the name Nova uses "
      "(`openstack resource provider list`, hypervisor_hostname)",
      printable_excerpt(fmt::format("{}", fmt::join(options_.root_provider_names, "' or '")), 600));
  if (!not_root_.empty()) {
    what += fmt::format("; '{}' is there, but below another provider",
                        printable_excerpt(not_root_, 200));
  }
  return Finished<Tree>{Error{Errc::not_found, std::move(what)}};
}

// The root we knew is gone: Nova has made a new one, or the host has been renamed.
ListTree::Step ListTree::look_up_again() {
  if (looked_up_) {
    return Finished<Tree>{Error{
        Errc::not_found, fmt::format("the root resource provider '{}' ({}) went away while "
                                     "its tree was listed",
                                     printable_excerpt(tree_.root_name, 200), tree_.root_uuid)}};
  }
  looked_up_ = true;
  tree_ = Tree{};
  name_ = 0;
  asked_ = Asked::root;
  return ask();
}

ListTree::Step ListTree::on_tree(const HttpResponse& response) {
  auto found = rows(response);
  if (!found.ok()) return Finished<Tree>{std::move(found).error()};
  bool root_there = false;
  tree_.last_modified = response.header("Last-Modified");
  tree_.rows.clear();
  for (RowAnswer& row : *found) {
    if (row.uuid == tree_.root_uuid) {
      root_there = true;
      tree_.root_name = row.name;
      tree_.root_generation = row.generation;
      continue;
    }
    tree_.rows.push_back({std::move(row.uuid), std::move(row.name), std::move(row.parent_uuid),
                          row.generation, false, false});
  }
  // Placement answers in_tree of a UUID it does not know with an empty list, not with 404.
  if (!root_there) return look_up_again();
  if (is_as_known()) {
    tree_.rows = known_.rows;
    return Finished<Tree>{std::move(tree_)};
  }
  asked_ = Asked::one_time_use;
  return ask();
}

bool ListTree::is_as_known() const {
  return known_.root_uuid == tree_.root_uuid &&
         std::is_permutation(tree_.rows.begin(), tree_.rows.end(), known_.rows.begin(),
                             known_.rows.end(), [](const ProviderRow& a, const ProviderRow& b) {
                               return a.uuid == b.uuid && a.generation == b.generation &&
                                      a.name == b.name && a.parent_uuid == b.parent_uuid;
                             });
}

ListTree::Step ListTree::on_marked(const HttpResponse& response) {
  auto found = rows(response);
  if (!found.ok()) return Finished<Tree>{std::move(found).error()};
  std::vector<std::string> bearers;
  bearers.reserve(found->size());
  for (RowAnswer& row : *found) bearers.push_back(std::move(row.uuid));
  std::sort(bearers.begin(), bearers.end());
  for (ProviderRow& row : tree_.rows) {
    if (!std::binary_search(bearers.begin(), bearers.end(), row.uuid)) continue;
    row.one_time_use = row.one_time_use || asked_ != Asked::owner_cyborg;
    row.owner_cyborg = row.owner_cyborg || asked_ != Asked::one_time_use;
    some_novas_ = some_novas_ || row.one_time_use;
  }
  return after_marks();
}

// Placement does not know the trait that was asked for, so no provider has it: the other one is
// asked for alone.
ListTree::Step ListTree::on_unknown_trait() {
  if (!novas_known_ && !cyborgs_known_) return after_owners();
  asked_ = novas_known_ ? Asked::one_time_use : Asked::owner_cyborg;
  return ask();
}

// Rows do not show their traits. Nova's are first asked for as those that are not Cyborg's as well:
// where that is every device there is none of Cyborg's to be found, and the usual host is spared a
// request with each survey. A provider that has both is asked for only where one may be.
ListTree::Step ListTree::after_marks() {
  const bool all_novas = std::all_of(tree_.rows.begin(), tree_.rows.end(),
                                     [](const ProviderRow& row) { return row.one_time_use; });
  if (asked_ == Asked::one_time_use && cyborgs_known_ && !all_novas) {
    asked_ = Asked::owner_cyborg;
    return ask();
  }
  if (asked_ == Asked::owner_cyborg && novas_known_ && may_bear_both()) {
    asked_ = Asked::both;
    return ask();
  }
  return after_owners();
}

// Asks Placement for the traits that begin so, and not the configuration: a trait that no section
// is for has to be seen as well.
ListTree::Step ListTree::after_owners() {
  if (options_.policy_trait_prefix.empty()) return Finished<Tree>{std::move(tree_)};
  asked_ = Asked::policies;
  return ask();
}

ListTree::Step ListTree::on_policies(const HttpResponse& response) {
  auto found = parse_known_traits(response.body, bytes_max(options_));
  if (!found.ok()) return Finished<Tree>{std::move(found).error()};
  for (std::string& trait : found->traits) {
    if (trait.starts_with(options_.policy_trait_prefix)) policy_traits_.push_back(std::move(trait));
  }
  if (policy_traits_.size() > static_cast<std::size_t>(options_.policy_traits_max)) {
    return Finished<Tree>{Error{
        Errc::invalid,
        fmt::format("providers in Placement have {} different traits that begin with {}, {} are "
                    "the limit: remove those that no [policy:NAME] section is for",
                    policy_traits_.size(), options_.policy_trait_prefix,
                    options_.policy_traits_max)}};
  }
  std::sort(policy_traits_.rbegin(), policy_traits_.rend());
  asked_ = Asked::policy_bearers;
  if (policy_traits_.empty()) return Finished<Tree>{std::move(tree_)};
  return ask();
}

ListTree::Step ListTree::on_policy_bearers(const HttpResponse& response) {
  auto found = rows(response);
  if (!found.ok()) return Finished<Tree>{std::move(found).error()};
  for (const RowAnswer& bearer : *found) {
    const auto row =
        std::find_if(tree_.rows.begin(), tree_.rows.end(),
                     [&](const ProviderRow& each) { return each.uuid == bearer.uuid; });
    if (row != tree_.rows.end()) row->policy_traits.push_back(policy_traits_.back());
  }
  return next_policy();
}

ListTree::Step ListTree::next_policy() {
  policy_traits_.pop_back();
  if (policy_traits_.empty()) return Finished<Tree>{std::move(tree_)};
  return ask();
}

// True if a provider may have both traits. Beside some of Nova's, all of Cyborg's were asked for,
// else those that are not Nova's as well.
bool ListTree::may_bear_both() const {
  return std::any_of(tree_.rows.begin(), tree_.rows.end(), [&](const ProviderRow& row) {
    if (some_novas_) return row.owner_cyborg;
    return !row.owner_cyborg && names_a_function(row.name);
  });
}

ReadProvider::ReadProvider(const Options& options, std::string provider_uuid)
    : options_(options), uuid_(std::move(provider_uuid)), rereads_left_(options.rereads_max) {}

ReadProvider::Step ReadProvider::start() {
  if (!looks_like_uuid(uuid_)) {
    return Finished<ProviderView>{Error{
        Errc::invalid, fmt::format("'{}' is not a provider's UUID", printable_excerpt(uuid_, 60))}};
  }
  return ask(RequestKind::inventories);
}

ReadProvider::Step ReadProvider::ask(RequestKind kind) {
  request_ = {
      kind,
      provider_path(uuid_, kind == RequestKind::inventories ? "/inventories" : "/allocations"), ""};
  return request_;
}

Result<Ok> ReadProvider::take_in(const HttpResponse& response) {
  if (request_.kind == RequestKind::inventories) {
    auto answer = parse_inventories(response.body, bytes_max(options_));
    if (!answer.ok()) return std::move(answer).error();
    inventories_ = *std::move(answer);
  } else {
    auto answer = parse_allocations(response.body, bytes_max(options_));
    if (!answer.ok()) return std::move(answer).error();
    allocations_ = *std::move(answer);
  }
  return Ok{};
}

ReadProvider::Step ReadProvider::on_answer(Result<HttpResponse> answer) {
  auto good = triage(request_, std::move(answer));
  if (!good.ok()) return Finished<ProviderView>{std::move(good).error()};
  if (auto taken = take_in(*good); !taken.ok()) {
    return Finished<ProviderView>{std::move(taken).error()};
  }
  if (!allocations_) return ask(RequestKind::allocations);
  if (inventories_->generation == allocations_->generation) {
    return Finished<ProviderView>{ProviderView{uuid_, inventories_->generation,
                                               std::move(inventories_->inventories),
                                               std::move(allocations_->consumers)}};
  }
  if (rereads_left_ == 0) {
    return Finished<ProviderView>{
        Error{Errc::conflict,
              fmt::format("provider {} changed at each of {} reads; its inventories were last seen "
                          "at generation {}, its allocations at {}",
                          uuid_, options_.rereads_max + 2, inventories_->generation,
                          allocations_->generation)}};
  }
  --rereads_left_;
  return ask(request_.kind == RequestKind::inventories ? RequestKind::allocations
                                                       : RequestKind::inventories);
}

SetReserved::SetReserved(const Options& options, ProviderView view, std::int64_t reserved)
    : options_(options), view_(std::move(view)) {
  if (view_.is_device()) wanted_ = view_.inventories.front();
  wanted_.reserved = reserved;
}

SetReserved::Step SetReserved::start() {
  const auto refuse = [&](std::string_view why) {
    return Finished<ProviderView>{Error{
        Errc::refused, fmt::format("reserved of provider {} is not set to {}: {}",
                                   printable_excerpt(view_.uuid, 60), wanted_.reserved, why)}};
  };
  if (!looks_like_uuid(view_.uuid)) return refuse("that is not a provider's UUID");
  if (!view_.is_device()) return refuse("it is not a single device (one inventory with total 1)");
  if (!is_resource_class(wanted_.resource_class)) return refuse("it has no valid resource class");
  if (wanted_.reserved < 0 || wanted_.reserved > wanted_.total) {
    return refuse("only 0 up to its total are possible");
  }
  // The last gate of the promise on this side of the wire: whoever calls has decided already.
  if (wanted_.reserved == 0 && !view_.free()) return refuse("it has an allocation");
  request_ = {RequestKind::set_inventory,
              provider_path(view_.uuid, "/inventories/" + wanted_.resource_class),
              inventory_body(wanted_, view_.generation), Method::put};
  return request_;
}

SetReserved::Step SetReserved::on_answer(Result<HttpResponse> answer) {
  if (full_read_) return on_full_read(full_read_->on_answer(std::move(answer)));
  if (!written_) {
    auto good = triage(request_, std::move(answer));
    if (!good.ok()) return Finished<ProviderView>{std::move(good).error()};
    return on_written(*good);
  }
  auto good = triage(request_, std::move(answer));
  if (good.ok()) return on_confirming(*good);
  return on_full_read(Finished<ProviderView>{std::move(good).error()});
}

SetReserved::Step SetReserved::on_written(const HttpResponse& response) {
  written_ = true;
  written_generation_ = parse_put_generation(response.body, bytes_max(options_));
  request_ = {RequestKind::inventories, provider_path(view_.uuid, "/inventories"), ""};
  return request_;
}

SetReserved::Step SetReserved::on_confirming(const HttpResponse& response) {
  auto read = parse_inventories(response.body, bytes_max(options_));
  if (!read.ok()) return on_full_read(Finished<ProviderView>{std::move(read).error()});
  if (written_generation_ && read->generation == *written_generation_) {
    // Our write was made at the view's generation and nothing came after it, so that the view's
    // allocations stand.
    return confirm({view_.uuid, read->generation, std::move(read->inventories), view_.consumers});
  }
  full_read_.emplace(options_, view_.uuid);
  return on_full_read(full_read_->start());
}

SetReserved::Step SetReserved::on_full_read(ReadProvider::Step step) {
  if (auto* request = std::get_if<ApiRequest>(&step)) return std::move(*request);
  auto& result = std::get<Finished<ProviderView>>(step).result;
  if (result.ok()) return confirm(*std::move(result));
  Error error = result.error().wrap(fmt::format(
      "reserved = {} was written, but could not be confirmed by a read", wanted_.reserved));
  if (error.code != Errc::not_found) error.code = Errc::unknown;
  return Finished<ProviderView>{std::move(error)};
}

SetReserved::Step SetReserved::confirm(ProviderView read) {
  if (read.inventories.size() == 1 && read.inventories.front() == wanted_) {
    return Finished<ProviderView>{std::move(read)};
  }
  const bool moved = !written_generation_ || read.generation > *written_generation_;
  return Finished<ProviderView>{
      Error{moved ? Errc::conflict : Errc::unknown,
            fmt::format("reserved = {} was written to provider {}, but a read shows otherwise{}",
                        wanted_.reserved, view_.uuid,
                        moved ? ": it was changed since" : " at the same generation")}};
}

}  // namespace reclaim::placement
