// The conversations with Placement of a single request, sans-I/O: what the close watch asks for
// (handlers/survey/close_watch.h).
#pragma once

#include <string>
#include <vector>

#include "placement/conversations.h"

namespace reclaim::placement {

// The inventories of one provider, without its allocations.
class ReadInventories final {
 public:
  using Value = std::vector<Inventory>;
  using Step = ConversationStep<Value>;

  ReadInventories(const Options& options, std::string provider_uuid);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  const Options& options_;
  std::string uuid_;
  ApiRequest request_;
};

// The UUID of the provider that has a name.
class FindProvider final {
 public:
  using Value = std::string;
  using Step = ConversationStep<Value>;

  FindProvider(const Options& options, std::string name);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  const Options& options_;
  std::string name_;
  ApiRequest request_;
};

// Which of some traits Placement knows.
class KnownTraits final {
 public:
  using Value = std::vector<std::string>;
  using Step = ConversationStep<Value>;

  KnownTraits(const Options& options, std::vector<std::string> traits);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  const Options& options_;
  std::vector<std::string> traits_;
  ApiRequest request_;
};

}  // namespace reclaim::placement
