// Accelerator requests as the API shows them: those that were heard of or read of Cyborg, in
// Cyborg's own shape. Pure; thread: any.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handlers/api/fleet.h"
#include "handlers/api/json.h"
#include "handlers/api/route.h"
#include "handlers/api/version.h"

namespace reclaim::api {

struct ArqFilter {
  std::optional<std::string> instance;
  bool resolved = false;  // bind_state=resolved
  // The project whose ARQs may be seen; nothing: everybody's. An ARQ whose project is not known is
  // nobody's.
  std::optional<std::string> project;
};

// The parameters of `GET /v2/accelerator_requests`; the error names the one that is wrong and what
// is accepted.
[[nodiscard]] Result<ArqFilter> parse_arq_filter(const Parameters& parameters);

// One ARQ as the books that have it tell, of what whoever asks may see: each host's word that it
// binds, for a host may say so of another's; where none does, what was heard of last. Empty: there
// is nothing to be seen. `project`: as in the filter.
[[nodiscard]] std::vector<const ArqRow*> told_of(Arqs::const_iterator first,
                                                 Arqs::const_iterator last,
                                                 const std::optional<std::string>& project);

// The note where several hosts' books say that it binds.
[[nodiscard]] std::string doubt_of(const std::vector<const ArqRow*>& told);

// The body of `GET /v2/accelerator_requests`, made in pieces.
class ArqList final {
 public:
  ArqList(std::shared_ptr<const Arqs> arqs, ArqFilter filter, Microversion version,
          std::string base_url);

  // Goes through some more of the ARQs; false: that was the last of it.
  [[nodiscard]] bool go_on();
  // Nothing: some of the instance's ARQs are not resolved yet, which is a 423.
  [[nodiscard]] std::optional<std::string> take();
  // The host whose book has an ARQ that is not resolved.
  [[nodiscard]] const std::string& unresolved_on() const { return unresolved_on_; }

 private:
  void look_at(const ArqRow& row);

  const std::shared_ptr<const Arqs> arqs_;
  const ArqFilter filter_;
  const Microversion version_;
  const std::string base_url_;
  Arqs::const_iterator next_;
  std::string unresolved_on_;  // a host; empty: none so far
  std::string body_;
  rapidjson::StringBuffer buffer_;  // of the piece that is being made
  JsonWriter writer_{buffer_};
};
[[nodiscard]] std::string arq_body(const ArqRow& row, Microversion version,
                                   const std::string& base_url);

}  // namespace reclaim::api
