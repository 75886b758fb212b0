#include "tests/exhaustive/search.h"

#include <fmt/core.h>

#include <memory>
#include <unordered_set>
#include <utility>

namespace reclaim::exhaustive {
namespace {

constexpr std::size_t kStartAgainCounts = 2;

struct State {
  Path path;
  std::uint64_t at_step = 0;
  std::vector<Happening> possible;
};

struct HashOfDigest {
  std::size_t operator()(const Digest& digest) const { return digest.low; }
};

// The model right after the last choice of the path.
std::unique_ptr<Model> replay(const Path& path, const Extras& extras, bool trace = false) {
  auto model = std::make_unique<Model>(path.start, extras, trace);
  for (const Choice& choice : path.choices) {
    while (model->steps() < choice.after) model->step();
    model->let(choice.happening);
  }
  return model;
}

class Search final {
 public:
  explicit Search(const Extras& extras) : extras_(extras) {}

  Found run(std::size_t depth) {
    std::vector<std::vector<State>> layers(depth + 1);
    for (std::size_t i = 0; i <= depth && found_.broken.empty(); ++i) {
      found_.layers.emplace_back();
      left_ = depth - i;
      if (i == 0) follow({Start::first, {}}, layers[i]);
      if (i == kStartAgainCounts) follow({Start::again, {}}, layers[i]);
      for (const std::size_t counts : {1U, 2U}) {
        if (counts <= i) expand(layers[i - counts], counts, layers[i]);
      }
      found_.layers.back().states = layers[i].size();
    }
    return std::move(found_);
  }

 private:
  void expand(const std::vector<State>& layer, std::size_t counts, std::vector<State>& reached) {
    for (const State& state : layer) {
      for (const Happening happening : state.possible) {
        if (counts_as(happening) != counts) continue;
        if (!found_.broken.empty()) return;
        Path path = state.path;
        path.choices.push_back({state.at_step, happening});
        if (missing(path) > left_) continue;
        found_.layers.back().transitions += 1;
        follow(path, reached);
      }
    }
  }

  // Of how many extras the path has no happening yet.
  [[nodiscard]] std::size_t missing(const Path& path) const {
    Extras without = extras_;
    std::erase_if(without, is_another_world);
    for (const Choice& choice : path.choices) {
      if (const auto extra = extra_of(choice.happening)) without.erase(*extra);
    }
    return without.size();
  }

  // What comes after the path, until it is known or nothing comes any more.
  void follow(const Path& path, std::vector<State>& reached) {
    const auto model = replay(path, extras_);
    const auto keep = [&](bool at_rest = false) {
      std::string broken = model->broken();
      if (broken.empty() && at_rest) broken = model->unsettled();
      if (!broken.empty()) {
        found_.broken = std::move(broken);
        found_.path = path;
        found_.at_step = model->steps();
        return false;
      }
      if (!known_.insert(model->digest()).second) return false;
      State state{path, model->steps(), {}};
      for (std::size_t i = 0; i < kHappeningCount; ++i) {
        const auto happening = static_cast<Happening>(i);
        if (model->can(happening)) state.possible.push_back(happening);
      }
      reached.push_back(std::move(state));
      return true;
    };
    (void)model->moved();
    if (!keep()) return;
    while (!model->rests()) {
      model->step();
      if (model->moved() && !keep()) return;
    }
    (void)keep(true);
  }

  const Extras& extras_;
  std::size_t left_ = 0;  // happenings that may still come, in the layers below
  std::unordered_set<Digest, HashOfDigest> known_;
  Found found_;
};

}  // namespace

Found search(std::size_t depth, const Extras& extras) {
  return Search(extras).run(depth);
}

std::string tell(const Path& path, const Extras& extras, std::uint64_t until) {
  const auto model = replay(path, extras, true);
  while (model->steps() < until) model->step();
  return model->trace();
}

}  // namespace reclaim::exhaustive
