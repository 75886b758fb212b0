// The conversations with Placement that take more than one request, sans-I/O: each says which
// request it wants next, is told the answer, and ends in a result. What Exchange takes care of
// (tokens, retries) they do not see: they get final answers only.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "placement/answers.h"
#include "placement/keystone/exchange.h"
#include "placement/providers.h"

namespace reclaim::placement {

template <typename T>
using ConversationStep = std::variant<ApiRequest, Finished<T>>;

// This host's root provider, once found.
struct Root {
  std::string uuid;
  std::string name;
};

// The tree. The root is looked up by name the first time and again when it is gone. Where every row
// is as in `known` (placement/providers.h), the marks are those of `known`.
class ListTree final {
 public:
  using Value = Tree;
  using Step = ConversationStep<Tree>;

  ListTree(const Options& options, std::optional<Root> root, Tree known = {});

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  enum class Asked { root, tree, one_time_use, owner_cyborg, both, policies, policy_bearers };

  [[nodiscard]] Step ask();
  [[nodiscard]] Step next_name();
  [[nodiscard]] Step on_root(const HttpResponse& response);
  [[nodiscard]] Step on_tree(const HttpResponse& response);
  [[nodiscard]] bool is_as_known() const;
  [[nodiscard]] Step on_marked(const HttpResponse& response);
  [[nodiscard]] Step on_unknown_trait();
  [[nodiscard]] Step after_marks();
  [[nodiscard]] Step after_owners();
  [[nodiscard]] Step on_policies(const HttpResponse& response);
  [[nodiscard]] Step on_policy_bearers(const HttpResponse& response);
  [[nodiscard]] Step next_policy();
  [[nodiscard]] bool may_bear_both() const;
  [[nodiscard]] Step look_up_again();
  [[nodiscard]] Result<std::vector<RowAnswer>> rows(const HttpResponse& response) const;

  const Options& options_;
  const Tree known_;
  ApiRequest request_;
  Asked asked_ = Asked::root;
  std::size_t name_ = 0;
  bool looked_up_ = false;
  bool novas_known_ = true;    // Placement knows HW_PCI_ONE_TIME_USE,
  bool cyborgs_known_ = true;  // and OWNER_CYBORG
  bool some_novas_ = false;
  std::vector<std::string> policy_traits_;  // that some provider has, still to be asked for
  std::string not_root_;                    // a name that was found, but deeper in somebody's tree
  Tree tree_;
};

// Inventories and allocations of one provider at one generation. The two are read in turn until the
// last two answers agree. Deleting an allocation does not move the generation, creating one does:
// what is missed in between can only make the device freer than it is said to be.
class ReadProvider final {
 public:
  using Value = ProviderView;
  using Step = ConversationStep<ProviderView>;

  ReadProvider(const Options& options, std::string provider_uuid);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  [[nodiscard]] Step ask(RequestKind kind);
  [[nodiscard]] Result<Ok> take_in(const HttpResponse& response);

  const Options& options_;
  std::string uuid_;
  ApiRequest request_;
  int rereads_left_;
  std::optional<InventoriesAnswer> inventories_;
  std::optional<AllocationsAnswer> allocations_;
};

// Writes `reserved` of the one inventory of a view, at the view's generation, and reads it back.
//
// Once Placement has answered the write with 200, no failure is "not done" any more: a read that
// fails is unknown. Where the read shows another generation than the write made, somebody has moved
// on since; the provider is then read in full, and success still needs the value we wrote.
class SetReserved final {
 public:
  using Value = ProviderView;
  using Step = ConversationStep<ProviderView>;

  SetReserved(const Options& options, ProviderView view, std::int64_t reserved);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  [[nodiscard]] Step on_written(const HttpResponse& response);
  [[nodiscard]] Step on_confirming(const HttpResponse& response);
  [[nodiscard]] Step on_full_read(ReadProvider::Step step);
  [[nodiscard]] Step confirm(ProviderView read);

  const Options& options_;
  ProviderView view_;
  Inventory wanted_;
  ApiRequest request_;
  bool written_ = false;
  std::optional<std::int64_t> written_generation_;
  std::optional<ReadProvider> full_read_;
};

}  // namespace reclaim::placement
