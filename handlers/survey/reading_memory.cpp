#include "handlers/survey/reading_memory.h"

#include <algorithm>
#include <utility>

namespace reclaim {
namespace {

bool has_a_new_uuid_when_made_again(const placement::ProviderRow& row) {
  return row.one_time_use && !row.owner_cyborg;
}

}  // namespace

placement::Tree ReadingMemory::tree(MonoMs now) const {
  return now.ms - tree_at_.ms < full_interval_ms_ ? tree_ : placement::Tree{};
}

void ReadingMemory::note_tree(placement::Tree tree, MonoMs now, MonoMs answered) {
  if (this->tree(now).root_uuid.empty()) tree_at_ = now;
  if (tree.last_modified != tree_.last_modified) modified_at_ = answered;
  tree_ = std::move(tree);
  std::erase_if(readings_, [this](const auto& reading) {
    return std::none_of(
        tree_.rows.begin(), tree_.rows.end(),
        [&](const placement::ProviderRow& row) { return row.uuid == reading.first; });
  });
}

const ReadingMemory::Reading* ReadingMemory::reading_of(const placement::ProviderRow& row,
                                                        MonoMs now) const {
  const auto found = readings_.find(row.uuid);
  if (found == readings_.end()) return nullptr;
  const Reading& reading = found->second;
  const bool stands = reading.view.generation == row.generation &&
                      now.ms - reading.at.ms < full_interval_ms_ &&
                      (reading.view.free() || reading.root_generation == tree_.root_generation);
  const bool was_not_made_again =
      has_a_new_uuid_when_made_again(row) ||
      (!reading.tree_modified.empty() && reading.tree_modified == tree_.last_modified);
  return stands && was_not_made_again ? &reading : nullptr;
}

bool ReadingMemory::needs_consumers(const std::vector<placement::ProviderRow>& rows,
                                    MonoMs now) const {
  return std::any_of(rows.begin(), rows.end(), [&](const placement::ProviderRow& row) {
    const Reading* reading = reading_of(row, now);
    return reading != nullptr && !reading->view.free();
  });
}

const placement::ProviderView* ReadingMemory::recall(const placement::ProviderRow& row,
                                                     const std::vector<std::string>& on_root,
                                                     MonoMs now) const {
  const Reading* reading = reading_of(row, now);
  if (reading == nullptr) return nullptr;
  const auto& consumers = reading->view.consumers;
  const bool all_there =
      std::all_of(consumers.begin(), consumers.end(), [&](const std::string& each) {
        return std::find(on_root.begin(), on_root.end(), each) != on_root.end();
      });
  return all_there ? &reading->view : nullptr;
}

void ReadingMemory::keep(const placement::ProviderView& view, MonoMs now) {
  const bool steady = now.ms - modified_at_.ms >= kClocksApartMs;
  readings_[view.uuid] =
      Reading{view, tree_.root_generation, steady ? tree_.last_modified : "", now};
}

void ReadingMemory::doubt_consumer(const std::string& consumer) {
  ++doubts_;
  std::erase_if(readings_, [&](const auto& reading) {
    const auto& consumers = reading.second.view.consumers;
    return std::find(consumers.begin(), consumers.end(), consumer) != consumers.end();
  });
}

void ReadingMemory::forget() {
  ++doubts_;
  tree_ = {};
  readings_.clear();
}

}  // namespace reclaim
