// Reads a provider that was read before. Creating an allocation moves the generation, deleting one
// does not: at the generation it had it has no consumer that was not read then. So the inventories
// are all that is asked for, unless they show another generation. A provider that was deleted and
// made again with the same UUID may have any generation: its reader has to read it in full.
#pragma once

#include "placement/conversations.h"

namespace reclaim::placement {

class ReadAgain final {
 public:
  using Value = ProviderView;
  using Step = ConversationStep<ProviderView>;

  ReadAgain(const Options& options, ProviderView known);

  [[nodiscard]] Step start();
  [[nodiscard]] Step on_answer(Result<HttpResponse> answer);

 private:
  const Options& options_;
  ProviderView known_;
  ReadProvider read_;
  bool first_answer_ = true;
};

}  // namespace reclaim::placement
