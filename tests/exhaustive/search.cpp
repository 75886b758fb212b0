#include "tests/exhaustive/search.h"

#include <fmt/core.h>

#include <memory>
#include <unordered_set>
#include <utility>

namespace reclaim::exhaustive {
namespace {

struct State {
  std::vector<Choice> path;
  std::uint64_t at_step = 0;
  std::vector<Happening> possible;
};

struct HashOfDigest {
  std::size_t operator()(const Digest& digest) const { return digest.low; }
};

// The model right after the last choice of the path.
std::unique_ptr<Model> replay(const std::vector<Choice>& path, bool trace = false) {
  auto model = std::make_unique<Model>(trace);
  for (const Choice& choice : path) {
    while (model->steps() < choice.after) model->step();
    model->let(choice.happening);
  }
  return model;
}

class Search final {
 public:
  Found run(std::size_t depth) {
    std::vector<State> layer;
    found_.layers.emplace_back();
    follow({}, layer);
    note(layer);
    for (std::size_t i = 0; i < depth && found_.broken.empty(); ++i) {
      found_.layers.emplace_back();
      layer = next(layer);
      note(layer);
    }
    return std::move(found_);
  }

 private:
  void note(const std::vector<State>& layer) { found_.layers.back().states = layer.size(); }

  std::vector<State> next(const std::vector<State>& layer) {
    std::vector<State> reached;
    for (const State& state : layer) {
      for (const Happening happening : state.possible) {
        std::vector<Choice> path = state.path;
        path.push_back({state.at_step, happening});
        found_.layers.back().transitions += 1;
        follow(std::move(path), reached);
        if (!found_.broken.empty()) return reached;
      }
    }
    return reached;
  }

  // What comes after the path, until it is known or nothing comes any more.
  void follow(std::vector<Choice> path, std::vector<State>& reached) {
    const auto model = replay(path);
    const auto keep = [&] {
      if (std::string broken = model->broken(); !broken.empty()) {
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
    (void)keep();  // at rest
  }

  std::unordered_set<Digest, HashOfDigest> known_;
  Found found_;
};

}  // namespace

Found search(std::size_t depth) {
  return Search().run(depth);
}

std::string tell(const std::vector<Choice>& path, std::uint64_t until) {
  const auto model = replay(path, true);
  while (model->steps() < until) model->step();
  return model->trace();
}

}  // namespace reclaim::exhaustive
