// The conversations with Placement of a single request, sans-I/O: what the surveys and the close
// watch ask for (handlers/survey/survey.h, close_watch.h). The options outlive a conversation.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "placement/conversations.h"

namespace reclaim::placement {

// One request, and what its answer is read for. Errors: triage()'s, those of `read`, and that of a
// request which cannot be made.
template <typename T>
class Lookup final {
 public:
  using Value = T;
  using Step = ConversationStep<T>;
  using Read = std::function<Result<T>(const std::string& body)>;

  Lookup(Result<ApiRequest> request, Read read)
      : request_(std::move(request)), read_(std::move(read)) {}

  [[nodiscard]] Step start() {
    if (!request_.ok()) return Finished<T>{request_.error()};
    return *request_;
  }
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer) {
    auto good = triage(*request_, std::move(answer));
    if (!good.ok()) return Finished<T>{std::move(good).error()};
    return Finished<T>{read_(good->body)};
  }

 private:
  Result<ApiRequest> request_;
  Read read_;
};

// The rows of the tree under `root_uuid`; empty: Errc::not_found.
[[nodiscard]] Lookup<std::vector<ProviderRow>> ask_rows(const Options& options,
                                                        const std::string& root_uuid);
// The inventories of one provider, without its allocations.
[[nodiscard]] Lookup<std::vector<Inventory>> ask_inventories(const Options& options,
                                                             const std::string& provider_uuid);
// The consumers of one provider, without its inventories.
[[nodiscard]] Lookup<std::vector<std::string>> ask_consumers(const Options& options,
                                                             const std::string& provider_uuid);
// An instance or a migration: if it has an allocation, and whose it is.
[[nodiscard]] Lookup<Consumer> ask_consumer(const Options& options, const std::string& consumer);
// The UUID of the provider that has a name.
[[nodiscard]] Lookup<std::string> ask_for_name(const Options& options, const std::string& name);
// Those of some traits that Placement knows.
[[nodiscard]] Lookup<std::vector<std::string>> ask_known_traits(
    const Options& options, const std::vector<std::string>& traits);

}  // namespace reclaim::placement
