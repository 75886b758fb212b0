#include "placement/read_again.h"

#include <cstddef>
#include <utility>

#include "placement/answers.h"

namespace reclaim::placement {
namespace {

constexpr int kStatusOk = 200;

}  // namespace

ReadAgain::ReadAgain(const Options& options, ProviderView known)
    : options_(options), known_(std::move(known)), read_(options, known_.uuid) {}

ReadAgain::Step ReadAgain::start() {
  return read_.start();
}

ReadAgain::Step ReadAgain::on_answer(Result<HttpResponse> answer) {
  if (std::exchange(first_answer_, false) && answer.ok() && answer->status == kStatusOk) {
    auto read = parse_inventories(answer->body, static_cast<std::size_t>(options_.body_bytes_max));
    if (read.ok() && read->generation == known_.generation) {
      return Finished<ProviderView>{ProviderView{known_.uuid, read->generation,
                                                 std::move(read->inventories),
                                                 std::move(known_.consumers)}};
    }
  }
  return read_.on_answer(std::move(answer));
}

}  // namespace reclaim::placement
