#include "state/device/timeline.h"

#include <fmt/core.h>

#include <utility>

#include "state/base/embedded_json.h"
#include "state/device/timeline_fields.h"

namespace reclaim {

namespace {

constexpr std::size_t kTimelineBytesMax = 4'096;

}  // namespace

void note_stage(std::vector<StageMark>& timeline, Stage stage, WallMs at) {
  if (stage != Stage::pending_cleaning && !is_busy(stage)) return;
  if (stage == Stage::pending_cleaning) timeline.clear();
  std::erase_if(timeline, [stage](const StageMark& mark) { return mark.stage == stage; });
  timeline.push_back({stage, at});
}

std::string encode_timeline(const std::vector<StageMark>& timeline) {
  rapidjson::Document document(rapidjson::kArrayType);
  for (const StageMark& mark : timeline) {
    rapidjson::Document object(rapidjson::kObjectType, &document.GetAllocator());
    field::add_members(object, mark);
    document.PushBack(object, document.GetAllocator());
  }
  return json::to_text(document);
}

Result<std::vector<StageMark>> decode_timeline(std::string_view text) {
  const Result<rapidjson::Document> document = json::parse(text, kTimelineBytesMax);
  if (!document.ok()) return document.error();
  if (!document->IsArray() || document->Size() > kStageCount) {
    return Error{Errc::invalid,
                 fmt::format("a time line is a JSON array of at most {} stages", kStageCount)};
  }
  std::vector<StageMark> timeline;
  for (const rapidjson::Value& value : document->GetArray()) {
    auto mark = field::from_json<StageMark>(value);
    if (!mark.ok()) return std::move(mark).error().wrap("its time line");
    timeline.push_back(*mark);
  }
  return timeline;
}

}  // namespace reclaim
