#include "handlers/drive_wear.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "state/base/json.h"
#include "state/base/text.h"

namespace reclaim {
namespace {

constexpr std::size_t kFindingsBytesMax = 1'048'576;
constexpr int kPercentMax = 100;
constexpr int kUsedMax = 255;  // NVMe SMART, Percentage Used

// "3 %" and "12 in all, 2 during the tenancy": what stands first.
template <typename Number>
void take(const rapidjson::Value& finding, std::string_view surface, Number max,
          std::optional<Number>& into) {
  if (json::maybe_string(finding, "surface") != surface) return;
  const std::string found = json::maybe_string(finding, "found").value_or("");
  std::string_view rest = found;
  const auto number = parse_number<Number>(take_until(rest, ' '));
  if (number && *number >= 0 && *number <= max && !into) into = number;
}

}  // namespace

DriveWear wear_of(std::string_view findings) {
  DriveWear wear;
  if (findings.empty()) return wear;
  const auto document = json::parse(findings, kFindingsBytesMax);
  if (!document || !document->IsObject()) return wear;
  for (const auto& step : document->GetObject()) {
    if (!step.value.IsArray()) continue;
    for (const auto& finding : step.value.GetArray()) {
      take(finding, "percentage_used", kUsedMax, wear.used_percent);
      take(finding, "available_spare", kPercentMax, wear.spare_percent);
      take(finding, "media_errors", UINT64_MAX, wear.media_errors);
    }
  }
  return wear;
}

bool is_worn(const DriveWear& wear, int percent) {
  return (wear.used_percent || wear.spare_percent) && worn_percent(wear) >= percent;
}

int worn_percent(const DriveWear& wear) {
  return std::max(wear.used_percent.value_or(0),
                  kPercentMax - wear.spare_percent.value_or(kPercentMax));
}

std::string wear_text(const DriveWear& wear) {
  std::vector<std::string> parts;
  if (wear.used_percent) parts.push_back(fmt::format("{} % used", *wear.used_percent));
  if (wear.spare_percent) parts.push_back(fmt::format("{} % spare", *wear.spare_percent));
  if (wear.media_errors) parts.push_back(fmt::format("{} media errors", *wear.media_errors));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string said_to_be_kept(std::string_view findings) {
  const auto document = json::parse(findings, kFindingsBytesMax);
  const rapidjson::Value* step = document ? json::find(*document, "nvme.check_health") : nullptr;
  if (step == nullptr || !step->IsArray()) return {};
  for (const auto& finding : step->GetArray()) {
    if (json::maybe_string(finding, "surface") == "health") {
      return json::maybe_string(finding, "found").value_or("");
    }
  }
  return {};
}

}  // namespace reclaim
